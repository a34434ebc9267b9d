"""What a figure opens by itself, and what it keeps as one glyph."""

from __future__ import annotations

import itertools

import pytest

import attnc
from attnc.diagrams import Diagram
from attnc.diagrams.base.text import plain
from attnc.diagrams.scene.graphs.positional import makes_table, turns
from attnc.diagrams.scene.steps import StepKind

from .geometry import faults


def blocks(drawn: Diagram) -> list[str]:
    return sorted(step.block for _, _, step in drawn._sheet.glyphs if step.mark == "block")


def regions(drawn: Diagram) -> set[str]:
    return {section.name for section in drawn._sheet.scene.sections if not section.repeat}


ROTARY = """
use std.positions: {name}
width t
depth h = 2, k = 8, r = 4
model f(x: [h, t, k]) -> [h, t, k] {{ return 2 * {name}[t, k{more}](x) }}
"""


@pytest.mark.parametrize("name", ["rotary", "rotary_interleaved", "rotary_partial"])
def test_what_turns_vectors_is_one_glyph_until_it_is_opened_by_name(name: str) -> None:
    model = attnc.loads(ROTARY.format(name=name, more=", r" if "partial" in name else "")).model("f")
    for depth in (None, 0, 1, 9):
        drawn = model.draw(depth=depth)
        assert blocks(drawn) == [name] and regions(drawn) == set(), depth
        assert faults(drawn._sheet) == []
    assert name in regions(model.draw(open=name))


# Each is like a rotation, but for one thing.
UNLIKE = {
    "it learns": "param g: [k] ~ normal(0.02)\n    return x * cos(t) * g",
    "it is not linear": "return x * x * cos(t)",
    "it adds something": "return x * cos(t) + sin(t)",
    "data are no coefficient": "return x * cos(sum[k](x)) * cos(t)",
    "its places are those of a depth": "return x * cos(k)",
    "it is the same at each place": "return x * cos(2)",
    "it masks": "return softmax[k](x where int(k) < 3) * cos(t)",
}


@pytest.mark.parametrize("why", UNLIKE)
def test_what_only_looks_like_turning(why: str) -> None:
    text = f"width t\ndepth k = 8\nblock turn(x: [t, k]) -> [t, k] {{\n    {UNLIKE[why]}\n}}\n"
    graph = attnc.loads(text).block("turn").graph
    assert not turns(graph)
    alike = "width t\ndepth k = 8\nblock turn(x: [t, k]) -> [t, k] {\n    return x * cos(t) - x * sin(t * int(k))\n}\n"
    assert turns(attnc.loads(alike).block("turn").graph)


def test_a_block_that_only_makes_a_table_is_told_from_one_that_learns_it() -> None:
    text = "width t\ndepth m = 4\nblock a() -> [t, m] { return sin(t * m) }\n"
    text += "block b() -> [t, m] {\n    param P: [m] ~ normal(0.02)\n    return P * t\n}\n"
    spec = attnc.loads(text)
    assert makes_table(spec.block("a").graph) and not makes_table(spec.block("b").graph)


def test_alibi_is_one_glyph_at_every_depth() -> None:
    text = "use std.positions: alibi\nwidth q\nwidth k like q\ndepth h = 8\n"
    text += "model f(s: [h, q, k]) -> [h, q, k] { return s + alibi[h, q, k]() }\n"
    for depth in (None, 1, 9):
        drawn = attnc.loads(text).model("f").draw(depth=depth)
        assert regions(drawn) == set()
        made = [step.mark for step in drawn._sheet.scene.steps if not step.ins]
        assert len(made) == 2 and made[0] == "input", made
    assert blocks(attnc.loads(text).model("f").draw(depth=0)) == ["alibi"]


