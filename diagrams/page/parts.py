"""A sheet as rows of SVG, each piece of which says what it is a part of: a glyph, a wire, or neither."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from ..base.picture import Box, Node, Point
from ..base.pieces import expanded
from ..canvas.drawing import Canvas
from ..formats.svg import SvgWriter
from ..layout.wires import Wire
from ..scene.steps import StepKind

_OP, _WIRE, _HEAD = re.compile(r"op[0-9]+_[0-9]+"), re.compile(r"(?:^| )w([0-9]+)(?: |$)"), re.compile(r"w([0-9]+)[se]")
_NEAR = 90.0  # text is that of a glyph no further away
_OWN = ("dash", "shared", "legend", "where", "note", "title")  # pieces that are no part of a glyph or wire

Part = tuple[str, int]
"""("s", the step's place in the scene), ("w", the wire's number), or a class and 0."""


End = tuple[int, int]
"""A step that makes or reads a wire, and which of its operands or results the wire is a part of."""


@dataclass
class Drawing:
    """left, right: sides.   rows: of each the heights between which it stands, and its SVG.
    boxes: of each closed block, by its step, its sides and its row."""

    left: float
    right: float
    rows: list[tuple[float, float, str]]
    boxes: dict[int, tuple[float, float, float, float, int]]

    def data(self) -> dict[str, object]:
        rows = [[round(a, 1), round(b, 1), svg] for a, b, svg in self.rows]
        boxes = {str(k): [round(v, 1) for v in box] for k, box in self.boxes.items()}
        return {"x": [round(self.left, 1), round(self.right, 1)], "rows": rows, "boxes": boxes}


@dataclass
class _Piece:
    at: Point
    part: Part | None
    svg: str
    node: Node | None = None


class PartFinder:
    """Finds which part of a sheet each piece of its picture is."""

    def __init__(self, sheet: Canvas) -> None:
        self.sheet = sheet
        self.steps = {id(step): k for k, step in enumerate(sheet.scene.steps)}
        self.ops = {slot.id: self.steps[step] for step, slot in sheet.slots.items()}
        self.boxes: dict[int, Box] = {}  # of each step, about what is drawn of it
        self.wires: dict[int, Wire] = {}
        self.made: dict[int, list[End]] = {}  # by the numbers of wires
        self.read: dict[int, list[End]] = {}
        for step in (step for column in sheet.columns for step in column.steps):
            meeting = sheet.meetings[id(step)]
            for ends, side in ((self.made, meeting.outs), (self.read, meeting.ins)):
                for place, own in enumerate(side):
                    self.wires |= {wire.number: wire for wire in own}
                    for wire in own:
                        ends.setdefault(wire.number, []).append((self.steps[id(step)], place))

    def named(self, name: str, cls: str) -> Part | None:
        """By the name of a node, and its class."""
        if (wire := _WIRE.search(cls) or _HEAD.match(name)) is not None:
            return "w", int(wire[1])
        if cls in _OWN:
            return cls, 0
        op = _OP.match(name)
        return ("s", self.ops[op[0]]) if op is not None and op[0] in self.ops else None

    def meet(self, part: Part | None, box: Box) -> None:
        if part is not None and part[0] == "s":
            a, b = self.boxes.get(part[1], box), box
            self.boxes[part[1]] = min(a[0], b[0]), min(a[1], b[1]), max(a[2], b[2]), max(a[3], b[3])

    def near(self, node: Node) -> Part | None:
        """Of text, by where it stands: the label of a wire, or a word at a glyph."""
        (x, y), cls = node.at, node.attributes.get("class", "")
        if cls.startswith(("label", "wire")):
            runs = [(abs(run.y - y), run.wire.number) for run in self.sheet.runs if run.x0 - 6 <= x <= run.x1 + 6]
            return ("w", min(runs)[1]) if runs and min(runs)[0] < 26 else ("legend", 0)

        def far(box: Box) -> float:
            return max(box[0] - x, x - box[2], 0.0) + max(box[1] - y, y - box[3], 0.0)

        found = min(((far(box), step) for step, box in self.boxes.items()), default=None)
        return ("s", found[1]) if found is not None and found[0] < _NEAR else ("note", 0)


def drawing(sheet: Canvas, writer: SvgWriter) -> Drawing:
    """What is drawn of a sheet, row by row."""
    finder = PartFinder(sheet)
    pieces = list(_pieces(sheet, writer, finder))
    for piece in pieces:
        if piece.part is None and piece.node is not None:
            piece.part = finder.near(piece.node)
    x0, y0, x1, y1 = sheet.extent
    lows = [low for _, low in sheet.heights[: len(sheet.rows)]][:-1]
    edges = [y0, *lows, y1]
    rows: list[list[_Piece]] = [[] for _ in edges[1:]]
    for piece in pieces:
        rows[sum(low <= piece.at[1] for low in lows)].append(piece)
    boxes = {}
    for name, box, step in sheet.glyphs:
        if step.kind is StepKind.BOX and _OP.fullmatch(name):
            row = sum(low <= (box[1] + box[3]) / 2 for low in lows)
            boxes[finder.steps[id(step)]] = (*box, row)
    written = [(top, low, _grouped(own, finder)) for top, low, own in zip(edges, edges[1:], rows, strict=False)]
    return Drawing(x0, x1, written, boxes)


def _pieces(sheet: Canvas, writer: SvgWriter, finder: PartFinder) -> Iterator[_Piece]:
    picture = sheet.picture
    for cluster in picture.clusters:
        x0, y0, x1, y1 = cluster.box
        yield _Piece(((x0 + x1) / 2, (y0 + y1) / 2), None, writer.cluster(cluster))
    for edge in picture.edges:
        cls = edge.attributes.get("class", "")
        xs, ys = [p[0] for p in edge.points], [p[1] for p in edge.points]
        part = finder.named(edge.tail, cls) or finder.named(edge.head, cls)
        finder.meet(part, (min(xs), min(ys), max(xs), max(ys)))
        yield _Piece(((min(xs) + max(xs)) / 2, (min(ys) + max(ys)) / 2), part, writer.edge(edge))
    for node in picture.nodes:
        a = node.attributes
        text = a.get("shape") == "plaintext"
        part = finder.named(node.id, a.get("class", ""))
        wide, high = (0.0, 0.0) if text else (float(a["width"]) / 2, float(a["height"]) / 2)
        (x, y) = node.at
        if not (text and part is None):
            finder.meet(part, (x - wide, y - high, x + wide, y + high))
        svg = "".join(writer.node(each) for each in expanded(node, 1.0))
        if svg:
            yield _Piece(node.at, part, svg, node)


def _grouped(pieces: list[_Piece], finder: PartFinder) -> str:
    """Neighbours of one part in one group."""
    out: list[str] = []
    last: Part | None = None
    for k, piece in enumerate(pieces):
        if k == 0 or piece.part != last:
            out += ["</g>" if k else "", f"<g{_said(piece.part, finder)}>"]
        out.append(piece.svg)
        last = piece.part
    return "".join(out) + ("</g>" if pieces else "")


def _said(part: Part | None, finder: PartFinder) -> str:
    match part:
        case None:
            return ""
        case ("s", step):
            return f" data-s='{step}'"
        case ("w", number):
            return f" data-w='{number}'" if number in finder.wires else ""
        case (cls, _):
            return f" data-c='{cls}'"
