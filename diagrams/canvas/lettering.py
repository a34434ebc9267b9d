"""Labels, signs and titles, each written at the first of its possible places that nothing is drawn on."""

from __future__ import annotations

from dataclasses import replace

from ..base import theme
from ..base.names import axis_label, bar_over, barred
from ..base.text import Rich, height, plain, width
from ..layout.glyph_sizes import label_of, tile_label
from ..scene.steps import DrawStep, Section, StepKind
from .drawing import Canvas, Stretch

_FAR = 70.0  # how far a label may stand from its place
_AGAIN = 20.0  # and one that is written again further on


def write_titles(sheet: Canvas) -> None:
    """The titles of regions: above the wires in the middle of the region, or as near to it as there is a free place.
    Where a region goes on in another row, its title is left out if there is no free place."""
    for cluster, x0, x1, needed in sheet.titles:
        half, (x, y) = width(cluster.label, cluster.size) / 2, cluster.label_at
        slack = max(0.0, (x1 - x0) / 2 - half - 3)
        heights = (y, cluster.box[3] - 9, cluster.box[1] - 9) if needed else (y,)
        steps = [side * step for step in range(0, int(slack) + 1, 4) for side in (1, -1)]
        places = ((x + dx, h) for h in heights for dx in steps)
        free = (s for s in places if sheet.occupied.free((s[0] - half - 1, s[1] - 7, s[0] + half + 1, s[1] + 7)))
        at = next(free, (x, y) if needed else None)
        if at is None:
            cluster.label = ()
            continue
        cluster.label_at = at
        box = (at[0] - half, at[1] - 7, at[0] + half, at[1] + 7)
        sheet.occupied.take(box)
        sheet.texts.append((plain(cluster.label), box))


def write_signs(sheet: Canvas) -> None:
    """Signs and words that belong to dots: above the highest dot or below the lowest, where there is a free place."""
    for text, size, places, wide, axis, needed in sheet.notes:
        more = (height(text, size) - size) / 2
        up, low = (0.7 * size, 0.45 * size) if axis else (0.55 * size + more, 0.45 * size + more)
        fits = (p for p in places if sheet.occupied.free((p[0] - wide / 2, p[1] - up, p[0] + wide / 2, p[1] + low)))
        at = next(fits, places[0] if needed else None)
        if at is None:
            continue
        x, y = at
        sheet.write(x, y, text, size, cls="note")
        if axis:
            label = width(axis_label(axis, is_width=True), size)
            sheet.bar(axis, x + wide / 2 - label, y, size, sheet.theme.ink)
    for x, heights, text, size, optional in sheet.later:
        half, more = width(text, size) / 2, (height(text, size) - size) / 2
        near = (0.0, half - 2, 2 - half)
        aside = (*near, half + 6, -half - 6)
        further = () if optional else (*aside, half + 14, -half - 14, half + 24, -half - 24)
        places = [(x + dx, y) for dx in near for y in heights] + [(x + dx, y) for y in heights for dx in aside]
        places += [(x + dx, y + dy) for dy in (0, -5, 5, -11, 11, -18, 18) for y in heights for dx in further]
        free = (
            p
            for p in places
            if sheet.occupied.free((p[0] - half, p[1] - size * 0.5 - more, p[0] + half, p[1] + size * 0.4 + more))
        )
        at = next(free, None if optional else places[0])
        if at is None:
            continue
        sheet.write(at[0], at[1], text, size, cls="op sign")


def write_labels(sheet: Canvas) -> None:
    """Labels of axes: where a wire begins, after a bend, at the end of a long level stretch, at outputs, and on both
    sides of the break between two rows."""
    for column in sheet.columns:
        for step in column.steps:
            if step.kind is StepKind.ENTER and step.border is not None and step.border.tiles:
                _write_tiles(sheet, step, step.border)
    sized: set[int] = set()  # wires whose size is written
    bare: set[int] = set()  # wires whose beginning had no room for a label
    for run in sheet.runs:
        wire = run.wire
        if wire.axis is None:
            continue
        first = run.first or wire.number in bare
        bare.discard(wire.number)
        full = label_of(wire)
        short = full[:-1] if wire.size else full
        text = full if first and wire.number not in sized else short
        sized.add(wire.number)
        wide = width(text, theme.AXIS)
        long = run.x1 - run.x0
        wanted: list[tuple[float, Rich]] = []
        if (first and (not run.out or long > 70 + 2 * wide)) or (long > 60 and not run.out):
            wanted.append((run.x0 + wide / 2 + 4, text))
        if run.out:
            wanted.append((run.x1 - wide / 2 - 2, text if not wanted else short))
        elif (long > (80 + 2 * wide if run.on else 280) and not run.met) or (run.on and not wanted):
            wide = width(short, theme.AXIS)
            wanted.append((run.x1 - wide / 2 - 4, short))
        for k, (want, said) in enumerate(wanted):
            if not _label(sheet, run, said, want, _AGAIN if k and not run.out else _FAR) and run.first:
                bare.add(wire.number)


def _write_tiles(sheet: Canvas, step: DrawStep, loop: Section) -> None:
    """Where wires enter a loop over tiles: `q / 128`."""
    slot = sheet.slots[id(step)]
    x = slot.middle
    for wire in (wire for own in sheet.meetings[id(step)].outs for wire in own):
        text = tile_label(wire, loop)
        for run in sheet.runs if text else ():
            if run.wire is wire and run.x0 - 1 <= x < run.x1 and abs(run.y - wire.y[slot.column]) < 1:
                _label(sheet, replace(run, x0=x + 3), text, x + 4 + width(text, theme.AXIS) / 2, _AGAIN)


def _label(sheet: Canvas, run: Stretch, text: Rich, want: float, far: float) -> bool:
    """Write it as near to `want` as there is room, but no further away than `far`; returns whether there was."""
    wide = width(text, theme.AXIS)
    steps = int((run.x1 - run.x0) / 3) + 1
    low, high = run.x0 + wide / 2 + 1, run.x1 - wide / 2 - 0.5
    if high < low:
        low = high = (run.x0 + run.x1) / 2
    places = sorted(
        {min(max(want + 3 * k, low), high) for k in range(-steps, steps + 1)}, key=lambda x: (abs(x - want), x)
    )
    axis = run.wire.axis
    assert axis is not None
    bar = bar_over(axis.label, theme.AXIS)[2] if axis.is_width and barred(axis.label) else 0.0
    for middle in (run.y - 8.5, run.y + 9.5):
        for x in places:
            if abs(x - want) > far:
                break
            box = (x - wide / 2 - 1, middle - max(6.0, bar + 0.8), x + wide / 2 + 1, middle + 5.0)
            if sheet.occupied.free(box):
                kind, color = run.wire.kind, sheet.ink(axis)
                sheet.write(x, middle, text, theme.AXIS, color=color, cls=f"label {kind}")
                if bar:
                    sheet.bar(axis.label, x - wide / 2, middle, theme.AXIS, color)
                return True
    return False
