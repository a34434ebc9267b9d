"""Each mark: how much room it takes, and how it is drawn. A glyph covers exactly the wires of the axes it names.

`measure` gives the room along x; `reach` how far the glyph goes beyond its outermost wires; `DRAW` draws. All points.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from . import theme
from .formula import Pattern
from .route import half_loop
from .scene import Kind, Step
from .text import Rich, axis_label, bold, italic, plain, roman, width
from .wires import Lane, Meeting, Wire

if TYPE_CHECKING:
    from .sheet import Sheet

DOT = 6.0  # diameter of a copy or merge dot
HEAD = (9.0, 7.0)  # an arrowhead's height and length
_LOOP = 17.0  # half-loop, along x
_INDEX = 20.0  # the arrow of an index into an embedding
_TURN = 20.0  # room for wires that run into one dot within a column


@dataclass(frozen=True, slots=True)
class Room:
    """Along x: level wire before the glyph, the glyph, level wire after it."""

    before: float
    core: float
    after: float


@dataclass(frozen=True, slots=True)
class Spot:
    """Where a step is drawn: its column and the left and right side of its glyph."""

    id: str
    column: int
    x0: float
    x1: float

    @property
    def middle(self) -> float:
        return (self.x0 + self.x1) / 2


def label_of(wire: Wire) -> Rich:
    if wire.axis is None:
        return ()
    return (*axis_label(wire.axis.label, is_width=wire.axis.is_width), *roman(wire.size))


def born(meeting: Meeting) -> list[Wire]:
    """Wires that the step makes."""
    had = {w.number for own in meeting.ins for w in own}
    return [w for own in meeting.outs for w in own if w.number not in had]


def gone(meeting: Meeting) -> list[Wire]:
    """Wires that the step ends."""
    have = {w.number for own in meeting.outs for w in own}
    return [w for own in meeting.ins for w in own if w.number not in have]


def covered(step: Step, meeting: Meeting) -> list[Wire]:
    """The wires that an ON glyph sits on."""
    return [w for w in meeting.ins[0] if w.axis in step.on]


def _labels(wires: Sequence[Wire]) -> float:
    return max((width(label_of(w), theme.AXIS) for w in wires), default=0.0)


def wrapped(text: str, most: float = 62.0) -> str:
    """A block's title in lines of about `most` points."""
    lines: list[str] = []
    for word in text.replace("-", "- ").split():
        joint = "" if lines and lines[-1].endswith("-") else " "
        if lines and width(roman(lines[-1] + joint + word), theme.BLOCK) <= most:
            lines[-1] += joint + word
        else:
            lines.append(word)
    return "\n".join(lines) or " "


def _stacked(name: str) -> str:
    """The name of an input, in two lines where it has words for them."""
    words = name.split()
    cut = min(range(1, len(words)), key=lambda k: max(len(" ".join(words[:k])), len(" ".join(words[k:]))), default=0)
    return f"{' '.join(words[:cut])}\n{' '.join(words[cut:])}" if cut else name


def _widest(text: str, size: float) -> float:
    return max(width(roman(line), size) for line in text.split("\n"))


