"""Each construct of the language has its picture: scans, ops of the user's own, masks, shared weights."""

from __future__ import annotations

import typing
from itertools import pairwise
from pathlib import Path

import pytest

import attnc
from attnc.compiler.graph import nodes as ir
from attnc.diagrams import Diagram, UnknownBlock
from attnc.diagrams.base.curves import sampled
from attnc.diagrams.base.text import Run, plain
from attnc.diagrams.layout.wires import Wire
from attnc.diagrams.scene import op_glyphs
from attnc.diagrams.scene.steps import StepKind

from . import graphs
from .geometry import bends, crossings, faults, overlap
from .test_figures import FIGURES

ROOT = Path(__file__).parent.parent.parent

SCAN = """
width t
depth m = 4
block cell(x: [m], h: [m], c: [m], w: [m]) -> (h: [m], c: [m], o: []) {
    z = tanh(linear.a[m -> m](x) + h) * w
    return z, z + c, sum[m](z)
}
model f(x: [t, m], w: [m]) -> [t] {
    _, _, o = scan[t] cell(x, h = 0, c = 0, w = w)
    return o
}
"""
STATES = """
width seq
depth d = 4, e = 3
block cell(x: [d], v: [e], S: [d, e]) -> (S: [d, e], y: [e]) {
    T = S + x * v
    return T, dot[d](x, T)
}
model f(x: [seq, d], v: [seq, e]) -> [seq, e] {
    _, y = scan[seq] cell(x, v, S = 0)
    return y * linear.g[d -> e](x)
}
"""
OWN = """
width t
depth m = 4
op theirs[n: width](x: [n, m]) -> [n, m] = "somewhere:function"
model f(x: [t, m]) -> [t, m] {
    return x + theirs[t](x)
}
"""
SHARED = """
width t
depth m = 4
block ff(x: [m]) -> [m] { return linear.down[m -> m](relu(linear.mid[m -> m](relu(linear.up[m -> m](x))))) }
model f(x: [t, m]) -> [t, m] {
    share twin = ff
    return twin(twin(x))
}
"""
PADDED = """
use std.attention: multihead, model, heads
width t
width s like t
block layer(x: [t, model], real: bool[t]) -> [t, model] {
    return x + multihead.self[t, s](x, x[t as s], mask = real[t as s] and s <= t)
}
"""


def figure(text: str, name: str = "f", **more: typing.Any) -> Diagram:
    spec = attnc.loads(text)
    model = spec.block(name) if name in spec.blocks else spec.model(name)
    diagram = model.draw(**more)
    assert faults(diagram._sheet) == []
    return diagram


def steps(diagram: Diagram) -> list[typing.Any]:
    return [step for column in diagram._sheet.columns for step in column.steps]


def test_every_kind_of_node_is_unfolded() -> None:
    """A kind of node that `unfold` does not name would be left out of the picture."""
    source = (ROOT / "diagrams" / "scene" / "unfold.py").read_text(encoding="utf-8")
    for kind in typing.get_args(ir.Node):
        assert f"case {kind.__name__}(" in source, kind


def test_every_glyph_has_a_meaning() -> None:
    from attnc.diagrams.glyphs.marks import DRAW

    glyphs = [glyph for glyph in vars(op_glyphs).values() if isinstance(glyph, op_glyphs.Glyph)]
    assert {glyph.mark for glyph in glyphs if glyph.mark} <= set(DRAW)


@pytest.mark.parametrize("depth", [0, 9])
def test_a_scan_stands_in_brackets_that_its_axis_ends_and_begins_at(depth: int) -> None:
    diagram = figure(SCAN, depth=depth)
    enter = next(s for s in steps(diagram) if s.kind is StepKind.ENTER and s.border.along is not None)
    leave = next(s for s in steps(diagram) if s.kind is StepKind.EXIT and s.border.along is not None)
    along = enter.border.along
    assert along.name == "t"
    assert any(along in a.axes and along not in b.axes for a, b in zip(enter.ins, enter.outs, strict=True))
    assert all(along in b.axes for b in leave.outs)
    assert len(leave.ins) == 3  # the states end at the bracket, though nothing outside reads them
    assert len(leave.outs) == 1
    assert "<I>h, c</I>" in diagram.dot
    assert ">each<" in diagram.dot.replace("<each>", ">each<")
    assert ("op block block-cell" in diagram.dot) == (depth == 0)


