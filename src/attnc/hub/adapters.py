"""Which adapters there are: those that come with attnc, and those of a folder of the user's own."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Sequence
from pathlib import Path

from ..dsl.nested import from_toml
from .adapter import Adapter, zoo
from .problem import HubError, as_json


def adapters(folders: Iterable[str | Path] = ()) -> list[Adapter]:
    """All of them by name, those of `folders` before those that come with attnc.

    A file that names no `model_type` is one that others include. Raises HubError for one that is wrong.
    """
    found: list[Adapter] = []
    for folder in map(Path, (*folders, zoo())):
        if not folder.is_dir():
            raise HubError(f"{folder}: this is no folder of adapters")
        files = sorted(folder.rglob("*.toml"))
        found += [Adapter.read(path) for path in files if _is_whole(path)]
    return found


def unread() -> dict[str, str]:
    """Published models that no adapter can read, and why, with links of docs/models.md."""
    found = from_toml((zoo() / "common" / "unread.toml").read_text(encoding="utf-8"))
    return dict(found["unread"])


def _is_whole(path: Path) -> bool:
    return any(line.startswith("model_type") for line in path.read_text(encoding="utf-8").splitlines())


def adapter_of(model_type: str, known: Sequence[Adapter], name: str) -> Adapter:
    """The first for that `model_type`. Raises HubError, with near ones, if there is none."""
    for adapter in known:
        if model_type in adapter.model_types:
            return adapter
    if model_type in (reasons := unread()):
        why = re.sub(r"\[(.*?)\]\(.*?\)", r"\1", reasons[model_type])
        raise HubError(f"{name}: no adapter reads `{model_type}`: {why}")
    types = sorted({kind for adapter in known for kind in adapter.model_types})
    near = difflib.get_close_matches(model_type, types, n=3)
    raise HubError(
        f"{name}: no adapter knows `model_type` {as_json(model_type)}"
        + (f"; near it: {', '.join(near)}" if near else "")
        + ". `attnc adapters` lists them, and docs/import.md says how to write one"
    )