def measure(step: Step, meeting: Meeting) -> Room:
    after = _labels(born(meeting)) + 7 if born(meeting) else 6.0
    match step.kind:
        case Kind.SOURCE if step.mark == "learned":
            return Room(2, _learned_width(step), after)
        case Kind.SOURCE if step.mark == "predicate":
            return Room(2, width(step.text, theme.WORD) + 8 + _mask_side(len(step.on)), after)
        case Kind.SOURCE if step.mark == "input":
            return Room(0, _widest(_stacked(plain(step.text)), _name_size(step)) + 7, after)
        case Kind.SOURCE if step.mark == "block":
            return Room(2, max(44.0, _widest(wrapped(plain(step.text)), theme.BLOCK) + 12), after)
        case Kind.SOURCE:
            return Room(2, width(step.text, theme.GLYPH) + 6, after)
        case Kind.THROUGH if step.mark == "learned":
            return Room(5, _learned_width(step), after)
        case Kind.THROUGH if step.mark == "embed":
            return Room(_INDEX, _learned_width(step), after)
        case Kind.THROUGH if step.mark == "bar":
            return Room(8, 4, after)
        case Kind.THROUGH if step.mark == "birth":
            return Room(2, 6, after)
        case Kind.THROUGH | Kind.ON if step.mark == "pill":
            return Room(8, max(22.0, width(step.text, theme.CAPTION) + 10), after if step.made else 12)
        case Kind.ON if step.mark == "ring":
            return Room(4, max(24.0, width(step.text, theme.CAPTION) + 7), 4)
        case Kind.ON if step.mark == "triangle":
            return Room(6, 21, 5)
        case Kind.ON:
            return Room(7, _mask_side(len(step.on)), 6)
        case Kind.LANE:
            return Room(2, width(step.text, theme.BLOCK) + 27, 2)
        case Kind.JOIN if step.mark == "loop":
            note = width(step.note, theme.CAPTION) + 14 if step.note else 0.0
            shared = bool(born(meeting))
            return Room(
                8 if step.contracted else 2, (_LOOP if step.contracted else 0) + note + (_TURN if shared else 0), after
            )
        case Kind.JOIN if step.mark == "bar":
            return Room(_TURN if meeting.inner else 6, 14, after)
        case Kind.JOIN if step.mark == "mask":
            return Room(_TURN if meeting.inner else 2, _mask_side(len(step.on)) + 10, 6)
        case Kind.JOIN:
            return Room(_TURN if meeting.inner else 0, DOT, max(7.0, width(step.text, theme.GLYPH) / 2))
        case Kind.BOX:
            seen = _masked_room(step)[0]
            return Room(8, max(44.0, _widest(wrapped(plain(step.text)), theme.BLOCK) + 13, seen + 12), after)
        case Kind.COPY if len(step.outs) == 1:
            return Room(0, 4, after)
        case Kind.COPY:
            return Room(3, 3, after if any(w in meeting.outs[meeting.main] for w in born(meeting)) else 0)
        case Kind.ENTER | Kind.EXIT if step.mark == "bracket":
            return Room(3, 12, 3)
        case Kind.ENTER | Kind.EXIT:
            return Room(1, 4, 1)
        case Kind.SINK:
            live = [w for own in meeting.ins for w in own]
            names = max((width(roman(t.name), theme.GLYPH) + 8 for t in step.outs if t.name), default=0.0)
            return Room(4, _labels(live) + 8 + names, 0)
        case _:
            return Room(6, 20, 6)


def reach(step: Step, meeting: Meeting) -> dict[int, tuple[float, float]]:
    """How far a glyph goes above and below each wire that it touches, by wire."""
    every = [w for own in (*meeting.ins, *meeting.outs) for w in own]
    match step.kind:
        case Kind.BOX:
            most = max((len(own) for own in (*meeting.ins, *meeting.outs)), default=1)
            least = theme.PITCH * (most - 1) + 24 + 40 * (max(len(meeting.ins), len(meeting.outs)) - 1)
            extra = max(0.0, (_box_height(step) - least) / 2)
            return {w.number: (15.0 + extra, 13.0 + extra) for w in every}
        case Kind.THROUGH:
            touched = [*gone(meeting), *born(meeting)]
            return {w.number: (12.0, 12.0) for w in touched}
        case Kind.SOURCE if step.mark in ("learned", "block", "predicate"):
            return {w.number: (13.0, 13.0) for w in every}
        case Kind.ON:
            high = 22.0 if step.mark == "triangle" else 13.0
            return {w.number: _named(step, meeting, high) for w in covered(step, meeting)}
        case Kind.JOIN if step.mark == "mask":
            return {w.number: _named(step, meeting, 13.0) for w in meeting.ins[0] if w.axis in step.on}
        case Kind.JOIN if step.mark in ("sign", "gate"):
            main = meeting.ins[meeting.main]
            return {main[0].number: (22.0, 4.0)} if main else {}
        case _:
            return {}


