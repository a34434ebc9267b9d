"""Index arithmetic, kept symbolic (D5): linear forms of positions, upper bounds, and what a mask implies.

A *fact* `(a, b): k` says that wherever a value is true (or not zero), `a <= b + k` holds between the indices of two of
its axes. From `past <= target` follows `(past, target): 0`; from `abs(q - k) <= 128` follow two facts; from an `or`
follow two *cases*, each with facts of its own. They are what the proof of causality (D12) takes from masks.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
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
MOST_CASES = 8

Facts = dict[tuple[Axis, Axis], int]

Cases = tuple[Facts, ...]
"""Wherever the value is true (or not zero) the facts of one case hold at least. No case is contained in another."""

ALWAYS: Cases = ({},)
NEVER: Cases = ()


def both(a: Cases, b: Cases) -> Cases:
    """What holds where both do: in each pair of cases all facts of either, the sharper where they meet, and what
    follows from two together.
    """
    return _apart(_met(one, other) for one in a for other in b)


def _met(a: Facts, b: Facts) -> Facts:
    if _implies(a, b):
        return a
    out = dict(a)
    for key, k in b.items():
        out[key] = min(k, out.get(key, k))
    return closed(out)


def either(a: Cases, b: Cases) -> Cases:
    """What holds where one of them does: all cases."""
    return _apart((*a, *b))


def _apart(cases: Iterable[Facts]) -> Cases:
    """The cases without those that another one contains; of very many, what holds in all."""
    out: list[Facts] = []
    for case in cases:
        if not any(_implies(case, other) for other in out):
            out = [*(other for other in out if not _implies(other, case)), case]
    return tuple(out) if len(out) <= MOST_CASES else (shared(tuple(out)),)


def _implies(a: Facts, b: Facts) -> bool:
    return all(key in a and a[key] <= k for key, k in b.items())


def shared(cases: Cases) -> Facts:
    """What holds in all cases, of which there is one at least: the weaker of each fact."""
    first, *others = cases
    return {
        key: max(k, *(case[key] for case in others)) if others else k
        for key, k in first.items()
        if all(key in case for case in others)
    }


def closed(facts: Facts) -> Facts:
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


def without(cases: Cases, axes: set[Axis]) -> Cases:
    """What is left when these axes go."""
    return _apart({key: k for key, k in facts.items() if not set(key) & axes} for facts in cases)


def over(cases: Cases, names: Mapping[Axis, Axis]) -> Cases:
    """The same over other axes."""
    return _apart({(names.get(a, a), names.get(b, b)): k for (a, b), k in facts.items()} for facts in cases)


def at_most_zero(form: Linear) -> Cases:
    """What `form <= 0` implies."""
    plus = [axis for axis, c in form.terms if c == 1]
    minus = [axis for axis, c in form.terms if c == -1]
    if len(form.terms) == 2 and len(plus) == len(minus) == 1:
        return ({(plus[0], minus[0]): -form.constant},)
    if not form.terms and form.constant > 0:
        return NEVER
    return ALWAYS
