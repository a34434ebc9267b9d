"""Labels and signs, set where they are free: nothing is written over anything."""

from __future__ import annotations

from . import theme
from .canvas import Canvas
from .rooms import label_of
from .text import LOW, Rich, barred, roman, width
from .wires import Wire


def write_signs(sheet: Canvas) -> None:
    """Signs and words at dots: above the highest or below the lowest, where nothing runs."""
    for text, size, places, wide, bar in sheet.notes:
        fits = (
            p
            for p in places
            if sheet.ground.free((p[0] - wide / 2, p[1] - size * 0.5, p[0] + wide / 2, p[1] + size * 0.4))
        )
        x, y = next(fits, places[0])
        sheet.write(x, y, text, size, cls="note")
        if bar:
            sheet.bar(x + wide / 2 - bar / 2 + 0.5, y - 0.6 * size, bar, sheet.theme.ink)
    for x, heights, text, size, optional in sheet.later:
        half = width(text, size) / 2
        near = (0.0, half - 2, 2 - half, half + 6, -half - 6)
        far = () if optional else (heights[0] - 11, heights[-1] + 11)
        spots = [(x + dx, y) for dx in near[:3] for y in heights] + [
            (x + dx, y) for y in (*heights, *far) for dx in near
        ]
        free = (p for p in spots if sheet.ground.free((p[0] - half, p[1] - size * 0.5, p[0] + half, p[1] + size * 0.4)))
        at = next(free, None if optional else spots[0])
        if at is None:
            continue
        sheet.write(at[0], at[1], text, size, cls="op sign")


def write_labels(sheet: Canvas) -> None:
    """Axis labels: where a wire is born, after a bend, at the end of what is long, at outputs."""
    said: dict[int, bool] = {}  # wires whose size is written
    for wire, a, b, y, first, out, met in sheet.runs:
        if wire.axis is None:
            continue
        full = label_of(wire)
        text = full if first and not said.get(wire.number) else full[: -1 if wire.size else None]
        said[wire.number] = True
        wide = width(text, theme.AXIS)
        long = b - a
        wanted: list[float] = []
        if (first and (not out or long > 70 + 2 * wide)) or (long > 60 and not out):
            wanted.append(a + wide / 2 + 4)
        if out:
            wanted.append(b - wide / 2 - 2)
        elif long > 280 and not met:
            wanted.append(b - wide / 2 - 4)
        for k, want in enumerate(wanted):
            text = text[:-1] if k == 1 and wire.size and text[-1].text == wire.size else text
            wide = width(text, theme.AXIS)
            _label(sheet, wire, text, wide, a, b, y, want)


def _label(sheet: Canvas, wire: Wire, text: Rich, wide: float, a: float, b: float, y: float, want: float) -> None:
    steps = int((b - a) / 3) + 1
    low, high = a + wide / 2 + 1, b - wide / 2 - 0.5
    if high < low:
        low = high = (a + b) / 2
    spots = sorted(
        {min(max(want + 3 * k, low), high) for k in range(-steps, steps + 1)}, key=lambda x: (abs(x - want), x)
    )
    axis = wire.axis
    assert axis is not None
    bar = 0.0  # how far above the text's middle its macron is
    if axis.is_width and barred(axis.label):
        bar = 5.5 if all(c in LOW for c in axis.label.partition("_")[0]) else 7.6
    for up in (True, False):
        for x in spots:
            if abs(x - want) > 70:
                break
            middle = y - 8.5 if up else y + 9.5
            box = (x - wide / 2 - 1, middle - max(6.0, bar + 0.8), x + wide / 2 + 1, middle + 5.0)
            if sheet.ground.free(box):
                kind = "width" if axis.is_width else "depth"
                sheet.write(x, middle, text, theme.AXIS, color=sheet.color(wire), cls=f"label {kind}")
                if bar:
                    size = width(roman(wire.size), theme.AXIS) if wire.size and text[-1].text == wire.size else 0.0
                    sheet.bar(x + 0.5 - size / 2, middle - bar, wide - 0.5 - size, sheet.color(wire))
                return
