"""What comments say: of the file that they begin, of the item right beneath them, of what stands before them."""

from __future__ import annotations

import re
from collections.abc import Iterable

from ..source import Source, Span
from ..syntax import Comment
from .allow import is_allowance

_BEHIND = re.compile(r"[^\n#{}]*#([^\r\n]*)")


def opening(text: str) -> str:
    """The comment that a file begins with."""
    above = []
    while text.startswith("#"):
        line, _, text = text.partition("\n")
        above += _words(line.partition("\r")[0])
    return "\n".join(above)


def above(source: Source, comments: Iterable[Comment], starts: Iterable[int]) -> list[str]:
    """For each item, by the offset where it begins, the comment on the lines right above it."""
    whole_lines: dict[int, str] = {}
    for comment in comments:
        line, column = source.position(comment.span.start)
        if not source.text[comment.span.start - column + 1 : comment.span.start].strip(" \t"):
            whole_lines[line] = comment.text
    return [_above(whole_lines, source.position(start)[0]) if whole_lines else "" for start in starts]


def _above(whole_lines: dict[int, str], line: int) -> str:
    found: list[str] = []
    while (line := line - 1) in whole_lines:
        found += _words(whole_lines[line])
    return "\n".join(reversed(found))


def behind(span: Span) -> str:
    """The comment at the end of the line on which a declaration ends."""
    found = _BEHIND.match(span.source.text, span.end)
    return "".join(_words(f"#{found[1]}")) if found else ""


def _words(comment: str) -> list[str]:
    """A line of a comment, without its sign; none of one that allows a warning."""
    return [] if is_allowance(comment) else [comment[1:].removeprefix(" ").rstrip()]
