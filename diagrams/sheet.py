"""The sheet: rows solved for y, columns for x, every glyph and wire drawn, labels set. Points, y downwards."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

from . import lanes, rows, theme
from .columns import columns_of
from .dot import Box, Cluster, Edge, Node, Picture, Point, html
from .glyphs import DRAW, HEAD, Spot, born, covered, gone, label_of, measure, reach
from .labels import Ground
from .order import order_of
from .route import bend, sampled, straight
from .scene import Kind, Scene, Section, Step
from .text import LOW, Rich, Run, barred, plain, roman, shifted, width
from .theme import Theme
from .wires import Column, Dash, Lane, Meeting, Slot, Wire, weave

_APART = 27.0  # between rows
_TRIES = 4  # folds
_STRAIGHT = 20.0  # what a point of a wire's bending costs, against a dashed line's 2
_BRACKET = (15.0, 15.0)  # how far repeat brackets go beyond the wires inside, above and below
_REGION = (30.0, 14.0)  # the same for tinted regions: the title stands above
_INSIDE = 8.0  # between a border and one around it
_OUTSIDE = 9.0  # between a border and a foreign wire or dash


@dataclass(slots=True)
class _Start:
    node: str
    column: int
    x: float
    gap: bool


@dataclass(slots=True)
class _End:
    node: str
    column: int
    x: float
    tail: list[Point] | None
    to: Point | None
    gap: bool


@dataclass(slots=True)
class _Border:
    """A section's extent in one row."""

    section: Section
    columns: list[int]
    top: float
    bottom: float
    x0: float = 0.0
    x1: float = 0.0


