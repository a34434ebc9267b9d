"""Arithmetic over sizes: exact division, and polynomials that prove two sizes equal or different."""

from __future__ import annotations

import math
from collections.abc import Callable, Container, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

from .axes import Arith, Axis, Const, ConstOf, Literal, Number, SizeOf, Static, axes_in, evaluate, known, once
from .functions import OPERATIONS, Extreme, Magnitude, Power, Product, Quotient, Remainder, Rounded, Sum


@dataclass(frozen=True, slots=True)
class Inexact:
    """A division in a size that leaves a remainder: `dividend / divisor`."""

    dividend: Number
    divisor: Number


@once
def inexact_division(static: Static) -> Inexact | None:
    """The first exact division (`//`) whose known sides do not divide."""
    if not isinstance(static, Arith):
        return None
    for arg in static.args:
        found = inexact_division(arg)
        if found:
            return found
    if static.op == "//":
        a, b = (evaluate(arg) for arg in static.args)
        if a is not None and b and math.isfinite(a) and a % b:
            return Inexact(a, b)
    return None


@once
def divides_by_zero(static: Static) -> bool:
    """Whether a divisor in it is 0, whatever is divided."""
    if not isinstance(static, Arith):
        return False
    return any(map(divides_by_zero, static.args)) or (static.op in ("/", "//", "%") and known(static.args[1]) == 0)


def substitute(static: Static, axes: dict[int, Axis], consts: dict[int, Static]) -> Static:
    """The same expression over other axes and consts (maps from ids; what they lack stays)."""
    match static:
        case Literal():
            return static
        case SizeOf(axis):
            return SizeOf(axes.get(axis.id, axis))
        case ConstOf(const):
            return consts.get(const.id, static)
        case Arith(op, args):
            return Arith(op, tuple(substitute(arg, axes, consts) for arg in args))


@once
def mentions(static: Static) -> tuple[set[int], set[int]]:
    """The ids of the axes and of the consts in an expression."""
    match static:
        case Literal():
            return set(), set()
        case SizeOf(axis):
            return {axis.id}, set()
        case ConstOf(const):
            return set(), {const.id}
        case Arith(_, args):
            axes: set[int] = set()
            consts: set[int] = set()
            for arg in args:
                a, c = mentions(arg)
                axes |= a
                consts |= c
            return axes, consts


def open_width(static: Static, given: Container[int] = ()) -> Axis | None:
    """The first width in it that has no size before a run; `given`: ids of axes whose size a call gives."""
    seen: set[int] = set()
    todo = [*reversed(axes_in(static))]
    while todo:
        axis = todo.pop()
        if axis.extent is not None or axis.id in given or axis.id in seen:
            continue
        seen.add(axis.id)
        if axis.size is not None:
            todo += reversed(axes_in(axis.size))
        elif axis.is_width:
            return axis
    return None


def with_parts(axes: set[Axis], open: Callable[[Axis], bool] = lambda axis: True) -> set[Axis]:
    """These, and what those of them that are open and derived are made of, where that has no size before a run."""
    found, left = set(axes), list(axes)
    while left:
        axis = left.pop()
        if axis.size is not None and axis.extent is None and open(axis):
            found |= (new := set(axes_in(axis.size)) - found)
            left += new
    return found


def solved(whole: Axis, part: Axis) -> Static | None:
    """The size of `part` from that of `whole`, whose formula mentions it once: of `seq = short * k`, `short` is
    `seq / k`. None for a formula that cannot be turned round. Copies of `part` count as it (D4).
    """
    formula = whole.size
    turned: Static = SizeOf(whole)
    while formula is not None:
        match formula:
            case SizeOf(axis) if axis.family == part.family:
                return turned
            case Arith("+" | "-" | "*" | "/" | "//" as op, (a, b)):
                left, right = (any(each.family == part.family for each in axes_in(side)) for side in (a, b))
                if left == right:
                    return None
                match op:
                    case "+":
                        turned = Arith("-", (turned, b if left else a))
                    case "-":
                        turned = Arith("+", (turned, b)) if left else Arith("-", (a, turned))
                    case "*":
                        turned = Arith("//", (turned, b if left else a))
                    case _:
                        turned = Arith("*", (turned, b)) if left else Arith("//", (a, turned))
                formula = a if left else b
            case _:
                return None
    return None


