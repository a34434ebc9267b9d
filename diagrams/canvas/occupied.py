"""Which parts of the sheet are drawn on, so that labels find a free place."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from ..base.picture import Box, Point

_CELL = 24.0


class Occupied:
    """Boxes and points of curves, sorted into a grid of cells so that a look-up is quick."""

    def __init__(self) -> None:
        self.boxes: dict[tuple[int, int], list[Box]] = {}
        self.points: dict[tuple[int, int], list[Point]] = {}

    def take(self, box: Box) -> None:
        for cell in _cells(box):
            self.boxes.setdefault(cell, []).append(box)

    def trace(self, points: Iterable[Point]) -> None:
        for p in points:
            self.points.setdefault((int(p[0] // _CELL), int(p[1] // _CELL)), []).append(p)

    def clear(self, p: Point) -> bool:
        """Whether no box covers the point."""
        cell = (int(p[0] // _CELL), int(p[1] // _CELL))
        return not any(x0 < p[0] < x1 and y0 < p[1] < y1 for x0, y0, x1, y1 in self.boxes.get(cell, ()))

    def free(self, box: Box, but: Collection[Point] = ()) -> bool:
        """Whether nothing is drawn there, but for curves through some points."""
        x0, y0, x1, y1 = box
        for cell in _cells(box):
            for a0, b0, a1, b1 in self.boxes.get(cell, ()):
                if x0 < a1 and a0 < x1 and y0 < b1 and b0 < y1:
                    return False
            for x, y in self.points.get(cell, ()):
                if x0 < x < x1 and y0 < y < y1 and (x, y) not in but:
                    return False
        return True


def _cells(box: Box) -> Iterable[tuple[int, int]]:
    x0, y0, x1, y1 = (int(v // _CELL) for v in box)
    return ((x, y) for x in range(x0, x1 + 1) for y in range(y0, y1 + 1))
