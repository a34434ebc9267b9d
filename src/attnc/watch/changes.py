"""Which files a spec is made of, and whether they are others than before."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from pathlib import Path

from ..dsl.files import FileProblem, read
from ..spec import built

EVERY = 0.15  # seconds from one look at files to the next
Seen = tuple[object, ...]


def seen(files: Iterable[str]) -> Seen:
    """What files look like from outside, and which specs stand beside them: it changes with them. So does a file come
    that was named and not there.
    """
    paths = [Path(file) for file in files]
    return (*(_looks(path) for path in paths), *(_specs(folder) for folder in dict.fromkeys(p.parent for p in paths)))


def _specs(folder: Path) -> tuple[str, ...]:
    """Not the time of the folder: a figure that is written there would change it."""
    try:
        return tuple(sorted(name for name in os.listdir(folder) if name.endswith(".attn")))
    except OSError:
        return ()


def _looks(path: Path) -> tuple[int, int, int] | None:
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size, found.st_ino


def used(file: str, path: Sequence[str] = ()) -> list[str]:
    """The file, and all that it uses, as far as that can be read."""
    try:
        sources = built(read(file), Path(file).parent, None, None, path).sources
    except FileProblem:
        return [file]
    return [file, *(source.name for source in sources if source.name != file)]
