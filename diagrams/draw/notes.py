"""Notes of the author's: text in a tinted box beside a row, a wedge to what it speaks of, and a plate behind that.

Boxes stand in bands above and below the rows, where nothing else is drawn. Wedges, plates and the halo of a wire lie
beneath all wires, so that they cover none.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from ..base import theme
from ..base.curves import straight
from ..base.picture import Box, Cluster, Edge, Node, Point
from ..base.text import Rich, Run, bold, joined, plain, width
from ..canvas.drawing import Canvas
from ..layout.glyph_sizes import born, covered, gone
from ..layout.wires import Lane, Wire
from ..scene.steps import Callout, DrawStep, Look, Mark, Section, StepKind

_LINE = 14.5  # from one line of a note to the next
_EDGE = 6.0  # between a note's text and its border
_NARROW, _WIDE = 110.0, 190.0  # a line of a note is about so long
_NEAR = 18.0  # at least this far from a row to its notes
_APART = 8.0  # between notes
_AROUND = 12.0  # what signs, titles and brackets may need above the wires of a row
_WEDGE = 20.0  # a wedge's width at its note
_MANY = 24  # of more notes, each stands on the side of the row that is nearer
_BARE = (StepKind.COPY, StepKind.ENTER, StepKind.EXIT, StepKind.SINK)  # no glyphs of their own

Place = tuple[Box, bool]  # of something that a note speaks of; and whether it is a wire


@dataclass(slots=True)
class _PlacedNote:
    """A note: its lines, its size, the row and side where it stands, the places that it speaks of, and its x."""

    note: Callout
    row: int
    above: bool
    boxes: list[Place]
    lines: list[Rich] = field(default_factory=list)
    wide: float = 0.0
    high: float = 0.0
    x: float = 0.0
    level: int = 0

    def fill(self, line: float) -> None:
        """Break its text into lines of about this length."""
        self.lines = wrapped(self.note.text, line)
        self.wide = max(width(each, theme.CAPTION) for each in self.lines) + 2 * _EDGE
        self.high = _LINE * len(self.lines) + 2 * _EDGE - 3


def plan_notes(sheet: Canvas) -> list[_PlacedNote]:
    """Where notes will stand. Makes room for them between the rows; so it comes before anything is drawn."""
    placed = [p for note in sheet.scene.callouts if (p := _planned(sheet, note)) is not None]
    steps = [step for step in sheet.scene.steps if step.kind not in _BARE]
    others = [box for step in steps if (box := _box(sheet, (step, None))) is not None]
    best = _pack_all(sheet, placed, others)
    for p in placed if len(placed) < _MANY else ():  # the other side, if that is better
        if not p.note.side:
            p.above = not p.above
            cost = _pack_all(sheet, placed, others)
            if cost < best - 1:
                best = cost
            else:
                p.above = not p.above
    _pack_all(sheet, placed, others)
    for k in range(len(sheet.rows)):
        room = _room(placed, k, above=True) if k else 0.0
        room += _room(placed, k - 1, above=False) if k else 0.0
        if room:
            sheet.lower(k, room)
    return placed


def _pack_all(sheet: Canvas, placed: Sequence[_PlacedNote], others: Sequence[Box]) -> float:
    """Pack the notes of every row; returns how long their wedges are, and how much else these meet."""
    for k in range(len(sheet.rows)):
        for above in (True, False):
            _pack(sheet, k, [p for p in placed if p.row == k and p.above is above])
    cost = 0.0
    for p in placed:
        span = _span(sheet, p.row)
        y = span[0] - _NEAR if p.above else span[1] + _NEAR
        for box, _ in _joined(p.boxes):
            (x0, y0), (x1, y1) = _axis(p, y, box)
            cost += abs(x1 - x0) + abs(y1 - y0) + 30.0 * p.level
            own = [*(b for b, _ in p.boxes), box]
            for other in others:
                meets = any(_holds(other, x0 + (x1 - x0) * t / 12, y0 + (y1 - y0) * t / 12) for t in range(13))
                cost += 200.0 * (meets and not any(_holds(b, *_centre(other)) for b in own))
    return cost


def _holds(box: Box, x: float, y: float) -> bool:
    return box[0] < x < box[2] and box[1] < y < box[3]


def _covers(box: Box, inner: Box) -> bool:
    """Whether it reaches at least as far on all sides."""
    return box[0] <= inner[0] and box[1] <= inner[1] and inner[2] <= box[2] and inner[3] <= box[3]


def _centre(box: Box) -> tuple[float, float]:
    return (box[0] + box[2]) / 2, (box[1] + box[3]) / 2


def _room(placed: Sequence[_PlacedNote], row: int, *, above: bool) -> float:
    own = [p for p in placed if p.row == row and p.above is above]
    return sum(
        max(p.high for p in own if p.level == level) + _APART for level in {p.level for p in own}
    ) + (_NEAR + (_AROUND if above else 0.0) if own else 0.0)  # fmt: skip


def _planned(sheet: Canvas, note: Callout) -> _PlacedNote | None:
    boxes = _boxes(sheet, note)
    if not boxes:  # what it speaks of was left out of the figure
        return None
    top, bottom = min(b[1] for b, _ in boxes), max(b[3] for b, _ in boxes)
    row = min(range(len(sheet.rows)), key=lambda k: _beyond(_span(sheet, k), (top + bottom) / 2))
    low, high = _span(sheet, row)
    above = note.side == "above" or (note.side == "" and top + bottom < low + high)
    return _PlacedNote(note, row, above, boxes)


def _span(sheet: Canvas, row: int) -> tuple[float, float]:
    """From the highest to the lowest track of a row."""
    columns = [sheet.columns[j] for j in sheet.rows[row]]
    ys = [track.y[j] for j, column in zip(sheet.rows[row], columns, strict=True)
          for track in (*column.left, *column.right) if j in track.y]  # fmt: skip
    return min(ys, default=0.0), max(ys, default=0.0)


def _beyond(span: tuple[float, float], y: float) -> float:
    return max(span[0] - y, y - span[1], 0.0)


def _pack(sheet: Canvas, row: int, notes: list[_PlacedNote]) -> None:
    """Side by side, each as near as may be to what it speaks of; in several lines where a row is too short."""
    left, right = sheet.left[sheet.rows[row][0]], sheet.right[sheet.rows[row][-1]]
    long = max(right - left, sheet.page)
    notes.sort(key=lambda p: _middle(p.boxes))
    for line in (_WIDE, 0.8 * _WIDE, 0.65 * _WIDE):  # shorter lines, if so they stand side by side
        for p in notes:
            p.fill(line)
        if sum(p.wide + _APART for p in notes) - _APART <= long:
            break
    levels: list[list[_PlacedNote]] = [[]]
    for p in notes:
        if levels[-1] and sum(q.wide + _APART for q in levels[-1]) + p.wide > long:
            levels.append([])
        levels[-1].append(p)
    for number, level in enumerate(levels):
        for p in level:
            p.level, p.x = number, _middle(p.boxes) - p.wide / 2
        for _ in range(40):  # push neighbours apart, evenly
            for a, b in pairwise(level):
                over = a.x + a.wide + _APART - b.x
                if over > 0:
                    a.x, b.x = a.x - over / 2, b.x + over / 2
        edge = min(left, left + (right - left - sum(p.wide + _APART for p in level)) / 2)
        for p in level:  # none before the row begins
            p.x = edge = max(p.x, edge)
            edge += p.wide + _APART
        edge = max(right, left + sum(p.wide + _APART for p in level) - _APART)
        for p in reversed(level):
            p.x = min(p.x, edge - p.wide)
            edge = p.x - _APART


def _middle(places: Sequence[Place]) -> float:
    return (min(b[0] for b, _ in places) + max(b[2] for b, _ in places)) / 2


def draw_plates(sheet: Canvas) -> set[Look]:
    """Colours behind glyphs, as in the equations, and signs at them; returns those that are there."""
    drawn = set[Look]()
    for k, tint in enumerate(sheet.scene.tints):
        box, color = _box(sheet, (tint.mark, None)), shade(sheet, tint.color)
        if box is not None:
            drawn.add((tint.color, tint.sign))
            if not _recoloured(sheet, tint.mark, color):
                _plate(sheet, f"tint{k}", box, color)
            if tint.sign:
                _sign(sheet, box, bold(tint.sign))
    return drawn


def _sign(sheet: Canvas, box: Box, sign: Rich) -> None:
    """Beside a corner of the plate, where there is room."""
    half = width(sign, theme.CAPTION) / 2 + 1
    places = [(x, y) for y in (box[1] - 7, box[3] + 7) for x in (box[0] + half, box[2] - half)]
    places += [(x, y) for x in (box[0] - half, box[2] + half) for y in (box[1] + 6, box[3] - 6)]
    free = (p for p in places if sheet.occupied.free((p[0] - half, p[1] - 6, p[0] + half, p[1] + 6)))
    sheet.write(*next(free, places[0]), sign, theme.CAPTION, cls="note")


def draw_notes(sheet: Canvas, placed: Sequence[_PlacedNote]) -> None:
    """Draw them, now that everything else is drawn."""
    tops: dict[int, dict[int, float]] = {}
    feet: dict[int, dict[int, float]] = {}
    for above, edges in ((True, tops), (False, feet)):
        for k in range(len(sheet.rows)):
            edges[k] = _edge(sheet, k, [p for p in placed if p.row == k and p.above is above], above=above)
    for n, p in enumerate(placed):
        boxes, color = _boxes(sheet, p.note), shade(sheet, p.note.color)
        edge = (tops if p.above else feet)[p.row][p.level]
        box = (p.x, edge - p.high, p.x + p.wide, edge) if p.above else (p.x, edge, p.x + p.wide, edge + p.high)
        for k, (around, is_wire) in enumerate(_joined(boxes)):
            if not is_wire:
                _plate(sheet, f"note{n}_{k}", around, color)
            _wedge(sheet, f"wedge{n}_{k}", p, edge, around, color)
        for step, axis in p.note.marks:
            _recoloured(sheet, step, color)
            if axis is not None and isinstance(step, DrawStep):
                _halo(sheet, _wire(sheet, step, axis), color)
        sheet.shape(f"note{n}", box, "note", p.note.text, covers=False, shape="box", style="filled",
                    fillcolor=color, color=color, penwidth="0")  # fmt: skip
        for k, line in enumerate(p.lines):
            _write(sheet, (box[0] + box[2]) / 2, box[1] + _EDGE + _LINE * (k + 0.5) - 1.5, line)
        sheet.occupied.take(box)


def _write(sheet: Canvas, x: float, y: float, line: Rich) -> None:
    """A line as one piece of text, whatever its styles, so that all of it stands on one line."""
    size, wide = theme.CAPTION, width(line, theme.CAPTION)
    attributes = {"shape": "plaintext", "fontsize": f"{size}", "width": "0", "height": "0", "margin": "0",
                  "fixedsize": "false", "class": "note"}  # fmt: skip
    sheet.picture.nodes.append(Node(f"t{len(sheet.picture.nodes)}", (x, y), attributes, line))
    sheet.texts.append((plain(line), (x - wide / 2, y - size * 0.55, x + wide / 2, y + size * 0.45)))


def _edge(sheet: Canvas, row: int, notes: Sequence[_PlacedNote], *, above: bool) -> dict[int, float]:
    """The y at which each line of notes begins: where nothing is drawn over all of the notes' widths."""
    sign = -1.0 if above else 1.0
    span = _span(sheet, row)
    boxes = [box for p in notes for box, _ in _boxes(sheet, p.note)]
    y = min([span[0], *(b[1] for b in boxes)]) if above else max([span[1], *(b[3] for b in boxes)])
    found = {}
    for level in sorted({p.level for p in notes}):
        own = [p for p in notes if p.level == level]
        high = max(p.high for p in own)
        y += sign * _NEAR
        for _ in range(60):
            near, far = y, y + sign * high
            if all(
                sheet.occupied.free((p.x - 3, min(near, far) - 3, p.x + p.wide + 3, max(near, far) + 3)) for p in own
            ):
                break
            y += sign * 3.0
        found[level] = y
        y += sign * (high + _APART - _NEAR)
    return found


