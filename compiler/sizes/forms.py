"""Linear forms of indices, their coefficients polynomials over sizes: where an item stands, what a mask compares.

In `split[seq -> chunk, at]` the item (chunk, at) stands at `|at| * chunk + at`. A quotient rounded down is an unknown
of its own that two inequalities tie to what it is made of. `upper_bounds` looks for what a form is at most without
certain indices, by adding multiples of what is known to be 0 or more (Fourier and Motzkin's elimination).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from math import gcd, lcm

from .axes import Axis, SizeOf, Static
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

STEPS = 60  # of one search for bounds
BOUNDS = 6  # of one form, kept


@dataclass(frozen=True)
class Form:
    """A polynomial in which no product has more than one index. An index is an unknown: the axis itself."""

    items: frozenset[tuple[Monomial, Rational]]

    @staticmethod
    def of(polynomial: Poly) -> Form:
        return Form(frozenset(polynomial.items()))

    @staticmethod
    def number(value: Rational) -> Form:
        return Form.of({(): ratio(value, 1)} if value else {})

    @staticmethod
    def index(axis: Axis) -> Form:
        return Form.of({(axis,): 1})

    @staticmethod
    def static(value: Static) -> Form:
        return Form.of(poly(value))

    @staticmethod
    def extent(axis: Axis) -> Form:
        return Form.of(poly(SizeOf(axis)))

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

    def __add__(self, other: Form) -> Form:
        return Form.of(add(self.poly, other.poly, 1))

    def __sub__(self, other: Form) -> Form:
        return Form.of(add(self.poly, other.poly, -1))

    def __neg__(self) -> Form:
        return Form.of(add({}, self.poly, -1))

    def times(self, other: Form | Rational) -> Form | None:
        """None where the product is no linear form."""
        other = other if isinstance(other, Form) else Form.number(other)
        return None if self.indices and other.indices else Form.of(multiply(self.poly, other.poly))

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

    def coefficient(self, unknown: object) -> Form:
        """What an unknown is multiplied by."""
        found: Poly = {}
        for key, value in self.items:
            if unknown in key:
                rest = list(key)
                rest.remove(unknown)
                found[tuple(rest)] = value
        return Form.of(found)

    def put(self, forms: Mapping[Axis, Form]) -> Form:
        """With forms in the place of indices; within quotients too."""
        return Form.of(_put(self.poly, forms)) if self.indices & forms.keys() else self

    def renamed(self, axes: Mapping[Axis, Axis], sizes: Mapping[int, Poly]) -> Form:
        """Over other axes, and the sizes of families as polynomials over others."""
        forms = {axis: Form.index(other) for axis, other in axes.items()}
        return Form.of(_put(self.poly, forms, sizes)) if sizes or self.indices & axes.keys() else self

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

    def above(self) -> Form:
        """At least as much: without the sizes and numbers of passes that are taken away."""
        taken: Poly = {}
        for key, by in self.shape:
            if by < 0 and not any(True for each in key for _ in _indices({(each,): 1})):
                lowest = least_product(key)
                if lowest is not None:
                    taken[key] = by
                    taken[()] = taken.get((), 0) - by * lowest
        return self - Form.of({key: by for key, by in taken.items() if by}) if taken else self

    @property
    def offset(self) -> tuple[Axis, int] | None:
        """`(axis, k)` if this is `axis + k`."""
        match list(self.shape):
            case [((Axis() as axis,), 1)] if self.constant.denominator == 1:
                return axis, int(self.constant)
            case _:
                return None


def rises(form: Form, axis: Axis) -> bool:
    """Whether it surely never falls as an index grows."""
    if not never_negative(form.coefficient(axis).poly):
        return False
    for unknown in {each for key in form.poly for each in key if isinstance(each, Opaque)}:
        if axis in Form.of({(unknown,): 1}).indices:
            inner = Form.of(dict(unknown.args[0]))
            if unknown.op != "floor" or not never_negative(form.coefficient(unknown).poly) or not rises(inner, axis):
                return False
    return True


def floored(form: Form) -> Form:
    """The quotient rounded down: a form that is whole stays as it is."""
    if all(value.denominator == 1 for _, value in form.items) and not fractional(form):
        return form
    return Form.of(Opaque.of("floor", form.poly))


def quotient(form: Form, divisor: Form) -> Form | None:
    """`form / divisor`, not rounded; None where the divisor may be 0 or less."""
    number = divisor.value
    if number is not None:
        return form.times(ratio(1, number)) if number > 0 else None
    if divisor.indices or not never_negative((divisor - Form.number(1)).poly):
        return None
    return Form.of(Opaque.of("/", form.poly, divisor.poly))


def whole(form: Form) -> Form:
    """A multiple of it, more than 0 times, without fractions."""
    denominator = lcm(*(value.denominator for _, value in form.items))
    return Form(frozenset((key, ratio(value * denominator, 1)) for key, value in form.items))


def whole_at_least(form: Form) -> Form:
    """A form of whole unknowns that is 0 or more, as sharp as that makes it: from `4 a >= 3` follows `a >= 1`."""
    if fractional(form):
        return form
    found = whole(form).poly.copy()
    constant = found.pop((), 0)
    common = gcd(*(int(value) for value in found.values())) or 1
    found = {key: ratio(value, common) for key, value in found.items()}
    constant = ratio(constant, common).__floor__() if found else constant
    return Form.of({**found, (): constant} if constant else found)


# -- what is not polynomial ----------------------------------------------------------------------------------------


def _rounds(unknown: Opaque) -> bool:
    return unknown.op == "floor"


def fractional(form: Form) -> bool:
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


def _put(polynomial: Poly, forms: Mapping[Axis, Form], sizes: Mapping[int, Poly] | None = None) -> Poly:
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
                    factor = floored(Form.of(changed[0])).poly if op == "floor" else Opaque.of(op, *changed)
                case _:
                    factor = {(unknown,): 1}
            factors = multiply(factors, factor)
        out = add(out, factors, 1)
    return out


@cache
def facts_of(rounded: Opaque) -> tuple[Form, Form]:
    """What ties a quotient that is rounded down to what it is made of; each is 0 or more."""
    inner, own = Form.of(dict(rounded.args[0])), Form.of({(rounded,): 1})
    match list(inner.items):
        case [((Opaque("/", (above, below)),), one)] if one == 1:
            divisor, dividend = Form.of(dict(below)), Form.of(dict(above))
            product = own.times(divisor)
            if product is not None:
                return dividend - product, product - dividend + divisor - Form.number(1)
    denominator = lcm(*(value.denominator for _, value in inner.items))
    gap = 0 if fractional(inner) else ratio(1, denominator)
    return inner - own, own - inner + Form.number(1 - gap)


# -- bounds --------------------------------------------------------------------------------------------------------


def upper_bounds(
    form: Form, gone: Collection[Axis], facts: Iterable[Form], ranged: Callable[[Axis], bool]
) -> tuple[Form, ...]:
    """What the form is at most, in forms without the axes that are `gone`: each is an upper bound; none is known if
    there is none here.

    form:   of a whole number.
    facts:  forms that are 0 or more.
    ranged: of which axes it may be used that an index is at most the size less one.
    """
    gone = frozenset(gone)
    known = [*facts]
    known += [each for fact in known for rounded in fact.quotients for each in facts_of(rounded)]
    known = list(dict.fromkeys(known))
    found: list[Form] = []
    lowest = {form.shape: form.constant}
    left = [form]
    for state in left:
        unknown = _next(state, gone)
        if unknown is None:
            found.append(_whole_at_most(state))
            continue
        for other in _without(state, unknown, known, ranged):
            at = lowest.get(other.shape)
            if (at is None or other.constant < at) and len(left) < STEPS:
                lowest[other.shape] = other.constant
                left.append(other)
    return least(found)


def _whole_at_most(form: Form) -> Form:
    """An upper bound of a whole number, without the fraction that is added to whole numbers."""
    if form.constant.denominator == 1 or fractional(form) or any(by.denominator > 1 for _, by in form.shape):
        return form
    return form + Form.number(form.constant.__floor__() - form.constant)


def _next(form: Form, gone: frozenset[Axis]) -> object | None:
    """What is to be eliminated first: an index that is gone, else a quotient in which one is."""
    plain = [each for key in form.poly for each in key if isinstance(each, Axis) and each in gone]
    if plain:
        return min(plain, key=lambda axis: axis.id)
    return next((each for each in form.quotients if gone & Form.of({(each,): 1}).indices), None) or next(
        iter(form.indices & gone), None
    )


def _without(form: Form, unknown: object, known: list[Form], ranged: Callable[[Axis], bool]) -> Iterator[Form]:
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
            own.append(Form.index(unknown))
            if ranged(unknown):
                own.append(Form.extent(unknown) - Form.index(unknown) - Form.number(1))
        case Opaque(least=int(number)):
            own.append(Form.of({(unknown,): 1}) - Form.number(number))
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


def _divided(a: Form, b: Form) -> Form | None:
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
    return Form.of(out)


def least(forms: Iterable[Form]) -> tuple[Form, ...]:
    """Of several upper bounds those that no other is surely below."""
    kept: list[Form] = []
    for form in dict.fromkeys(forms):
        if not any(never_negative((form - other).poly) for other in kept):
            kept = [other for other in kept if not never_negative((other - form).poly)]
            kept.append(form)
    return tuple(sorted(kept, key=_simplicity)[:BOUNDS])


def _simplicity(form: Form) -> tuple[int, str]:
    return len(form.items), show(form)


def holds(form: Form) -> bool:
    """Whether it is 0 or more whatever the indices and sizes are, each index being one of its axis."""
    if never_negative(form.poly):
        return True
    return any(never_negative((-bound).poly) for bound in upper_bounds(-form, form.indices, (), lambda axis: True))


# -- in words ------------------------------------------------------------------------------------------------------


def without_quotients(form: Form) -> Form:
    """At least as much, and easier to read: what is rounded down is not."""
    for rounded in form.quotients:
        by, (above, below) = form.coefficient(rounded), facts_of(rounded)
        more = above.times(by) if never_negative(by.poly) else below.times(-by) if never_negative((-by).poly) else None
        form = form if more is None else form + more
    return form


def show(form: Form) -> str:
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
            return f"{op}({', '.join(show(Form.of(dict(arg))) for arg in args)})"
        case _:
            return str(getattr(unknown, "name", unknown))
