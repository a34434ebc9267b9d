"""Masks, and closed blocks, which may show masks within."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ..base import theme
from ..base.picture import Box
from ..base.text import bold, height, roman, width
from ..layout.glyph_sizes import (
    SQUARE,
    Slot,
    at_foot,
    block_text,
    box_height,
    mask_line,
    mask_lines,
    mask_text,
    masks_size,
    predicate_text,
    span,
    squares_width,
    title_height,
)
from ..layout.ports import LINE, TICK, ports_of
from ..layout.wires import Meeting, Wire
from ..scene.formulas.patterns import GENERAL, PADDED, Case, Pattern
from ..scene.steps import DrawStep, StepKind
from .joins import meet
from .ports import title_at, write_ports

if TYPE_CHECKING:
    from ..canvas.drawing import Canvas


def mask(sheet: Canvas, step: DrawStep, meeting: Meeting, slot: Slot) -> None:
    """A square over the wires of its axes; grey where the predicate leaves items out. Where that differs from pass to
    pass of a repeat, a square for each case, side by side."""
    if step.kind is StepKind.JOIN:
        meet(sheet, step, meeting, slot)
        slot = Slot(slot.id, slot.column, slot.x0 + 10, slot.x1)
    wires = [w for w in meeting.ins[0] if w.axis in step.on]
    seen = upright(step, wires, slot.column)
    by_data = step.kind is StepKind.JOIN or bool(step.note)
    other = PADDED if len(wires) == 1 and by_data else GENERAL
    half = squares_width(step) / 2
    middle = Slot(slot.id, slot.column, slot.middle - half, slot.middle + half)
    top, bottom = squares(sheet, step, wires, middle, seen or (Case((), other),))
    if step.note:
        text = mask_text(step)
        more = (height(text, theme.CAPTION) - theme.CAPTION) / 2
        heights = (bottom + 9.0 + more, top - 8.0 - more)
        sheet.later.append(
            (slot.middle, heights if at_foot(step, meeting) else heights[::-1], text, theme.CAPTION, False)
        )


def squares(
    sheet: Canvas, step: DrawStep, wires: Sequence[Wire], slot: Slot, seen: Sequence[Case]
) -> tuple[float, float]:
    """A square for each case, between the slot's x0 and x1; returns the y of their tops and of their bottoms."""
    top, bottom = span(wires, slot.column, 8.5 if len(wires) > 1 else 11)
    each = (slot.x1 - slot.x0) / len(seen)
    if len(seen) > 1:  # one glyph: no wire between the squares
        whole = (slot.x0, top, slot.x1, bottom)
        sheet.shape(
            f"{slot.id}_b", whole, "op mask", step.tip, shape="box", style="filled", fillcolor="white", penwidth="1"
        )
    for k, case in enumerate(seen):
        x0 = slot.x0 + k * each
        box = (x0, top, x0 + each, bottom)
        id = slot.id if k == 0 else f"{slot.id}_k{k}"
        draw_mask(sheet, id, box, case.pattern, step.tip)
        if case.when and case.pattern is None:
            sheet.write(x0 + each / 2, (top + bottom) / 2, case.when, theme.CAPTION, cls="op mask")
    return top, bottom


def draw_mask(
    sheet: Canvas, id: str, box: tuple[float, float, float, float], pattern: Pattern | None, tip: str
) -> None:
    if pattern is None:
        sheet.shape(id, box, "op mask", tip, shape="box", style="filled", fillcolor="white", penwidth="1.3")
        return
    cells = "/".join("".join(map(str, row)) for row in pattern)
    tones = f"{sheet.theme.masked} {sheet.theme.kept}"
    sheet.shape(id, box, "op mask", tip, shape="grid", cells=cells, tones=tones, color=sheet.theme.ink, penwidth="1.3")


def predicate(sheet: Canvas, step: DrawStep, meeting: Meeting, slot: Slot) -> None:
    """A mask made of indices alone: its formula, and a square of which items it keeps."""
    wires = meeting.outs[0]
    x0 = slot.x1 - squares_width(step)
    right = Slot(slot.id, slot.column, x0, slot.x1)
    top, bottom = squares(sheet, step, wires, right, upright(step, wires, slot.column))
    text = predicate_text(step)
    wide, high = width(text, theme.WORD), theme.WORD
    more = (height(text, theme.WORD) - high) / 2  # of several lines
    ends = (max(top, bottom), 1), (min(top, bottom), -1)
    # A box in this column may reach past the place beside it: then over or under it, as near as may be.
    places = [(x0 - 5 - wide / 2, (top + bottom) / 2)] + [
        (x, end + way * (far * high + more))
        for far in (0.8, 1.4, 2.0, 2.6, 3.2, 4.0, 5.0, 6.0)
        for end, way in ends
        for x in ((x0 + slot.x1) / 2, x0 + wide / 2)
    ]
    sheet.notes.append((text, theme.WORD, places, wide, "", True))
    for wire in wires:
        sheet.begin(wire, slot.id, slot.x1)


