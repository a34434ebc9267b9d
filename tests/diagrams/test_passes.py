"""Repeats whose passes differ: the picture says which pass does what."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import attnc
from attnc.diagrams import Diagram
from attnc.diagrams.base.text import plain
from attnc.diagrams.scene.passes import BodyPasses, Part, PassGroup, passes_text, plan
from attnc.diagrams.scene.steps import StepKind

from .geometry import faults

SPEC = """
width t
width s like t
depth m = 8
const layers = 6
block part(x: [t, m], mask: bool[t, s]) -> [t, m] {
    y = x[t as s]
    return dot[s](softmax[s](dot[m](x, y) where mask), y)
}
model f(x: [t, m]) -> [t, m] {
    repeat i in layers {
        BODY
    }
    return x
}
"""


def figure(body: str, **more: int) -> Diagram:
    diagram = attnc.loads(SPEC.replace("BODY", body)).model("f").draw(**more)  # type: ignore[arg-type]
    assert faults(diagram._sheet) == []
    return diagram


def said_at_masks(diagram: Diagram) -> list[str]:
    steps = [step for column in diagram._sheet.columns for step in column.steps]
    return ["".join(run.text for run in case.when) for step in steps for case in step.cases]


def titles(diagram: Diagram) -> list[str]:
    return [section.title for section in diagram._sheet.scene.sections]


@pytest.mark.parametrize("depth", [0, 9])
def test_a_mask_that_hangs_on_the_pass_is_drawn_for_each_kind_of_pass(depth: int) -> None:
    diagram = figure("x = part(x, s <= t and (i % 2 == 1 or t - s < 4))", depth=depth)
    assert said_at_masks(diagram) == ["i even", "i odd"]
    assert "6, i = 0…5" in titles(diagram)
    step = next(s for column in diagram._sheet.columns for s in column.steps if s.cases)
    narrow, wide = (case.pattern for case in step.cases)
    assert sum(map(sum, wide)) == 36
    assert sum(map(sum, narrow)) < 36
    assert {"even", "odd"} <= set(re.split(r"\W+", diagram.dot))


@pytest.mark.parametrize(
    ("predicate", "expected"),
    [
        ("s <= t and (i < 2 or t - s < 3)", ["i ≤ 1", "i ≥ 2"]),
        ("s <= t and (i == 3 or t - s < 3)", ["i ≠ 3", "i = 3"]),
        ("s <= t and (i % 3 == 2 or t - s < 3)", ["i mod 3 ≠ 2", "i mod 3 = 2"]),
        ("t - s < i + 1 and s <= t", ["i = 0", "…", "i = 5"]),
        ("s <= t and i < 6", [""]),
    ],
)
def test_which_passes(predicate: str, expected: list[str]) -> None:
    assert said_at_masks(figure(f"x = part(x, {predicate})")) == expected


def test_bodies_that_differ_are_all_drawn_where_they_run() -> None:
    other = "x = gelu(linear.a[m -> m](x))"
    turns = figure(f"if i % 2 == 0 {{ x = part(x, s <= t) }} else {{ {other} }}", depth=0)
    assert titles(turns) == ["3", "i even", "i odd"]
    assert "GELU" in turns.dot
    assert "<part>" in turns.dot
    first = figure(f"if i < 2 {{ x = part(x, s <= t) }} else {{ {other} }}", depth=0)
    assert titles(first) == ["2, i ≤ 1", "4, i ≥ 2"]
    once = figure(f"if i == 5 {{ x = part(x, s <= t) }} else {{ {other} }}", depth=0)
    assert titles(once) == ["5, i ≤ 4", "1, i = 5"]


def test_what_hangs_on_the_pass_elsewhere_names_it() -> None:
    dot = figure("x = x / (i + 1)").dot
    assert "6, i = 0…5" in dot
    assert "label=<<I>i</I>>" in dot


def run(parts: tuple[Part, ...]) -> list[int]:
    out: list[int] = []
    for part in parts:
        out += [part.number] if isinstance(part, BodyPasses) else run(part.parts) * part.times
    return out


def numbers(parts: tuple[Part, ...]) -> dict[int, int]:
    """The body that each pass is said to run."""
    out: dict[int, int] = {}
    for part in parts:
        if isinstance(part, PassGroup):
            out |= numbers(part.parts)
        else:
            out |= dict.fromkeys(part.passes, part.number)
    return out


@settings(max_examples=200, deadline=None)
@given(
    st.lists(st.integers(0, 2), max_size=14) | st.lists(st.integers(0, 1), min_size=1, max_size=4).map(lambda w: w * 30)
)
def test_a_plan_runs_what_it_stands_for(variant: list[int]) -> None:
    parts = plan(variant)
    assert run(parts) == variant
    assert numbers(parts) == dict(enumerate(variant))


@given(st.integers(1, 40), st.data())
def test_what_is_said_of_passes_is_true(count: int, data: st.DataObject) -> None:
    among = range(count)
    chosen = sorted(data.draw(st.sets(st.sampled_from(among), min_size=1)))
    text = passes_text("i", chosen, among)
    for i in among:
        match text.split():
            case []:
                holds = True
            case ["i", "even"]:
                holds = i % 2 == 0
            case ["i", "odd"]:
                holds = i % 2 == 1
            case ["i", "mod", period, sign, rest]:
                holds = (i % int(period) == int(rest)) == (sign == "=")
            case ["i", "≤", last]:
                holds = i <= int(last)
            case ["i", "≥", first]:
                holds = i >= int(first)
            case ["i", "≠", value]:
                holds = i != int(value)
            case ["i", "=", span] if "…" in span:
                low, high = map(int, span.split("…"))
                holds = low <= i <= high
            case ["i", "=", *values] if values[-1] != "…":
                holds = i in [int(v.rstrip(",")) for v in values]
            case _:
                return  # a list cut short: it promises no more than it shows
        assert holds == (i in chosen), text


def test_what_is_carried_is_drawn_even_if_nothing_reads_it_in_the_end() -> None:
    """It is read in the next pass. What no pass reads is left out."""
    text = """width x
depth m = 8
model f(a: [x, m], b: [x, m], c: [x, m]) -> [x, m] {
    repeat.layers 4 {
        a = tanh(a + b)
        b = b * 2
        c = c * 3
    }
    return a
}"""
    sheet = attnc.loads(text).model("f").draw()._sheet
    assert faults(sheet) == []
    assert sorted(plain(step.text) for step in sheet.scene.steps if step.mark == "arrow") == ["tanh", "× 2"]
    (end,) = [step for step in sheet.scene.steps if step.mark == "bracket" and step.kind is StepKind.EXIT]
    assert len(end.ins) == 2 and len(end.outs) == 1
