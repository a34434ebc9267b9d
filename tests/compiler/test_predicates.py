"""What is worked out of indices, by itself: linear forms, facts that follow from masks, bounds that a proof keeps."""

from __future__ import annotations

import random
from fractions import Fraction
from itertools import pairwise, product
from math import floor

import pytest

from attnc.compiler.base.session import Session
from attnc.compiler.graph.core.ways import ANY, Forms, ItemSource, PlaceBounds, Way, Ways, united
from attnc.compiler.sizes.axes import Axis, Kind, SizeOf
from attnc.compiler.sizes.forms import (
    LinearForm,
    floored,
    holds,
    least,
    quotient,
    rises,
    show,
    upper_bounds,
    whole_at_least,
    without_quotients,
)
from attnc.compiler.sizes.limits import BOUNDS, CASES, FACTS
from attnc.compiler.sizes.polynomials import Opaque, poly
from attnc.compiler.sizes.predicates import (
    ALWAYS,
    NEVER,
    Cases,
    Facts,
    at_least_zero,
    both,
    differences,
    either,
    more_than_zero,
    put,
    shared,
    without,
)

SESSION = Session()
A, B, C, D = (SESSION.axis(name, Kind.WIDTH) for name in "abcd")
FOUR = SESSION.axis("four", Kind.WIDTH, extent=4)
NAMED = {"a": A, "b": B, "c": C, "d": D, "four": FOUR}


def form(constant: float = 0, **terms: float) -> LinearForm:
    total = LinearForm.number(Fraction(constant))
    for name, by in terms.items():
        term = LinearForm.index(NAMED[name]).times(Fraction(by))
        assert term is not None
        total += term
    return total


def size(axis: Axis) -> LinearForm:
    return LinearForm.extent(axis)


def facts(*forms: LinearForm) -> Facts:
    return frozenset(forms)


# -- linear forms ----------------------------------------------------------------------------------------------------


def test_linear_forms() -> None:
    assert form(1, a=1) + form(2, a=2, b=1) == form(3, a=3, b=1)
    assert form(1, a=1) - form(2, a=1, b=1) == form(-1, b=-1)
    assert form(2, a=1, b=-3).times(-2) == form(-4, a=-2, b=6)
    assert form(2, a=1).times(0) == form(0) == LinearForm.number(0)
    assert form(5, a=1, b=2).put({A: form(1, b=1)}) == form(6, b=3)
    assert form(5, a=1, b=-1).put({A: form(0, b=1), B: form(0, a=1)}) == form(5, b=1, a=-1)
    assert form(0, a=1).times(form(0, b=1)) is None
    assert form(1, a=1).times(size(B)) == LinearForm.of(poly(SizeOf(B))) + LinearForm.of({(*size(B).factors, A): 1})
    assert (form(3, a=2).indices, form(3).indices, form(3).value, form(3, a=1).value) == ({A}, set(), 3, None)


@pytest.mark.parametrize(
    ("linear", "offset"),
    [(form(2, a=1), (A, 2)), (form(-1, b=1), (B, -1)), (form(2), None), (form(2, a=2), None), (form(2, a=-1), None),
     (form(2, a=1, b=1), None), (form(2, a=1, b=-1), None), (form(0.5, a=1), None)],
)  # fmt: skip
def test_an_index_plus_a_number(linear: LinearForm, offset: tuple[Axis, int] | None) -> None:
    assert linear.offset == offset


def test_whole_numbers_are_sharper() -> None:
    assert whole_at_least(form(-3, a=4)) == form(-1, a=1)
    assert whole_at_least(form(2.5, a=-1, b=1)) == form(2, a=-1, b=1)
    assert whole_at_least(form(0.5, a=0.5)) == form(1, a=1)


