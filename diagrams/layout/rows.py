"""Folding: where a figure too wide for the page goes on in a row beneath.

The rows are the cheapest ones, found by dynamic programming. A row costs what it leaves empty, and the more so where it
is filled by less than `FILLED`. A fold costs the wires and the sections that it cuts, and what it takes from what
belongs to it: a copy from its branches, a sum from its operands, a bracket from what it holds, an input from the first
step that reads it. The last row may be short. Where the author says that a row begins, one does.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from itertools import accumulate

from ..scene.steps import DrawStep, Section, StepKind
from .wires import Column, Wire

FILLED = 0.6  # of the longest row: what every row but the last should fill
CUT = 60.0  # what one more row costs
END = 18.0  # points that the end of a row takes where it goes on in another one
_STRANDED = 40.0  # what it costs to part an input from the first step that reads it
_LENGTHS = (1.0, 0.94, 0.88, 0.82, 0.76, 0.7, 0.64, 0.58)  # how long the longest row may be, of the longest possible
_LONG = 400  # columns: so many are tried with the longest rows alone
_MOST = 60  # columns of a row, at most

Cuts = list[tuple[int, int]]


def fold(
    columns: Sequence[Column], widths: Sequence[float], starts: Sequence[float], page: float,
    stranded: Sequence[int] = (),
) -> tuple[list[list[Column]], list[float]]:  # fmt: skip
    """The columns as rows, and the price of each fold; a fold adds an empty column on both its sides.

    widths, page: in points, of each column and of the longest row.
    starts:       what a row needs before each column for the labels of wires that come from another row.
    stranded:     how many inputs a fold after each column parts from their readers.
    """
    n = len(columns)
    begins = {j for j, column in enumerate(columns) if j and any(step.breaks for step in column.steps)}
    if sum(widths) <= page and not begins:
        return [list(columns)], []
    prices = [_price(columns, j) for j in range(n - 1)]
    for j, count in enumerate(stranded[: n - 1]):
        prices[j] += _STRANDED * count
    for j in begins:
        prices[j - 1] = 0.0
    best: tuple[float, Cuts] | None = None
    for share in _LENGTHS if n < _LONG else _LENGTHS[:1]:
        cuts = _cheapest(widths, starts, prices, page * share, begins)
        lengths = [sum(widths[a:b]) + (starts[a] if a else 0.0) + (END if b < n else 0.0) for a, b in cuts]
        found = cost(lengths, [prices[a - 1] for a, _ in cuts[1:]], page)
        if best is None or found < best[0] - 1e-9:
            best = found, cuts
    assert best is not None
    rows = []
    for start, end in best[1]:
        row = list(columns[start:end])
        if start:
            row.insert(0, _empty(columns[start - 1]))
        if end < n:
            row.append(_empty(columns[end - 1]))
        rows.append(row)
    return rows, [prices[start - 1] for start, _ in best[1][1:]]


def cost(lengths: Sequence[float], prices: Sequence[float], page: float) -> float:
    """What rows of such lengths cost, with the folds between them."""
    longest = max(lengths)
    rows = sum(_row(length, longest, page) for length in lengths[:-1]) + _row(lengths[-1], longest, page, last=True)
    return rows + sum(prices)


def _row(length: float, longest: float, page: float, *, last: bool = False) -> float:
    empty = max(0.0, 1 - length / longest)
    ragged = 0.0 if last else 40.0 + 300 * (FILLED - 1 + empty) if empty > 1 - FILLED else 0.0
    return CUT + (3 if last else 12) * empty * empty + ragged + 3 * max(0.0, length - page)


def _cheapest(
    widths: Sequence[float], starts: Sequence[float], prices: Sequence[float], longest: float, begins: Collection[int]
) -> Cuts:
    """Begin and end of each row, none longer than `longest` unless a column alone is. `begins`: where a row must."""
    n = len(widths)
    upto = [0.0, *accumulate(widths)]
    best: list[tuple[float, int]] = [(0.0, 0)]  # cost of the first i columns, start of their last row
    for i in range(1, n + 1):
        cheapest = float("inf"), i - 1
        for start in range(i - 1, max(-1, i - _MOST), -1):
            length = upto[i] - upto[start] + (starts[start] if start else 0.0) + (END if i < n else 0.0)
            if length > longest and start < i - 1:
                break
            found = best[start][0] + _row(length, longest, longest, last=i == n) + (prices[start - 1] if start else 0.0)
            if found < cheapest[0]:
                cheapest = found, start
            if start in begins:
                break
        best.append(cheapest)
    cuts: Cuts = []
    i = n
    while i > 0:
        cuts.append((best[i][1], i))
        i = best[i][1]
    return cuts[::-1]


def waiting(columns: Sequence[Sequence[DrawStep]]) -> dict[int, tuple[int, int]]:
    """Of each input (a step, by id): its column, and that of the first step that reads it.

    A copy does not read, nor the border of a region; the bracket of a repeat does: a note there says that the value is
    the same in every pass.
    """
    at = {id(step): j for j, column in enumerate(columns) for step in column}
    readers: dict[int, list[DrawStep]] = {}
    for column in columns:
        for step in column:
            for tensor in step.ins:
                readers.setdefault(id(tensor), []).append(step)

    def first(step: DrawStep, tensors: Collection[int]) -> int:
        found = len(columns)
        for key in tensors:
            for reader in readers.get(key, ()):
                if reader.kind is StepKind.COPY:
                    found = min(found, first(reader, [id(t) for t in reader.outs]))
                elif reader.kind in (StepKind.ENTER, StepKind.EXIT) and reader.mark != "bracket":
                    through = [id(b) for a, b in zip(reader.ins, reader.outs, strict=False) if id(a) == key]
                    found = min(found, first(reader, through))
                else:
                    found = min(found, at[id(reader)])
        return found

    inputs = [step for column in columns for step in column if step.kind is StepKind.SOURCE and step.mark == "input"]
    return {id(step): (at[id(step)], first(step, [id(t) for t in step.outs])) for step in inputs}


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
