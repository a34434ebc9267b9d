"""Rows: balanced, and no input parted from what reads it, in every figure of the examples, the zoo and the library."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import attnc
from attnc.diagrams.base import theme
from attnc.diagrams.draw.sheet import Sheet
from attnc.diagrams.layout.rows import FILLED, waiting

HERE = Path(__file__).parent
ROOT = HERE.parent.parent
SPECS = sorted([*(ROOT / "compiler" / "std").glob("*.attn"), *(ROOT / "examples").rglob("*.attn")])
RAGGED = {line for line in (HERE / "ragged.txt").read_text().splitlines() if not line.startswith("#")}


def models(path: Path) -> Iterator[attnc.Model]:
    spec = attnc.load(path)
    for name in (*spec.models, *spec.blocks):
        yield spec.model(name) if name in spec.models else spec.block(name)


def ragged(sheet: Sheet) -> list[str]:
    """What is wrong with its rows."""
    long = [sheet.right[row[-1]] - sheet.left[row[0]] for row in sheet.rows]
    out = [f"row {k} fills {a / max(long):.0%}" for k, a in enumerate(long[:-1]) if a < FILLED * max(long)]
    row_of = {j: k for k, row in enumerate(sheet.rows) for j in row}
    waits = waiting([column.steps for column in sheet.columns])
    out += [f"an input waits in row {row_of[a]}" for a, b in waits.values() if b in row_of and row_of[a] < row_of[b]]
    return out


def check(path: Path, depths: tuple[int | None, ...]) -> None:
    for model in models(path):
        for depth in depths:
            name = f"{path.relative_to(ROOT)}:{model.name} {depth}"
            assert (ragged(model.draw(depth=depth)._sheet) != []) == (name in RAGGED), name


@pytest.mark.parametrize("path", SPECS, ids=lambda path: path.stem)
def test_rows_are_balanced(path: Path) -> None:
    check(path, (None,))


@pytest.mark.slow
@pytest.mark.parametrize("path", SPECS, ids=lambda path: path.stem)
def test_rows_of_open_figures_are_balanced(path: Path) -> None:
    check(path, (1, 2))


def letters(sheet: Sheet) -> float:
    """Points on paper of the letters at the wires."""
    return sheet.scale * theme.AXIS


@pytest.mark.parametrize(
    "name", ["compiler/std/attention.attn:multihead", "examples/attentions/multi_head.attn:multi_head"]
)
def test_multi_head_attention_takes_one_row(name: str) -> None:
    """Open, at 5.5 in, with letters as large as in the drawing of it by Abbott."""
    file, _, block = name.partition(":")
    spec = attnc.load(ROOT / file)
    sheet = (spec.model(block) if block in spec.models else spec.block(block)).draw(depth=1)._sheet
    assert len(sheet.rows) == 1 and letters(sheet) >= 7.5


def test_the_transformer_takes_two_rows() -> None:
    """Both embeddings and the encoder, and beneath them the decoder."""
    sheet = attnc.load(ROOT / "examples" / "transformer.attn").model("transformer").draw()._sheet
    assert len(sheet.rows) == 2 and letters(sheet) >= 7.5
    kinds = [[step.mark for j in row for step in sheet.columns[j].steps] for row in sheet.rows]
    assert kinds[0].count("input") == 2 and "input" not in kinds[1]
    assert [row.count("bracket") for row in kinds] == [2, 2]