def _at_foot(step: Step, meeting: Meeting) -> bool:
    """Whether a mask's name goes beneath it: it lies over the lowest of its tensor's wires."""
    return bool(meeting.ins[0]) and meeting.ins[0][-1].axis in step.on


def _named(step: Step, meeting: Meeting, high: float) -> tuple[float, float]:
    """How far a mask with a name over or under it reaches up and down."""
    if not step.note:
        return high, 13.0
    return (13.0, 25.0) if _at_foot(step, meeting) else (27.0, 13.0)


def _name_size(step: Step) -> float:
    """A letter is set large; a word is not."""
    if step.mark == "input":
        return theme.NAME if len(plain(step.text)) <= 2 else theme.WORD
    return theme.GLYPH


def _learned_width(step: Step) -> float:
    return max(
        26.0, width(step.text, theme.GLYPH) + width(step.raised, theme.GLYPH) * 0.72 + 9 + (5 if step.bias else 0)
    )


def _mask_side(wires: int) -> float:
    return theme.PITCH * (wires - 1) + 17 if wires > 1 else 22.0


_CUT = "note"  # turned by 180 degrees: a box, its lower left corner cut
_SQUARE = 16.0  # a mask's side within a block's box
_PADDED: Pattern = ((True, True, True, True, False, False),)  # a mask along one axis that data decides


def _masked_room(step: Step) -> tuple[float, float]:
    """Width and height that a box needs for the mask at its foot."""
    if step.pattern is None and not step.note:
        return 0.0, 0.0
    return _SQUARE + (4 + width(step.note, theme.CAPTION) if step.note else 0.0), 22.0


def _box_height(step: Step) -> float:
    """What a box needs for its title and mask."""
    return (wrapped(plain(step.text)).count("\n") + 1) * 14 + 10 + _masked_room(step)[1]


# -- drawing -----------------------------------------------------------------------------------------------------


def _span(sheet: Sheet, wires: Sequence[Wire], column: int, beyond: float) -> tuple[float, float]:
    ys = [sheet.y(w, column) for w in wires]
    return min(ys) - beyond, max(ys) + beyond


def _learned(sheet: Sheet, step: Step, meeting: Meeting, spot: Spot) -> None:
    """A tinted box with a bold letter; the weight's label raised, `+` lowered if there is a bias."""
    ins, outs = gone(meeting), born(meeting)
    top, bottom = _span(sheet, [*ins, *outs], spot.column, 11)
    sheet.shape(
        spot.id,
        (spot.x0, top, spot.x1, bottom),
        f"op {step.mark} learned",
        step.tip,
        shape=_CUT,
        orientation="180",
        style="filled",
        fillcolor=sheet.theme.learned,
        penwidth="1.1",
    )
    y = (top + bottom) / 2
    total = width(step.text, theme.GLYPH) + width(step.raised, theme.GLYPH) * 0.72
    x = spot.middle - total / 2
    inner = width(step.text, theme.GLYPH)
    sheet.write(x + inner / 2, y, step.text, theme.GLYPH)
    if step.raised:
        raised = width(step.raised, theme.GLYPH) * 0.72
        sheet.write(x + inner + raised / 2 + 0.8, y - 4.5, step.raised, theme.GLYPH * 0.74)
    if step.bias:
        sheet.write(x + inner + 3.5, y + 5, roman("+"), theme.CAPTION)
    if step.mark == "embed":
        start = f"{spot.id}_i"
        sheet.arrow(start, spot.id, (spot.x0 - _INDEX + 2, y), (spot.x0, y), "an index, not an axis", at_start=True)
    for wire in ins:
        sheet.end(wire, spot.id, spot.x0)
    for wire in outs:
        sheet.begin(wire, spot.id, spot.x1)


def _ring(sheet: Sheet, step: Step, meeting: Meeting, spot: Spot) -> None:
    top, bottom = _span(sheet, covered(step, meeting), spot.column, 12)
    shape = "ellipse" if len(covered(step, meeting)) == 1 else "box"
    style = "filled" if shape == "ellipse" else "filled,rounded"
    sheet.shape(
        spot.id,
        (spot.x0, top, spot.x1, bottom),
        f"op norm {'learned' if step.learned else ''}".strip(),
        step.tip,
        shape=shape,
        style=style,
        fillcolor=sheet.theme.norm,
        penwidth="1.8",
    )
    sheet.write(spot.middle, (top + bottom) / 2, step.text, theme.CAPTION)


