"""Lists of numbers in figures and equations: what a pass reads off them is shown, so another list is another figure."""

from __future__ import annotations

import attnc

SPEC = """
use std.attention: multihead, model, heads
width seq
width past like seq
depth model = 16, heads = 2
const windows = {windows}, gains = {gains}

model decoder(x: [seq, model]) -> [seq, model] causal seq {{
    repeat i in |windows| {{
        seen = past <= seq and (windows[i] == 0 or seq - past < windows[i])
        x = x + gains[i % |gains|] * multihead[seq, past](x, x[seq as past], mask = seen)
    }}
    return x
}}
"""
LONG = [0, 512, 512, 512, 512, 512] * 10
LISTS = [
    ([0, 4, 2], [1, 2]), ([0, 2, 4], [1, 2]), ([0, 4, 3], [1, 2]), ([0, 4, 2], [1, 3]), ([0, 4, 2], [2, 1]),
    ([0, 4, 2, 2], [1, 2]), (LONG, [1, 2]), ([*LONG[:-1], 511], [1, 2]), ([*LONG[:-6], 512, *LONG[-5:]], [1, 2]),
]  # fmt: skip


def model(windows: list[int], gains: list[int]) -> attnc.Model:
    return attnc.loads(SPEC.format(windows=windows, gains=gains)).model("decoder")


def test_another_list_is_another_figure() -> None:
    assert len({model(*lists).draw().svg() for lists in LISTS}) == len(LISTS)


def test_the_passes_of_each_window_are_named() -> None:
    text = model(LONG, [1, 2]).draw().dot
    assert "512" in text and "mod" in text and "length" not in text


def test_another_list_is_another_equation() -> None:
    found = [model(*lists).latex() for lists in LISTS]
    assert len({*found}) == len(LISTS)
    assert r"{\left[0, 4, 2\right]}_{i}" in found[0] and "length" not in found[0]
