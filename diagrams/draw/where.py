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
    """One formula after the other. Tables of one formula along different axes, as their wires tell, are told once."""
    told: dict[object, tuple[DrawStep, Rich]] = {}
    for column in sheet.columns:
        for step in column.steps:
            if is_apart(step):
                formula = (*step.text, *roman(" = "), *step.note)
                told.setdefault((plain(step.text), _without_axes(step)), (step, formula))
    x0, _, x1, y = sheet.extent
    y += _ABOVE if told else 0.0
    for number, (sheet.step, formula) in enumerate(told.values()):
        text = joined((*roman("" if number else "where "), *formula))
        for line in lines(text, max(_LEAST, x1 - x0), theme.CAPTION):
            sheet.write((x0 + x1) / 2, y, line, theme.CAPTION, cls="where")
            y += leading(theme.CAPTION)


def _without_axes(step: DrawStep) -> tuple[object, ...]:
    """The formula, with a number in place of each axis of the table."""
    labels = {plain(axis_label(axis.label, is_width=False)): k for k, axis in enumerate(step.outs[0].axes)}
    return tuple((labels.get(run.text, run.text), run.shift) for run in step.note)
