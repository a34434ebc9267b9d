"""Two models in one figure, one above the other, with what came, went and changed tinted."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from ...compiler.diff import Difference, DiffKind, DiffPart
from ...compiler.graph.nodes import Call, Graph, Scan, nested
from ..base import theme
from ..base.paper import Paper
from ..base.picture import Box, Node, Point
from ..base.text import bold, roman, width
from ..hints.hints import NONE, TINTS
from ..scene.opening import called
from ..scene.steps import Look, Marks
from .making import FigureMaker
from .notes import shade
from .sheet import Sheet, corners

LOOKS = {
    DiffKind.REMOVED: (TINTS["pink"], "\N{MINUS SIGN}"),
    DiffKind.CHANGED: (TINTS["yellow"], "\N{NOT EQUAL TO}"),
    DiffKind.ADDED: (TINTS["green"], "+"),
}
_NEW = "new_"  # before the names of what is drawn of the second
_APART = 30.0  # between the two
_LINE = 24.0  # of the legend


def beside(found: Difference, paper: Paper, colors: theme.Theme) -> Sheet:
    """The sheet of both. Blocks that differ within are open; what is the same is a box."""
    opened = tuple(name for part in found.parts for name in _opened(part))
    names = [found.old.name, found.new.name]
    if names[0] == names[1]:
        names = [f"{name} ({when})" for name, when in zip(names, ("old", "new"), strict=True)]

    def sheet(graph: Graph, places: Mapping[tuple[int, int], DiffKind], title: str) -> Sheet:
        marks = Marks({place: LOOKS[change] for place, change in places.items()}, LOOKS[DiffKind.CHANGED])
        own = tuple(name for name in dict.fromkeys(opened) if _has(graph, name))
        maker = FigureMaker(graph, NONE, own, (), None, paper, False, colors, title, False, False, None, marks)
        return maker.alone()

    above, below = sheet(found.old, found.old_places, names[0]), sheet(found.new, found.new_places, names[1])
    _append(above, below)
    _explain(above, names, above.tinted | below.tinted)
    above.picture.nodes += corners(above.extent)
    above.fit(paper)
    return above


def _opened(part: DiffPart) -> list[str]:
    """The blocks to open so that what differs within them is seen."""
    own = [part.new.name or part.new.graph.name] if isinstance(part.new, Call | Scan) and part.parts else []
    return [*own, *(name for inner in part.parts for name in _opened(inner))]


def _has(graph: Graph, name: str) -> bool:
    nodes = (node for each in nested(graph) for node in each.nodes if isinstance(node, Call | Scan))
    return any(node.graph.kind != "op" and name in called(node) for node in nodes)


def _append(above: Sheet, below: Sheet) -> None:
    """Draws the second beneath the first."""
    x0, _, _, y1 = above.extent
    left, top, right, bottom = below.extent
    dx, dy = x0 - left, y1 + _APART - top

    def point(p: Point) -> Point:
        return p[0] + dx, p[1] + dy

    def box(b: Box) -> Box:
        return (*point(b[:2]), *point(b[2:]))

    def look(attributes: dict[str, str]) -> dict[str, str]:
        return {**attributes, "id": f"{_NEW}{attributes['id']}"} if "id" in attributes else attributes

    into, of = above.picture, below.picture
    into.nodes = [node for node in into.nodes if not _is_corner(node)]
    into.nodes += [
        replace(node, id=_NEW + node.id, at=point(node.at), attributes=look(node.attributes))
        for node in of.nodes
        if not _is_corner(node)
    ]
    into.edges += [
        replace(
            edge, tail=_NEW + edge.tail, head=_NEW + edge.head, points=[*map(point, edge.points)],
            attributes=look(edge.attributes),
        )
        for edge in of.edges
    ]  # fmt: skip
    into.clusters += [
        replace(cluster, id=_NEW + cluster.id, box=box(cluster.box), label_at=point(cluster.label_at))
        for cluster in of.clusters
    ]
    above.include(box((left, top, right, bottom)))


def _is_corner(node: Node) -> bool:
    return node.id in ("page_1", "page_2")


def _explain(sheet: Sheet, names: list[str], drawn: set[Look]) -> None:
    """What the colours say: of those that are there."""
    said = {
        DiffKind.REMOVED: f"only in {names[0]}",
        DiffKind.CHANGED: "in both, and not the same",
        DiffKind.ADDED: f"only in {names[1]}",
    }
    x, _, _, y = sheet.extent
    y += _LINE
    for change, (color, sign) in LOOKS.items():
        if (color, sign) not in drawn:
            continue
        text = roman(said[change])
        wide = width(text, theme.CAPTION)
        box = (x, y - 8, x + 16, y + 8)
        look = {"shape": "box", "style": "filled", "penwidth": "0", "fillcolor": shade(sheet, color)}
        sheet.shape(f"legend_{change.name.lower()}", box, "legend", said[change], covers=False, **look)
        sheet.write(x + 8, y, bold(sign), theme.CAPTION, cls="legend")
        sheet.write(x + 22 + wide / 2, y, text, theme.CAPTION, cls="legend")
        x += wide + 44