def _triangle(sheet: Sheet, step: Step, meeting: Meeting, spot: Spot) -> None:
    wires = covered(step, meeting)
    top, bottom = _span(sheet, wires, spot.column, 10)
    sheet.shape(
        spot.id,
        (spot.x0, top, spot.x1, bottom),
        "op softmax",
        step.tip,
        shape="triangle",
        orientation="90",
        style="filled",
        fillcolor="white",
        penwidth="1.3",
    )
    sheet.later.append((spot.middle + 2, (top - 6.4, bottom + 7.0), step.text, theme.CAPTION, True))


def _pill(sheet: Sheet, step: Step, meeting: Meeting, spot: Spot) -> None:
    touched = covered(step, meeting) if step.kind is Kind.ON else [*gone(meeting), *born(meeting)]
    ends = [w for w in touched if w.axis is not None] or touched
    top, bottom = _span(sheet, ends, spot.column, 10)
    sheet.shape(
        spot.id,
        (spot.x0, top, spot.x1, bottom),
        "op reduce",
        step.tip,
        shape="box",
        style="filled,rounded",
        fillcolor=sheet.theme.reduce,
        penwidth="1.1",
    )
    sheet.write(spot.middle, (top + bottom) / 2, step.text, theme.CAPTION)
    if step.kind is Kind.ON:
        return
    for wire in gone(meeting):
        sheet.end(wire, spot.id, spot.x0)
    for wire in born(meeting):
        sheet.begin(wire, spot.id, spot.x1)
    if not born(meeting):
        y = (top + bottom) / 2
        sheet.head(f"{spot.id}_a", spot.x1 + 5.5, y)


def _bar(sheet: Sheet, step: Step, meeting: Meeting, spot: Spot) -> None:
    """A heavy bar: axes split, merge, or are set one after the other."""
    if step.kind is Kind.JOIN:
        spot = Spot(spot.id, spot.column, spot.x1 - 4, spot.x1)
        _meet(sheet, step, meeting, Spot(spot.id + "_m", spot.column, spot.x0 - 12, spot.x0))
    ins = [w for w in gone(meeting) if step.kind is Kind.THROUGH or w.axis in step.contracted]
    outs = born(meeting)
    top, bottom = _span(sheet, [*ins, *outs], spot.column, 8)
    sheet.box(spot.id, (spot.x0, top, spot.x1, bottom), sheet.theme.ink, "op arrange", step.tip)
    for wire in ins:
        sheet.end(wire, spot.id, spot.x0)
    for wire in outs:
        sheet.begin(wire, spot.id, spot.x1)


def _birth(sheet: Sheet, step: Step, meeting: Meeting, spot: Spot) -> None:
    """broadcast: a wire begins out of nothing, at a short upright bar."""
    for k, wire in enumerate(born(meeting)):
        y = sheet.y(wire, spot.column)
        id = f"{spot.id}_{k}"
        sheet.box(id, (spot.x1 - 2, y - 5, spot.x1, y + 5), sheet.theme.ink, "op broadcast", step.tip)
        sheet.begin(wire, id, spot.x1)
    for wire in gone(meeting):
        sheet.end(wire, f"{spot.id}_0", spot.x1 - 2)


def _arrow(sheet: Sheet, step: Step, meeting: Meeting, spot: Spot) -> None:
    """Arrowhead, name, arrowhead, in a lane of its own: it touches no wire."""
    lane = next(s for s in sheet.columns[spot.column].right if isinstance(s, Lane) and s.step is step)
    y = sheet.y(lane, spot.column)
    half = width(step.text, theme.BLOCK) / 2 + 2
    mid = spot.middle
    sheet.point(spot.id, (mid, y))
    sheet.arrow(f"{spot.id}_a", spot.id, (spot.x0 + 3, y), (mid - half, y), step.tip, at_start=True)
    sheet.arrow(spot.id, f"{spot.id}_b", (mid + half, y), (spot.x1 - 3, y), step.tip)
    sheet.write(mid, y - 0.5, step.text, theme.BLOCK, cls="op elementwise")