def shade(sheet: Canvas, color: str) -> str:
    """A tint of the author's; where there are no colours, the gray that is as light."""
    if sheet.theme.width != sheet.theme.ink:
        return color
    red, green, blue = (int(color[k : k + 2], 16) for k in (1, 3, 5))
    light = round(0.3 * red + 0.59 * green + 0.11 * blue)
    return f"#{light:02X}{light:02X}{light:02X}"


def _recoloured(sheet: Canvas, mark: DrawStep | Section, color: str) -> bool:
    """Give an open block this colour in place of its own, which leaves its title; returns whether it is one."""
    regions = sheet.regions.get(id(mark), [])
    for region in regions:
        region.fill = color
    return bool(regions)


def _plate(sheet: Canvas, id: str, box: Box, color: str) -> None:
    """A colour behind all that lies there, open blocks among it."""
    clusters = sheet.picture.clusters
    place = next((k for k, inner in enumerate(clusters) if _covers(box, inner.box)), len(clusters))
    clusters.insert(place, Cluster(id, box, (), (box[0], box[1]), color, "", theme.CAPTION, "plate"))
    sheet.include(box)


def _joined(places: Sequence[Place]) -> list[Place]:
    """Things that stand one beneath the other have one plate."""
    out: list[Place] = []
    for box, is_wire in places:
        for k, (b, other) in enumerate(out):
            if min(box[2], b[2]) - max(box[0], b[0]) > 8 and is_wire == other:
                out[k] = (min(box[0], b[0]), min(box[1], b[1]), max(box[2], b[2]), max(box[3], b[3])), is_wire
                break
        else:
            out.append((box, is_wire))
    return out


