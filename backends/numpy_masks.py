"""Attention: helpers that generated NumPy code carries along, as numpy_helpers.py has them.

Rows of queries attend at once to all keys in their sight, few heads at a time, so that the scores of a block stay in
the cache and are made in place; the whole matrix of scores is never there. Measured at 2,048 items against the matrix
products alone, causal: 1.4; online softmax over tiles (Milakov and Gimelshein 2018) 1.8; the whole matrix 5 and more.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from .numpy_helpers import Array
from .span_helpers import Span, Truth, in_sight


def attention(
    Q: Array, K: Array, V: Array, mask: Array | None = None, bias: Array | None = None, scale: float = 1.0
) -> Array:
    """softmax of scale Q K' (plus bias, where the mask keeps) times V.

    Q [..., q, d], K [..., k, d] and V [..., k, v] give [..., q, v].
    """
    if mask is None:
        return masked_attention(lambda q, k: True, Q, K, V, bias=bias, scale=scale)
    return masked_attention(lambda q, k, mask: mask, Q, K, V, mask, bias=bias, scale=scale)


def masked_attention(
    seen: Callable[..., Any],
    Q: Array,
    K: Array,
    V: Array,
    *data: Array,
    bias: Array | None = None,
    scale: float = 1.0,
    cap: float | None = None,
) -> Array:
    """`attention` under a mask that is never made as a whole: memory is O(width x block).

    seen(q, k, *data): which of the keys k the queries q see, of positions and of the mask's data [..., q, k] there.
    cap: scores s become cap tanh(s / cap).
    """
    given = (Q, K, V, *data) if bias is None else (Q, K, V, *data, bias)
    lead = np.broadcast_shapes((1,), *(x.shape[:-2] for x in given))
    n, m = Q.shape[-2], K.shape[-2]
    out = np.zeros((*lead, n, V.shape[-1]), np.result_type(Q, K, V))
    Q, K, V = (np.broadcast_to(x, (*lead, *x.shape[-2:])) for x in (Q, K, V))
    tilt = None if bias is None else np.broadcast_to(bias, (*lead, n, m))
    for q0 in range(0, n, 64):
        q1 = min(q0 + 64, n)
        known = partial(block_data, data, q0, q1)
        runs = in_sight(seen, q0, q1, m, 64, known)
        masks = [None if every else block_mask(seen, q0, q1, a, b, data, lead) for a, b, every in runs]
        heads = max(2**18 // max(64 * sum(b - a for a, b, _ in runs), 1), 1)  # at once: scores of 1 MB
        for at in np.ndindex(*lead[:-1]):
            for h in range(0, lead[-1], heads):
                some = (*at, slice(h, h + heads))
                parts = [(a, b, x if x is None else x[some]) for (a, b, _), x in zip(runs, masks, strict=True)]
                q = Q[some][:, q0:q1] * out.dtype.type(scale)
                left = None if tilt is None else tilt[some][:, q0:q1]
                out[some][:, q0:q1] = attend_block(q, K[some], V[some], parts, left, cap)
    return out if any(x.ndim > 2 for x in given) else out[0]


def attend_block(
    q: Array,
    K: Array,
    V: Array,
    runs: list[tuple[int, int, Array | None]],
    bias: Array | None,
    cap: float | None,
) -> Array:
    """Queries [h, q, d], scaled already, to the runs of keys in their sight, each with its mask where one is needed."""
    scores = np.empty((*q.shape[:-1], sum(b - a for a, b, _ in runs)), q.dtype)
    least, place, kept = np.finfo(q.dtype).min, 0, []
    for a, b, mask in runs:
        part = scores[..., place : place + b - a]
        np.matmul(q, K[:, a:b].swapaxes(-1, -2), out=part)
        if cap is not None:
            part /= cap
            np.tanh(part, out=part)
            part *= cap
        if bias is not None:
            part += bias[..., a:b]
        if mask is not None:
            np.copyto(part, least, where=~mask)
            kept.append((part, mask))
        place += b - a
    scores -= scores.max(-1, keepdims=True, initial=least)
    np.exp(scores, out=scores)
    for part, mask in kept:  # where nothing is seen at all, exp gave ones
        part *= mask
    total = scores.sum(-1, keepdims=True)
    out, place = np.zeros((*q.shape[:-1], V.shape[-1]), q.dtype), 0
    for a, b, _ in runs:
        out += scores[..., place : place + b - a] @ V[:, a:b]
        place += b - a
    out /= np.where(total == 0, 1, total)
    return out


def block_mask(
    seen: Callable[..., Any], q0: int, q1: int, k0: int, k1: int, data: tuple[Array, ...], lead: tuple[int, ...]
) -> Array:
    """The mask [..., q, k] of one tile; q and k are of size 1 where it does not vary along them."""
    mask = seen(np.arange(q0, q1)[:, None], np.arange(k0, k1)[None], *(cut(x, q0, q1, k0, k1) for x in data))
    return np.broadcast_to(mask, (*lead, *mask.shape[-2:]))


def block_data(data: tuple[Array, ...], q0: int, q1: int, k0: int, k1: int) -> list[Any]:
    """What is known of the data of a mask on one tile."""
    return [look(cut(x, q0, q1, k0, k1)) for x in data]


def cut(x: Array, q0: int, q1: int, k0: int, k1: int) -> Array:
    """A tile of data [..., q, k]; a dimension of size 1 is the same for all."""
    x = x[..., q0:q1, :] if x.shape[-2] > 1 else x
    return x[..., k0:k1] if x.shape[-1] > 1 else x


def look(x: Array) -> Any:
    """What is known of all of this data."""
    if not x.size:
        return Truth(True, False) if x.dtype.kind == "b" else Span(0, 0)
    return Truth(bool(x.all()), bool(x.any())) if x.dtype.kind == "b" else Span(int(x.min()), int(x.max()))
