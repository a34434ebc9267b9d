"""Specs of every kind: both backends give what the language says, as an independent interpreter computes it."""

from __future__ import annotations

from pathlib import Path

import pytest

from attnc.compiler.program import build
from attnc.dsl.source import Source

from .agreement import agree

SPECS = (Path(__file__).parent / "specs.txt").read_text(encoding="utf-8").strip().split("\n---\n")


@pytest.mark.parametrize("text", SPECS, ids=[f"{number}" for number in range(len(SPECS))])
def test_backends_agree_with_the_oracle(text: str) -> None:
    program = build(Source("<test>", text))
    assert not program.errors, program.errors[0].message
    for name in program.models:
        agree(program.graph(name), widths=((5, 7, 3), (1, 1, 1)))


# Over nothing at all an argmax or the first item does not exist, and torch refuses the largest of none.
EMPTY = [text for text in SPECS if not any(word in text for word in ("max[", "min[", "scan", "= 0]"))]


@pytest.mark.parametrize("text", EMPTY)
def test_widths_of_zero(text: str) -> None:
    program = build(Source("<test>", text))
    for name in program.models:
        agree(program.graph(name), leads=((), (2,)), widths=((0, 0, 0), (0, 4, 3)))
