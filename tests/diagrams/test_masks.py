"""The grey half of a mask follows its predicate."""

from __future__ import annotations

import pytest

import attnc

SPEC = """
width q
width k like q
block f(x: [q, k]) -> [q, k] {
    return softmax[k](x where PREDICATE)
}
"""
ROWS = {
    "k <= q": ["#.......", "##......", "###.....", "####....", "#####...", "######..", "#######.", "########"],
    "k < q": ["........", "#.......", "##......", "###.....", "####....", "#####...", "######..", "#######."],
    "abs(q - k) <= 1": ["##......", "###.....", ".###....", "..###...", "...###..", "....###.", ".....###", "......##"],
    "k <= q and q - k < 512": [
        "#.......", "##......", "###.....", ".###....", "..###...", "...###..", "....###.", ".....###",
    ],
    "k <= q and (q - k) % 2 == 0": [
        "#.......", ".#......", "#.#.....", ".#.#....", "#.#.#...", ".#.#.#..", "#.#.#.#.", ".#.#.#.#",
    ],
    "floor(q / 4) == floor(k / 4)": ["####....", "####....", "####....", "####....", "....####", "....####", "....####",
                                     "....####"],
}  # fmt: skip


@pytest.mark.parametrize("predicate", ROWS)
def test_pattern(predicate: str) -> None:
    sheet = attnc.loads(SPEC.replace("PREDICATE", predicate)).block("f").draw()._sheet
    mask = next(s for column in sheet.columns for s in column.steps if s.mark == "mask")
    assert ["".join("#" if kept else "." for kept in row) for row in mask.cases[0].pattern] == ROWS[predicate]
