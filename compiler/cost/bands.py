"""Masks as bands: what a mask made of indices keeps, with symbolic limits, and how many pairs that is.

The same idea as in `predicates`, but the limits are polynomials and known from both sides: a `Band` says `low <= k - q
<= high`. So `abs(q - k) <= near` gives the band from -near to near, and the count of its pairs is a polynomial.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction

from ..graph.traits import (
    Compared,
    Complement,
    Conjunction,
    Disjunction,
    Extreme,
    Limited,
    Magnitude,
    Meaning,
    Product,
    Rounded,
    Sum,
)
from ..sizes.axes import Axis
from .polynomials.polynomial import ONE, ZERO, Poly, Values

Facts = Mapping[tuple[Axis, Axis], Poly]
"""`(a, b): c` says `a <= b + c` wherever the value is true."""


@dataclass(frozen=True, slots=True)
class Form:
    """`sum(coefficient * index) + constant`."""

    terms: Mapping[Axis, Poly]
    constant: Poly

    def plus(self, other: Form, sign: int = 1) -> Form:
        terms = dict(self.terms)
        for axis, c in other.terms.items():
            terms[axis] = terms.get(axis, ZERO) + c * sign
        return Form({axis: c for axis, c in terms.items() if c}, self.constant + other.constant * sign)

    def times(self, by: Poly) -> Form:
        return Form({axis: c * by for axis, c in self.terms.items()}, self.constant * by)

    def over(self, names: Mapping[Axis, Axis]) -> Form:
        terms: dict[Axis, Poly] = {}
        for axis, c in self.terms.items():
            new = names.get(axis, axis)
            terms[new] = terms.get(new, ZERO) + c
        return Form(terms, self.constant)


@dataclass(frozen=True, slots=True)
class IndexBounds:
    """What is known of a value made of indices.

    exact: the value is true just where `true` holds. `absolute`: it is the absolute value of this form.
    clamped: its form but for a clamp to limits of its own, as of an index that is kept within its axis.
    truth:   its truth value, if it is the same everywhere.
    partial: a real that a mask made zero, where `true` says less than the mask.
    picked: what holds where it is of no pick of nothing.
    most: a pick is at most the index of this axis and so much more.
    """

    form: Form | None = None
    true: Facts = field(default_factory=dict)
    false: Facts = field(default_factory=dict)
    exact: bool = False
    absolute: Form | None = None
    clamped: Form | None = None
    truth: bool | None = None
    partial: bool = False
    picked: Facts = field(default_factory=dict)
    most: Mapping[Axis, Poly] = field(default_factory=dict)

    def over(self, names: Mapping[Axis, Axis]) -> IndexBounds:
        def facts(of: Facts) -> Facts:
            return {(names.get(a, a), names.get(b, b)): c for (a, b), c in of.items()}

        return replace(
            self,
            form=self.form and self.form.over(names),
            true=facts(self.true),
            false=facts(self.false),
            picked=facts(self.picked),
            most={names.get(axis, axis): c for axis, c in self.most.items()},
            absolute=self.absolute and self.absolute.over(names),
            clamped=self.clamped and self.clamped.over(names),
        )

    def mirrored(self, axis: Axis) -> IndexBounds:
        """The same, with the axis reversed: nothing is known of its indices any more."""
        true, false = without(self.true, (axis,)), without(self.false, (axis,))
        lost = len(true) < len(self.true)
        bounds = replace(self, true=true, false=false, exact=self.exact and not lost, partial=self.partial or lost,
                         picked=without(self.picked, (axis,)), most={})  # fmt: skip
        forms = (self.form, self.absolute, self.clamped)
        if any(form is not None and axis in form.terms for form in forms):
            return replace(bounds, form=None, absolute=None, clamped=None)
        return bounds


NOTHING = IndexBounds()


def of_form(form: Form) -> IndexBounds:
    return IndexBounds(form, clamped=form)


def both(a: Facts, b: Facts, values: Values) -> Facts:
    out = dict(a)
    for key, c in b.items():
        out[key] = min(out[key], c, key=lambda p: p.at(values)) if key in out else c
    return out


def without(facts: Facts, axes: Collection[Axis]) -> Facts:
    """The facts that do not mention these axes."""
    return {(a, b): c for (a, b), c in facts.items() if a not in axes and b not in axes}


def either(a: Facts, b: Facts, values: Values) -> Facts:
    return {key: max(c, b[key], key=lambda p: p.at(values)) for key, c in a.items() if key in b}


def _at_most_zero(form: Form) -> Facts | None:
    """What `form <= 0` says of the difference of two indices; None if it says nothing of one."""
    if len(form.terms) != 2:
        return None
    (a, x), (b, y) = form.terms.items()
    if x == -ONE and y == ONE:
        a, b, x, y = b, a, y, x
    return {(a, b): -form.constant} if x == ONE and y == -ONE else None


def step(meaning: Meaning, parts: list[IndexBounds], values: Values) -> IndexBounds:
    """The result of a pointwise op of indices, numbers and truth values."""
    match meaning, parts:
        case Sum((1,)), [x]:
            return x
        case Conjunction() | Disjunction(), [x, y]:
            return _joined(isinstance(meaning, Conjunction), x, y, values)
        case Complement(), [x]:
            return IndexBounds(true=x.false, false=x.true, truth=None if x.truth is None else not x.truth)
        case Compared("<=" | "<" | ">=" | ">" as sign), [x, y]:
            return _comparison(sign, x, y)
        # Within the limits, as a rule those of an axis, a clamped index is what it was before.
        case Extreme() | Limited(), _:
            varying = [part for part in parts if part.form is None or part.form.terms]
            return IndexBounds(clamped=varying[0].clamped) if len(varying) == 1 else NOTHING
        case Rounded(up=False), [x]:
            return IndexBounds(clamped=x.clamped)
    forms = [part.form for part in parts if part.form is not None]
    return _arithmetic(meaning, forms) if len(forms) == len(parts) else NOTHING


def _joined(conjunction: bool, x: IndexBounds, y: IndexBounds, values: Values) -> IndexBounds:
    """Two truth values, both or either: `and true` is the other, `and false` is false."""
    for one, other in ((x, y), (y, x)):
        if one.truth is not None:
            return other if one.truth is conjunction else IndexBounds(truth=one.truth)
    if conjunction:
        return IndexBounds(true=both(x.true, y.true, values), exact=x.exact and y.exact)
    return IndexBounds(true=either(x.true, y.true, values))


def _arithmetic(meaning: Meaning, forms: list[Form]) -> IndexBounds:
    match meaning, forms:
        case Sum(times), _:
            total = Form({}, ZERO)
            for form, by in zip(forms, times, strict=True):
                total = total.plus(form, by)
            return of_form(total)
        case Product(), [x, y] if not x.terms or not y.terms:
            return of_form(y.times(x.constant) if not x.terms else x.times(y.constant))
        case Magnitude(), [x]:
            return IndexBounds(absolute=x)
    return NOTHING


def _comparison(sign: str, a: IndexBounds, b: IndexBounds) -> IndexBounds:
    if sign in (">", ">="):
        a, b, sign = b, a, {">": "<", ">=": "<="}[sign]
    strict = ONE if sign == "<" else ZERO
    zero = Form({}, ZERO)
    if a.form is not None and b.form is not None:
        difference = a.form.plus(b.form, -1)
        true = _at_most_zero(difference.plus(Form({}, strict)))
        false = _at_most_zero(difference.times(-ONE).plus(Form({}, ONE - strict)))
        return IndexBounds(true=true or {}, false=false or {}, exact=true is not None)
    if a.absolute is not None and b.form is not None and not b.form.terms:
        limit = b.form.plus(Form({}, strict), -1)
        above = _at_most_zero(a.absolute.plus(limit, -1))
        below = _at_most_zero(zero.plus(a.absolute, -1).plus(limit, -1))
        if above is not None and below is not None:
            return IndexBounds(true={**above, **below}, exact=True)
    return NOTHING


def limits(facts: Facts, q: Axis, k: Axis) -> tuple[Poly | None, Poly | None]:
    """`(left, right)` with `-left <= k - q <= right`; None where there is no limit."""
    return facts.get((q, k)), facts.get((k, q))


def pairs(n: Poly, left: Poly | None, right: Poly | None, values: Values) -> Poly:
    """How many (q, k) of n by n have `-left <= k - q <= right`."""
    whole = n * (n - 1) * _HALF

    def near(x: Poly) -> Poly:
        """Pairs with `1 <= q - k <= x`."""
        if x.at(values) <= 0:
            return ZERO
        return whole if x.at(values) >= n.at(values) - 1 else x * n - x * (x + 1) * _HALF

    def up_to(x: Poly) -> Poly:
        """Pairs with `k - q <= x`."""
        return whole + n + near(x) if x.at(values) >= 0 else whole - near(-x - 1)

    if left is not None and right is not None and (left + right).at(values) < 0:
        return ZERO
    above = n * n if right is None else up_to(right)
    return above if left is None else above - up_to(-left - 1)


def uneven_pairs(n: Poly, m: Poly, left: Poly | None, right: Poly | None, values: Values) -> Poly:
    """How many (q, k) of n by m have `-left <= k - q <= right`."""

    def up_to(n: Poly, m: Poly, c: Poly) -> Poly:
        """Pairs with `q <= k + c`: the first k has c + 1 of them, if there are so many, each other one more."""
        room, missing = m.at(values), (n - c - 1)
        if missing.at(values) <= 0:
            return n * m
        if c.at(values) < -1:
            return up_to(n, m + c + 1, -ONE) if room > -(c + 1).at(values) else ZERO
        if missing.at(values) <= room:
            return n * m - missing * (missing + 1) * _HALF
        return m * (c + 1) + m * (m - 1) * _HALF

    if left is not None and right is not None and (left + right).at(values) < 0:
        return ZERO
    above = n * m if right is None else up_to(m, n, right)
    return above if left is None else above + up_to(n, m, left) - n * m


_HALF = ONE * Fraction(1, 2)