@pytest.mark.parametrize("how", [{"close": ["cell"]}, {"open": ["cell"]}])
def test_what_a_scan_holds_lies_between_the_ends_of_its_brackets(how: dict[str, list[str]]) -> None:
    """The state ends at the bracket and the result goes on behind it: the result's dashed line is not outside."""
    sheet = figure(STATES, **how)._sheet
    (border,) = sheet.borders
    for step in (border.section.enter, border.section.exit):
        meeting = sheet.meetings[id(step)]
        column = sheet.column_of[id(step)]
        wires = [wire for own in (*meeting.ins, *meeting.outs) for wire in own]
        assert {w.axis.name for w in wires if w.axis} == {"seq", "d", "e"}
        assert all(border.top < wire.y[column] < border.bottom for wire in wires)


def test_an_op_of_ones_own_is_a_plain_box() -> None:
    for depth in (None, 0, 9):
        diagram = figure(OWN, depth=depth)
        assert [s.mark for s in steps(diagram) if s.kind is StepKind.BOX] == ["plain"]
        assert "theirs" in diagram.dot
    with pytest.raises(UnknownBlock):
        figure(OWN, open=["theirs"])


def test_self_attention_takes_one_stream() -> None:
    diagram = figure(PADDED, "layer", close=["multihead"])
    box = next(s for s in steps(diagram) if s.kind is StepKind.BOX)
    assert len(box.ins) == 1
    opened = figure(PADDED, "layer", open=["multihead"])
    enter = next(s for s in steps(opened) if s.kind is StepKind.ENTER)
    assert len(enter.ins) == 1


def test_a_mask_that_is_an_input_is_named_where_it_masks() -> None:
    diagram = figure(PADDED, "layer", close=["multihead"])
    box = next(s for s in steps(diagram) if s.kind is StepKind.BOX)
    assert plain(box.cases[0].text) == "real"
    assert box.cases[0].pattern[0] == (1, *(0,) * 7)  # causal
    assert not any(s.kind is StepKind.SOURCE and s.tip == "input real" for s in steps(diagram))
    opened = figure(PADDED, "layer", open=["multihead", "attend"])
    mask = next(s for s in steps(opened) if s.mark == "mask")
    assert plain(mask.note) == "s ≤ t and real"


def test_shared_weights_have_a_dotted_link() -> None:
    assert figure(SHARED, close=["ff"]).dot.count('class="shared"') == 1


def test_each_use_of_a_parameter_is_linked_to_one_from_which_there_is_room() -> None:
    """From the use before it there is none: that one stands under the other block."""
    text = """
width q
depth d = 8
block z(x: [q, d], u: [d]) -> [q, d] {
    return linear.up[d -> d](x * u) + u
}
model f(x: [q, d]) -> [q, d] {
    param w: [d]
    return x + z.a(softmax[d](x) * w, w) + z.b(x * w, w)
}
"""
    diagram = figure(text)
    uses = [s for s in steps(diagram) if s.kind is StepKind.SOURCE and s.learned]
    assert len(uses) == 6
    assert diagram.dot.count('class="shared"') == 5


def test_close_wins_and_is_checked() -> None:
    graph = graphs.multihead()[0]
    from attnc.diagrams import draw

    assert "softmax" not in draw(graph, depth=9, close=["attend"]).dot
    with pytest.raises(UnknownBlock, match="no block `atend` to close"):
        draw(graph, close=["atend"])


def test_sizes_and_legend() -> None:
    from attnc.diagrams import draw

    graph = graphs.multihead()[0]
    plain, sized = draw(graph), draw(graph, sizes=True)
    assert "=64" not in plain.dot
    assert sized.dot.count("=64") == 4  # m, h, k, v: once each
    legend = draw(graph, legend=True).dot
    assert "learned linear map" in legend
    assert "norm over" not in legend
    assert faults(sized._sheet) == []


