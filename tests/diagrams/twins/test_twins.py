"""A figure is its program, up to names: programs that differ are drawn differently, and the same program alike.

Twins are programs that differ in one place (mutations.py) from one of constructs.attn, the library, the examples or the
generator of tests/soundness. `gaps.txt` has the kinds of change that figures do not show yet; it must shrink: a kind
that is shown must not stand there. What figures need not show stands in docs/diagrams.md.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import islice

import pytest

from attnc.compiler.check import build
from attnc.compiler.ops import OPS
from attnc.dsl.source import Source

from .programs import CONSTRUCTS, ROOT, Twin, Unit, constructs, random_ones, renamed, same_programs, twins, written
from .signature import seen

GAPS = frozenset((CONSTRUCTS.parent / "gaps.txt").read_text(encoding="utf-8").split("\n")) - {""}
PARTS, EACH = 8, 32  # beside those of constructs.attn: 500 in all, most of them in the slow suite
SLOW_PARTS, SLOW_EACH = 50, 200


def told(found: Iterable[Twin]) -> str:
    return "\n".join(map(str, found))


@pytest.mark.parametrize("unit", constructs(), ids=lambda unit: unit.name)
def test_constructs(unit: Unit) -> None:
    found = list(twins(unit))
    assert not (alike := [twin for twin in found if twin.alike and twin.kind not in GAPS]), told(alike)
    assert not (unlike := [twin for twin in same_programs(unit) if not twin.alike and twin.kind not in GAPS]), told(
        unlike
    )


def quick(part: int) -> Iterator[Twin]:
    units = [*islice(written(), part, None, PARTS), *random_ones(range(part * 20, part * 20 + 20))]
    return islice((twin for unit in units if unit.small for twin in twins(unit, 4, part)), EACH)


@pytest.mark.parametrize("part", [pytest.param(part, marks=pytest.mark.slow if part else ()) for part in range(PARTS)])
def test_twins(part: int) -> None:
    found = list(quick(part))
    assert len(found) == EACH
    assert not (alike := [twin for twin in found if twin.alike and twin.kind not in GAPS]), told(alike)


@pytest.mark.slow
@pytest.mark.parametrize("part", range(SLOW_PARTS))
def test_many_twins(part: int) -> None:
    start = 1000 + part * 100
    found = list(islice((t for unit in random_ones(range(start, start + 100)) for t in twins(unit, 20)), SLOW_EACH))
    assert len(found) == SLOW_EACH
    assert not (alike := [twin for twin in found if twin.alike and twin.kind not in GAPS]), told(alike)


def test_gaps_shrink() -> None:
    """Each kind of change in gaps.txt is still drawn alike somewhere in constructs.attn, or drawn otherwise where the
    program is the same."""
    if not GAPS:
        return
    open_still = {twin.kind for unit in constructs() for twin in twins(unit) if twin.alike}
    open_still |= {twin.kind for unit in constructs() for twin in same_programs(unit) if not twin.alike}
    assert not (shown := GAPS - open_still), f"figures show these now: delete from gaps.txt {sorted(shown)}"


# -- the same program ------------------------------------------------------------------------------------------------


SOME = [0, *(pytest.param(part, marks=pytest.mark.slow) for part in range(1, 16))]  # ten seconds each


@pytest.mark.slow
@pytest.mark.parametrize("part", range(16))
def test_same_programs(part: int) -> None:
    units = [*islice(written(), part, None, 16), *random_ones(range(part * 5, part * 5 + 5))]
    found = [twin for unit in units if unit.small for twin in islice(same_programs(unit), 3)]
    assert len(found) > 10
    assert not (unlike := [twin for twin in found if not twin.alike and twin.kind not in GAPS]), told(unlike)


GRAMMAR = ROOT / "dsl" / "grammar.lark"


def kept(text: str) -> frozenset[str]:
    """Words that are no names of a file's own."""
    options = {option.name for op in OPS.values() for option in getattr(op, "options", ())} | {"init"}
    used = {word for line in re.findall(r"(?m)^use .*$", text) for word in re.findall(r"\w+", line)}
    words = set(re.findall(r"[a-z]+", GRAMMAR.read_text(encoding="utf-8"))) | {
        "normal",
        "uniform",
        "zeros",
        "ones",
        "std",
    }
    return frozenset(words) | frozenset(OPS) | options | used | {part for name in OPS for part in name.split("_")}