def _loop(sheet: Sheet, step: Step, meeting: Meeting, spot: Spot) -> None:
    """Contracted axes join in half-loops; shared ones run into one dot, and one wire goes on."""
    column = spot.column
    pairs: dict[object, list[Wire]] = {}
    for own in meeting.ins:
        for wire in own:
            pairs.setdefault(wire.axis, []).append(wire)
    tip = None
    for k, axis in enumerate(step.contracted):
        a, b = sorted(pairs[axis], key=lambda w: sheet.y(w, column))
        ya, yb = sheet.y(a, column), sheet.y(b, column)
        high = (yb - ya) / 2
        deep = min(high, _LOOP + 3 * k)
        at = (spot.x0 + deep, (ya + yb) / 2)
        id = f"{spot.id}_{k}"
        sheet.point(id, at, "op contract", f"{step.tip}: contracts {a.axis.name if a.axis else ''}")
        sheet.end(a, id, spot.x0, half_loop((spot.x0, ya), at))
        sheet.end(b, id, spot.x0, half_loop((spot.x0, yb), at))
        if tip is None or at[0] > tip[0]:
            tip = at
    x = spot.x0 + (_LOOP if step.contracted else 0)
    if step.note and tip is not None:
        wide = width(step.note, theme.CAPTION)
        end = tip[0] + wide + 12
        sheet.arrow(f"{spot.id}_0", f"{spot.id}_s", tip, (end, tip[1]), "scale")
        sheet.write((tip[0] + end) / 2 - 2, tip[1] - 8.5, step.note, theme.CAPTION, cls="scale")
        x = end + 4
    for wire in born(meeting):
        if wire.axis is None:
            sheet.begin(wire, f"{spot.id}_0" if step.contracted else spot.id, tip[0] if tip else x)
            continue
        y = sheet.y(wire, column)
        id = f"{spot.id}_{wire.axis.name}"
        sheet.dot(id, spot.x1, y, wire, "op shared", f"shared axis {wire.axis.name}")
        for old in pairs[wire.axis]:
            sheet.end(old, id, max(x, spot.x1 - _TURN), to=(spot.x1, y))
        sheet.begin(wire, id, spot.x1)
    for own in meeting.ins:
        if not any(w.axis for w in own):
            for wire in own:
                if wire in gone(meeting):
                    sheet.point(f"{spot.id}_n{wire.number}", (spot.x0, sheet.y(wire, column)))
                    sheet.end(wire, f"{spot.id}_n{wire.number}", spot.x0)


def _meet(sheet: Sheet, step: Step, meeting: Meeting, spot: Spot) -> float | None:
    """Shared axes of the other operands run into dots on the main one's wires; returns the highest dot's y."""
    main = {w.axis: w for w in meeting.ins[meeting.main]}
    for own in meeting.outs:  # an axis that the main operand lacks: the first of the others that has it goes on
        for wire in own:
            main.setdefault(wire.axis, wire)
    x = spot.x0 + DOT / 2
    top: float | None = None
    for i, own in enumerate(meeting.ins):
        if i == meeting.main:
            continue
        for wire in own:
            if wire.axis not in main or wire.axis in step.contracted:
                if wire in gone(meeting) and wire.axis not in step.contracted:
                    anchor = next(iter(main.values()))
                    id = f"{spot.id}_n{wire.number}"
                    sheet.point(id, (x, sheet.y(anchor, spot.column)))
                    sheet.end(wire, id, x - 20, to=(x, sheet.y(anchor, spot.column)), gap=not meeting.inner)
                continue
            target = main[wire.axis]
            if target is wire:
                continue
            y = sheet.y(target, spot.column)
            id = f"{spot.id}_w{target.number}"
            sheet.dot(id, x, y, wire, f"op {step.mark}", step.tip)
            sheet.end(wire, id, spot.x0 - _TURN + 2, to=(x, y), gap=not meeting.inner)
            top = y if top is None else min(top, y)
    return top