def test_a_page_too_narrow_says_so() -> None:
    from attnc.diagrams import draw

    assert draw(graphs.multihead()[0]).warnings == ()
    (warning,) = draw(graphs.multihead()[0], width=0.9).warnings
    assert "7 pt is the least" in warning
    assert "give it a width of" in warning
    for width in (-1, 0, 0.01, float("nan")):
        with pytest.raises(ValueError, match=f"no page is {width!r} inches wide"):
            draw(graphs.multihead()[0], width=width)
    with pytest.raises(ValueError, match="`5km` is not a width such as"):
        draw(graphs.multihead()[0], width="5km")
    assert draw(graphs.multihead()[0], width="139.7mm").dot == draw(graphs.multihead()[0], width=5.5).dot
    for depth in (-1, 1.5, "2"):
        with pytest.raises(ValueError, match="`depth` is a whole number of levels, 0 or more, not"):
            draw(graphs.multihead()[0], depth=depth)  # type: ignore[arg-type]


# Crossings and bends of the prototype's figures (../shared/design/pictures), half-loops counted as two bends.
PROTOTYPE = {
    "attend": (1, 6), "multihead": (4, 14), "multihead_masked": (6, 17), "encoder_post": (4, 8),
    "encoder_pre": (4, 8), "swiglu": (2, 4), "transformer": (12, 24),
}  # fmt: skip


@pytest.mark.parametrize("name", PROTOTYPE)
def test_no_more_crossings_and_bends_than_the_prototype(name: str) -> None:
    from attnc.diagrams import draw

    sheet = draw(FIGURES[name]())._sheet
    assert crossings(sheet) <= PROTOTYPE[name][0]
    assert bends(sheet) <= PROTOTYPE[name][1]


def test_the_transformer_of_the_examples_is_calm() -> None:
    """Both embeddings and the encoder in one row, the decoder in another."""
    model = attnc.load(ROOT / "examples" / "transformer.attn").model("transformer")
    narrow, wide = model.draw()._sheet, model.draw(width=7.5)._sheet
    assert len(narrow.rows) == len(wide.rows) == 2
    for sheet in (narrow, wide):
        first = {step.kind for j in sheet.rows[0] for step in sheet.columns[j].steps}
        assert {StepKind.ENTER, StepKind.EXIT} <= first
        assert faults(sheet) == []


def test_a_function_of_each_element_is_a_name_until_it_is_opened() -> None:
    """It would copy every wire of its tensor; with `open` it does."""
    spec = attnc.loads("""
width s
depth d = 4
block phi(x: []) -> [] {
    return select(x > 0, x + 1, exp(min(x, 0)))
}
model f(x: [s, d]) -> [s, d] {
    return phi(x)
}
""")
    shut, opened = spec.model("f").draw(), spec.model("f").draw(open=["phi"])
    assert "op elementwise block-phi" in shut.dot
    assert "op copy" not in shut.dot
    assert "op copy" in opened.dot
    assert faults(shut._sheet) == faults(opened._sheet) == []


def test_an_axis_ends_where_truths_are_reduced() -> None:
    diagram = figure(
        "width t\nwidth s like t\n"
        "model f(x: [t], real: bool[t]) -> [t] {\n"
        "    return select(any[s](real[t as s]), x, -x) + select(all[t](real), x, -x)\n}"
    )
    assert [step.tip for step in steps(diagram) if step.mark == "pill"] == ["all[t]", "any[s]"]


def test_a_table_that_a_block_makes_bears_its_name_where_the_formula_is_too_long() -> None:
    text = "use std.positions: sinusoid\nwidth t\ndepth m = 4\n"
    text += "block ramp[n: width]() -> [n] { return n / 2 }\n"
    text += "model f(x: [t, m]) -> [t, m] {\n    return (x + sinusoid[t, m]()) * ramp[t]()\n}\n"
    drawn = attnc.loads(text).model("f").draw().dot
    assert "sinusoid" in drawn and "…" not in drawn and "ramp" not in drawn


