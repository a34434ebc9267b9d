"""What was seen, as files: each written whole or not at all."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from ..dsl.files import whole
from .maps import Map
from .problem import InspectError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

ENDINGS = ("html", "png", "svg", "pdf", "npz")
DOTS = 150  # per inch


class Seen(Protocol):
    """What a run made inside (`look.Look`)."""

    @property
    def batch(self) -> int:
        """How many items there are."""

    @property
    def maps(self) -> Mapping[str, Map]:
        """By path."""

    def only(self, path: str) -> Seen:
        """The same with this map alone."""

    def figure(self, item: int) -> Figure:
        """The maps of one item as a picture."""

    def html(self, item: int) -> str:
        """The maps of one item as a page."""


def save(look: Seen, out: Path, item: int) -> None:
    """By the ending of `out`; a folder gets all of it: index.html, a picture for each path, and values.npz."""
    if item not in range(look.batch):
        raise InspectError(f"there is no item {item}: the batch has {look.batch}, counted from 0")
    if out.is_dir():
        _html(look, out / "index.html", item)
        _arrays(look, out / "values.npz")
        for path in look.maps:
            _picture(look.only(path), out / f"{re.sub(r'[^A-Za-z0-9_.-]', '_', path)}.png", item)
        return
    match out.suffix.lower():
        case ".html":
            _html(look, out, item)
        case ".png" | ".svg" | ".pdf":
            _picture(look, out, item)
        case ".npz":
            _arrays(look, out)
        case _:
            raise InspectError(f"cannot write {out}: its name must end in one of {', '.join('.' + e for e in ENDINGS)}")


def _html(look: Seen, out: Path, item: int) -> None:
    text = look.html(item)
    with whole(out) as beside:
        beside.write_bytes(text.encode())


def _arrays(look: Seen, out: Path) -> None:
    arrays: dict[str, Any] = {path: one.array for path, one in look.maps.items()}
    with whole(out) as beside, open(beside, "wb") as file:
        np.savez(file, **arrays)


def _picture(look: Seen, out: Path, item: int) -> None:
    drawn(look.figure(item), out)


def drawn(figure: Figure, out: Path) -> None:
    """Write a picture; the same bytes for the same picture."""
    import matplotlib as mpl

    form = out.suffix.lower()[1:]
    about = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}.get(form)
    with mpl.rc_context({"svg.hashsalt": "attnc"}), whole(out) as beside:
        figure.savefig(beside, format=form, dpi=DOTS, metadata=about)
