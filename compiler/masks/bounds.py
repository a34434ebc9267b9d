"""Which keys a mask of positions lets queries see, as bounds of a loop along the keys.

Each part of a mask that `and` joins and that says `a query + b key + c <= 0`, with a and b of -1, 0 and 1, bounds the
keys on one side: what no query of a tile sees is left out. What else a mask says bounds nothing: then no tile is known
to be seen whole.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, floor

from ..graph.term import Predicate, Term, TermOp, conjuncts, plain
from ..sizes.functions import Compared, Magnitude
from .kinds import linear


@dataclass(frozen=True, slots=True)
class KeyBound:
    """`key <= slope * query + shift`, or `>=` where `least`."""

    least: bool
    slope: int
    shift: int


@dataclass(frozen=True, slots=True)
class KeyBounds:
    """All sides known; whole: whether these are all that the mask says."""

    sides: tuple[KeyBound, ...]
    whole: bool


def key_bounds(mask: Predicate) -> KeyBounds:
    """What a mask says of the keys that a query sees."""
    found: list[KeyBound] = []
    whole = True
    for part in conjuncts(plain(mask.term)):
        these = _of(part, mask)
        whole = whole and these is not None
        found += these or []
    return KeyBounds(tuple(found), whole)


def turned(these: KeyBounds) -> KeyBounds:
    """The same of the queries that see a key: bounds along the queries."""
    found = []
    for side in these.sides:
        if side.slope == 1:  # key <= query + c: query >= key - c
            found.append(KeyBound(not side.least, 1, -side.shift))
        elif side.slope == -1:  # key <= c - query: query <= c - key
            found.append(KeyBound(side.least, -1, side.shift))
    return KeyBounds(tuple(found), these.whole and len(found) == len(these.sides))


def _of(part: Term, mask: Predicate) -> list[KeyBound] | None:
    if not isinstance(part, TermOp) or not isinstance(part.meaning, Compared):
        return None
    sign, (left, right) = part.meaning.sign, part.args
    if sign in (">", ">="):
        sign, left, right = {">": "<", ">=": "<="}[sign], right, left
    if sign == "==":
        first = _of(TermOp(Compared("<="), (left, right)), mask)
        second = _of(TermOp(Compared("<="), (right, left)), mask)
        return None if first is None or second is None else first + second
    if sign not in ("<", "<="):
        return None
    if isinstance(left, TermOp) and isinstance(left.meaning, Magnitude):
        inner, most = linear(left.args[0], mask), linear(right, mask)
        if inner is None or most is None or inner[3] or most[3] or most[0] or most[1]:
            return None
        number = ceil(most[2]) - 1 if sign == "<" else floor(most[2])
        upper = _side(inner[0], inner[1], inner[2] - number)
        lower = _side(-inner[0], -inner[1], -inner[2] - number)
        return None if upper is None or lower is None else [upper, lower]
    a, b = linear(left, mask), linear(right, mask)
    if a is None or b is None or a[3] or b[3]:
        return None
    rest = a[2] - b[2]
    rest = floor(rest) + 1 if sign == "<" else ceil(rest)  # x < 0 of whole numbers is x + 1 <= 0
    side = _side(a[0] - b[0], a[1] - b[1], rest)
    return None if side is None else [side]


def _side(query: int, key: int, rest: int | float) -> KeyBound | None:
    """Of `query * q + key * k + rest <= 0`."""
    if abs(key) != 1 or abs(query) > 1 or rest != int(rest):
        return None
    # k <= -query q - rest, or -k <= ..: k >= query q + rest
    return KeyBound(False, -query, -int(rest)) if key == 1 else KeyBound(True, query, int(rest))
