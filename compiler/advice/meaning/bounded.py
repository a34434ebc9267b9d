"""Numbers of data that never pass two bounds, as op after op makes them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import product

from ...graph.traits import Choice, Extreme, Function, Limited, Meaning, Product, Quotient, Sum

Bounds = tuple[float, float]
ANY: Bounds = (-math.inf, math.inf)


def bounds(meaning: Meaning, given: Sequence[Bounds]) -> Bounds | None:
    """Between which numbers the result of an op lies, where its operands lie between these; None if it is not known."""
    corners: list[float]
    match meaning, given:
        case Function(least=least, greatest=greatest), _:
            corners = [least, greatest]
        case Sum(times), _:
            pairs = [(by * low, by * high) for by, (low, high) in zip(times, given, strict=True)]
            corners = [sum(map(min, pairs)), sum(map(max, pairs))]
        case Product(), _:
            corners = [math.prod(each) for each in product(*given)]
        case Quotient(whole=False), [one, (by, same)] if by == same != 0:
            corners = [number / by for number in one]
        case Limited(), [one, (low, _), (_, high)]:
            corners = [min(max(number, low), high) for number in one]
        case Extreme(largest), _:
            corners = [(max if largest else min)(side) for side in zip(*given, strict=True)]
        case Choice(), [_, one, other]:
            corners = [*one, *other]
        case _:
            return None
    found = min(corners), max(corners)
    return None if any(map(math.isnan, corners)) or found == ANY else found
