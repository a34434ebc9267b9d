"""The grey half of a mask follows its predicate."""

from __future__ import annotations

import pytest

import attnc
from attnc.diagrams.base.text import plain
from attnc.diagrams.scene.steps import DrawStep

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


@pytest.mark.parametrize("size", [3, 4, 64])
def test_groups_are_as_many_as_there_are_cells(size: int) -> None:
    """A width of groups is shorter than that of its items: the groups before the query's own are a triangle."""
    text = """
    width q
    const size = 4
    width groups = q / size
    block f(x: [q, groups]) -> [q, groups] {
        return softmax[groups](x where size * int(groups) + size - 1 <= int(q))
    }
    """
    pattern = masked(text.replace("size = 4", f"size = {size}")).cases[0].pattern
    assert pattern is not None and ["".join("#" if kept else "." for kept in row) for row in pattern] == ROWS["k < q"]


HEADS = """
width q
width k like q
depth h = 6
block f(x: [h, q, k]) -> [h, q, k] {
    return softmax[k](x where PREDICATE)
}
"""


def masked(text: str) -> DrawStep:
    sheet = attnc.loads(text).block("f").draw()._sheet
    return next(s for column in sheet.columns for s in column.steps if s.mark == "mask")


@pytest.mark.parametrize(
    ("predicate", "kinds"),
    [
        ("h % 2 == 0 and q - k < 3 or h % 2 == 1 and k <= q", ["h even", "h odd"]),
        ("h < |h| / 2 or k <= q", ["h ≤ 2", "h ≥ 3"]),
        ("h == 1 and k <= q or h != 1 and q <= k", ["h ≠ 1", "h = 1"]),
    ],
)
def test_a_square_for_each_kind_of_head(predicate: str, kinds: list[str]) -> None:
    mask = masked(HEADS.replace("PREDICATE", predicate))
    assert [plain(case.when) for case in mask.cases] == kinds
    assert [axis.name for axis in mask.on] == ["q", "k"]
    assert len({case.pattern for case in mask.cases}) == 2


def test_a_mask_past_telling_lies_over_all_its_axes() -> None:
    """A width of unknown size besides the two: no pattern is made up."""
    text = HEADS.replace("depth h = 6", "width h").replace("PREDICATE", "k <= q or h % 2 == 0")
    mask = masked(text)
    assert mask.cases == ()
    assert {axis.name for axis in mask.on} == {"q", "k", "h"}


@pytest.mark.parametrize(
    ("taps", "pad", "text"),
    [
        (3, "|t| - 1", "window −2…0"),
        (3, "floor(|t| / 2)", "window, pad floor(|t|/2)"),
        (2, "0", "window 0…+1"),
        (1, "0", "window 0"),
    ],
)
def test_window_says_where_it_looks(taps: int, pad: str, text: str) -> None:
    spec = f"""
width s
depth d = 4, t = {taps}
block f(x: [s, d]) -> [s, t, d] {{
    return window[s -> s, t](x, pad = {pad})
}}
"""
    sheet = attnc.loads(spec).block("f").draw()._sheet
    assert text in [plain(s.text) for column in sheet.columns for s in column.steps]