def test_quotients() -> None:
    third = quotient(form(1, a=1), form(3))
    assert third is not None
    rounded = floored(third)
    assert rounded.indices == {A} and len(rounded.quotients) == 1
    assert floored(form(2, a=3)) == form(2, a=3)
    assert floored(third.put({A: form(-1, a=3)})) == form(0, a=1)
    assert rounded.put({A: form(-1, a=3)}) == form(0, a=1)
    assert quotient(form(1, a=1), form(-3)) is quotient(form(0, a=1), form(0, b=1)) is None
    assert quotient(form(0, a=1), size(B)) is not None
    assert rises(rounded, A) and not rises(-rounded, A) and rises(form(0, a=1, b=-1), A) and rises(rounded, B)
    assert show(without_quotients(rounded)) == "1/3 * a + 1/3"
    assert without_quotients(form(0, a=1) - (floored(form(0, a=0.25)).times(4) or form())) == form(3)


# -- what a form is at most ------------------------------------------------------------------------------------------


def anything(axis: Axis) -> bool:
    return True


def test_bounds_in_words() -> None:
    past, here, chunk = form(0, a=1), form(0, b=1), form(0, c=1)
    assert upper_bounds(past, {A}, (here - past,), lambda axis: False) == (here,)
    assert upper_bounds(past, {A}, (), lambda axis: False) == ()
    assert upper_bounds(past, {A}, (), anything) == (size(A) - form(1),)
    assert upper_bounds(form(1, four=1, c=4), {FOUR}, (), anything) == (form(4, c=4),)
    # a chunk whose last item is not after: 4 c + 3 <= b
    assert here in upper_bounds(form(3, c=4), {C}, (here - form(3, c=4),), anything)
    # merged: item b is 4 c + four
    digits = form(0, c=4, four=1)
    merged = (here - digits, digits - here)
    assert here in upper_bounds(digits, {C, FOUR}, merged, anything)
    assert form(-1, b=1) in upper_bounds(form(-1, c=4), {C, FOUR}, merged, anything)
    assert form(3, b=1) in upper_bounds(form(3, c=4), {C, FOUR}, merged, anything)
    # floor(a / 4) < floor(b / 4)
    blocks = [floored(each.times(Fraction(1, 4)) or each) for each in (past, here)]
    (found,) = upper_bounds(past, {A}, (blocks[1] - blocks[0] - form(1),), lambda axis: False)
    assert holds(form(-1, b=1) - found)
    assert not upper_bounds(past, {A}, (chunk + past,), lambda axis: False)


def test_bounds_are_sound() -> None:
    """Of all indices of which the facts hold, none makes the form more than a bound says."""
    draw = random.Random(0)
    found = 0
    for _ in range(400):
        known = [form(draw.randint(-2, 3), **{n: draw.randint(-2, 2) for n in ("a", "b", "four")}) for _ in range(3)]
        known.append(floored(form(draw.randint(0, 2), a=0.5)) - floored(form(0, b=Fraction(1, 3))))
        aim = form(draw.randint(-1, 1), a=draw.randint(-2, 2), four=draw.randint(-1, 1), b=draw.randint(0, 1))
        aim += floored(form(0, a=0.5)) if draw.random() < 0.3 else form()
        for bound in upper_bounds(aim, {A, FOUR}, known, lambda axis: axis == FOUR):
            assert not bound.indices & {A, FOUR}
            found += 1
            for a, b, four in product(range(7), range(7), range(4)):
                value = {A: a, B: b, FOUR: four}
                if all(number(fact, value) >= 0 for fact in known):
                    assert number(aim, value) <= number(bound, value)
    assert found > 150


def number(each: LinearForm, value: dict[Axis, int]) -> Fraction:
    """Of a form with quotients, at these indices."""
    total = Fraction(0)
    for key, by in each.items:
        term = Fraction(by)
        for unknown in key:
            if isinstance(unknown, Opaque):
                term *= floor(number(LinearForm.of(dict(unknown.args[0])), value))
            else:
                assert isinstance(unknown, Axis)
                term *= value[unknown]
        total += term
    return total


