"""Offsets of a text, and lines and columns as the Language Server Protocol counts them (in UTF-16 units, mostly)."""

from __future__ import annotations

import re
from bisect import bisect_right

_END = re.compile(r"\r\n|\n|\r")
_UNITS = {"utf-8": ("utf-8", 1), "utf-16": ("utf-16-le", 2), "utf-32": ("utf-32-le", 4)}


class Lines:
    """The lines of one text. `encoding` is what a column counts: units of utf-8, utf-16 or utf-32."""

    def __init__(self, text: str, encoding: str = "utf-16") -> None:
        self.text = text
        self._starts = [0, *(found.end() for found in _END.finditer(text))]
        self._ends = [*(found.start() for found in _END.finditer(text)), len(text)]
        self._codec, self._unit = _UNITS[encoding]

    def offset(self, line: int, column: int) -> int:
        """The character offset of a 0-based place; what lies outside the text is taken for its nearest end."""
        if line < 0:
            return 0
        if line >= len(self._starts):
            return len(self.text)
        start, end = self._starts[line], self._ends[line]
        row = self.text[start:end]
        if row.isascii() or self._unit == 4:
            return start + max(0, min(column, len(row)))
        units = 0
        for at, character in enumerate(row):
            units += self._width(character)
            if units > column:
                return start + at
        return end

    def line_and_column(self, offset: int) -> tuple[int, int]:
        """The 0-based line and column of a character offset."""
        offset = max(0, min(offset, len(self.text)))
        line = bisect_right(self._starts, offset) - 1
        row = self.text[self._starts[line] : min(offset, self._ends[line])]
        return line, len(row) if row.isascii() else sum(map(self._width, row))

    def _width(self, character: str) -> int:
        return len(character.encode(self._codec, "surrogatepass")) // self._unit
