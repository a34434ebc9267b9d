"""Which folders are checkpoints: one is written aside, and gets its name when all of it is there.

A name that begins with a dot is none: `.step-00000120.part` is being written, or was when a rank was killed, and
`.step-00000080.gone` is being deleted.
"""

from __future__ import annotations

import os
import re
import shutil
from pathlib import Path

_NAME = re.compile(r"step-(\d{8,})")


def folder_of(root: Path, step: int) -> Path:
    return root / f"step-{step:08}"


def unfinished(root: Path, step: int) -> Path:
    """Where the checkpoint is written until it is whole."""
    return root / f".step-{step:08}.part"


def steps(root: Path) -> list[int]:
    """Those of the checkpoints in the folder, oldest first."""
    names = (path.name for path in root.iterdir() if path.is_dir()) if root.is_dir() else ()
    return sorted(int(found[1]) for name in names if (found := _NAME.fullmatch(name)))


def clear(root: Path) -> None:
    """Delete what a run that was killed has left half written or half deleted."""
    for path in root.glob(".step-*"):
        if path.suffix in (".part", ".gone"):
            shutil.rmtree(path, ignore_errors=True)


def commit(part: Path, whole: Path) -> None:
    """Give a folder its name. All of its files are on the disk before, the name is after."""
    sync(part)
    if whole.exists():  # damaged, and done again
        _delete(whole)
    part.rename(whole)
    sync(whole.parent)


def keep(root: Path, number: int) -> None:
    """Delete all checkpoints but the last so many."""
    for step in steps(root)[:-number]:
        _delete(folder_of(root, step))


def sync(path: Path) -> None:
    """Wait until a file or folder is on the disk, so that it outlives the machine, too."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _delete(folder: Path) -> None:
    """First its name goes: what is half deleted is no checkpoint."""
    gone = folder.with_name(f".{folder.name}.gone")
    shutil.rmtree(gone, ignore_errors=True)
    folder.rename(gone)
    shutil.rmtree(gone, ignore_errors=True)
