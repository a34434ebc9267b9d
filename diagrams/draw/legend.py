"""The legend: a strip beneath the figure with the axes, and what each glyph in the figure means."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from ...compiler.sharding.mesh import BATCH, PIPE, MeshAxis
from ...compiler.sharding.sends import Collective
from ...compiler.sizes.axes import Axis
from ..base import theme
from ..base.curves import straight
from ..base.names import axis_label, barred, spaced
from ..base.picture import Cluster
from ..base.text import Rich, bold, italic, lowered, plain, roman, width
from ..glyphs.masks import draw_mask
from ..layout.glyph_sizes import tiled
from ..layout.wires import Wire
from ..scene.formulas.patterns import GENERAL
from ..scene.steps import DrawStep, Enters, StepKind
from ..scene.wording import BACKWARD, sent_letters
from .hatches.memory import LOOKS, REGISTERS, SHARED, STREAMED, DrawnMemory
from .hatches.meshes import SLANTS, DrawnMesh
from .hatches.strokes import Strokes, strokes

if TYPE_CHECKING:
    from ..canvas.drawing import Canvas

_LINE = 24.0  # from one line of the legend to the next
_ICON = 24.0
_SPACE = 16.0  # between entries

Entry = tuple[float, Callable[["Canvas", float, float], None]]  # width; draw at (x, y)


def draw_legend(
    sheet: Canvas, hatching: DrawnMesh | DrawnMemory | None, hatched: frozenset[int], *, whole: bool
) -> None:
    """hatched: the hatches that are in the figure. whole: whether axes and glyphs are explained, too."""
    entries = _entries(sheet) if whole else []
    match hatching:
        case DrawnMesh() if whole:
            entries = _meshes(hatching, hatched) + entries
        case DrawnMemory():
            entries = _memory(sheet, hatched, hatching.device) + entries
    x0, _, x1, y1 = sheet.extent
    wide = max(x1 - x0, 300.0)
    x, y = x0, y1 + 26
    for own, draw in entries:
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
            marks = {"running": Enters.RUNNING in step.enters, "held": Enters.HELD in step.enters, "one": step.one}
            for mark in (mark for mark, there in {**marks, "passes": step.counted}.items() if there):
                steps.setdefault(mark, step)
    distinct = {(axis.label, axis.name, axis.is_width, axis.extent): axis for axis in reversed(axes)}
    out = [_axis(axis) for axis in reversed(distinct.values())]
    within = [op for step in _all(sheet) for op, _ in step.sends]
    sent = {plain(sent_letters(op)): op for op in (*(s.sent for s in _all(sheet) if s.sent is not None), *within)}
    out += [_sent(op) for op in sent.values()]
    out += [_block(title, tint, title in closed) for title, tint in {**blocks, **closed}.items()]
    out += [_glyph(mark, steps[mark]) for mark in _MEANING if mark in steps]
    return out


def _meshes(mesh: DrawnMesh, hatched: frozenset[int]) -> list[Entry]:
    return [_mesh(axis, number, number in hatched) for number, axis in enumerate(mesh.mesh.axes)]


def _memory(sheet: Canvas, hatched: frozenset[int], device: str) -> list[Entry]:
    """Levels of memory; the axes that stream, and the tiles of others; what a loop is."""
    loops = [border.section for border in sheet.borders if border.section.streams is not None]
    if not loops:
        return []
    found = [_line(f"in device memory ({device})")]
    found += [_line(said, LOOKS[k]) for k, said in enumerate((SHARED, REGISTERS)) if k in hatched]
    if any(k >= STREAMED for k in hatched):
        found.append(_line("tile after tile goes through", *(LOOKS[k] for k in sorted(hatched) if k >= STREAMED)))
    tiles = dict.fromkeys((axis, size, axis == loop.streams) for loop in loops for axis, size in loop.tiles.items())
    found += [_tile(*each) for each in tiles]
    return [*found, _loop_icon(sheet)]


def _said(text: Rich, at: float, icon: Callable[[Canvas, float, float], None]) -> Entry:
    """An icon, and behind it what it stands for."""
    wide = width(text, theme.CAPTION)

    def draw(sheet: Canvas, x: float, y: float) -> None:
        icon(sheet, x, y)
        sheet.write(x + at + wide / 2, y, text, theme.CAPTION, cls="legend")

    return at + wide, draw


def _line(said: str, *looks: Strokes, along: float = _ICON + 12) -> Entry:
    """A wire with these strokes."""

    def icon(sheet: Canvas, x: float, y: float) -> None:
        if along:
            sheet.line(x, x + along - 4, y, sheet.theme.ink, "1.35")
        if looks:
            strokes(sheet, [(x + k, y) for k in range(2, int(along) - 5)], looks, sheet.theme.ink)

    return _said(roman(said), along + 3, icon)


def _tile(axis: Axis, size: int, streamed: bool) -> Entry:
    """`q / 128`, and what that is."""
    mark = tiled(axis, size)
    text = roman(f"{size} at a time, one tile after another" if streamed else f"{size} in each program")
    wide = width(mark, theme.AXIS)

    def icon(sheet: Canvas, x: float, y: float) -> None:
        color = sheet.ink(axis)
        sheet.write(x + wide / 2, y, mark, theme.AXIS, color=color, cls="legend")
        if axis.is_width and barred(axis.label):
            sheet.bar(axis.label, x, y, theme.AXIS, color)

    return _said(text, wide + 7, icon)


def _loop_icon(sheet: Canvas) -> Entry:
    """The tint of a loop, and the line that leads its state back."""
    text = roman("a loop on the chip, and what it keeps")

    def icon(sheet: Canvas, x: float, y: float) -> None:
        box = (x, y - 9, x + _ICON + 12, y + 9)
        sheet.picture.clusters.append(Cluster("legend_loop", box, (), (x, y), sheet.theme.part, plain(text), 0.0))
        sheet.include(box)
        ends = (x + _ICON + 9, y + 4), (x + 10, y + 4)
        sheet.stroke("legend_back", [ends[0], *straight(*ends)], sheet.theme.ink, "1.15")
        sheet.head("legend_back_h", x + 7, y + 4, leftwards=True)

    return _said(text, _ICON + 15, icon)


def _mesh(axis: MeshAxis, number: int, hatched: bool) -> Entry:
    """An axis of the mesh: a hatched wire, how many devices it has, and what it splits that has no wire."""
    named = ", ".join(name if name != BATCH else "the batch" for name in axis.splits) or "nothing"
    said = "" if hatched and not axis.copies else f", splits {named}"
    if axis.name == PIPE:
        said = ", stages: runs of passes"
    text = roman(f"{spaced(axis.name)} = {axis.size} (mesh axis{said})")
    return _line(plain(text), SLANTS[number % len(SLANTS)]) if hatched else _line(plain(text), along=0.0)


_SENT = {
    "AR": "all-reduce", "AG": "all-gather", "RS": "reduce-scatter", "A2A": "all-to-all", "ring": "sent round a ring",
}  # fmt: skip


def _all(sheet: Canvas) -> list[DrawStep]:
    return [step for column in sheet.columns for step in column.steps]


def _sent(op: Collective) -> Entry:
    """A collective: its letters in a double frame."""
    letters = sent_letters(op)
    name = plain(letters).strip("()")
    text = roman(f"{_SENT[name]}{' of gradients alone' if op.kind in BACKWARD else ' between devices'}")
    half = width(letters, theme.CAPTION) / 2 + 5

    def icon(sheet: Canvas, x: float, y: float) -> None:
        for inset in (0.0, 2.0):
            box = (x + inset, y - 9 + inset, x + 2 * half - inset, y + 9 - inset)
            sheet.shape(f"legend_{name}{len(plain(letters))}{inset:.0f}", box, "legend", plain(text), covers=False,
                        **_plain("box", "white", "0.9"))  # fmt: skip
        sheet.write(x + half, y + 1.5, letters, theme.CAPTION, cls="legend")

    return _said(text, 2 * half + 5, icon)


def _axis(axis: Axis) -> Entry:
    label = axis_label(axis.label, is_width=axis.is_width)
    kind = "width" if axis.is_width else "depth"
    facts = spaced(axis.name) if axis.name != axis.label else ""
    if axis.extent is not None:
        facts += f" = {axis.extent}"
    text = roman(f"{facts.strip()} ({kind})".strip())
    wide = width(label, theme.AXIS)

    def icon(sheet: Canvas, x: float, y: float) -> None:
        wire, color = sheet.theme.width if axis.is_width else sheet.theme.depth, sheet.ink(axis)
        sheet.line(x, x + _ICON, y, wire, f"{theme.PENS[kind]:g}")
        sheet.write(x + _ICON + 5 + wide / 2, y, label, theme.AXIS, color=color, cls="legend")
        if axis.is_width and barred(axis.label):
            sheet.bar(axis.label, x + _ICON + 5, y, theme.AXIS, color)

    return _said(text, _ICON + 10 + wide, icon)


def _block(title: str, tint: int, closed: bool) -> Entry:
    """A block and its tint: as the box that it is in the figure, or as a region."""

    def icon(sheet: Canvas, x: float, y: float) -> None:
        fills = sheet.theme.block if closed else sheet.theme.region
        look = {"shape": "box3d", "penwidth": "1.1"} if closed else {"shape": "box", "penwidth": "0"}
        sheet.shape(
            f"legend_block{tint}", (x + 4, y - 8, x + 20, y + 8), "legend", title, covers=False,
            style="filled", fillcolor=fills[tint % len(fills)], **look,
        )  # fmt: skip

    return _said(roman(f"{title} (block)"), _ICON + 5, icon)


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
    "running": "the start of what goes round",
    "held": "the same in every pass",
    "passes": "weights new in each pass",
    "one": "weights one for all passes",
}


def _glyph(mark: str, step: DrawStep) -> Entry:
    def icon(sheet: Canvas, x: float, y: float) -> None:
        sheet.step = step
        _icon(sheet, mark, x, y)

    return _said(roman(_MEANING[mark]), _ICON + 5, icon)


_LETTERS = {"learned": "L", "embed": "E", "sign": "+", "one": "L"}


def _shapes(colors: theme.Theme) -> dict[str, dict[str, str]]:
    """The icons that are one shape, or begin with it."""
    letter = {"shape": "cut", "cut": "5", "fillcolor": colors.learned, "color": colors.ink}
    letters = {mark: letter for mark in _LETTERS if mark != "sign"}
    pill = {"shape": "box", "style": "filled,rounded", "fillcolor": colors.reduce}
    return letters | {
        "triangle": {"shape": "triangle", "orientation": "90", "fillcolor": "white"},
        "running": {"shape": "triangle", "orientation": "270", "fillcolor": "white"},
        "mask": {"shape": "box", "fillcolor": colors.kept},
        "ring": {"shape": "circle", "fillcolor": colors.norm, "penwidth": "1.8"},
        "pill": pill,
        "along": pill,
        "counted": pill,
        "pick": pill,
        "hidden": {"shape": "box", "style": "filled,rounded,dashed", "fillcolor": "white", "penwidth": "1"},
    }


def _parts(colors: theme.Theme) -> dict[str, list[tuple[float, float, dict[str, str], float]]]:
    """Of those that are several, or stand on such a shape: half their width and height, their look, and how far to the
    right they stand."""
    ink, stroke = _plain("circle", colors.ink, "0"), _plain("box", colors.ink, "0")
    return {
        "mask": [(4, 8, _plain("box", colors.masked, "0.1"), 4)],
        "bar": [(2, 8, _plain("box", colors.ink), 0)],
        "copy": [(3, 3, ink, 0)],
        "gate": [(5.5, 5.5, _plain("circle", "white", "1.3"), 0), (1.5, 1.5, ink, 0)],
        "held": [(4.5, 8, _plain("box", "white", "1.1"), 0), *((0.5, 4.5, stroke, at) for at in (-1.6, 1.6))],
        "one": [(0.5, 4, stroke, -6)],
    }


def _plain(shape: str, fill: str, pen: str = "") -> dict[str, str]:
    look = {"shape": shape, "style": "filled", "fillcolor": fill}
    return {**look, "penwidth": pen} if pen else look


def _icon(sheet: Canvas, mark: str, x: float, y: float) -> None:
    colors, id, middle = sheet.theme, f"legend_{mark}", x + 12

    def part(suffix: str, wide: float, high: float, look: dict[str, str], at: float = 0.0) -> None:
        box = (middle + at - wide, y - high, middle + at + wide, y + high)
        sheet.shape(id + suffix, box, "legend", _MEANING[mark], covers=False, **look)

    if look := _shapes(colors).get(mark):
        part("", 8, 8, {"style": "filled", "penwidth": "1.1", **look})
    for k, (wide, high, look, at) in enumerate(_parts(colors).get(mark, ())):
        part(f"_{k}" if k or mark in _shapes(colors) else "", wide, high, look, at)
    if letter := _LETTERS.get(mark):
        sheet.write(middle, y, bold(letter), theme.AXIS, cls="legend")
    match mark:
        case "loop":
            sheet.stroke(f"{id}_a", [(x + 4, y - 6), (x + 20, y - 8), (x + 20, y + 8), (x + 4, y + 6)], colors.depth)
        case "passes":
            sheet.write(middle, y, lowered(italic("W"), italic("i")), theme.GLYPH, cls="legend")
        case "general":
            draw_mask(sheet, id, (x + 4, y - 8, x + 20, y + 8), GENERAL, _MEANING[mark])
        case "bracket" | "scan":
            for k, side in enumerate((-1, 1)):
                chain = [(middle + side * p, y + q) for p, q in ((5, -8), (9, -4), (9, 4), (5, 8))]
                sheet.stroke(f"{id}_{k}", chain, colors.ink, "1.8")
            if mark == "scan":
                sheet.head(f"{id}_h", middle, y, leftwards=True)
        case "arrow":
            sheet.head(f"{id}_h", x + 8, y)
            sheet.head(f"{id}_k", x + 18, y)
        case _:
            pass
