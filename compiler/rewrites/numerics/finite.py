"""What is surely finite of the numbers that hang on positions and sizes alone: `t + 1` is never 0, `t - p` may be."""

from __future__ import annotations

import math
import sys

from ...graph.extents import at_least_0, undefined
from ...graph.nodes import Apply, Constant, Node, Positions, makes
from ...graph.traits import Extreme, Function, Power, Product, Quotient, Sum
from ...graph.values import Role, Value
from ...ops.ranges import ALL, Range, keeps_finite, range_of
from ...sizes.axes import Arith, ConstOf, Literal, Static, known
from ...sizes.polynomials import never_negative, poly

USUAL: Range = (1e-6, 1e6)  # what a const of a block is taken for


class KnownTables:
    """What is known of the numbers of positions and sizes alone in one body, as its nodes come."""

    def __init__(self) -> None:
        self._ranges: dict[int, Range] = {}
        self._infinite: set[int] = set()

    def add(self, node: Node) -> None:
        match node:
            case Constant(static, out):
                self._ranges[out.id] = _of_static(static)
                finite = all(_above_0(restricted.part) for restricted in undefined(static))
            case Positions(axis, out):
                self._ranges[out.id] = 0, math.inf if axis.extent is None else max(axis.extent - 1, 0)
                finite = True
            case Apply(out=out) if out.role <= Role.TABLE:
                ranges = [self._ranges.get(operand.id, ALL) for operand in node.operands]
                self._ranges[out.id] = range_of(node.traits, ranges)
                finite = keeps_finite(node.traits, ranges) and all(map(self.is_finite, node.operands))
            case _:
                finite = False
        if not finite:
            self._infinite |= {out.id for out in makes(node) if out.role <= Role.TABLE}

    def is_finite(self, value: Value) -> bool:
        """Whether such a number is surely finite; what is given from outside is taken to be."""
        return value.id not in self._infinite

    def has_no_0(self, value: Value) -> bool:
        """Whether such a number is surely not 0."""
        low, high = self._ranges.get(value.id, ALL)
        return low > 0 or high < 0


def _of_static(static: Static) -> Range:
    number = known(static)
    if number is not None:
        return (float(number), float(number)) if abs(number) <= sys.float_info.max else ALL
    if isinstance(static, ConstOf):  # the caller passes it
        return USUAL
    return 1 if _above_0(static) else 0 if at_least_0(static, {}) else -math.inf, math.inf


def _above_0(static: Static) -> bool:
    """Whether a number is surely above 0, where each axis has items, and a const is what it usually is."""
    number = known(static)
    if number is not None:
        return number > 0
    match static:
        case ConstOf():
            return True
        case Arith(meaning=Sum((1, 1)) | Product() | Quotient(whole=False) | Power(), args=args):
            return all(map(_above_0, args))
        case Arith(meaning=Function(zero=True, above=0, rising=True), args=args):  # 0 at 0, and above it behind
            return all(map(_above_0, args))
        case Arith(meaning=Extreme(largest=True), args=args):
            return any(map(_above_0, args))
        case _:
            return never_negative(poly(Arith("-", (static, Literal(1)))))
