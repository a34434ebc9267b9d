"""The corpus of mistakes of meaning is whole: each edit applies, and is told today as it says."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

import attnc
from attnc.compiler.check import build
from attnc.dsl.files import read
from attnc.dsl.render import render_all

from .corpus import HERE, KINDS, LEVELS, Case, base_text, cases, designs

WRONG, RIGHT = cases("wrong.txt"), cases("right.txt")
BASES = sorted(path.stem for path in (HERE / "bases").glob("*.attn"))


def sampled(found: list[Case], step: int) -> list[object]:
    """Parameters: one of `step` is checked in the fast suite."""
    return [
        pytest.param(case, id=case.name, marks=pytest.mark.slow if place % step else ())
        for place, case in enumerate(found)
    ]


def test_there_are_enough_of_each_kind() -> None:
    assert len(BASES) >= 10
    assert len(WRONG) >= 120
    assert len(RIGHT) >= 200
    for found in (WRONG, RIGHT):
        kinds = Counter(case.kind for case in found)
        assert kinds.keys() == KINDS.keys()
        assert min(kinds.values()) >= 8


@pytest.mark.parametrize("found", [WRONG, RIGHT], ids=["wrong", "right"])
def test_each_case_is_an_edit_of_a_base(found: list[Case]) -> None:
    assert len({case.name for case in found}) == len(found)
    assert len({case.text() for case in found}) == len(found)
    assert {case.base for case in found} == set(BASES)
    for case in found:
        assert case.kind in KINDS, case.name
        assert case.edits, case.name
        assert case.why.endswith("."), case.name


def test_the_designs_are_fifty() -> None:
    found = designs()
    assert len(set(found)) == len(found) >= 50
    assert not [path for path in found if not path.is_file()]


def test_a_mistake_says_where_and_how_loud() -> None:
    for case in WRONG:
        assert case.level in LEVELS, case.name
        assert case.line() > 0


def test_a_right_variant_says_no_more_than_that() -> None:
    assert not [case.name for case in RIGHT if case.level or case.told or case.place]


@pytest.mark.slow
@pytest.mark.parametrize("base", BASES)
def test_a_base_is_right(base: str) -> None:
    said = attnc.check(base_text(base))
    assert not said, render_all(said)
    assert attnc.format(base_text(base)) == base_text(base)


@pytest.mark.parametrize("case", sampled(WRONG, 30))
def test_of_a_mistake_no_error_is_said_but_those_marked(case: Case) -> None:
    """A check that is written later says more of it, but of what is only warned of not that it is an error."""
    said = attnc.check(case.text())
    new = {each.code for each in said} - set(case.told)
    assert set(case.told) <= {each.code for each in said}, render_all(said)
    assert case.level == "error" or not {code for code in new if code.startswith("E")}, render_all(said)


@pytest.mark.parametrize("case", sampled(RIGHT, 50))
def test_of_a_right_variant_nothing_is_said(case: Case) -> None:
    said = attnc.check(case.text())
    assert not said, render_all(said)


@pytest.mark.slow
@pytest.mark.parametrize("path", designs(), ids=lambda path: path.stem)
def test_of_a_published_design_nothing_is_said(path: Path) -> None:
    said = build(read(path)).diagnostics
    assert not said, render_all(said)
