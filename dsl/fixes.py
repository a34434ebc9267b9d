"""Fixes of diagnostics, applied to a text until there is nothing left to fix."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from .diagnostic import Diagnostic, Edit, Severity
from .source import Source

MAX_ROUNDS = 200
"""Each round mends at least one mistake, or gives a fix up; a text that needs more is left as it is by then."""

Check = Callable[[Source], Sequence[Diagnostic]]


@dataclass(frozen=True, slots=True)
class Repaired:
    """A text after its fixes: what they mended, each with its place at that time, and what is left."""

    source: Source
    fixed: tuple[Diagnostic, ...]
    left: tuple[Diagnostic, ...]


def repair(source: Source, check: Check) -> Repaired:
    """Apply the fixes of a text's diagnostics, and check again, until nothing changes.

    Of fixes that overlap the first is applied. A fix that does not mend its mistake, or makes more mistakes than there
    were, is not applied. Syntax errors count first, then files that cannot be read, for they hide others: mending one
    may bring out more mistakes elsewhere, but not in the lines that it changes. Edits to other files are left alone.
    """
    found = tuple(check(source))
    fixed: list[Diagnostic] = []
    refused: set[tuple[object, ...]] = set()
    for _ in range(MAX_ROUNDS):
        wanted = [each for each in found if _fits(each, source) and _key(each) not in refused]
        if not wanted:
            break
        for chosen in (_apart(wanted), wanted[:1]):  # all that go together; if that does no good, the first alone
            edits = [edit for each in chosen for edit in (each.fix.edits if each.fix else ())]
            text = apply(source.text, edits)
            changed = Source(source.name, text)
            after = tuple(check(changed))
            if text != source.text and _better(found, after, chosen) and not _errs(found, after, changed, edits):
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


def _better(before: Sequence[Diagnostic], after: Sequence[Diagnostic], fixed: Sequence[Diagnostic]) -> bool:
    """Whether there are no more mistakes than before, and those that were to be fixed are gone."""
    return _count(after) <= _count(before) and not {_key(each) for each in fixed} & {_key(each) for each in after}


def _errs(before: Sequence[Diagnostic], after: Sequence[Diagnostic], changed: Source, edits: Sequence[Edit]) -> bool:
    """Whether there are more errors than before, and some of them in lines that were changed."""
    if _count(after)[-1] <= _count(before)[-1]:
        return False
    lines: set[int] = set()
    moved = 0
    for edit in sorted(edits, key=lambda edit: (edit.span.start, edit.span.end)):
        start = edit.span.start + moved
        lines |= set(range(changed.position(start)[0], changed.position(start + len(edit.text))[0] + 1))
        moved += len(edit.text) - (edit.span.end - edit.span.start)
    known = {_key(each) for each in before}
    spans = [each.span for each in after if each.severity is Severity.ERROR and _key(each) not in known]
    return any(span.source is changed and changed.position(span.start)[0] in lines for span in spans if span)


def _count(found: Sequence[Diagnostic]) -> tuple[int, int, int]:
    errors = [each for each in found if each.severity is Severity.ERROR]
    syntax, unread = (sum(each.code.startswith(code) for each in errors) for code in ("E01", "E0209"))
    return syntax, unread, len(errors)


def _key(found: Diagnostic) -> tuple[object, ...]:
    """What a diagnostic is known by while the text around it moves."""
    edits = tuple((edit.span.text, edit.text) for edit in found.fix.edits) if found.fix else ()
    line = found.span.source.line(found.span.source.position(found.span.start)[0]) if found.span else ""
    return (found.code, found.message, line, edits)
