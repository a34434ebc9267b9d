"""What is known of masks on tiles, against all pairs of positions: neither less than is so, nor more."""

from __future__ import annotations

import itertools
import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

from attnc.backends.runtime.common.spans import Span, Truth, in_sight
from attnc.backends.runtime.numpy import masks as numpy_masks
from attnc.backends.runtime.torch import masks as torch_masks
from attnc.backends.runtime.torch import sights as torch_sights

SPANS = [(a, b) for a in range(-4, 5) for b in range(a, min(a + 4, 5))]
NUMBERS = [-4, -2, -1, 1, 3]


def items(span: tuple[int, int]) -> range:
    return range(span[0], span[1] + 1)


ONE: dict[str, Callable[[Any, int], Any]] = {
    "x + c": lambda x, c: x + c, "c + x": lambda x, c: c + x, "x - c": lambda x, c: x - c, "c - x": lambda x, c: c - x,
    "x * c": lambda x, c: x * c, "c * x": lambda x, c: c * x, "-x": lambda x, c: -x, "abs(x)": lambda x, c: abs(x),
    "x // c": lambda x, c: x // c,
}  # fmt: skip


@pytest.mark.parametrize("name", ONE)
def test_spans_of_one(name: str) -> None:
    for span, c in itertools.product(SPANS, NUMBERS):
        found, results = ONE[name](Span(*span), c), [ONE[name](x, c) for x in items(span)]
        assert (found.low, found.high) == (min(results), max(results))


def test_spans_of_two() -> None:
    for one, other in itertools.product(SPANS, SPANS):
        for what in (operator.add, operator.sub):
            found = what(Span(*one), Span(*other))
            results = [what(x, y) for x in items(one) for y in items(other)]
            assert (found.low, found.high) == (min(results), max(results))


def test_spans_of_remainders() -> None:
    """Exact within one period, else all that there can be."""
    for span, c in itertools.product(SPANS, NUMBERS):
        found, results = Span(*span) % c, [x % c for x in items(span)]
        if c > 0 and span[0] // c == span[1] // c:
            assert (found.low, found.high) == (min(results), max(results))
        else:
            assert (found.low, found.high) == ((0, c - 1) if c > 0 else (c + 1, 0))
            assert found.low <= min(results) and max(results) <= found.high


COMPARE = [operator.le, operator.lt, operator.ge, operator.gt, operator.eq, operator.ne]


@pytest.mark.parametrize("what", COMPARE)
def test_comparisons(what: Callable[[Any, Any], Any]) -> None:
    others: list[Any] = [*SPANS, *NUMBERS]
    for one, other in itertools.product(SPANS, others):
        right = items(other) if isinstance(other, tuple) else [other]
        results = [what(x, y) for x in items(one) for y in right]
        found = what(Span(*one), Span(*other) if isinstance(other, tuple) else other)
        assert (found.every, found.some) == (all(results), any(results))


def test_truths() -> None:
    known = [(True, True), (False, True), (False, False)]
    for one, other in itertools.product(known, [*known, True, False]):
        plain = other if isinstance(other, tuple) else (other, other)
        second: Any = Truth(*other) if isinstance(other, tuple) else other
        both, either = Truth(*one) & second, Truth(*one) | second
        assert (both.every, both.some) == (one[0] and plain[0], one[1] and plain[1])
        assert (either.every, either.some) == (one[0] or plain[0], one[1] or plain[1])
        if isinstance(other, bool):
            both, either, turned = second & Truth(*one), second | Truth(*one), Truth(*one) ^ second
            assert (both.every, both.some) == (one[0] and other, one[1] and other)
            assert (either.every, either.some) == (one[0] or other, one[1] or other)
            assert (turned.every, turned.some) == ((not one[1], not one[0]) if other else one)
            assert (Truth.of(other).every, Truth.of(other).some) == (other, other)


# Predicates of which spans tell all there is to know.
EXACT: dict[str, Callable[..., Any]] = {
    "causal": lambda q, k: k <= q,
    "window": lambda q, k: (k <= q) & (q - k < 5),
    "blocks": lambda q, k: q // 8 == k // 8,
    "prefix": lambda q, k: k < 3,
    "some queries": lambda q, k: q >= 11,
    "all": lambda q, k: True,
    "none": lambda q, k: False,
}


