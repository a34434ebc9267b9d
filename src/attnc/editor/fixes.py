"""Quick fixes: what the diagnostics offer, each by itself and all at once."""

from __future__ import annotations

from dataclasses import dataclass

from ..dsl.diagnostic import Diagnostic, Edit
from .analysis import Analysis


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
    """Every fix of the text that does not meet another one."""
    edits: list[Edit] = []
    mended: list[Diagnostic] = []
    for one in quick_fixes(analysis, 0, len(analysis.text)):
        if not any(_meet(mine, other) for mine in one.edits for other in edits):
            edits += one.edits
            mended += one.mends
    return QuickFix("Fix all that can be fixed", tuple(edits), tuple(mended)) if edits else None


def _meet(one: Edit, other: Edit) -> bool:
    return one.span.start <= other.span.end and other.span.start <= one.span.end


def _title(problem: Diagnostic) -> str:
    """What the fix does, in the words of an editor's menu."""
    assert problem.fix is not None
    edit = problem.fix.edits[0]
    old, new = " ".join(edit.span.text.split()), " ".join(edit.text.split())
    if len(problem.fix.edits) > 1 or len(old) + len(new) > 60:
        return problem.help or f"Fix {problem.code}"
    return f"Write `{new}` instead of `{old}`" if old and new else f"Insert `{new}`" if new else f"Delete `{old}`"
