"""Shapes that Graphviz does not have, made of boxes and diamonds: the box with a cut corner, the grid of a mask.

Graphviz rounds the sizes of nodes to whole points. So every piece is a whole number of points wide and high on paper:
then no gap shows between neighbours.
"""

from __future__ import annotations

from math import ceil

from .picture import Node

LINE = 0.5  # points on paper: the outline of a cut box


def expanded(node: Node, scale: float) -> list[Node]:
    """The node as nodes of shapes that Graphviz has; `scale` is of the drawing to paper."""
    match node.attributes.get("shape"):
        case "cut":
            return _cut(node, scale)
        case "grid":
            return _grid(node, scale)
        case _:
            return [node]


class _Pieces:
    """Collects boxes and diamonds. Their positions are points on paper, counted from the middle of the node."""

    def __init__(self, node: Node, scale: float) -> None:
        self.node, self.scale = node, scale
        self.nodes: list[Node] = []

    def add(self, shape: str, x: float, y: float, wide: float, high: float, fill: str, **more: str) -> None:
        """A piece whose middle is at (`x`, `y`)."""
        attributes = {k: v for k, v in self.node.attributes.items() if k not in _OWN}
        if self.nodes:
            attributes["id"] = f"{self.node.id}_{len(self.nodes)}"
        attributes.update(shape=shape, style="filled", fillcolor=fill, color=fill, penwidth="0", **more)
        attributes.update(width=f"{wide / self.scale:.4f}", height=f"{high / self.scale:.4f}")
        at = self.node.at[0] + x / self.scale, self.node.at[1] + y / self.scale
        self.nodes.append(Node(attributes["id"], at, attributes))


_OWN = ("shape", "width", "height", "cut", "cells", "tones", "fillcolor", "color", "style", "penwidth")


def _cut(node: Node, scale: float) -> list[Node]:
    """A box without its lower left corner, drawn in ink and once more, a little smaller, in its tint. Two overlapping
    boxes cover all of it but a triangle at the corner; a diamond covers that, and its lower left side is the cut."""
    a = node.attributes
    wide, high = (max(6, ceil(float(a[k]) * scale - 0.1)) for k in ("width", "height"))
    cut = max(2, round(float(a["cut"]) * scale))
    out = _Pieces(node, scale)
    for inset, fill in ((0.0, a["color"]), (LINE, a["fillcolor"])):
        x0, x1, y0, y1 = -wide / 2 + inset, wide / 2 - inset, -high / 2 + inset, high / 2 - inset
        out.add("box", 0, (y0 + y1 - cut) / 2, x1 - x0, y1 - y0 - cut, fill)
        out.add("box", (x0 + cut + x1) / 2, (y0 + y1) / 2, x1 - x0 - cut, y1 - y0, fill)
        back = cut - 0.293 * inset  # so that the outline along the cut is as thick as elsewhere
        out.add("diamond", x0 + back, y1 - back, 2 * cut, 2 * cut, fill)
    return out.nodes


def _cell(length: float, count: int) -> int:
    """How many whole points each of `count` cells gets, so that together they take about `length`."""
    cell = max(1, round(length / count))
    return cell - 1 if cell > 1 and cell * count > length + 1 else cell


def _grid(node: Node, scale: float) -> list[Node]:
    """Rows of cells: `0` has the first of the two tones, `1` the second (the ground), `2` a chequered mix of both."""
    a = node.attributes
    rows = a["cells"].split("/")
    masked, ground = a["tones"].split()
    cell_x, cell_y = (_cell(float(a[k]) * scale, n) for k, n in (("width", len(rows[0])), ("height", len(rows))))
    wide, high = cell_x * len(rows[0]), cell_y * len(rows)
    out = _Pieces(node, scale)
    out.add("box", 0, 0, wide, high, ground)
    for i, row in enumerate(rows):
        j = 0
        while j < len(row):
            k = j
            while k < len(row) and row[k] == row[j]:
                k += 1
            above = bool(i) and set(rows[i - 1][j:k]) == {"0"}  # overlap, so that no seam shows
            if row[j] == "0":
                top, bottom = i * cell_y - (cell_y if above else 0), (i + 1) * cell_y
                out.add("box", (j + k) * cell_x / 2 - wide / 2, (top + bottom) / 2 - high / 2, (k - j) * cell_x,
                        bottom - top, masked)  # fmt: skip
            elif row[j] == "2":
                for c in range(j + (i + j) % 2, k, 2):
                    out.add("box", (c + 0.5) * cell_x - wide / 2, (i + 0.5) * cell_y - high / 2, cell_x, cell_y,
                            masked)  # fmt: skip
            j = k
    frame = {k: v for k, v in a.items() if k not in _OWN}
    frame.update(shape="box", style="", fillcolor="none", color=a["color"], penwidth=a["penwidth"], id=f"{node.id}_f",
                 width=f"{wide / scale:.4f}", height=f"{high / scale:.4f}")  # fmt: skip
    return [*out.nodes, Node(frame["id"], node.at, frame)]
