"""What is proved of sizes, case by case: equal, different, at most, the largest, the formula turned round."""

from __future__ import annotations

from fractions import Fraction

import pytest

from attnc.compiler.base.session import Session
from attnc.compiler.names.written_sizes import size_static
from attnc.compiler.sizes.arithmetic import (
    at_most,
    difference,
    divides_by_zero,
    inexact_division,
    largest,
    product,
    provably_different,
    solved,
)
from attnc.compiler.sizes.axes import Axis, ConstOf, Kind, SizeOf, Static, known
from attnc.compiler.sizes.polynomials import as_constant, never_negative, poly
from attnc.dsl import syntax as s
from attnc.dsl.parse import parse
from attnc.dsl.source import Source

SESSION = Session()
AXES = {
    "n": SESSION.axis("n", Kind.WIDTH),
    "m": SESSION.axis("m", Kind.WIDTH),
    "b": SESSION.axis("b", Kind.WIDTH, bound=10),
    "four": SESSION.axis("four", Kind.WIDTH, extent=4),
    "d": SESSION.axis("d", Kind.DEPTH, extent=6),
}
AXES["copy"] = SESSION.axis("copy", Kind.WIDTH, family=AXES["n"].family)
CONSTS = {"i": SESSION.const("i", None), "j": SESSION.const("j", None), "two": SESSION.const("two", 2)}


def formula(text: str, exact: bool = True) -> Static:
    """As a declaration says it; names are those above."""

    def lookup(name: s.Ident) -> Static:
        return SizeOf(AXES[name.text]) if name.text in AXES else ConstOf(CONSTS[name.text])

    (item,) = parse(Source("sizes.attn", f"const x = {text}\n"))[0].items
    assert isinstance(item, s.ConstDecl)
    found = size_static(item.value, lookup, SESSION, exact=exact)
    assert found is not None
    return found


AXES["double"] = SESSION.axis("double", Kind.WIDTH, size=formula("2 * n"))

EQUAL = [
    ("n + m", "m + n"), ("n * m", "m * n"), ("2 * (n - m)", "n + n - 2 * m"), ("n", "copy"), ("n * i", "i * n"),
    ("j * i * n", "n * i * j"),
    ("double", "n + copy"), ("double / 2", "n"), ("(n + 4) / 2 - 2", "n / 2"), ("n * four", "4 * n"),
    ("n ^ two", "n ^ 2"),
    ("floor(n / 2)", "floor(copy / 2)"), ("max(n, m)", "max(n, m)"), ("n - n", "0"), ("-n", "0 - n"),
    ("n * (m + 1)", "n * m + n"), ("7 % 4", "3"),
    ("(n + m) * (n - m)", "n * n - m * m"), ("n * two", "n + n"), ("min(n, 3)", "min(copy, 3)"),
]  # fmt: skip
DIFFERENT = [
    ("n", "n + 1"),
    ("n + m", "n"),
    ("2 * n + 1", "n"),
    ("n + four", "n + 5"),
    ("3", "4"),
    ("n + 1", "1"),
    ("0", "n"),
    ("n", "n + m"),
]
OPEN = [
    ("n", "m"), ("n", "1"), ("n + i", "n"), ("n", "2 * m"), ("floor(n / 2)", "floor(n / 3)"), ("n % 2", "1"),
    ("floor(n / 2)", "n / 2"),
    ("ceil(n / 2)", "floor(n / 2)"), ("n", "double - 1"), ("n * m", "1"), ("i", "j"), ("i", "i * j"),
    ("n * n", "n"), ("max(n, m)", "min(n, m)"),
]  # fmt: skip


@pytest.mark.parametrize(("a", "b"), EQUAL)
def test_equal(a: str, b: str) -> None:
    assert difference(formula(a), formula(b)) == {}
    assert not provably_different(formula(a), formula(b))
    assert at_most(formula(a), formula(b))


@pytest.mark.parametrize(("a", "b"), DIFFERENT)
def test_different(a: str, b: str) -> None:
    assert provably_different(formula(a), formula(b))
    assert provably_different(formula(b), formula(a))
    assert at_most(formula(a), formula(b)) is not at_most(formula(b), formula(a))


