"""Operations on polynomials: worked out where that gives a polynomial, else a symbol of its own, with its formula."""

from __future__ import annotations

from fractions import Fraction
from functools import reduce
from operator import add

from ...sizes.functions import OPERATIONS, Meaning, Power, Product, Quotient, Rounded, Sum
from .polynomial import ONE, ZERO, Poly, SizeSymbol, plain
from .show import formula

_INFIX = {"+": "+", "-": "-", "*": "*", "/": "/", "//": "/", "%": "mod", "^": "^"}


_ROUNDED = {operation.meaning: word for word, operation in OPERATIONS.items() if isinstance(operation.meaning, Rounded)}


def rounded(poly: Poly, up: bool) -> Poly:
    """The nearest whole number on one side."""
    return apply(_ROUNDED[Rounded(up)], (poly,))


def apply(op: str, args: tuple[Poly, ...], name: str = "") -> Poly:
    """An operation of `sizes.functions`: worked out where that stays a polynomial, else a symbol of its own.

    `is` makes a symbol of a formula that has a name.
    """
    match _meaning(op), args:
        case None, (a,):
            return a if len(a.terms) <= 1 else _opaque(op, args, name)
        case Sum(times), _:
            return reduce(add, (arg * factor for factor, arg in zip(times, args, strict=True)))
        case Product(), (a, b):
            return a * b
        case Quotient(), (a, b):
            quotient = a.over(b)
            if quotient is not None:
                return quotient
        case Power(), (a, b) if b.number is not None and b.number.denominator == 1 and 0 <= b.number <= 64:
            return a ** int(b.number)
        case Rounded(), (a,) if a.number is None and _whole(a):
            return a
    numbers = [arg.number for arg in args]
    if all(number is not None for number in numbers):
        return Poly.of(Fraction(OPERATIONS[op](*(plain(n) for n in numbers if n is not None))))
    return _opaque(op, args, name)


def _meaning(op: str) -> Meaning | None:
    return None if op == "is" else OPERATIONS[op].meaning


def _whole(poly: Poly) -> bool:
    """Whether it is a whole number for all whole sizes, as far as its coefficients show."""

    def whole(symbol: SizeSymbol) -> bool:
        match symbol.formula and _meaning(symbol.formula[0]):
            case None | Rounded() | Quotient(whole=True) | Power():
                return True
            case _:
                return False

    return all(
        c.denominator == 1 and all(e > 0 and whole(s) for s, e in monomial) for monomial, c in poly.terms.items()
    )


def _opaque(op: str, args: tuple[Poly, ...], name: str) -> Poly:
    shown = [formula(arg) for arg in args]
    if not name and op in _INFIX:
        shown = [text if text.replace("_", "a").isalnum() else f"({text})" for text in shown]
        name = f"({f' {_INFIX[op]} '.join(shown)})" if op != "^" else f"{shown[0]}^{shown[1]}"
    if not name and len(shown) == 1 and shown[0].startswith("((") and shown[0].endswith("))"):
        shown = [shown[0][1:-1]]  # ceil((n - 1) / (k - 1)), its argument in one pair of brackets
    name = name or f"{op}({', '.join(shown)})"
    rank = max(symbol.rank for arg in args for symbol in arg.symbols)
    return Poly.of(SizeSymbol((op, *args), name, rank, (op, args)))


def put(poly: Poly, symbol: SizeSymbol, by: Poly, known: dict[SizeSymbol, Poly] | None = None) -> Poly:
    """With something else in a symbol's place, inside formulas too. Where that would divide by a sum, the symbol stays.

    known: what becomes of each symbol, worked out once.
    """
    known = {symbol: by} if known is None else known
    total = ZERO
    for monomial, c in poly.terms.items():
        term = Poly.of(c)
        for found, e in monomial:
            if found not in known:
                known[found] = _formula_with(found, symbol, by, known)
            base = known[found]
            power = base**e if e >= 0 else ONE.over(base**-e)
            term = term * (power if power is not None else Poly({((found, e),): Fraction(1)}))
        total = total + term
    return total


def _formula_with(found: SizeSymbol, symbol: SizeSymbol, by: Poly, known: dict[SizeSymbol, Poly]) -> Poly:
    if found.formula is None:
        return Poly.of(found)
    op, args = found.formula
    new = tuple(put(arg, symbol, by, known) for arg in args)
    return Poly.of(found) if new == args else apply(op, new, found.name)
