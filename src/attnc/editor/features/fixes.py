"""Changes that are offered: quick fixes, each by itself and all at once; the canonical form, of a stretch or all."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from ...dsl.diagnostic import Diagnostic, Edit
from ...dsl.errors import AttnError
from ...dsl.mistakes.fixes import apply
from ...dsl.parse import parse
from ...dsl.source import Source, Span
from ...spec import format as formatted
from ..analysis import Analysis
from ..shift import Shift


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
            found.append(QuickFix(title(problem), problem.fix.edits, (problem,)))
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


def title(problem: Diagnostic) -> str:
    """What the fix does, in the words of an editor's menu."""
    assert problem.fix is not None
    edit = problem.fix.edits[0]
    old, new = " ".join(edit.span.text.split()), " ".join(edit.text.split())
    if len(problem.fix.edits) > 1 or len(old) + len(new) > 60:
        return problem.help or f"Fix {problem.code}"
    return f"Write `{new}` instead of `{old}`" if old and new else f"Insert `{new}`" if new else f"Delete `{old}`"


def _meets(a: int, b: int, start: int, end: int) -> bool:
    """Whether two stretches have something in common: if neither is empty more than an end."""
    return a <= end and b >= start and (a == b or start == end or (a < end and b > start))


def _begins(text: str) -> list[int]:
    """Where the lines of a text begin on which its items do."""
    source = Source("", text)
    return [text.rfind("\n", 0, item.span.start) + 1 for item in parse(source)[0].items]


def _by_items(
    changes: Iterable[tuple[int, int, int, int]], old: list[int], new: list[int]
) -> list[tuple[int, int, int, int]]:
    """Changes, those that run over several items cut in pieces: a canonical text has the same items."""
    found = []
    for a, b, c, d in changes:
        for before, after in zip(old, new, strict=True) if len(old) == len(new) else ():
            if a < before < b and c < after < d:
                found.append((a, before, c, after))
                a, c = before, after
        found.append((a, b, c, d))
    return found


def canonical(analysis: Analysis, start: int, end: int) -> list[Edit] | None:
    """Edits that bring the lines of a stretch into their canonical form, and touch no others: a cursor elsewhere stays
    where it is. None for a text that does not parse, or where these lines alone cannot have it.
    """
    source = analysis.source
    try:
        new = formatted(source.text)
        changes = _by_items(Shift.between(source.text, new).changes(), _begins(source.text), _begins(new))
        edits = [Edit(Span(source, a, b), new[c:d]) for a, b, c, d in changes if _meets(a, b, start, end)]
        alone = len(edits) == len(changes) or formatted(apply(source.text, edits)) == new
        return edits if alone else None
    except AttnError:
        return None
