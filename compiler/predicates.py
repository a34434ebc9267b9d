"""Index arithmetic, kept symbolic (D5): linear forms of positions, upper bounds, and what a mask implies.

A *fact* `(a, b): k` says that wherever a value is true (or not zero), `a <= b + k` holds between the indices of two of
its axes. From `past <= target` follows `(past, target): 0`; from `abs(q - k) <= 128` follow two facts. Facts are what
the proof of causality (D12) takes from masks.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from .axes import Axis


@dataclass(frozen=True, slots=True)
class Linear:
    """`sum(coefficient * index of axis) + constant`. `terms` are sorted by axis id, without zeros."""

    terms: tuple[tuple[Axis, int], ...]
    constant: int

    @staticmethod
    def of(terms: Mapping[Axis, int], constant: int) -> Linear:
        kept = [(axis, c) for axis, c in terms.items() if c]
        return Linear(tuple(sorted(kept, key=lambda term: term[0].id)), constant)

    def plus(self, other: Linear, sign: int = 1) -> Linear:
        terms = dict(self.terms)
        for axis, c in other.terms:
            terms[axis] = terms.get(axis, 0) + sign * c
        return Linear.of(terms, self.constant + sign * other.constant)

    def times(self, factor: int) -> Linear:
        return Linear.of({axis: c * factor for axis, c in self.terms}, self.constant * factor)

    def over(self, names: Mapping[Axis, Axis]) -> Linear:
        """The same over other axes."""
        terms: dict[Axis, int] = {}
        for axis, c in self.terms:
            new = names.get(axis, axis)
            terms[new] = terms.get(new, 0) + c
        return Linear.of(terms, self.constant)

    @property
    def bound(self) -> tuple[Axis, int] | None:
        """`(axis, k)` if this is `axis + k`."""
        return (self.terms[0][0], self.constant) if len(self.terms) == 1 and self.terms[0][1] == 1 else None


MOST_FACTS = 100

Facts = dict[tuple[Axis, Axis], int] | None
"""None: the value is never true (never other than zero), so everything follows."""


def both(a: Facts, b: Facts) -> Facts:
    """What holds where both do: all facts of either, the sharper where they meet, and what follows from two
    together.
    """
    if a is None or b is None:
        return None
    if all(key in a and a[key] <= k for key, k in b.items()):
        return a
    out = dict(a)
    for key, k in b.items():
        out[key] = min(k, out.get(key, k))
    return closed(out)


def either(a: Facts, b: Facts) -> Facts:
    """What holds where one of them does: facts of both, the weaker."""
    if a is None or b is None:
        return b if a is None else a
    return {key: max(k, b[key]) for key, k in a.items() if key in b}


def closed(facts: dict[tuple[Axis, Axis], int]) -> dict[tuple[Axis, Axis], int]:
    """With `a <= b + i` and `b <= c + j` also `a <= c + i + j`; of more than a hundred facts none follows."""
    out = dict(facts)
    after: dict[Axis, list[tuple[Axis, int]]] = {}
    for (c, d), j in facts.items() if len(facts) <= MOST_FACTS else ():
        after.setdefault(c, []).append((d, j))
    for (a, b), i in facts.items():
        for d, j in after.get(b, ()):
            if a != d:
                out[a, d] = min(i + j, out.get((a, d), i + j))
    return out


def without(facts: Facts, axes: set[Axis]) -> Facts:
    """What is left when these axes go."""
    if facts is None:
        return None
    return {key: k for key, k in facts.items() if not set(key) & axes}


def over(facts: Facts, names: Mapping[Axis, Axis]) -> Facts:
    """The same over other axes."""
    if facts is None:
        return None
    return {(names.get(a, a), names.get(b, b)): k for (a, b), k in facts.items()}


def at_most_zero(form: Linear) -> Facts:
    """What `form <= 0` implies."""
    plus = [axis for axis, c in form.terms if c == 1]
    minus = [axis for axis, c in form.terms if c == -1]
    if len(form.terms) == 2 and len(plus) == len(minus) == 1:
        return {(plus[0], minus[0]): -form.constant}
    if not form.terms and form.constant > 0:
        return None
    return {}