class Sheet:
    """Everything drawn of one scene, on a page of `page` points."""

    def __init__(self, scene: Scene, colors: Theme, page: float) -> None:
        self.scene = scene
        self.theme = colors
        self.page = page
        self.picture = Picture()
        self.ground = Ground()
        self.extent: Box = (1e9, 1e9, -1e9, -1e9)
        self.columns: list[Column] = []
        self.rows: list[list[int]] = []
        self.borders: list[_Border] = []
        plan = columns_of(scene)
        woven = weave(plan, order_of(plan))
        self.meetings: dict[int, Meeting] = woven.meetings
        room = page * theme.CAPTION / theme.LEAST
        widths = _estimates(woven.columns, self.meetings)
        best: tuple[float, list[float]] | None = None
        seen: list[list[list[int]]] = []
        for _ in range(_TRIES):  # a fold is chosen by widths that are known once it is made
            cost = self._fold(woven.columns, widths, room, starts=1)
            self._widths()
            cost += sum(max(0.0, self.right[row[-1]] - self.left[row[0]] - room) for row in self.rows)
            if best is None or cost < best[0]:
                best = cost, widths
            if self.rows in seen:
                break
            seen.append(self.rows)
            widths = self._measured(woven.columns)
        assert best is not None
        self._fold(woven.columns, best[1], room, starts=10 if len(self.rows) < 12 else 3)
        self._widths()
        self._draw()
        self.scale = min(1.0, page / max(1.0, self.extent[2] - self.extent[0]))

    # -- folding, lanes, columns

    def _measured(self, columns: Sequence[Column]) -> list[float]:
        """How wide each column turned out, with the gap after it."""
        wide: dict[int, float] = {}
        for row in self.rows:
            for j in row:
                end = self.left[j + 1] if j != row[-1] and self.columns[j + 1].steps else self.right[j] + 8
                wide[id(self.columns[j])] = end - self.left[j]
        return [wide[id(column)] for column in columns]

    def _fold(self, columns: Sequence[Column], widths: Sequence[float], room: float, starts: int) -> float:
        folded, cost = rows.fold(columns, widths, room)
        self.columns = [column for row in folded for column in row]
        self.rows = []
        at = 0
        for part in folded:
            self.rows.append(list(range(at, at + len(part))))
            at += len(part)
        for column in self.columns:
            for slot in (*column.left, *column.right):
                slot.y.clear()
        self.borders = []
        top = 0.0
        for row in self.rows:
            top = self._lanes(row, top, starts) + _APART
        return cost

    def _lanes(self, row: Sequence[int], top: float, starts: int) -> float:
        """Heights of one row's slots, beginning at `top`; returns where the row ends."""
        index: dict[tuple[int, int], int] = {}  # (column, slot) -> variable
        slots: list[tuple[int, Slot]] = []
        gaps: list[lanes.Gap] = []
        pulls: list[lanes.Pull] = []
        ties: list[lanes.Tie] = []
        for j in row:
            for slot in (*self.columns[j].left, *self.columns[j].right):
                if (j, id(slot)) not in index:
                    index[j, id(slot)] = len(slots)
                    slots.append((j, slot))
        n = len(slots)
        held: dict[int, list[int]] = {}  # section -> its columns in this row
        sections = list(self.scene.sections)
        for j in row:
            inside = set()
            for slot in (*self.columns[j].left, *self.columns[j].right):
                for section in self._around(slot, j):
                    inside.add(id(section))
            for section in sections:
                if id(section) in inside:
                    held.setdefault(id(section), []).append(j)
        edges: dict[int, tuple[int, int]] = {}
        for section in sections:
            if id(section) in held:
                edges[id(section)] = (n, n + 1)
                n += 2
        for j in row:
            column = self.columns[j]
            halo: dict[int, tuple[float, float]] = {}
            for step in column.steps:
                for k, (above, below) in reach(step, self.meetings[id(step)]).items():
                    had = halo.get(k, (0.0, 0.0))
                    halo[k] = max(above, had[0]), max(below, had[1])
            for side in (column.left, column.right):
                for a, b in itertools.pairwise(side):
                    gap = _gap(a, b, halo)
                    gaps.append((index[j, id(a)], index[j, id(b)], gap))
                    kin = isinstance(a, Wire) and isinstance(b, Wire)
                    pulls.append((index[j, id(a)], index[j, id(b)], 0.05 if kin else 0.02))
                self._fences(j, side, index, edges, gaps, pulls, halo)
            for step in column.steps:
                meeting = self.meetings[id(step)]
                for a_wire, b_wire, weight in _alignments(step, meeting):
                    if (j, id(a_wire)) in index and (j, id(b_wire)) in index:
                        pulls.append((index[j, id(a_wire)], index[j, id(b_wire)], weight))
                for own in _together(step, meeting):  # what one glyph covers stands at the pitch of a tensor
                    for a_wire, b_wire in itertools.pairwise(own):
                        if (j, id(a_wire)) in index and (j, id(b_wire)) in index:
                            ties.append((index[j, id(a_wire)], index[j, id(b_wire)], theme.PITCH))
        last: dict[int, int] = {}
        for v, (_, slot) in enumerate(slots):
            if isinstance(slot, Lane):
                continue
            if id(slot) in last:
                pulls.append((last[id(slot)], v, 2.0 if isinstance(slot, Dash) else _STRAIGHT))
            last[id(slot)] = v
        y = lanes.place(n, gaps, pulls, ties, starts)
        for v, (j, slot) in enumerate(slots):
            slot.y[j] = top + y[v]
        low = max((slot.y[j] for j, slot in slots), default=top)
        for section in sections:
            if id(section) not in held:
                continue
            above, below = edges[id(section)]
            self.borders.append(_Border(section, held[id(section)], top + y[above], top + y[below]))
            low = max(low, top + y[below])
        return low + 8

    def _around(self, slot: Slot, j: int) -> list[Section]:
        """The sections that a slot lies in at a column, innermost first."""
        if isinstance(slot, Dash):
            return []
        scopes = self.columns[j].scopes
        section = slot.step.section if isinstance(slot, Lane) else scopes.get(slot.number)
        out = []
        while section is not None:
            out.append(section)
            section = section.parent
        return out

    def _fences(
        self,
        j: int,
        side: Sequence[Slot],
        index: dict[tuple[int, int], int],
        edges: dict[int, tuple[int, int]],
        gaps: list[lanes.Gap],
        pulls: list[lanes.Pull],
        halo: dict[int, tuple[float, float]],
    ) -> None:
        """Borders lie between what is inside and what is not."""
        inside: dict[int, list[int]] = {}
        order: dict[int, Section] = {}
        for k, slot in enumerate(side):
            for section in self._around(slot, j):
                inside.setdefault(id(section), []).append(k)
                order[id(section)] = section
        for key, members in inside.items():
            section = order[key]
            above, below = edges[key]
            pad = _BRACKET if section.repeat else _REGION
            first, last = side[members[0]], side[members[-1]]
            extra_top = max(0.0, halo.get(first.number, (0.0, 0.0))[0] - 13) if isinstance(first, Wire) else 0.0
            gaps.append((above, index[j, id(first)], pad[0] + extra_top))
            gaps.append((index[j, id(last)], below, pad[1]))
            pulls.append((above, index[j, id(first)], 0.0005))
            pulls.append((index[j, id(last)], below, 0.0005))
            if members[-1] - members[0] + 1 - len(members) > sum(
                isinstance(side[k], Dash) for k in range(members[0], members[-1] + 1)
            ):
                continue  # something foreign runs through: no fence can be kept
            if members[0] > 0:
                gaps.append((index[j, id(side[members[0] - 1])], above, _OUTSIDE))
            if members[-1] + 1 < len(side):
                gaps.append((below, index[j, id(side[members[-1] + 1])], _OUTSIDE))
            if section.parent is not None and id(section.parent) in edges:
                outer_top, outer_bottom = edges[id(section.parent)]
                title = 16.0 if not section.parent.repeat else 0.0
                gaps.append((outer_top, above, _INSIDE + title))
                gaps.append((below, outer_bottom, _INSIDE))

    def _widths(self) -> None:
        """Left and right of every column, and of the glyphs in it."""
        self.left: list[float] = [0.0] * len(self.columns)
        self.right: list[float] = [0.0] * len(self.columns)
        self.spots: dict[int, Spot] = {}
        self.column_of: dict[int, int] = {}
        for row in self.rows:
            x = 0.0
            for place, j in enumerate(row):
                column = self.columns[j]
                rooms = [measure(step, self.meetings[id(step)]) for step in column.steps]
                before = max((r.before for r in rooms), default=4.0)
                if not column.steps:  # the start or end of a folded row: room for labels
                    after = max(
                        (width(label_of(s), theme.AXIS) + 8 for s in column.left if isinstance(s, Wire)), default=4
                    )
                    bordered = place + 1 < len(row) and any(
                        s.kind in (Kind.ENTER, Kind.EXIT) for s in self.columns[row[place + 1]].steps
                    )
                    after, spare = (after, 0.0) if not place and not bordered else (8.0, 0.0)
                if place and any(s.kind is Kind.COPY for s in self.columns[row[place - 1]].steps):
                    earlier = {id(s) for s in self.columns[row[place - 1]].right}
                    going = {id(s) for s in column.right}
                    fresh = [s for s in column.left if isinstance(s, Wire) and id(s) not in earlier | going]
                    before = max(before, max((width(label_of(w), theme.AXIS) + 8 for w in fresh), default=0.0))
                core = max((r.core for r in rooms), default=6.0)
                after = max((r.after - max(0.0, (core - r.core) / 2) for r in rooms), default=4.0)
                spare = 0.0  # labels may stand over the bends of the gap
                if any(s.kind in (Kind.BOX, Kind.THROUGH) for s in column.steps):
                    spare, after = max(0.0, after - 6.0), min(after, 6.0)
                self.left[j], self.right[j] = x, x + before + core + max(0.0, after)
                for k, (step, r) in enumerate(zip(column.steps, rooms, strict=True)):
                    if step.kind in (Kind.COPY, Kind.SOURCE):
                        x1 = x + before + core
                        spot = Spot(f"op{j}_{k}", j, x1 - r.core, x1)
                    elif step.kind is Kind.JOIN and step.mark != "loop":
                        spot = Spot(f"op{j}_{k}", j, x + before, x + before + r.core)
                    else:
                        x0 = x + before + (core - r.core) / 2
                        spot = Spot(f"op{j}_{k}", j, x0, x0 + r.core)
                    self.spots[id(step)] = spot
                    self.column_of[id(step)] = j
                if place + 1 < len(row):
                    x = self.right[j] + max(spare, self._gap_after(j, row[place + 1]))

    def _gap_after(self, j: int, following: int) -> float:
        """Room for the bends between two columns."""
        steepest = 0.0
        for slot in self.columns[j].right:
            if isinstance(slot, Wire) and following in slot.y:
                steepest = max(steepest, abs(slot.y[j] - slot.y[following]))
        for step in self.columns[j].steps:
            if step.kind is Kind.COPY:
                meeting = self.meetings[id(step)]
                source = meeting.ins[0]
                for own in meeting.outs:
                    for old, wire in zip(source, own, strict=True):
                        if following in wire.y and j in old.y:
                            steepest = max(steepest, abs(old.y[j] - wire.y[following]))
        for step in self.columns[following].steps:
            meeting = self.meetings[id(step)]
            if step.kind is Kind.JOIN and step.mark != "loop" and not meeting.inner:
                main = {w.axis: w for w in meeting.ins[meeting.main]}
                for own in meeting.ins:
                    for wire in own:
                        target = main.get(wire.axis)
                        if target is not None and j in wire.y and following in target.y:
                            steepest = max(steepest, abs(wire.y[j] - target.y[following]))
        if steepest < 0.01:
            return 4.0
        return min(42.0, 11.0 + 0.28 * steepest)

    # -- what glyphs draw with

    def y(self, slot: Slot, column: int) -> float:
        return slot.y[column]

    def begin(self, wire: Wire, node: str, x: float, *, gap: bool = False) -> None:
        """The wire starts at a glyph. `gap`: it has no lane in this column, and bends to its first."""
        self.starts[wire.number] = _Start(node, self.here, x, gap)

    def end(
        self,
        wire: Wire,
        node: str,
        x: float,
        tail: list[Point] | None = None,
        *,
        to: Point | None = None,
        gap: bool = False,
    ) -> None:
        """The wire ends at a glyph: level to `x`, then along `tail` or in a bend `to` a point."""
        self.ends[wire.number] = _End(node, self.here, x, tail, to, gap)

    def has_end(self, wire: Wire) -> bool:
        return wire.number in self.ends

    def point(self, id: str, at: Point, cls: str = "", tip: str = "") -> None:
        """An invisible node for wires to hang on."""
        if id in self.placed:
            return
        self.placed.add(id)
        more = {"class": cls, "tooltip": tip} if cls else {}
        self.picture.nodes.append(
            Node(id, at, {"shape": "point", "style": "invis", "width": "0.5", "height": "0.5", **more})
        )
        self._include((at[0], at[1], at[0], at[1]))

    def dot(self, id: str, x: float, y: float, wire: Wire, cls: str, tip: str) -> None:
        if id in self.placed:
            return
        self.placed.add(id)
        color = self.color(wire)
        size = "6"
        self.picture.nodes.append(
            Node(
                id,
                (x, y),
                {
                    "shape": "point",
                    "width": size,
                    "height": size,
                    "color": color,
                    "fillcolor": color,
                    "class": cls,
                    "id": id,
                    "tooltip": tip,
                },
            )
        )
        self.ground.take((x - 4, y - 4, x + 4, y + 4))
        self._include((x - 3, y - 3, x + 3, y + 3))

    def box(self, id: str, box: Box, fill: str, cls: str, tip: str) -> None:
        self.shape(id, box, cls, tip, shape="box", style="filled", fillcolor=fill, penwidth="1")

    def shape(self, id: str, box: Box, cls: str, tip: str, *, covers: bool = True, **attributes: str) -> None:
        x0, y0, x1, y1 = box
        self.placed.add(id)
        given = {
            **attributes,
            "width": f"{x1 - x0:.3f}",
            "height": f"{y1 - y0:.3f}",
            "class": cls,
            "id": id,
            "tooltip": tip,
        }
        self.picture.nodes.append(Node(id, ((x0 + x1) / 2, (y0 + y1) / 2), given))
        if covers:
            self.ground.take((x0 - 1.5, y0 - 1.5, x1 + 1.5, y1 + 1.5))
            self.glyphs.append((id, box, self.step))
        self._include(box)

    def write(self, x: float, y: float, text: Rich, size: float, *, color: str = "", cls: str = "text") -> Box:
        """Text centred on a point. Raised and lowered runs are nodes of their own."""
        lines = plain(text).count("\n") + 1
        total = width(text, size)
        if lines > 1:
            total = max(width((Run(line, text[0].style),), size) for line in plain(text).split("\n"))
        box = (x - total / 2, y - size * 0.55 * lines, x + total / 2, y + size * 0.45 * lines)
        self.ground.take(box)
        self._include(box)
        self.texts.append((plain(text), box))
        parts: list[list[Run]] = []
        for run in text:
            if parts and (parts[-1][0].shift, parts[-1][0].style) == (run.shift, run.style):
                parts[-1].append(run)
            else:
                parts.append([run])
        at = x - total / 2
        for part in parts:
            rich = tuple(part)
            small, raise_by = shifted(part[0], size)
            wide = width(rich, size)
            given = {
                "shape": "plaintext",
                "fontsize": f"{small:.2f}",
                "width": "0",
                "height": "0",
                "margin": "0",
                "fixedsize": "false",
                "class": cls,
            }
            if color:
                given["fontcolor"] = color
            level = tuple(Run(r.text, r.style) for r in rich)
            text_only = plain(level)
            lead = width((Run(text_only[: len(text_only) - len(text_only.lstrip())]),), small)
            trail = width((Run(text_only[len(text_only.rstrip()) :]),), small)
            middle = x if len(parts) == 1 else at + lead + (wide - lead - trail) / 2
            self.picture.nodes.append(Node(f"t{len(self.picture.nodes)}", (middle, y - raise_by), given, html(level)))
            at += wide
        return box

    def head(self, id: str, x: float, y: float, color: str = "") -> None:
        """An arrowhead whose tip points right; `x` is its middle."""
        high, long = HEAD
        ink = color or self.theme.ink
        self.placed.add(id)
        self.picture.nodes.append(
            Node(
                id,
                (x, y),
                {
                    "shape": "triangle",
                    "orientation": "270",
                    "style": "filled",
                    "fillcolor": ink,
                    "color": ink,
                    "width": f"{long}",
                    "height": f"{high}",
                    "penwidth": "0",
                    "class": "head",
                },
            )
        )
        self.ground.take((x - long / 2, y - high / 2, x + long / 2, y + high / 2))
        self._include((x - long / 2, y - high / 2, x + long / 2, y + high / 2))

    def arrow(self, tail: str, head: str, a: Point, b: Point, tip: str, *, at_start: bool = False) -> None:
        """An ink line with an arrowhead at one end: beside no axis."""
        half = HEAD[1] / 2
        if at_start:
            self.head(tail, a[0] + half, a[1])
            a = (a[0] + half, a[1])
        else:
            self.head(head, b[0] - half, b[1])
            b = (b[0] - half, b[1])
        chain = [a, *straight(a, b)]
        self.picture.edges.append(
            Edge(tail, head, chain, {"color": self.theme.ink, "penwidth": "1.15", "class": "scalar", "tooltip": tip})
        )
        self.ground.trace(sampled(chain))

    def color(self, wire: Wire) -> str:
        if wire.axis is None:
            return self.theme.ink
        return self.theme.width if wire.axis.is_width else self.theme.depth

    def _include(self, box: Box) -> None:
        x0, y0, x1, y1 = self.extent
        self.extent = (min(x0, box[0]), min(y0, box[1]), max(x1, box[2]), max(y1, box[3]))

    # -- drawing

    def _draw(self) -> None:
        self.starts: dict[int, _Start] = {}
        self.ends: dict[int, _End] = {}
        self.placed: set[str] = set()
        self.glyphs: list[tuple[str, Box, Step]] = []
        self.later: list[tuple[float, tuple[float, ...], Rich, float]] = []  # signs: x, heights to try, text, size
        self.texts: list[tuple[str, Box]] = []
        self.curves: list[tuple[Wire, list[Point]]] = []
        self.runs: list[tuple[Wire, float, float, float, bool, bool, bool]] = []
        self._sections()
        for j, column in enumerate(self.columns):
            self.here = j
            for step in column.steps:
                self.step = step
                DRAW[step.mark](self, step, self.meetings[id(step)], self.spots[id(step)])
        for row in self.rows:
            self._row(row)
        self._dashes()
        self._signs()
        self._labels()
        self._outside()
        if self.scene.title:
            x0, y0, x1, _ = self.extent
            self.write((x0 + x1) / 2, y0 - 14, roman(self.scene.title), theme.TITLE, cls="title")

    def _sections(self) -> None:
        """Tints behind and brackets around."""
        for n, border in enumerate(self.borders):
            section = border.section
            first, last = border.columns[0], border.columns[-1]
            opens = section.enter is not None and self.column_of.get(id(section.enter)) in border.columns
            closes = section.exit is not None and self.column_of.get(id(section.exit)) in border.columns
            x0 = self.spots[id(section.enter)].middle if opens else self.left[first]
            x1 = self.spots[id(section.exit)].middle if closes else self.right[last]
            border.x0, border.x1 = x0, x1
            top, bottom = border.top, border.bottom
            if not section.repeat:
                names = (section.title,) if opens else (section.title + ", continued", section.title)
                name = next((n for n in (*names, "") if width(roman(n), theme.BLOCK) < x1 - x0 - 2), "")
                title = roman(name)
                fill = self.theme.region[section.tint % len(self.theme.region)]
                at = ((x0 + x1) / 2, top + 9)
                self.picture.clusters.append(
                    Cluster(f"region{n}", (x0, top, x1, bottom), html(title), at, fill, section.title, theme.BLOCK)
                )
                wide = width(title, theme.BLOCK)
                if name:
                    box = (at[0] - wide / 2, top + 2, at[0] + wide / 2, top + 16)
                    self.ground.take(box)
                    self.texts.append((name, box))
                self._include((x0, top, x1, bottom))
                continue
            for opening, there in ((True, opens), (False, closes)):
                if not there:
                    continue
                step = section.enter if opening else section.exit
                spot = self.spots[id(step)]
                x = spot.middle + (4 if opening else -4)
                bulge = -9 if opening else 9
                a, b = f"{spot.id}_t", f"{spot.id}_b"
                self.point(a, (x, top))
                self.point(b, (x, bottom))
                high = bottom - top
                chain = [(x, top), (x + bulge, top + 0.18 * high), (x + bulge, bottom - 0.18 * high), (x, bottom)]
                self.picture.edges.append(
                    Edge(
                        a,
                        b,
                        chain,
                        {
                            "color": self.theme.ink,
                            "penwidth": "2.4",
                            "class": "repeat",
                            "tooltip": f"repeat {section.title}",
                        },
                    )
                )
                self.ground.trace(sampled(chain))
                self._include((x - 9, top, x + 9, bottom))
                if not opening:
                    text = f"×{section.title}"
                    self.write(
                        x + 5 + width(roman(text), theme.COUNT) / 2, top + 1, roman(text), theme.COUNT, cls="repeat"
                    )

    def _row(self, row: Sequence[int]) -> None:
        """The wires of one row."""
        wires: dict[int, Wire] = {}
        for j in row:
            for slot in (*self.columns[j].left, *self.columns[j].right):
                if isinstance(slot, Wire):
                    wires[slot.number] = slot
        span = set(row)
        for wire in wires.values():
            self._wire(wire, [j for j in row if j in wire.y], row, span)

    def _wire(self, wire: Wire, columns: Sequence[int], row: Sequence[int], span: set[int]) -> None:
        start, end = self.starts.get(wire.number), self.ends.get(wire.number)
        here = start is not None and start.column in span
        ends_here = end is not None and end.column in span
        color = self.color(wire)
        first, last = columns[0], columns[-1]
        if here and start is not None:
            tail = start.node
            y = wire.y[first] if not start.gap else self._node_y(start.node)
            chain: list[Point] = [(start.x, y)]
        else:
            tail = f"w{wire.number}s{row[0]}"
            self.head(tail, self.left[first] + HEAD[1] / 2, wire.y[first], color)
            chain = [(self.left[first] + HEAD[1] / 2, wire.y[first])]
        begin = chain[0][0] + (0.0 if here else HEAD[1] / 2)
        runs: list[tuple[float, float, float]] = []

        def level(to: float) -> None:
            """Level on to x; neighbours in one piece."""
            if to > chain[-1][0] + 0.01:
                chain.extend(straight(chain[-1], (to, chain[-1][1])))

        flat_from = begin
        for j in columns:
            y = wire.y[j]
            if abs(y - chain[-1][1]) > 0.01:
                edge = max(self.right[j - 1] if j - 1 in span and j - 1 in wire.y else chain[-1][0], chain[-1][0])
                level(edge)
                runs.append((flat_from, chain[-1][0], chain[-1][1]))
                chain.extend(bend(chain[-1], (self.left[j], y)))
                flat_from = self.left[j]
        if ends_here and end is not None:
            head = end.node
            if end.gap:
                level(self.right[last])
            else:
                level(end.x)
            runs.append((flat_from, chain[-1][0], chain[-1][1]))
            if end.tail is not None:
                chain.extend(end.tail)
            elif end.to is not None:
                chain.extend(bend(chain[-1], end.to))
        else:
            head = f"w{wire.number}e{row[0]}"
            x = self.right[last] - HEAD[1] / 2
            level(x)
            runs.append((flat_from, x, chain[-1][1]))
            self.head(head, x, chain[-1][1], color)
        if len(chain) < 4:
            chain.extend(straight(chain[-1], (chain[-1][0] + 0.01, chain[-1][1])))
        axis = wire.axis
        kind = "scalar" if axis is None else ("width" if axis.is_width else "depth")
        given = {
            "color": color,
            "penwidth": {"width": "1.5", "depth": "1.35", "scalar": "1"}[kind],
            "class": f"wire {kind}" + (f" axis-{axis.name}" if axis is not None else ""),
            "id": f"wire{wire.number}" + ("" if row[0] == 0 else f"r{row[0]}"),
            "tooltip": f"{axis.name} ({kind})" if axis is not None else "no axes",
        }
        self.picture.edges.append(Edge(tail, head, chain, given))
        self.ground.trace(sampled(chain))
        self.curves.append((wire, chain))
        out = ends_here and end is not None and any(s.kind is Kind.SINK for s in self.columns[end.column].steps)
        runs = [run for run in runs if run[1] - run[0] > 1]
        for k, (a, b, y) in enumerate(runs):
            met = k == len(runs) - 1 and ends_here and end is not None and end.to is not None
            self.runs.append((wire, a, b, y, k == 0, out and k == len(runs) - 1, met))

    def _node_y(self, id: str) -> float:
        for node in reversed(self.picture.nodes):
            if node.id == id:
                return node.at[1]
        raise KeyError(id)

    def _dashes(self) -> None:
        """Dashed lines between tensors; they end where the tensors meet."""
        for row in self.rows:
            seen: dict[int, Dash] = {}
            for j in row:
                for slot in (*self.columns[j].left, *self.columns[j].right):
                    if isinstance(slot, Dash):
                        seen[id(slot)] = slot
            for dash in seen.values():
                columns = [j for j in row if j in dash.y]
                groups: list[list[int]] = []
                for j in columns:
                    if groups and groups[-1][-1] == j - 1:
                        groups[-1].append(j)
                    else:
                        groups.append([j])
                for group in groups:
                    self._dash(dash, group)

    def _dash(self, dash: Dash, group: Sequence[int]) -> None:
        first, last = group[0], group[-1]
        x0 = self.left[first]
        if dash not in self.columns[first].left:
            x0 = min(
                (
                    self.starts[s.number].x
                    for s in self.columns[first].right
                    if isinstance(s, Wire)
                    and self.columns[first].strands.get(s.number) == dash.strand
                    and s.number in self.starts
                    and self.starts[s.number].column == first
                ),
                default=self.right[first],
            )
        x1 = self.right[last]
        if dash not in self.columns[last].right:
            for step in self.columns[last].steps:
                meeting = self.meetings[id(step)]
                if len(step.ins) > 1 and any(
                    self.columns[last].strands.get(w.number) == dash.strand for own in meeting.ins for w in own
                ):
                    x1 = self.spots[id(step)].x0 - (0 if step.kind is Kind.BOX else 4)
        chain: list[Point] = [(x0, dash.y[first])]
        for a, b in itertools.pairwise(group):
            if abs(dash.y[a] - dash.y[b]) > 0.01:
                if self.right[a] > chain[-1][0]:
                    chain.extend(straight(chain[-1], (self.right[a], dash.y[a])))
                chain.extend(bend(chain[-1], (self.left[b], dash.y[b])))
        if x1 > chain[-1][0]:
            chain.extend(straight(chain[-1], (x1, chain[-1][1])))
        if len(chain) < 4 or chain[-1][0] - chain[0][0] < 6:
            return
        a_id, b_id = f"d{dash.strand}_{first}a", f"d{dash.strand}_{first}b"
        self.point(a_id, chain[0])
        self.point(b_id, chain[-1])
        given = {"color": self.theme.ink, "penwidth": "1.4", "style": "dashed", "class": "dash", "tooltip": "and"}
        self.picture.edges.append(Edge(a_id, b_id, chain, given))
        self.ground.trace(sampled(chain))

    def _signs(self) -> None:
        """Signs and words at dots: above the highest or below the lowest, where nothing runs."""
        for x, heights, text, size in self.later:
            half = width(text, size) / 2
            spots = [(x + dx, y) for dx in (0.0, half - 2, 2 - half) for y in heights]
            free = (p for p in spots if self.ground.free((p[0] - half, p[1] - size * 0.5, p[0] + half, p[1] + size * 0.4)))
            at = next(free, spots[0])
            self.write(at[0], at[1], text, size, cls="op sign")

    def _outside(self) -> None:
        """What enters a repeat from outside is the same in every pass, and says so."""
        for j, column in enumerate(self.columns):
            for step in column.steps:
                if step.kind is not Kind.ENTER or step.border is None or not step.border.outside:
                    continue
                for own in self.meetings[id(step)].ins[-step.border.outside :]:
                    wire = own[0]
                    run = next(
                        (r for r in self.runs if r[0] is wire and r[2] > self.right[j] and abs(r[3] - wire.y[j]) < 1),
                        None,
                    )
                    if run is None:
                        continue
                    text = roman("same in every pass")
                    wide = width(text, theme.CAPTION)
                    x, end = self.right[j] + 3 + wide / 2, run[2] - wide / 2
                    while x < end:
                        box = (x - wide / 2 - 2, wire.y[j] - 13.5, x + wide / 2 + 2, wire.y[j] - 2.5)
                        if self.ground.free(box):
                            self.write(x, wire.y[j] - 8, text, theme.CAPTION, cls="note")
                            break
                        x += 4
                    break

    def _labels(self) -> None:
        """Axis labels: where a wire is born, after a bend, at the end of what is long, at outputs."""
        for wire, a, b, y, first, out, met in self.runs:
            if wire.axis is None:
                continue
            text = label_of(wire)
            wide = width(text, theme.AXIS)
            long = b - a
            wanted: list[float] = []
            if out and (not first or long > 70 + 2 * wide):
                wanted.append(b - wide / 2 - 2)
            if (first and not (out and wanted and long < 90)) or (long > 60 and not out):
                wanted.insert(0, a + wide / 2 + 4)
            if long > 280 and not out and not met:
                wanted.append(b - wide / 2 - 4)
            if out and not wanted:
                wanted.append(b - wide / 2 - 2)
            for want in wanted:
                self._label(wire, text, wide, a, b, y, want)

    def _label(self, wire: Wire, text: Rich, wide: float, a: float, b: float, y: float, want: float) -> None:
        steps = int((b - a) / 3) + 1
        low, high = a + wide / 2 + 1, b - wide / 2 - 0.5
        if high < low:
            low = high = (a + b) / 2
        spots = sorted(
            {min(max(want + 3 * k, low), high) for k in range(-steps, steps + 1)}, key=lambda x: (abs(x - want), x)
        )
        for up in (True, False):
            for x in spots:
                if abs(x - want) > 70:
                    break
                middle = y - 8.5 if up else y + 9.5
                box = (x - wide / 2 - 1, middle - 6.0, x + wide / 2 + 1, middle + 5.0)
                if self.ground.free(box):
                    axis = wire.axis
                    assert axis is not None
                    kind = "width" if axis.is_width else "depth"
                    self.write(x, middle, text, theme.AXIS, color=self.color(wire), cls=f"label {kind}")
                    if axis.is_width and barred(axis.label):
                        tall = not all(c in LOW for c in axis.label.partition("_")[0])
                        self._bar(x + 0.5, middle - (7.2 if tall else 5.4), wide - 0.5, self.color(wire))
                    return

    def _bar(self, x: float, y: float, wide: float, color: str) -> None:
        """The macron of a long name: a line of our own, since accents do not join."""
        given = {
            "shape": "box",
            "style": "filled",
            "fillcolor": color,
            "penwidth": "0",
            "width": f"{wide:.2f}",
            "height": "0.8",
            "class": "label width",
        }
        self.picture.nodes.append(Node(f"t{len(self.picture.nodes)}", (x, y), given))
        self._include((x - wide / 2, y - 0.4, x + wide / 2, y + 0.4))


