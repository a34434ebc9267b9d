"""Attention in generated NumPy code.

Rows of queries attend at once to all keys in their sight, few heads at a time, so that the scores of a block stay in
the cache and are made in place; the whole matrix of scores is there only where it stays in the cache itself. Measured
at 2,048 items against the matrix products alone, causal: 1.4; online softmax over tiles (Milakov and Gimelshein 2018)
1.8; the whole matrix 5 and more.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np

from ..common.spans import MOST_KINDS, Numbered, Span, Truth, in_sight, kinds_along, mask_key
from .arrays import Array
from .ops import widened


def attention(
    Q: Array,
    K: Array,
    V: Array,
    mask: Array | None = None,
    bias: Array | None = None,
    scale: float = 1.0,
    causal: bool = False,
) -> Array:
    """softmax of scale Q K' (plus bias, where the mask keeps) times V.

    Q [..., q, d], K [..., k, d] and V [..., k, v] give [..., q, v]. causal: query i sees the keys up to i alone.
    """
    if causal:
        if mask is None:
            return masked_attention(lambda q, k: k <= q, Q, K, V, bias=bias, scale=scale)
        return masked_attention(lambda q, k, mask: (k <= q) & mask, Q, K, V, mask, bias=bias, scale=scale)
    if few_scores(Q, K):
        return attend_few(Q, K, V, mask, bias, scale)
    if mask is None:
        return masked_attention(lambda q, k: True, Q, K, V, bias=bias, scale=scale)
    return masked_attention(lambda q, k, mask: mask, Q, K, V, mask, bias=bias, scale=scale)


SCORES = 2**16  # so many stay in the cache


def few_scores(Q: Array, K: Array) -> bool:
    """Whether there are so few queries and keys that blocks of their scores would be more calls for nothing."""
    n: int = Q.shape[-2]
    m: int = K.shape[-2]
    return n <= 4 or n * m * math.prod(np.broadcast_shapes(Q.shape[:-2], K.shape[:-2])) <= SCORES


def attend_few(Q: Array, K: Array, V: Array, mask: Array | None, bias: Array | None, scale: float) -> Array:
    """`attention` that makes all scores at once."""
    dtype, Q, K, V = np.result_type(Q, K, V), widened(Q), widened(K), widened(V)
    scores: Array = Q @ K.swapaxes(-1, -2)
    scores *= scale
    if bias is not None:
        scores = scores + bias.astype(scores.dtype, copy=False)
    hides = mask is not None and not mask.all()  # not from one new item, which comes behind all that it sees
    if mask is not None and (hides or (mask.ndim > 2 and np.broadcast(mask, scores).shape != scores.shape)):
        scores = np.where(mask, scores, scores.dtype.type(-np.inf))
    some = K.shape[-2] > 0 and bias is None and not hides  # there surely is a key for each query
    least = -np.inf if some else np.finfo(scores.dtype).min
    scores -= np.maximum.reduce(scores, -1, keepdims=True, initial=least)
    np.exp(scores, out=scores)
    total = np.add.reduce(scores, -1, keepdims=True)
    out: Array = scores @ V
    out /= total if some else np.maximum(total, 1)  # the greatest score adds 1, unless there is none
    return out.astype(dtype, copy=False)


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
    if cap is None and few_scores(Q, K):
        mask = seen(np.arange(Q.shape[-2])[:, None], np.arange(K.shape[-2])[None], *data)
        return attend_few(Q, K, V, np.asarray(mask), bias, scale)
    dim, kinds = kinds_along(seen, [number_data(x) for x in data])
    if kinds:
        return attention_by_kind(dim, kinds, Q, K, V, data, bias, scale, cap)
    given = (Q, K, V, *data) if bias is None else (Q, K, V, *data, bias)
    lead = np.broadcast_shapes((1,), *(x.shape[:-2] for x in given))
    n, m = Q.shape[-2], K.shape[-2]
    given_dtype, Q, K, V = np.result_type(Q, K, V), widened(Q), widened(K), widened(V)
    dtype = np.result_type(Q, K, V)
    # In memory the leading dimension next to them lies behind the queries: so a map behind takes all heads uncopied.
    out = np.empty((*lead[:-1], n, lead[-1], V.shape[-1]), dtype).swapaxes(-3, -2)
    Q = Q * dtype.type(scale)
    Q, K, V = (np.broadcast_to(x, (*lead, *x.shape[-2:])) for x in (Q, K, V))
    tilt = None if bias is None else np.broadcast_to(bias, (*lead, n, m))
    room = np.empty(min(max(2**18, 64 * m), 64 * m * lead[-1]), dtype)  # for the scores of each block in turn
    for q0, q1, spans, hidden in block_sights(seen, n, m, data):
        keys = sum(b - a for a, b in spans)
        heads = max(min(2**18 // max(64 * keys, 1), lead[-1]), 1)  # at once: scores of 1 MB
        masks = [(a, b, x if x.ndim == 2 else np.broadcast_to(x, (*lead, *x.shape[-2:]))) for a, b, x in hidden]
        for at in np.ndindex(*lead[:-1]):
            for h in range(0, lead[-1], heads):
                some = (*at, slice(h, h + heads))
                q, left = Q[some][:, q0:q1], None if tilt is None else tilt[some][:, q0:q1]
                scores = room[: q.shape[0] * (q1 - q0) * keys].reshape(q.shape[0], keys, q1 - q0).swapaxes(-1, -2)
                parts = [(a, b, x if x.ndim == 2 else x[some]) for a, b, x in masks]
                attend_block(q, K[some], V[some], spans, parts, left, cap, scores, out[some][:, q0:q1])
    return (out if any(x.ndim > 2 for x in given) else out[0]).astype(given_dtype, copy=False)


def attention_by_kind(
    dim: int,
    kinds: list[tuple[Numbered, list[int]]],
    Q: Array,
    K: Array,
    V: Array,
    data: tuple[Array, ...],
    bias: Array | None,
    scale: float,
    cap: float | None,
) -> Array:
    """`masked_attention` where the mask is of several kinds along a leading dimension: heads see unlike keys."""
    given = (Q, K, V, *data) if bias is None else (Q, K, V, *data, bias)
    lead = np.broadcast_shapes(*(x.shape[:-2] for x in given))
    Q = np.broadcast_to(Q, (*lead, *Q.shape[-2:]))
    found = []
    for seen, places in kinds:
        left = [x for x, number in zip(data, seen.numbers, strict=True) if number is None]
        q, k, v, *more = (at_places(x, dim, places, len(kinds)) for x in (Q, K, V, *left))
        tilt = None if bias is None else at_places(bias, dim, places, len(kinds))
        found.append(masked_attention(seen, q, k, v, *more, bias=tilt, scale=scale, cap=cap))
    if len(found) == 1:
        return found[0]
    out = np.empty((*lead[:-1], Q.shape[-2], lead[-1], V.shape[-1]), found[0].dtype).swapaxes(-3, -2)
    for (_, places), part in zip(kinds, found, strict=True):
        np.moveaxis(out, dim, 0)[places] = np.moveaxis(part, dim, 0)
    return out


def at_places(x: Array, dim: int, places: list[int], kinds: int) -> Array:
    """These along a dimension, which x may lack; it is as it was where there is one kind alone."""
    if kinds == 1 or x.ndim < -dim or x.shape[dim] == 1:
        return x
    return x.take(places, dim)


def number_data(x: Array) -> tuple[tuple[int, ...], list[Any]] | None:
    """The shape and items of data that is whole numbers or truths, the same for all queries and keys."""
    return (x.shape, x.ravel().tolist()) if x.shape[-2:] == (1, 1) and x.dtype.kind in "biu" else None


SIGHTS: dict[object, list[tuple[Any, ...]]] = {}  # of masks of positions alone, by mask and widths: layers share them


def block_sights(seen: Callable[..., Any], n: int, m: int, data: tuple[Array, ...]) -> Iterator[tuple[Any, ...]]:
    """For each block of queries q0 .. q1 - 1: (q0, q1, the spans of keys in its sight, what is hidden there)."""

    def blocks() -> Iterator[tuple[Any, ...]]:
        for q0 in range(0, n, 64):
            q1 = min(q0 + 64, n)
            runs = in_sight(seen, q0, q1, m, 64, partial(block_data, data, q0, q1))
            yield q0, q1, joined(runs), [(a, b, hidden(seen, q0, q1, a, b, data)) for a, b, every in runs if not every]

    key = (mask_key(seen), n, m)
    if data or key[0] is None or n * m > 2**22:  # too large to keep
        return blocks()
    found = SIGHTS.get(key)
    if found is None:
        if len(SIGHTS) >= 2 * MOST_KINDS:
            SIGHTS.clear()
        found = SIGHTS[key] = list(blocks())
    return iter(found)


def joined(runs: list[tuple[int, int, bool]]) -> list[tuple[int, int]]:
    """Runs of keys, those that meet joined into one: a product each."""
    spans: list[tuple[int, int]] = []
    for a, b, _ in runs:
        if spans and spans[-1][1] == a:
            a, _ = spans.pop()
        spans.append((a, b))
    return spans


SMALL = 30.0  # e to the power of this, or of minus this, leaves room for any sum


def attend_block(
    q: Array,
    K: Array,
    V: Array,
    spans: list[tuple[int, int]],
    hidden: list[tuple[int, int, Array]],
    bias: Array | None,
    cap: float | None,
    scores: Array,
    out: Array,
) -> None:
    """Into `out`: queries [h, q, d], scaled already, to the spans of keys in their sight.

    hidden: what of them is not seen after all, by runs of keys. scores: room for [h, q, all keys of the spans], those
    of a key side by side in memory: products are faster so. The greatest is taken from each row only where one is
    large: a look at all of them is done sooner.
    """
    shift, at = {}, 0  # from a key to its column of the scores, by spans
    for a, b in spans:
        np.matmul(q, K[:, a:b].swapaxes(-1, -2), out=scores[..., at : at + b - a])
        shift[a, b] = at - a
        at += b - a
    if cap is not None:
        scores /= cap
        np.tanh(scores, out=scores)
        scores *= cap
    if bias is not None:
        for (a, b), by in shift.items():
            scores[..., a + by : b + by] += bias[..., a:b]
    small = at > 0 and -SMALL <= scores.min() <= scores.max() <= SMALL
    for a, b, mask in hidden:
        by = next(by for (first, last), by in shift.items() if first <= a < last)
        np.copyto(scores[..., a + by : b + by], -np.inf, where=mask)
    if not small:
        scores -= scores.max(-1, keepdims=True, initial=np.finfo(q.dtype).min)  # finite: nothing at all weighs 0
    np.exp(scores, out=scores)
    total = scores @ np.ones((at, 1), scores.dtype)
    total += total == 0  # where there is no key at all
    if len(spans) == 1:
        np.matmul(scores, V[:, slice(*spans[0])], out=out)
    else:
        out[...] = 0
        for (a, b), by in shift.items():
            out += scores[..., a + by : b + by] @ V[:, a:b]
    out /= total


def hidden(seen: Callable[..., Any], q0: int, q1: int, k0: int, k1: int, data: tuple[Array, ...]) -> Array:
    """What a mask leaves out of one tile [..., q, k]; q and k are of size 1 where it does not vary along them."""
    mask = seen(np.arange(q0, q1)[:, None], np.arange(k0, k1)[None], *(cut(x, q0, q1, k0, k1) for x in data))
    left_out: Array = np.logical_not(mask)
    return left_out


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
