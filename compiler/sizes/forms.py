"""Linear forms of indices, their coefficients polynomials over sizes: where an item stands, what a mask compares.

In `split[seq -> chunk, at]` the item (chunk, at) stands at `|at| * chunk + at`. A quotient rounded down is an unknown
of its own that two inequalities tie to what it is made of. `upper_bounds` looks for what a form is at most without
certain indices, by adding multiples of what is known to be 0 or more (Fourier and Motzkin's elimination).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from fractions import Fraction
from math import gcd, lcm

from ...dsl.base.records import cached_property, record
from .axes import Axis, SizeOf, Static
from .functions import OPERATIONS, Item, Rounded
from .limits import ProofLimit, is_met
from .polynomials import (
    Monomial,
    Opaque,
    Poly,
    Rational,
    Size,
    add,
    as_constant,
    least_product,
    multiply,
    never_negative,
    poly,
    ratio,
)

FLOOR = next(name for name, operation in OPERATIONS.items() if operation.meaning == Rounded(up=False))
STEPS = 60  # of one search for bounds
BOUNDS = 6  # of one form, kept


@record(slots=False)
class LinearForm:
    """A polynomial in which no product has more than one index. An index is an unknown: the axis itself."""

    items: frozenset[tuple[Monomial, Rational]]

    @staticmethod
    def of(polynomial: Poly) -> LinearForm:
        return LinearForm(frozenset(polynomial.items()))

    @staticmethod
    def number(value: Rational) -> LinearForm:
        return LinearForm.of({(): ratio(value, 1)} if value else {})

    @staticmethod
    def index(axis: Axis) -> LinearForm:
        return LinearForm.of({(axis,): 1})

    @staticmethod
    def static(value: Static) -> LinearForm:
        return LinearForm.of(poly(value))

    @staticmethod
    def extent(axis: Axis) -> LinearForm:
        return LinearForm.of(poly(SizeOf(axis)))

    @cached_property
    def poly(self) -> Poly:
        return dict(self.items)

    @cached_property
    def factors(self) -> frozenset[object]:
        """The unknowns in its products, not those in what is not polynomial."""
        return frozenset(each for key in self.poly for each in key)

    @cached_property
    def indices(self) -> frozenset[Axis]:
        """Those in quotients too."""
        return frozenset(_indices(self.poly))

    def __add__(self, other: LinearForm) -> LinearForm:
        return LinearForm.of(add(self.poly, other.poly, 1))

    def __sub__(self, other: LinearForm) -> LinearForm:
        return LinearForm.of(add(self.poly, other.poly, -1))

    def __neg__(self) -> LinearForm:
        return LinearForm.of(add({}, self.poly, -1))

    def times(self, other: LinearForm | Rational) -> LinearForm | None:
        """None where the product is no linear form."""
        other = other if isinstance(other, LinearForm) else LinearForm.number(other)
        return None if self.indices and other.indices else LinearForm.of(multiply(self.poly, other.poly))

    @property
    def value(self) -> Rational | None:
        """The number that it is, where it is one."""
        return as_constant(self.poly)

    @cached_property
    def quotients(self) -> tuple[Opaque, ...]:
        """What is rounded, in the form itself."""
        return tuple(
            dict.fromkeys(each for key in self.poly for each in key if isinstance(each, Opaque) and _rounds(each))
        )

    def coefficient(self, unknown: object) -> LinearForm:
        """What an unknown is multiplied by."""
        found: Poly = {}
        for key, value in self.items:
            if unknown in key:
                rest = list(key)
                rest.remove(unknown)
                found[tuple(rest)] = value
        return LinearForm.of(found)

    def put(self, forms: Mapping[Axis, LinearForm]) -> LinearForm:
        """With forms in the place of indices; within quotients too."""
        return LinearForm.of(_put(self.poly, forms)) if self.indices & forms.keys() else self

    def renamed(self, axes: Mapping[Axis, Axis], sizes: Mapping[int, Poly]) -> LinearForm:
        """Over other axes, and the sizes of families as polynomials over others."""
        forms = {axis: LinearForm.index(other) for axis, other in axes.items()}
        return LinearForm.of(_put(self.poly, forms, sizes)) if sizes or self.indices & axes.keys() else self

    @cached_property
    def families(self) -> frozenset[int]:
        """Of the axes whose sizes it holds, also in what is not polynomial."""
        return frozenset(each.family for each in self.unknowns() if isinstance(each, Size))

    def unknowns(self) -> set[object]:
        """All that it is made of, the parts of what is not polynomial too."""
        return _unknowns(self.poly)

    @cached_property
    def shape(self) -> frozenset[tuple[Monomial, Rational]]:
        """All but the number that is added."""
        return frozenset(item for item in self.items if item[0])

    @cached_property
    def constant(self) -> Rational:
        """The number that is added."""
        return self.poly.get((), 0)

    @property
    def turns(self) -> set[int]:
        """How large an index may be that makes up for the number that is added: 4,096 of `floor(t / 64) - 64`."""
        found = (abs(self.constant / scale) for key, by in self.shape for scale in _scales(key, by))
        return {math.ceil(each) for each in found}

    def above(self) -> LinearForm:
        """At least as much: without the sizes and numbers of passes that are taken away."""
        taken: Poly = {}
        for key, by in self.shape:
            if by < 0 and not any(True for each in key for _ in _indices({(each,): 1})):
                lowest = least_product(key)
                if lowest is not None:
                    taken[key] = by
                    taken[()] = taken.get((), 0) - by * lowest
        return self - LinearForm.of({key: by for key, by in taken.items() if by}) if taken else self

    @property
    def offset(self) -> tuple[Axis, int] | None:
        """`(axis, k)` if this is `axis + k`."""
        match list(self.shape):
            case [((Axis() as axis,), 1)] if self.constant.denominator == 1:
                return axis, int(self.constant)
            case _:
                return None


def rises(form: LinearForm, axis: Axis) -> bool:
    """Whether it surely never falls as an index grows."""
    if not never_negative(form.coefficient(axis).poly):
        return False
    for unknown in {each for key in form.poly for each in key if isinstance(each, Opaque)}:
        if axis in LinearForm.of({(unknown,): 1}).indices:
            inner = LinearForm.of(dict(unknown.args[0]))
            if unknown.op != FLOOR or not never_negative(form.coefficient(unknown).poly) or not rises(inner, axis):
                return False
    return True


def floored(form: LinearForm) -> LinearForm:
    """The quotient rounded down: a form that is whole stays as it is."""
    if is_whole(form):
        return form
    return LinearForm.of(Opaque.of(FLOOR, form.poly))


def quotient(form: LinearForm, divisor: LinearForm) -> LinearForm | None:
    """`form / divisor`, not rounded; None where the divisor may be 0 or less."""
    number = divisor.value
    if number is not None:
        return form.times(ratio(1, number)) if number > 0 else None
    if divisor.indices or not never_negative((divisor - LinearForm.number(1)).poly):
        return None
    return LinearForm.of(Opaque.of("/", form.poly, divisor.poly))


def is_whole(form: LinearForm) -> bool:
    """Whether it is surely a whole number."""
    return all(value.denominator == 1 for _, value in form.items) and not fractional(form)


def whole(form: LinearForm) -> LinearForm:
    """A multiple of it, more than 0 times, without fractions."""
    denominator = lcm(*(value.denominator for _, value in form.items))
    return LinearForm(frozenset((key, ratio(value * denominator, 1)) for key, value in form.items))


def whole_at_least(form: LinearForm) -> LinearForm:
    """A form of whole unknowns that is 0 or more, as sharp as that makes it: from `4 a >= 3` follows `a >= 1`."""
    if fractional(form):
        return form
    found = whole(form).poly.copy()
    constant = found.pop((), 0)
    common = gcd(*(int(value) for value in found.values())) or 1
    found = {key: ratio(value, common) for key, value in found.items()}
    constant = ratio(constant, common).__floor__() if found else constant
    return LinearForm.of({**found, (): constant} if constant else found)


# -- what is not polynomial ----------------------------------------------------------------------------------------


def _rounds(unknown: Opaque) -> bool:
    return unknown.op == FLOOR


def fractional(form: LinearForm) -> bool:
    """Whether it may hold what is no whole number."""
    return any(isinstance(each, Opaque) and not _rounds(each) for key, _ in form.items for each in key)


def _indices(polynomial: Poly) -> Iterator[Axis]:
    for key in polynomial:
        for unknown in key:
            match unknown:
                case Axis():
                    yield unknown
                case Opaque(args=args):
                    for arg in args:
                        yield from _indices(dict(arg))


def _unknowns(polynomial: Poly) -> set[object]:
    found: set[object] = set()
    for key in polynomial:
        for unknown in key:
            found.add(unknown)
            if isinstance(unknown, Opaque):
                for arg in unknown.args:
                    found |= _unknowns(dict(arg))
    return found


def _scales(key: Monomial, by: Rational) -> Iterator[Fraction]:
    """By how much a product grows with an index in it, that of a quotient also inside."""
    yield Fraction(by)
    for unknown in key:
        for arg in unknown.args if isinstance(unknown, Opaque) else ():
            for inner, times in arg:
                yield from _scales(inner, by * times) if inner else ()


def _put(polynomial: Poly, forms: Mapping[Axis, LinearForm], sizes: Mapping[int, Poly] | None = None) -> Poly:
    out: Poly = {}
    for key, value in polynomial.items():
        factors: Poly = {(): value}
        for unknown in key:
            match unknown:
                case Axis() if unknown in forms:
                    factor = forms[unknown].poly
                case Size(family) if sizes and family in sizes:
                    factor = sizes[family]
                case Opaque(op, args):
                    changed = [_put(dict(arg), forms, sizes) for arg in args]
                    factor = floored(LinearForm.of(changed[0])).poly if op == FLOOR else Opaque.of(op, *changed)
                case _:
                    factor = {(unknown,): 1}
            factors = multiply(factors, factor)
        out = add(out, factors, 1)
    return out


def facts_of(rounded: Opaque) -> tuple[LinearForm, LinearForm]:
    """What ties a quotient that is rounded down to what it is made of; each is 0 or more."""
    if not rounded.facts:
        rounded.facts.extend(_facts_of(rounded))
    above, below = rounded.facts
    return above, below


def _facts_of(rounded: Opaque) -> tuple[LinearForm, LinearForm]:
    inner, own = LinearForm.of(dict(rounded.args[0])), LinearForm.of({(rounded,): 1})
    match list(inner.items):
        case [((Opaque("/", (above, below)),), one)] if one == 1:
            divisor, dividend = LinearForm.of(dict(below)), LinearForm.of(dict(above))
            product = own.times(divisor)
            if product is not None:
                return dividend - product, product - dividend + divisor - LinearForm.number(1)
    denominator = lcm(*(value.denominator for _, value in inner.items))
    gap = 0 if fractional(inner) else ratio(1, denominator)
    return inner - own, own - inner + LinearForm.number(1 - gap)


# -- bounds --------------------------------------------------------------------------------------------------------


def upper_bounds(
    form: LinearForm, gone: Collection[Axis], facts: Iterable[LinearForm], ranged: Callable[[Axis], bool]
) -> tuple[LinearForm, ...]:
    """What the form is at most, in forms without the axes that are `gone`: each is an upper bound; none is known if
    there is none here.

    facts:  forms that are 0 or more.
    ranged: of which axes it may be used that an index is at most the size less one.
    """
    gone = frozenset(gone)
    known = [*facts]
    known += [each for fact in known for rounded in fact.quotients for each in facts_of(rounded)]
    known = list(dict.fromkeys(known))
    if len(known) >= STEPS:  # not all can be tried, and whichever come first is of no account
        known.sort(key=plainness)
    found: list[LinearForm] = []
    lowest = {form.shape: form.constant}
    left = [form]
    for state in left:
        unknown = _next(state, gone)
        if unknown is None:
            found.append(_whole_at_most(state) if is_whole(form) else state)
            continue
        for other in _without(state, unknown, known, ranged):
            at = lowest.get(other.shape)
            if at is not None and other.constant >= at:
                continue
            if len(left) == STEPS:
                is_met(ProofLimit.STEPS)
                break
            lowest[other.shape] = other.constant
            left.append(other)
    return least(found)


def _whole_at_most(form: LinearForm) -> LinearForm:
    """An upper bound of a whole number, without the fraction that is added to whole numbers."""
    if form.constant.denominator == 1 or fractional(form) or any(by.denominator > 1 for _, by in form.shape):
        return form
    return form + LinearForm.number(form.constant.__floor__() - form.constant)


def _next(form: LinearForm, gone: frozenset[Axis]) -> object | None:
    """What is to be eliminated first: an index that is gone, else a quotient in which one is."""
    plain = [each for key in form.poly for each in key if isinstance(each, Axis) and each in gone]
    if plain:
        return min(plain, key=lambda axis: axis.id)
    return next((each for each in form.quotients if gone & LinearForm.of({(each,): 1}).indices), None) or next(
        iter(form.indices & gone), None
    )


def _without(
    form: LinearForm, unknown: object, known: list[LinearForm], ranged: Callable[[Axis], bool]
) -> Iterator[LinearForm]:
    """The form plus a multiple of a fact that takes the unknown away."""
    by = form.coefficient(unknown)
    if never_negative(by.poly):
        sign = 1
    elif never_negative((-by).poly):
        sign = -1
    else:
        return
    own = [each for rounded in form.quotients for each in facts_of(rounded)]
    match unknown:
        case Axis():
            own.append(LinearForm.index(unknown))
            if ranged(unknown):
                own.append(LinearForm.extent(unknown) - LinearForm.index(unknown) - LinearForm.number(1))
        case Opaque(least=int(number)):
            own.append(LinearForm.of({(unknown,): 1}) - LinearForm.number(number))
    for fact in (*known, *own):
        if unknown not in fact.factors:
            continue
        times = fact.coefficient(unknown)
        times = times if sign < 0 else -times  # to be more than 0
        if times.indices:
            continue
        share = _divided(by if sign > 0 else -by, times)
        if share is not None and never_negative(share.poly):
            more = fact.times(share)
            if more is not None:
                yield form + more


def _divided(a: LinearForm, b: LinearForm) -> LinearForm | None:
    """a / b, where it is a polynomial and b is surely more than 0."""
    if len(b.items) != 1 or a.indices:
        return None
    ((divisor, number),) = b.items
    if number <= 0 or not never_negative(add(b.poly, {(): number}, -1)):
        return None
    out: Poly = {}
    for key, value in a.items:
        rest = list(key)
        for unknown in divisor:
            if unknown not in rest:
                return None
            rest.remove(unknown)
        out[tuple(rest)] = ratio(value, number)
    return LinearForm.of(out)


def least(forms: Iterable[LinearForm]) -> tuple[LinearForm, ...]:
    """Of several upper bounds those that no other is surely below."""
    kept: list[LinearForm] = []
    for form in dict.fromkeys(forms):
        if not any(never_negative((form - other).poly) for other in kept):
            kept = [other for other in kept if not never_negative((other - form).poly)]
            kept.append(form)
    return tuple(sorted(kept, key=_simplicity)[:BOUNDS])


def plainness(form: LinearForm) -> tuple[bool, int, Rational, str]:
    """By which the plainest of many facts comes first: of few indices, taken once, and of no quotients."""
    return bool(form.quotients), len(form.shape), sum(by if by > 0 else -by for _, by in form.shape), show(form)


def _simplicity(form: LinearForm) -> tuple[int, str]:
    return len(form.items), show(form)


def holds(form: LinearForm, facts: Collection[LinearForm] = ()) -> bool:
    """Whether it is 0 or more whatever the indices and sizes are, each index being one of its axis.

    facts: forms that are 0 or more.
    """
    if never_negative(form.poly):
        return True
    form = whole(form)
    return any(never_negative((-bound).poly) for bound in upper_bounds(-form, form.indices, facts, lambda axis: True))


# -- in words ------------------------------------------------------------------------------------------------------


def without_quotients(form: LinearForm) -> LinearForm:
    """At least as much, and easier to read: what is rounded down is not."""
    for rounded in form.quotients:
        by, (above, below) = form.coefficient(rounded), facts_of(rounded)
        more = above.times(by) if never_negative(by.poly) else below.times(-by) if never_negative((-by).poly) else None
        form = form if more is None else form + more
    return form


def show(form: LinearForm) -> str:
    """As a reader writes it: `4 * chunk + 3`."""
    terms = sorted(form.items, key=lambda item: (not item[0], str(item[0])))
    text = ""
    for key, value in terms:
        names = " * ".join(sorted(map(_name, key)))
        size = abs(value)
        shown = names if names and size == 1 else f"{size} * {names}" if names else str(size)
        text += (" - " if value < 0 else " + " if text else "") + shown
    return text.removeprefix(" ").replace("- ", "-", 1) if text.startswith(" -") else text or "0"


def _name(unknown: object) -> str:
    match unknown:
        case Axis(name=name):
            return name
        case Size(name=name):
            return f"|{name}|"
        case Opaque(op, args):
            shown = [show(LinearForm.of(dict(arg))) for arg in args]
            if OPERATIONS[op].meaning == Item():
                return f"[{', '.join(shown[1:])}][{shown[0]}]"
            if len(shown) == 2 and not op.isalpha():
                return f"({shown[0]} {op} {shown[1]})"
            return f"{op}({', '.join(shown)})"
        case _:
            return str(getattr(unknown, "name", unknown))