def _sign(sheet: Sheet, step: Step, meeting: Meeting, spot: Spot) -> None:
    """+ and its like above the highest dot."""
    top = _meet(sheet, step, meeting, spot)
    if top is None:
        top = sheet.y(meeting.ins[meeting.main][0], spot.column)
    text = bold("+") if plain(step.text) == "+" else step.text
    size = 17.0 if len(plain(text)) == 1 else theme.CAPTION
    low = max(sheet.y(w, spot.column) for w in meeting.ins[meeting.main])
    sheet.later.append((spot.x0 + DOT / 2, (top - 12.5, low + 12.5), text, size, False))


def _gate(sheet: Sheet, step: Step, meeting: Meeting, spot: Spot) -> None:
    """Element by element product: a dot in a ring."""
    top = _meet(sheet, step, meeting, spot)
    if top is None:
        top = sheet.y(meeting.ins[meeting.main][0], spot.column)
    x, y = spot.x0 + DOT / 2, top - 12.5
    sheet.shape(
        spot.id,
        (x - 5.5, y - 5.5, x + 5.5, y + 5.5),
        "op gate",
        step.tip,
        shape="circle",
        style="filled",
        fillcolor="white",
        penwidth="1.3",
    )
    sheet.shape(
        spot.id + "_d",
        (x - 1.5, y - 1.5, x + 1.5, y + 1.5),
        "op gate",
        step.tip,
        shape="circle",
        style="filled",
        fillcolor=sheet.theme.ink,
        penwidth="0",
    )


def _mask(sheet: Sheet, step: Step, meeting: Meeting, spot: Spot) -> None:
    """A square over the wires of its axes; grey where the predicate leaves items out."""
    if step.kind is Kind.JOIN:
        _meet(sheet, step, meeting, spot)
        spot = Spot(spot.id, spot.column, spot.x0 + 10, spot.x1)
    wires = [w for w in meeting.ins[0] if w.axis in step.on]
    top, bottom = _span(sheet, wires, spot.column, 8.5 if len(wires) > 1 else 11)
    seen = _upright(sheet, step, wires, spot.column)
    if step.note:  # data that is named and not drawn
        seen = seen or (_PADDED if len(wires) == 1 else None)
        heights = (bottom + 9.0, top - 8.0) if _at_foot(step, meeting) else (top - 8.0, bottom + 9.0)
        sheet.later.append((spot.middle, heights, step.note, theme.CAPTION, False))
    dashed = step.kind is Kind.JOIN or bool(step.note)
    draw_mask(sheet, spot.id, (spot.x0, top, spot.x1, bottom), seen, step.tip, dashed=dashed)


def draw_mask(
    sheet: Sheet, id: str, box: tuple[float, float, float, float], pattern: Pattern | None, tip: str, *, dashed: bool
) -> None:
    x0, y0, x1, y1 = box
    sheet.shape(id, box, "op mask", tip, shape="box", style="filled", fillcolor=sheet.theme.kept, penwidth="1.3")
    if pattern is None:
        if dashed:  # what is left out is for data to say
            pattern = tuple(tuple((i * 3 + j * 5) % 7 > 2 for j in range(6)) for i in range(6))
        else:
            pattern = tuple(tuple(j < 3 for j in range(6)) for _ in range(6))
    rows, columns = len(pattern), len(pattern[0])
    high, wide = (y1 - y0) / rows, (x1 - x0) / columns
    for i, row in enumerate(pattern):
        j = 0
        while j < columns:
            if row[j]:
                j += 1
                continue
            k = j
            while k < columns and not row[k]:
                k += 1
            cell = (x0 + j * wide, y0 + i * high, x0 + k * wide, min(y1, y0 + (i + 1) * high + 0.4))  # no seams
            sheet.shape(
                f"{id}_{i}_{j}",
                cell,
                "op mask",
                tip,
                shape="box",
                style="filled",
                fillcolor=sheet.theme.masked,
                color=sheet.theme.masked,
                penwidth="0.6",
                covers=False,
            )
            j = k
    sheet.shape(id + "_f", box, "op mask", tip, shape="box", style="", fillcolor="none", penwidth="1.3", covers=False)