@pytest.mark.parametrize(("a", "b"), OPEN)
def test_nothing_is_known(a: str, b: str) -> None:
    assert difference(formula(a), formula(b)) != {}
    assert not provably_different(formula(a), formula(b))
    assert not provably_different(formula(b), formula(a))


AT_MOST = [
    ("1", "n"), ("n", "double"), ("0", "n - 1"), ("n - 3", "n"), ("min(n, m)", "n"), ("min(m, n)", "n"),
    ("n", "max(n, m)"), ("n", "max(m, n)"),
    ("max(n, 1)", "n"), ("n", "min(n + 1, double)"), ("max(0, n - 5)", "n - 1"), ("0", "floor(n / 2)"),
    ("0", "ceil(n / 2)"), ("0", "n % 2"), ("0", "n % m"),
    ("0", "abs(n - m)"), ("0", "max(n - m, 0)"), ("0", "min(n, m)"), ("n", "n + floor(m / 2)"),
    ("max(1, min(n, m))", "n"), ("0", "i - i"), ("2", "n + m"),
    ("max(n, m)", "n + m"),
    ("i", "i + n"), ("0", "max(i, 0)"), ("0", "max(i, n)"), ("min(i, j)", "i"), ("i", "max(j, i)"),
]  # fmt: skip
NOT_AT_MOST = [
    ("n", "1"), ("2", "n"), ("n", "m"), ("n * m", "n"), ("double", "n"), ("n", "n - 1"), ("max(n, m)", "n"),
    ("n", "min(n, m)"), ("n + 1", "n"), ("0", "n - 2"),
    ("0", "n - m"), ("0", "i"), ("i", "n"), ("i", "i * n"), ("0", "floor((n - m) / 2)"), ("0", "n % (n - 3)"),
    ("0", "n % i"), ("0", "max(n - m, m - n)"),
    ("0", "min(n, n - m)"), ("n", "n + min(n - m, m)"),
    ("1", "floor(n / 2)"), ("1", "n % 2"), ("1", "abs(n - m)"), ("0", "n * i"),
    ("n + m", "2"), ("0", "(n - 4) ^ 3"), ("0", "n - floor(m / 2)"), ("min(n, m)", "1"), ("2", "max(n, m)"),
    ("max(n, m)", "max(n, 1)"), ("min(n, 2)", "min(n, m)"),
]  # fmt: skip


@pytest.mark.parametrize(("a", "b"), AT_MOST)
def test_at_most(a: str, b: str) -> None:
    assert at_most(formula(a), formula(b))


@pytest.mark.parametrize(("a", "b"), NOT_AT_MOST)
def test_not_at_most(a: str, b: str) -> None:
    assert not at_most(formula(a), formula(b))


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("b", 10), ("four", 4), ("b + four", 14), ("b * four", 40), ("b / two", 5), ("floor(b / 3)", 3),
        ("ceil(b / 3)", 4), ("n", None), ("b + n", None),
        ("max(b, four)", 10), ("min(b, four)", 4), ("b - 1", None), ("4 - 1", 3), ("20 / b", None),
        ("b / n", None), ("7", 7), ("two", 2), ("i", None),
        ("four - two", 2), ("min(b, n)", None),
    ],
)  # fmt: skip
def test_the_largest(text: str, number: int | None) -> None:
    assert largest(formula(text)) == number
    assert isinstance(largest(formula(text)), int | None)


