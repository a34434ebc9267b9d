"""Of each mistake of the kinds that are looked for: what is told, and whether on the line that is marked, or with a
label there beside the place of the message itself.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

import attnc
from attnc.dsl.diagnostic import Diagnostic
from attnc.dsl.source import Span

from .corpus import HERE, KINDS, Case, cases

TOLD = sorted((HERE / "told").glob("*.txt"), key=lambda path: int(path.stem))  # a new kind begins with an empty file


def told(each: Diagnostic, case: Case) -> str:
    if each.span is None:
        return f"{each.code} nowhere"
    if covers(each.span, case.line()):
        return each.code
    if any(covers(label.span, case.line()) for label in each.related):
        return f"{each.code} beside"
    return f"{each.code} at line {first_line(each.span)}, not {case.line()}"


def first_line(span: Span) -> int:
    return span.source.text[: span.start].count("\n") + 1


def covers(span: Span, line: int) -> bool:
    return first_line(span) <= line <= first_line(span) + span.text.count("\n")


@pytest.mark.slow
@pytest.mark.parametrize("path", TOLD, ids=lambda path: path.stem)
def test_what_is_told_of_each(path: Path, golden: Callable[[Path, str], None]) -> None:
    kind = int(path.stem)
    of = [case for case in cases("wrong.txt") if case.kind == kind]
    found = {case.name: [told(each, case) for each in attnc.check(case.text())] for case in of}
    heard = sum(any(" " not in each or each.endswith(" beside") for each in found[case.name]) for case in of)
    lines = [f"{case.name}: {', '.join(found[case.name]) or '-'}" for case in of]
    golden(path, "\n".join([f"{kind}. {KINDS[kind]}: {heard} of {len(of)} where they stand", "", *lines, ""]))