def _axis(p: _PlacedNote, y: float, to: Box) -> tuple[Point, Point]:
    """From the edge of a note at the height `y` to the nearest edge of what it speaks of."""
    half = _WEDGE / 2 + 2
    x = min(max((to[0] + to[2]) / 2, p.x + half), p.x + p.wide - half)
    return (x, y), (min(max(x, to[0] + 4), to[2] - 4), to[1] + 2 if p.above else to[3] - 2)


def _wedge(sheet: Canvas, id: str, p: _PlacedNote, y: float, to: Box, color: str) -> None:
    """Begins within the note's box, which hides its blunt end."""
    begin, end = _axis(p, y + (-3 if p.above else 3), to)
    if (end[1] - begin[1]) * (1 if p.above else -1) < 3:
        return
    chain = [begin, *straight(begin, end)]
    attributes = {
        "color": color,
        "penwidth": f"{_WEDGE}",
        "style": "tapered",
        "class": "wedge",
        "dir": "forward",
    }
    _beneath(sheet, id, chain, attributes)


def _beneath(sheet: Canvas, id: str, chain: list[Point], attributes: dict[str, str]) -> None:
    """A curve beneath all others: Graphviz draws edges in the order of the nodes that they begin at."""
    before = len(sheet.picture.nodes)
    sheet.point(f"{id}_1", chain[0])
    sheet.point(f"{id}_2", chain[-1])
    ends = sheet.picture.nodes[before:]
    sheet.picture.nodes[:] = [*ends, *sheet.picture.nodes[:before]]
    sheet.picture.edges.insert(0, Edge(f"{id}_1", f"{id}_2", chain, attributes))


