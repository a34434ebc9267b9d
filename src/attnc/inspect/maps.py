"""A value of a run as maps: what a row of them weighs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from . import measure
from .find import Side, Spot
from .problem import InspectError

Array = np.ndarray[Any, np.dtype[Any]]


@dataclass(frozen=True, slots=True)
class Map:
    """A value as maps: one for each item of the batch and each index of `heads`.

    array:   float64 [item, *heads, row, column]; several axes of a side are flattened in order.
    seen:    bool, broadcasts to `array`: which columns a row may see; None if that is not known, or no attention.
    heads:   the axes that tell maps apart, with their sizes: (("heads", 8),).
    rows, columns: the axes of the sides: the queries' and the keys', if this `is_attention`.
    """

    spot: Spot
    array: Array
    seen: Array | None
    heads: tuple[tuple[str, int], ...]
    rows: tuple[Side, ...]
    columns: tuple[Side, ...]
    row_labels: tuple[str, ...] | None = None
    column_labels: tuple[str, ...] | None = None

    @property
    def path(self) -> str:
        return self.spot.path

    @property
    def full(self) -> str:
        """The path with every block in it."""
        return self.spot.full

    @property
    def is_attention(self) -> bool:
        return self.spot.is_attention and {side.name for side in self.columns} == set(self.spot.normalised)

    def names(self) -> list[str]:
        """What tells each map of an item apart: `heads 0`, `heads 1`, ..., in the order of the flattened axes."""
        return [
            ", ".join(f"{name} {place}" for (name, _), place in zip(self.heads, places, strict=True))
            for places in np.ndindex(*(size for _, size in self.heads))
        ]

    def flat(self, item: int = 0) -> Array:
        """The maps of one item of the batch: [head, row, column]."""
        maps: Array = self.array[item].reshape(-1, *self.array.shape[-2:])
        return maps

    def counted(self) -> Array:
        """bool [item, *heads, row]: the queries that count in means.

        A query counts if it sees anything, unless it is padding: an item that no query of its own width may see.
        """
        everyone = np.ones(self.array.shape[:-1], dtype=bool)
        if self.seen is None:
            return everyone
        seen = np.broadcast_to(self.seen, self.array.shape)
        counts: Array = np.asarray(seen.any(axis=-1))
        if [side.family for side in self.rows] == [side.family for side in self.columns] and seen.shape[
            -1
        ] == seen.shape[-2]:
            counts = counts & seen.any(axis=-2)
        return counts

    def entropy(self) -> tuple[Array, Array]:
        """(nats, share of the most it could be), each [item, *heads, row]; see `attnc.inspect.entropy`.

        Keys that the mask hides from a query are no choice of it. NaN for queries that see nothing, or are padding.
        """
        if not self.is_attention:
            raise InspectError(f"`{self.path}` is no attention: its rows do not sum to one over {named(self.columns)}")
        nats, share = measure.entropy(self.array, self.seen)
        counts = self.counted()
        return np.where(counts, nats, np.nan), np.where(counts, share, np.nan)

    def spectrum(self) -> Array:
        """Singular values, the largest first: [item, *heads, min(row, column)]."""
        return measure.spectrum(self.array)


def named(sides: Sequence[Side]) -> str:
    """The axes of a side, for a message."""
    return " and ".join(f"`{side.name}`" for side in sides)