def product(axes: Sequence[Axis], formula: Callable[[Axis], Static | None]) -> Static | None:
    """What these axes make together, where one of them is made so that they do: with `key = model / heads`, heads and
    key make model. None where no formula says so.
    """
    for axis in axes:
        match formula(axis):
            case Arith("//", (whole, divisor)) if _factors(divisor) == sorted(a.id for a in axes if a != axis):
                return whole
    return None


def _factors(static: Static) -> list[int] | None:
    """The ids of the axes whose product it is; None if there is anything else in it."""
    match static:
        case SizeOf(axis):
            return [axis.id]
        case Arith("*", (a, b)):
            left, right = _factors(a), _factors(b)
            return None if left is None or right is None else sorted([*left, *right])
        case _:
            return None


Monomial = tuple[object, ...]
"""The unknowns of a monomial: ("axis", its family), a Const, or an Opaque."""

Poly = dict[Monomial, Fraction]

MONOMIALS = 200  # of one polynomial; what has more is opaque, and little is proved of it


@dataclass(frozen=True, slots=True)
class Opaque:
    """What is not polynomial: an operation on polynomials. They nest as deep as sizes depend on sizes, so that the hash
    and what it is at least are found once.
    """

    op: str
    args: tuple[frozenset[tuple[Monomial, Fraction]], ...]
    hash: int = field(init=False, compare=False, repr=False)
    least: int | None = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "hash", hash((self.op, self.args)))
        object.__setattr__(self, "least", _least_of(self.op, [dict(arg) for arg in self.args]))

    def __hash__(self) -> int:
        return self.hash

    @staticmethod
    def of(op: str, *args: Poly) -> Poly:
        return {(Opaque(op, tuple(frozenset(arg.items()) for arg in args)),): Fraction(1)}


@once
def poly(static: Static) -> Poly:
    """A size as a polynomial over the free sizes. Copies of an axis are one unknown; what is not polynomial
    is opaque.
    """
    match static:
        case Literal(value):
            return _constant(Fraction(value))
        case SizeOf(axis):
            if axis.extent is not None:
                return _constant(Fraction(axis.extent))
            if axis.size is not None:
                return poly(axis.size)
            return {(("axis", axis.family),): Fraction(1)}
        case ConstOf(const):
            return _const(const)
        case Arith("+", (a, b)):
            return _add(poly(a), poly(b), 1)
        case Arith("-", (a, b)):
            return _add(poly(a), poly(b), -1)
        case Arith(meaning=Sum((-1,)), args=(a,)):
            return _add({}, poly(a), -1)
        case Arith("*", (a, b)):
            return _multiply(poly(a), poly(b))
        case Arith("/" | "//", (a, b)):
            divisor = as_constant(poly(b))
            if divisor:
                return {key: value / divisor for key, value in poly(a).items()}
    number = known(static)
    if isinstance(number, int | float) and math.isfinite(number):
        return _constant(Fraction(number))
    assert isinstance(static, Arith)
    return Opaque.of(static.op, *map(poly, static.args))


def _constant(value: Fraction) -> Poly:
    return {(): value} if value else {}


def _const(const: Const) -> Poly:
    if const.value is not None:
        return _constant(Fraction(const.value))
    return {(const,): Fraction(1)}


def _add(a: Poly, b: Poly, sign: int) -> Poly:
    out = dict(a)
    for key, value in b.items():
        out[key] = out.get(key, Fraction(0)) + sign * value
        if not out[key]:
            del out[key]
    return out if len(out) <= MONOMIALS else Opaque.of("+" if sign > 0 else "-", a, b)


def _multiply(a: Poly, b: Poly) -> Poly:
    if len(a) * len(b) > MONOMIALS:
        return Opaque.of("*", a, b)
    out: Poly = {}
    for left, x in a.items():
        for right, y in b.items():
            key = tuple(sorted(left + right, key=_rank))
            out[key] = out.get(key, Fraction(0)) + x * y
    return {key: value for key, value in out.items() if value}


def _rank(unknown: object) -> tuple[int, int]:
    """An order of unknowns, so that `a * b` is `b * a`."""
    match unknown:
        case ("axis", int(id)):
            return 0, id
        case Const(id=id):
            return 1, id
        case _:
            return 2, hash(unknown)


def as_constant(p: Poly) -> Fraction | None:
    """The number that the polynomial is, where it is one."""
    if not p:
        return Fraction(0)
    return p[()] if set(p) == {()} else None


