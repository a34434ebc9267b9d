"""Maps as a picture: a band for each path, in it a panel for each head. Needs matplotlib."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from .maps import Array, Map
from .problem import InspectError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

NEEDS = 'a picture needs matplotlib: pip install "matplotlib>=3.9"'
WIDEST = 15.0  # inches
MOST_PANELS = 400
LONGEST = 2048  # items along a side: beyond, a dot is less than an item
LABELLED = 48  # items of a side that still get a label each
PITCH, SMALL_PITCH = 0.165, 0.12  # inches for an item with a label, in a picture of one path or of several
HIDDEN = "#e9e9e7"  # what the mask hides


def figure(maps: Sequence[Map], item: int = 0, *, title: str = "") -> Figure:
    """The maps of one item of the batch. Raises InspectError for more than a page can show."""
    try:
        from matplotlib.figure import Figure
        from matplotlib.layout_engine import ConstrainedLayoutEngine
    except ImportError:
        raise InspectError(NEEDS) from None
    _check_size(maps)
    heads = max(len(one.names()) for one in maps)
    panel = _panel(maps)
    fit = max(1, min(heads, int(WIDEST / panel[0])))
    across = math.ceil(heads / math.ceil(heads / fit))  # lines of about one length
    lines = [math.ceil(len(one.names()) / across) for one in maps]
    size = (max(panel[0] * across + 1.2, 4.5), panel[1] * sum(lines) + 0.5 * len(maps) + 0.3)
    drawn = Figure(figsize=size, layout=ConstrainedLayoutEngine(w_pad=0.05, h_pad=0.05), facecolor="white")
    if title:
        shaded = any(one.seen is not None and not one.seen.all() for one in maps)
        drawn.suptitle(title + (" (grey: hidden by the mask)" if shaded else ""), fontsize=11)
    bands = drawn.subfigures(len(maps), 1, height_ratios=[panel[1] * n + 0.5 for n in lines], squeeze=False)[:, 0]
    for band, one, count in zip(bands, maps, lines, strict=True):
        _band(band, one, item, across, count)
    return drawn


def _check_size(maps: Sequence[Map]) -> None:
    panels = sum(len(one.names()) for one in maps)
    if panels > MOST_PANELS:
        raise InspectError(
            f"{panels:,} maps are too many for one picture (at most {MOST_PANELS}): name some with --capture, "
            "or write .html"
        )
    for one in maps:
        longest = max(one.array.shape[-2:])
        if longest > LONGEST:
            raise InspectError(
                f"`{one.path}` is too large to show: {longest:,} items along a side, and a picture holds {LONGEST:,}"
            )


def _panel(maps: Sequence[Map]) -> tuple[float, float]:
    """Width and height of a panel, in inches: labels need room."""
    found = []
    pitch = PITCH if len(maps) == 1 else SMALL_PITCH
    for side, other in ((-1, "row_labels"), (-2, "column_labels")):
        count = max(one.array.shape[side] for one in maps)
        labelled = any(_labels(one, side) for one in maps)
        letters = max((len(text) for one in maps for text in (getattr(one, other) or ())), default=0)
        room = 0.08 * min(letters, 24) + 0.25
        found.append((min(max(count * pitch, 1.2), 8.0) if labelled else 1.7) + room)
    return found[0], found[1]


def _labels(one: Map, side: int) -> tuple[str, ...] | None:
    labels = one.column_labels if side == -1 else one.row_labels
    return labels if labels is not None and len(labels) <= LABELLED else None


def _band(band: Any, one: Map, item: int, across: int, lines: int) -> None:
    values = one.flat(min(item, len(one.array) - 1))
    unseen = None if one.seen is None else ~np.broadcast_to(one.seen, one.array.shape)[min(item, len(one.array) - 1)]
    hidden = np.zeros(values.shape, bool) if unseen is None else unseen.reshape(values.shape)
    shade = _shade(one, values)
    note = " (of the last pass)" if one.spot.last else ""
    band.suptitle(f"{one.path}{note}", fontsize=10, family="monospace", x=0.01, ha="left")
    panels = band.subplots(lines, across, squeeze=False).ravel()
    drawn: Any = None
    used: list[Axes] = []
    for place, axes in enumerate(panels):
        if place >= len(values):
            axes.set_axis_off()
            continue
        drawn = axes.imshow(
            np.ma.array(values[place], mask=hidden[place]), aspect="auto", interpolation="nearest", **shade
        )
        axes.set_facecolor(HIDDEN)
        used.append(axes)
        if one.names()[place]:
            axes.set_title(one.names()[place], fontsize=8, pad=3)
        _ticks(axes, one, first=place % across == 0, bottom=place + across >= len(values))
    bar = band.colorbar(drawn, ax=used, fraction=0.025, pad=0.01, aspect=25)
    bar.outline.set_visible(False)
    bar.ax.tick_params(labelsize=7, length=2)


def _shade(one: Map, values: Array) -> dict[str, Any]:
    """Colours: weights from nothing to the largest, so that faint ones show; other values around zero."""
    from matplotlib.colors import Normalize, PowerNorm

    finite = values[np.isfinite(values)]
    most = float(np.abs(finite).max()) if finite.size else 1.0
    most = most or 1.0
    if one.is_attention:
        return {"cmap": "Blues", "norm": PowerNorm(0.6, 0, most)}
    if finite.size and finite.min() < 0:
        return {"cmap": "RdBu_r", "norm": Normalize(-most, most)}
    return {"cmap": "Purples", "norm": Normalize(0, most)}


def _ticks(axes: Axes, one: Map, *, first: bool, bottom: bool) -> None:
    for spine in axes.spines.values():
        spine.set_color("#bbbbbb")
        spine.set_linewidth(0.6)
    axes.tick_params(length=0, labelsize=7, pad=2)
    columns, rows = _labels(one, -1), _labels(one, -2)
    if columns:
        axes.set_xticks(range(len(columns)), [_plain(text) for text in columns])
        axes.tick_params(axis="x", rotation=90 if max(map(len, columns)) > 1 else 0)
    elif not bottom:
        axes.set_xticks([])
    if rows:
        axes.set_yticks(range(len(rows)), [_plain(text) for text in rows] if first else [""] * len(rows))
    elif not first or not one.rows:
        axes.set_yticks([])
    if bottom:
        axes.set_xlabel(", ".join(side.outer for side in one.columns), fontsize=8)
    if first:
        axes.set_ylabel(", ".join(side.outer for side in one.rows), fontsize=8)


def _plain(text: str) -> str:
    """A label as it stands: `$` begins no formula, and a space can be seen."""
    return (text if text.strip() else "␣" * max(len(text), 1)).replace("$", r"\$")
