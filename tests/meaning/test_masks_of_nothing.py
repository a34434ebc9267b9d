"""Masks that let nothing through (W0523), alike for all queries or not, wherever they are made; and near them what
another config, other sizes or other data may let through.
"""

from __future__ import annotations

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
