"""The functions that draw marks; `DRAW` has them by the mark's name. A glyph covers exactly the wires of its axes.

Glyphs at which several tensors meet are in joins.py (also the `+` of a residual add), masks and closed blocks in
masks.py.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from ..base import theme
from ..base.names import name_text
from ..base.text import plain, roman, width
from ..canvas.drawing import OperandNote
from ..layout.glyph_sizes import (
    DOT,
    INDEX,
    Slot,
    at_foot,
    bar_note,
    born,
    covered,
    goes_as,
    gone,
    input_lines,
    leading,
    name_size,
    names_width,
    pill_span,
    pill_text,
    span,
    stacked,
    table_lines,
    through,
)
from ..layout.wires import Lane, Meeting
from ..scene.steps import DrawStep, Enters, StepKind
from .joins import gate, loop, meet, pick, sign, tie
from .masks import block, mask, predicate

if TYPE_CHECKING:
    from ..canvas.drawing import Canvas


def _learned(sheet: Canvas, step: DrawStep, meeting: Meeting, slot: Slot) -> None:
    """A tinted box with a bold letter; the weight's label raised, `+` lowered if there is a bias. Axes of the weights
    run through it, with a dot."""
    ins, outs, inner = gone(meeting), born(meeting), through(step, meeting)
    top, bottom = span([*ins, *outs, *inner], slot.column, 11)
    sheet.shape(
        slot.id,
        (slot.x0, top, slot.x1, bottom),
        f"op {step.mark}" if step.mark == "learned" else f"op {step.mark} learned",
        step.tip,
        shape="cut",
        cut="8",
        fillcolor=sheet.theme.learned,
        color=sheet.theme.ink,
    )
    y = sum(span([*ins, *outs] or inner, slot.column, 0)) / 2
    letter, raised = width(step.text, theme.GLYPH), width(step.raised, theme.RAISED)
    x = slot.middle + (2 if step.one else 0) - (letter + raised) / 2
    sheet.write(x + letter / 2, y, step.text, theme.GLYPH)
    if step.raised:
        sheet.write(x + letter + raised / 2 + 1, y - 3.8, step.raised, theme.RAISED)
    if step.one:
        _one_for_all(sheet, step, slot, top + 2.5, bottom - 9.5)
    if step.bias:
        sheet.write(x + letter + 5.2, y + 5.5, roman("+"), theme.CAPTION)
    for wire in inner:
        sheet.across(wire, slot.x0, slot.x1, sheet.y(wire, slot.column))
    for wire in (*inner, *(wire for wire in outs if wire.axis in step.each)):
        x, tip = slot.middle if wire in inner else slot.x1, f"weights for each {wire.axis.name}" if wire.axis else ""
        sheet.dot(f"{slot.id}_w{wire.number}", x, sheet.y(wire, slot.column), wire, "op each", tip)
    if step.mark == "embed":
        start = f"{slot.id}_i"
        sheet.arrow(start, slot.id, (slot.x0 - INDEX + 2, y), (slot.x0, y), "an index, not an axis", at_start=True)
    for wire in ins:
        sheet.end(wire, slot.id, slot.x0)
    for wire in outs:
        sheet.begin(wire, slot.id, slot.x1)


def _one_for_all(sheet: Canvas, step: DrawStep, slot: Slot, top: float, bottom: float, x: float = 2.6) -> None:
    """A second line inside the left edge."""
    line = (slot.x0 + x, top, slot.x0 + x + 1.2, bottom)
    sheet.shape(f"{slot.id}_o", line, f"op {step.mark}", "one for all passes", covers=False, shape="box",
                style="filled", fillcolor=sheet.theme.ink, color=sheet.theme.ink, penwidth="0")  # fmt: skip


def _ring(sheet: Canvas, step: DrawStep, meeting: Meeting, slot: Slot) -> None:
    top, bottom = span(covered(step, meeting), slot.column, 12)
    round = len(covered(step, meeting)) == 1 and slot.x1 - slot.x0 < 48  # a longer name needs the corners
    shape = "ellipse" if round else "box"
    style = "filled" if shape == "ellipse" else "filled,rounded"
    sheet.shape(
        slot.id,
        (slot.x0, top, slot.x1, bottom),
        f"op norm {'learned' if step.learned else ''}".strip(),
        step.tip,
        shape=shape,
        style=style,
        fillcolor=sheet.theme.norm,
        penwidth="1.8",
    )
    middle = (top + bottom) / 2
    if step.one:
        _one_for_all(sheet, step, slot, middle - 4.5, middle + 4.5, 4.2)
    sheet.write(slot.middle + (3 if step.one else 0), middle, step.text, theme.CAPTION)
    if step.note:
        heights = (bottom + 9.0, top - 8.0) if at_foot(step, meeting) else (top - 8.0, bottom + 9.0)
        sheet.later.append((slot.middle, heights, step.note, theme.CAPTION, False))


def _triangle(sheet: Canvas, step: DrawStep, meeting: Meeting, slot: Slot) -> None:
    wires = covered(step, meeting)
    top, bottom = span(wires, slot.column, 10)
    sheet.shape(
        slot.id,
        (slot.x0, top, slot.x1, bottom),
        "op softmax",
        step.tip,
        shape="triangle",
        orientation="90",
        style="filled",
        fillcolor="white",
        penwidth="1.3",
    )
    sheet.later.append(
        (slot.middle + 2, (top - 6.4, bottom + 7.0), step.text, theme.CAPTION, plain(step.text) == "softmax")
    )


def _pill(sheet: Canvas, step: DrawStep, meeting: Meeting, slot: Slot) -> None:
    touched = covered(step, meeting) if step.kind is StepKind.ON else [*gone(meeting), *born(meeting)]
    ends = [w for w in touched if w.axis is not None] or touched
    top, bottom = pill_span(step, ends, slot.column)
    sheet.rounded(slot.id, (slot.x0, top, slot.x1, bottom), sheet.theme.reduce, "op reduce", step.tip)
    sheet.write(slot.middle, (top + bottom) / 2, pill_text(step), theme.CAPTION)
    if step.kind is StepKind.ON:
        return
    if step.ins and not gone(meeting):  # a comparison with an index
        middle = (top + bottom) / 2
        y = min((sheet.y(w, slot.column) for w in meeting.ins[0]), key=lambda y: abs(y - middle))
        tie(sheet, f"{slot.id}_t", (slot.middle, y), (slot.middle, bottom if y > middle else top), step.tip)
    for wire in gone(meeting):
        sheet.end(wire, slot.id, slot.x0)
    for wire in born(meeting):
        sheet.begin(wire, slot.id, slot.x1)
    if not born(meeting):
        y = (top + bottom) / 2
        sheet.head(f"{slot.id}_a", slot.x1 + 5.5, y)


def _bar(sheet: Canvas, step: DrawStep, meeting: Meeting, slot: Slot) -> None:
    """A heavy bar: axes split, merge, or are set one after the other."""
    if step.kind is StepKind.JOIN:
        slot = Slot(slot.id, slot.column, slot.x1 - 4, slot.x1)
        meet(sheet, step, meeting, Slot(slot.id + "_m", slot.column, slot.x0 - 12, slot.x0))
    ins = [w for w in gone(meeting) if step.kind is StepKind.THROUGH or w.axis in step.contracted]
    outs = born(meeting)
    top, bottom = span([*ins, *outs], slot.column, 8)
    sheet.box(slot.id, (slot.x0, top, slot.x1, bottom), sheet.theme.ink, "op arrange", step.tip)
    if step.kind is StepKind.THROUGH and (note := bar_note(step, meeting)):
        sheet.later.append((slot.middle, (bottom + 9.0, top - 8.0), note, theme.CAPTION, False))
    if step.kind is StepKind.JOIN:
        _number(sheet, step, meeting, slot)
    for wire in ins:
        sheet.end(wire, slot.id, slot.x0)
    for wire in outs:
        sheet.begin(wire, slot.id, slot.x1)


def _number(sheet: Canvas, step: DrawStep, meeting: Meeting, slot: Slot) -> None:
    """1, 2, ... at the axes that are set one after the other, if they do not lie in that order from top to bottom."""
    joint = [next(w for w in own if w.axis == axis) for own, axis in zip(meeting.ins, step.contracted, strict=True)]
    heights = [sheet.y(wire, slot.column) for wire in joint]
    if heights != sorted(heights):
        for k, (wire, y) in enumerate(zip(joint, heights, strict=True)):
            others = [other for other in joint if other is not wire]
            sheet.roles.append(OperandNote(step, roman(str(k + 1)), [wire], others, slot.x0 - 3, [y]))


def _birth(sheet: Canvas, step: DrawStep, meeting: Meeting, slot: Slot) -> None:
    """broadcast: a wire begins at a short upright bar."""
    for k, wire in enumerate(born(meeting)):
        y = sheet.y(wire, slot.column)
        id = f"{slot.id}_{k}"
        sheet.box(id, (slot.x1 - 2, y - 5, slot.x1, y + 5), sheet.theme.ink, "op broadcast", step.tip)
        sheet.begin(wire, id, slot.x1)
    for wire in gone(meeting):
        sheet.end(wire, f"{slot.id}_0", slot.x1 - 2)


def _arrow(sheet: Canvas, step: DrawStep, meeting: Meeting, slot: Slot) -> None:
    """A function of each element: its name between two arrowheads, in a lane of its own that touches no wire."""
    lane = next(s for s in sheet.columns[slot.column].right if isinstance(s, Lane) and s.step is step)
    y = sheet.y(lane, slot.column)
    half = width(step.text, theme.BLOCK) / 2 + 2
    called = f"block-{step.block}" if step.block else ""
    mid = slot.middle
    sheet.point(slot.id, (mid, y))
    sheet.arrow(f"{slot.id}_a", slot.id, (slot.x0 + 3, y), (mid - half, y), step.tip, at_start=True)
    sheet.arrow(slot.id, f"{slot.id}_b", (mid + half, y), (slot.x1 - 3, y), step.tip)
    sheet.write(mid, y - 0.5, step.text, theme.BLOCK, cls=f"op elementwise {called}".strip())


def _sent(sheet: Canvas, step: DrawStep, meeting: Meeting, slot: Slot) -> None:
    """A collective of a mesh: a box with a double frame on the wire whose items it gathers or scatters, or in a lane
    where no axis changes.
    """
    lane = step.kind is StepKind.LANE
    if lane:
        own = next(s for s in sheet.columns[slot.column].right if isinstance(s, Lane) and s.step is step)
        top = bottom = sheet.y(own, slot.column)
    else:
        top, bottom = span(covered(step, meeting), slot.column, 0)
    middle, half = (top + bottom) / 2, width(step.text, theme.CAPTION) / 2 + 6
    box = (slot.middle - half, top - 9, slot.middle + half, bottom + 11)
    inner = (box[0] + 2, box[1] + 2, box[2] - 2, box[3] - 2)
    for id, frame in ((slot.id, box), (f"{slot.id}_i", inner)):
        sheet.shape(
            id, frame, "op sent", step.tip, covers=frame is box,
            shape="box", style="filled", fillcolor="white", penwidth="0.9",
        )  # fmt: skip
    if lane:
        ends = f"{slot.id}_a", f"{slot.id}_b"
        sheet.arrow(ends[0], slot.id, (slot.x0 + 1, middle), (slot.middle - half, middle), step.tip, at_start=True)
        sheet.arrow(slot.id, ends[1], (slot.middle + half, middle), (slot.x1 - 1, middle), step.tip)
    sheet.write(slot.middle, middle + 2, step.text, theme.CAPTION, cls="op sent")


def _source(sheet: Canvas, step: DrawStep, meeting: Meeting, slot: Slot) -> None:
    """An input, parameter or table: its name, at which its wires begin."""
    wires = meeting.outs[0]
    ys = [sheet.y(w, slot.column) for w in wires]
    y = (min(ys) + max(ys)) / 2
    if step.mark == "input" and not step.note:
        size, text = name_size(step), stacked(step.text)
        sheet.write(slot.x1 - 5 - width(text, size) / 2, y, text, size, cls="op input")
    else:
        written = input_lines(step) if step.mark == "input" else table_lines(step)
        middle = slot.x1 - 5 - max(width(text, size) for text, size in written) / 2
        y -= sum(leading(size) for _, size in written) / 2
        for text, size in written:
            sheet.write(middle, y + leading(size) / 2, text, size, cls=f"op {step.mark}")
            y += leading(size)
    for k, wire in enumerate(wires):
        id = f"{slot.id}_{k}"
        sheet.point(id, (slot.x1, sheet.y(wire, slot.column)), f"op {step.mark}", step.tip)
        sheet.begin(wire, id, slot.x1)


def _hidden(sheet: Canvas, step: DrawStep, meeting: Meeting, slot: Slot) -> None:
    """In place of what the author left out: its name in a dashed frame, which says so."""
    wires = [w for own in meeting.outs for w in own]
    top, bottom = span(wires, slot.column, 10)
    sheet.rounded(slot.id, (slot.x0, top, slot.x1, bottom), "white", "op hidden", step.tip, dashed=True, pen="1")
    sheet.write(slot.middle, (top + bottom) / 2, step.text, theme.CAPTION)
    for wire in wires:
        sheet.begin(wire, slot.id, slot.x1)


def _copy(sheet: Canvas, step: DrawStep, meeting: Meeting, slot: Slot) -> None:
    """A dot on each wire of the copied tensor, from which the wires of the copies bend away."""
    source = {w.axis: w for w in meeting.ins[0]}
    swaps = [dict(zip(t.axes, step.ins[0].axes, strict=True)) for t in step.outs]
    main = meeting.outs[meeting.main]
    for k, (own, swap) in enumerate(zip(meeting.outs, swaps, strict=True)):
        for wire in own:
            old = source[swap[wire.axis] if wire.axis is not None else None]
            y = sheet.y(old, slot.column)
            id = f"{slot.id}_w{old.number}"
            if len(step.outs) > 1:
                sheet.dot(id, slot.x1 - DOT / 2, y, old, "op copy", step.tip)
            else:
                sheet.point(id, (slot.x1 - DOT / 2, y), "op rename", step.tip)
            if wire is old:
                continue
            sheet.begin(wire, id, slot.x1 - DOT / 2, gap=k != meeting.main)
            if k == meeting.main:
                sheet.end(old, id, slot.x1 - DOT / 2)
    for old in meeting.ins[0]:
        if old not in main and not sheet.has_end(old):
            sheet.end(old, f"{slot.id}_w{old.number}", slot.x1 - DOT / 2)


def _bracket_x(sheet: Canvas, step: DrawStep, y: float) -> float:
    """The x at height `y` of the bracket that the step stands for: brackets are curved."""
    opening = step.kind is StepKind.ENTER
    slot = sheet.slots[id(step)]
    at = next(b for b in sheet.borders if b.section is step.border and slot.column in b.columns)
    share = min(1.0, max(0.0, (y - at.top) / max(1.0, at.bottom - at.top)))
    low, high = 0.0, 1.0
    for _ in range(30):  # the curve's parameter at this height
        t = (low + high) / 2
        u = 1 - t
        low, high = (t, high) if 3 * u * u * t * 0.18 + 3 * u * t * t * 0.82 + t * t * t < share else (low, t)
    bulge = 3 * low * (1 - low) * 9
    return slot.opening + 4 - bulge if opening else slot.middle + bulge - 4


def _comes_in(sheet: Canvas, step: DrawStep, slot: Slot, id: str, how: Enters, ys: list[float]) -> None:
    """A triangle: it is the start of what goes round. A box with two strokes: it is the same in every pass."""
    if how is Enters.ITEM or not ys:
        return
    top, bottom = min(ys), max(ys)
    x = _bracket_x(sheet, step, (top + bottom) / 2)
    if how is Enters.RUNNING:
        box = (x + 0.5, top - 8, max(x + 8, slot.x1 + 1.5), bottom + 8)
        sheet.shape(id, box, "op running", how.value, shape="triangle", orientation="270", style="filled",
                    fillcolor="white", penwidth="1.3")  # fmt: skip
        return
    box = (x - 4.5, top - 7, x + 4.5, bottom + 7)
    sheet.shape(id, box, "op held", how.value, shape="box", style="filled", fillcolor="white", penwidth="1.1")
    for k in (-1.6, 1.6):
        stroke = (x + k - 0.5, top - 3.5, x + k + 0.5, bottom + 3.5)
        sheet.shape(f"{id}{'ab'[k > 0]}", stroke, "op held", how.value, covers=False, shape="box", style="filled",
                    fillcolor=sheet.theme.ink, color=sheet.theme.ink, penwidth="0")  # fmt: skip


def _bracket(sheet: Canvas, step: DrawStep, meeting: Meeting, slot: Slot) -> None:
    """What comes in has the mark of how it does; where several values go round, they have names at both brackets. A
    scan's axis ends at one bracket and begins at the other. draw/sections.py draws the brackets."""
    for k, (how, own) in enumerate(zip(step.enters, meeting.outs, strict=False)):
        _comes_in(sheet, step, slot, f"{slot.id}_m{k}", how, [sheet.y(wire, slot.column) for wire in own])
    inside = step.kind is StepKind.ENTER
    for text, own in zip(goes_as(step), meeting.outs if inside else meeting.ins, strict=False):
        if text:
            wide, y = width(text, theme.CAPTION), min(sheet.y(wire, slot.column) for wire in own)
            x = slot.opening + 5 + wide / 2 if inside else slot.x0 - 3 - wide / 2
            sheet.write(x, y - (15 if inside else 9), text, theme.CAPTION, cls="port in")
    for wire in gone(meeting):
        y = sheet.y(wire, slot.column)
        x, id = _bracket_x(sheet, step, y), f"{slot.id}_e{wire.number}"
        sheet.point(id, (x, y), "op scan", f"{step.tip}: ends")
        sheet.end(wire, id, x)
    for wire in born(meeting):
        y = sheet.y(wire, slot.column)
        x, id = _bracket_x(sheet, step, y), f"{slot.id}_s{wire.number}"
        sheet.point(id, (x, y), "op scan", f"{step.tip}: begins")
        sheet.begin(wire, id, x)