def _block(sheet: Sheet, step: Step, meeting: Meeting, spot: Spot) -> None:
    """A closed block: all wires of what it receives and gives touch it."""
    wires = [w for own in (*meeting.ins, *meeting.outs) for w in own]
    top, bottom = _span(sheet, wires, spot.column, 12)
    text = wrapped(plain(step.text))
    lines = text.count("\n") + 1
    need = _box_height(step)
    if bottom - top < need:
        spare = (need - (bottom - top)) / 2
        top, bottom = top - spare, bottom + spare
    fills = sheet.theme.block
    shape = "box3d" if step.mark == "block" else "box"
    fill = fills[step.tint % len(fills)] if step.mark == "block" else sheet.theme.norm
    sheet.shape(
        spot.id,
        (spot.x0, top, spot.x1, bottom),
        f"op block block-{step.block}" if step.block else "op block",
        step.tip,
        shape=shape,
        style="filled",
        fillcolor=fill,
        penwidth="1.1",
    )
    y = (top + bottom) / 2 + (1.5 if shape == "box3d" else 0)
    if step.pattern is not None or step.note:
        m, left = y + lines * 7 + 0.5, spot.middle - _masked_room(step)[0] / 2
        box = (left, m - _SQUARE / 2, left + _SQUARE, m + _SQUARE / 2)
        draw_mask(sheet, spot.id + "_k", box, step.pattern or _PADDED, "masked", dashed=False)
        if step.note:
            wide = width(step.note, theme.CAPTION)
            sheet.write(box[2] + 4 + wide / 2, m, step.note, theme.CAPTION, cls="op mask")
        y -= 9.5
    sheet.write(spot.middle - (1 if shape == "box3d" else 0), y, roman(text), theme.BLOCK)
    for own in meeting.ins:
        for wire in own:
            sheet.end(wire, spot.id, spot.x0)
    for own in meeting.outs:
        for wire in own:
            sheet.begin(wire, spot.id, spot.x1)


def _source(sheet: Sheet, step: Step, meeting: Meeting, spot: Spot) -> None:
    """A name where wires are born."""
    wires = meeting.outs[0]
    ys = [sheet.y(w, spot.column) for w in wires]
    size = _name_size(step)
    y = (min(ys) + max(ys)) / 2
    text = step.text
    if step.mark == "input":
        text = italic(_stacked(plain(text)))
    x = spot.x1 - 5 - _widest(plain(text), size) / 2 if step.mark == "input" else spot.x1 - 5 - width(text, size) / 2
    sheet.write(x, y, text, size, cls=f"op {step.mark}")
    for k, wire in enumerate(wires):
        id = f"{spot.id}_{k}"
        sheet.point(id, (spot.x1, sheet.y(wire, spot.column)), f"op {step.mark}", step.tip)
        sheet.begin(wire, id, spot.x1)


def _predicate(sheet: Sheet, step: Step, meeting: Meeting, spot: Spot) -> None:
    """A mask made of indices alone: its formula, and a square of which items it keeps."""
    wires = meeting.outs[0]
    top, bottom = _span(sheet, wires, spot.column, 8.5 if len(wires) > 1 else 11)
    x0 = spot.x1 - _mask_side(len(wires))
    draw_mask(
        sheet, spot.id, (x0, top, spot.x1, bottom), _upright(sheet, step, wires, spot.column), step.tip, dashed=False
    )
    sheet.write(x0 - 5 - width(step.text, theme.WORD) / 2, (top + bottom) / 2, step.text, theme.WORD, cls="op table")
    for wire in wires:
        sheet.begin(wire, spot.id, spot.x1)


