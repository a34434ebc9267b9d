"""The texts of a project: open buffers win over files on disk; each text is parsed once."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from weakref import WeakKeyDictionary

from .. import compiler
from ..compiler.names.loader import library_source
from ..dsl import syntax as s
from ..dsl.diagnostic import Diagnostic
from ..dsl.files import FileProblem, read
from ..dsl.parse import parse
from ..dsl.source import Source
from .names import Names, names_of

STD = str(Path(compiler.__file__).parent / "std")
MOST_FILES = 2000
"""Of a workspace, so many files are looked at for references."""

_SKIPPED = frozenset(("node_modules", "__pycache__", "build", "dist", "venv", "out"))

Parsed = tuple[s.File, list[Diagnostic]]


class Project:
    """All texts that a server knows, by path: absolute, or the name of a buffer that is no file (`untitled:1`)."""

    def __init__(self, wanted: Callable[[], bool] = lambda: True) -> None:
        self.wanted = wanted  # whether anyone waits for what is being found out
        self.folders: list[str] = []
        self._open: dict[str, Source] = {}
        self._kept: dict[str, tuple[tuple[int, int], Source]] = {}  # what was read from disk, and when it was changed
        self._trees: WeakKeyDictionary[Source, Parsed] = WeakKeyDictionary()
        self._names: dict[str, tuple[Source, Names]] = {}
        self._paths: WeakKeyDictionary[Source, str] = WeakKeyDictionary()

    # -- texts

    def open(self, path: str, text: str) -> None:
        """A buffer is opened, or changed."""
        known = self._open.get(path)
        if known is None or known.text != text:
            self._open[path] = self._source(path, text)
            self._names.clear()

    def close(self, path: str) -> None:
        self._open.pop(path, None)
        self._names.clear()

    def with_texts(self, texts: Mapping[str, str]) -> Project:
        """The same project with other texts of these files."""
        other = Project(self.wanted)
        other.folders = self.folders
        other._open = dict(self._open)
        other._paths.update(self._paths)
        for path, text in texts.items():
            other.open(path, text)
        return other

    def is_open(self, path: str) -> bool:
        return path in self._open

    def source(self, path: str) -> Source:
        """The text of a path as it is now; the same object as long as it is the same text. Raises FileProblem."""
        if path in self._open:
            return self._open[path]
        if is_library(path):
            if not os.path.isfile(path):
                raise FileProblem(f"{path}: the library has no such file")
            source = library_source(Path(path).relative_to(STD).with_suffix("").as_posix())
            self._paths[source] = path
            return source
        try:
            found = os.stat(path)
            stamp = (found.st_mtime_ns, found.st_size)
        except (OSError, ValueError):
            stamp = (0, 0)
        if path not in self._kept or self._kept[path][0] != stamp:
            if path in self._kept:
                self._names.clear()  # of other files, too: what they mention may be elsewhere now
            self._kept[path] = stamp, self._source(path, read(path, regular=True).text)
        return self._kept[path][1]

    def _source(self, path: str, text: str) -> Source:
        source = Source(self._shown(path), text)
        self._paths[source] = path
        return source

    def _shown(self, path: str) -> str:
        """How messages call a file: beneath its workspace folder."""
        for folder in self.folders:
            if path.startswith(folder + os.sep):
                return os.path.relpath(path, folder)
        return path

    def path_of(self, source: Source) -> str:
        """Where a text comes from."""
        known = self._paths.get(source)
        if known is None:  # the checker loads the standard library itself
            known = os.path.join(STD, *source.name.split("/")[1:]) if source.name.startswith("std/") else source.name
        return known

    def tree(self, source: Source) -> Parsed:
        """The syntax tree, faulty lines apart, and what is wrong with the syntax."""
        if source not in self._trees:
            self._trees[source] = parse(source, lenient=True)
        return self._trees[source]

    # -- names

    def names(self, path: str) -> Names | None:
        """Every name of a file; None for a file that cannot be read."""
        try:
            source = self.source(path)
        except FileProblem:
            return None
        known = self._names.get(path)
        if known is not None and known[0] is source:
            return known[1]
        made = Names(path, source)
        self._names[path] = source, made  # before it is filled in: files may use each other in a circle
        names_of(self, made, self.tree(source)[0])
        return made

    def used(self, path: str, parts: Sequence[str]) -> str | None:
        """The path that `use a.b` in a file leads to, whether there is such a file or not."""
        if parts[0] == "std":
            return os.path.join(STD, *parts[1:-1], f"{parts[-1]}.attn") if len(parts) > 1 else None
        return os.path.join(os.path.dirname(path), *parts[:-1], f"{parts[-1]}.attn") if os.path.isabs(path) else None

    def files(self) -> Iterator[str]:
        """The specs of the workspace: those that are open, then those on disk, at most `MOST_FILES`."""
        yield from self._open
        count = 0
        for folder in self.folders:
            for root, folders, files in os.walk(folder):
                folders[:] = sorted(name for name in folders if name not in _SKIPPED and not name.startswith("."))
                for name in sorted(files):
                    path = os.path.join(root, name)
                    if name.endswith(".attn") and path not in self._open:
                        yield path
                        count += 1
                        if count >= MOST_FILES:
                            return


def is_library(path: str) -> bool:
    """Whether a file belongs to the standard library."""
    return path.startswith(STD + os.sep)
