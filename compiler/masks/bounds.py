"""Which keys a mask of positions lets queries see, as bounds of a loop along the keys.

Each part of a mask that `and` joins and that says `a query + b key + c <= 0`, with a and b of -1, 0 and 1, bounds the
keys on one side: what no query of a tile sees is left out. What else a mask says bounds nothing: then no tile is known
to be seen whole. c may have one number of data in it that is the same for all pairs, where who asks has a name for it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import ceil, floor

from ..graph.term import Leaf, Number, Position, Predicate, Term, TermOp, change, conjuncts, parts, plain
from ..sizes.axes import Literal
from ..sizes.functions import Compared, Magnitude
from .kinds import linear


@dataclass(frozen=True, slots=True)
class KeyBound:
    """`key <= slope * query + shift + times * more`, or `>=` where `least`. more: the name of a number, or ""."""

    least: bool
    slope: int
    shift: int
    times: int = 0
    more: str = ""


@dataclass(frozen=True, slots=True)
class KeyBounds:
    """All sides known; whole: whether these are all that the mask says."""

    sides: tuple[KeyBound, ...]
    whole: bool


def key_bounds(mask: Predicate, names: Mapping[int, str] | None = None) -> KeyBounds:
    """What a mask says of the keys that a query sees. names: of values, by id, that are one number for all pairs."""
    found: list[KeyBound] = []
    whole = True
    for part in conjuncts(plain(mask.term)):
        these = _of(part, mask) or _by_number(part, mask, names or {})
        whole = whole and these is not None
        found += these or []
    return KeyBounds(tuple(found), whole)


def turned(these: KeyBounds) -> KeyBounds:
    """The same of the queries that see a key: bounds along the queries."""
    found = []
    for side in these.sides:
        if side.slope == 1:  # key <= query + c: query >= key - c
            found.append(replace(side, least=not side.least, shift=-side.shift, times=-side.times))
        elif side.slope == -1:  # key <= c - query: query <= c - key
            found.append(side)
    return KeyBounds(tuple(found), these.whole and len(found) == len(these.sides))


def _by_number(part: Term, mask: Predicate, names: Mapping[int, str]) -> list[KeyBound] | None:
    """Bounds by a number of data that stands once in a part: they move with it, so two of its values tell how."""
    found = [one for one in parts(part) if isinstance(one, Leaf)]
    if len(found) != 1 or found[0].value.id not in names:
        return None

    def sides(number: int) -> list[KeyBound] | None:
        def one(leaf: Position | Number | Leaf) -> Term:
            return Number(Literal(number)) if isinstance(leaf, Leaf) else leaf

        term = change(part, one)
        return None if term is None else _of(term, mask)

    first, second = sides(0), sides(1)
    if first is None or second is None:
        return None
    moves = [
        (a, b.shift - a.shift) for a, b in zip(first, second, strict=True) if (a.least, a.slope) == (b.least, b.slope)
    ]
    if len(moves) != len(first) or any(abs(times) != 1 for _, times in moves):
        return None
    return [replace(side, times=times, more=names[found[0].value.id]) for side, times in moves]


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
