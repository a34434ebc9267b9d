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


def in_words(sign: str) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """An operator of `Written`, and the same with its sides exchanged; truths that are known play no part."""

    def written(left: Any, right: Any) -> Any:
        for one, other in ((left, right), (right, left)):
            if isinstance(other, bool) and sign in "&|":
                return one if other == (sign == "&") else other
        return Written(f"({left} {sign} {right})")

    return written, lambda right, left: written(left, right)


class Written:
    """What a predicate does, in words: two that are written alike are the same, whatever else they are given."""

    def __init__(self, words: str) -> None:
        self.words = words

    def __str__(self) -> str:
        return self.words

    def __abs__(self) -> "Written":
        return Written(f"abs({self})")

    def __neg__(self) -> "Written":
        return Written(f"(-{self})")

    __add__, __radd__ = in_words("+")
    __sub__, __rsub__ = in_words("-")
    __mul__, __rmul__ = in_words("*")
    __and__, __rand__ = in_words("&")
    __or__, __ror__ = in_words("|")
    (__floordiv__, _), (__mod__, _), (__xor__, _) = in_words("//"), in_words("%"), in_words("^")
    (__le__, __ge__), (__lt__, __gt__) = in_words("<="), in_words("<")
    (__eq__, _), (__ne__, _) = in_words("=="), in_words("!=")


class Numbered:
    """A predicate of which some data are numbers, known beforehand; None where that is still to be given."""

    def __init__(self, seen: Callable[..., Any], numbers: tuple[Any, ...]) -> None:
        self.seen, self.numbers = seen, numbers

    def __call__(self, q: Any, k: Any, *data: Any) -> Any:
        given = iter(data)
        return self.seen(q, k, *(next(given) if number is None else number for number in self.numbers))

    def words(self) -> str:
        """What it does, but for the numbers that play no part."""
        names = (Written(f"x{place}") for place, number in enumerate(self.numbers) if number is None)
        return str(self(Written("q"), Written("k"), *names))


def mask_key(seen: Any) -> object:
    """What tells one predicate from another; None if something else may play a part."""
    if isinstance(seen, Numbered):
        inner = mask_key(seen.seen)
        return None if inner is None else (inner, seen.numbers)
    return None if seen.__closure__ else (seen.__code__, seen.__defaults__)


MOST_KINDS = 16  # of a mask along a leading dimension: more are not worth a plan for each


def kinds_along(
    seen: Callable[..., Any], numbers: list[tuple[tuple[int, ...], list[Any]] | None]
) -> tuple[int, list[tuple[Numbered, list[int]]]]:
    """A leading dimension along which numbers vary that a mask reads, and the masks that it has there, with where.

    numbers: for each data of the mask its shape and items, if these are the same for all queries and keys. Nothing is
    found where none are, or where there are too many kinds.
    """
    ways = [None if x is None else [dim - len(x[0]) for dim, size in enumerate(x[0]) if size > 1] for x in numbers]
    dims = next((way for way in ways if way and len(way) == 1), [])
    known = [x[1] if x is not None and way in ([], dims) else None for x, way in zip(numbers, ways, strict=True)]
    if not any(known):
        return 0, []
    kinds: dict[str, tuple[Numbered, list[int]]] = {}
    for place in range(max(len(x) for x in known if x)):
        bound = Numbered(seen, tuple(x[place % len(x)] if x else None for x in known))
        kinds.setdefault(bound.words(), (bound, []))[1].append(place)
        if len(kinds) > MOST_KINDS:
            return 0, []
    return dims[0] if dims else 0, [*kinds.values()]


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
