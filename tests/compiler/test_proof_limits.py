"""A proof that ends at one of its limits says at which; within them it succeeds, and what the help says mends it."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest

import attnc
from attnc.compiler.sizes.forms import STEPS
from attnc.compiler.sizes.limits import BOUNDS, CASES, FACTS, PROOF

HEAD = "width seq\nwidth past like seq\nwidth p\ndepth d = 3, model = 4\n"


def attention(mask: str) -> str:
    return (
        f"{HEAD}model f(x: [seq, model], z: [p, model]) -> [seq, model] causal seq {{\n"
        f"    w = softmax[past](dot[model](x, x[seq as past]) where {mask})\n"
        "    return dot[past](w, x[seq as past]) + broadcast[seq](sum[p](z))\n}\n"
    )


def joined(count: int, last: str = "past + |p| <= seq") -> str:
    """So many conditions, of which the last alone keeps what is not after, and others are plainer."""
    return attention(" and ".join([*(f"{i + 2} * past <= {i + 3} * seq" for i in range(count - 1)), last]))


def either(count: int, behind: str = "") -> str:
    cases = " or ".join(f"{i + 2} * past <= {i + 1} * seq" for i in range(count))
    return attention(f"({cases}){behind}")


def places(count: int) -> str:
    """What is read stands at so many places, of which none is always the last."""
    reads = " + ".join(f"x[seq = min({i} * p - {i * i}, seq)]" for i in range(1, count + 1))
    head = "model f(x: [seq, model], z: [seq, p, model]) -> [seq, p, model] causal seq"
    return f"{HEAD}{head} {{\n    return {reads} + 0 * z\n}}\n"


def said(text: str) -> str:
    """The one error; nothing if it is proved."""
    try:
        attnc.loads(text)
    except attnc.AttnError as error:
        assert [each.code for each in error.diagnostics] == ["E0701"], str(error)
        return str(error)
    return ""


@pytest.mark.parametrize(
    ("made", "within", "beyond", "named"),
    [
        (joined, STEPS - 20, STEPS + 20, f"of the comparisons of a mask it puts {STEPS} together"),
        (joined, STEPS - 20, FACTS + 20, f"of a mask it keeps {FACTS} of the comparisons that `and` joins"),
        (either, CASES, CASES + 20, f"of a mask it tells {CASES} cases apart that `or` joins"),
        (places, BOUNDS, BOUNDS + 20, f"of a value it keeps {BOUNDS} bounds of what it depends on"),
    ],
)
def test_a_limit_that_is_met_is_named(made: Callable[[int], str], within: int, beyond: int, named: str) -> None:
    assert said(made(within)) == ""
    found = said(made(beyond))
    (note,) = re.findall(r"= note: the proof met a limit of its own, which may be why it failed: (.*)", found)
    assert named in note
    assert "mask what comes after" not in found


def test_what_holds_in_all_cases_may_be_said_behind_them() -> None:
    assert "say behind them what holds in all, `(.. or ..) and ..`" in said(either(CASES + 20))
    assert said(either(CASES + 20, " and past <= seq")) == ""


@pytest.mark.parametrize("mask", ["past <= seq + 1", "past >= seq", "seq - past < 3"])
def test_a_leak_is_no_matter_of_limits(mask: str) -> None:
    found = said(attention(mask))
    assert "is not causal along `seq`" in found and "limit" not in found


def test_the_plainest_of_many_conditions_is_never_left_out() -> None:
    for count in (70, 130, 300):
        assert said(joined(count, "past <= seq")) == ""


def test_where_nothing_is_false_no_limit_is_met() -> None:
    """Of many conditions few are told apart where they do not hold: that matters to nobody."""
    text = attention(" and ".join(f"{i + 2} * past <= {i + 3} * seq" for i in range(CASES + 9)))
    assert "= note: the proof met" not in said(text)


def test_a_model_that_is_too_long_to_follow(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("attnc.compiler.sizes.limits.PROOF", 3)
    found = said(attention("past <= seq"))
    assert "is too long to follow: a proof takes at most 3 steps" in found
    assert PROOF > 100_000
