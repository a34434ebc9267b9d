"""Which keys a mask may let queries see, in interval arithmetic: as the runtime finds it, before there are arrays
(backends/runtime/common/spans.py).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

from ...graph.term import Leaf, Number, Position, Term, TermOp
from ...graph.traits import (
    Compared,
    Complement,
    Conjunction,
    Disjunction,
    Magnitude,
    Meaning,
    Product,
    Quotient,
    Remainder,
    Sum,
)
from ...graph.values import Scalar
from ...sizes.axes import Axis

Range = tuple[float, float]
"""The least and the largest that it may be. Of a truth value: whether it surely holds, and whether it may."""
UNKNOWN, UNSURE = (-math.inf, math.inf), (False, True)
Numbers = Callable[[Number | Leaf], float | None]
"""What numbers and data are; None where that is not known."""


def sight(term: Term, places: Mapping[Axis, Range], numbers: Numbers) -> tuple[bool, bool]:
    """Whether all pairs of positions of these ranges are seen, and whether any may be."""
    every, some = _range(term, places, numbers)
    return bool(every), bool(some)


def _range(term: Term, places: Mapping[Axis, Range], numbers: Numbers) -> Range:
    match term:
        case Position(axis):
            return places[axis]
        case Leaf(value) if numbers(term) is None:
            return UNSURE if value.type.element is Scalar.BOOL else UNKNOWN
        case Number() | Leaf():
            known = numbers(term)
            return UNKNOWN if known is None else (known, known)
        case TermOp(meaning, args):
            return _operation(meaning, [_range(arg, places, numbers) for arg in args])


def _operation(meaning: Meaning, args: list[Range]) -> Range:
    match meaning, args:
        case Conjunction(), _:
            return min(a for a, _ in args), min(b for _, b in args)
        case Disjunction(), _:
            return max(a for a, _ in args), max(b for _, b in args)
        case Complement(), [(every, some)]:
            return not some, not every
        case Sum(times), _:
            signed = [(a, b) if by > 0 else (-b, -a) for (a, b), by in zip(args, times, strict=True)]
            return sum(a for a, _ in signed), sum(b for _, b in signed)
        case Magnitude(), [(a, b)]:
            return 0 if a <= 0 <= b else min(abs(a), abs(b)), max(abs(a), abs(b))
        case Product(), [x, y] if math.inf not in map(abs, (*x, *y)):
            ends = [a * b for a in x for b in y]
            return min(ends), max(ends)
        case Quotient(), [(a, b), (by, same)] if by == same > 0 and math.inf not in (-a, b):
            return a // by, b // by
        case Remainder(), [(a, b), (by, same)] if by == same > 0:
            inside = math.inf not in (-a, b) and a // by == b // by
            return (a % by, b % by) if inside else (0, by - 1)
        case Compared(sign), [x, y]:
            return _compared(sign, x, y)
        case _:
            return UNKNOWN


def _compared(sign: str, x: Range, y: Range) -> Range:
    match sign:
        case "<=":
            return x[1] <= y[0], x[0] <= y[1]
        case ">=":
            return _compared("<=", y, x)
        case "==":
            return x[1] <= y[0] and y[1] <= x[0], x[0] <= y[1] and y[0] <= x[1]
        case _:
            every, some = _compared({"<": ">=", ">": "<=", "!=": "=="}[sign], x, y)
            return not some, not every
