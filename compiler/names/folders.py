"""Where `use` looks, and what it may read.

`use a.b` is the file a/b.attn beside the file that says so, else in one of the folders that the user gives (`--path`).
Nothing outside of the project and these folders is read, wherever a link may lead. The project is the nearest folder
upwards of the main file that holds `.git` or `pyproject.toml`; without one, the main file's own folder.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from ...dsl.base.records import record

MARKS = (".git", "pyproject.toml")


class Outside(Exception):
    """The file lies where `use` may not look."""

    def __init__(self, file: Path, project: Path | None) -> None:
        self.file, self.project = file, project
        super().__init__(str(file))


@record
class Folders:
    project: Path | None = None
    further: tuple[Path, ...] = ()

    @classmethod
    def of(cls, main: Path | None, further: Sequence[Path]) -> Folders:
        """Folders for a main file, which need not exist."""
        if main is None:
            return cls(None, tuple(further))
        own = main.parent.resolve()
        marked = (folder for folder in (own, *own.parents) if any((folder / mark).exists() for mark in MARKS))
        return cls(next(marked, own), tuple(further))

    def find(self, beside: Path | None, names: Sequence[str]) -> Path | None:
        """The file of `use a.b`, or where it should be; None without any folder to look in.

        Raises Outside for one that may not be read, OSError for a link that leads nowhere.
        """
        places = [folder.joinpath(*names[:-1], f"{names[-1]}.attn") for folder in (beside, *self.further) if folder]
        file = next((place for place in places if place.exists() or place.is_symlink()), places[0] if places else None)
        return file if file is None or not file.exists() else self.inside(file)

    def inside(self, file: Path) -> Path:
        """The file, if it may be read. Raises Outside, or OSError for a link that leads nowhere."""
        real = file.resolve()
        if not any(real.is_relative_to(folder.resolve()) for folder in (self.project, *self.further) if folder):
            raise Outside(real, self.project)
        return file
