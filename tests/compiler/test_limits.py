"""Where what is much becomes too much: the last that is taken, and the first that is not."""

from __future__ import annotations

import pytest

import attnc
from attnc.compiler import check as program
from attnc.compiler.base.session import Session
from attnc.compiler.calls.calls import Calls
from attnc.compiler.sizes import limits
from attnc.compiler.sizes.limits import Exhausted
from attnc.dsl.source import Source, Span


def codes(text: str) -> list[str]:
    return [f"{found.code}: {found.message}" for found in attnc.check(text) if found.severity is attnc.Severity.ERROR]


def axes(count: int) -> str:
    names = ", ".join(f"a{n}" for n in range(count))
    sizes = ", ".join(f"a{n} = 1" for n in range(count))
    return f"depth {sizes}\nblock f(x: []) -> [] {{\n    return sum[{names}](broadcast[{names}](x))\n}}\n"


def operands(count: int) -> str:
    return f"block f(x: []) -> [] {{\n    return max({', '.join('x' * count)})\n}}\n"


def weight(more: int) -> str:
    return f"depth a = 2 ^ 20, b = 2 ^ 20 + {more}\nblock f(x: [a]) -> [b] {{\n    return linear.w[a -> b](x)\n}}\n"


def passes(count: int) -> str:
    return f"block f(x: []) -> [] {{\n    repeat.r {count} {{\n        x = x + 1\n    }}\n    return x\n}}\n"


def deep(count: int) -> str:
    blocks = "".join(f"block b{n}(x: []) -> [] {{\n    return b{n - 1}(x) + 1\n}}\n" for n in range(1, count))
    start = "block b0(x: []) -> [] {\n    return x + 1\n}\n"
    return f"{start}{blocks}model f(x: []) -> [] {{\n    return b{count - 1}(x)\n}}\n"


def name(letters: int) -> str:
    return f"block {'b' * letters}(x: []) -> [] {{\n    return x + 1\n}}\n"


def mistakes(count: int) -> str:
    return "block f(x: []) -> [] {\n" + "    y = z\n" * count + "    return x\n}\n"


LIMITS = {
    "axes of a value": (axes, 64, "E0220: a value of 65 axes has more than 64"),
    "operands": (operands, 500, "E0220: an op takes at most 500 operands"),
    "passes": (passes, 10_000, "E0207: a repeat of 10001 passes is more than 10000"),
    "numbers of a weight": (
        weight,
        0,
        "E0220: the weight `w.weight` has 1,099,512,676,352 elements, more than 1,099,511,627,776",
    ),
    "blocks in blocks": (deep, 100, "E0220: blocks call each other more than 100 deep"),
    "letters": (name, 200, "E0220: a name of 201 letters has more than 200"),
}


@pytest.mark.parametrize("what", LIMITS)
def test_the_last_that_is_taken(what: str) -> None:
    make, most, told = LIMITS[what]
    assert codes(make(most)) == []
    (found,) = codes(make(most + 1))
    assert found.startswith(told)


def test_mistakes() -> None:
    """Of one block: more than a hundred are not told."""
    assert codes(mistakes(100)) == ["E0202: nothing is named `z` here"] * 100
    assert len(codes(mistakes(101))) == 100


def test_a_block_that_is_too_much_is_told_once() -> None:
    """Whoever calls it says nothing of it."""
    text = (
        operands(501)
        + "block g(x: []) -> [] {\n    return f(f(x)) + 1\n}\nmodel h(x: []) -> [] {\n    return g(x)\n}\n"
    )
    assert codes(text) == ["E0220: an op takes at most 500 operands"]


def test_bodies(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each number that is put in makes a body of its own; calls that are alike share one."""
    text = "block f[n: const](x: []) -> [] {\n    return x + n\n}\nmodel m(x: []) -> [] {\n    return %s\n}\n"
    calls = [f"f[n = {n}](x)" for n in range(5)]
    monkeypatch.setattr("attnc.compiler.calls.calls.BODIES", 4)
    assert codes(text % " + ".join(calls)) == []
    assert codes(text % " + ".join(calls[:4] * 3)) == []
    (found,) = codes(text % " + ".join([*calls, "f[n = 9](x)"]))
    assert found.startswith("E0220: the blocks called here stand for more than 4 bodies")


def test_a_proof(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is too long to follow may read anything; what was followed once is known."""
    block = "width t\nblock f(x: [t]) -> [t] {\n    return x + 1\n}\n"
    text = f"{block}model m(x: [t]) -> [t] causal t {{\n    return f(f(x) * 2)\n}}\n"
    graph = len(attnc.loads(text).model("m").graph.nodes)
    monkeypatch.setattr(limits, "PROOF", graph + 2)
    assert codes(text) == []
    monkeypatch.setattr(limits, "PROOF", graph + 1)
    (found,) = codes(text)
    assert found.startswith("E0701")
    assert "`f` is too long to follow" in str(attnc.AttnError(attnc.check(text)))


def test_patience(monkeypatch: pytest.MonkeyPatch) -> None:
    """Work is counted over all blocks; when it is spent, that is said, and the rest is not looked at."""
    place = Span(Source("a.attn", "x"), 0, 1)
    checker = Calls(Session(), fuel=4)
    checker.spend(place, 3)
    checker.spend(place)
    with pytest.raises(Exhausted):
        checker.spend(place)
    text = "".join(f"block f{n}(x: []) -> [] {{\n    return x + {n} + y\n}}\n" for n in range(3))
    monkeypatch.setattr(program, "WORK", 5 - len(text) // 2)
    (found,) = codes(text)
    assert found.startswith("E0220: calls for different sizes")
    monkeypatch.setattr(program, "WORK", 12 - len(text) // 2)
    assert len(codes(text)) == 3
