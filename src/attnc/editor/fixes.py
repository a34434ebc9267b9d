"""Changes that are offered: quick fixes, each by itself and all at once; the canonical form, of a stretch or all."""

from __future__ import annotations

from dataclasses import dataclass

from ..dsl.diagnostic import AttnError, Diagnostic, Edit
from ..dsl.fixes import apply
from ..dsl.source import Span
from ..spec import format as formatted
from .analysis import Analysis
from .shift import Shift


@dataclass(frozen=True, slots=True)
class QuickFix:
    """Edits of one text that mend one mistake, or all that can be mended."""

    title: str
    edits: tuple[Edit, ...]
    mends: tuple[Diagnostic, ...]


def quick_fixes(analysis: Analysis, start: int, end: int) -> list[QuickFix]:
    """The fixes of the diagnostics that touch a stretch."""
    found = []
    for problem in analysis.diagnostics:
        span = problem.span
        if span is None or problem.fix is None or span.start > end or span.end < start:
            continue
        if all(edit.span.source is analysis.source for edit in problem.fix.edits):
            found.append(QuickFix(_title(problem), problem.fix.edits, (problem,)))
    return found


def fix_all(analysis: Analysis) -> QuickFix | None:
    """What `attnc check --fix` makes of the text; it mends the first mistakes, and what they had hidden."""
    source, done = analysis.source, analysis.repaired
    if not done.fixed:
        return None
    changes = Shift.between(source.text, done.source.text).changes()
    edits = [Edit(Span(source, a, b), done.source.text[c:d]) for a, b, c, d in changes]
    mended = [found for found in done.fixed if found.span is None or found.span.source is source]
    return QuickFix("Fix all that can be fixed", tuple(edits), tuple(mended))


def _title(problem: Diagnostic) -> str:
    """What the fix does, in the words of an editor's menu."""
    assert problem.fix is not None
    edit = problem.fix.edits[0]
    old, new = " ".join(edit.span.text.split()), " ".join(edit.text.split())
    if len(problem.fix.edits) > 1 or len(old) + len(new) > 60:
        return problem.help or f"Fix {problem.code}"
    return f"Write `{new}` instead of `{old}`" if old and new else f"Insert `{new}`" if new else f"Delete `{old}`"


def canonical(analysis: Analysis, start: int, end: int) -> list[Edit] | None:
    """Edits that bring the lines of a stretch into their canonical form, and touch no others: a cursor elsewhere stays
    where it is. None for a text that does not parse, or where these lines alone cannot have it.
    """
    source = analysis.source
    try:
        new = formatted(source.text)
        changes = list(Shift.between(source.text, new).changes())
        edits = [Edit(Span(source, a, b), new[c:d]) for a, b, c, d in changes if a <= end and b >= start]
        alone = len(edits) == len(changes) or formatted(apply(source.text, edits)) == new
        return edits if alone else None
    except AttnError:
        return None
