"""Where the parser could not go on, as rows of the table of slips see it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from ..base.records import record
from ..source import Span
from ..tokens import RESERVED
from .words import COMPARISONS, EXPRESSION, OPERATORS

_KINDS = {  # as the table of slips has them
    "NAME": frozenset(("NAME",)), "0": frozenset(("INT",)), "0.5": frozenset(("FLOAT",)), '""': frozenset(("STRING",)),
    "OP": OPERATORS, "CMP": COMPARISONS, "VAL": EXPRESSION - {"MINUS"} | {"LSQB"},
}  # fmt: skip


MARKS = str.maketrans("▸◂⏎", "\x01\x02\x03")  # of the table, in the text around; letters of ASCII compile faster
_LAST = re.compile(r"(?:[A-Za-z_][A-Za-z0-9_]*|(?<![A-Za-z0-9_])[0-9][0-9A-Za-z_.]*|->|\|>|[<>=!]=|\S)\Z")


@record
class Stumble:
    """Where the parser, or what cuts a text into tokens, gave up, as rows of the table see it."""

    span: Span  # of what was found; empty at the end of a line
    kind: str  # its terminal; ✗ and what it is, where it is no token
    before: str  # the text of the item, or of the line, up to it
    line: int = 0  # where in that text the logical line begins
    accepts: frozenset[str] = frozenset()  # the terminals that the parser would have taken
    stack: Sequence[Any] = ()  # tokens and finished nodes, as it holds them
    half: bool = False  # whether the parser took the first half of what was found for another sign
    newline: bool = False  # whether a newline stands between the previous token and this one

    @property
    def text(self) -> str:
        return self.span.text

    @property
    def opener(self) -> str:
        """The innermost bracket that is open here."""
        stack: list[str] = []
        for sign in re.findall(r"[][(){}]", self.before):
            if sign in "([{":
                stack.append(sign)
            elif stack:
                stack.pop()
        return stack[-1] if stack else ""

    @property
    def founds(self) -> list[str]:
        """What was found, as rows of the table have it at their mark: the text itself, and what it is one of."""
        if self.kind[:1] == "✗":
            return [f"✗{self.text}", self.kind]
        found = f"{self.text[0]}▸{self.text[1]}" if self.half else self.text
        word = ["WORD"] if self.text in RESERVED else []
        return [found, *word, *(name for name, kinds in _KINDS.items() if self.kind in kinds), "…"]

    @property
    def marked(self) -> str:
        """The text around, with marks at the borders of what was found: characters that no text of ours has."""
        before, text = self.before, self.span.source.text
        if self.newline:
            last = len(before.rstrip())
            before = f"{before[:last]}\x03{before[last + 1 :]}"
        end = text.find("\n}", self.span.end)
        return f"{before}\x01{self.text}\x02{text[self.span.end : end if end >= 0 else None]}\n"

    def group(self, match: re.Match[str] | None, name: str) -> Span | None:
        """The place of a group of a pattern; "": of what was found."""
        if not name:
            return self.span
        if match is None or match.groupdict().get(name) is None:
            return None
        return Span(self.span.source, *map(self._place, match.span(name)))

    def apart(self, word: str, span: Span) -> str:
        """What takes the place of a span: with spaces where a word would run into its neighbours."""
        text = span.source.text
        left = word[:1].isalpha() and re.match(r"\w", text[max(span.start - 1, 0) : span.start])
        right = word[-1:].isalpha() and re.match(r"\w", text[span.end : span.end + 1])
        return (" " if left else "") + word + (" " if right else "")

    def _place(self, at: int) -> int:
        """The offset in the source of one in the marked text."""
        mark = len(self.before)
        return self.span.start - mark + at - (at > mark) - (at > mark + 1 + len(self.text))

    @property
    def words(self) -> dict[str, str]:
        """What rows may ask for, beside the groups of their patterns."""
        last, line = _LAST.search(self.before.rstrip()), self.before[self.line :]
        return {
            "found": self.text,
            "previous": last.group() if last else "",
            "head": line.strip() if len(line) < 60 else "...",
            **dict(zip(("left", "sign", "right"), map(_text, self.stack[-3:]), strict=False)),
        }


def _text(part: Any) -> str:
    """Of what the parser holds: a token, or a node that is finished."""
    return str(part) if isinstance(part, str) else part.span.text if hasattr(part, "span") else ""
