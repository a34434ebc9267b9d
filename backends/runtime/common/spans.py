"""Interval arithmetic that generated code of both backends carries along: what a mask is on whole tiles at once.

A predicate such as `(k <= q) & (q - k < 128)` is written once. Given arrays of positions it is a mask; given spans of
positions it tells whether a tile is all true, all false, or must be looked at. (Annotations that name their own class
are quoted: generated code has no `from __future__ import annotations`.)
"""

from collections.abc import Callable
from typing import Any


class Truth:
    """What is known of truth values: whether `every` one surely is true, and whether `some` may be."""

    def __init__(self, every: bool, some: bool) -> None:
        self.every, self.some = every, some

    @staticmethod
    def of(x: "Truth | bool") -> "Truth":
        return x if isinstance(x, Truth) else Truth(bool(x), bool(x))

    def __and__(self, other: "Truth | bool") -> "Truth":
        other = Truth.of(other)
        return Truth(self.every and other.every, self.some and other.some)

    def __or__(self, other: "Truth | bool") -> "Truth":
        other = Truth.of(other)
        return Truth(self.every or other.every, self.some or other.some)

    def __xor__(self, other: bool) -> "Truth":
        """`x ^ True` is not x: torch.compile can trace this of a class, but not `~x`."""
        return Truth(not self.some, not self.every) if other else self

    __rand__, __ror__ = __and__, __or__


class Span:
    """Numbers from `low` to `high`; arithmetic gives the span of all results, comparisons a Truth."""

    def __init__(self, low: float, high: float) -> None:
        self.low, self.high = low, high

    @staticmethod
    def of(x: "Span | float") -> "Span":
        return x if isinstance(x, Span) else Span(x, x)

    def __add__(self, other: "Span | float") -> "Span":
        other = Span.of(other)
        return Span(self.low + other.low, self.high + other.high)

    def __neg__(self) -> "Span":
        return Span(-self.high, -self.low)

    def __sub__(self, other: "Span | float") -> "Span":
        return self + -Span.of(other)

    def __rsub__(self, other: float) -> "Span":
        return -self + other

    def __mul__(self, by: float) -> "Span":
        return Span(min(self.low * by, self.high * by), max(self.low * by, self.high * by))

    def __floordiv__(self, by: int) -> "Span":
        ends = (self.low // by, self.high // by)
        return Span(min(ends), max(ends))

    def __mod__(self, by: int) -> "Span":
        if by > 0 and self.low // by == self.high // by:
            return Span(self.low % by, self.high % by)
        return Span(min(by + 1, 0), max(by - 1, 0))

    def __abs__(self) -> "Span":
        least = 0 if self.low <= 0 <= self.high else min(abs(self.low), abs(self.high))
        return Span(least, max(abs(self.low), abs(self.high)))

    def __le__(self, other: "Span | float") -> Truth:
        other = Span.of(other)
        return Truth(self.high <= other.low, self.low <= other.high)

    def __ge__(self, other: "Span | float") -> Truth:
        return Span.of(other) <= self

    def __lt__(self, other: "Span | float") -> Truth:
        return (self >= other) ^ True

    def __gt__(self, other: "Span | float") -> Truth:
        return (self <= other) ^ True

    # Like that of arrays, this comparison has many answers, which no bool can be: not what `object` promises.
    def __eq__(self, other: object) -> Truth:  # type: ignore[override]
        assert isinstance(other, Span | int | float)
        return (self <= other) & (self >= other)

    def __ne__(self, other: object) -> Truth:  # type: ignore[override]
        return (self == other) ^ True

    __radd__, __rmul__ = __add__, __mul__


def in_sight(
    seen: Callable[..., Any], q0: int, q1: int, keys: int, step: int, look: Callable[[int, int], list[Any]]
) -> list[tuple[int, int, bool]]:
    """The runs of keys that some of the queries q0 .. q1 - 1 may see, and whether all of these surely see all of it.

    Runs begin and end at multiples of `step`, or with the last key. look(a, b): what is known of the data of the mask
    at the keys a .. b - 1, as spans and truths.
    """
    runs: list[tuple[int, int, bool]] = []
    todo = [(0, keys)] if keys else []
    while todo:
        a, b = todo.pop()
        truth = Truth.of(seen(Span(q0, q1 - 1), Span(a, b - 1), *look(a, b)))
        if truth.some and (truth.every or b - a <= step):
            if runs and runs[-1][1:] == (a, truth.every):
                a, _, _ = runs.pop()
            runs.append((a, b, truth.every))
        elif truth.some:
            middle = a + max((b - a) // 2 // step, 1) * step
            todo += [(middle, b), (a, middle)]
    return runs