@pytest.mark.parametrize("part", SOME)
def test_renamed(part: int) -> None:
    """Another name for everything: the same figure but for the letters."""
    count = 0
    for unit in [*islice(constructs(), part, None, 8), *islice(written(), part, None, 8)]:
        if not unit.small:
            continue
        text, names = renamed(unit, kept(unit.text))
        program = build(Source("<renamed>", text), base=unit.base)
        graph = unit.graph()
        new = {old: name for name, old in names.items()}
        name = "_".join(new.get(word, word) for word in unit.name.split("_"))
        if program.errors or graph is None or name not in (*program.blocks, *program.models):
            continue
        count += 1
        assert seen(program.graph(name), names, depth=1) == seen(graph, depth=1), text
    assert count >= 10


# -- what figures need not show --------------------------------------------------------------------------------------

LINEAR = "width seq\ndepth m = 8\nblock f(X: [seq, m]) -> [seq, m] {\n    return linear.W[m -> m](X)\n}\n"
PARAM = (
    "width seq\ndepth m = 8\nblock f(X: [seq, m]) -> [seq, m] {\n    param g: [m] ~ normal(0.02)\n    return X * g\n}\n"
)
MASKED = "width seq\nmodel f(X: [seq], real: bool[seq]) -> [] {\n    return sum[seq](X where real)\n}\n"
OUTER = (
    "width seq\ndepth m = 8\nblock g(X: [seq, m]) -> [seq, m] {\n    Y = linear.A[m -> m](relu(linear.B[m -> m](X)))\n"
    "    return layernorm.n[m](Y + linear.C[m -> m](Y))\n}\nblock f(X: [seq, m]) -> [seq, m] {\n    return g(X)\n}\n"
)
UNSHOWN: dict[str, tuple[str, str, str]] = {  # a program, and what of it becomes what
    "dropout": (LINEAR, "(X)", "(dropout(X, p = 0.1))"),
    "epsilon": (LINEAR.replace("linear.W[m -> m](X)", "layernorm.n[m](X)"), "(X)", "(X, eps = 0.1)"),
    "initial values": (PARAM, "normal(0.02)", "zeros"),
    "frozen": (PARAM, "normal(0.02)", "normal(0.02) frozen"),
    "claims": (LINEAR, "-> [seq, m] {", "-> [seq, m] causal seq {"),
    "defaults of masks": (MASKED, "bool[seq])", "bool[seq] = true)"),
    "sizes": (LINEAR, "m = 8", "m = 9"),
    "closed blocks": (OUTER, "relu(", "gelu("),
}


def unshown() -> list[str]:
    page = (ROOT / "docs" / "diagrams.md").read_text(encoding="utf-8")
    section = page.partition("## What a figure does not say\n")[2].partition("\n## ")[0]
    return re.findall(r"(?m)^- \*\*(.+?)\*\*", section)


def test_the_page_lists_what_is_not_shown() -> None:
    assert unshown() == list(UNSHOWN)


@pytest.mark.parametrize("what", unshown())
def test_not_shown(what: str) -> None:
    text, old, new = UNSHOWN[what]
    assert text.count(old) == 1
    close = ("g",) if what == "closed blocks" else ()
    one, other = (build(Source("<it>", t)).graph("f") for t in (text, text.replace(old, new)))
    assert seen(one, close=close) == seen(other, close=close)
