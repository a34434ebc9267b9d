"""Entropy and spectra as tables, and as data."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

from . import measure
from .find import Spot
from .look import Look
from .maps import Array, Map
from .problem import InspectError

RANKS = (1, 8, 32, 128)
MOST_CARRIED = 0.9
LARGEST = 4096  # items along the shorter side of a map whose singular values are taken


def entropies(look: Look) -> dict[str, list[dict[str, Any]]]:
    """For each path and head, the mean over queries and items: nats, and share of the most that it could be.

    None where there is nothing to average: no query sees anything, or none has a choice.
    """
    found = {}
    for path, one in look.maps.items():
        nats, share = (_by_head(each, one) for each in one.entropy())
        found[path] = [
            {"head": name, "nats": _plain(a), "share": _plain(b)}
            for name, a, b in zip(one.names(), nats, share, strict=True)
        ]
    return found


def entropy_table(look: Look) -> list[str]:
    """A line for each path, a column for each head."""
    rows = []
    heads = max(len(one.names()) for one in look.maps.values())
    alike = all(one.heads == next(iter(look.maps.values())).heads for one in look.maps.values())
    names = next(iter(look.maps.values())).names() if alike else [str(place) for place in range(heads)]
    rows.append(["", *(name or "weights" for name in names)])
    for path, found in entropies(look).items():
        rows.append([path, *(_cell(one) for one in found), *[""] * (heads - len(found))])
    return ["entropy, mean over queries: nats, and share of the most that it could be", "", *_aligned(rows)]


def _cell(found: dict[str, Any]) -> str:
    if found["nats"] is None:
        return "-"
    share = "   -" if found["share"] is None else f"{found['share']:4.0%}"
    return f"{found['nats']:.2f} {share}"


def _by_head(figures: Array, one: Map) -> list[float]:
    """[item, *heads, row] -> the mean of what is known, for each head."""
    flat = figures.reshape(len(figures), -1, figures.shape[-1])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # a head of which nothing is known: NaN
        means: Array = np.nanmean(flat, axis=(0, 2))
    return [float(mean) for mean in means]


def _plain(value: float) -> float | None:
    return None if np.isnan(value) else value


def carried(look: Look) -> dict[str, Array]:
    """For each path the share of its spectrum that the first k singular values carry: [item and head, k]."""
    found = {}
    for path, one in look.maps.items():
        short = min(one.array.shape[-2:])
        if short > LARGEST:
            raise InspectError(f"`{path}` is too large: {short:,} singular values, and at most {LARGEST:,} are taken")
        values = one.spectrum()
        found[path] = measure.carried(values).reshape(-1, values.shape[-1])
    return found


def spectra(look: Look, ranks: Sequence[int] = RANKS) -> dict[str, dict[str, Any]]:
    """For each path: how many singular values there are, what the first k carry (mean, least and most over heads and
    items), and how many carry 90 %."""
    found = {}
    for path, share in carried(look).items():
        known = share[~np.isnan(share[:, 0])]
        count = share.shape[1]
        figures = {
            k: {
                "mean": float(known[:, k - 1].mean()),
                "least": float(known[:, k - 1].min()),
                "most": float(known[:, k - 1].max()),
            }
            for k in ranks
            if k <= count and len(known)
        }
        needed = measure.rank_for(known, MOST_CARRIED)
        found[path] = {"count": count, "carried": figures, "rank_for_90": float(needed.mean()) if len(known) else None}
    return found


def spectrum_table(look: Look, ranks: Sequence[int] = RANKS) -> list[str]:
    """A line for each path."""
    found = spectra(look, ranks)
    shown = [k for k in ranks if any(k in one["carried"] for one in found.values())]
    rows = [["", "of", *(f"first {k}" for k in shown), "90 % by"]]
    for path, one in found.items():
        by = one["rank_for_90"]
        cells = [f"{one['carried'][k]['mean']:.1%}" if k in one["carried"] else "" for k in shown]
        rows.append([path, str(one["count"]), *cells, "-" if by is None else f"{by:.1f}"])
    return ["singular values: share of their sum that the first carry, mean over heads and items", "", *_aligned(rows)]


def values_table(look: Look) -> list[str]:
    """What was captured: a line for each path, how many maps it is, and what their sides are."""
    rows = [["", "maps", "rows", "columns"]]
    for path, one in look.maps.items():
        heads = " x ".join(f"{size} {name}" for name, size in one.heads) or "1"
        batch = f"{len(one.array)} x " if len(one.array) > 1 else ""
        sides = [
            f"{' '.join(map(str, side)) or '-'}: {count}"
            for side, count in zip((one.rows, one.columns), one.array.shape[-2:], strict=True)
        ]
        rows.append([path, batch + heads, *sides])
    return _aligned(rows)


def spots_table(found: Sequence[Spot]) -> list[str]:
    """A line for each value: its path, its axes and their sizes where they are known, and what it is."""
    rows = []
    for spot in found:
        sides = ", ".join(f"{side}" + (f": {side.extent}" if side.extent is not None else "") for side in spot.sides)
        element = "" if spot.element == "real" else spot.element
        remarks = [f"attention over {', '.join(spot.normalised)}"] if spot.is_attention else []
        remarks += ["of the last pass"] if spot.last else []
        rows.append([spot.path, f"{element}[{sides}]", ", ".join(remarks)])
    return _aligned(rows, left=3) if rows else ["nothing"]


def _aligned(rows: Sequence[Sequence[str]], left: int = 1) -> list[str]:
    """Columns: the first ones flush left, the others right."""
    widths = [max(len(row[place]) for row in rows) for place in range(len(rows[0]))]
    return [
        "  ".join(
            cell.ljust(width) if place < left else cell.rjust(width)
            for place, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]
