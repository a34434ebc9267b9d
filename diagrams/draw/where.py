"""`where wave = ...`: the formulas of tables that are known by their names, beneath the figure."""

from __future__ import annotations

from ..base import theme
from ..base.names import axis_label
from ..base.text import Rich, joined, lines, plain, roman
from ..canvas.drawing import Canvas
from ..layout.glyph_sizes import is_apart, leading
from ..scene.steps import DrawStep

_LEAST = 260.0  # how wide a line may be where the figure is narrower
_ABOVE = 16.0


def write_where(sheet: Canvas) -> None:
    """One formula after the other. Tables of one formula along different axes are told once: `; also with y for x`."""
    told: dict[object, list[DrawStep]] = {}
    for column in sheet.columns:
        for step in column.steps:
            if is_apart(step):
                told.setdefault((plain(step.text), _without_axes(step)), []).append(step)
    x0, _, x1, y = sheet.extent
    y += _ABOVE if told else 0.0
    for number, steps in enumerate(told.values()):
        sheet.step = first = steps[0]
        text = joined((*roman("" if number else "where "), *first.text, *roman(" = "), *first.note, *_elsewhere(steps)))
        for line in lines(text, max(_LEAST, x1 - x0), theme.CAPTION):
            sheet.write((x0 + x1) / 2, y, line, theme.CAPTION, cls="where")
            y += leading(theme.CAPTION)


def _elsewhere(steps: list[DrawStep]) -> Rich:
    """Which axes stand in the formula of further tables, in place of those of the first."""
    written = {run.text for run in steps[0].note}
    first, *others = (tuple(axis_label(axis.label, is_width=False) for axis in step.outs[0].axes) for step in steps)
    found: dict[str, Rich] = {}
    for other in others:
        for ours, theirs in zip(first, other, strict=True):
            if plain(ours) in written and theirs != ours:
                found.setdefault(plain(theirs), (*theirs, *roman(" for "), *ours))
    between = [roman(", with " if k else "; also with ") for k in range(len(found))]
    return tuple(run for lead, pair in zip(between, found.values(), strict=True) for run in (*lead, *pair))


def _without_axes(step: DrawStep) -> tuple[object, ...]:
    """The formula, with a number in place of each axis of the table."""
    labels = {plain(axis_label(axis.label, is_width=False)): k for k, axis in enumerate(step.outs[0].axes)}
    return tuple((labels.get(run.text, run.text), run.shift) for run in step.note)
