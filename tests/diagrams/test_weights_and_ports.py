"""Whose weights a learned map has; what goes into which port of a closed block, and what passes it."""

from __future__ import annotations

import pytest

from attnc.compiler.check import build
from attnc.diagrams import draw
from attnc.diagrams.draw.sheet import Sheet
from attnc.dsl.source import Source

from .geometry import faults

HEAD = "width x, z\nwidth y like x\ndepth m = 8, n = 8, h = 2, k = 4, v = 4, e = 4\n"
BLOCKS = """
block blended(left: [x, m], right: [x, m]) -> [x, m] {
    one = linear.A[m -> m](left)
    return layernorm.mixed[m](one + relu(linear.B[m -> m](right))) + linear.D[m -> m](gelu(one))
}
block spread[a: width](S: [a, m]) -> [a, m] {
    near = softmax[a](linear.A[m -> m](S))
    return layernorm.spread[m](S + linear.B[m -> m](gelu(near))) + linear.C[m -> m](near)
}
block small(X: [x, m]) -> [x, m] {
    return X + linear.W[m -> m](X)
}
"""


def sheet_of(body: str, **options: object) -> Sheet:
    program = build(Source("it", HEAD + BLOCKS + "block f" + body))
    assert not program.errors, program.errors
    sheet = draw(program.graph("f"), title="", **options)._sheet  # type: ignore[arg-type]
    assert faults(sheet) == []
    return sheet


def dots(sheet: Sheet) -> list[str]:
    """Of weights for each item of an axis."""
    return [n.attributes["tooltip"] for n in sheet.picture.nodes if n.attributes.get("class") == "op each"]


def texts(sheet: Sheet) -> list[str]:
    return [text for text, _ in sheet.texts]


def test_weights_of_each_head() -> None:
    shared = sheet_of("(X: [x, h, m]) -> [x, h, v] { return linear.U[m -> v](X) }")
    own = sheet_of("(X: [x, h, m]) -> [x, h, v] { return linear.U[h: m -> v](X) }")
    assert dots(shared) == []
    assert dots(own) == ["weights for each h"]
    (box,) = [box for _, box, step in own.glyphs if step.mark == "learned"]
    (dot,) = [n.at for n in own.picture.nodes if n.attributes.get("class") == "op each"]
    assert box[0] < dot[0] < box[2] and box[1] < dot[1] < box[3]
    heights = [c[0][1] for wire, c in own.curves if wire.axis is not None and wire.axis.name == "h"]
    assert dot[1] in heights  # it lies on the wire


@pytest.mark.parametrize(("brackets", "axes"), [("e: m -> v", "e"), ("h, e: m -> v", "he"), ("h, e: m, k -> v", "he")])
def test_weights_of_each_expert(brackets: str, axes: str) -> None:
    rest = "" if "k" in brackets else ", k"
    sheet = sheet_of(f"(X: [h, x, m, e, k]) -> [h, x, e{rest}, v] {{ return linear.U[{brackets}](X) }}")
    assert sorted(dots(sheet)) == sorted(f"weights for each {axis}" for axis in axes)


def test_an_axis_that_weights_alone_have() -> None:
    sheet = sheet_of("(X: [x, m]) -> [x, h, v] { return linear.U[h: m -> v](X) }")
    assert dots(sheet) == ["weights for each h"]


def ports(sheet: Sheet) -> dict[str, str]:
    """The name in a box at each input of the figure that leads straight into it."""
    found = {}
    boxes = {id(step): box for _, box, step in sheet.glyphs if step.mark == "block"}
    for column in sheet.columns:
        for step in column.steps:
            if id(step) not in boxes:
                continue
            x0, _, x1, _ = boxes[id(step)]
            j = sheet.column_of[id(step)]
            inside = [(t, b) for t, b in sheet.texts if x0 < b[0] and b[2] < (x0 + x1) / 2 + 30]
            for tensor, wires in zip(step.ins, sheet.meetings[id(step)].ins, strict=True):
                ys = [wire.y[j] for wire in wires]
                at = [t for t, b in inside if min(ys) - 2 < (b[1] + b[3]) / 2 < max(ys) + 2]
                found[tensor.name] = " ".join(at)
    return found


def test_a_closed_block_names_its_ports() -> None:
    one = ports(sheet_of("(X: [x, m], Y: [x, m]) -> [x, m] { return blended(X, Y) }", depth=0))
    other = ports(sheet_of("(X: [x, m], Y: [x, m]) -> [x, m] { return blended(Y, X) }", depth=0))
    assert one == {"X": "left", "Y": "right"}
    assert other == {"X": "right", "Y": "left"}


def test_one_port_needs_no_name() -> None:
    assert "S" not in texts(sheet_of("(X: [x, m]) -> [x, m] { return spread[x](X) }", depth=0))
    assert "left" not in " ".join(texts(sheet_of("(X: [x, m]) -> [x, m] { return blended(X, X) }", depth=0)))


def passing(sheet: Sheet) -> set[str]:
    """The axes whose wires run on into a closed block."""
    marks = [n for n in sheet.picture.nodes if n.attributes.get("class") == "wire"]
    runs = [(run.wire, run.x0, run.x1, run.y) for run in sheet.runs if run.wire.axis is not None]
    return {w.axis.name for n in marks for w, a, b, y in runs if w.axis and y == n.at[1] and a - 20 < n.at[0] < b + 20}


def test_what_a_closed_block_is_done_for_each_item_of() -> None:
    body = "(X: [x, z, m]) -> [x, z, m] {{ return spread[{}](X) }}"
    assert passing(sheet_of(body.format("x"), depth=0)) == {"z"}
    assert passing(sheet_of(body.format("z"), depth=0)) == {"x"}


def test_an_unembedding_is_no_lookup() -> None:
    body = "(ids: n[x]) -> [x, n] { param E: [n, m]\n return dot[m](tanh(E[n = ids]), E) }"
    sheet = sheet_of(body)
    boxes = [step for _, _, step in sheet.glyphs if step.mark in ("learned", "embed")]
    assert [step.mark for step in boxes] == ["embed", "learned"]
    assert texts(sheet).count("E") == 2 and texts(sheet).count("L") == 1


def test_a_letter_is_of_one_weight() -> None:
    two = texts(sheet_of("(X: [x, m]) -> [x, m] { return small.second(small.first(X)) }"))
    assert "W (first)" in two and "W (second)" in two
    one = texts(sheet_of("(X: [x, m]) -> [x, m] { share s = small\n return s(s(X)) }"))
    assert one.count("W") == 2