def _gap(a: Slot, b: Slot, halo: dict[int, tuple[float, float]]) -> float:
    below = halo.get(a.number, (0.0, 0.0))[1] if isinstance(a, Wire) else 0.0
    above = halo.get(b.number, (0.0, 0.0))[0] if isinstance(b, Wire) else 0.0
    if isinstance(a, Lane) or isinstance(b, Lane):
        if isinstance(a, Lane) and isinstance(b, Dash):
            return theme.ABOVE_DASH + 3
        if isinstance(a, Lane):
            return max(theme.LANE + 6, 9 + above)
        return max(theme.LANE, 10 + below)
    if isinstance(b, Dash):
        return max(theme.ABOVE_DASH, below + 4)
    if isinstance(a, Dash):
        return max(theme.BELOW_DASH, above + 4)
    return theme.PITCH


def _together(step: Step, meeting: Meeting) -> list[list[Wire]]:
    """Wires that a glyph covers side by side."""
    match step.kind:
        case Kind.ON:
            return [covered(step, meeting)]
        case Kind.JOIN if step.mark == "mask":
            return [[w for w in meeting.ins[0] if w.axis in step.on]]
        case Kind.THROUGH:
            return [gone(meeting), born(meeting)]
        case _:
            return []


def _alignments(step: Step, meeting: Meeting) -> list[tuple[Wire, Wire, float]]:
    """Wires that would like one height on both sides of a glyph."""
    out: list[tuple[Wire, Wire, float]] = []
    ins = [w for own in meeting.ins for w in own]
    outs = [w for own in meeting.outs for w in own]
    match step.kind:
        case Kind.THROUGH:
            old, new = gone(meeting), [w for w in outs if w not in meeting.ins[0]]
            out += [(a, b, 2.0 - 0.1 * abs(i - k)) for i, a in enumerate(old) for k, b in enumerate(new)]
            if len(old) == len(new):
                out += [(a, b, 6.0) for a, b in zip(old, new, strict=True)]
        case Kind.BOX:
            for own in meeting.outs:  # an operand with the result's axes goes on straight
                axes = [w.axis for w in own]
                like = next((ws for ws in meeting.ins if [w.axis for w in ws] == axes), None)
                out += [(a, b, 4.0) for a, b in zip(like or (), own, strict=False)]
        case Kind.JOIN:
            kept = {w.number for w in ins}
            for wire in outs:
                if wire.number not in kept:
                    out += [(w, wire, 1.0) for w in ins if w.axis == wire.axis]
                    if step.mark == "bar":
                        out += [(w, wire, 1.0) for w in ins if w.axis in step.contracted]
        case Kind.COPY:
            main = meeting.outs[meeting.main]
            out += [(a, b, 8.0) for a, b in zip(meeting.ins[0], main, strict=True) if a is not b]
        case _:
            pass
    return out


def _estimates(columns: Sequence[Column], meetings: dict[int, Meeting]) -> list[float]:
    """About how wide each column is with the gap after it."""
    out = []
    for j, column in enumerate(columns):
        rooms = [measure(step, meetings[id(step)]) for step in column.steps]
        wide = max(r.before for r in rooms) + max(r.core for r in rooms) + max(r.after for r in rooms)
        gap = 6.0
        if any(s.kind is Kind.COPY and len(s.outs) > 1 for s in column.steps):
            gap = 40.0
        elif j + 1 < len(columns):
            following = columns[j + 1]
            if any(s.kind is Kind.JOIN and s.mark != "loop" for s in following.steps):
                gap = 40.0
            elif [id(s) for s in column.right if isinstance(s, Wire) and s in following.left] != [
                id(s) for s in following.left if isinstance(s, Wire) and s in column.right
            ]:
                gap = 30.0
        out.append(wide + gap)
    return out
