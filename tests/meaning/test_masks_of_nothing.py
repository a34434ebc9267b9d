"""Masks that let nothing through (W0523), alike for all queries or not, wherever they are made; and near them what
another config, other sizes or other data may let through.
"""

from __future__ import annotations

import itertools
import math
import random
import re
from collections.abc import Sequence

import pytest

import attnc

TEXT = """
width item
width other like item
depth model = 8
const near = false

block attend(x: [item, model], seen: bool[item, other]) -> [item, model] {{
    scores = dot[model](x, x[item as other]) / sqrt(|model|)
    return dot[other](softmax[other](scores where seen), x[item as other])
}}

block alike(x: [item, model], seen: bool[other]) -> [item, model] {{
    scores = dot[model](x, x[item as other]) / sqrt(|model|)
    return dot[other](softmax[other](scores where seen), x[item as other])
}}

model read(x: [item, model], ok: bool[item], pair: bool[item, other]) -> [item, model] {{
    scores = dot[model](x, x[item as other]) / sqrt(|model|)
    {made}
    return linear.out[model -> model](y)
}}
"""
OP = "y = dot[other](softmax[other](scores where {mask}), x[item as other])"
MOST = "y = max[other](broadcast[item](x[item as other]) where {mask})"
PASSES = "repeat.r 2 shared {{\n        x = linear.into[model -> model](" + OP[4:] + ")\n    }}\n    y = x"
NEVER = [
    "false",
    "not true",
    "other < 0",
    "other >= |other|",
    "other > |other| - 1",
    "|other| <= other",
    "ok[item as other] and not ok[item as other]",
    "(ok and not ok)[item as other]",
    "not (ok[item as other] or not ok[item as other])",
    "ok and pair and not ok",
    "other < item and (ok and other > item)",
    "pair and false",
    "ok and (other < 0)",
]
SOMETIMES = [
    "true",
    "other >= 0",
    "near and other <= item",
    "near and pair",
    "near and other >= 0",
    "ok[item as other]",
    "ok and not ok[item as other]",
    "ok[item as other] or not ok[item as other]",
    "other <= item and not ok",
    "other > |other| - 2",
]


def told(mask: str, made: str) -> list[str]:
    found = attnc.check(TEXT.format(made=made.format(mask=mask)))
    assert not [each for each in found if each.code.startswith("E")], found
    return [each.code for each in found if each.code == "W0523"]


def ways(mask: str) -> list[str]:
    pairs = "item" in mask.replace("item as other", "")
    by_item = pairs or "pair" in mask or "ok " in mask.replace("(ok and not ok)", "")
    block = "y = attend(x, {mask})" if by_item else "y = alike(x, {mask})"
    return [OP, MOST, PASSES] + ([block] if "other" in mask or "pair" in mask else [])


@pytest.mark.parametrize("mask", NEVER)
def test_what_lets_nothing_through(mask: str) -> None:
    for made in ways(mask):
        assert told(mask, made) == ["W0523"], made


@pytest.mark.parametrize("mask", SOMETIMES)
def test_what_may_let_something_through(mask: str) -> None:
    for made in ways(mask):
        assert told(mask, made) == [], made


def test_what_is_joined_is_not_lost() -> None:
    assert told("false", OP + " + x") == []


PLACES = ["item", "other", "item - other", "2 * item", "3 * other", "floor(item / 2)", "floor(other / 4)", "other % 3"]
PLACES += ["|other|", "|item| - 1", "abs(item - other)", "item * 2 - other", "max(item - 2, 0)", "min(other, 3)", "4"]


def drawn(draw: random.Random, depth: int = 0) -> str:
    kind = draw.random()
    if depth < 2 and kind < 0.4:
        return f"({drawn(draw, depth + 1)} {draw.choice(['and', 'and', 'or'])} {drawn(draw, depth + 1)})"
    if kind < 0.5:
        return draw.choice(["ok", "not ok", "ok[item as other]"])
    left, right = (f"{draw.choice(PLACES)} {draw.choice('+-')} {draw.randrange(6)}" for _ in range(2))
    return f"{left} {draw.choice(['<', '<=', '>', '>=', '=='])} {right}"


def sees(mask: str, item: int, size: int, ok: Sequence[bool]) -> bool:
    python = re.sub(r"\|\w+\|", "size", mask).replace("ok[item as other]", "ok_there")
    names = {"floor": math.floor, "abs": abs, "max": max, "min": min, "size": size, "item": item, "ok": ok[item]}
    return any(eval(python, {**names, "other": other, "ok_there": ok[other]}) for other in range(size))


SLOPES = ["other > 2 * item", "item * 2 - other <= 5", "other > 8 * (8 * item)", "floor(other / 4) > 4"]
"""At sizes beside each other the same items see nothing of these, and at others other ones do, or none."""


@pytest.mark.parametrize("seed", [*range(3), *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(3, 40))])
def test_what_is_said_to_see_nothing_does_so_at_every_size(seed: int) -> None:
    draw = random.Random(seed)
    for mask in (drawn(draw) if seed or number > 3 else SLOPES[number] for number in range(16)):
        text = TEXT.format(made=OP.format(mask=mask))
        for each in (each for each in attnc.check(text) if each.code == "W0523"):
            whom = re.search(r"from (?:item (\d+)|items (\d+) to (\d+)|the first (\d*)|each)", each.message)
            first, start, end, head = (int(one or 0) for one in whom.groups()) if whom is not None else (0,) * 4
            most = end + 1 if end else head or (1 if "the first item" in each.message else None)
            most = first + 1 if first and "all after it" not in each.message else most
            for size, pattern in itertools.product((1, 2, 3, 7, 12, 30), ((True,), (False,), (True, False))):
                ok = [pattern[at % len(pattern)] for at in range(size)]
                for item in range(first or start, size if most is None else min(most, size)):
                    assert not sees(mask, item, size, ok), (mask, each.message, item, size)
