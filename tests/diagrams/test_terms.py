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


def test_a_sign_stands_in_a_ring_on_its_own_wire() -> None:
    for body in ("return a - b", "return b / c", "return a - tanh(linear.D[m -> m](a))"):
        diagram = figure(body)
        sheet = diagram._sheet
        (ring,) = [box for id, box, _ in sheet.glyphs if id.startswith("role")]
        (step,) = [step for step in steps(diagram) if any(step.roles)]
        through = {wire.number for wire, chain in sheet.curves for p in sampled(chain, 0.5) if _apart(ring, p) == 0}
        assert len(through) == 1 and through <= {wire.number for wire in sheet.meetings[id(step)].ins[1]}


@pytest.mark.parametrize("body", ["return a + b", "return a * c", "return max(a, b)", "return select(a == b, 1, 0)"])
def test_operands_that_may_be_exchanged_have_no_part(body: str) -> None:
    assert not any(any(step.roles) for step in steps(figure(body)))


@pytest.mark.parametrize(
    ("body", "shown"),
    [
        ("return a - 1", "− 1"),
        ("return 1 - a", "1 − ·"),
        ("return 2 / a", "2/ ·"),
        ("return a + 1 / 3", "+ 1/3"),
        ("return a * (2 + |m|)", "× (|m| + 2)"),
        ("return a * 0.123456789", "× 0.123456789"),
        ("return a * ((|h| + 1) / |h|)", "× (|h| + 1)/|h|"),
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


@pytest.mark.parametrize(
    ("body", "note"),
    [
        ("layernorm.n[m](a)", ""),
        ("layernorm.n[m](a, bias = false)", "no β"),
        ("layernorm.n[m](a, scale = false)", "no γ"),
        ("layernorm.n[m](a, scale = false, bias = false)", "no γ, β"),
        ("rmsnorm.n[m](a)", ""),
        ("rmsnorm.n[m](a, scale = false)", "no γ"),
        ("l2norm[m](a)", ""),
    ],
)
def test_a_norm_says_what_it_lacks(body: str, note: str) -> None:
    diagram = figure(f"return {body}")
    (ring,) = [step for step in steps(diagram) if step.mark == "ring"]
    assert plain(ring.note) == note
    assert not note or note in [text for text, _ in diagram._sheet.texts]


@pytest.mark.parametrize(
    ("body", "note"),
    [
        ("b = split[m -> h, k](a)\nreturn merge[h, k -> m](b * b)", []),
        ("b = split[m -> k, h](a)\nreturn merge[k, h -> m](b * b)", []),
        ("u = split[m -> h, k](a)\nv = linear.L[m -> k, h](a)\nreturn a + merge[h, k -> m](u + v)", []),
    ],
)
def test_axes_are_split_from_top_to_bottom(body: str, note: list[str]) -> None:
    diagram = figure(body)
    assert [text for text, _ in diagram._sheet.texts if "·" in text] == note


def test_a_bar_says_how_its_axes_are_split_if_they_do_not_lie_so() -> None:
    one = figure("return split[m -> h, k](a)", result="[x, h, k]")
    other = figure("return split[m -> k, h](a)", result="[x, h, k]")
    assert [[text for text, _ in d._sheet.texts if "·" in text] for d in (one, other)] == [[], ["k·h"]]


@pytest.mark.parametrize(("operands", "numbers"), [("a, b", []), ("b, a", ["1", "2"])])
def test_what_is_joined_is_numbered_if_it_does_not_lie_so(operands: str, numbers: list[str]) -> None:
    diagram = figure(f"return concat[h, h -> m]({operands})", "a: [x, h], b: [x, h]")
    (bar,) = [step for step in steps(diagram) if step.mark == "bar"]
    assert sorted(text for text, _ in diagram._sheet.texts if text.isdigit()) == numbers
    for text, box in diagram._sheet.texts:
        if text in numbers:
            wires = diagram._sheet.meetings[id(bar)].ins
            joint = [next(w for w in own if w.axis in bar.contracted) for own in wires]
            heights = [wire.y[diagram._sheet.column_of[id(bar)]] for wire in joint]
            middle = (box[1] + box[3]) / 2
            assert min((abs(y - middle), k) for k, y in enumerate(heights))[1] == int(text) - 1


@pytest.mark.parametrize(
    ("program", "shown"),
    [
        ("block f(a: [x]) -> [z] { return pad[x -> z](a) }", "pad"),
        ("block f(a: [x]) -> [z] { return pad[x -> z](a, left = 1) }", "pad, 1 before"),
        ("block f(a: [x]) -> [z] { return pad[x -> z](a, left = 2, value = -1) }", "pad, 2 before, of −1"),
        ("block f(a: [m]) -> m[r] { return argsort[m -> r](a) }", "argsort"),
        ("block f(a: [m]) -> m[r] { return argsort[m -> r](a, descending = true) }", "argsort, descending"),
        ("block f(a: [m], i: m[]) -> [] { return cross_entropy[m](a, i, smoothing = 0.1) }", "smoothing\n0.1"),
        ("block f(a: [m]) -> [m] { return gelu_tanh(a) }", "GELU (tanh)"),
        ("block f(a: [m]) -> [m] { return gelu(a) }", "GELU"),
        ("block f(a: [m]) -> [m] { return log_softmax[m](a) }", "log softmax"),
        ("block f(a: [m]) -> [m] { return a + sum[h](1 / (h + 1)) }", "1/(h + 1)"),
        ("block f(a: [m]) -> [m] { return a + 2 ^ (-8 * (m + 1) / |m|) }", "2−8 (m + 1)/|m|"),
        ("block f(a: [m]) -> [m] { return a + 2 ^ (2 ^ m) }", "2^(2m)"),
        ("block f(a: [m]) -> [m] { return a * abs(m - 3) }", "|m − 3|"),
    ],
)
def test_options_and_formulas_are_written_in_full(program: str, shown: str) -> None:
    text = f"width x\nwidth z = |x| + 3\ndepth m = 8, h = 4\ndepth r like m\n{program}"
    diagram = attnc.loads(text).block("f").draw(title="")
    assert faults(diagram._sheet) == []
    assert any(shown == text or shown in text.split(",\n") for text, _ in diagram._sheet.texts)


def test_a_long_formula_is_wrapped_and_a_longer_one_drawn() -> None:
    rate = "rate = 10000 ^ (-2 * floor(m / 2) / |m|)"
    table = "select(int(m) % 2 == 0, sin(x * rate), cos(x * rate))"
    wrapped = figure(f"{rate}\nreturn a + {table}")
    (source,) = [step for step in steps(wrapped) if step.mark == "table"]
    formula = plain(source.text)
    assert formula == "sin(x · 10000−2 floor(m/2)/|m|) if m mod 2 = 0 else cos(x · 10000−2 floor(m/2)/|m|)"
    assert "if m mod 2 = 0" in [text for text, _ in wrapped._sheet.texts]
    drawn = figure(f"{rate}\nreturn a + {table} + {table.replace('sin', 'exp')} * ({table.replace('cos', 'tanh')} + x)")
    assert len([step for step in steps(drawn) if step.mark in ("table", "predicate")]) >= 3
    assert not any("…" in text for text, _ in drawn._sheet.texts)


def test_a_long_formula_with_a_name_stands_beneath_the_figure_once() -> None:
    text = """
width x, y
depth m = 8
block place[n: width](a: [n, m]) -> [n, m] {
    angle = n / 10000 ^ (2 * floor(m / 2) / |m|)
    wave = select(m % 2 == 0, sin(angle), cos(angle))
    return a + wave
}
block f(a: [x, m], b: [y, m]) -> (a: [x, m], b: [y, m]) {
    rate = 1 / (m + 1)
    return place[x](a) * rate, place[y](b)
}
"""
    sheet = attnc.loads(text).block("f").draw(depth=2, width=20)._sheet
    assert faults(sheet) == []
    shown = [text for text, _ in sheet.texts]
    assert shown.count("wave") >= 2 and shown.count("rate") == shown.count("1/(m + 1)") == 1
    (where,) = [k for k, text in enumerate(shown) if text.startswith("where wave = sin(x/10000")]
    assert all(box[3] <= sheet.texts[where][1][1] for text, box in sheet.texts if text in ("wave", "rate"))
    assert not any("sin(y" in text for text in shown)
    assert "; also with y for x" in " ".join(shown)
