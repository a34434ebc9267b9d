"""Folding: where a figure too wide for the page goes on in a row beneath.

The best places are the borders of repeats; a fold within a region is the last resort. Rows get about equal lengths.
Where the author says that a row begins, one does.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..scene.steps import Section, StepKind
from .wires import Column, Wire

CUT = 60.0  # what one more row costs
EMPTY = 30.0  # points that the start and the end of a row take


def fold(columns: Sequence[Column], widths: Sequence[float], page: float) -> tuple[list[list[Column]], float]:
    """The columns as rows, and what the folds cost; a fold adds an empty column on both its sides.

    `widths` and `page` in points.
    """
    n = len(columns)
    begins = {j for j, column in enumerate(columns) if j and any(step.breaks for step in column.steps)}
    if sum(widths) <= page and not begins:
        return [list(columns)], 0.0
    prices = [_price(columns, j) for j in range(n - 1)]
    best: list[tuple[float, int]] = [(0.0, 0)]  # cost of the first i columns, start of their last row
    for i in range(1, n + 1):
        length = 0.0
        cheapest: tuple[float, int] | None = None
        for start in range(i - 1, -1, -1):
            length += widths[start]
            total = length + (EMPTY if start else 0) + (EMPTY if i < n else 0)
            over = max(0.0, total - page)
            if over and start < i - 1 and cheapest is not None:
                break
            slack = (page - total) / page if total < page else 0.0
            cost = best[start][0] + CUT + 12 * slack * slack + 3 * over
            cost += prices[start - 1] if start and start not in begins else 0.0
            if cheapest is None or cost < cheapest[0]:
                cheapest = cost, start
            if start in begins:
                break
        assert cheapest is not None
        best.append(cheapest)
    cuts = []
    i = n
    while i > 0:
        start = best[i][1]
        cuts.append((start, i))
        i = start
    rows = []
    for start, end in reversed(cuts):
        row = list(columns[start:end])
        if start:
            row.insert(0, _empty(columns[start - 1]))
        if end < n:
            row.append(_empty(columns[end - 1]))
        rows.append(row)
    return rows, CUT * (len(rows) - 1) + sum(prices[start - 1] for start, _ in cuts if start)


def _empty(column: Column) -> Column:
    tracks = list(column.all)
    return Column([], tracks, tracks, tracks, dict(column.after), dict(column.after), dict(column.strands))


def _price(columns: Sequence[Column], j: int) -> float:
    """What a fold after column j costs."""
    here, there = columns[j], columns[j + 1]
    price = 0.4 * sum(isinstance(track, Wire) for track in here.all)
    live = [here.after.get(track.number) for track in here.all if isinstance(track, Wire)]
    scopes = [section for section in live if section is not None]
    deepest = max((_depth(s) for s in scopes), default=0)
    price += 6.0 * deepest
    if any(not s.repeat for s in scopes):
        price += 12.0
    # A fold right behind or before a bracket would leave only a column or two of the repeat on a row.
    for near in (columns[j + 1 : j + 4], columns[max(0, j - 2) : j + 1]):
        for column in near:
            ends = StepKind.EXIT if near[0] is there else StepKind.ENTER
            if any(s.kind is ends and s.mark == "bracket" for s in column.steps) and deepest and column is not here:
                price += 25.0
    for step in here.steps:
        if step.kind is StepKind.COPY:
            price += 12.0
        if step.kind is StepKind.EXIT and step.mark == "bracket":
            price -= 3.0
        if step.kind is StepKind.ENTER:
            price += 15.0
    for step in there.steps:
        if step.kind is StepKind.JOIN:
            price += 12.0
        if step.kind in (StepKind.EXIT, StepKind.SINK):
            price += 15.0
        if step.kind is StepKind.COPY:
            price -= 2.0
    return max(price, 0.0)


def _depth(section: Section | None) -> int:
    depth = 0
    while section is not None:
        depth += 1
        section = section.parent
    return depth