def test_a_table_that_a_block_makes_is_a_closed_block_and_no_input() -> None:
    """Its formula is too long to be written: at every level it looks as it does at depth 0."""
    text = "use std.positions: sinusoid\nwidth t\ndepth m = 4\n"
    text += "model f(x: [t, m]) -> [t, m] {\n    return x + sinusoid[t, m]()\n}\n"
    for depth in (None, 0, 9):
        sources = [(s.mark, s.text) for s in steps(figure(text, depth=depth)) if s.kind is StepKind.SOURCE]
        assert sources == [("input", (Run("x", "i"),)), ("block", (Run("sinusoid"),))]


def test_a_dashed_line_falls_through_nothing() -> None:
    """Where a wire is in its way it ends, and goes on in the next column."""
    sheet = figure(STATES, open=["cell"])._sheet
    dashes = [e.points for e in sheet.picture.edges if e.attributes["class"] == "dash"]
    assert dashes and all(a[1] == b[1] for points in dashes for a, b in pairwise(points))


def test_the_bar_over_a_scans_axis_lies_on_nothing() -> None:
    sheet = figure(STATES, open=["cell"])._sheet
    bars = [n for n in sheet.picture.nodes if n.attributes.get("class") == "label width" and "height" in n.attributes
            and n.attributes.get("fillcolor") == sheet.theme.ink]  # fmt: skip
    assert len(bars) == 1
    (x, y), half = bars[0].at, float(bars[0].attributes["width"]) / 2
    drawn = [p for e in sheet.picture.edges for p in sampled(e.points)]
    assert not any(abs(px - x) < half and abs(py - y) < 2 for px, py in drawn)
    assert not any(overlap((x - half, y - 1, x + half, y + 1), box) for text, box in sheet.texts if "each" not in text)


def test_names_that_end_in_an_underscore_are_told_apart() -> None:
    text = """
width q
depth key as k = 4, k_ = 5, half_width = 6
block hub(x: [q, key]) -> [q, key] {
    return linear.b[key -> key](tanh(linear.a[key -> key](x)))
}
model f(x: [q, key, k_, half_width]) -> [q, key, k_, half_width] {
    return hub.hubs_(x)
}
"""
    written = {text for text, _ in figure(text, close=["hub"])._sheet.texts}
    assert {"k", "k′", "halfwidth", "hub (hubs′)"} <= written


def test_formulas_bear_no_bars() -> None:
    """The bar marks a wire; in a formula a tall letter would be without it beside a low one with it."""
    text = """
width q
width k like q
model f(x: [q, k]) -> [q, k] {
    return x + int(q - k)
}
"""
    (source,) = [s for s in steps(figure(text)) if s.mark == "table"]
    assert "".join(run.text for run in source.text) == "q − k"


def test_the_legend_lists_what_reads_alike_once() -> None:
    """Two blocks that make an axis of their own each: to who reads, it is one."""
    text = """
width t
depth m = 8
block one(x: [t, m]) -> [t, m] {
    depth half = 4, two = 2
    return merge[half, two -> m](tanh(split[m -> half, two](x)))
}
block other(x: [t, m]) -> [t, m] {
    depth half = 4, two = 2
    return merge[half, two -> m](relu(split[m -> half, two](x)))
}
model f(x: [t, m]) -> [t, m] {
    return other(one(x))
}
"""
    diagram = figure(text, depth=9, legend=True)
    axes = {w.axis for c in diagram._sheet.columns for w in (*c.left, *c.right) if isinstance(w, Wire) and w.axis}
    assert sorted(a.name for a in axes) == ["half", "half", "m", "t", "two", "two"]
    assert sorted(text for text, _ in diagram._sheet.texts if text.endswith(("(depth)", "(width)"))) == [
        "(width)", "= 2 (depth)", "= 4 (depth)", "= 8 (depth)"
    ]  # fmt: skip


