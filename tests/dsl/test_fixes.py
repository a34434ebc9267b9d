"""Fixes applied until there is nothing left to fix, with checkers of a few words."""

from __future__ import annotations

import re
from collections.abc import Sequence

import pytest

from attnc.dsl.diagnostic import Diagnostic, Edit, Severity, error
from attnc.dsl.mistakes.fixes import MAX_ROUNDS, apply, repair
from attnc.dsl.source import Source, Span

OTHER = Source("other", "far")

# A word that is wrong: its code, and what its fix writes; None where it has no fix.
WRONG = {
    "a": ("E0301", "x"),
    "b": ("E0302", "y"),
    "ab": ("E0303", "z"),
    "bad": ("E0304", None),
    "more": ("E0305", "bad bad"),
    "other": ("E0306", "bad"),
    "same": ("E0307", "same"),
    "again": ("E0308", "again more"),
    "slip": ("E0101", ""),
    "never": ("E0102", None),
    "turn": ("E0103", "twist"),
    "twist": ("E0104", None),
    "lost": ("E0209", ""),
    "hint": ("W0502", ""),
}


def judge(source: Source) -> Sequence[Diagnostic]:
    """Each wrong word; a slip hides all else, and what is lost hides what is wrong in other ways."""
    found = []
    for match in re.finditer("|".join(sorted(WRONG, key=len, reverse=True)), source.text):
        code, instead = WRONG[match.group()]
        at = Span(source, *match.span())
        severity = Severity.WARNING if code[0] == "W" else Severity.ERROR
        fix = [] if instead is None else [(at, instead)]
        found.append(error(code, match.group(), at, fix=fix, severity=severity))
    for hiding in ("E01", "E0209"):
        if any(each.code.startswith(hiding) for each in found):
            found = [each for each in found if each.code.startswith(hiding)]
    return found


@pytest.mark.parametrize(
    ("text", "mended", "fixed", "left"),
    [
        ("", "", "", ""),
        ("nothing", "nothing", "", ""),
        ("a - b - a", "x - y - x", "a b a", ""),
        ("ba", "yx", "b a", ""),  # they touch: one after the other
        ("ab", "z", "ab", ""),
        ("bad", "bad", "", "bad"),
        ("bad - a", "bad - x", "a", "bad"),
        ("more", "more", "", "more"),  # two mistakes for one
        ("more - more - a", "more - more - x", "a", "more more"),
        ("a - more - more", "x - more - more", "a", "more more"),  # one by one, where all together does harm
        ("more - a", "more - x", "a", "more"),
        ("other", "other", "", "other"),  # another mistake for one: no better
        ("slip\na", "\nx", "slip a", ""),
        ("slip - a", " - x", "slip a", ""),
        ("never\na", "never\na", "", "never"),  # what cannot be read may say what `a` is
        ("never slip\na", "never \na", "slip", "never"),
        ("turn slip", "turn ", "slip", "turn"),  # another mistake of syntax in the place of one
        ("same", "same", "", "same"),
        ("again", "again", "", "again"),
        ("slip\nbad\nbad", "\nbad\nbad", "slip", "bad bad"),  # what was hidden does not count
        ("lost\nbad\nbad", "\nbad\nbad", "lost", "bad bad"),
        ("slip - bad - bad", "slip - bad - bad", "", "slip"),  # but in the line itself: was it meant so?
        ("slip - bad", " - bad", "slip", "bad"),  # one for one
        ("slip\nlost - lost\nbad - a", "\n - \nbad - x", "slip lost lost a", "bad"),
        ("hint - a", " - x", "hint a", ""),
    ],
)
def test_what_is_mended(text: str, mended: str, fixed: str, left: str) -> None:
    source = Source("t", text)
    done = repair(source, judge)
    assert done.source.text == mended
    assert done.source.name == "t"
    assert sorted(each.message for each in done.fixed) == sorted(fixed.split())
    assert sorted(each.message for each in done.left) == sorted(left.split())
    assert all(each.span is not None and each.span.source is done.source for each in done.left)
    assert done.fixed or done.source is source


def test_one_edit_that_two_mistakes_ask_for_is_made_once() -> None:
    def twice(source: Source) -> list[Diagnostic]:
        at = [Span(source, match.start(), match.start()) for match in re.finditer(r"(?<!x)a", source.text)]
        return [error(code, code, each, fix=[(each, "x")]) for each in at for code in ("E0301", "E0302")]

    done = repair(Source("t", "a a"), twice)
    assert done.source.text == "xa xa"
    assert done.left == ()


def test_other_files_are_left_alone() -> None:
    def away(source: Source) -> list[Diagnostic]:
        here, there = Span(source, 0, 1), Span(OTHER, 0, 3)
        return [
            error("E0301", "away", here, fix=[(there, "near")]),
            error("E0302", "both", here, fix=[(here, ""), (there, "")]),
        ]

    done = repair(Source("t", "abc"), away)
    assert done.source.text == "abc"
    assert done.fixed == ()
    assert len(done.left) == 2


def test_a_mistake_without_a_place_can_be_mended() -> None:
    def nowhere(source: Source) -> list[Diagnostic]:
        return [] if "a" in source.text else [error("E0601", "no a", None, fix=[(Span(source, 0, 0), "a")])]

    assert repair(Source("t", "bc"), nowhere).source.text == "abc"


def test_rounds_come_to_an_end() -> None:
    rounds = []

    def grows(source: Source) -> list[Diagnostic]:
        rounds.append(source.text)
        first, last = Span(source, 0, 0), Span(source, len(source.text), len(source.text))
        return [error("E0301", f"{len(source.text)} is odd", last, fix=[(first, "\n")])]

    assert len(repair(Source("t", "\n"), grows).source.text) == MAX_ROUNDS + 1
    assert len(rounds) == MAX_ROUNDS + 1


def test_it_stops_between_rounds_when_no_time_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is mended by then stays mended: of the slip, which hides the rest."""
    now = iter(range(100))
    monkeypatch.setattr("time.monotonic", lambda: float(next(now)))
    for seconds, text in ((1, "slip a"), (2, " a"), (3, " x")):
        done = repair(Source("text", "slip a"), judge, seconds)
        assert done.source.text == text
        assert list(done.left) == list(judge(done.source))


def test_edits() -> None:
    source = Source("t", "0123456789")
    edits = [
        Edit(Span(source, start, end), text)
        for start, end, text in ((8, 8, "c"), (2, 4, "a"), (8, 8, "d"), (0, 0, "b"), (9, 10, ""))
    ]
    assert apply(source.text, edits) == "b01a4567cd8"
    assert apply(source.text, []) == source.text