def runs_of(seen: Callable[..., Any], q0: int, q1: int, keys: int, step: int) -> list[tuple[int, int, bool]]:
    """Tile by tile, those that meet and are alike joined."""
    runs: list[tuple[int, int, bool]] = []
    for a in range(0, keys, step):
        b = min(a + step, keys)
        tile = [bool(seen(q, k)) for q in range(q0, q1) for k in range(a, b)]
        if any(tile):
            before = runs.pop() if runs and runs[-1][1:] == (a, all(tile)) else None
            runs.append((before[0] if before else a, b, all(tile)))
    return runs


@pytest.mark.parametrize("name", EXACT)
def test_runs_are_as_few_and_as_short_as_can_be(name: str) -> None:
    for keys, step, (q0, q1) in itertools.product(
        (0, 1, 4, 7, 8, 21, 32), (1, 2, 4), ((0, 1), (0, 4), (5, 12), (8, 16))
    ):
        looked: list[tuple[int, int]] = []

        def look(a: int, b: int, looked: list[tuple[int, int]] = looked) -> list[Any]:
            looked.append((a, b))
            return []

        assert in_sight(EXACT[name], q0, q1, keys, step, look) == runs_of(EXACT[name], q0, q1, keys, step)
        assert all(0 <= a < b <= keys and a % step == 0 for a, b in looked)


