"""Polynomials and numbers as text: `layers (4 m^2 x + 2 m x^2) + m n y`, the leading terms first."""

from __future__ import annotations

import sys
from decimal import Decimal
from fractions import Fraction

from .polynomial import CONST, WIDTH, Monomial, Poly, SizeSymbol, Unknown, Values


def formula(poly: Poly, values: Values | None = None) -> str:
    """As a sum of terms, the largest at `values` first (without: by degree); what all share is taken out in front, and
    so is the number of passes of a repeat.
    """
    if not poly.terms:
        return "0"
    groups: dict[Monomial, dict[Monomial, Fraction]] = {}
    for monomial, c in poly.terms.items():
        outer = tuple((s, e) for s, e in monomial if s.rank == CONST and e > 0)
        groups.setdefault(outer, {})[tuple(item for item in monomial if item not in outer)] = Fraction(c)
    if len(groups) == 1:
        return _group(*next(iter(groups.items())), values)
    parts = sorted(
        groups.items(), key=lambda item: _weight(Poly({_joined(item[0], m): c for m, c in item[1].items()}), values)
    )
    out = ""
    for outer, terms in parts:
        text = _group(outer, terms, values) if outer else _sum(terms, values)
        out += (f" - {text[1:]}" if text.startswith("-") else f" + {text}") if out else text
    return out


def _joined(a: Monomial, b: Monomial) -> Monomial:
    return tuple(sorted((*a, *b), key=lambda item: item[0].order))


def _group(outer: Monomial, terms: dict[Monomial, Fraction], values: Values | None) -> str:
    """One product: what is common, then the sum of what is left."""
    if len(terms) == 1:
        ((monomial, c),) = terms.items()
        return _term(_joined(outer, monomial), c)
    common, factor = _common(terms)
    if outer and all(c < 0 for c in terms.values()):
        factor = -factor
    left = {_without(m, common): c / factor for m, c in terms.items()}
    above = tuple((s, e) for s, e in common if e > 0)
    front, inner = _term(_joined(outer, above), Fraction(factor.numerator)), _sum(left, values)
    below = [power(s, -e) for s, e in common if e < 0]
    if factor.denominator != 1:
        below.insert(0, str(factor.denominator))
    if front == "1" and not below:
        return inner
    text = f"({inner})" if front == "1" else f"{front} ({inner})"
    return f"{text} / {below[0]}" if len(below) == 1 else f"{text} / ({' '.join(below)})" if below else text


def _common(terms: dict[Monomial, Fraction]) -> tuple[Monomial, Fraction]:
    """The largest monomial and number that divide every term; what all are divided by, too."""
    monomials = [dict(monomial) for monomial in terms]
    shared = set(monomials[0]).intersection(*monomials)
    powers = {}
    for symbol in shared:
        exponents = [mine[symbol] for mine in monomials]
        if min(exponents) > 0:
            powers[symbol] = min(exponents)
        elif max(exponents) < 0:
            powers[symbol] = max(exponents)
    common = tuple(sorted(powers.items(), key=lambda item: item[0].order))
    first, *rest = terms.values()
    factor = abs(first)
    for c in rest:
        factor = _gcd(factor, abs(c))
    return common, factor


def _gcd(a: Fraction, b: Fraction) -> Fraction:
    while b:
        a, b = b, a % b
    return a


def _without(monomial: Monomial, common: Monomial) -> Monomial:
    gone = dict(common)
    return tuple((s, e - gone.get(s, 0)) for s, e in monomial if e != gone.get(s, 0))


def _weight(poly: Poly, values: Values | None) -> tuple[Fraction, int, str]:
    """Sorts the leading term first."""
    degree = max(sum(e for s, e in monomial if s.rank == WIDTH) for monomial in poly.terms)
    try:
        size = abs(poly.at(values)) if values is not None else Fraction(0)
    except Unknown:
        size = Fraction(0)
    return (-size, -degree, repr([[s.order, e] for monomial in poly.terms for s, e in monomial]))


def _sum(terms: dict[Monomial, Fraction], values: Values | None) -> str:
    ordered = sorted(terms.items(), key=lambda item: _weight(Poly({item[0]: item[1]}), values))
    out = ""
    for monomial, c in ordered:
        text = _term(monomial, abs(c))
        out += (f" {'-' if c < 0 else '+'} {text}") if out else (f"-{text}" if c < 0 else text)
    return out


def _term(monomial: Monomial, c: Fraction) -> str:
    if c < 0:
        return f"-{_term(monomial, -c)}"
    above = [power(s, e) for s, e in monomial if e > 0]
    below = [power(s, -e) for s, e in monomial if e < 0]
    if c.denominator != 1:
        below.insert(0, str(c.denominator))
    if c.numerator != 1 or not above:
        above.insert(0, str(c.numerator))
    text = " ".join(above)
    if not below:
        return text
    return f"{text} / {below[0]}" if len(below) == 1 else f"{text} / ({' '.join(below)})"


def power(symbol: SizeSymbol, e: int) -> str:
    return symbol.name if e == 1 else f"{symbol.name}^{e}"


def short(number: Fraction | int | float) -> str:
    """Three digits and a unit: `63.0 M`, `1.21 G`; whole numbers below 10,000 in full, of more than any float the
    power of ten: `1.80e+308`.
    """
    if not isinstance(number, float) and abs(int(number)) > sys.float_info.max:
        return f"{Decimal(int(number)):.3g}"
    value = float(number)
    if abs(value) < 10_000:
        return f"{int(value):,}" if value == int(value) else f"{value:.3g}"
    for unit in ("k", "M", "G", "T", "P", "E"):
        value /= 1000
        if abs(value) < 999.5:
            return f"{value:.{2 if abs(value) < 9.995 else 1 if abs(value) < 99.95 else 0}f} {unit}"
    return f"{value:.3g} E"


def amount(bytes: int) -> str:
    """Bytes: `12.3 MB` (powers of 1000)."""
    text = short(bytes)
    return f"{text}B" if text[-1].isalpha() else f"{text} B"
