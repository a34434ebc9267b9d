"""Figures of attention maps, in plain NumPy. The last two dimensions of a map are its queries and its keys."""

from __future__ import annotations

from typing import Any

import numpy as np

Array = np.ndarray[Any, np.dtype[Any]]


def entropy(weights: Array, seen: Array | None = None) -> tuple[Array, Array]:
    """How widely each query spreads: (nats, share of the most it could be), both [..., query].

    weights: [..., query, key], rows sum to one.
    seen:    bool, broadcasts to `weights`: which keys a query may see (None: all of them).

    The entropy is -sum p ln p, where 0 ln 0 is 0 (Shannon 1948). The most that it can be is ln n for the n keys that
    the query sees, not for all that there are. A query that sees nothing has NaN for both; one that sees a single key
    has no choice: entropy 0, and NaN for the share.
    """
    p = np.asarray(weights, dtype=np.float64)
    nats = -np.sum(p * np.log(np.where(p > 0, p, 1.0)), axis=-1)
    allowed = np.broadcast_to(np.asarray(True if seen is None else seen), p.shape)
    choices = allowed.sum(axis=-1)
    most = np.log(np.maximum(choices, 1))
    nats = np.where(choices > 0, np.maximum(nats, 0.0), np.nan)  # not -0.0
    share = np.divide(nats, most, out=np.full_like(nats, np.nan), where=choices > 1)
    return nats, share


def spectrum(weights: Array) -> Array:
    """The singular values of each map, the largest first: [..., min(query, key)]."""
    values: Array = np.linalg.svd(np.asarray(weights, dtype=np.float64), compute_uv=False)
    return values


def carried(values: Array) -> Array:
    """The share of the sum of singular values that the first 1, 2, ... carry: [..., k], rising to 1.

    This is the normalised cumulative singular value of Wang et al. 2020 (Linformer), figure 1. All are NaN where a map
    is zero throughout.
    """
    total = values.sum(axis=-1, keepdims=True)
    share: Array = np.divide(np.cumsum(values, axis=-1), total, out=np.full(values.shape, np.nan), where=total > 0)
    return share


def rank_for(share: Array, wanted: float) -> Array:
    """How many singular values it takes to carry `wanted` of the spectrum, of what `carried` gave: int [...]."""
    reached: Array = np.argmax(share >= wanted - 1e-12, axis=-1) + 1
    return reached