@pytest.mark.parametrize(
    ("whole", "part", "turned"),
    [
        ("2 * n", "n", lambda w: w / 2), ("n * 2", "n", lambda w: w / 2), ("n + 3", "n", lambda w: w - 3),
        ("3 + n", "n", lambda w: w - 3),
        ("n - 3", "n", lambda w: w + 3), ("40 - n", "n", lambda w: 40 - w), ("n / 3", "n", lambda w: w * 3),
        ("120 / n", "n", lambda w: 120 / w),
        ("2 * n + 2", "n", lambda w: (w - 2) / 2), ("(copy + 1) * 4", "n", lambda w: w / 4 - 1),
        ("n", "n", lambda w: w), ("4 * m", "n", None), ("n * n", "n", None),
        ("n + copy", "n", None), ("floor(n / 2)", "n", None), ("n ^ 2", "n", None),
        ("2 * floor(n / 2)", "n", None), ("7", "n", None),
    ],
)  # fmt: skip
def test_the_formula_turned_round(whole: str, part: str, turned: object) -> None:
    axis = Axis(999, "whole", Kind.WIDTH, "whole", 12, formula(whole), None, 999, None)
    found = solved(axis, AXES[part])
    assert (None if found is None else known(found)) == (turned(12) if callable(turned) else None)
    assert solved(AXES[part], axis) is None  # which is made of nothing


@pytest.mark.parametrize(
    ("text", "others", "whole"),
    [
        ("n / m", "m", "n"), ("(n + 4) / m", "m", "n + 4"), ("n / (m * d)", "d m", "n"), ("n / (d * m)", "d m", "n"),
        ("n / (m * m)", "m m", "n"), ("7 / m", "m", "7"),
        ("n / m", "d", None), ("n / m", "m d", None), ("n / (m * d)", "m", None), ("n / (m + d)", "m d", None),
        ("n / 2", "m", None), ("n / (2 * m)", "m", None), ("n / (i * m)", "m", None), ("n * m", "m", None),
        ("floor(n / m)", "m", None), ("n", "m", None),
    ],
)  # fmt: skip
def test_what_axes_make_together(text: str, others: str, whole: str | None) -> None:
    part = Axis(999, "part", Kind.DEPTH, "part", 12, formula(text), None, 999, None)
    axes = [AXES[name] for name in others.split()]
    wanted = None if whole is None else formula(whole)
    assert product([*axes, part], lambda axis: axis.size) == wanted
    assert product([part, *axes], lambda axis: axis.size) == wanted
    assert product(axes, lambda axis: axis.size) is None
    assert product([*axes, part], lambda axis: None) is None


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("6 / 3", None), ("7 / 3", (7, 3)), ("1 + 7 / 3", (7, 3)), ("(7 / 2) + 9 / 4", (7, 2)), ("n / 3", None),
        ("d / four", (6, 4)), ("floor(7 / 3)", None),
        ("ceil(7 / 3) / 2", (3, 2)), ("7 / n", None), ("0 / 3", None), ("7 / 0", None),
    ],
)  # fmt: skip
def test_what_does_not_divide(text: str, left: tuple[int, int] | None) -> None:
    found = inexact_division(formula(text))
    assert (found and (found.dividend, found.divisor)) == left


@pytest.mark.parametrize(
    ("text", "zero"),
    [
        ("n / 0", True),
        ("n % 0", True),
        ("1 + n / (2 - 2)", True),
        ("0 / n", False),
        ("n / two", False),
        ("7", False),
        ("n * 0", False),
        ("0 / 1", False),
    ],
)
def test_what_divides_by_zero(text: str, zero: bool) -> None:
    assert divides_by_zero(formula(text)) is zero
    assert divides_by_zero(formula(text, exact=False)) is zero


def test_a_polynomial_that_is_a_number() -> None:
    assert as_constant(poly(formula("n - n"))) == 0
    assert as_constant(poly(formula("n + 2 - copy"))) == 2
    assert as_constant(poly(formula("1 / 2", exact=False))) == Fraction(1, 2)
    assert as_constant(poly(formula("n"))) is None
    assert as_constant(poly(formula("n + 1"))) is None
    assert never_negative({})


def test_a_polynomial_of_many_terms_is_opaque() -> None:
    """(a + b + ...) ^ 2 of 20 unknowns has 210 terms: nothing is proved of it, in no time."""
    names = [f"x{number}" for number in range(20)]
    AXES.update({name: SESSION.axis(name, Kind.WIDTH) for name in names})
    total = " + ".join(names)
    assert len(poly(formula(f"({total}) * ({total})"))) == 1
    assert len(poly(formula(f"{total}"))) == 20
    assert at_most(formula("0"), formula(f"{total}"))
    assert not at_most(formula("0"), formula(f"({total}) * ({total})"))
