"""Where text comes from, and stretches of it."""

from __future__ import annotations

from bisect import bisect_right
from functools import cached_property

from .base.records import field, record


@record(eq=False, slots=False)
class Source:
    """One file of text; `name` is how messages call it (a path as the user wrote it, or `<string>`)."""

    name: str
    text: str

    @cached_property
    def _starts(self) -> list[int]:
        starts = [0]
        for at, character in enumerate(self.text):
            if character == "\n":
                starts.append(at + 1)
        return starts

    def position(self, offset: int) -> tuple[int, int]:
        """The 1-based line and column of a character offset."""
        line = bisect_right(self._starts, offset)
        return line, offset - self._starts[line - 1] + 1

    def line(self, number: int) -> str:
        """The text of a 1-based line, without its end."""
        start = self._starts[number - 1]
        end = self.text.find("\n", start)
        return self.text[start : None if end < 0 else end].rstrip("\r")

    @property
    def newline(self) -> str:
        """What ends a line: as the first one does."""
        first = self.text.find("\n")
        return "\r\n" if first > 0 and self.text[first - 1] == "\r" else "\n"


@record
class Span:
    """Characters `start` up to, not including, `end` of a source."""

    source: Source = field(repr=False)
    start: int
    end: int

    def to(self, other: Span) -> Span:
        """From the start of this span to the end of the other."""
        return Span(self.source, self.start, max(self.end, other.end))

    @property
    def text(self) -> str:
        return self.source.text[self.start : self.end]
