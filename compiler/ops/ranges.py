"""What numbers ops make of numbers: whether they are finite, and between which they lie."""

from __future__ import annotations

import math

from ..graph.traits import (
    Anything,
    Arrange,
    Choice,
    Extreme,
    Function,
    IndexMap,
    Magnitude,
    OpTraits,
    Pointwise,
    Power,
    Product,
    Quotient,
    Remainder,
    Rounded,
    Sum,
)
from ..sizes.functions import LARGEST_EXPONENT, OPERATIONS
from .table import Op

Range = tuple[float, float]
ALL: Range = (-math.inf, math.inf)


def keeps_finite(op: OpTraits, ranges: list[Range]) -> bool:
    """Whether an op makes finite numbers of finite operands in these ranges."""
    match op.reads, ranges:
        case Pointwise(Quotient() | Remainder()), [_, (low, high)]:
            return low > 0 or high < 0
        case Pointwise(Function(zero=zero, above=above, below=below)), [(low, high)]:
            at_its_end = zero and low == above == 0  # as of a root, whose derivative alone is not finite there
            return (above == -math.inf or low > above or at_its_end) and (below == math.inf or high < below)
        case Pointwise(Power()), [(low, high), (least, most)]:
            if least == most:
                return low > 0 or (least >= 0 and (low == 0 or least % 1 == 0))
            return low > 0 and _times(_logs((low, high)), (least, most))[1] <= LARGEST_EXPONENT
        case Anything(), _:
            return False
        case _:
            return True


def range_of(op: OpTraits, ranges: list[Range]) -> Range:
    """The least and the greatest that an op may make, as far as is easily seen."""
    if op.random:
        return ALL
    match op.reads, ranges:
        case Pointwise(Sum(times)), _:
            ends = [sorted((by * low, by * high)) for by, (low, high) in zip(times, ranges, strict=True)]
            return sum(low for low, _ in ends), sum(high for _, high in ends)
        case Pointwise(Product()), [x, y]:
            return _times(x, y)
        case Pointwise(Quotient(whole=False)), [x, (low, high)] if low > 0:
            return _times(x, (1 / high, 1 / low))
        case Pointwise(Power()), [x, y] if x[0] > 0:
            low, high = _times(_logs(x), y)
            return _exponential(min(low, LARGEST_EXPONENT)), _exponential(high)
        case Pointwise(Function() as function), [x]:
            return _of_function(function, op, x)
        case Pointwise(Rounded()), [(low, high)]:
            return (low if math.isinf(low) else math.floor(low)), (high if math.isinf(high) else math.ceil(high))
        case Pointwise(Choice()), [_, *sides]:
            return min(low for low, _ in sides), max(high for _, high in sides)
        case Pointwise(Magnitude()), [(low, high)]:
            return max(low, -high, 0), max(-low, high)
        case Pointwise(Extreme(largest=True)), _:
            return max(low for low, _ in ranges), max(high for _, high in ranges)
        case Pointwise(Extreme()) | Arrange(IndexMap.PARTS), _:
            return min(low for low, _ in ranges), max(high for _, high in ranges)
        case Arrange(map), [x] if map is not IndexMap.SHIFTED:  # which puts another number outside of x
            return x
        case _:
            return ALL


def _of_function(function: Function, op: OpTraits, x: Range) -> Range:
    """Between the values at either end, if it rises and these are known."""
    number = OPERATIONS.get(op.number) if isinstance(op, Op) and function.rising else None

    def at(end: float, otherwise: float) -> float:
        try:
            return otherwise if number is None else float(number(end))
        except (ValueError, OverflowError):
            return otherwise

    low, high = x
    return at(min(low, function.below), function.least), (
        at(high, function.greatest) if high < function.below else function.greatest
    )


def _times(x: Range, y: Range) -> Range:
    ends = [a * b if a and b else 0.0 for a in x for b in y]  # 0 times infinity is 0 here
    return min(ends), max(ends)


def _logs(x: Range) -> Range:
    return math.log(x[0]), math.log(x[1])


def _exponential(number: float) -> float:
    return math.exp(number) if number <= LARGEST_EXPONENT else math.inf