@pytest.mark.parametrize("name", EXACT)
def test_sights_of_rows(name: str) -> None:
    def nothing(*tile: int) -> list[Any]:
        return []

    wide = {n: lambda q, k, n=n, seen=EXACT[name]: seen(q // n, k // n) for n in (1, 32)}
    for (n, m), scale in itertools.product(((1, 1), (70, 200), (128, 64), (130, 0)), wide):
        seen = wide[scale]
        found = torch_sights.row_sights(seen, n, m, 64, nothing)
        assert found == [runs_of(seen, q, min(q + 64, n), m, 64) for q in range(0, n, 64)]
        for (q0, q1, spans, hidden), runs in zip(numpy_masks.block_sights(seen, n, m, ()), found, strict=True):
            assert (q0, q1) == (q0 // 64 * 64, min(q0 // 64 * 64 + 64, n))
            assert [k for a, b in spans for k in range(a, b)] == [k for a, b, _ in runs for k in range(a, b)]
            assert all(one[1] < other[0] for one, other in itertools.pairwise(spans))
            assert [(a, b) for a, b, _ in hidden] == [(a, b) for a, b, every in runs if not every]
            for a, b, left_out in hidden:
                mask = np.asarray(seen(np.arange(q0, q1)[:, None], np.arange(a, b)))
                assert (left_out == ~mask).all()


def test_the_size_of_blocks_of_queries() -> None:
    """256 as soon as one of 64 sees more than 512 keys."""

    def nothing(*tile: int) -> list[Any]:
        return []

    for near, size in ((1, 64), (449, 64), (450, 256), (1000, 256)):
        found, runs = torch_masks.block_sights(lambda q, k, near=near: (k <= q) & (q - k < near), 1000, 1000, nothing)
        assert (found, len(runs)) == (size, -(-1000 // size)), near
    assert torch_masks.block_sights(lambda q, k: k <= q, 512, 512, nothing)[0] == 64
    assert torch_masks.block_sights(lambda q, k: k <= q, 576, 576, nothing)[0] == 256
    size, runs = torch_masks.unseen_sights(lambda q, k, a, b: (k <= q) & a & (b > 1), 100, 70, (True, False))
    assert (size, runs) == (64, [[(0, 64, False)], [(0, 70, False)]])


# -- the data of masks ------------------------------------------------------------------------------------------------


def arrays(x: Any) -> list[tuple[Any, Any]]:
    return [(torch_sights, torch.tensor(x)), (numpy_masks, np.array(x))]


def told(found: Any) -> tuple[Any, ...]:
    return (found.every, found.some) if isinstance(found, Truth) else ("span", found.low, found.high)


def test_what_is_known_of_data() -> None:
    for x, known in (
        ([True, True], (True, True)), ([True, False], (False, True)), ([False], (False, False)),
        ([3, -1, 2], ("span", -1, 3)), (5, ("span", 5, 5)),
    ):  # fmt: skip
        for module, data in arrays(x):
            assert told(module.look(data)) == known
    assert told(torch_sights.look(torch.zeros(0, dtype=torch.bool))) == (False, True)
    assert told(torch_sights.look(torch.zeros(0, dtype=torch.int64))) == ("span", -(2**62), 2**62)
    assert told(torch_sights.look(torch.ones(3, dtype=torch.bool, device="meta"))) == (False, True)
    traced: list[Any] = []
    torch.func.vmap(lambda x: (traced.append(told(torch_sights.look(x))), x)[1])(torch.ones(2, 3, dtype=torch.bool))
    assert traced == [(False, True)]
    assert told(numpy_masks.look(np.zeros(0, bool))) == (True, False)
    assert told(numpy_masks.look(np.zeros(0, int))) == ("span", 0, 0)


def test_tiles_of_data() -> None:
    draw = np.random.default_rng(0).integers(0, 99, (2, 9, 12))
    runs = [(1, 3, True), (6, 10, False)]
    for module, x in arrays(draw):
        for rows, columns in itertools.product((9, 1), (12, 1)):
            given = x[:, :rows, :columns]
            wanted = given[:, 4:8] if rows > 1 else given
            one = wanted[..., 6:10] if columns > 1 else wanted
            if module is numpy_masks:
                assert (module.cut(given, 4, 8, 6, 10) == one).all() and module.cut(
                    given, 4, 8, 6, 10
                ).shape == one.shape
                continue
            assert torch.equal(module.cut(given, 4, 8, runs[1:]), one)
            two = torch.cat([wanted[..., 1:3], wanted[..., 6:10]], -1) if columns > 1 else wanted
            assert torch.equal(module.cut(given, 4, 8, runs), two)


def test_data_is_looked_at_once_for_all_queries_that_it_does_not_vary_with(monkeypatch: pytest.MonkeyPatch) -> None:
    shapes = []
    true = torch_sights.look
    monkeypatch.setattr(torch_sights, "look", lambda x: shapes.append(tuple(x.shape)) or true(x))
    alike = torch_sights.look_at([torch.arange(12)[None], torch.arange(2)[:, None, None]])
    for q in (0, 4):
        assert [told(x) for x in alike(q, q + 4, 3, 9)] == [("span", 3, 8), ("span", 0, 1)]
    assert shapes == [(1, 6), (2, 1, 1)]
    shapes.clear()
    rows = torch_sights.look_at([torch.arange(12)[None], torch.arange(8)[:, None]])
    for q in (0, 4, 4):
        assert [told(x) for x in rows(q, q + 4, 3, 9)] == [("span", 3, 8), ("span", q, q + 3)]
    assert shapes == 2 * [(1, 6), (4, 1)]


def test_masks_of_blocks() -> None:
    def seen(q: Any, k: Any, x: Any) -> Any:
        return (k <= q) & x

    x = torch.rand(3, 20, 30) < 0.5
    cpu = torch.device("cpu")
    whole = seen(torch.arange(20)[:, None], torch.arange(30), x)
    found = torch_sights.block_mask(seen, 4, 9, [(0, 3, True), (5, 12, False)], [x], cpu)
    assert found is not None
    assert torch.equal(found, whole[:, 4:9, [0, 1, 2, *range(5, 12)]])
    assert torch_sights.block_mask(seen, 4, 9, [(0, 3, True), (5, 12, True)], [x], cpu) is None
    assert torch_sights.block_mask(lambda q, k: True, 4, 9, [(0, 3, False)], [], cpu) is None


def test_sights_are_kept_for_layers_and_calls_where_no_data_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    sights: dict[object, Any] = {}
    monkeypatch.setattr(numpy_masks, "SIGHTS", sights)

    def window(near: int) -> Callable[..., Any]:
        return lambda q, k, near=near: (k <= q) & (q - k < near)

    first = list(numpy_masks.block_sights(window(9), 100, 100, ()))
    assert list(numpy_masks.block_sights(window(9), 100, 100, ()))[1] is first[1] and len(sights) == 1
    for near, n, m in ((70, 100, 100), (9, 130, 100), (9, 100, 130)):
        spans = [each[2] for each in numpy_masks.block_sights(window(near), n, m, ())]
        assert spans == [numpy_masks.joined(runs_of(window(near), q, min(q + 64, n), m, 64)) for q in range(0, n, 64)]
    assert len(sights) == 4
    data = (np.ones((1, 100), bool),)
    list(numpy_masks.block_sights(lambda q, k, x: (k <= q) & x, 100, 100, data))
    list(numpy_masks.block_sights(window(9), 2**11, 2**11 + 1, ()))
    assert len(sights) == 4
    for near in range(80):
        list(numpy_masks.block_sights(window(near), 10, 10, ()))
        assert len(sights) <= 32