def test_what_surely_holds() -> None:
    assert holds(form(0, a=1)) and holds(size(A) - form(1, a=1)) and not holds(size(A) - form(2, a=1))
    assert holds(form(3, four=-1)) and not holds(form(2, four=-1)) and not holds(form(-1, a=1))
    assert holds(form(0, a=1) - floored(form(0, a=0.5))) and holds(floored(form(0, a=0.5)))


# -- facts -----------------------------------------------------------------------------------------------------------

AB = form(0, b=1, a=-1)  # a <= b
BC, CD, AC, BA = form(0, c=1, b=-1), form(0, d=1, c=-1), form(0, c=1, a=-1), form(0, a=1, b=-1)


def plus(fact: LinearForm, by: int) -> LinearForm:
    return fact + LinearForm.number(by)


@pytest.mark.parametrize(
    ("linear", "cases"),
    [
        (AB, (facts(AB),)), (plus(AB, -3), (facts(plus(AB, -3)),)), (form(0, a=1), ALWAYS), (form(1), ALWAYS),
        (form(0), ALWAYS), (form(-1), NEVER), (form(-1, a=-1), NEVER), (form(-3, a=2), (facts(form(-2, a=1)),)),
    ],
)  # fmt: skip
def test_what_a_comparison_says(linear: LinearForm, cases: Cases) -> None:
    assert at_least_zero(linear) == cases


def test_what_a_strict_comparison_says() -> None:
    assert more_than_zero(AB) == (facts(plus(AB, -1)),)
    assert more_than_zero(form(0, a=0.5, b=-0.5)) == (facts(plus(BA, -1)),)
    assert more_than_zero(form(0)) == NEVER


def test_what_holds_where_both_do() -> None:
    for one, other, found in (
        ([plus(AB, 1)], [], [plus(AB, 1)]),
        ([plus(AB, 1)], [AB], [AB]),
        ([plus(AB, 1)], [plus(AC, 2)], [plus(AB, 1), plus(AC, 2)]),
        ([AB], [BA], [AB, BA]),
    ):
        assert both((facts(*one),), (facts(*other),)) == both((facts(*other),), (facts(*one),)) == (facts(*found),)
    assert both((facts(AB),), (facts(plus(BA, -1)),)) == NEVER  # a <= b and b < a
    assert both(ALWAYS, NEVER) == both(NEVER, (facts(AB),)) == NEVER


def test_each_case_meets_each() -> None:
    found = both((facts(AB), facts(AC)), (facts(BC), facts(plus(AC, -1))))
    assert found == (facts(AB, BC), facts(AC, BC), facts(plus(AC, -1)))


@pytest.mark.parametrize(
    ("one", "other", "found"),
    [
        ((facts(plus(AB, 1)),), (facts(AB),), (facts(plus(AB, 1)),)),
        ((facts(plus(AB, 1), AC),), (facts(plus(AB, 3)),), (facts(plus(AB, 3)),)),
        ((facts(plus(AB, 1)),), (facts(AC),), (facts(plus(AB, 1)), facts(AC))),
        ((facts(AB),), NEVER, (facts(AB),)),
        (ALWAYS, (facts(AB),), ALWAYS),
        (NEVER, NEVER, NEVER),
    ],
)
def test_what_holds_where_either_does(one: Cases, other: Cases, found: Cases) -> None:
    assert either(one, other) == found
    assert set(either(other, one)) == set(found)


def test_of_many_cases_what_holds_in_all() -> None:
    many: Cases = NEVER
    for n in range(CASES):
        many = either(many, (facts(plus(AB, n), plus(AC, -n), plus(BC, 7)),))
    assert len(many) == CASES
    assert shared(many) == facts(plus(AB, CASES - 1), AC, plus(BC, 7))
    assert either(many, (facts(plus(AB, CASES), plus(AC, -CASES)),)) == (facts(plus(AB, CASES), AC),)


