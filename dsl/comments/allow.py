"""`# attnc: allow W0511`: a warning or a piece of advice that somebody has looked at, and lets stand in plain sight.

Behind code it holds for that statement, on a line of its own for the statement, block or declaration right beneath it.
Several codes stand beside each other, and a reason behind a colon: `# attnc: allow W0505, W0511: examples are packed`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from .. import syntax as s
from ..base.records import record
from ..diagnostic import Diagnostic, Severity
from ..source import Span

_ALLOWS = re.compile(r"#\s*attnc:\s*allow\b([^:]*)")
Part = s.Item | s.Statement


def is_allowance(comment: str) -> bool:
    """Whether a comment is one: then it is no documentation."""
    return bool(_ALLOWS.match(comment))


@record
class Allowance:
    """One code of a comment of a file: where it stands, its line, and whether the comment has that line to itself."""

    code: str
    file: s.File
    span: Span
    line: int
    own: bool


def split_allowed(files: Iterable[s.File], found: Sequence[Diagnostic]) -> tuple[list[Diagnostic], list[Allowance]]:
    """What is left of all that was found, and what allows nothing of it. Errors are not to be allowed."""
    left, unused = list(found), list[Allowance]()
    for file in files:
        for allowance in _allowances(file):
            kept = [each for each in left if not _allows(allowance, each)]
            if len(kept) == len(left):
                unused.append(allowance)
            left = kept
    return left, unused


def _allowances(file: s.File) -> Iterator[Allowance]:
    for comment in file.comments:
        match = _ALLOWS.match(comment.text)
        if match is not None:
            at = comment.span.start + match.start(1)
            for code in re.finditer(r"[^\s,]+", match[1]):
                span = Span(comment.span.source, at + code.start(), at + code.end())
                yield Allowance(code[0], file, span, _line(span), _has_line(comment))


def _allows(allowance: Allowance, found: Diagnostic) -> bool:
    if found.code != allowance.code or found.severity is Severity.ERROR or found.span is None:
        return False
    if found.span.source is not allowance.span.source:
        return False
    around = [*_around(allowance.file.items, found.span.start)]
    if allowance.own:
        return any(_line(part.span) == _beneath(allowance) for part in around)
    if not around or _bodies(around[-1]):  # of a whole block, what stands behind its first line is said of that
        return allowance.line == _line(found.span)
    last, _ = found.span.source.position(around[-1].span.end)
    return _line(around[-1].span) <= allowance.line <= last


def _line(span: Span) -> int:
    return span.source.position(span.start)[0]


def _has_line(comment: s.Comment) -> bool:
    source, start = comment.span.source, comment.span.start
    _, column = source.position(start)
    return not source.text[start - column + 1 : start].strip()


def _beneath(allowance: Allowance) -> int:
    """The line right below a comment and all that follow on it."""
    lines, line = {_line(comment.span) for comment in allowance.file.comments if _has_line(comment)}, allowance.line
    while line in lines:
        line += 1
    return line


def _around(parts: Iterable[Part], at: int) -> Iterator[Part]:
    """The item in which a place lies, and the statements, from the outermost."""
    for part in parts:
        if part.span.start <= at < part.span.end:
            yield part
            for body in _bodies(part):
                yield from _around(body, at)


def _bodies(part: Part) -> tuple[tuple[s.Statement, ...], ...]:
    match part:
        case s.BlockDecl(body=body) | s.RepeatStatement(body=body):
            return (body,)
        case s.If(then=then, otherwise=otherwise):
            return (then, otherwise)
        case _:
            return ()
