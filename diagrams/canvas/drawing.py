"""What glyphs draw with: points, shapes, text, arrows, the beginnings and ends of wires."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ...compiler.sizes.axes import Axis
from ..base import theme
from ..base.curves import sampled, straight
from ..base.names import bar_over
from ..base.paper import Paper
from ..base.picture import Box, Cluster, Edge, Node, Picture, Point
from ..base.text import LEADING, Rich, Run, kern, plain, rows, shifted, width
from ..base.theme import Theme
from ..layout import figure
from ..layout.figure import FigureLayout
from ..layout.wires import Track, Wire
from ..scene.steps import DrawStep, Scene
from .occupied import Occupied

HEAD = (9.0, figure.HEAD)  # an arrowhead's height and length


@dataclass(slots=True)
class Start:
    node: str
    column: int
    x: float
    gap: bool


@dataclass(slots=True)
class End:
    node: str
    column: int
    x: float
    tail: list[Point] | None
    to: Point | None
    gap: bool


@dataclass(slots=True)
class OperandNote:
    """What is to be written at the wires of an operand. `x`, `dots`: where they meet those of the `others`."""

    step: DrawStep
    text: Rich
    wires: list[Wire]
    others: list[Wire]
    x: float
    dots: list[float]


@dataclass(frozen=True, slots=True)
class Stretch:
    """A level piece of a wire, over which its label can be written.

    first: whether the wire begins with it, in this row. out, met, on: whether it ends with it, as an output, in a bend
    to a dot, or to go on in another row.
    """

    wire: Wire
    x0: float
    x1: float
    y: float
    first: bool
    out: bool
    met: bool
    on: bool


class Canvas(FigureLayout):
    """A layout, and the picture that is drawn of it.

    extent: the box around all that is drawn.
    occupied: the places that are drawn on already.
    texts, glyphs, curves: what was written and drawn, and where; tests look there for faults.
    runs:     the level stretches of each wire, over which labels can be written.
    roles, later, notes, titles: text that is written last, where it finds a free place.
    """

    def __init__(self, scene: Scene, colors: Theme, paper: Paper, *, sizes: bool = False) -> None:
        super().__init__(scene, paper, sizes=sizes)
        self.theme = colors
        self.picture = Picture()
        self.occupied = Occupied()
        self.extent: Box = (1e9, 1e9, -1e9, -1e9)
        self.here = 0  # the column being drawn
        self.step: DrawStep = scene.steps[0]  # and the step
        self.starts: dict[int, Start] = {}
        self.ends: dict[int, End] = {}
        self.placed: set[str] = set()
        self.at: dict[str, Point] = {}  # of dots and points
        self.glyphs: list[tuple[str, Box, DrawStep]] = []
        self.roles: list[OperandNote] = []
        self.later: list[tuple[float, tuple[float, ...], Rich, float, bool]] = []  # x, heights, text, size, optional
        self.notes: list[
            tuple[Rich, float, list[Point], float, str, bool]
        ] = []  # text, size, places, width, axis, needed
        self.regions: dict[int, list[Cluster]] = {}  # of an open block, by its section's id: its tint in each row
        self.titles: list[tuple[Cluster, float, float, bool]] = []  # of regions: between which points; needed or not
        self.texts: list[tuple[str, Box]] = []
        self.curves: list[tuple[Wire, list[Point]]] = []
        self.rows_of: list[Sequence[int]] = []  # of each of these its row
        self.runs: list[Stretch] = []

    def y(self, track: Track, column: int) -> float:
        return track.y[column]

    def begin(self, wire: Wire, node: str, x: float, *, gap: bool = False) -> None:
        """The wire starts at a glyph. `gap`: it has no height in this column, and bends to that of the next."""
        self.starts[wire.number] = Start(node, self.here, x, gap)

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
        """The wire ends at a glyph: level up to `x`, then along the curve `tail` or in a bend to the point `to`."""
        self.ends[wire.number] = End(node, self.here, x, tail, to, gap)

    def has_end(self, wire: Wire) -> bool:
        return wire.number in self.ends

    def point(self, id: str, at: Point, cls: str = "", tip: str = "") -> None:
        """An invisible node at which curves begin and end."""
        if id in self.placed:
            return
        self.placed.add(id)
        self.at[id] = at
        more = {"class": cls, "tooltip": tip} if cls else {}
        self.picture.nodes.append(
            Node(id, at, {"shape": "point", "style": "invis", "width": "0.5", "height": "0.5", **more})
        )
        self.include((at[0], at[1], at[0], at[1]))

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
        self.occupied.take((x - 4, y - 4, x + 4, y + 4))
        self.include((x - 3, y - 3, x + 3, y + 3))

    def across(self, wire: Wire, x0: float, x1: float, y: float) -> None:
        """A wire once more, over the glyph through which it runs."""
        attributes = {"shape": "box", "style": "filled", "fillcolor": self.color(wire), "penwidth": "0",
                      "width": f"{x1 - x0:.2f}", "height": f"{theme.PENS[wire.kind]:g}", "class": "wire"}  # fmt: skip
        self.picture.nodes.append(Node(f"t{len(self.picture.nodes)}", ((x0 + x1) / 2, y), attributes))

    def box(self, id: str, box: Box, fill: str, cls: str, tip: str) -> None:
        self.shape(id, box, cls, tip, shape="box", style="filled", fillcolor=fill, penwidth="1")

    def disc(
        self, id: str, at: Point, radius: float, cls: str, tip: str, fill: str = "white", pen: str = "1.3"
    ) -> None:
        box = (at[0] - radius, at[1] - radius, at[0] + radius, at[1] + radius)
        self.shape(id, box, cls, tip, shape="circle", style="filled", fillcolor=fill, penwidth=pen)

    def rounded(
        self, id: str, box: Box, fill: str, cls: str, tip: str, *, dashed: bool = False, pen: str = "1.1"
    ) -> None:
        style = "filled,rounded" + (",dashed" if dashed else "")
        self.shape(id, box, cls, tip, shape="box", style=style, fillcolor=fill, penwidth=pen)

    def shape(self, id: str, box: Box, cls: str, tip: str, *, covers: bool = True, **attributes: str) -> None:
        x0, y0, x1, y1 = box
        self.placed.add(id)
        attributes = {
            **attributes,
            "width": f"{x1 - x0:.3f}",
            "height": f"{y1 - y0:.3f}",
            "class": cls,
            "id": id,
            "tooltip": tip,
        }
        self.picture.nodes.append(Node(id, ((x0 + x1) / 2, (y0 + y1) / 2), attributes))
        if covers:
            self.occupied.take((x0 - 1.5, y0 - 1.5, x1 + 1.5, y1 + 1.5))
            self.glyphs.append((id, box, self.step))
        self.include(box)

    def write(self, x: float, y: float, text: Rich, size: float, *, color: str = "", cls: str = "text") -> Box:
        """Text centred on a point. Raised and lowered runs are nodes of their own, and so are lines of several runs."""
        if len(text) > 1 and "\n" in plain(text):
            own = rows(text)
            top = y - (len(own) - 1) * LEADING * size / 2
            boxes = [self.write(x, top + k * LEADING * size, row, size, color=color, cls=cls)
                     for k, row in enumerate(own)]  # fmt: skip
            return min(b[0] for b in boxes), boxes[0][1], max(b[2] for b in boxes), boxes[-1][3]
        count = plain(text).count("\n") + 1
        total = width(text, size)
        box = (x - total / 2, y - size * 0.55 * count, x + total / 2, y + size * 0.45 * count)
        self.occupied.take(box)
        self.include((box[0] - 0.02 * total, box[1], box[2] + 0.02 * total, box[3]))  # fonts differ
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
            attributes = {
                "shape": "plaintext",
                "fontsize": f"{small:.2f}",
                "width": "0",
                "height": "0",
                "margin": "0",
                "fixedsize": "false",
                "class": cls,
            }
            if color:
                attributes["fontcolor"] = color
            text_only = plain(rich)
            lead = width((Run(text_only[: len(text_only) - len(text_only.lstrip())]),), small)
            trail = width((Run(text_only[len(text_only.rstrip()) :]),), small)
            middle = x if len(parts) == 1 else at + lead + (wide - lead - trail) / 2
            level = (Run(text_only.strip(), part[0].style),)
            self.picture.nodes.append(Node(f"t{len(self.picture.nodes)}", (middle, y - raise_by), attributes, level))
            at += wide + kern(part[0], size)
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
        self.occupied.take((x - long / 2, y - high / 2, x + long / 2, y + high / 2))
        self.include((x - long / 2, y - high / 2, x + long / 2, y + high / 2))

    def arrow(self, tail: str, head: str, a: Point, b: Point, tip: str, *, at_start: bool = False) -> None:
        """A line with an arrowhead, for what is no axis: a scale, an index, a function of each element."""
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
        self.occupied.trace(sampled(chain))

    def stroke(self, id: str, chain: list[Point], color: str, pen: str = "1.35", cls: str = "legend") -> None:
        """A curve that is no wire."""
        self.point(f"{id}_1", chain[0])
        self.point(f"{id}_2", chain[-1])
        attributes = {"color": color, "penwidth": pen, "class": cls}
        self.picture.edges.append(Edge(f"{id}_1", f"{id}_2", chain, attributes))
        self.occupied.trace(sampled(chain))

    def line(self, a: float, b: float, y: float, color: str, pen: str) -> None:
        self.stroke(f"l{len(self.picture.edges)}", [(a, y), *straight((a, y), (b, y))], color, pen)

    def color(self, wire: Wire) -> str:
        if wire.axis is None:
            return self.theme.ink
        return self.theme.width if wire.axis.is_width else self.theme.depth

    def ink(self, axis: Axis) -> str:
        """The colour of an axis's label."""
        return self.theme.width if axis.is_width else self.theme.label

    def include(self, box: Box) -> None:
        x0, y0, x1, y1 = self.extent
        self.extent = (min(x0, box[0]), min(y0, box[1]), max(x1, box[2]), max(y1, box[3]))

    def bar(self, label: str, x: float, y: float, size: float, color: str) -> None:
        """The bar over a width's label that begins at `x`, drawn as a line: fonts place accents on tall letters badly,
        and macrons over several letters would not join."""
        begin, wide, high = bar_over(label, size)
        x, y = x + begin + wide / 2, y - high
        attributes = {
            "shape": "box",
            "style": "filled",
            "fillcolor": color,
            "penwidth": "0",
            "width": f"{wide:.2f}",
            "height": f"{0.044 * size:.2f}",
            "class": "label width",
        }
        self.picture.nodes.append(Node(f"t{len(self.picture.nodes)}", (x, y), attributes))
        self.occupied.take((x - wide / 2, y - 1, x + wide / 2, y + 1))
        self.include((x - wide / 2, y - 0.4, x + wide / 2, y + 0.4))