def _halo(sheet: Canvas, wire: Wire | None, color: str) -> None:
    """A broad pale line beneath a wire."""
    for k, (other, chain) in enumerate(sheet.curves):
        if wire is not None and other.number == wire.number:
            id = f"halo{wire.number}_{k}"
            _beneath(sheet, id, chain, {"color": color, "penwidth": "7", "class": "halo"})


# -- where things are


def _boxes(sheet: Canvas, note: Callout) -> list[Place]:
    return [(box, mark[1] is not None) for mark in note.marks if (box := _box(sheet, mark)) is not None]


def _wire(sheet: Canvas, step: DrawStep, axis: object) -> Wire | None:
    meeting = sheet.meetings.get(id(step))
    wires = [w for own in meeting.outs for w in own] if meeting is not None else []
    return next((w for w in wires if w.axis == axis), None)


def _box(sheet: Canvas, mark: Mark) -> Box | None:
    """About the place of a step, an open block, or the beginning of a wire; None if it is not in the figure."""
    step, axis = mark
    if not isinstance(step, DrawStep):
        border = next((b for b in sheet.borders if b.section is step), None)
        if border is None:
            return None
        return sheet.left[border.columns[0]], border.top, sheet.right[border.columns[-1]], border.bottom
    if id(step) not in sheet.slots:
        return None
    slot, meeting = sheet.slots[id(step)], sheet.meetings[id(step)]
    j = slot.column
    if axis is not None:
        wire = _wire(sheet, step, axis)
        return None if wire is None else (slot.x1 + 1, wire.y[j] - 4, slot.x1 + 22, wire.y[j] + 4)
    match step.kind:
        case StepKind.LANE:
            wires: Sequence[Lane | Wire] = [t for t in sheet.columns[j].right if isinstance(t, Lane) and t.step is step]
        case StepKind.ON:
            wires = covered(step, meeting)
        case StepKind.JOIN if step.mark == "mask":
            wires = [w for w in meeting.ins[0] if w.axis in step.on]
        case StepKind.JOIN if step.mark in ("loop", "bar", "pick"):
            wires = [w for w in gone(meeting) if w.axis in step.contracted] or gone(meeting)
        case StepKind.THROUGH:
            wires = [*gone(meeting), *born(meeting)]
        case _:
            wires = [w for own in (*meeting.ins, *meeting.outs) for w in own]
    ys = [wire.y[j] for wire in wires if j in wire.y] or [0.0]
    box = (slot.x0 - 4, min(ys) - 14, slot.x1 + 4, max(ys) + 14)
    for _, own, other in sheet.glyphs:
        if other is step:
            box = (min(box[0], own[0] - 4), min(box[1], own[1] - 4), max(box[2], own[2] + 4), max(box[3], own[3] + 4))
    return box