def test_what_is_left_of_facts() -> None:
    chain = facts(plus(AB, 1), plus(BC, 2), plus(CD, 3))
    (left,) = without((chain,), {B})
    assert left == facts(plus(AC, 3), plus(CD, 3))  # what follows of a and c stays
    assert without((chain, facts(AB)), {A, D}) == ALWAYS
    assert without(NEVER, {A}) == put(NEVER, {}) == NEVER
    assert put((facts(AB, BC),), {B: form(1, d=1)}) == (facts(form(1, d=1, a=-1), form(-1, c=1, d=-1)),)


def test_differences() -> None:
    found = differences((facts(plus(AB, 1), plus(BC, -1), plus(CD, 2), form(1, a=2, b=-1), form(4, a=-1)),))
    assert found == {(A, B): 1, (B, C): -1, (C, D): 2, (A, C): 0, (B, D): 1}
    assert differences((facts(AB, BC), facts(plus(AC, 2), plus(AB, -1)))) == {(A, B): 0, (A, C): 2}
    many = [SESSION.axis(f"x{n}", Kind.WIDTH) for n in range(FACTS + 2)]
    chain = [LinearForm.index(b) - LinearForm.index(a) for a, b in pairwise(many)]
    assert len(differences((facts(*chain),))) == FACTS + 1  # of many facts none follows
    assert len(differences((facts(*chain[1:]),))) == 2 * FACTS - 1


def test_differences_are_sound() -> None:
    """What follows from facts holds of all indices of which the facts hold."""
    known = [plus(AB, 1), plus(BC, -1), form(1, a=1, c=-1), CD]
    for places in product(range(4), repeat=4):
        value = dict(zip((A, B, C, D), places, strict=True))
        if all(number(fact, value) >= 0 for fact in known):
            assert all(value[a] <= value[b] + k for (a, b), k in differences((facts(*known),)).items())


# -- ways to read ----------------------------------------------------------------------------------------------------

X = ItemSource("x", 0, (form(0, a=1),))


def reach(*bounds: Forms) -> Ways:
    return Ways(Way(X, (PlaceBounds(ANY, each),)) for each in bounds)


def bounds(*some: Ways) -> list[Forms]:
    return [way.at[0].uppers for way in united(*some)]


def up_to(*forms: LinearForm) -> Forms:
    return frozenset(forms)


def test_of_two_bounds_the_larger() -> None:
    a, later, b = up_to(form(0, a=1)), up_to(form(2, a=1)), up_to(form(0, b=1))
    assert bounds(reach(a), reach(later, b)) == [later, b]
    assert bounds(reach(later, b), reach(a, ANY)) == [later, b, ANY]
    both_bounds = up_to(form(0, a=1), form(0, b=1))
    assert bounds(reach(both_bounds), reach(b)) == [b]
    assert bounds(reach(b), reach(both_bounds)) == [b]
    first, second = reach(a), reach(a)
    assert united(first, second).each[0] is first.each[0]


def test_of_two_sources_both() -> None:
    a = up_to(form(0, a=1))
    other = Way(ItemSource("y", 1, X.places), (PlaceBounds(ANY, a),))
    assert united(reach(a), Ways((other,))) == Ways((other, *reach(a)))
    assert Ways((other, *reach(a))) == Ways((*reach(a), other))


@pytest.mark.parametrize("count", [BOUNDS, BOUNDS + 1, 3 * BOUNDS])
def test_of_many_bounds_none_is_kept(count: int) -> None:
    """PlaceBounds of which none is the larger: a few are kept; of more everything may be read."""
    given = [up_to(form(n, a=count - n, b=n)) for n in range(count)]
    assert bounds(*map(reach, given)) == (given if count <= BOUNDS else [ANY])


def test_the_least_of_bounds() -> None:
    assert least([form(2, a=1), form(0, a=1), form(1, a=1)]) == (form(0, a=1),)
    assert set(least([form(0, a=1), form(0, b=1)])) == {form(0, a=1), form(0, b=1)}
