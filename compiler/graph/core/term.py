"""What is known of one value as a number or as a truth value, over the indices of its axes.

`pointwise` says it of the result of an op done item by item, from what the op computes (its `Meaning`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from enum import IntEnum
from functools import partial, reduce
from itertools import product

from ....dsl.base.records import record
from ...sizes.axes import Axis, Number, Static, known
from ...sizes.forms import LinearForm, floored, holds, is_whole, least, quotient
from ...sizes.functions import (
    Choice,
    Compared,
    Complement,
    Conjunction,
    Disjunction,
    Extreme,
    Function,
    Limited,
    Magnitude,
    Meaning,
    Product,
    Quotient,
    Remainder,
    Rounded,
    Sum,
)
from ...sizes.limits import TooMuch, unnoted
from ...sizes.polynomials import Poly
from ...sizes.predicates import ALWAYS, NEVER, Cases, Facts, at_least_zero, both, either, more_than_zero
from ..typed_value import static_element
from ..values import Scalar
from .index import OUTERMOST, Site

SEVERAL = 8  # bounds kept of one value
FINEST = 1024  # the parts of a whole that a number may have: what float32 computes with it is exact
ZERO, ONE = LinearForm.number(0), LinearForm.number(1)
Forms = tuple[LinearForm, ...]


class Computed(IntEnum):
    """How exactly code computes a number: with whole numbers of 64 bits, and with reals of 32 bits at least."""

    WHOLE = 0  # exactly
    EXACT = 1  # in reals, which hold it
    NEAREST = 2  # the nearest real to one quotient: it compares and rounds down as that does
    ROUNDED = 3  # off by a little, for more than one step rounds: what should be equal may be less, 1 / 49 * 49 is


LARGEST = {each: 2**31 if each is Computed.WHOLE else 2**20 for each in Computed}  # beyond, what is added may be lost


@record
class Term:
    """What is known of a value.

    true:   what holds where it is true or not zero.
    false:  what holds where it is false.
    lowers: each is a lower bound of the value.
    uppers: each is an upper bound of the value.
    computed: how near what code computes is to these.
    """

    true: Cases = ALWAYS
    false: Cases = ALWAYS
    lowers: Forms = ()
    uppers: Forms = ()
    computed: Computed = Computed.WHOLE

    @property
    def form(self) -> LinearForm | None:
        """What it is, where that is known."""
        return self.lowers[0] if self.lowers and self.lowers == self.uppers else None

    def renamed(self, axes: Mapping[Axis, Axis], sizes: Mapping[int, Poly]) -> Term:
        """Over other axes, and the sizes of families as polynomials over others."""

        def over(forms: Iterable[LinearForm]) -> Forms:
            return tuple(form.renamed(axes, sizes) for form in forms)

        if self is UNKNOWN or not (axes or sizes):
            return self
        true, false = (tuple(frozenset(over(case)) for case in cases) for cases in (self.true, self.false))
        return Term(true, false, over(self.lowers), over(self.uppers), self.computed)


UNKNOWN = Term()


def exactly(form: LinearForm, true: Cases = ALWAYS, false: Cases = ALWAYS) -> Term:
    """A value that is this form."""
    return Term(true, false, (form,), (form,))


def constant(value: Static, site: Site = OUTERMOST) -> Term:
    """What is known of a number, in a graph that runs at a site."""
    number = known(value)
    true, false = NEVER if number is not None and not number else ALWAYS, NEVER if number else ALWAYS
    try:
        whole = site.number(value)
    except TooMuch:
        return Term(true, false)
    number = known(whole)
    if isinstance(number, bool) or not _is_exact(number):
        return Term(true, false)
    real = Computed.ROUNDED if number is None else Computed.EXACT
    computed = Computed.WHOLE if static_element(whole) is Scalar.INT else real
    form = _few((LinearForm.static(whole),), computed)
    return Term(true, false, form, form, computed)


def _is_exact(number: Number | None) -> bool:
    """Whether what is computed with it in float32 says what it says exactly: 2.5 does, 0.9999999 may not."""
    if not isinstance(number, float):
        return True
    return math.isfinite(number) and number.as_integer_ratio()[1] <= FINEST


def pointwise(meaning: Meaning, parts: Sequence[Term], given: Facts = frozenset()) -> Term:
    """What is known of the result. given: what holds wherever it is read."""
    if meaning == Sum((1,)):
        return parts[0]
    if isinstance(meaning, Extreme | Limited | Remainder):
        counted = relevant(meaning, parts, given)
        if len(counted) == 1:
            return parts[counted[0]]
        parts = [parts[place] for place in counted] if isinstance(meaning, Extreme) else parts
    true, false = _facts(meaning, parts)
    form = _form(meaning, parts)
    computed = _computed(meaning, parts, form)
    lowers, uppers = ((form,), (form,)) if form is not None else _bounds(meaning, parts, given)
    return Term(true, false, _few(lowers, computed), _few(uppers, computed), computed)


def _few(forms: Iterable[LinearForm], computed: Computed) -> Forms:
    """Not too many, and none of numbers so large that what is added to them may be lost."""
    return tuple(form for form in dict.fromkeys(forms) if _is_small(form, LARGEST[computed]))[:SEVERAL]


def _is_small(form: LinearForm, most: int) -> bool:
    return all(abs(number.numerator) <= most * number.denominator for _, number in form.items)


def _computed(meaning: Meaning, parts: Sequence[Term], form: LinearForm | None) -> Computed:
    """How exactly an op computes, from how exactly its operands are."""
    worst = max((part.computed for part in parts), default=Computed.WHOLE)
    rounded = worst >= Computed.NEAREST
    match meaning, parts:
        case Rounded(), _:
            return Computed.WHOLE
        case Quotient(), [_, by]:
            whole = form is not None and is_whole(form)
            exact = _is_power_of_two(by) or (whole and not rounded)
            return max(worst, Computed.EXACT) if exact else Computed.ROUNDED if rounded else Computed.NEAREST
        case Product(), [a, b] if rounded and not (_is_power_of_two(a) or _is_power_of_two(b)):
            return Computed.ROUNDED
        case Sum(times), _ if rounded and len(times) > 1:
            return Computed.ROUNDED
        case _:
            return worst


def _is_power_of_two(x: Term) -> bool:
    number = None if x.form is None else x.form.value
    parts = () if number is None else (abs(number.numerator), number.denominator)
    return all(part and not part & (part - 1) for part in parts) and number is not None


def relevant(meaning: Meaning, parts: Sequence[Term], given: Facts = frozenset()) -> tuple[int, ...]:
    """The operands that matter, by number. A size known only at run time may not: `min(t, |t| - 1)` is `t`, and
    `t < |t|` holds, whatever the size is.
    """
    match meaning, parts:
        case Extreme(largest=False), _:
            kept = (n for n, part in enumerate(parts) if not any(_below(b, part) for b in parts if b is not part))
            return tuple(kept)
        case Limited(), [x, low, high] if _below(x, high):
            return (0,) if low.form == ZERO and at_least(x, ZERO) else (0, 1)
        case Remainder(), [x, size] if _below(x, size, 1) and at_least(x, ZERO, given):
            return (0,)
        case Compared("<" | "<=" as sign), [a, b] if _below(a, b, sign == "<"):
            return (0,)
        case Compared(">" | ">=" as sign), [a, b] if _below(b, a, sign == ">"):
            return (1,)
        case _:
            return tuple(range(len(parts)))


def _below(x: Term, size: Term, gap: int = 0) -> bool:
    """Whether x + gap is at most the size, whatever the size is: an index is at most |its axis| - 1."""
    if size.form is None or size.form.indices:
        return False
    return any(upper.indices and holds(size.form - upper - LinearForm.number(gap)) for upper in x.uppers)


def at_least(x: Term, form: LinearForm, given: Facts = frozenset()) -> bool:
    return any(holds(lower - form, given) for lower in x.lowers)


# -- where it is true or not zero, and where it is false -----------------------------------------------------------


def _facts(meaning: Meaning, parts: Sequence[Term]) -> tuple[Cases, Cases]:
    match meaning, parts:
        case Conjunction(), [a, b]:
            return both(a.true, b.true), _aside(either, a.false, b.false)
        case Disjunction(), [a, b]:
            return either(a.true, b.true), _aside(both, a.false, b.false)
        case Complement(), [a]:
            return a.false, a.true
        case Product(), [a, b]:
            return both(a.true, b.true), ALWAYS
        case Sum(), _:  # a bias may be non-zero anywhere, and so may what it is added to
            return reduce(either, (part.true for part in parts)), ALWAYS
        case Quotient() | Rounded() | Magnitude() | Function(zero=True), [a, *_]:  # zero where a is
            return a.true, ALWAYS
        case Choice(), [c, x, y]:
            return (
                either(both(c.true, x.true), both(c.false, y.true)),
                either(both(c.true, x.false), both(c.false, y.false)),
            )
        case Compared(">" | ">=" as sign), [a, b]:
            return _comparison("<" if sign == ">" else "<=", b, a)
        case Compared(sign), [a, b]:
            return _comparison(sign, a, b)
        case _:
            return ALWAYS, ALWAYS


def _aside(join: Callable[[Cases, Cases], Cases], a: Cases, b: Cases) -> Cases:
    """What limits leave out of what holds where a mask is false seldom matters: nobody is told."""
    with unnoted():
        return join(a, b)


def _comparison(sign: str, a: Term, b: Term) -> tuple[Cases, Cases]:
    """From the bounds of its sides."""
    match sign:
        case "<=":
            return _at_most(a, b, 0), _at_most(b, a, 1)
        case "<":
            return _at_most(a, b, 1), _at_most(b, a, 0)
        case "==":
            return both(_at_most(a, b, 0), _at_most(b, a, 0)), either(_at_most(a, b, 1), _at_most(b, a, 1))
        case _:
            return either(_at_most(a, b, 1), _at_most(b, a, 1)), both(_at_most(a, b, 0), _at_most(b, a, 0))


def _at_most(a: Term, b: Term, gap: int) -> Cases:
    """What `a <= b` says, or `a < b` if the gap is 1: each lower bound of a is at most each upper bound of b."""
    found, computed = ALWAYS, max(a.computed, b.computed)
    gap = 0 if computed is Computed.ROUNDED else gap
    for low, high in product(_few(a.lowers, computed), _few(b.uppers, computed)):
        found = both(found, more_than_zero(high - low) if gap else at_least_zero(high - low))
    return found


# -- what it is, and its bounds ------------------------------------------------------------------------------------


def _form(meaning: Meaning, parts: Sequence[Term]) -> LinearForm | None:
    forms = [part.form for part in parts if part.form is not None]
    if len(forms) < len(parts):
        return None
    match meaning, forms:
        case Sum(times), _:
            terms = [form if by == 1 else form.times(by) for form, by in zip(forms, times, strict=True)]
            return reduce(LinearForm.__add__, (term for term in terms if term is not None), ZERO)
        case Product(), [a, b]:
            return a.times(b)
        case Quotient(whole=False), [a, b]:
            return quotient(a, b)
        case Rounded(up), [a] if parts[0].computed is not Computed.ROUNDED:
            return -floored(-a) if up else floored(a)
        case Remainder(), [a, b] if all(part.computed < Computed.NEAREST for part in parts):
            shares = quotient(a, b)
            taken = floored(shares).times(b) if shares is not None else None
            return a - taken if taken is not None else None
        case _:
            return None


def _bounds(meaning: Meaning, parts: Sequence[Term], given: Facts) -> tuple[Iterable[LinearForm], Iterable[LinearForm]]:
    """Lower and upper bounds of the result."""
    larger, smaller = partial(larger_of, given=given), partial(_of_the_smaller, given=given)
    match meaning, parts:
        case Extreme(largest=False), _:
            return reduce(smaller, (part.lowers for part in parts)), [f for part in parts for f in part.uppers]
        case Extreme(largest=True), _:
            return [f for part in parts for f in part.lowers], reduce(larger, (part.uppers for part in parts))
        case Limited(), [x, low, high]:
            lowers = smaller((*x.lowers, *low.lowers), high.lowers)
            return lowers, (*larger(x.uppers, low.uppers), *high.uppers)
        case Choice(), [_, x, y]:
            return smaller(x.lowers, y.lowers), larger(x.uppers, y.uppers)
        case Rounded(up=False), [a]:
            return [form - ONE for form in a.lowers], a.uppers
        case Rounded(up=True), [a]:
            return a.lowers, [form + ONE for form in a.uppers]
        case Magnitude(), [a]:
            lowers = (ZERO, *a.lowers, *(-form for form in a.uppers))
            return lowers, larger(a.uppers, tuple(-form for form in a.lowers))
        case Remainder(), [a, b] if b.form is not None and holds(b.form - ONE):
            return (ZERO,), (b.form - ONE, *(a.uppers if at_least(a, ZERO, given) else ()))
        case Quotient(whole=False), [a, b] if b.form is not None and b.form.value is not None and b.form.value >= 1:
            return (ZERO,) if at_least(a, ZERO) else (), a.uppers if at_least(a, ZERO) else ()
        case Sum(times), _:
            return _sums(times, parts, True), _sums(times, parts, False)
        case _:
            return (), ()


def _sums(times: tuple[int, ...], parts: Sequence[Term], lower: bool) -> list[LinearForm]:
    """The bounds of a sum, from one bound of each term."""
    found = [ZERO]
    for part, by in zip(parts, times, strict=True):
        bounds = part.lowers if (by > 0) == lower else part.uppers
        terms = [form if by == 1 else form.times(by) for form in bounds]
        found = [total + term for total in found for term in terms if term is not None][:SEVERAL]
    return found


def larger_of(a: Forms, b: Forms, given: Facts = frozenset()) -> Forms:
    """Upper bounds of whichever of two values is larger, from those of each."""
    return least(found for x in a for y in b if (found := _larger(x, y, given)) is not None)


def _of_the_smaller(a: Forms, b: Forms, given: Facts) -> Forms:
    return tuple(-form for form in larger_of(tuple(-form for form in a), tuple(-form for form in b), given))


def _larger(a: LinearForm, b: LinearForm, given: Facts) -> LinearForm | None:
    """Something that is at least both, where that is easy: one of them, or an index plus the larger number."""
    for x, y in ((a, b), (b, a)):
        if holds(x - y, given):
            return x
    for x, y in ((a.above(), b), (b.above(), a)):
        rest = x - LinearForm.number(x.constant)
        if y.value is not None and holds(rest):  # it adds nothing less than 0 to the larger number
            return rest + LinearForm.number(max(x.constant, y.value))
    return None
