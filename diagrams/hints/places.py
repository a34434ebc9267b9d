"""Where keys and texts stand in a TOML file: `tomllib` does not say."""

from __future__ import annotations

import re

from ...dsl.source import Source, Span

Path = tuple[str | int, ...]
_HEADER = re.compile(r"\s*(\[\[?)\s*([^\[\]#]+?)\s*\]\]?\s*(#.*)?$")
_KEY = re.compile(
    r"""\s*((?:[A-Za-z0-9_-]+|"[^"\n]*"|'[^'\n]*')(?:\s*\.\s*(?:[A-Za-z0-9_-]+|"[^"\n]*"|'[^'\n]*'))*)\s*="""
)
_MULTILINE = re.compile(r'"""|\'\'\'')


class Places:
    """The keys of a file by their paths; the tables of an array have their number in the path."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.keys: dict[Path, Span] = {}
        table: Path = ()
        offset, inside = 0, False
        for line in source.text.splitlines(keepends=True):
            quotes = len(_MULTILINE.findall(line))
            if not inside:
                table = self._line(line.rstrip("\r\n"), offset, table)
            inside ^= bool(quotes % 2)
            offset += len(line)

    def _line(self, line: str, offset: int, table: Path) -> Path:
        if found := _HEADER.match(line):
            table = self._numbered(_parts(found[2]))
            if found[1] == "[[":
                table = (*table, sum(key[:-1] == table for key in self.keys if isinstance(key[-1], int)))
            self.keys[table] = Span(self.source, offset + found.start(2), offset + found.end(2))
        elif found := _KEY.match(line):
            path = (*table, *_parts(found[1]))
            self.keys.setdefault(path, Span(self.source, offset + found.start(1), offset + found.end(1)))
        return table

    def _numbered(self, parts: Path) -> Path:
        """A header's path; below an array of tables it is that of the last of them."""
        path: Path = ()
        for part in parts[:-1]:
            path = (*path, part)
            numbers = [key[-1] for key in self.keys if key[:-1] == path and isinstance(key[-1], int)]
            if numbers:
                path = (*path, max(numbers))
        return (*path, parts[-1])

    def of(self, path: Path, text: str | None = None) -> Span:
        """Where the last key of a path is written; or, of a text in its value, where that is."""
        known = path
        while known not in self.keys and known:
            known = known[:-1]
        span = self.keys.get(known, Span(self.source, 0, 0))
        later = [other.start for other in self.keys.values() if other.start > span.start]
        end = min(later, default=len(self.source.text))
        inner = [part for part in path[len(known) :] if isinstance(part, str)]
        wanted = [rf"""["']?({re.escape(part)})["']?\s*=""" for part in inner[-1:]]
        if text is not None:
            wanted = [rf"""["']({re.escape(text)})["']"""]
        for pattern in wanted:
            if found := re.compile(pattern).search(self.source.text, span.end, end):
                return Span(self.source, found.start(1), found.end(1))
        return span


def _parts(key: str) -> Path:
    return tuple(part.strip("\"'") for part in re.findall(r"""[A-Za-z0-9_-]+|"[^"\n]*"|'[^'\n]*'""", key))