@pytest.mark.parametrize("name", ["sinusoid", "sinusoid_halves"])
def test_a_table_is_one_glyph(name: str) -> None:
    """Its formula or, where items are rearranged, the name of the block that makes it."""
    text = f"use std.positions: {name}\nwidth t\ndepth m = 4\n"
    text += f"model f(x: [t, m]) -> [t, m] {{ return x + {name}[t, m]() }}\n"
    for depth in (None, 0, 9):
        drawn = attnc.loads(text).model("f").draw(depth=depth)
        assert [step.mark for step in drawn._sheet.scene.steps] == ["input", "block", "sign", "output"]
    assert (
        "bar" in [s.mark for s in attnc.loads(text).model("f").draw(open=name)._sheet.scene.steps] or name == "sinusoid"
    )


PLACES = """
width t <= 512
depth m = 64
model f(x: [t, m], real: bool[t]) -> [t, m] {{
    param P: [t, m] ~ normal(0.01)
    place = {place}
    return x + P[t = place]
}}
"""


def pills(place: str) -> list[str]:
    drawn = attnc.loads(PLACES.format(place=place)).model("f").draw()
    assert faults(drawn._sheet) == []
    return [plain(step.text) for step in drawn._sheet.scene.steps if step.mark == "pill" or step.kind is StepKind.LANE]


def test_what_is_made_of_a_padding_mask_is_one_pill() -> None:
    assert pills("max(cumsum[t](select(real, 1, 0)) - 1, 0)") == ["max(cumsum([real]) − 1, 0)"]
    assert pills("min(cumsum[t](select(real, 0, 1)), |t| - 1)") == ["min(cumsum(0 if real else 1), |t| − 1)"]
    assert pills("select(real, int(t), 0)") == ["t if real else 0"]
    drawn = attnc.loads(PLACES.format(place="max(cumsum[t](select(real, 1, 0)) - 1, 0)")).model("f").draw(legend=True)
    assert "numbers made of a mask" in drawn.dot and "reduction" not in drawn.dot


def test_numbers_of_data_are_no_pill_of_a_mask() -> None:
    """What is read for each item of data has its wires, and so has what goes on from whole numbers to reals."""
    assert pills("max(cumsum[t](select(mean[m](x) > 0, 1, 0)) - 1, 0)")[-1] != "max(cumsum([real]) − 1, 0)"
    text = "width t\ndepth m = 4\nmodel f(x: [t], real: bool[t]) -> [t] {\n"
    text += "    return x * select(real, 1, 0) + sqrt(cumsum[t](select(real, 1, 0)) + 1)\n}\n"
    drawn = attnc.loads(text).model("f").draw()
    made = [plain(step.text) for step in drawn._sheet.scene.steps if step.mark == "pill"]
    assert made == ["[real]", "cumsum([real]) + 1"] and faults(drawn._sheet) == []


def test_row_one_of_gpt2_is_not_its_masks() -> None:
    drawn = attnc.load("examples/zoo/gpt2.attn").model("gpt2").draw()
    before = itertools.takewhile(lambda step: step.mark != "bracket", drawn._sheet.scene.steps)
    marks = [step.mark for step in before if step.mark not in ("copy", "input")]
    assert sorted(marks) == ["embed", "embed", "pill", "sign"]


SCAN = """
width t
depth m = 64
block cell(x: [m], h: [m]) -> (h: [m]) { return tanh(linear.W[m -> m](x) + linear.U[m -> m](h, bias = false)) }
block layer(x: [t, m]) -> [t, m] { return scan[t] cell(x, h = 0) }
model alone(x: [t, m]) -> [t, m] { return layer(x) }
model two(x: [t, m]) -> [t, m] { return layer.b(layer.a(x)) }
"""


def test_a_block_that_is_one_scan_is_drawn_with_the_inside_of_its_step() -> None:
    spec = attnc.loads(SCAN)
    for model in (spec.model("alone"), spec.block("layer")):
        drawn = model.draw()
        assert blocks(drawn) == []
        assert [step.mark for step in drawn._sheet.scene.steps if step.learned] == ["learned", "learned"]
        assert blocks(model.draw(close="cell")) == blocks(model.draw(depth=0)) == ["cell"] or model.name == "alone"
    assert blocks(spec.model("two").draw(depth=0)) == ["layer", "layer"]
    assert blocks(spec.model("two").draw()) == ["cell", "cell"]
