"""Where a missing bracket is put: closing brackets are deleted, and the fix must bring the text back."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from attnc.dsl.mistakes.fixes import apply
from attnc.dsl.parse import parse
from attnc.dsl.source import Source
from tests.clock import at_most

LIBRARY = sorted((Path(__file__).parents[2] / "compiler/std").glob("*.attn"))


def mended(text: str) -> str | None:
    """The text after its fixes; None if there are none."""
    edits = [edit for found in parse(Source("t.attn", text))[1] if found.fix for edit in found.fix.edits]
    return apply(text, edits) if edits else None


def in_block(line: str) -> str:
    return f"block f(x: [a]) -> [a] {{\n    {line}\n    return y\n}}\n"


@pytest.mark.parametrize(
    "line",
    [
        "y = dot[d«]»(Q, K) / sqrt(|d|)",
        "y = linear.Q[a -> b, c«]»(x, bias = true)",
        "y = attend[q, k, scaled = false«]»(x)",
        "y = f(x, x[q as k«]», mask = m)",
        "y = f(both[two = 0«]» - both[two = 1], 2)",
        "y = x[t = max(t - 1, 0)«]»",
        "y, z = f[a](x«)»",
        "y = g(f(x)«)»",
        "y = (t - past«)» % stride == 0",
        "y = (1 - z«)» * s + z * p",
        "y = 2 * (a + b * c«)»",
        "return (x * y«)»",
        "return (x * relu(y)«)»",
        "repeat i in floor(n / 2«)» {\n        y = x\n    }",
        "if a {\n        y = x\n    } else if f(x«)» {\n        y = x\n    }",
    ],
)
def test_the_bracket_comes_back(line: str) -> None:
    whole = in_block(re.sub("[«»]", "", line))
    assert not parse(Source("t.attn", whole))[1]
    assert mended(in_block(re.sub("«.»", "", line))) == whole


@pytest.mark.parametrize(
    "text",
    [
        "block f(x: [a«]») -> [a] {\n    return x\n}\n",
        "block f[a: width, b: depth«]»(x: [a, b]) -> [a] {\n    return x\n}\n",
        "block f(\n    x: [a],\n    y: bool[a«]» = true\n) -> [a] {\n    return x\n}\n",
        "block f(x: [a]«)» -> [a] {\n    return x\n}\n",
        "param E: [a, b«]» ~ normal(0.02)\n",
    ],
)
def test_in_heads_and_declarations(text: str) -> None:
    assert mended(re.sub("«.»", "", text)) == re.sub("[«»]", "", text)


@pytest.mark.parametrize("line", ["y = f[(x]", "y = g(x b", "y = g(= x"])
def test_no_place_no_fix(line: str) -> None:
    assert mended(in_block(line)) is None


@pytest.mark.parametrize(("sign", "least"), [("]", 0.95), (")", 0.7)])
def test_most_brackets_of_the_library_come_back(sign: str, least: float) -> None:
    tries = back = 0
    for path in LIBRARY:
        whole = re.sub("#.*", "", path.read_text("utf-8"))
        for found in re.finditer(re.escape(sign), whole):
            text = mended(whole[: found.start()] + whole[found.end() :])
            tries += 1
            back += text is not None and "".join(text.split()) == "".join(whole.split())
            assert text is None or not parse(Source("t.attn", text))[1]
    assert tries > 100
    assert back / tries > least


def test_a_long_line_is_left_alone() -> None:
    line = "y = f(" + "x, " * 100_000 + "x"
    with at_most(100):
        assert mended(in_block(line)) is None
