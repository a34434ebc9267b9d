"""Claims of causality about masks with conditions on the number of a pass, or on an item of a list: with each the claim
is proved just if no pass sees anything that comes after, which is counted out over small sizes.
"""

from __future__ import annotations

import itertools
import random
import re

import pytest

import attnc

HEADS = {
    "w in ws": "repeat.r w in ws",
    "i in 3": "repeat.r i in 3",
    "i in |ws|": "repeat.r i in |ws|",
}
NUMBERS = {
    "w in ws": ["w", "2 * w", "w + 1", "w - 1", "max(w, 1)"],
    "i in 3": ["i", "2 * i + 1", "i - 1"],
    "i in |ws|": ["ws[i]", "ws[i] + i", "ws[|ws| - 1 - i]"],
}
LISTS = [[0, 2], [3, 1, 2], [-1, 2], [1, 1], [0, -2, 4]]
BOUNDS = ["past <= seq", "past < seq", "seq - past >= 0", "seq == past"]
MORE = [
    "seq - past >= {n}",
    "past <= seq - {n}",
    "seq - past < {n}",
    "past + {n} > seq",
    "past % 3 == {n}",
    "past >= {n}",
    "seq != {n}",
    "{n} > 0",
    "abs(seq - past) <= {n}",
]
BLOCK = """block look[n: const](x: [seq]) -> [seq] {{
    return sum[past](x[seq as past] where {mask})
}}
"""


def text(head: str, numbers: list[int], mask: str, number: str, block: bool) -> str:
    op = f"sum[past](x[seq as past] where {mask.format(n=number)})"
    return (
        f"const ws = {numbers}\nwidth seq\nwidth past like seq\n"
        + (BLOCK.format(mask=mask.format(n="n")) if block else "")
        + f"model net(x: [seq]) -> [seq] causal seq {{\n    {HEADS[head]} {{\n        x = "
        + (f"look[n = {number}](x)" if block else op)
        + "\n    }\n    return x\n}\n"
    )


def leaks(head: str, numbers: list[int], mask: str, number: str) -> bool:
    """Whether some pass lets an item in that comes after."""
    python = mask.format(n=f"({number})").replace("|ws|", "len(ws)")
    passes = [{"w": w, "i": i} for i, w in enumerate(range(3) if head == "i in 3" else numbers)]
    return any(
        eval(python, {"ws": numbers, "seq": seq, "past": past, **each})  # as Python reads it
        for each in passes
        for seq, past in itertools.product(range(9), repeat=2)
        if past > seq
    )


def ways() -> list[tuple[str, list[int], str, str, bool]]:
    masks = [" and ".join(parts) for bound in BOUNDS for more in MORE for parts in ((bound, more), (more, bound))]
    masks += [mask for mask in MORE if {"seq", "past"} <= {*re.findall(r"\w+", mask)}]
    return [
        (head, numbers, mask, number, block)
        for head in HEADS
        for number in NUMBERS[head]
        for numbers in (LISTS if head != "i in 3" else LISTS[:1])
        for mask in masks
        for block in (False, True)
    ]


def judge(way: tuple[str, list[int], str, str, bool]) -> None:
    head, numbers, mask, number, block = way
    spec = text(head, numbers, mask, number, block)
    codes = [each.code for each in attnc.check(spec)]
    assert ("E0701" in codes) is leaks(head, numbers, mask, number), spec


@pytest.mark.parametrize("start", range(4))
def test_some(start: int) -> None:
    for way in random.Random(start).sample(ways(), 25):
        judge(way)


@pytest.mark.slow
@pytest.mark.parametrize("start", range(8))
def test_all(start: int) -> None:
    for way in ways()[start::8]:
        judge(way)
