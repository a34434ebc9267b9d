"""Fixes of diagnostics, applied to a text until there is nothing left to fix."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from ..diagnostic import Diagnostic, Edit, Severity
from ..source import Source, Span

MAX_ROUNDS = 200
"""Each round mends at least one mistake, or gives a fix up; a text that needs more is left as it is by then."""

Check = Callable[[Source], Sequence[Diagnostic]]


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
            edits = [edit for each in chosen for edit in (each.fix.edits if each.fix else ())]
            text = apply(source.text, edits)
            changed = Source(source.name, text)
            after = tuple(check(changed))
            if text != source.text and _good(found, after, chosen, _inserted(changed, edits)):
                source, found = changed, after
                fixed += chosen
                break
        else:
            refused.add(_key(wanted[0]))
    return Repaired(source, tuple(fixed), found)


def apply(text: str, edits: Sequence[Edit]) -> str:
    """The text with edits made that do not overlap; insertions at one place stand in the order given."""
    parts: list[str] = []
    done = 0
    for edit in sorted(edits, key=lambda edit: (edit.span.start, edit.span.end)):
        parts += (text[done : edit.span.start], edit.text)
        done = edit.span.end
    return "".join((*parts, text[done:]))


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


def _inserted(changed: Source, edits: Sequence[Edit]) -> list[Span]:
    """Where the edits are in the text that has them."""
    made = []
    moved = 0
    for edit in sorted(edits, key=lambda edit: (edit.span.start, edit.span.end)):
        start = edit.span.start + moved
        made.append(Span(changed, start, start + len(edit.text)))
        moved += len(edit.text) - (edit.span.end - edit.span.start)
    return made


def _good(
    before: Sequence[Diagnostic], after: Sequence[Diagnostic], fixed: Sequence[Diagnostic], made: list[Span]
) -> bool:
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
    here = [each for each in new if any(_on_one_line(each, edit) for edit in made)]
    if not all(_behind(each, made) for each in here if _is_syntax(each)):
        return False
    if other[:2] < one[:2]:
        return other[2] <= one[2] or not here
    return other <= one and all(map(_is_syntax, here))


def _said(found: Diagnostic, with_place: bool) -> Iterator[tuple[str, object]]:
    """The keys of a diagnostic in a changed line. One place may have several parts of a mistake."""
    yield found.code, found.message
    if with_place and found.span is not None:
        yield found.code, found.span.source.position(found.span.start)[1]


def _on_one_line(found: Diagnostic, made: Span) -> bool:
    if found.span is None or found.span.source is not made.source:
        return False
    first, last = (made.source.position(at)[0] for at in (made.start, made.end))
    return first <= made.source.position(found.span.start)[0] <= last


def _behind(found: Diagnostic, made: list[Span]) -> bool:
    """Whether a mistake stands behind all that was changed in its line."""
    assert found.span is not None
    return all(found.span.start >= edit.end for edit in made if _on_one_line(found, edit))


def _is_syntax(found: Diagnostic) -> bool:
    return found.code.startswith("E01")


def _count(found: Sequence[Diagnostic]) -> tuple[int, int, int]:
    """Syntax errors, files that cannot be read, errors."""
    errors = [each for each in found if each.severity is Severity.ERROR]
    unread = sum(each.code == "E0209" for each in errors)
    return sum(map(_is_syntax, errors)), unread, len(errors)


def _key(found: Diagnostic) -> tuple[object, ...]:
    """The key of a diagnostic, which stays while the text around it moves."""
    edits = tuple((edit.span.text, edit.text) for edit in found.fix.edits) if found.fix else ()
    line = found.span.source.line(found.span.source.position(found.span.start)[0]) if found.span else ""
    return (found.code, found.message, line, edits)
