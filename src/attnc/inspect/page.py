"""Maps as one HTML page: it needs no network and nothing beside it. Arrow keys go through layers and heads."""

from __future__ import annotations

import base64
import html
import json
from collections.abc import Sequence
from importlib.resources import files
from typing import Any

import numpy as np

from .maps import Array, Map
from .problem import InspectError

MOST = 12_000_000  # numbers on a page: 32 MB of text
LEVELS = 65_534  # of a number, from the least to the most of its map; one more stands for "hidden"


def page(maps: Sequence[Map], item: int = 0, *, title: str = "") -> str:
    """The maps of one item of the batch. Raises InspectError for more than a browser holds."""
    count = sum(one.array[0].size for one in maps)
    if count > MOST:
        raise InspectError(
            f"{count:,} numbers are too many for one page (at most {MOST:,}): name some paths with --capture, or give "
            "a shorter input"
        )
    data = {"title": title, "maps": [_entry(one, min(item, len(one.array) - 1)) for one in maps]}
    text = json.dumps(data, separators=(",", ":"), ensure_ascii=False).replace("<", "\\u003c")
    template = files(__package__).joinpath("page.html").read_text(encoding="utf-8")
    return template.replace("{{title}}", html.escape(title or "attention")).replace("{{data}}", text)


def _entry(one: Map, item: int) -> dict[str, Any]:
    values = one.flat(item)
    hidden = ~np.isfinite(values)
    if one.seen is not None:
        seen = np.broadcast_to(one.seen, one.array.shape)[item].reshape(values.shape)
        hidden |= ~seen
    low, high = (0.0, 1.0) if one.is_attention else _span(values[~hidden])
    entry: dict[str, Any] = {
        "path": one.path,
        "note": "of the last pass" if one.spot.last else "",
        "kind": "weights" if one.is_attention else "signed" if low < 0 else "plain",
        "heads": one.names(),
        "rows": ", ".join(map(str, one.rows)),
        "columns": ", ".join(map(str, one.columns)),
        "shape": list(values.shape),
        "low": low,
        "high": high,
        "data": base64.b64encode(_levels(values, hidden, low, high).tobytes()).decode("ascii"),
        "rowLabels": one.row_labels,
        "columnLabels": one.column_labels,
    }
    if one.is_attention:
        nats, share = one.entropy()
        entry["entropy"] = [[_mean(figure) for figure in each[item].reshape(len(values), -1)] for each in (nats, share)]
    return entry


def _span(values: Array) -> tuple[float, float]:
    """The least and the most; around zero where there are both signs."""
    if not values.size:
        return 0.0, 1.0
    low, high = float(values.min()), float(values.max())
    if low < 0:
        most = max(-low, high)
        return -most, most
    return 0.0, high or 1.0


def _levels(values: Array, hidden: Array, low: float, high: float) -> Array:
    share = np.clip((np.where(hidden, low, values) - low) / (high - low), 0.0, 1.0)
    return np.where(hidden, LEVELS + 1, np.rint(share * LEVELS)).astype("<u2")


def _mean(values: Array) -> float | None:
    """The mean of what is no NaN."""
    known = values[~np.isnan(values)]
    return round(float(known.mean()), 4) if known.size else None
