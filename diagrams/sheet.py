"""The sheet: every glyph and wire of a layout drawn, labels set where they are free. Points, y downwards."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from . import theme
from .dot import Box, Cluster, Edge, Node, Picture, Point
from .glyphs import DRAW, HEAD, label_of
from .labels import Ground
from .layout import PAD, Layout
from .legend import draw_legend
from .route import bend, sampled, straight
from .scene import Kind, Scene, Section, Step
from .text import LOW, Rich, Run, axis_label, barred, italic, plain, roman, shifted, width
from .theme import Theme
from .wires import Dash, Slot, Wire


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


class Sheet(Layout):
    """Everything drawn of one scene, on a page of `page` points.

    scale: of points of the drawing to points on paper.
    """

    def __init__(self, scene: Scene, colors: Theme, page: float, *, sizes: bool = False, legend: bool = False) -> None:
        super().__init__(scene, page, sizes=sizes)
        self.theme = colors
        self.picture = Picture()
        self.ground = Ground()
        self.extent: Box = (1e9, 1e9, -1e9, -1e9)
        self._draw()
        if legend:
            draw_legend(self)
        self.scale = min(1.0, self.page / max(1.0, self.extent[2] - self.extent[0]))

    @property
    def width(self) -> float:
        """Points that the drawing is wide, on paper at full size."""
        return self.extent[2] - self.extent[0] + 2 * PAD

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
        self.at[id] = at
        more = {"class": cls, "tooltip": tip} if cls else {}
        self.picture.nodes.append(
            Node(id, at, {"shape": "point", "style": "invis", "width": "0.5", "height": "0.5", **more})
        )
        self._include((at[0], at[1], at[0], at[1]))

    def dot(self, id: str, x: float, y: float, wire: Wire, cls: str, tip: str) -> None:
        if id in self.placed:
            return
        self.placed.add(id)
        self.at[id] = (x, y)
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
            self.picture.nodes.append(Node(f"t{len(self.picture.nodes)}", (middle, y - raise_by), given, level))
            at += wide
        return box

    def head(self, id: str, x: float, y: float, color: str = "", *, leftwards: bool = False) -> None:
        """An arrowhead, its tip to the right; `x` is its middle."""
        high, long = HEAD
        ink = color or self.theme.ink
        self.placed.add(id)
        self.picture.nodes.append(
            Node(
                id,
                (x, y),
                {
                    "shape": "triangle",
                    "orientation": "90" if leftwards else "270",
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

    def stroke(self, id: str, chain: list[Point], color: str, pen: str = "1.35", cls: str = "legend") -> None:
        """A curve that is no wire."""
        self.point(f"{id}_1", chain[0])
        self.point(f"{id}_2", chain[-1])
        given = {"color": color, "penwidth": pen, "class": cls}
        self.picture.edges.append(Edge(f"{id}_1", f"{id}_2", chain, given))
        self.ground.trace(sampled(chain))

    def line(self, a: float, b: float, y: float, color: str, pen: str) -> None:
        self.stroke(f"l{len(self.picture.edges)}", [(a, y), *straight((a, y), (b, y))], color, pen)

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
        self.at: dict[str, Point] = {}  # of dots and points
        self.glyphs: list[tuple[str, Box, Step]] = []
        self.later: list[tuple[float, tuple[float, ...], Rich, float, bool]] = []  # x, heights, text, size, optional
        self.notes: list[tuple[Rich, float, list[Point], float, float]] = []  # text, size, places, width, bar
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
        self._links()
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
                    Cluster(
                        f"region{n}",
                        (x0, top, x1, bottom),
                        title,
                        at,
                        fill,
                        section.title,
                        theme.BLOCK,
                        f"block-{section.name}" if section.name else "",
                    )
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
                    text = roman(f"×{section.title}")
                    if section.along is not None:
                        text = (*roman("each "), *axis_label(section.along.label, is_width=section.along.is_width))
                    wide = width(text, theme.COUNT)
                    half = wide / 2
                    spots = [(x + 5 + half, top + 1), (x + 5 + half, top - 8), (x + 3, top - 9), (x - half, top - 9)]
                    spots += [(x + 5 + half, bottom), (x + 5 + half, bottom + 8), (x, bottom + 10)]
                    over = text[-1:] if section.along is not None and barred(section.along.label) else ()
                    self.notes.append((text, theme.COUNT, spots, wide, width(over, theme.COUNT)))
            if section.loops and opens and closes:
                self._loops(section, x0 + 4, x1 - 4, bottom - 4)
            elif section.loops and (opens or closes):  # in another row: in words
                own = italic(", ".join(section.loops).replace("_", " "))
                text = (*own, *roman(" go round")) if opens else (*roman("next "), *own)
                x, wide = x0 if opens else x1, width(text, theme.CAPTION)
                spots = [(x + side * (10 + wide / 2), bottom - 7) for side in ((1, -1) if opens else (-1, 1))]
                self.notes.append((text, theme.CAPTION, [*spots, (x, bottom + 9)], wide, 0.0))

    def bracket_x(self, step: Step, y: float) -> float:
        """Where the bracket that the step stands for is at height `y`."""
        opening = step.kind is Kind.ENTER
        spot = self.spots[id(step)]
        at = next(b for b in self.borders if b.section is step.border and spot.column in b.columns)
        share = min(1.0, max(0.0, (y - at.top) / max(1.0, at.bottom - at.top)))
        low, high = 0.0, 1.0
        for _ in range(30):  # the curve's parameter at this height
            t = (low + high) / 2
            u = 1 - t
            low, high = (t, high) if 3 * u * u * t * 0.18 + 3 * u * t * t * 0.82 + t * t * t < share else (low, t)
        bulge = 3 * low * (1 - low) * 9
        return spot.middle + (4 - bulge if opening else bulge - 4)

    def _loops(self, section: Section, a: float, b: float, y: float) -> None:
        """What goes round a scan, fed back beneath from the closing bracket to the opening one."""
        text = italic(", ".join(section.loops).replace("_", " "))
        wide = width(text, theme.CAPTION)
        step = section.exit
        assert step is not None
        tail, head = f"{self.spots[id(step)].id}_lt", f"{self.spots[id(step)].id}_lh"
        self.point(tail, (b, y))
        self.head(head, a + HEAD[1] / 2, y, leftwards=True)
        chain = [(b, y), *straight((b, y), (a + HEAD[1] / 2, y))]
        given = {"color": self.theme.ink, "penwidth": "1.15", "class": "scalar", "tooltip": "the next step's"}
        self.picture.edges.append(Edge(tail, head, chain, given))
        self.ground.trace(sampled(chain))
        middle = (a + b) / 2
        spots = [
            (middle + k * dx, y + dy) for dy in (-8.0, 9.0) for dx in range(0, int((b - a) / 2), 4) for k in (1, -1)
        ]
        self.notes.append((text, theme.CAPTION, spots, wide, 0.0))

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
            y = wire.y[first] if not start.gap else self.at[start.node][1]
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
            "class": f"wire w{wire.number} {kind}" + (f" axis-{axis.name}" if axis is not None else ""),
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
        for a, b in pairwise(group):
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

    def _links(self) -> None:
        """A dotted line between glyphs of one row that share their weights, where it meets no other glyph."""
        boxes = {id(step): box for _, box, step in reversed(self.glyphs)}
        for row in self.rows:
            last: dict[int, Step] = {}
            for j in row:
                for step in self.columns[j].steps:
                    if not step.weights or id(step) not in boxes:
                        continue
                    before = last.get(step.weights)
                    last[step.weights] = step
                    if before is not None:
                        self._link(boxes[id(before)], boxes[id(step)], step)

    def _link(self, a: Box, b: Box, step: Step) -> None:
        xa, xb = (a[0] + a[2]) / 2, (b[0] + b[2]) / 2
        if abs(xa - xb) < 2:  # one under the other
            upper, lower = (a, b) if a[1] < b[1] else (b, a)
            chains = [[(xa, upper[3]), *straight((xa, upper[3]), (xa, lower[1]))]]
        else:
            chains = []
            for deep in (16.0, 26.0, 40.0, 60.0):
                chains.append([(xa, a[3]), (xa, max(a[3], b[3]) + deep), (xb, max(a[3], b[3]) + deep), (xb, b[3])])
                chains.append([(xa, a[1]), (xa, min(a[1], b[1]) - deep), (xb, min(a[1], b[1]) - deep), (xb, b[1])])
        for chain in chains:
            if all(self.ground.clear(p) for p in sampled(chain)[2:-2]):
                self.stroke(f"{self.spots[id(step)].id}_share", chain, self.theme.ink, "1", "shared")
                self.picture.edges[-1].attributes.update(style="dotted", tooltip="the same weights")
                return

    def _signs(self) -> None:
        """Signs and words at dots: above the highest or below the lowest, where nothing runs."""
        for text, size, places, wide, bar in self.notes:
            fits = (
                p
                for p in places
                if self.ground.free((p[0] - wide / 2, p[1] - size * 0.5, p[0] + wide / 2, p[1] + size * 0.4))
            )
            x, y = next(fits, places[0])
            self.write(x, y, text, size, cls="note")
            if bar:
                self.bar(x + wide / 2 - bar / 2 + 0.5, y - 0.6 * size, bar, self.theme.ink)
        for x, heights, text, size, optional in self.later:
            half = width(text, size) / 2
            near = (0.0, half - 2, 2 - half, half + 6, -half - 6)
            far = () if optional else (heights[0] - 11, heights[-1] + 11)
            spots = [(x + dx, y) for dx in near[:3] for y in heights] + [
                (x + dx, y) for y in (*heights, *far) for dx in near
            ]
            free = (
                p for p in spots if self.ground.free((p[0] - half, p[1] - size * 0.5, p[0] + half, p[1] + size * 0.4))
            )
            at = next(free, None if optional else spots[0])
            if at is None:
                continue
            self.write(at[0], at[1], text, size, cls="op sign")

    def _outside(self) -> None:
        """What enters a repeat from outside is the same in every pass, and says so."""
        for j, column in enumerate(self.columns):
            for step in column.steps:
                if step.kind is not Kind.ENTER or step.border is None or not step.border.outside:
                    continue
                first = len(step.ins) - step.border.outside
                if not self._beside(j, [own[0] for own in self.meetings[id(step)].ins[first:]]):
                    names = [t.name.replace("_", " ") for t in step.ins[first:] if t.name]
                    self._beneath(step, ", ".join(dict.fromkeys(names)))

    def _beside(self, j: int, wires: Sequence[Wire]) -> bool:
        """Say it over a wire, behind the bracket; whether there was room."""
        text = roman("same in every pass")
        wide = width(text, theme.CAPTION)
        for wire in wires:
            runs = (r for r in self.runs if r[0] is wire and r[2] > self.right[j] and abs(r[3] - wire.y[j]) < 1)
            run = next(runs, None)
            if run is None:
                continue
            x, end = self.right[j] + 3 + wide / 2, run[2] - wide / 2
            while x < end:
                if self.ground.free((x - wide / 2 - 2, wire.y[j] - 13.5, x + wide / 2 + 2, wire.y[j] - 2.5)):
                    self.write(x, wire.y[j] - 8, text, theme.CAPTION, cls="note")
                    return True
                x += 4
        return False

    def _beneath(self, step: Step, names: str) -> None:
        """Say it within the brackets, along their feet, or beneath them."""
        text = (*italic(names), *roman((": " if names else "") + "same in every pass"))
        wide = width(text, theme.CAPTION)
        spot = self.spots[id(step)]
        border = next(b for b in self.borders if b.section is step.border and spot.column in b.columns)
        for y in (border.bottom - 7, border.bottom + 7):
            for k in range(12):
                x = border.x0 + 14 + wide / 2 + 8 * k
                if self.ground.free((x - wide / 2 - 2, y - 6.5, x + wide / 2 + 2, y + 6)):
                    self.write(x, y, text, theme.CAPTION, cls="note")
                    return

    def _labels(self) -> None:
        """Axis labels: where a wire is born, after a bend, at the end of what is long, at outputs."""
        said: dict[int, bool] = {}  # wires whose size is written
        for wire, a, b, y, first, out, met in self.runs:
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
                self._label(wire, text, wide, a, b, y, want)

    def _label(self, wire: Wire, text: Rich, wide: float, a: float, b: float, y: float, want: float) -> None:
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
                if self.ground.free(box):
                    kind = "width" if axis.is_width else "depth"
                    self.write(x, middle, text, theme.AXIS, color=self.color(wire), cls=f"label {kind}")
                    if bar:
                        size = width(roman(wire.size), theme.AXIS) if wire.size and text[-1].text == wire.size else 0.0
                        self.bar(x + 0.5 - size / 2, middle - bar, wide - 0.5 - size, self.color(wire))
                    return

    def bar(self, x: float, y: float, wide: float, color: str) -> None:
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
