"""What is known of the result of a pointwise op, from what it computes of its operands."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from functools import reduce

from ..graph.traits import (
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
from ..sizes.predicates import ALWAYS, Cases, Linear, at_most_zero, both, either
from .reach import Info, unite

UPPERS = 16  # upper bounds kept of one value


def pointwise(meaning: Meaning, parts: list[Info]) -> Info:
    """What is known of the result."""
    if meaning == Sum((1,)):
        return parts[0]
    parts = _without_sizes(meaning, parts)
    if len(parts) == 1 and isinstance(meaning, Extreme | Limited):
        return parts[0]
    true, false = _facts(meaning, parts)
    form = _linear(meaning, parts)
    uppers = (form,) if form is not None else _uppers(meaning, parts)
    absolute = parts[0].linear if isinstance(meaning, Magnitude) else None
    return Info(unite(*(part.reach for part in parts)), true, false, form, _least(uppers), absolute)


def _without_sizes(meaning: Meaning, parts: list[Info]) -> list[Info]:
    """Without the run-time sizes that cannot matter: `min(t, |t| - 1)` is `t`, and `t < |t|` holds."""
    match meaning, parts:
        case Extreme(largest=False), _:
            return [part for part in parts if not any(_below(other, part) for other in parts)]
        case Limited(), [x, low, high] if _below(x, high) and low.linear == Linear((), 0) and _never_negative(x):
            return [x]
        case Limited(), [x, low, high] if _below(x, high):
            return [x, low, replace(high, reach={})]
        case Compared("<" | "<=" as sign), [a, b] if _below(a, b, sign == "<"):
            return [a, replace(b, reach={})]
        case Compared(">" | ">=" as sign), [a, b] if _below(b, a, sign == ">"):
            return [replace(a, reach={}), b]
        case _:
            return parts


def _below(x: Info, size: Info, gap: int = 0) -> bool:
    """Whether x + gap is at most the size, whatever the size is: an index is at most |its axis| - 1."""
    if size.extent is None:
        return False
    axis, number = size.extent
    bounds = [form.bound for form in x.uppers]
    return any(b is not None and b[0].family == axis.family and b[1] - 1 + gap <= number for b in bounds)


# -- where it is true or not zero, and where it is false -----------------------------------------------------------


def _facts(meaning: Meaning, parts: list[Info]) -> tuple[Cases, Cases]:
    match meaning, parts:
        case Conjunction(), [a, b]:
            return both(a.true, b.true), either(a.false, b.false)
        case Disjunction(), [a, b]:
            return either(a.true, b.true), both(a.false, b.false)
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


def _comparison(sign: str, a: Info, b: Info) -> tuple[Cases, Cases]:
    if a.linear is not None and b.linear is not None:
        d = a.linear.plus(b.linear, -1)
        one = Linear((), 1)
        match sign:
            case "<=":
                return at_most_zero(d), at_most_zero(d.times(-1).plus(one))
            case "<":
                return at_most_zero(d.plus(one)), at_most_zero(d.times(-1))
            case "==":
                return both(at_most_zero(d), at_most_zero(d.times(-1))), ALWAYS
            case "!=":
                return ALWAYS, both(at_most_zero(d), at_most_zero(d.times(-1)))
    if sign not in ("<=", "<"):
        return ALWAYS, ALWAYS
    if a.linear is not None and b.uppers and _never_negative(a):
        found = ALWAYS  # 0 <= a <= b, and such a b is at most each of its bounds
        for upper in b.uppers:
            found = both(found, at_most_zero(a.linear.plus(upper, -1)))
        return found, ALWAYS
    if a.absolute is not None and b.linear is not None and not b.linear.terms:
        n = Linear((), b.linear.constant - (sign == "<"))
        return both(at_most_zero(a.absolute.plus(n, -1)), at_most_zero(a.absolute.times(-1).plus(n, -1))), ALWAYS
    return ALWAYS, ALWAYS


# -- its form, and upper bounds ------------------------------------------------------------------------------------


def _linear(meaning: Meaning, parts: list[Info]) -> Linear | None:
    forms = [part.linear for part in parts if part.linear is not None]
    if len(forms) < len(parts):
        return None
    match meaning, forms:
        case Sum(times), _:
            terms = [form.times(number) for form, number in zip(forms, times, strict=True)]
            return reduce(Linear.plus, terms)
        case Product(), [a, b] if not a.terms:
            return b.times(a.constant)
        case Product(), [a, b] if not b.terms:
            return a.times(b.constant)
        case _:
            return None


def _uppers(meaning: Meaning, parts: list[Info]) -> Iterable[Linear]:
    """Upper bounds where the result is 0 or more, as what picks an item is."""
    match meaning, parts:
        case Extreme(largest=False), _:
            return (upper for part in parts for upper in part.uppers)
        case Extreme(largest=True), _:
            return reduce(_of_the_larger, (part.uppers for part in parts))
        case Limited(), [x, low, high]:
            return (*_of_the_larger(x.uppers, low.uppers), *high.uppers)
        case Choice(), [_, x, y]:
            return _of_the_larger(x.uppers, y.uppers)
        case Rounded(up=False), [a]:
            return a.uppers
        case Remainder(), [a, _] if _never_negative(a):
            return a.uppers
        case Quotient(), [a, b] if b.linear is not None and not b.linear.terms and b.linear.constant >= 1:
            return a.uppers
        case Sum((1, -1)), [a, b] if _never_negative(b):
            return a.uppers
        case _:
            return ()


def _least(uppers: Iterable[Linear]) -> tuple[Linear, ...]:
    """Those that are a number, or an index plus a number: of each index the least."""
    least: dict[object, Linear] = {}
    for upper in uppers:
        if (upper.bound is not None or not upper.terms) and (
            upper.terms not in least or upper.constant < least[upper.terms].constant
        ):
            least[upper.terms] = upper
    return tuple(least.values())[:UPPERS]


def _of_the_larger(a: tuple[Linear, ...], b: tuple[Linear, ...]) -> tuple[Linear, ...]:
    """Upper bounds of whichever of two values is larger, from those of each."""
    return _least(found for x in a for y in b if (found := _larger(x, y)) is not None)


def _larger(a: Linear, b: Linear) -> Linear | None:
    """Something that is at least both, where that is easy: the same terms, or a number and an index."""
    if a.terms == b.terms:
        return a if a.constant >= b.constant else b
    for x, y in ((a, b), (b, a)):
        if not y.terms and x.bound is not None:
            return Linear(x.terms, max(x.constant, y.constant))
    return None


def _never_negative(info: Info) -> bool:
    form = info.linear
    return info.never_negative or (form is not None and form.constant >= 0 and all(c >= 0 for _, c in form.terms))