def never_negative(p: Poly) -> bool:
    """Whether the polynomial is at least 0 whatever the sizes, each size being at least 1 (sufficient only)."""
    least = _least_sum(p)
    return least is not None and least >= 0


def _least_sum(p: Poly) -> Fraction | None:
    """What the polynomial is at least, each size being at least 1; None where that is not seen."""
    total = Fraction(0)
    for monomial, coefficient in p.items():
        least = 1
        for unknown in monomial:
            lower = _least(unknown)
            if lower is None:
                return None
            least *= lower
        if monomial and coefficient < 0:
            return None
        total += coefficient * least
    return total


def never_negative_of_none(p: Poly) -> bool:
    """The same where sizes may be 0."""
    return all(
        coefficient >= 0
        and all(not isinstance(unknown, Opaque) and _least(unknown) is not None for unknown in monomial)
        for monomial, coefficient in p.items()
    )


def _least(unknown: object) -> int | None:
    """The least value of an unknown of a monomial, where it has one of 0 or more.

    A size is at least 1, the number of a pass 0. A const without a value may be any number.
    """
    match unknown:
        case Opaque(least=least):
            return least
        case ("axis", _):
            return 1
        case Const(is_index=True):
            return 0
        case _:
            return None


def _least_of(op: str, args: list[Poly]) -> int | None:
    match OPERATIONS[op].meaning, args:
        case Rounded(), [inner] if never_negative(inner):
            return 0
        case Remainder(), [_, divisor] if never_negative(_add(divisor, _constant(Fraction(1)), -1)):
            return 0
        case Extreme(largest=True), parts if any(map(never_negative, parts)):
            return 0
        case Extreme(largest=False), parts if all(map(never_negative, parts)):
            return 0
        case Power(), [base, _] if never_negative(base):
            return 0
        case Magnitude(), _:
            return 0
        case _:
            return None


def difference(a: Static, b: Static) -> Poly:
    """a - b."""
    return _add(poly(a), poly(b), -1)


def at_most(a: Static, b: Static) -> bool:
    """Whether a <= b whatever the sizes, as far as can be seen."""
    return _at_most(a, b, {})


def _at_most(a: Static, b: Static, memo: dict[tuple[int, int], bool]) -> bool:
    """`memo`: what was found of parts of the two, which meet again and again."""
    key = (id(a), id(b))
    if key not in memo:
        memo[key] = _decided(a, b, memo)
    return memo[key]


def _decided(a: Static, b: Static, memo: dict[tuple[int, int], bool]) -> bool:
    match a:
        case Arith(meaning=Extreme(largest=True), args=parts):
            return all(_at_most(part, b, memo) for part in parts)
        case Arith(meaning=Extreme(largest=False), args=parts) if any(_at_most(part, b, memo) for part in parts):
            return True
    match b:
        case Arith(meaning=Extreme(largest=False), args=parts):
            return all(_at_most(a, part, memo) for part in parts)
        case Arith(meaning=Extreme(largest=True), args=parts) if any(_at_most(a, part, memo) for part in parts):
            return True
    return never_negative(difference(b, a))


def provably_different(a: Static, b: Static) -> bool:
    """Whether no choice of the free sizes (each at least 1) makes the two equal, as far as can be seen."""
    d = difference(a, b)
    return bool(d) and (_positive(d) or _positive(_add({}, d, -1)))


def provably_more(a: Static, b: Static) -> bool:
    """Whether a > b whatever the free sizes (each at least 1), as far as can be seen."""
    return _positive(difference(a, b))


def _positive(p: Poly) -> bool:
    least = _least_sum(p)
    return least is not None and least > 0


def largest(static: Static) -> int | None:
    """The largest value of a derived width whose parts are bounded; None where they are not.

    Right for what only grows with its parts: sums, products, quotients by constants.
    """
    value = _largest(static)
    return None if value is None else int(value)


def _largest(static: Static) -> Number | None:
    match static:
        case SizeOf(axis):
            return axis.extent if axis.extent is not None else axis.bound
        case Arith(meaning=Sum((1, 1)) | Product() | Quotient() | Rounded() | Extreme(), args=args):
            parts = []
            for index, arg in enumerate(args):
                fixed = isinstance(static.meaning, Quotient) and index == 1
                part = known(arg) if fixed else _largest(arg)
                if part is None:
                    return None
                parts.append(Literal(part))
            return known(Arith(static.op, tuple(parts)))
        case _:
            return known(static)
