"""What is written at masks: the predicate in the reader's mathematics, alike for predicates that say the same."""

from __future__ import annotations

import pytest

import attnc
from attnc.diagrams.base.text import folded, height, joined, plain, roman, rows, width
from attnc.diagrams.scene.steps import DrawStep, StepKind

from .geometry import faults

SPEC = """
width q
width k like q
depth h = 6
block f(x: [h, q, k], real: bool[q], seen: bool[q, k], score: [q]) -> [h, q, k] {
    flags = score > 0
    return softmax[k](x where PREDICATE)
}
"""


def mask(predicate: str) -> DrawStep:
    sheet = attnc.loads(SPEC.replace("PREDICATE", predicate)).block("f").draw()._sheet
    assert faults(sheet) == []
    return next(s for column in sheet.columns for s in column.steps if s.mark == "mask")


SAID = {
    "k <= q": "",
    "not q < k": "",
    "k < q": "k < q",
    "q <= k": "q ≤ k",
    "q - k < 128": "q − k < 128",
    "k <= q and q - k < 128": "0 ≤ q − k < 128",
    "k > q - 128 and q >= k": "0 ≤ q − k < 128",
    "k <= q + 2 and q - k <= 3": "−2 ≤ q − k ≤ 3",
    "abs(q - k) <= 2": "|q − k| ≤ 2",
    "k <= q or k < 4": "k < 4 or k ≤ q",
    "k < 4 or k <= q": "k < 4 or k ≤ q",
    "k <= q and (q - k < 8 or k < 4)": "k ≤ q and (k < 4 or q − k < 8)",
    "k <= q and (q - k) % 2 == 0": "k ≤ q and (q − k) mod 2 = 0",
    "k % 8 >= 2 and k % 8 < 5": "2 ≤ k mod 8 < 5",
    "real[q as k]": "real",
    "not real[q as k]": "not real",
    "k <= q and real[q as k]": "k ≤ q and real",
    "k <= q and real": "k ≤ q and realq",
    "real[q as k] and k <= q": "k ≤ q and real",
    "k <= q or real[q as k]": "k ≤ q or real",
    "not (k <= q and real[q as k])": "q < k or not real",
    "seen": "seen",
    "seen or k == q": "q = k or seen",
    "k <= q and flags[q as k]": "k ≤ q and flags",
}


@pytest.mark.parametrize("predicate", SAID)
def test_what_is_said(predicate: str) -> None:
    assert plain(mask(predicate).note) == SAID[predicate]


def test_the_order_of_operands_does_not_matter() -> None:
    for one, other in (
        ("k % 4 == 0 and k < 9 and q - k > 2", "q - k > 2 and 9 > k and 0 == k % 4"),
        ("real[q as k] and (k <= q or seen)", "(seen or k <= q) and real[q as k]"),
    ):
        assert plain(mask(one).note) == plain(mask(other).note)


def test_data_that_come_in_as_wires_do_so_along_the_axes_that_are_read() -> None:
    for predicate, name in (("k <= q and flags[q as k]", "k"), ("k <= q and flags", "q")):
        step = mask(predicate)
        assert step.kind is StepKind.JOIN
        assert [axis.name for axis in step.ins[1].axes] == [name]


@pytest.mark.parametrize(
    ("predicate", "said"),
    [
        ("h % 2 == 0 and q - k < 3 or h % 2 == 1 and k <= q", "h even: q − k < 3\nh odd: k ≤ q"),
        ("h < |h| / 2 or k <= q", "h ≤ 2: every item\nh ≥ 3: k ≤ q"),
        ("k <= q and q - k < 2 * h + 1", "0 ≤ q − k < 2 h + 1"),  # too many kinds of heads to write each
    ],
)
def test_heads(predicate: str, said: str) -> None:
    assert plain(mask(predicate).note) == said


BOX = """
use std.attention: multihead, model
width t
width s like t
block f(x: [t, model], real: bool[t]) -> [t, model] {
    return multihead[t, s](x, x[t as s], mask = PREDICATE)
}
"""


@pytest.mark.parametrize(
    ("predicate", "said"),
    [
        ("s <= t", ""),
        ("s < t", "s < t"),
        ("real[t as s]", "real"),
        ("s <= t and real[t as s]", "real"),  # beside a triangle
        ("s <= t or real[t as s]", "s ≤ t or real"),
        ("s <= t and real", "s ≤ t and realt"),
        ("s <= t and t - s < 100", "0 ≤ t − s < 100"),
    ],
)
def test_in_a_box(predicate: str, said: str) -> None:
    sheet = attnc.loads(BOX.replace("PREDICATE", predicate)).block("f").draw(close="multihead")._sheet
    assert faults(sheet) == []
    (box,) = [s for column in sheet.columns for s in column.steps if s.block]
    (case,) = box.cases
    assert plain(case.text) == said


def test_long_predicates_are_folded_where_they_join() -> None:
    text = roman("0 ≤ q − k < 128 and (k < 4 or real or q mod 128 = 0) and not pad")
    own = rows(folded(text, 12.0, 114.0))
    assert [plain(row) for row in own] == [
        "0 ≤ q − k < 128 and",
        "(k < 4 or real or",
        "q mod 128 = 0) and",
        "not pad",
    ]
    assert all(width(row, 12.0) <= 114 for row in own)
    assert height(folded(text, 12.0, 114.0), 12.0) > 3 * 12.0
    assert joined(folded(text, 12.0, 1000.0)) == text
