"""What follows from masks (D5): inequalities between indices, wherever a value is true or not zero.

From `past <= target` follows `target - past >= 0`; from `abs(q - k) <= 128` follow two such facts; from an `or` follow
two *cases*, each with facts of its own. They are what the proof of causality (D12) and decoding take from masks.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from .axes import Axis
from .forms import LinearForm, fractional, holds, plainness, upper_bounds, whole, whole_at_least
from .limits import CASES, FACTS, ProofLimit, is_met
from .polynomials import Monomial, Rational, never_negative

Facts = frozenset[LinearForm]
"""Forms that are 0 or more."""

Cases = tuple[Facts, ...]
"""Wherever the value is true (or not zero) the facts of one case hold at least. No case is contained in another."""

ALWAYS: Cases = (frozenset(),)
NEVER: Cases = ()

Shape = frozenset[tuple[Monomial, Rational]]


def at_least_zero(form: LinearForm) -> Cases:
    """What `form >= 0` says; all unknowns are whole numbers."""
    form = whole_at_least(form)
    if never_negative(form.poly):
        return ALWAYS
    return NEVER if never_negative((-form - LinearForm.number(1)).poly) else (frozenset({form}),)


def more_than_zero(form: LinearForm) -> Cases:
    """What `form > 0` says."""
    return at_least_zero(form if fractional(form) else whole(form) - LinearForm.number(1))


def both(a: Cases, b: Cases) -> Cases:
    """What holds where both do: in each pair of cases all facts of either, the sharper where they meet."""
    met = (_met(one, other) for one in a for other in b)
    return _apart(case for case in met if case is not None)


def either(a: Cases, b: Cases) -> Cases:
    """What holds where one of them does: all cases."""
    return _apart((*a, *b))


def _sharpest(facts: Iterable[LinearForm]) -> dict[Shape, Rational]:
    """The least number of each shape: the less, the sharper."""
    out: dict[Shape, Rational] = {}
    for fact in facts:
        out[fact.shape] = min(fact.constant, out.get(fact.shape, fact.constant))
    return out


def _as_facts(numbers: Mapping[Shape, Rational]) -> Facts:
    return frozenset(LinearForm(shape | {((), number)} if number else shape) for shape, number in numbers.items())


def _met(a: Facts, b: Facts) -> Facts | None:
    """None where the two cannot be at the same time."""
    if not a or not b:
        return a or b
    found = _sharpest((*a, *b))
    for shape, number in found.items():
        turned = frozenset((key, -value) for key, value in shape)
        if turned in found and found[turned] + number < 0:
            return None
    return _simplest(_as_facts(found))


def _simplest(facts: Facts) -> Facts:
    """Of very many facts those without quotients: few of others are of use."""
    if len(facts) <= FACTS:
        return facts
    is_met(ProofLimit.FACTS)
    return frozenset(sorted(facts, key=plainness)[:FACTS])


def _apart(cases: Iterable[Facts]) -> Cases:
    """The cases without those that another one contains; of very many, what holds in all."""
    out: list[Facts] = []
    for case in cases:
        if not any(_implies(case, other) for other in out):
            out = [*(other for other in out if not _implies(other, case)), case]
    if len(out) <= CASES:
        return tuple(out)
    is_met(ProofLimit.CASES)
    return (shared(tuple(out)),)


def _implies(a: Facts, b: Facts) -> bool:
    if b <= a:
        return True
    sharp = _sharpest(a)
    return all(fact.shape in sharp and sharp[fact.shape] <= fact.constant for fact in b)


def shared(cases: Cases) -> Facts:
    """What holds in all cases, of which there is one at least: the weaker of each fact."""
    first, *others = map(_sharpest, cases)
    kept = {shape: number for shape, number in first.items() if all(shape in case for case in others)}
    return _as_facts({shape: max(number, *(case[shape] for case in others)) if others else number
                      for shape, number in kept.items()})  # fmt: skip


def without(cases: Cases, axes: set[Axis]) -> Cases:
    """What is left when these axes go."""
    return _apart(frozenset(_projected(case, axes)) for case in cases)


def _projected(case: Facts, axes: set[Axis]) -> Iterable[LinearForm]:
    for fact in case:
        if not fact.indices & axes:
            yield fact
        elif len(case) <= FACTS:
            for bound in upper_bounds(fact, axes, case - {fact}, lambda axis: axis.extent is not None):
                if not holds(bound):
                    yield whole_at_least(bound)


def put(cases: Cases, forms: Mapping[Axis, LinearForm]) -> Cases:
    """The same with forms in the place of indices."""
    return _apart(frozenset(fact.put(forms) for fact in case) for case in cases)


def implies(cases: Cases, others: Cases) -> bool:
    """Whether the one surely says the other: each of its cases lies in one of the others."""
    return all(any(_implies(case, other) for other in others) for case in cases)


def differences(cases: Cases) -> dict[tuple[Axis, Axis], int]:
    """`(a, b): k` where a <= b + k holds in all cases, of which there is one at least: the weaker of each."""
    first, *others = map(_differences, cases)
    return {key: max(k, *(case[key] for case in others)) if others else k
            for key, k in first.items() if all(key in case for case in others)}  # fmt: skip


def _differences(case: Facts) -> dict[tuple[Axis, Axis], int]:
    """`(a, b): k` where a <= b + k follows for two indices; from two together what follows of the outer ones."""
    found: dict[tuple[Axis, Axis], int] = {}
    for fact in (each.above() for each in case):
        match sorted(fact.shape, key=lambda term: term[1]):
            case [((Axis() as a,), less), ((Axis() as b,), more)] if less == -1 and more == 1:
                found[a, b] = min(int(fact.constant), found.get((a, b), int(fact.constant)))
    after: dict[Axis, list[tuple[Axis, int]]] = {}
    for (c, d), j in found.items() if len(found) <= FACTS else ():
        after.setdefault(c, []).append((d, j))
    for (a, b), i in list(found.items()):
        for d, j in after.get(b, ()):
            if a != d:
                found[a, d] = min(i + j, found.get((a, d), i + j))
    return found
