"""From which size on one of two is cheaper: of made-up bills, the difference of which changes its sign where we say."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from attnc.compiler.cost.bill import CostError
from attnc.compiler.cost.compare import crossings, ratio

EVERY = lambda n: True  # noqa: E731
# Figures of two models over a width, at which sizes there are any, and from where on the one or the other is cheaper.
CROSSINGS: list[tuple[Callable[[int], int], Callable[[int], int], Callable[[int], bool], list[tuple[int, str]]]] = [
    (lambda n: n * n, lambda n: 100 * n, EVERY, [(101, "two")]),
    (lambda n: 100 * n, lambda n: n * n, EVERY, [(101, "one")]),
    (lambda n: n * n, lambda n: n * n, EVERY, []),
    (lambda n: n * n, lambda n: n * n + 1, EVERY, []),
    (lambda n: 0, lambda n: (n - 10) * (n - 1000), EVERY, [(11, "two"), (1001, "one")]),
    (lambda n: 0, lambda n: max(n - 5, 0), EVERY, []),  # alike at first
    (lambda n: n, lambda n: 2, EVERY, [(3, "two")]),
    (lambda n: n * n, lambda n: 100 * n, lambda n: n % 8 == 0, [(104, "two")]),
    (lambda n: n * n, lambda n: 100 * n, lambda n: n <= 100, []),
    (lambda n: n * n, lambda n: 100 * n, lambda n: n <= 128, [(101, "two")]),
    (lambda n: n, lambda n: 2**24 - 1, EVERY, [(2**24, "two")]),
    (lambda n: n, lambda n: 2**24, EVERY, []),
]


@pytest.mark.parametrize("number", range(len(CROSSINGS)))
def test_where_they_cross(number: int) -> None:
    a, b, there, expected = CROSSINGS[number]

    def bill(of: Callable[[int], int], n: int) -> Any:
        if not there(n):
            raise CostError(f"{n} cannot be")
        return SimpleNamespace(macs=SimpleNamespace(value=of(n)), steps=SimpleNamespace(value=7))

    found = crossings(("one", "two"), lambda n: bill(a, n), lambda n: bill(b, n), "seq", ["steps", "macs"])
    assert [(each.size, each.cheaper) for each in found] == expected
    assert {(each.figure, each.width) for each in found} <= {("macs", "seq")}


def test_ratios() -> None:
    assert [ratio(4, 6), ratio(3, 1), ratio(0, 1), ratio(1, 0)] == ["1.5", "0.333", "", "0"]
