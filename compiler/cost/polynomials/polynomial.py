"""Exact polynomials over sizes: rational coefficients, integer exponents, negative ones too.

Exact division is what makes sizes of heads vanish: `heads * (model / heads)` is `model`. What is no polynomial (ceil,
max, a quotient by a sum) is a symbol with a formula of its own, so that it still has a value.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property, reduce

from ...sizes.functions import OPERATIONS

Monomial = tuple[tuple["SizeSymbol", int], ...]
Rational = int | Fraction  # most are whole, and ints are much faster
Values = Mapping["SizeSymbol", int]
CONST, DEPTH, WIDTH = 0, 1, 2  # the order in which a product names them


@dataclass(frozen=True, slots=True)
class SizeSymbol:
    """An unknown size or number. Two are the same if their keys are.

    formula: for what is no polynomial, the operation and its arguments.
    """

    key: object
    name: str = field(compare=False)
    rank: int = field(compare=False, default=CONST)
    formula: tuple[str, tuple[Poly, ...]] | None = field(compare=False, default=None)

    @property
    def order(self) -> tuple[int, str, str]:
        return (self.rank, self.name, repr(self.key) if self.formula is None else "")


class Unknown(LookupError):
    """A symbol without a value."""

    def __init__(self, symbol: SizeSymbol) -> None:
        super().__init__(f"`{symbol.name}` has no value")
        self.symbol = symbol


@dataclass(frozen=True, eq=False)
class Poly:
    """A sum of terms. Immutable; equal to another if all terms are."""

    terms: Mapping[Monomial, Rational]

    @staticmethod
    def of(value: int | float | Fraction | SizeSymbol) -> Poly:
        if isinstance(value, SizeSymbol):
            return Poly({((value, 1),): 1})
        return Poly({(): int(value) if isinstance(value, int) else plain(Fraction(value))} if value else {})

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Poly) and self.terms == other.terms

    @cached_property
    def _hash(self) -> int:
        return hash(frozenset(self.terms.items()))

    def __hash__(self) -> int:
        return self._hash

    def __bool__(self) -> bool:
        return bool(self.terms)

    def __add__(self, other: Poly | int) -> Poly:
        other = other if isinstance(other, Poly) else Poly.of(other)
        if not self.terms or not other.terms:
            return self if self.terms else other
        out = dict(self.terms)
        for monomial, c in other.terms.items():
            total = out.get(monomial, 0) + c
            if total:
                out[monomial] = total
            else:
                del out[monomial]
        return Poly(out)

    __radd__ = __add__

    def __neg__(self) -> Poly:
        return Poly({monomial: -c for monomial, c in self.terms.items()})

    def __sub__(self, other: Poly | int) -> Poly:
        return self + -(other if isinstance(other, Poly) else Poly.of(other))

    def __rsub__(self, other: int) -> Poly:
        return -self + other

    def __mul__(self, other: Poly | int | Fraction) -> Poly:
        if not isinstance(other, Poly):
            return Poly({monomial: c * other for monomial, c in self.terms.items()} if other else {})
        for one, more in ((self, other), (other, self)):  # most often by 1, and by a number
            if len(one.terms) == 1 and () in one.terms:
                factor = one.terms[()]
                return more if factor == 1 else Poly({monomial: c * factor for monomial, c in more.terms.items()})
        out: dict[Monomial, Rational] = {}
        for a, x in self.terms.items():
            for b, y in other.terms.items():
                key = _times(a, b)
                out[key] = out.get(key, 0) + x * y
        return Poly({monomial: c for monomial, c in out.items() if c})

    __rmul__ = __mul__

    def __pow__(self, exponent: int) -> Poly:
        return reduce(lambda a, b: a * b, [self] * exponent, ONE)

    def over(self, divisor: Poly) -> Poly | None:
        """The quotient by a single term, or None for a sum (or 0)."""
        if len(divisor.terms) != 1:
            return None
        ((monomial, c),) = divisor.terms.items()
        inverse = tuple((symbol, -e) for symbol, e in monomial)
        return self * Poly({inverse: plain(1 / Fraction(c))})

    @property
    def number(self) -> Fraction | None:
        """What it is where it has no symbols."""
        if not self.terms:
            return Fraction(0)
        return Fraction(self.terms[()]) if self.terms.keys() == {()} else None

    @property
    def symbols(self) -> list[SizeSymbol]:
        """In order, those inside formulas left out."""
        found = {symbol for monomial in self.terms for symbol, _ in monomial}
        return sorted(found, key=lambda symbol: symbol.order)

    def at(self, values: Values, known: dict[SizeSymbol, Fraction] | None = None) -> Fraction:
        """Its value, exactly. Raises Unknown for a symbol without a value. known: of formulas, worked out once."""
        known = {} if known is None else known
        total: Rational = 0
        for monomial, c in self.terms.items():
            for symbol, e in monomial:
                value = values[symbol] if symbol in values else value_of(symbol, values, known)
                c = c * (value**e if e > 0 else Fraction(value) ** e)
            total += c
        return Fraction(total)


ZERO, ONE = Poly({}), Poly({(): 1})


def _times(a: Monomial, b: Monomial) -> Monomial:
    if not a or not b:
        return a or b
    powers = dict(a)
    for symbol, e in b:
        powers[symbol] = powers.get(symbol, 0) + e
    return tuple(sorted(((s, e) for s, e in powers.items() if e), key=lambda item: item[0].order))


def value_of(symbol: SizeSymbol, values: Values, known: dict[SizeSymbol, Fraction] | None = None) -> Fraction:
    """Raises Unknown; ZeroDivisionError, ValueError or OverflowError where it has no value."""
    if symbol in values:
        return Fraction(values[symbol])
    if symbol.formula is None:
        raise Unknown(symbol)
    known = {} if known is None else known
    if symbol not in known:
        op, args = symbol.formula
        numbers = [arg.at(values, known) for arg in args]
        number = numbers[0] if op == "is" else OPERATIONS[op](*map(plain, numbers))
        if isinstance(number, complex):
            raise ValueError("a root of a negative number")
        known[symbol] = Fraction(number)
    return known[symbol]


def plain(number: Fraction) -> int | Fraction:
    """A whole number as an int."""
    return number.numerator if number.denominator == 1 else number


def base_symbols(polys: Iterable[Poly]) -> list[SizeSymbol]:
    """The symbols without a formula that they depend on, in order."""
    found: set[SizeSymbol] = set()
    todo = list(polys)
    while todo:
        for monomial in todo.pop().terms:
            for symbol, _ in monomial:
                if symbol not in found:
                    found.add(symbol)
                    todo += symbol.formula[1] if symbol.formula is not None else ()
    return sorted((symbol for symbol in found if symbol.formula is None), key=lambda symbol: symbol.order)


def product(factors: Iterable[Poly]) -> Poly:
    return reduce(lambda a, b: a * b, factors, ONE)


def total(polys: Iterable[Poly]) -> Poly:
    out: dict[Monomial, Rational] = {}
    for poly in polys:
        for monomial, c in poly.terms.items():
            out[monomial] = out.get(monomial, 0) + c
    return Poly({monomial: c for monomial, c in out.items() if c})


def largest(polys: Iterable[Poly], values: Values) -> Poly:
    """Of several the one with the largest value, the first of equals."""
    return max(polys, key=lambda poly: poly.at(values), default=ZERO)