# -- text


def wrapped(text: str, long: float = _WIDE) -> list[Rich]:
    """A note in lines of about equal length, at most about `long`; `*k*` is in italics."""
    words = _words(text)
    whole = sum(width(word, theme.CAPTION) + 3.5 for word in words)
    count = 1 if whole <= _NARROW else max(2, round(whole / long + 0.3))
    most = whole / count * 1.1 + 8
    lines: list[list[Rich]] = [[]]
    length = 0.0
    for word in words:
        wide = width(word, theme.CAPTION) + 3.5
        if lines[-1] and length + wide > most:
            lines.append([])
            length = 0.0
        lines[-1].append(word)
        length += wide
    return [joined(run for k, word in enumerate(line) for run in ((Run(" "), *word) if k else word)) for line in lines]


def _words(text: str) -> list[Rich]:
    """Words between spaces; what stands between stars, with no space beside them, is in italics."""
    words: list[Rich] = []
    for piece in re.sub(r"\*(\S(?:[^*]*\S)?)\*", lambda m: re.sub(r"(\S+)", r"*\1*", m[1]), text).split():
        runs = [Run(part, "i" if k % 2 else "") for k, part in enumerate(piece.split("*")) if part]
        words.append(tuple(runs) if piece.count("*") % 2 == 0 else (Run(piece),))
    return words
