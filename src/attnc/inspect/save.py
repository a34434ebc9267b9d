"""What was seen, as files: each written whole or not at all."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ..dsl.files import whole
from .problem import InspectError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from .look import Look

ENDINGS = ("html", "png", "svg", "pdf", "npz")
DOTS = 150  # per inch


def save(look: Look, out: Path, item: int) -> None:
    """By the ending of `out`; a folder gets all of it: index.html, a picture for each path, and values.npz."""
    if item not in range(look.batch):
        raise InspectError(f"there is no item {item}: the batch has {look.batch}, counted from 0")
    if out.is_dir():
        _html(look, out / "index.html", item)
        _arrays(look, out / "values.npz")
        for path in look:
            one = type(look)(look.model, {path: look[path]}, look.result)
            _picture(one, out / f"{re.sub(r'[^A-Za-z0-9_.-]', '_', path)}.png", item)
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


def _html(look: Look, out: Path, item: int) -> None:
    text = look.html(item)
    with whole(out) as beside:
        beside.write_bytes(text.encode())


def _arrays(look: Look, out: Path) -> None:
    arrays: dict[str, Any] = {path: one.array for path, one in look.maps.items()}
    with whole(out) as beside, open(beside, "wb") as file:
        np.savez(file, **arrays)


def _picture(look: Look, out: Path, item: int) -> None:
    _drawn(look.figure(item), out)


def save_curves(look: Look, out: Path, mark: int) -> None:
    """The spectra as curves; `mark` is a rank to point out. Raises InspectError without matplotlib."""
    from .curves import curves
    from .text import carried

    _drawn(curves(carried(look), title=look.model, mark=mark), out)


def _drawn(figure: Figure, out: Path) -> None:
    import matplotlib as mpl

    form = out.suffix.lower()[1:]
    about = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}.get(form)
    with mpl.rc_context({"svg.hashsalt": "attnc"}), whole(out) as beside:
        figure.savefig(beside, format=form, dpi=DOTS, metadata=about)
