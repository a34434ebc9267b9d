"""What is known of a value in the proof of causality: above all its reach, which input items it depends on.

A *reach* is a set of bounds, one for each way in which items are read. A bound is a set of forms over the value's own
indices (`sizes/forms.py`), each an upper bound of the place, along the family in question, of the items read: they hold
together. The empty bound, of which nothing is known, is `TOP`.
"""

from __future__ import annotations

from collections.abc import Mapping

from ...dsl.base.records import record
from ...dsl.source import Span
from ..problems.causality import Trace
from ..sizes.axes import Axis
from ..sizes.forms import LinearForm, holds, least
from ..sizes.limits import BOUNDS, ProofLimit, is_met
from ..sizes.polynomials import Poly, never_negative
from ..sizes.predicates import ALWAYS, Cases

Bound = frozenset[LinearForm]
TOP: Bound = frozenset()
Reach = dict[Bound, Trace]


@record
class Info:
    """What is known of a value.

    reach:  which items it depends on.
    true:   what holds where it is true or not zero.
    false:  what holds where it is false.
    lowers: each is a lower bound of the value.
    uppers: each is an upper bound of the value.
    """

    reach: Reach
    true: Cases = ALWAYS
    false: Cases = ALWAYS
    lowers: tuple[LinearForm, ...] = ()
    uppers: tuple[LinearForm, ...] = ()

    @property
    def form(self) -> LinearForm | None:
        """What it is, where that is known."""
        return self.lowers[0] if self.lowers and self.lowers == self.uppers else None


def exact(form: LinearForm, reach: Reach | None = None, true: Cases = ALWAYS, false: Cases = ALWAYS) -> Info:
    """A value that is this form."""
    return Info(reach or {}, true, false, (form,), (form,))


def unite(*reaches: Reach) -> Reach:
    """All bounds, without those that lie within another; what has a bound is told beside what has none."""
    out: Reach = {}
    for reach in reaches:
        for bound, trace in reach.items():
            if bound in out or any(other and _within(bound, other) for other in out):
                continue
            for other in [other for other in out if bound and _within(other, bound)]:
                del out[other]
            out[bound] = trace
    if len(out) > BOUNDS:
        is_met(ProofLimit.BOUNDS)
        return {TOP: next(reversed(out.values()))}
    return out


def _within(bound: Bound, other: Bound) -> bool:
    """Whether what the one lets through, the other does too."""
    return all(any(_at_most(a, b) for a in bound) for b in other)


def _at_most(a: LinearForm, b: LinearForm) -> bool:
    gap = b - a
    return never_negative(gap.poly) or (bool(gap.quotients) and holds(gap))


def reach_of_everything(text: str, span: Span | None, *reaches: Reach, again: bool = False) -> Reach:
    """The reach of what may read every item, if it reads any of these."""
    found = [item for reach in reaches for item in reach.items()]
    if not found:
        return {}
    _, last = max(found, key=lambda item: (bool(item[0]), item[1].steps))  # of an item, rather than of a size alone
    return {TOP: Trace(text, span, last, again=again)}


def over_info(info: Info, names: Mapping[Axis, Axis], sizes: Mapping[int, Poly] | None = None) -> Info:
    """The same in the axes on the other side of a block's border; `sizes`: of families there, in terms of here."""
    sizes = sizes or {}
    if not names and not sizes:
        return info

    def over(forms: tuple[LinearForm, ...]) -> tuple[LinearForm, ...]:
        return tuple(form.renamed(names, sizes) for form in forms)

    def over_cases(cases: Cases) -> Cases:
        return tuple(frozenset(over(tuple(case))) for case in cases)

    return Info(
        unite({frozenset(over(tuple(bound))): trace for bound, trace in info.reach.items()}),
        over_cases(info.true),
        over_cases(info.false),
        over(info.lowers),
        over(info.uppers),
    )


def put_bound(bound: Bound, forms: Mapping[Axis, LinearForm]) -> Bound:
    """The bound with forms in the place of indices."""
    return frozenset(least(form.put(forms) for form in bound)) if bound else TOP
