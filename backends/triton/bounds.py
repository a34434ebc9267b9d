"""Which columns the rows of a tile see at all, and which all of them see: the bounds of the loop, from the mask.

Each conjunct `a row + b column + c <= 0` with a, b of -1, 0, 1 bounds the columns on one side. Others bound nothing:
then no tile is known to be seen whole.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, floor

from ...compiler.graph.term import Predicate, Term, TermOp, conjuncts, plain
from ...compiler.masks.kinds import linear
from ...compiler.sizes.axes import Axis
from ...compiler.sizes.functions import Compared, Magnitude


@dataclass(frozen=True)
class ColumnBound:
    """`column <= slope * row + shift`, or `>=` where `least`."""

    least: bool
    slope: int
    shift: int


@dataclass(frozen=True)
class ColumnBounds:
    """All sides known; whole: whether these are all that the mask says."""

    sides: tuple[ColumnBound, ...]
    whole: bool


def sides(term: Term | None, masked: bool, rows: Axis, columns: Axis) -> ColumnBounds:
    """What a mask says of the columns that a row sees."""
    if term is None:
        return ColumnBounds((), not masked)
    found: list[ColumnBound] = []
    whole = True
    predicate = Predicate(rows, columns, term)
    for part in conjuncts(plain(term)):
        these = _of(part, predicate)
        whole = whole and these is not None
        found += these or []
    return ColumnBounds(tuple(found), whole)


def turned(these: ColumnBounds) -> ColumnBounds:
    """The same of the rows that see a column."""
    found = []
    for side in these.sides:
        if side.slope == 1:  # column <= row + c: row >= column - c
            found.append(ColumnBound(not side.least, 1, -side.shift))
        elif side.slope == -1:  # column <= c - row: row <= c - column
            found.append(ColumnBound(side.least, -1, side.shift))
    return ColumnBounds(tuple(found), these.whole and len(found) == len(these.sides))


def _of(part: Term, predicate: Predicate) -> list[ColumnBound] | None:
    if not isinstance(part, TermOp) or not isinstance(part.meaning, Compared):
        return None
    sign, (left, right) = part.meaning.sign, part.args
    if sign in (">", ">="):
        sign, left, right = {">": "<", ">=": "<="}[sign], right, left
    if sign == "==":
        first = _of(TermOp(Compared("<="), (left, right)), predicate)
        second = _of(TermOp(Compared("<="), (right, left)), predicate)
        return None if first is None or second is None else first + second
    if sign not in ("<", "<="):
        return None
    if isinstance(left, TermOp) and isinstance(left.meaning, Magnitude):
        inner, most = linear(left.args[0], predicate), linear(right, predicate)
        if inner is None or most is None or inner[3] or most[3] or most[0] or most[1]:
            return None
        number = ceil(most[2]) - 1 if sign == "<" else floor(most[2])
        upper = _side(inner[0], inner[1], inner[2] - number)
        lower = _side(-inner[0], -inner[1], -inner[2] - number)
        return None if upper is None or lower is None else [upper, lower]
    a, b = linear(left, predicate), linear(right, predicate)
    if a is None or b is None or a[3] or b[3]:
        return None
    rest = a[2] - b[2]
    rest = floor(rest) + 1 if sign == "<" else ceil(rest)  # x < 0 of whole numbers is x + 1 <= 0
    side = _side(a[0] - b[0], a[1] - b[1], rest)
    return None if side is None else [side]


def _side(row: int, column: int, rest: int | float) -> ColumnBound | None:
    """Of `row * r + column * c + rest <= 0`."""
    if abs(column) != 1 or abs(row) > 1 or rest != int(rest):
        return None
    # c <= -row r - rest, or -c <= ..: c >= row r + rest
    return ColumnBound(False, -row, -int(rest)) if column == 1 else ColumnBound(True, row, int(rest))


def _plus(text: str, number: int) -> str:
    if text.endswith(" - 1") and number == 1:
        return text[:-4]
    return text if not number else f"{text} {'+' if number > 0 else '-'} {abs(number)}"


def _at(side: ColumnBound, end: str) -> str:
    """The bound at one end of a tile of rows."""
    if side.slope == 0:
        return str(side.shift)
    return _plus(end, side.shift) if side.slope == 1 else f"{side.shift} - {end}"


def loop(
    these: ColumnBounds, first: str, last: str, size: str, block: str
) -> tuple[list[str], list[tuple[str, str, bool]]]:
    """Lines that compute the bounds of the loop, and its parts: where each begins and ends, and whether pairs in it
    must be looked at.

    first, last: the ends of the tile. size: how many columns there are. block: how many a tile has.
    """
    upper = [side for side in these.sides if not side.least]
    lower = [side for side in these.sides if side.least]
    lines = []
    low, high = "0", size
    if lower:
        for number, side in enumerate(lower):
            code = f"({_at(side, first if side.slope >= 0 else last)})"
            low = code if not number else f"tl.maximum({low}, {code})"
        lines.append(f"low = tl.maximum({low}, 0) // {block} * {block}")
        low = "low"
    if upper:
        for side in upper:
            high = f"tl.minimum({high}, {_plus(_at(side, last if side.slope >= 0 else first), 1)})"
        lines.append(f"high = {high}")
        high = "high"
    if not these.whole:
        return lines, [(low, high, True)]
    whole_to = size
    for side in upper:
        whole_to = f"tl.minimum({whole_to}, {_plus(_at(side, first if side.slope >= 0 else last), 1)})"
    lines.append(f"whole_to = {f'tl.maximum({whole_to}, 0)' if upper else whole_to} // {block} * {block}")
    if not lower:
        return lines, [("0", "whole_to", False), ("whole_to", high, True)]
    whole_from = low
    for side in lower:
        whole_from = f"tl.maximum({whole_from}, {_at(side, last if side.slope >= 0 else first)})"
    lines += [
        f"whole_from = tl.minimum(tl.cdiv({whole_from}, {block}), tl.cdiv({high}, {block})) * {block}",
        "whole_from = tl.maximum(whole_from, low)",
        "whole_to = tl.maximum(whole_to, whole_from)",
    ]
    return lines, [(low, "whole_from", True), ("whole_from", "whole_to", False), ("whole_to", high, True)]
