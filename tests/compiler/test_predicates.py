"""What is worked out of indices, by itself: linear forms, facts that follow from masks, bounds that a proof keeps."""

from __future__ import annotations

from itertools import pairwise, product

import pytest

from attnc.compiler.base.session import Session
from attnc.compiler.causality.leak import Trace
from attnc.compiler.causality.reach import RIVALS, TOP, ZERO, Bound, Digit, Reach, unite
from attnc.compiler.sizes.axes import Axis, Kind
from attnc.compiler.sizes.predicates import (
    ALWAYS,
    MOST_CASES,
    MOST_FACTS,
    NEVER,
    Cases,
    Facts,
    Linear,
    at_most_zero,
    both,
    closed,
    either,
    over,
    shared,
    without,
)

SESSION = Session()
A, B, C, D = (SESSION.axis(name, Kind.WIDTH) for name in "abcd")


def form(constant: int = 0, **terms: int) -> Linear:
    return Linear.of({{"a": A, "b": B, "c": C, "d": D}[name]: c for name, c in terms.items()}, constant)


# -- linear forms ----------------------------------------------------------------------------------------------------


def test_linear_forms() -> None:
    assert form(3, b=1, a=2, c=0).terms == ((A, 2), (B, 1))
    assert form(1, a=1).plus(form(2, a=2, b=1)) == form(3, a=3, b=1)
    assert form(1, a=1).plus(form(2, a=1, b=1), -1) == form(-1, b=-1)
    assert form(2, a=1, b=-3).times(-2) == form(-4, a=-2, b=6)
    assert form(2, a=1).times(0) == form(0)
    assert form(5, a=1, b=2).over({A: B, C: D}) == form(5, b=3)
    assert form(5, a=1, b=-1).over({A: B}) == form(5)


@pytest.mark.parametrize(
    ("linear", "bound"),
    [(form(2, a=1), (A, 2)), (form(-1, b=1), (B, -1)), (form(2), None), (form(2, a=2), None), (form(2, a=-1), None),
     (form(2, a=1, b=1), None), (form(2, a=1, b=-1), None)],
)  # fmt: skip
def test_an_index_plus_a_number(linear: Linear, bound: tuple[Axis, int] | None) -> None:
    assert linear.bound == bound


# -- facts -----------------------------------------------------------------------------------------------------------

AB, BA, BC, AC, CD, AD = (A, B), (B, A), (B, C), (A, C), (C, D), (A, D)


@pytest.mark.parametrize(
    ("linear", "cases"),
    [
        (form(0, a=1, b=-1), ({AB: 0},)),
        (form(3, a=1, b=-1), ({AB: -3},)),
        (form(-3, b=1, a=-1), ({BA: 3},)),
        (form(0, a=2, b=-1), ALWAYS),
        (form(0, a=1, b=1), ALWAYS),
        (form(0, a=-1, b=-1), ALWAYS),
        (form(0, a=1, b=-1, c=1), ALWAYS),
        (form(0, a=1, b=-1, c=-2), ALWAYS),
        (form(4, a=1), ALWAYS),
        (form(0), ALWAYS),
        (form(-1), ALWAYS),
        (form(1), NEVER),
    ],
)
def test_what_a_bound_implies(linear: Linear, cases: Cases) -> None:
    assert at_most_zero(linear) == cases


@pytest.mark.parametrize(
    ("one", "other", "found"),
    [
        ({AB: 1}, {}, {AB: 1}),
        ({AB: 1}, {AB: 0}, {AB: 0}),
        ({AB: 1}, {AB: 2}, {AB: 1}),
        ({AB: 1}, {AC: 2}, {AB: 1, AC: 2}),
        ({AB: 1}, {BC: 2}, {AB: 1, BC: 2, AC: 3}),  # a <= b + 1 and b <= c + 2
        ({AB: 1, AC: 9}, {BC: 2}, {AB: 1, BC: 2, AC: 3}),
        ({AB: 1, AC: 2}, {BC: 2}, {AB: 1, BC: 2, AC: 2}),
        ({AB: 1}, {BA: 2}, {AB: 1, BA: 2}),
    ],
)
def test_what_holds_where_both_do(one: Facts, other: Facts, found: Facts) -> None:
    assert both((one,), (other,)) == both((other,), (one,)) == (found,)


def test_each_case_meets_each() -> None:
    assert both(({AB: 0}, {AC: 0}), ({BC: 1}, {AC: -1})) == ({AB: 0, BC: 1, AC: 1}, {AC: 0, BC: 1}, {AC: -1})
    assert both(ALWAYS, NEVER) == both(NEVER, ({AB: 1},)) == NEVER