def upright(step: DrawStep, wires: Sequence[Wire], column: int) -> tuple[Case, ...]:
    """The cases, transposed if need be: the items of the upper wire run from top to bottom."""
    upper = min(wires, key=lambda w: w.y[column])
    if len(step.on) < 2 or upper.axis == step.on[0]:
        return step.cases
    return tuple(Case(c.when, c.pattern and tuple(zip(*c.pattern, strict=True))) for c in step.cases)


def block(sheet: Canvas, step: DrawStep, meeting: Meeting, slot: Slot) -> None:
    """A closed block: all wires of what it receives and gives touch it."""
    wires = [w for own in (*meeting.ins, *meeting.outs) for w in own]
    top, bottom = span(wires, slot.column, 12)
    spare = max(0.0, box_height(step) - (bottom - top)) / 2
    top, bottom = top - spare, bottom + spare
    side = _box(sheet, step, (slot.x0, top, slot.x1, bottom), slot)
    high, y = title_height(step), (top + bottom) / 2 + side / 2
    taken = write_ports(sheet, step, meeting, slot, side, y, high / 2)
    x, y = title_at(ports_of(step, high), slot, side, y, high / 2, taken)  # of the front
    y = _inscribed(sheet, step, slot, x, y)
    title = block_text(step).split("\n")
    front = slot.x1 - side - slot.x0

    def tick(wire: Wire) -> float:
        """How far a wire that passes runs on: it keeps off the line of the title that is beside it."""
        tops = (y + 14 * (n - (len(title) - 1) / 2) for n in range(len(title)))
        near = [w for at, w in zip(tops, title, strict=True) if abs(at - sheet.y(wire, slot.column)) < LINE]
        wide = max((width(roman(word), theme.BLOCK) for word in near), default=0.0)
        return max(1.0, min(TICK, (front - wide) / 2 - 1.5))

    for own in meeting.ins:
        for wire in own:
            sheet.end(wire, slot.id, slot.x0)
            if wire.axis in step.on:  # it passes: the block does the same for every item
                sheet.across(wire, slot.x0, slot.x0 + tick(wire), sheet.y(wire, slot.column))
    for own in meeting.outs:
        for wire in own:
            sheet.begin(wire, slot.id, slot.x1)
            if wire.axis in step.on:
                sheet.across(wire, slot.x1 - side - tick(wire), slot.x1, sheet.y(wire, slot.column))


def _box(sheet: Canvas, step: DrawStep, box: Box, slot: Slot) -> float:
    """The box itself; returns how far it lies behind its front."""
    fills, solid = sheet.theme.block, step.mark == "block"
    sheet.shape(
        slot.id,
        box,
        f"op block block-{step.block}" if step.block else "op block",
        step.tip,
        shape="box3d" if solid else "box",
        style="filled",
        fillcolor=fills[step.tint % len(fills)] if solid else sheet.theme.norm,
        penwidth="1.1",
    )
    return theme.BOX_SIDE if solid else 0.0


def _inscribed(sheet: Canvas, step: DrawStep, slot: Slot, x: float, y: float) -> float:
    """The title about a place, the letter of its panel and the masks within beneath it; returns the title's own y."""
    text = block_text(step)
    lines = text.count("\n") + 1 + bool(step.panel)
    named = mask_lines(step)
    wide, foot = masks_size(step)
    y -= foot / 2 - 1.5 * bool(named)
    left, m = x - wide / 2, y + lines * 7 + 0.5
    for k, (words, case) in enumerate(zip(named, step.cases, strict=True)):
        high = mask_line(words)
        m += high / 2
        square = (left, m - SQUARE / 2, left + SQUARE, m + SQUARE / 2)
        draw_mask(sheet, f"{slot.id}_k{k}", square, case.pattern, "masked")
        if words:
            sheet.write(square[2] + 4 + width(words, theme.CAPTION) / 2, m, words, theme.CAPTION, cls="op mask")
        m += high / 2
    if step.panel:
        sheet.write(x, y + 7 * (lines - 1), bold(step.panel), theme.BLOCK, cls="panel")
        y -= 7
    sheet.write(x, y, roman(text), theme.BLOCK)
    return y
