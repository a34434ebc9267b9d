"""Polynomials over sizes that are not known yet: they prove what holds whatever those are."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

from ...dsl.base.records import field, record
from .axes import Arith, Axis, Const, ConstOf, Literal, SizeOf, Static, decided, known, once
from .functions import OPERATIONS, Choice, Extreme, Item, Magnitude, Power, Remainder, Rounded, Sum

Monomial = tuple[object, ...]
"""The unknowns of a monomial: a Size, an Axis for an index of it, a Const, or an Opaque."""

Rational = int | Fraction  # whole numbers as such: they are many times faster

Poly = dict[Monomial, Rational]

MONOMIALS = 200  # of one polynomial; what has more is opaque, and little is proved of it


@record
class Size:
    """The size of an axis and of its copies; `name` is for messages."""

    family: int
    name: str = field(compare=False)


@record
class Opaque:
    """What is not polynomial: an operation on polynomials. They nest as deep as sizes depend on sizes, so that the hash
    and what it is at least are found once; so are its facts (`forms.facts_of`). They are kept here, with what it is
    made of: another file has other axes with the same numbers.
    """

    op: str
    args: tuple[frozenset[tuple[Monomial, Rational]], ...]
    hash: int = field(init=False, compare=False, repr=False)
    least: int | None = field(init=False, compare=False, repr=False)
    facts: list[Any] = field(init=False, compare=False, repr=False, default_factory=list)

    def __post_init__(self) -> None:
        object.__setattr__(self, "hash", hash((self.op, self.args)))
        object.__setattr__(self, "least", _least_of(self.op, [dict(arg) for arg in self.args]))

    def __hash__(self) -> int:
        return self.hash

    @staticmethod
    def of(op: str, *args: Poly) -> Poly:
        return {(Opaque(op, tuple(frozenset(arg.items()) for arg in args)),): 1}


@once
def poly(static: Static) -> Poly:
    """A size as a polynomial over the free sizes. Copies of an axis are one unknown; what is not polynomial
    is opaque.
    """
    match static:
        case Literal(value):
            return constant(Fraction(value))
        case SizeOf(axis):
            if axis.extent is not None:
                return constant(Fraction(axis.extent))
            if axis.size is not None:
                return poly(axis.size)
            return {(Size(axis.family, axis.name),): 1}
        case ConstOf(const):
            return _const(const)
        case Arith("+", (a, b)):
            return add(poly(a), poly(b), 1)
        case Arith("-", (a, b)):
            return add(poly(a), poly(b), -1)
        case Arith(meaning=Sum((-1,)), args=(a,)):
            return add({}, poly(a), -1)
        case Arith("*", (a, b)):
            return multiply(poly(a), poly(b))
        case Arith("/" | "//", (a, b)):
            divisor = as_constant(poly(b))
            if divisor:
                return {key: ratio(value, divisor) for key, value in poly(a).items()}
    number = known(static)
    if isinstance(number, int | float) and math.isfinite(number):
        return constant(Fraction(number))
    assert isinstance(static, Arith)
    alone = decided(static)
    return Opaque.of(static.op, *map(poly, static.operands)) if alone is None else poly(alone)


def ratio(a: Rational, b: Rational) -> Rational:
    if isinstance(a, int) and b == 1:
        return a
    found = Fraction(a) / b
    return found.numerator if found.denominator == 1 else found


def constant(value: Rational) -> Poly:
    return {(): ratio(value, 1)} if value else {}


def _const(const: Const) -> Poly:
    if const.value is None or isinstance(const.value, tuple):
        return {(const,): 1}
    return constant(Fraction(const.value))


def add(a: Poly, b: Poly, sign: int) -> Poly:
    out = dict(a)
    for key, value in b.items():
        out[key] = out.get(key, 0) + sign * value
        if not out[key]:
            del out[key]
    return out if len(out) <= MONOMIALS else Opaque.of("+" if sign > 0 else "-", a, b)


def multiply(a: Poly, b: Poly) -> Poly:
    if len(a) * len(b) > MONOMIALS:
        return Opaque.of("*", a, b)
    out: Poly = {}
    for left, x in a.items():
        for right, y in b.items():
            key = tuple(sorted(left + right, key=_rank))
            out[key] = out.get(key, 0) + x * y
    return {key: value for key, value in out.items() if value}


def _rank(unknown: object) -> tuple[int, int]:
    """An order of unknowns, so that `a * b` is `b * a`."""
    match unknown:
        case Size(family):
            return 0, family
        case Const(id=id):
            return 1, id
        case Axis(id=id):
            return 2, id
        case _:
            return 3, hash(unknown)


def as_constant(p: Poly) -> Rational | None:
    """The number that the polynomial is, where it is one."""
    if not p:
        return 0
    return p[()] if set(p) == {()} else None


def never_negative(p: Poly) -> bool:
    """Whether the polynomial is at least 0 whatever the sizes, each size being at least 1 (sufficient only)."""
    least = _least_sum(p)
    return least is not None and least >= 0


def _least_sum(p: Poly) -> Rational | None:
    """What the polynomial is at least, each size being at least 1; None where that is not seen."""
    total: Rational = 0
    for monomial, coefficient in p.items():
        least = least_product(monomial)
        if least is None or (monomial and coefficient < 0):
            return None
        total += coefficient * least
    return total


def least_product(monomial: Monomial) -> int | None:
    """What unknowns multiplied are at least, each being 0 or more; None where one may be less."""
    least = 1
    for unknown in monomial:
        lower = _least(unknown)
        if lower is None:
            return None
        least *= lower
    return least


def never_negative_of_none(p: Poly) -> bool:
    """The same where sizes may be 0."""
    return all(
        coefficient >= 0
        and all(not isinstance(unknown, Opaque) and _least(unknown) is not None for unknown in monomial)
        for monomial, coefficient in p.items()
    )


def _least(unknown: object) -> int | None:
    """The least value of an unknown of a monomial, where it has one of 0 or more.

    A size is at least 1, an index and the number of a pass 0. A const without a value may be any number.
    """
    match unknown:
        case Opaque(least=least):
            return least
        case Size():
            return 1
        case Axis() | Const(is_index=True):
            return 0
        case _:
            return None


def _least_of(op: str, args: list[Poly]) -> int | None:
    match OPERATIONS[op].meaning, args:
        case Rounded(), [inner] if never_negative(inner):
            return 0
        case Remainder(), [_, divisor] if never_negative(add(divisor, constant(1), -1)):
            return 0
        case Extreme(largest=True), parts if any(map(never_negative, parts)):
            return 0
        case Extreme(largest=False), parts if all(map(never_negative, parts)):
            return 0
        case Power(), [base, _] if never_negative(base):
            return 0
        case Item() | Choice(), [_, *parts] if all(map(never_negative, parts)):
            return 0
        case Magnitude(), _:
            return 0
        case _:
            return None


def positive(p: Poly) -> bool:
    least = _least_sum(p)
    return least is not None and least > 0
