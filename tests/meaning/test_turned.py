"""What is told of a program does not hang on the order of the operands of what is commutative."""

from __future__ import annotations

from pathlib import Path

import pytest

from attnc.compiler.check import build
from attnc.dsl.files import read
from attnc.dsl.source import Source

from .corpus import ROOT, Case, cases
from .turned import turned

WRONG, RIGHT = cases("wrong.txt"), cases("right.txt")
EXAMPLES = sorted((ROOT / "examples").rglob("*.attn"))


def codes(text: str, beside: Path | None = None) -> list[str]:
    base = None if beside is None else beside.resolve().parent
    return sorted(each.code for each in build(Source("text.attn", text), base=base).diagnostics)


@pytest.mark.parametrize(
    "case",
    [
        pytest.param(case, id=case.name, marks=pytest.mark.slow if place % 12 else ())
        for place, case in enumerate([*WRONG, *RIGHT])
    ],
)
def test_of_a_case_the_same_is_told(case: Case) -> None:
    assert codes(turned(case.text())) == codes(case.text())


@pytest.mark.parametrize(
    "path",
    [
        pytest.param(path, id=path.stem, marks=pytest.mark.slow if place % 12 else ())
        for place, path in enumerate(EXAMPLES)
    ],
)
def test_of_an_example_the_same_is_told(path: Path) -> None:
    text = read(path).text
    assert codes(turned(text), path) == codes(text, path)


# -- logits that have read their target, by whichever operand --------------------------------------------------------

TELLS = """
width seq
width past like seq
depth d = 8, vocab = 30, both = 2 * d, tap = 3, part = d / 2
model tells(ids: vocab[seq], noisy: vocab[seq]) -> [] {
    x = embed.E[vocab -> d](ids)
    w = softmax[past](dot[d](x, x[seq as past]) / sqrt(|d|)MASK)
    read = dot[past](w, x[seq as past])
    x = JOIN
    logits = linear.head[d -> vocab](x)
    return mean[seq](LOSS)
}
"""
AHEAD, WHOLE, CAUSAL, NEAR = " where past <= seq + 1", "", " where past <= seq", " where abs(past - seq) <= 1"
NEXT = "cross_entropy[vocab](logits, ids[seq = min(seq + 1, |seq| - 1)]) where seq < |seq| - 1"
ITSELF = "cross_entropy[vocab](logits, ids)"
SUMMED = "-sum[vocab](select(ids == vocab, log_softmax[vocab](logits), 0))"
JOINS = (
    "read + x",
    "linear.O[d -> d](read) + x",
    "sigmoid(linear.g[d -> d](x)) * read + x",
    "linear.c[both -> d](concat[d, d -> both](read, x))",
    "select(x > 0, linear.O[d -> d](read), x)",
    "dropout(gelu(linear.O[d -> d](read)), 0.1) + layernorm.n[d](x)",
    "read - x",
    "read + linear.w[wide -> d](merge[tap, d -> wide](window[seq -> seq, tap](x, pad = |tap| - 1)))",
)


EACH = [
    pytest.param(join, id=str(place), marks=pytest.mark.slow if place in (0, 5, 6) else ())
    for place, join in enumerate(JOINS)
]


def told(join: str, mask: str, loss: str) -> list[str]:
    text = TELLS.replace("JOIN", join).replace("MASK", mask).replace("LOSS", loss)
    if "wide" in join:
        text = text.replace("tap = 3", "tap = 3, wide = tap * d")
    found = codes(text)
    assert codes(turned(text)) == found
    return [code for code in found if code[0] == "E"]


@pytest.mark.parametrize("join", EACH)
@pytest.mark.parametrize(
    ("mask", "loss"), [(AHEAD, NEXT), (CAUSAL, ITSELF), (CAUSAL, SUMMED), (AHEAD, ITSELF)], ids=range(4)
)
def test_a_leak_is_told_in_any_order(join: str, mask: str, loss: str) -> None:
    sure = not (join.startswith("select") and loss is NEXT)  # data may choose `x`, which has not read what comes next
    assert told(join, mask, loss) == (["E0704"] if sure else [])


@pytest.mark.parametrize("join", EACH)
@pytest.mark.parametrize(
    ("mask", "loss"),
    [(CAUSAL, NEXT), (WHOLE, ITSELF), (WHOLE, SUMMED), (NEAR, ITSELF), (WHOLE, ITSELF.replace("ids", "noisy"))],
    ids=range(5),
)
def test_what_is_to_tell_what_follows_or_to_copy_is_right(join: str, mask: str, loss: str) -> None:
    assert told(join, mask, loss) == []
