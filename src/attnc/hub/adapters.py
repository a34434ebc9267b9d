"""Which adapters there are: those that come with attnc, and those of a folder of the user's own."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence
from pathlib import Path

from .adapter import Adapter, zoo
from .problem import HubError


def adapters(folders: Iterable[Path] = ()) -> list[Adapter]:
    """All of them by name, those of `folders` before those that come with attnc.

    A file that names no `model_type` is one that others include. Raises HubError for one that is wrong.
    """
    found: list[Adapter] = []
    for folder in (*folders, zoo()):
        if not folder.is_dir():
            raise HubError(f"{folder}: this is no folder of adapters")
        files = sorted(folder.rglob("*.toml"))
        found += [Adapter.read(path) for path in files if _is_whole(path)]
    return found


def _is_whole(path: Path) -> bool:
    return any(line.startswith("model_type") for line in path.read_text(encoding="utf-8").splitlines())


def adapter_of(model_type: str, known: Sequence[Adapter], name: str) -> Adapter:
    """The first for that `model_type`. Raises HubError, with near ones, if there is none."""
    for adapter in known:
        if model_type in adapter.model_types:
            return adapter
    types = sorted({kind for adapter in known for kind in adapter.model_types})
    near = difflib.get_close_matches(model_type, types, n=3)
    raise HubError(
        f"{name}: no adapter knows `model_type` {model_type!r}"
        + (f"; near it: {', '.join(near)}" if near else "")
        + ". `attnc adapters` lists them, and docs/import.md says how to write one"
    )
