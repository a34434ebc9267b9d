"""The legend: a strip beneath the figure with the axes, and what each glyph in the figure means."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from ...compiler.sizes.axes import Axis
from ..base import theme
from ..base.names import axis_label, barred, spaced
from ..base.text import Rich, bold, roman, width
from ..glyphs.masks import draw_mask
from ..layout.wires import Wire
from ..scene.formulas.patterns import GENERAL
from ..scene.steps import DrawStep, StepKind

if TYPE_CHECKING:
    from ..canvas.drawing import Canvas

_LINE = 24.0  # from one line of the legend to the next
_ICON = 24.0
_SPACE = 16.0  # between entries

Entry = tuple[float, Callable[["Canvas", float, float], None]]  # width; draw at (x, y)


def draw_legend(sheet: Canvas) -> None:
    x0, _, x1, y1 = sheet.extent
    wide = max(x1 - x0, 300.0)
    x, y = x0, y1 + 26
    for own, draw in _entries(sheet):
        if x > x0 and x + own > x0 + wide:
            x, y = x0, y + _LINE
        draw(sheet, x, y)
        x += own + _SPACE


def _entries(sheet: Canvas) -> list[Entry]:
    axes: dict[Axis, None] = {}
    steps: dict[str, DrawStep] = {}
    blocks = {s.block: s.tint for s in sheet.scene.sections if s.block and s.tint is not None}
    closed: dict[str, int] = {}
    for column in sheet.columns:
        for track in (*column.left, *column.right):
            if isinstance(track, Wire) and track.axis is not None:
                axes.setdefault(track.axis)
        for step in column.steps:
            key = step.mark if step.mark != "bracket" or step.border is None or step.border.along is None else "scan"
            if key == "mask" and not step.cases and len(step.on) > 1:
                key = "general"
            if key == "pill" and step.kind in (StepKind.ON, StepKind.SOURCE):
                key = "along" if step.kind is StepKind.ON else "counted"
            steps.setdefault(key, step)
            if step.mark == "block":
                closed[step.title] = step.tint
            if step.mark in ("block", "predicate") and (step.cases or step.note):
                steps.setdefault("mask", step)
    distinct = {(axis.label, axis.name, axis.is_width, axis.extent): axis for axis in reversed(axes)}
    out = [_axis(axis) for axis in reversed(distinct.values())]
    out += [_block(title, tint, title in closed) for title, tint in {**blocks, **closed}.items()]
    out += [_glyph(mark, steps[mark]) for mark in _MEANING if mark in steps]
    return out


def _axis(axis: Axis) -> Entry:
    label = axis_label(axis.label, is_width=axis.is_width)
    kind = "width" if axis.is_width else "depth"
    facts = spaced(axis.name) if axis.name != axis.label else ""
    if axis.extent is not None:
        facts += f" = {axis.extent}"
    text = roman(f"{facts.strip()} ({kind})".strip())
    wide, rest = width(label, theme.AXIS), width(text, theme.CAPTION)

    def draw(sheet: Canvas, x: float, y: float) -> None:
        color = sheet.theme.width if axis.is_width else sheet.theme.depth
        sheet.line(x, x + _ICON, y, color, "1.5" if axis.is_width else "1.35")
        sheet.write(x + _ICON + 5 + wide / 2, y, label, theme.AXIS, color=color, cls="legend")
        if axis.is_width and barred(axis.label):
            sheet.bar(axis.label, x + _ICON + 5, y, theme.AXIS, color)
        sheet.write(x + _ICON + 10 + wide + rest / 2, y, text, theme.CAPTION, cls="legend")

    return _ICON + 10 + wide + rest, draw


def _block(title: str, tint: int, closed: bool) -> Entry:
    """A block and its tint: as the box that it is in the figure, or as a region."""
    text = roman(f"{title} (block)")
    wide = width(text, theme.CAPTION)

    def draw(sheet: Canvas, x: float, y: float) -> None:
        fills = sheet.theme.block if closed else sheet.theme.region
        look = {"shape": "box3d", "penwidth": "1.1"} if closed else {"shape": "box", "penwidth": "0"}
        sheet.shape(
            f"legend_block{tint}", (x + 4, y - 8, x + 20, y + 8), "legend", title, covers=False,
            style="filled", fillcolor=fills[tint % len(fills)], **look,
        )  # fmt: skip
        sheet.write(x + _ICON + 5 + wide / 2, y, text, theme.CAPTION, cls="legend")

    return _ICON + 5 + wide, draw


_MEANING: dict[str, str] = {
    "learned": "learned linear map",
    "embed": "learned lookup",
    "loop": "contraction",
    "triangle": "softmax",
    "mask": "mask (grey: left out)",
    "general": "mask (which items: not drawn)",
    "ring": "norm over its axis",
    "sign": "element by element",
    "gate": "product, element by element",
    "arrow": "function of each element",
    "pill": "reduction",
    "counted": "numbers made of a mask",
    "along": "op along its axis, which goes on",
    "pick": "the item that an index says",
    "bar": "axes split, merged, joined",
    "copy": "copy",
    "hidden": "left out by the author",
    "bracket": "repeated",
    "scan": "item by item, in order",
}


def _glyph(mark: str, step: DrawStep) -> Entry:
    text = roman(_MEANING[mark])
    wide = width(text, theme.CAPTION)

    def draw(sheet: Canvas, x: float, y: float) -> None:
        sheet.step = step
        _icon(sheet, mark, x, y)
        sheet.write(x + _ICON + 5 + wide / 2, y, text, theme.CAPTION, cls="legend")

    return _ICON + 5 + wide, draw


def _icon(sheet: Canvas, mark: str, x: float, y: float) -> None:
    colors = sheet.theme
    box = (x + 4, y - 8, x + 20, y + 8)
    id = f"legend_{mark}"

    def shape(**attributes: str) -> None:
        sheet.shape(
            id, box, "legend", _MEANING[mark], covers=False, **{"style": "filled", "penwidth": "1.1", **attributes}
        )

    def letter(text: Rich) -> None:
        sheet.write(x + 12, y, text, theme.AXIS, cls="legend")

    match mark:
        case "learned" | "embed":
            shape(shape="cut", cut="5", fillcolor=colors.learned, color=colors.ink)
            letter(bold("L" if mark == "learned" else "E"))
        case "loop":
            sheet.stroke(f"{id}_a", [(x + 4, y - 6), (x + 20, y - 8), (x + 20, y + 8), (x + 4, y + 6)], colors.depth)
        case "triangle":
            shape(shape="triangle", orientation="90", fillcolor="white")
        case "mask":
            shape(shape="box", fillcolor=colors.kept)
            sheet.shape(
                f"{id}_m", (x + 12, y - 8, x + 20, y + 8), "legend", "left out", covers=False,
                shape="box", style="filled", fillcolor=colors.masked, penwidth="0.1",
            )  # fmt: skip
        case "general":
            draw_mask(sheet, id, box, GENERAL, _MEANING[mark])
        case "ring":
            shape(shape="circle", fillcolor=colors.norm, penwidth="1.8")
        case "pill" | "along" | "counted" | "pick":
            shape(shape="box", style="filled,rounded", fillcolor=colors.reduce)
        case "hidden":
            shape(shape="box", style="filled,rounded,dashed", fillcolor="white", penwidth="1")
        case "bar":
            sheet.shape(id, (x + 10, y - 8, x + 14, y + 8), "legend", _MEANING[mark], covers=False,
                        shape="box", style="filled", fillcolor=colors.ink)  # fmt: skip
        case "bracket" | "scan":
            for k, side in enumerate((-1, 1)):
                chain = [(x + 12 + side * p, y + q) for p, q in ((5, -8), (9, -4), (9, 4), (5, 8))]
                sheet.stroke(f"{id}_{k}", chain, colors.ink, "1.8")
            if mark == "scan":
                sheet.head(f"{id}_h", x + 12, y, leftwards=True)
        case "arrow":
            sheet.head(f"{id}_h", x + 8, y)
            sheet.head(f"{id}_k", x + 18, y)
        case "copy":
            size = 6
            sheet.shape(id, (x + 12 - size / 2, y - size / 2, x + 12 + size / 2, y + size / 2), "legend", "copy",
                        covers=False, shape="circle", style="filled", fillcolor=colors.ink, penwidth="0")  # fmt: skip
        case "sign":
            letter(bold("+"))
        case "gate":
            sheet.shape(id, (x + 6.5, y - 5.5, x + 17.5, y + 5.5), "legend", _MEANING[mark], covers=False,
                        shape="circle", style="filled", fillcolor="white", penwidth="1.3")  # fmt: skip
            sheet.shape(f"{id}_d", (x + 10.5, y - 1.5, x + 13.5, y + 1.5), "legend", _MEANING[mark], covers=False,
                        shape="circle", style="filled", fillcolor=colors.ink, penwidth="0")  # fmt: skip
        case _:
            pass
