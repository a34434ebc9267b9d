"""Bounds of integer values, to prove that an index lies within its axis: intervals between linear forms in sizes.

`|t| - 1 - t` lies in 0 .. |t| - 1 because t does; `max(t - 1, 0)` because max and min are known; `k % 32` likewise.
What cannot be proved is checked when the code runs (LANGUAGE D5).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce

from ...compiler.graph.traits import Choice, Extreme, Limited, Magnitude, Meaning, Pointwise, Remainder, Sum
from ...compiler.ops import op_named
from ...compiler.sizes.axes import Arith, Axis, SizeOf, Static, evaluate

Linear = Mapping[Axis | None, int]  # coefficients of sizes; None is the constant term
Ends = tuple[Linear, ...] | None  # several: the least, or the largest, of them; None: nothing is known
MOST = 6  # alternatives kept


@dataclass(frozen=True, slots=True)
class Interval:
    """The least of `low` <= value <= the largest of `high`.

    items: axes that have items wherever there is such a value, for it is an index of theirs, or made of one.
    """

    low: Ends
    high: Ends
    items: frozenset[Axis] = frozenset()


ANY = Interval(None, None)


def constant(value: int) -> Ends:
    return ({None: value},)


def _sum(a: Linear, b: Linear, times: int) -> Linear:
    total = dict(a)
    for axis, factor in b.items():
        total[axis] = total.get(axis, 0) + times * factor
    return total


def add(a: Ends, b: Ends, times: int = 1) -> Ends:
    """a + times * b, for each pair of alternatives."""
    if a is None or b is None or len(a) * len(b) > MOST:
        return None
    return tuple(_sum(x, y, times) for x in a for y in b)


class Bounds:
    """Interval arithmetic of one class. `same` names the axis that stands for a family, `least` bounds a size."""

    def __init__(self, same: Callable[[Axis], Axis], least: Callable[[Axis], int]) -> None:
        self._same = same
        self._least = least

    def size(self, axis: Axis) -> Ends:
        return ({self._same(axis): 1},)

    def positions(self, axis: Axis) -> Interval:
        """Indices of an axis: 0 .. |axis| - 1."""
        return Interval(constant(0), add(self.size(axis), constant(-1)), frozenset({self._same(axis)}))

    def has_items(self, value: Interval, axis: Axis) -> bool:
        return self._same(axis) in value.items

    def static(self, static: Static) -> Interval:
        form = self._linear(static)
        return Interval(form, form)

    def _linear(self, static: Static) -> Ends:
        match static:
            case SizeOf(axis):
                return self.size(axis)
            case Arith("+" | "-" as op, (a, b)):
                return add(self._linear(a), self._linear(b), 1 if op == "+" else -1)
            case _:
                try:
                    found = evaluate(static)
                except (ArithmeticError, ValueError):
                    return None
                return constant(found) if isinstance(found, int) else None

    def _below(self, a: Linear, b: Linear) -> bool:
        """Whether a <= b for all sizes, as far as this can tell."""
        total = 0
        for axis, factor in _sum(b, a, -1).items():
            if axis is None:
                total += factor
            elif factor < 0:
                return False
            else:
                total += factor * self._least(axis)
        return total >= 0

    def at_most(self, a: Ends, b: Ends) -> bool:
        """Whether every alternative of a is at most every one of b."""
        return a is not None and b is not None and all(self._below(x, y) for x in a for y in b)

    def within(self, value: Interval, axis: Axis) -> bool:
        """Whether the value is surely an index of the axis."""
        return self.at_most(constant(0), value.low) and self.at_most(value.high, self.positions(axis).high)

    def union(self, a: Interval, b: Interval) -> Interval:
        return Interval(self._either(a.low, b.low), self._either(a.high, b.high), a.items & b.items)

    def any_of(self, found: Sequence[Interval]) -> Interval:
        return reduce(self.union, found)

    def _either(self, a: Ends, b: Ends) -> Ends:
        return None if a is None or b is None or len(a) + len(b) > MOST else (*a, *b)

    def apply(self, op: str, args: list[Interval]) -> Interval:
        """The interval of an op on integers."""
        how = op_named(op).reads
        found = self._pointwise(how.meaning, args) if isinstance(how, Pointwise) else ANY
        return replace(found, items=frozenset[Axis]().union(*(arg.items for arg in args)))

    def _pointwise(self, meaning: Meaning, args: list[Interval]) -> Interval:
        match meaning, args:
            case Sum(times), _:
                found = None if times[0] == 1 else Interval(constant(0), constant(0))
                for factor, arg in zip(times, args, strict=False):
                    low, high = (arg.low, arg.high) if factor > 0 else (arg.high, arg.low)
                    found = Interval(add(found.low, low, factor), add(found.high, high, factor)) if found else arg
                return found or ANY
            case Extreme(largest), _:
                return reduce(lambda a, b: self._extreme(largest, a, b), args)
            case Limited(), [x, low, high]:
                return self._extreme(False, self._extreme(True, x, low), high)
            case Remainder(), [_, divisor] if self.at_most(constant(1), divisor.low):
                return Interval(constant(0), add(divisor.high, constant(-1)))
            case Choice(), [_, x, y]:
                return self.union(x, y)
            case Magnitude(), [x]:
                return x if self.at_most(constant(0), x.low) else Interval(constant(0), None)
            case _:
                return ANY

    def _extreme(self, largest: bool, a: Interval, b: Interval) -> Interval:
        """max is at least each lower end, and at most the larger of the upper ones; min likewise."""
        if largest:
            low = b.low if a.low is None or self.at_most(a.low, b.low) else a.low
            return Interval(low, self._either(a.high, b.high))
        high = b.high if a.high is None or self.at_most(b.high, a.high) else a.high
        return Interval(self._either(a.low, b.low), high)
