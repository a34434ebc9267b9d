"""Glyphs at which tensors meet: half-loops of a contraction, dots on shared axes, signs.

A residual add is `sign`: `+` above the dots at which the wires of one operand run into those of the other.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..base import theme
from ..base.curves import half_loop, sampled
from ..base.picture import Edge, Point
from ..base.text import bold, plain, width
from ..canvas.drawing import OperandNote
from ..layout.glyph_sizes import DOT, LOOP, TURN, Slot, born, gone, leading, pill_span, pill_text, scale_lines
from ..layout.wires import Meeting, Wire
from ..scene.steps import DrawStep

if TYPE_CHECKING:
    from ..canvas.drawing import Canvas


def loop(sheet: Canvas, step: DrawStep, meeting: Meeting, slot: Slot) -> None:
    """Contracted axes join in half-loops; shared ones run into one dot, and one wire goes on."""
    column = slot.column
    pairs: dict[object, list[Wire]] = {}
    for own in meeting.ins:
        for wire in own:
            pairs.setdefault(wire.axis, []).append(wire)
    tip = None
    for k, axis in enumerate(step.contracted):
        a, b = sorted(pairs[axis], key=lambda w: sheet.y(w, column))
        ya, yb = sheet.y(a, column), sheet.y(b, column)
        high = (yb - ya) / 2
        deep = min(high, LOOP + 3 * k)
        at = (slot.x0 + deep, (ya + yb) / 2)
        id = f"{slot.id}_{k}"
        sheet.point(id, at, "op contract", f"{step.tip}: contracts {a.axis.name if a.axis else ''}")
        sheet.end(a, id, slot.x0, half_loop((slot.x0, ya), at))
        sheet.end(b, id, slot.x0, half_loop((slot.x0, yb), at))
        if tip is None or at[0] > tip[0]:
            tip = at
    x = slot.x0 + (LOOP if step.contracted else 0)
    if step.note and tip is not None:
        scale = scale_lines(step)
        wide = max(width(line, theme.CAPTION) for line in scale)
        end = tip[0] + wide + 12
        sheet.arrow(f"{slot.id}_0", f"{slot.id}_s", tip, (end, tip[1]), "scale")
        for k, line in enumerate(reversed(scale)):
            y = tip[1] - 8.5 - leading(theme.CAPTION) * k
            sheet.write((tip[0] + end) / 2 - 2, y, line, theme.CAPTION, cls="scale")
        x = end + 4
    for wire in born(meeting):
        if wire.axis is None:
            sheet.begin(wire, f"{slot.id}_0" if step.contracted else slot.id, tip[0] if tip else x)
            continue
        y = sheet.y(wire, column)
        id = f"{slot.id}_{wire.axis.name}"
        sheet.dot(id, slot.x1, y, wire, "op shared", f"shared axis {wire.axis.name}")
        for old in pairs[wire.axis]:
            sheet.end(old, id, max(x, slot.x1 - TURN), to=(slot.x1, y))
        sheet.begin(wire, id, slot.x1)
    for own in meeting.ins:
        if not any(w.axis for w in own):
            for wire in own:
                if wire in gone(meeting):
                    sheet.point(f"{slot.id}_n{wire.number}", (slot.x0, sheet.y(wire, column)))
                    sheet.end(wire, f"{slot.id}_n{wire.number}", slot.x0)


def meet(sheet: Canvas, step: DrawStep, meeting: Meeting, slot: Slot) -> float | None:
    """Shared axes of the other operands run into dots on the main one's wires; returns the highest dot's y."""
    main = {w.axis: w for w in meeting.ins[meeting.main]}
    for own in meeting.outs:  # an axis that the main operand lacks: the first of the others that has it goes on
        for wire in own:
            if wire.axis is not None:
                main.setdefault(wire.axis, wire)
    x = slot.x0 + DOT / 2
    dots: list[float] = []
    for i, own in enumerate(meeting.ins):
        if i == meeting.main:
            continue
        for wire in own:
            if wire.axis not in main or wire.axis in step.contracted:
                if wire in gone(meeting) and wire.axis not in step.contracted:
                    anchor = next(iter(main.values()))
                    id = f"{slot.id}_n{wire.number}"
                    sheet.point(id, (x, sheet.y(anchor, slot.column)))
                    sheet.end(wire, id, x - 20, to=(x, sheet.y(anchor, slot.column)), gap=not meeting.inner)
                continue
            target = main[wire.axis]
            if target is wire:
                continue
            y = sheet.y(target, slot.column)
            id = f"{slot.id}_w{target.number}"
            sheet.dot(id, x, y, wire, f"op {step.mark}", step.tip)
            sheet.end(wire, id, slot.x0 - TURN + 2, to=(x, y), gap=not meeting.inner)
            dots.append(y)
    for role, own in zip(step.roles, meeting.ins, strict=False):
        if role:
            others = [wire for wires in meeting.ins if wires is not own for wire in wires]
            sheet.roles.append(OperandNote(step, role, own, others, x, dots))
    return min(dots, default=None)


def sign(sheet: Canvas, step: DrawStep, meeting: Meeting, slot: Slot) -> None:
    """An operation element by element, such as the `+` of a residual add: dots, and the sign above the highest."""
    top = meet(sheet, step, meeting, slot)
    if top is None:
        top = sheet.y(meeting.ins[meeting.main][0], slot.column)
    if not step.text:  # it stands at the wires of an operand
        return
    text = bold("+") if plain(step.text) == "+" else step.text
    size = 17.0 if len(plain(text)) == 1 else theme.CAPTION
    low = max(sheet.y(w, slot.column) for w in meeting.ins[meeting.main])
    sheet.later.append((slot.x0 + DOT / 2, (top - 12.5, low + 12.5), text, size, False))


def gate(sheet: Canvas, step: DrawStep, meeting: Meeting, slot: Slot) -> None:
    """Element by element product: a dot in a ring."""
    top = meet(sheet, step, meeting, slot)
    if top is None:
        top = sheet.y(meeting.ins[meeting.main][0], slot.column)
    x, y = slot.x0 + DOT / 2, top - 12.5
    sheet.disc(slot.id, (x, y), 5.5, "op gate", step.tip)
    sheet.disc(slot.id + "_d", (x, y), 1.5, "op gate", step.tip, sheet.theme.ink, "0")


_HEAD = (9.0, 7.0)  # an arrowhead across and along


def pick(sheet: Canvas, step: DrawStep, meeting: Meeting, slot: Slot) -> None:
    """`x[axis = index]`: the axis ends at a pill that names the index; an arrow leads from the index to it. Shared axes
    meet in dots."""
    meet(sheet, step, meeting, slot)
    ended = [w for w in meeting.ins[0] if w.axis in step.contracted]
    top, bottom = pill_span(step, ended, slot.column)
    box = (slot.x0 + DOT + 8, top, slot.x1, bottom)
    sheet.rounded(slot.id, box, sheet.theme.reduce, "op pick", step.tip)
    sheet.write((box[0] + box[2]) / 2, (top + bottom) / 2, pill_text(step), theme.CAPTION)
    for wire in ended:
        sheet.end(wire, slot.id, box[0])
    for wire in born(meeting):  # no axis is left
        sheet.point(f"{slot.id}_n", (slot.x1, (top + bottom) / 2))
        sheet.begin(wire, f"{slot.id}_n", slot.x1, gap=True)
    had = {w.axis for w in meeting.ins[0]}
    own = [w for w in meeting.ins[1] if w.axis not in had]
    if own and own[0].axis is None:  # a single index: its wire runs into the pill
        level = sheet.y(own[0], slot.column) if meeting.inner else bottom
        sheet.end(own[0], slot.id, slot.x0, to=(box[0], bottom - 4 if level > top else top + 4), gap=not meeting.inner)
        return
    x = (box[0] + box[2]) / 2 if own else slot.x0 + DOT / 2
    shared = [w for w in meeting.ins[0] if w.axis in {v.axis for v in meeting.ins[1]}]
    if not own and not shared:
        return
    middle = (top + bottom) / 2
    y = min((sheet.y(w, slot.column) for w in own or shared), key=lambda y: abs(y - middle))
    tie(sheet, f"{slot.id}_t", (x, y), (box[0] + 6 if not own else x, bottom if y > middle else top), step.tip)


def tie(sheet: Canvas, id: str, start: Point, end: Point, tip: str) -> None:
    """An arrow from an index, up or down to what it picks from."""
    high, long = _HEAD
    top, bottom = (end[1], end[1] + long) if end[1] < start[1] else (end[1] - long, end[1])
    foot = (end[0], (top + bottom) / 2)
    chain = [start, (start[0], (start[1] + foot[1]) / 2), (foot[0], (start[1] + foot[1]) / 2), foot]
    sheet.point(f"{id}_0", start)
    sheet.shape(f"{id}_1", (end[0] - high / 2, top, end[0] + high / 2, bottom), "head", tip, covers=False,
                shape="triangle", orientation="0" if top == end[1] else "180", style="filled",
                fillcolor=sheet.theme.ink, color=sheet.theme.ink, penwidth="0")  # fmt: skip
    attributes = {"color": sheet.theme.ink, "penwidth": "1.15", "class": "scalar", "tooltip": tip}
    sheet.picture.edges.append(Edge(f"{id}_0", f"{id}_1", chain, attributes))
    sheet.occupied.trace(sampled(chain))
