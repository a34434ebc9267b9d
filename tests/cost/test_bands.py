"""How many pairs a band keeps: counted one by one, and as it is written."""

from __future__ import annotations

from itertools import product

import pytest

from attnc.compiler.cost.bands import pairs, uneven_pairs
from attnc.compiler.cost.polynomials.polynomial import CONST, WIDTH, Poly, SizeSymbol
from attnc.compiler.cost.polynomials.show import formula

N, R = SizeSymbol("n", "n", WIDTH), SizeSymbol("r", "r", CONST)
n, r = Poly.of(N), Poly.of(R)


def test_every_pair_is_counted() -> None:
    for size, left, right in product(range(6), [None, *range(-6, 7)], [None, *range(-6, 7)]):
        kept = sum(
            (left is None or k - q >= -left) and (right is None or k - q <= right)
            for q in range(size)
            for k in range(size)
        )
        limits = [None if limit is None else Poly.of(limit) for limit in (left, right)]
        found = pairs(Poly.of(size), *limits, {}).at({})
        assert found == kept, (size, left, right)


def test_every_pair_of_two_axes_is_counted() -> None:
    limits = [None, *range(-6, 7)]
    for size, other, left, right in product(range(6), range(6), limits, limits):
        kept = sum(
            (left is None or k - q >= -left) and (right is None or k - q <= right)
            for q in range(size)
            for k in range(other)
        )
        polys = [None if limit is None else Poly.of(limit) for limit in (left, right)]
        assert uneven_pairs(Poly.of(size), Poly.of(other), *polys, {}).at({}) == kept, (size, other, left, right)


@pytest.mark.parametrize(
    ("left", "right", "values", "written"),
    [
        (None, None, {N: 9}, "n^2"),
        (None, 0 * r, {N: 9}, "n (n + 1) / 2"),
        (0 * r, None, {N: 9}, "n (n + 1) / 2"),
        (r, r, {N: 9, R: 2}, "r (2 n - 1) + n - r^2"),
        (r, r, {N: 9, R: 0}, "n"),
        (r, r, {N: 9, R: 8}, "n^2"),
        (r, r, {N: 9, R: 7}, "r (2 n - 1) + n - r^2"),
        (r, -r, {N: 9, R: 1}, "r (2 n - 1) / 2 - r^2 / 2"),
        (r, -r - 1, {N: 9, R: 1}, "0"),
        (None, r, {N: 9, R: 8}, "n^2"),
        (None, -n, {N: 9}, "0"),
        (None, -r, {N: 9, R: 8}, "n^2 / 2 + n / 2 - r (2 n + 1) / 2 + r^2 / 2"),
    ],
)
def test_as_it_is_written(left: Poly | None, right: Poly | None, values: dict[SizeSymbol, int], written: str) -> None:
    assert formula(pairs(n, left, right, values)) == written
