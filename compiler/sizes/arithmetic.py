"""Arithmetic over sizes: exact division, formulas turned round, and what is proved equal, different or at most."""

from __future__ import annotations

import math
from collections.abc import Callable, Container, Sequence

from ...dsl.base.records import record
from .axes import Arith, Axis, ConstOf, Literal, Number, SizeOf, Static, axes_in, evaluate, known, once, surely_read
from .functions import Extreme, Product, Quotient, Rounded, Sum
from .polynomials import Poly, add, never_negative, poly, positive


@record
class Inexact:
    """A division in a size that leaves a remainder: `dividend / divisor`."""

    dividend: Number
    divisor: Number


@once
def inexact_division(static: Static) -> Inexact | None:
    """The first exact division (`//`) whose known sides do not divide."""
    if not isinstance(static, Arith):
        return None
    for arg in surely_read(static):
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
    return any(map(divides_by_zero, surely_read(static))) or (
        static.op in ("/", "//", "%") and known(static.args[1]) == 0
    )


def replaced(static: Static, other: Callable[[SizeOf | ConstOf], Static]) -> Static:
    """The same expression with other numbers for its sizes and consts."""
    match static:
        case SizeOf() | ConstOf():
            return other(static)
        case Arith(op, args):
            return Arith(op, tuple(replaced(arg, other) for arg in args))
        case _:
            return static


def substitute(static: Static, axes: dict[int, Axis], consts: dict[int, Static]) -> Static:
    """The same expression over other axes and consts (maps from ids; what they lack stays)."""

    def other(part: SizeOf | ConstOf) -> Static:
        match part:
            case SizeOf(axis):
                return SizeOf(axes.get(axis.id, axis))
            case ConstOf(const):
                return consts.get(const.id, part)

    return replaced(static, other)


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


def difference(a: Static, b: Static) -> Poly:
    """a - b."""
    return add(poly(a), poly(b), -1)


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
    return bool(d) and (positive(d) or positive(add({}, d, -1)))


def provably_more(a: Static, b: Static) -> bool:
    """Whether a > b whatever the free sizes (each at least 1), as far as can be seen."""
    return positive(difference(a, b))


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
