"""Strokes across wires. Graphviz has no pattern along an edge that keeps the wire whole (dashes are what stands between
tensors). So each stroke is an edge of its own. They need no colour.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, pairwise
from math import atan2, cos, hypot, pi, sin
from typing import Protocol

from ...base.curves import sampled, straight
from ...base.picture import Edge, Point
from ...canvas.drawing import Canvas
from ...layout.wires import Wire
from ...scene.tensors import Tensor

EVERY = 15.0  # points from one group of strokes to the next
REACHES = (4.0, 2.5)  # half of a stroke's length; where there is no room for any, as between a dot and a row's end
_END = 6.0  # of a wire that stays bare

Marked = Callable[[Tensor, Wire], tuple[int, ...]]
"""The marks of a wire of a tensor, each a number of a look; none where it is bare."""


@dataclass(frozen=True)
class Strokes:
    """One group of strokes.

    angle:  of each stroke with the wire, in degrees; None: the stroke is a point to the right, `>`.
    beside: where they stand beside one another.
    """

    angle: float | None
    beside: tuple[float, ...]
    tip: str
    pen: str = "0.9"

    @property
    def half(self) -> float:
        """Half of the length that must be free."""
        return 3.5 if max(map(abs, self.beside)) <= 1.5 else 5.5

    def chain(self, at: Point, along: float, reach: float) -> list[Point]:
        """The corners of a stroke. along: the angle of the wire."""
        if self.angle is None:
            back, side = reach * 0.8, reach * 0.85
            u, v = (cos(along), sin(along)), (-sin(along), cos(along))
            ends = [(at[0] - back * u[0] + k * side * v[0], at[1] - back * u[1] + k * side * v[1]) for k in (-1, 1)]
            return [ends[0], at, ends[1]]
        dx, dy = reach * cos(along + self.angle * pi / 180), reach * sin(along + self.angle * pi / 180)
        return [(at[0] - dx, at[1] - dy), (at[0] + dx, at[1] + dy)]


class Hatching(Protocol):
    """A way of hatching."""

    @property
    def looks(self) -> Sequence[Strokes]:
        """Those that there are."""

    def marked(self, sheet: Canvas) -> Marked:
        """What marks the wires of a sheet."""


def hatch(sheet: Canvas, hatching: Hatching) -> frozenset[int]:
    """Hatch all wires that are marked. The marks that any has."""
    split, found = _split(sheet, hatching.marked(sheet)), set[int]()
    for (wire, curve), row in zip(tuple(sheet.curves), tuple(sheet.rows_of), strict=True):
        if wire.axis is None:
            continue
        points = _dense(curve)
        middles = [(sheet.left[j] + sheet.right[j]) / 2 for j in row]
        runs: list[tuple[tuple[int, ...], list[Point]]] = []
        for p in points:
            j = max((j for j, middle in zip(row, middles, strict=True) if middle <= p[0]), default=row[0] - 1)
            near = chain(range(j, row[0] - 2, -1), range(j + 1, row[-1] + 1))  # a copy bends away before it is known
            by = next((split[wire.number, k] for k in near if (wire.number, k) in split), ())
            if not runs or runs[-1][0] != by:
                runs.append((by, []))
            runs[-1][1].append(p)
        for by, run in runs:
            if by:
                found |= {*by}
                looks = [hatching.looks[number % len(hatching.looks)] for number in by]
                strokes(sheet, run, looks, sheet.color(wire), own=points)
    return frozenset(found)


def strokes(
    sheet: Canvas, run: Sequence[Point], looks: Sequence[Strokes], color: str, own: Sequence[Point] | None = None
) -> None:
    """Strokes along points that lie close, where nothing else is drawn; of several looks, in turn."""
    for reach in REACHES:
        if _strokes(sheet, run, looks, color, own, reach):
            return


def _strokes(
    sheet: Canvas, run: Sequence[Point], looks: Sequence[Strokes], color: str, own: Sequence[Point] | None, reach: float
) -> int:
    """How many there was room for."""
    done, number, own_points = -EVERY + _END, 0, set(own or ())
    far = 0.0
    for a, b in pairwise(run):
        far += hypot(b[0] - a[0], b[1] - a[1])
        if far - done < EVERY or (run[-1][0] - a[0] < _END and own is not None):
            continue
        look = looks[number % len(looks)]
        half = look.half
        box = (a[0] - half, a[1] - reach + 0.5, a[0] + half, a[1] + reach - 0.5)
        if own is not None and not sheet.occupied.free(box, own_points):
            continue
        done, number = far, number + 1
        along = atan2(b[1] - a[1], b[0] - a[0])
        for shift in look.beside:
            x, y = a[0] + shift * cos(along), a[1] + shift * sin(along)
            corners = look.chain((x, y), along, reach)
            id = f"h{len(sheet.picture.edges)}"
            sheet.point(f"{id}_1", corners[0])
            attributes = {"color": color, "penwidth": look.pen, "class": "hatch", "tooltip": look.tip}
            sheet.picture.edges.append(Edge(f"{id}_1", f"{id}_1", _through(corners), attributes))
    return number


def _through(corners: Sequence[Point]) -> list[Point]:
    return [corners[0], *(point for a, b in pairwise(corners) for point in straight(a, b))]


def _dense(curve: list[Point]) -> list[Point]:
    """Points of a curve, one in about each point of its length; those that are traced as drawn among them."""
    found: list[Point] = []
    for a, b in pairwise(sampled(curve)):
        count = max(1, int(hypot(b[0] - a[0], b[1] - a[1])))
        found += [(a[0] + (b[0] - a[0]) * k / count, a[1] + (b[1] - a[1]) * k / count) for k in range(count)]
    return [*found, curve[-1]]


def _split(sheet: Canvas, marked: Marked) -> Mapping[tuple[int, int], tuple[int, ...]]:
    """The marks of a wire behind each column, by its number and that of the column."""
    found: dict[tuple[int, int], tuple[int, ...]] = {}
    now: dict[int, tuple[int, ...]] = {}
    for j, column in enumerate(sheet.columns):
        for step in column.steps:
            meeting = sheet.meetings[id(step)]
            for tensors, wires, at in ((step.ins, meeting.ins, j - 1), (step.outs, meeting.outs, j)):
                for tensor, own in zip(tensors, wires, strict=False):
                    for wire in own:
                        by = marked(tensor, wire)
                        if at == j:
                            now[wire.number] = by
                        else:  # where it has come from as it is
                            found[wire.number, at] = by
        for track in column.right:
            if isinstance(track, Wire):
                found.setdefault((track.number, j), now.get(track.number, ()))
    return found