def _upright(sheet: Sheet, step: Step, wires: Sequence[Wire], column: int) -> Pattern | None:
    """The pattern with the upper wire's items from top to bottom."""
    upper = min(wires, key=lambda w: sheet.y(w, column))
    if step.pattern is None or len(step.on) < 2 or upper.axis == step.on[0]:
        return step.pattern
    return tuple(zip(*step.pattern, strict=True))


def _copy(sheet: Sheet, step: Step, meeting: Meeting, spot: Spot) -> None:
    """Dots, from which copies bend away."""
    source = {w.axis: w for w in meeting.ins[0]}
    swaps = [dict(zip(t.axes, step.ins[0].axes, strict=True)) for t in step.outs]
    main = meeting.outs[meeting.main]
    for k, (own, swap) in enumerate(zip(meeting.outs, swaps, strict=True)):
        for wire in own:
            old = source[swap[wire.axis] if wire.axis is not None else None]
            y = sheet.y(old, spot.column)
            id = f"{spot.id}_w{old.number}"
            if len(step.outs) > 1:
                sheet.dot(id, spot.x1 - DOT / 2, y, old, "op copy", step.tip)
            else:
                sheet.point(id, (spot.x1 - DOT / 2, y), "op rename", step.tip)
            if wire is old:
                continue
            sheet.begin(wire, id, spot.x1 - DOT / 2, gap=k != meeting.main)
            if k == meeting.main:
                sheet.end(old, id, spot.x1 - DOT / 2)
    for old in meeting.ins[0]:
        if old not in main and not sheet.has_end(old):
            sheet.end(old, f"{spot.id}_w{old.number}", spot.x1 - DOT / 2)


def _bracket(sheet: Sheet, step: Step, meeting: Meeting, spot: Spot) -> None:
    """Brackets are drawn with their section; a scan's axis ends at the one and begins at the other."""
    for wire in gone(meeting):
        y = sheet.y(wire, spot.column)
        x, id = sheet.bracket_x(step, y), f"{spot.id}_e{wire.number}"
        sheet.point(id, (x, y), "op scan", f"{step.tip}: ends")
        sheet.end(wire, id, x)
    for wire in born(meeting):
        y = sheet.y(wire, spot.column)
        x, id = sheet.bracket_x(step, y), f"{spot.id}_s{wire.number}"
        sheet.point(id, (x, y), "op scan", f"{step.tip}: begins")
        sheet.begin(wire, id, x)


def _nothing(sheet: Sheet, step: Step, meeting: Meeting, spot: Spot) -> None:
    """Borders are drawn with their section."""


def _sink(sheet: Sheet, step: Step, meeting: Meeting, spot: Spot) -> None:
    for own, tensor in zip(meeting.ins, step.outs, strict=True):
        name = roman(tensor.name.replace("_", " ")) if tensor.name else ()
        wide = max((width(roman(t.name), theme.GLYPH) + 8 for t in step.outs if t.name), default=0.0)
        x = spot.x1 - wide
        for wire in own:
            id = f"{spot.id}_w{wire.number}"
            sheet.point(id, (x, sheet.y(wire, spot.column)), "op output", "output")
            sheet.end(wire, id, x)
        if name:
            ys = [sheet.y(w, spot.column) for w in own]
            text = tuple(type(r)(r.text, "i") for r in name)
            sheet.write(
                x + 6 + width(text, theme.GLYPH) / 2, (min(ys) + max(ys)) / 2, text, theme.GLYPH, cls="op output"
            )


Draw = Callable[["Sheet", Step, Meeting, Spot], None]

DRAW: dict[str, Draw] = {
    "learned": _learned,
    "embed": _learned,
    "ring": _ring,
    "triangle": _triangle,
    "pill": _pill,
    "bar": _bar,
    "birth": _birth,
    "arrow": _arrow,
    "loop": _loop,
    "sign": _sign,
    "gate": _gate,
    "mask": _mask,
    "block": _block,
    "plain": _block,
    "input": _source,
    "table": _source,
    "predicate": _predicate,
    "copy": _copy,
    "bracket": _bracket,
    "border": _nothing,
    "output": _sink,
}