@pytest.mark.parametrize(
    ("one", "other", "found"),
    [
        (({AB: 1},), ({AB: 0},), ({AB: 1},)),
        (({AB: 1, AC: 0},), ({AB: 3},), ({AB: 3},)),
        (({AB: 1},), ({AC: 0},), ({AB: 1}, {AC: 0})),
        (({AB: 1}, {AC: 0}), ({AB: 0, AC: 2},), ({AB: 1}, {AC: 0})),
        (({AB: 1},), NEVER, ({AB: 1},)),
        (ALWAYS, ({AB: 1},), ALWAYS),
        (NEVER, NEVER, NEVER),
    ],
)
def test_what_holds_where_either_does(one: Cases, other: Cases, found: Cases) -> None:
    assert either(one, other) == found
    assert set(map(str, either(other, one))) == set(map(str, found))


def test_of_many_cases_what_holds_in_all() -> None:
    many: Cases = NEVER
    for n in range(MOST_CASES):
        many = either(many, ({AB: n, AC: -n, BC: 7},))
    assert len(many) == MOST_CASES
    assert shared(many) == {AB: MOST_CASES - 1, AC: 0, BC: 7}
    assert either(many, ({AB: MOST_CASES, AC: -MOST_CASES},)) == ({AB: MOST_CASES, AC: 0},)


def test_what_is_left_of_facts() -> None:
    facts = {AB: 1, BC: 2, CD: 3}
    assert without((facts,), {B}) == ({CD: 3},)
    assert without((facts,), {A, D}) == ({BC: 2},)
    assert without((facts, {AB: 0}), {A, D}) == ALWAYS
    assert without(NEVER, {A}) == over(NEVER, {}) == NEVER
    assert over((facts,), {B: D}) == ({AD: 1, (D, C): 2, CD: 3},)
    assert closed({AB: 1, BC: -1, CD: 2}) == {AB: 1, BC: -1, CD: 2, AC: 0, (B, D): 1}


def test_of_many_facts_none_follows() -> None:
    many = [SESSION.axis(f"x{n}", Kind.WIDTH) for n in range(MOST_FACTS + 2)]
    chain = dict.fromkeys(pairwise(many), 0)
    assert closed(chain) == chain
    del chain[many[0], many[1]]
    assert len(closed(chain)) == 2 * MOST_FACTS - 1


# -- bounds ----------------------------------------------------------------------------------------------------------


def reach(*bounds: Bound) -> Reach:
    return {bound: Trace(str(number), None, None) for number, bound in enumerate(bounds)}


def at(axis: Axis, offset: int = 0) -> Digit:
    return Digit(axis, offset)


def test_of_two_bounds_the_larger() -> None:
    assert list(unite(reach((at(A),)), reach((at(A, 2),), (at(B),)))) == [(at(A, 2),), (at(B),)]
    assert list(unite(reach((at(A, 2),), (at(B), at(C, 1))), reach((at(A),), (at(B), at(C)), (TOP,)))) == [
        (at(A, 2),), (at(B), at(C, 1)), (TOP,)
    ]  # fmt: skip
    assert list(unite(reach((at(A, 1), at(B))), reach((at(A), at(B, 1))))) == [(at(A, 1), at(B)), (at(A), at(B, 1))]
    assert list(unite(reach((TOP,)), reach((ZERO,)))) == [(TOP,), (ZERO,)]
    first, second = reach((at(A),)), reach((at(A),))
    assert unite(first, second)[(at(A),)] is first[(at(A),)]


@pytest.mark.parametrize("count", [RIVALS, RIVALS + 1, 3 * RIVALS])
def test_of_many_bounds_one_that_is_as_large(count: int) -> None:
    """Bounds of which none is the larger: a few are kept, and none is forgotten."""
    given = [(at(A, n), at(B, count - n)) for n in range(count)]
    found = list(unite(*map(reach, given)))
    if count == RIVALS:
        assert found == given
    if count == RIVALS + 1:
        assert found == [(at(A, RIVALS), at(B, RIVALS + 1))]
    assert len(found) <= RIVALS
    for bound in given:
        assert any(all(x.offset <= y.offset for x, y in zip(bound, kept, strict=True)) for kept in found)


def test_facts_are_sound() -> None:
    """What follows from facts holds of all indices of which the facts hold."""
    facts = {AB: 1, BC: -1, (C, A): 1, CD: 0}
    axes = (A, B, C, D)
    for places in product(range(4), repeat=4):
        value = dict(zip(axes, places, strict=True))
        if all(value[a] <= value[b] + k for (a, b), k in facts.items()):
            assert all(value[a] <= value[b] + k for (a, b), k in closed(facts).items())
