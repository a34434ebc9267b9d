"""Exact polynomials, and how they are written: leading terms first, what all terms share in front."""

from __future__ import annotations

from fractions import Fraction

import pytest

from attnc.compiler.cost.growth import order
from attnc.compiler.cost.polynomials.operations import apply, put
from attnc.compiler.cost.polynomials.polynomial import (
    CONST,
    DEPTH,
    ONE,
    WIDTH,
    ZERO,
    Poly,
    SizeSymbol,
    Unknown,
    base_symbols,
    largest,
)
from attnc.compiler.cost.polynomials.show import amount, formula, short

N, M = (SizeSymbol(name, name, WIDTH) for name in "nm")
D, E = (SizeSymbol(name, name, DEPTH) for name in "de")
L, R = (SizeSymbol(name, name, CONST) for name in "lr")
n, m, d, e, l, r = map(Poly.of, (N, M, D, E, L, R))  # noqa: E741
SIZES = {N: 7, M: 5, D: 3, E: 2, L: 4, R: 6}


def over(a: Poly, b: Poly) -> Poly:
    found = a.over(b)
    assert found is not None
    return found


def number(value: int | Fraction) -> Poly:
    return Poly.of(value)


def test_formulas() -> None:
    written: list[tuple[Poly, str]] = [
        (ZERO, "0"),
        (ONE, "1"),
        (-ONE, "-1"),
        (ONE * Fraction(1, 2), "1 / 2"),
        (n, "n"),
        (-n, "-n"),
        (n * 2, "2 n"),
        (n * Fraction(3, 2), "3 n / 2"),
        (over(n, number(2) * d), "n / (2 d)"),
        (over(ONE, d), "1 / d"),
        (over(n * d, d), "n"),
        (d * n * l, "l d n"),
        (n + d, "n + d"),
        (n - d, "n - d"),
        (d - n, "-n + d"),
        (n * n + n, "n (n + 1)"),
        (n * n * 2 + n * 4, "2 n (n + 2)"),
        (n * n * Fraction(1, 2) - n * Fraction(1, 2), "n (n - 1) / 2"),
        (n * 2 - d * 4, "2 (n - 2 d)"),
        (over(n, d) + over(m, d), "(m + n) / d"),
        (over(n, number(2) * d) + over(m, number(2) * d), "(m + n) / (2 d)"),
        (n**2 * d + n * d**2, "d n (n + d)"),
        (l * n * n + l * n + d, "l n (n + 1) + d"),
        (d - l * n, "-l n + d"),
        (l * (n + m) + r * d, "l (m + n) + r d"),
        (l * n - r * (d + e), "l n - r (d + e)"),
        (-l * (n + m), "-l (m + n)"),
        (-n - m, "-m - n"),
        (n**3 * l**2, "l^2 n^3"),
        (apply("ceil", (over(n, number(4)),)), "ceil(n / 4)"),
        (apply("ceil", (over(n - 1, d),)), "ceil((n - 1) / d)"),
        (apply("floor", (n,)), "n"),
        (apply("floor", (apply("//", (n - 1, d - 1)),)), "((n - 1) / (d - 1))"),
        (apply("floor", (number(Fraction(7, 2)),)), "3"),
        (apply("max", (n, d)), "max(n, d)"),
        (apply("/", (n, n + d)), "(n / (n + d))"),
        (apply("/", (n - 1, d - 1)), "((n - 1) / (d - 1))"),
        (apply("ceil", (apply("/", (n - 1, d - 1)),)), "ceil((n - 1) / (d - 1))"),
        (apply("%", (n, number(4))), "(n mod 4)"),
        (apply("%", (number(7), number(4))), "3"),
        (apply("^", (number(2), r)), "2^r"),
        (apply("^", (n, number(2))), "n^2"),
        (apply("^", (n + 1, number(2))), "n^2 + 2 n + 1"),
        (apply("neg", (n,)), "-n"),
        (apply("is", (n * d,)), "d n"),
        (apply("is", (n + d,), "both"), "both"),
    ]
    for poly, text in written:
        assert formula(poly) == text
        assert formula(ZERO - (ZERO - poly)) == text


def test_the_largest_term_first() -> None:
    """At the sizes that are given; without, by how often widths are in it."""
    poly = n * 100 + n * n + d
    assert formula(poly) == "n^2 + 100 n + d"
    assert formula(poly, {N: 7, D: 3}) == "100 n + n^2 + d"
    assert formula(poly, {N: 7, D: 9000}) == "d + 100 n + n^2"
    assert formula(poly, {N: 7}) == "100 n + n^2 + d"  # d is not known
    grouped = l * n + r * d
    assert formula(grouped, SIZES) == "l n + r d"
    assert formula(grouped, {**SIZES, R: 60}) == "r d + l n"


POLYS = [n, d, n + 1, n * d - m, over(n, d) + m, (n - 1) ** 3, ZERO, ONE, n * Fraction(1, 3)]