def test_a_block_that_takes_nothing_may_give_several_values() -> None:
    text = """
width t
depth d = 4
block angles() -> (a: [t, d], b: [t, d]) {
    return sin(t * d), cos(t * d)
}
model f(x: [t, d]) -> [t, d] {
    a, b = angles()
    return x * a + b
}
"""
    drawn = attnc.loads(text).model("f").draw(depth=0)
    assert faults(drawn._sheet) == []
    assert [step.block for _, _, step in drawn._sheet.glyphs if step.mark == "block"] == ["angles"]


TRUTHS_OF_NUMBERS = """
width u, p
depth h = 1
block cell(x: int[u], y: [u], c: bool[u], k: []) -> (k: [], x: int[u], o: [], q: [u]) {
    v3 = (y + u) + 0
    return sum[u](v3 where c), x, k, y
}
block two(c: [u]) -> (a: [u], b: int[]) {
    return c, 0
}
model f(in1: [p, u]) -> (a: [h, p], b: [u], c: int[]) {
    f, g = two(c = 0)
    r18, r19, r20, _ = scan[p] cell(x = 1, y = f, c = broadcast[h](broadcast[p](broadcast[u](not (g > 0)))), k = 1)
    return r18, f, g
}
"""
# What a scan in a repeat takes comes to its block past the border.
PAST_THE_BORDER = """
width t
width u
width u2 like u
width p
depth m = 1
depth h = 1
block blk1[q2: width](x: int[q2], y: [q2], c: bool[q2], k: []) -> (k: [], x: int[q2], o4: [], o5: [q2]) {
    v3 = (y + q2) + 0
    return sum[q2](v3 where c), x, k, y
}
block blk6[q7: width](x: int[t, q7], y: [t, q7], c: [q7], k: bool[t]) -> (o9: [q7], o10: int[]) {
    return c, 0
}
model f(in1: [p, u, m, t]) -> (res38: [h, p], res39: [u2], res40: int[]) {
    r11, r12, r13, _ = scan[p] blk1.b14[u2](x = 2, y = broadcast[u2](sum[m](in1)), c = true, k = 2)
    r15, r16 = blk6.b17[u2](k = true, c = broadcast[u2](0), x = 1, y = 0)
    r18, r19, r20, _ = scan[p] blk1.b21[u2](x = 1, y = r15,
        c = broadcast[h](broadcast[p](broadcast[u2](not (r16 > 0)))), k = 1)
    repeat.rep22 2 {
        r24, r25, r26, r27 = scan[t] blk1.b28[u2](x = 2, y = broadcast[h](broadcast[u2](mean[u](sum[p](r11)))),
        c = broadcast[u2](r16 > 0.5), k = 0)
        r29, r30, _, r31 = scan[p] blk1.b32[u2](x = 2, y = broadcast[m](broadcast[p](mean[h](r27))),
        c = not (r15 > 0.5), k = 1)
        r15 = sum[m](mean[t](sum[p](r31)))
    }
    return r18, r15, r16
}
"""


@pytest.mark.parametrize("depth", [0, 1, 2])
@pytest.mark.parametrize("text", [TRUTHS_OF_NUMBERS, PAST_THE_BORDER])
def test_odd_scans_are_drawn(text: str, depth: int) -> None:
    drawn = attnc.loads(text).model("f").draw(depth=depth)
    assert drawn.dot.startswith("digraph")
    assert faults(drawn._sheet) == []


@pytest.mark.parametrize(
    ("declared", "ids", "mark"),
    [("[vocab]", "seq", "pick"), ("[vocab, d]", "seq", "embed"), ("[vocab]", "", "embed"), ("[vocab, d]", "", "embed")],
)
def test_a_look_up_in_a_table_that_is_learned(declared: str, ids: str, mark: str) -> None:
    """An index of no axes, or a table of one, leaves no wire on one side."""
    made = ", ".join([*([ids] if ids else []), *(["d"] if "d" in declared else [])])
    text = f"width seq\ndepth vocab = 9, d = 4\nmodel f(ids: vocab[{ids}]) -> [{made}] {{\n"
    diagram = figure(f"{text}    param b: {declared}\n    return b[vocab = ids]\n}}\n")
    assert mark in [step.mark for step in steps(diagram)]
