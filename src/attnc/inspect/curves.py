"""The spectra of attention as curves, after figure 1 of Wang et al. 2020 (Linformer). Needs matplotlib."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from .look import Look
from .maps import Array
from .picture import NEEDS
from .problem import InspectError
from .save import drawn
from .text import carried

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def curves(shares: Mapping[str, Array], *, title: str = "", mark: int | None = 128) -> Figure:
    """A line for each path, the mean over heads and items, and a faint one for each of these.

    shares: for each path [head, k], as `text.carried` gives it. mark: a rank to point out.
    """
    try:
        from matplotlib import colormaps
        from matplotlib.figure import Figure
    except ImportError:
        raise InspectError(NEEDS) from None
    figure = Figure(figsize=(7.2, 4.6), layout="constrained", facecolor="white")
    axes = figure.add_subplot()
    paths = list(shares)
    longest = max(share.shape[1] for share in shares.values())
    for place, path in enumerate(paths):
        share = shares[path][~np.isnan(shares[path][:, 0])]
        if not len(share):
            continue
        colour = colormaps["viridis"](0.05 + 0.85 * place / max(len(paths) - 1, 1))
        ranks = np.arange(1, share.shape[1] + 1)
        axes.plot(ranks, share.T, color=colour, linewidth=0.4, alpha=0.25)
        axes.plot(ranks, share.mean(axis=0), color=colour, linewidth=1.6, label=path)
    if mark is not None and mark < longest:
        axes.axvline(mark, color="0.55", linestyle="--", linewidth=0.9)
        axes.annotate(f" first {mark} of {longest}", (mark, 0.02), fontsize=8, color="0.35")
    axes.set_xlim(1, longest)
    axes.set_ylim(0, 1.01)
    axes.set_xlabel("singular values, the largest first", fontsize=9)
    axes.set_ylabel("share of their sum", fontsize=9)
    axes.tick_params(labelsize=8)
    axes.grid(alpha=0.25)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    axes.legend(fontsize=7, loc="lower right", frameon=False, ncols=1 + (len(paths) > 12))
    if title:
        axes.set_title(title, fontsize=11, loc="left")
    return figure


def save_curves(look: Look, out: Path, mark: int) -> None:
    """The spectra as curves; `mark` is a rank to point out. Raises InspectError without matplotlib."""
    drawn(curves(carried(look), title=look.model, mark=mark), out)