@pytest.mark.parametrize("a", POLYS, ids=formula)
@pytest.mark.parametrize("b", POLYS, ids=formula)
def test_arithmetic_is_that_of_the_values(a: Poly, b: Poly) -> None:
    x, y = a.at(SIZES), b.at(SIZES)
    assert (a + b).at(SIZES) == x + y == (b + a).at(SIZES)
    assert (a - b).at(SIZES) == x - y
    assert (a * b).at(SIZES) == x * y
    assert (3 - a).at(SIZES) == 3 - x and (3 + a).at(SIZES) == 3 + x and (3 * a).at(SIZES) == 3 * x
    assert a - a == ZERO and not (a - a) and a + ZERO == a and a * ONE == a and a * 0 == ZERO
    assert (a == b) == (formula(a) == formula(b)) and (a != b or hash(a) == hash(b))
    quotient = a.over(b)
    assert (quotient is None) == (len(b.terms) != 1)
    assert quotient is None or quotient.at(SIZES) == x / y
    for op, value in {"max": max(x, y), "min": min(x, y), "+": x + y, "-": x - y, "*": x * y}.items():
        assert apply(op, (a, b)).at(SIZES) == value
    changed = put(a, N, b)
    assert changed.at(SIZES) == a.at({**SIZES, N: y})  # type: ignore[dict-item]


def test_formulas_have_values() -> None:
    third = apply("ceil", (over(n, number(3)),))
    assert third.at(SIZES) == 3 and third.at({N: 6}) == 2 and third.at({N: 0}) == 0
    assert put(third, N, m * 2).at({M: 5}) == 4  # 10 / 3
    assert put(third, D, m) == third
    assert apply("^", (number(2), l)).at(SIZES) == 16
    assert apply("^", (n, number(65))).at({N: 1}) == 1
    assert (apply("/", (n, d - 1)) * (d - 1)).at(SIZES) == 7
    assert apply("floor", (apply("^", (n, d)),)) == apply("^", (n, d))  # of whole numbers whole
    assert apply("floor", (over(n, d),)) != over(n, d) and apply("ceil", (n * Fraction(1, 2),)) != n * Fraction(1, 2)


def test_what_has_no_value() -> None:
    with pytest.raises(Unknown, match=r"^`m` has no value$"):
        (n + m).at({N: 1})
    assert largest([n, m, d], SIZES) == n
    assert largest([n, over(n, ONE)], SIZES) is n or largest([n], SIZES) == n
    assert largest([], SIZES) == ZERO
    assert ZERO.number == 0 and ONE.number == 1 and n.number is None and (n + 1).number is None


def test_symbols() -> None:
    poly = d * l + apply("ceil", (over(n, e),)) * m
    assert [symbol.name for symbol in poly.symbols] == ["l", "d", "ceil(n / e)", "m"]
    assert [symbol.name for symbol in base_symbols([poly, r])] == ["l", "r", "d", "e", "m", "n"]


def test_growth() -> None:
    growth = [
        (ZERO, "O(1)"),
        (number(7), "O(1)"),
        (n * n * 3 + n + 7, "O(n^2)"),
        (n * n * d + n * d * d, "O(n^2 d + n d^2)"),
        (n * n - n * m, "O(n^2)"),
        (l * n * d, "O(l n d)"),
        (r * n + n, "O(r n)"),
        (n + d, "O(n + d)"),
        (apply("floor", (over(d, number(2)),)) * n, "O(n d)"),
        (apply("ceil", (over(n, d),)), "O(ceil(n / d))"),
    ]
    for poly, shown in growth:
        assert order(poly) == shown


def test_growth_of_some_symbols() -> None:
    assert order(l * n * d, [L]) == "O(n d)"
    assert order(l * n * d, [L, D]) == "O(n)"


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (0, "0"), (7, "7"), (9999, "9,999"), (-9999, "-9,999"), (2.5, "2.5"), (Fraction(1, 3), "0.333"),
        (10_000, "10.0 k"), (-12_345, "-12.3 k"), (99_949, "99.9 k"), (99_950, "100 k"), (999_499, "999 k"),
        (999_500, "1.00 M"), (9_994_999, "9.99 M"), (9_995_000, "10.0 M"), (1.234e9, "1.23 G"), (5e12, "5.00 T"),
        (7.25e15, "7.25 P"), (8e18, "8.00 E"), (999e18, "999 E"), (2e21, "2e+03 E"),
        (2**1024, "1.80e+308"), (Fraction(10**400, 3), "3.33e+399"),
    ],
)  # fmt: skip
def test_short_numbers(number: float, text: str) -> None:
    assert short(number) == text


@pytest.mark.parametrize(
    ("bytes", "text"), [(0, "0 B"), (9_999, "9,999 B"), (10_000, "10.0 kB"), (2_500_000, "2.50 MB")]
)
def test_amounts(bytes: int, text: str) -> None:
    assert amount(bytes) == text
