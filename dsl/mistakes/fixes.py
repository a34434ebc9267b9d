"""Fixes of diagnostics, applied to a text until there is nothing left to fix."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from ..diagnostic import Diagnostic, Edit, Severity
from ..source import Source

MAX_ROUNDS = 200
"""Each round mends at least one mistake, or gives a fix up; a text that needs more is left as it is by then."""

_Told = Sequence[Diagnostic]
Check = Callable[[Source], _Told]


@dataclass(frozen=True, slots=True)
class Repaired:
    """A text after its fixes: what they mended, each with its place at that time, and what is left."""

    source: Source
    fixed: tuple[Diagnostic, ...]
    left: tuple[Diagnostic, ...]


def repair(source: Source, check: Check, seconds: float = math.inf) -> Repaired:
    """Apply the fixes of a text's diagnostics, and check again, until nothing changes, or no time is left.

    Syntax errors come first, and alone: what names mean is known only where all lines can be read. Of fixes that
    overlap the first is applied. A fix is kept only if it does good: see `_good`. Edits to other files are left alone.
    """
    found = tuple(check(source))
    fixed: list[Diagnostic] = []
    refused: set[tuple[object, ...]] = set()
    end = time.monotonic() + seconds
    for _ in range(MAX_ROUNDS):
        if time.monotonic() >= end:
            break
        syntax = [each for each in found if _is_syntax(each)]
        wanted = [each for each in syntax or found if _fits(each, source) and _key(each) not in refused]
        if not wanted:
            break
        for chosen in (_apart(wanted), wanted[:1]):  # all that go together; if that does no good, the first alone
            text, ends = _edited(source.text, [edit for each in chosen if each.fix for edit in each.fix.edits])
            changed = Source(source.name, text)
            after = tuple(check(changed))
            if text != source.text and _good(found, after, chosen, changed, ends):
                source, found = changed, after
                fixed += chosen
                break
        else:
            refused.add(_key(wanted[0]))
    return Repaired(source, tuple(fixed), found)


def apply(text: str, edits: Sequence[Edit]) -> str:
    """The text with edits made that do not overlap; insertions at one place stand in the order given."""
    return _edited(text, edits)[0]


def _edited(text: str, edits: Sequence[Edit]) -> tuple[str, dict[int, int]]:
    """The text with edits made, and for each line of it that has one, counted from 1, where the last of them ends."""
    made, done = "", 0
    ends: dict[int, int] = {}
    for edit in sorted(edits, key=lambda edit: (edit.span.start, edit.span.end)):
        made += text[done : edit.span.start]
        first = made.count("\n") + 1
        made += edit.text
        ends |= dict.fromkeys(range(first, made.count("\n") + 2), len(made))
        done = edit.span.end
    return made + text[done:], ends


def _fits(found: Diagnostic, source: Source) -> bool:
    return found.fix is not None and all(edit.span.source is source for edit in found.fix.edits)


def _apart(wanted: list[Diagnostic]) -> list[Diagnostic]:
    """Those whose edits do not overlap, nor touch, those of one before. The same edit is made once."""
    taken: list[tuple[int, int]] = []
    chosen = []
    for found in wanted:
        assert found.fix is not None
        spans = [(edit.span.start, edit.span.end) for edit in found.fix.edits]
        if all(end < start or first > last for first, end in spans for start, last in taken):
            chosen.append(found)
            taken += spans
    return chosen


def _good(before: _Told, after: _Told, fixed: _Told, changed: Source, ends: dict[int, int]) -> bool:
    """Whether the text is better than it was: the fixed mistakes are gone, and there are fewer in all.

    Mending one mistake may bring out more: a syntax error, or a file that cannot be read, hides any number, a wrong
    name as many as it made. They may stand elsewhere, but not in the lines that were changed: there the fix would be
    their cause. Only a mistake of syntax may stand there, further on: the line can be read that far.
    """
    if {_key(each) for each in fixed} & {_key(each) for each in after}:
        return False
    one, other = _count(before), _count(after)
    said = {key for each in before for key in _said(each, with_place=not one[0])}
    new = [each for each in after if each.severity is Severity.ERROR and said.isdisjoint(_said(each, with_place=True))]
    spans = ((each, each.span) for each in new if each.span is not None and each.span.source is changed)
    here = [(each, at.start - ends[line]) for each, at in spans if (line := changed.position(at.start)[0]) in ends]
    if any(_is_syntax(each) and behind < 0 for each, behind in here):
        return False
    if other[:2] < one[:2]:
        return other[2] <= one[2] or not here
    return other <= one and all(_is_syntax(each) for each, _ in here)


def _said(found: Diagnostic, with_place: bool) -> Iterator[tuple[str, object]]:
    """The keys of a diagnostic in a changed line. One place may have several parts of a mistake."""
    yield found.code, found.message
    if with_place and found.span is not None:
        yield found.code, found.span.source.position(found.span.start)[1]


def _is_syntax(found: Diagnostic) -> bool:
    return found.code.startswith("E01")


def _count(found: _Told) -> tuple[int, int, int]:
    """Syntax errors, files that cannot be read, errors."""
    errors = [each for each in found if each.severity is Severity.ERROR]
    unread = sum(each.code == "E0209" for each in errors)
    return sum(map(_is_syntax, errors)), unread, len(errors)


def _key(found: Diagnostic) -> tuple[object, ...]:
    """The key of a diagnostic, which stays while the text around it moves."""
    edits = tuple((edit.span.text, edit.text) for edit in found.fix.edits) if found.fix else ()
    line = found.span.source.line(found.span.source.position(found.span.start)[0]) if found.span else ""
    return (found.code, found.message, line, edits)
