"""Which masks leave padding out (W0522), by what they do.

Drawn formulas of truth values of the key, of the query and of places are judged by their truth tables: a mask of
padding lets no key through where one of its truth values is false (or true), whatever else holds. And numbers of items:
`key < n`, however that is written.
"""

from __future__ import annotations

import itertools
import random
import re

import pytest

import attnc

ATOMS = ["flag", "flag[word as other]", "more[word as other]", "word < other"]
KEY = 1  # of the atoms, the one that may say what is padding
TEXT = """
width word
width other like word
depth model = 8

block attend(x: [word, model], seen: bool[word, other]) -> [word, model] {{
    scores = dot[model](x, x[word as other]) / sqrt(|model|)
    return dot[other](softmax[other](scores where seen), x[word as other])
}}

model read(x: [word, model], {inputs}) -> [model] {{
    seen = {mask}
    y = {reads}
    return {end}
}}
"""
READS = [
    "attend(x, broadcast[word](seen))",
    "dot[other](softmax[other](dot[model](x, x[word as other]) where seen), x[word as other])",
]


def told(mask: str, inputs: str, reads: str, end: str = "mean[word](y)") -> list[str]:
    found = attnc.check(TEXT.format(mask=mask, inputs=inputs, reads=reads, end=end))
    assert not [each for each in found if each.code.startswith("E")], (mask, found)
    return [each.help or "" for each in found if each.code == "W0522"]


def formula(draw: random.Random, atoms: list[str]) -> str:
    """Of all these, each once."""
    if len(atoms) == 1:
        return draw.choice(["{}", "not {}"]).format(atoms[0])
    cut = draw.randrange(1, len(atoms))
    sides = [formula(draw, atoms[:cut]), formula(draw, atoms[cut:])]
    sign = draw.choice(["and", "or", "==", "!=", "and", "or"])
    return draw.choice(["({})", "not ({})"]).format(f" {sign} ".join(f"({side})" for side in sides))


def padding(mask: str) -> list[bool]:
    """The values of the key's truth value at which no key is let through."""
    python = mask
    for place in sorted(range(len(ATOMS)), key=lambda place: -len(ATOMS[place])):
        python = python.replace(ATOMS[place], f"atoms[{place}]")
    ways = [*itertools.product((False, True), repeat=len(ATOMS))]
    held = {way: eval(python, {"atoms": way}) for way in ways}
    return [value for value in (False, True) if not any(held[way] for way in ways if way[KEY] is value)]


def judge(seed: int) -> None:
    draw = random.Random(seed)
    atoms = ["flag[word as other]", *draw.sample([atom for atom in ATOMS if atom != ATOMS[KEY]], draw.randint(1, 3))]
    draw.shuffle(atoms)
    mask = formula(draw, atoms)
    found = [
        each for each in told(mask, "flag: bool[word], more: bool[word]", draw.choice(READS[1:])) if "flag" in each
    ]
    out = padding(mask)
    if not out:
        assert not found, mask
    elif not re.search(r"more|flag(?!\[)", mask):  # with both signs of it, or beside another one, it may choose
        assert found, mask
        assert ("not flag" in found[0]) is out[0], mask


@pytest.mark.parametrize("start", range(2))
def test_drawn_masks(start: int) -> None:
    for seed in range(start * 25, start * 25 + 25):
        judge(seed)


@pytest.mark.slow
@pytest.mark.parametrize("start", range(8))
def test_many_drawn_masks(start: int) -> None:
    for seed in range(1000 + start * 200, 1200 + start * 200):
        judge(seed)


@pytest.mark.parametrize(
    ("mask", "help"),
    [
        ("other < n", "word < n"),
        ("n > other", "word < n"),
        ("other <= n - 1", "word < n"),
        ("other + 1 <= n", "word < n"),
        ("n - other > 0", "word < n"),
        ("other - n < 0", "word < n"),
        ("not (other >= n)", "word < n"),
        ("other < n + 1", "word < n + 1"),
        ("other <= n", "word < n + 1"),
        ("other >= n", "word >= n"),
        ("other < n and abs(word - other) < 4", "word < n"),
        ("other < n or other <= word", ""),
        ("word - other < n", ""),
        ("other == n", ""),
        ("other < 2 * n", ""),
    ],
)
@pytest.mark.parametrize("reads", READS)
def test_numbers_of_items(mask: str, help: str, reads: str) -> None:
    if "word" in mask:
        reads = reads.replace("broadcast[word](seen)", "seen")
    found = told(mask, "n: int[]", reads)
    assert [f"`mean[word](y where {help})`" in each for each in found] == [True] * bool(help), found
    end = f"mean[word](y where {help})" if help else "sum[word](y where word < n)"
    assert not told(mask, "n: int[]", reads, end)