def _nothing(sheet: Canvas, step: DrawStep, meeting: Meeting, slot: Slot) -> None:
    """Nothing: draw/sections.py draws the region."""


def _sink(sheet: Canvas, step: DrawStep, meeting: Meeting, slot: Slot) -> None:
    for own, tensor in zip(meeting.ins, step.outs, strict=True):
        name = name_text(tensor.name)
        x = slot.x1 - names_width(step)
        for wire in own:
            id = f"{slot.id}_w{wire.number}"
            sheet.point(id, (x, sheet.y(wire, slot.column)), "op output", "output")
            sheet.end(wire, id, x)
        if name:
            ys = [sheet.y(w, slot.column) for w in own]
            middle = x + 6 + width(name, theme.GLYPH) / 2
            sheet.write(middle, (min(ys) + max(ys)) / 2, name, theme.GLYPH, cls="op output")


Draw = Callable[["Canvas", DrawStep, Meeting, Slot], None]

DRAW: dict[str, Draw] = {
    "learned": _learned,
    "embed": _learned,
    "ring": _ring,
    "triangle": _triangle,
    "pill": _pill,
    "bar": _bar,
    "birth": _birth,
    "arrow": _arrow,
    "sent": _sent,
    "loop": loop,
    "sign": sign,
    "gate": gate,
    "mask": mask,
    "pick": pick,
    "block": block,
    "plain": block,
    "input": _source,
    "table": _source,
    "predicate": predicate,
    "hidden": _hidden,
    "copy": _copy,
    "bracket": _bracket,
    "border": _nothing,
    "output": _sink,
}
