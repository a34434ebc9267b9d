"""Operands that have a part of their own are told apart where their wires arrive; others may be exchanged."""

from __future__ import annotations

from math import hypot

import pytest

import attnc
from attnc.diagrams import Diagram
from attnc.diagrams.base.curves import sampled
from attnc.diagrams.base.picture import Box, Point
from attnc.diagrams.base.text import plain
from attnc.diagrams.scene.steps import DrawStep, StepKind

from .geometry import faults


def figure(body: str, inputs: str = "a: [x, m], b: [x, m], c: [x]", result: str = "[x, m]") -> Diagram:
    text = f"width x, y\ndepth m = 8, n = 6, h = 4, k = 2\nblock f({inputs}) -> {result} {{\n{body}\n}}\n"
    diagram = attnc.loads(text).block("f").draw(title="")
    assert faults(diagram._sheet) == []
    return diagram


def steps(diagram: Diagram) -> list[DrawStep]:
    return [step for column in diagram._sheet.columns for step in column.steps]


def labelled(diagram: Diagram, text: str) -> int:
    """Of the operand whose wires come nearest to this text, its place among those of the step that has the text."""
    sheet = diagram._sheet
    (box,) = [box for shown, box in sheet.texts if shown == text]
    (step,) = [step for step in steps(diagram) if any(plain(role) == text for role in step.roles)]
    near = []
    for place, wires in enumerate(sheet.meetings[id(step)].ins):
        numbers = {wire.number for wire in wires}
        points = [p for wire, chain in sheet.curves if wire.number in numbers for p in sampled(chain, 0.5)]
        before = [p for p in points if p[0] <= sheet.slots[id(step)].x1]
        near.append((min(_apart(box, p) for p in before), place))
    return min(near)[1]


def _apart(box: Box, p: Point) -> float:
    return hypot(max(box[0] - p[0], 0.0, p[0] - box[2]), max(box[1] - p[1], 0.0, p[1] - box[3]))


@pytest.mark.parametrize(
    ("body", "sign", "place"),
    [
        ("return a - b", "−", 1),
        ("return b - a", "−", 1),
        ("return a - tanh(linear.D[m -> m](a))", "−", 1),
        ("return tanh(linear.D[m -> m](a)) - a", "−", 1),
        ("return a - c", "−", 1),
        ("return c - a", "−", 1),
        ("return a / c", "÷", 1),
        ("return c / a", "÷", 1),
        ("return a ^ b", "^", 1),
        ("return c % a", "mod", 1),
        ("return select(a < b, 1, 0)", "<", 1),
        ("return select(a >= c, a, 0)", "≥", 1),
        ("return select(a > 0, a, b)", "if", 0),
        ("return select(a > 0, a, b)", "else", 2),
        ("return select(a > 0, b, a)", "else", 2),
        ("return clamp(a, c, b)", "low", 1),
        ("return clamp(a, c, b)", "high", 2),
    ],
)
def test_what_an_operand_is_stands_at_its_wires(body: str, sign: str, place: int) -> None:
    diagram = figure(body)
    assert labelled(diagram, sign) == place


@pytest.mark.parametrize("body", ["return a + b", "return a * c", "return max(a, b)", "return select(a == b, 1, 0)"])
def test_operands_that_may_be_exchanged_have_no_part(body: str) -> None:
    assert not any(any(step.roles) for step in steps(figure(body)))


@pytest.mark.parametrize(
    ("body", "shown"),
    [
        ("return a - 1", "− 1"),
        ("return 1 - a", "1 − ·"),
        ("return 2 / a", "2/ ·"),
        ("return 2 ^ a", "2 ^ ·"),
        ("return a ^ 2", "^ 2"),
        ("return a % 3", "mod 3"),
        ("return clamp(a, 0, 1)", "clamp(·, 0, 1)"),
        ("return max(a, 0)", "max(·, 0)"),
        ("return select(a > 0, 1, 0)", "1 if · else 0"),
        ("return select(0 < a, 1, 0)", "0 < ·"),
        ("return select(a < 0, 1, 0)", "< 0"),
        ("return select(a > 0, a, 0)", "else 0"),
        ("return select(a > 0, 0, a)", "then 0"),
    ],
)
def test_a_number_stands_in_its_place(body: str, shown: str) -> None:
    texts = [plain(step.text) for step in steps(figure(body)) if step.kind in (StepKind.LANE, StepKind.JOIN)]
    assert shown in texts
