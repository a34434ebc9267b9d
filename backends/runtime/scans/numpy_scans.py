"""Scans whose states are linear in themselves: many items at once, in chunks.

Nothing is divided by a decay: what is left of an item at a later one is the product of the decays between them, made
for each pair of a chunk. So a decay may be 0, or negative, or as near to 0 or 1 as its type allows.
"""

from __future__ import annotations

import math

import numpy as np

from ..numpy.arrays import Array

CHUNK = 64  # items that are computed as pairs
FINE = 16  # where each pair has a decay of its own for each channel
WIDE = 2048  # numbers in a state that are worth a step of their own


def linear_attention(
    q: Array,
    k: Array,
    v: Array,
    decay: Array | None = None,
    erase: Array | None = None,
    start: Array | None = None,
    before: bool = False,
) -> Array:
    """q S for each item, where S = decay S + k (v - erase S): a state [d, e] that sums keys times values.

    q, k, erase: [.., n, d]; v: [.., n, e]; decay: [.., n, 1], or by channel [.., n, d] (then without erase), of n = 1
    where it is the same for all items; start: [.., d, e], the state before the first. before: an item sees the state
    that it has not changed yet. (Yang et al. 2024, "Gated Linear Attention Transformers with Hardware-Efficient
    Training", "Parallelizing Linear Transformers with the Delta Rule over Sequence Length".)
    """
    n = q.shape[-2]
    by_channel = decay is not None and decay.shape[-1] > 1
    size = max(1, min(FINE if by_channel else CHUNK, n))
    q, k, v = chunks(q, size), chunks(k, size), chunks(v, size)
    total = since = None
    to_end = k
    left = np.tri(size, dtype=q.dtype)
    if decay is not None:
        decay = chunks(decay, size, 1)
        decay = np.broadcast_to(decay, (*decay.shape[:-2], size, decay.shape[-1]))
        left = passed(decay)  # [.., to, of, 1 or d]
        since = np.cumprod(decay, -2)
        to_end, total = k * left[..., -1, :, :], since[..., -1, :, None]
        left = left if by_channel else left[..., 0]
    sooner, since_sooner = left, since
    if before or erase is not None:
        sooner = later(left, -3 if by_channel else -2, 0)
        since_sooner = None if since is None else later(since, -2, 1)
    if erase is None:
        states = carried(total, to_end.swapaxes(-1, -2) @ v, start)
    else:
        erase = chunks(erase, size)
        pairs = (erase @ k.swapaxes(-1, -2)) * sooner
        known = np.concatenate(alike(v, erase if since_sooner is None else erase * since_sooner), -1)
        known = np.linalg.solve(pairs + np.eye(size, dtype=q.dtype), known)
        states, v = corrected(total, to_end, known[..., : v.shape[-1]], known[..., v.shape[-1] :], start)
    if before:
        left, since = sooner, since_sooner
    if by_channel:
        pairs = np.einsum("...td,...tsd,...sd->...ts", q, left, k, optimize=True)
    else:
        pairs = q @ k.swapaxes(-1, -2)
        pairs = pairs * left  # which may differ along an axis that queries and keys have not
    out: Array = pairs @ v
    if states is not None:
        out = out + (q if since is None else q * since) @ states
    return out.reshape(*out.shape[:-3], -1, out.shape[-1])[..., :n, :]


def linear_attention_and_sums(
    q: Array, k: Array, v: Array, decay: Array | None = None, before: bool = False
) -> tuple[Array, Array]:
    """The same, and what it would be for values of 1, [.., n]: what the values were weighed with."""
    out = linear_attention(q, k, np.concatenate([v, np.ones_like(v[..., :1])], -1), decay, before=before)
    return out[..., :-1], out[..., -1]


def chunks(x: Array, size: int, fill: float = 0) -> Array:
    """[.., n, d] -> [.., chunks, size, d], filled up behind the last item; what all items share stays one."""
    if x.shape[-2] == 1 and size > 1:
        return x[..., None, :, :]
    n = -(-x.shape[-2] // size) or 1
    if n * size > x.shape[-2]:
        more = np.full((*x.shape[:-2], n * size - x.shape[-2], x.shape[-1]), fill, x.dtype)
        x = np.concatenate([x, more], -2)
    return x.reshape(*x.shape[:-2], n, size, x.shape[-1])


def alike(x: Array, y: Array) -> list[Array]:
    """Both with the same dimensions ahead of the last two."""
    ahead = np.broadcast_shapes(x.shape[:-2], y.shape[:-2])
    return [np.broadcast_to(each, (*ahead, *each.shape[-2:])) for each in (x, y)]


def later(x: Array, dim: int, fill: float) -> Array:
    """Each item where the next one was, and `fill` at the first."""
    moved = np.roll(x, 1, dim)
    np.moveaxis(moved, dim, 0)[:1] = fill
    return moved


def passed(decay: Array) -> Array:
    """What is left at each item of what is from each one before it: [.., n, d] -> [.., to, of, d]."""
    place = np.arange(decay.shape[-2])
    to, of = place[:, None, None], place[:, None]
    left = np.where(to > of, decay[..., None, :], np.ones((), decay.dtype))
    np.cumprod(left, -3, out=left)
    return np.where(to >= of, left, np.zeros((), decay.dtype))


def carried(total: Array | None, added: Array, start: Array | None) -> Array | None:
    """The states before each chunk, [.., chunks, d, e]; None where all are 0.

    total: what is left of a state behind a chunk; added: what that adds.
    """
    n = added.shape[-3]
    if start is None and n <= 1:
        return None
    states = np.zeros_like(added)
    if start is not None:
        states = np.zeros(np.broadcast_shapes(added.shape, start[..., None, :, :].shape), added.dtype)
        states[..., :1, :, :] = start[..., None, :, :]
    wide = None if total is None else np.broadcast_to(total, (*total.shape[:-3], n, *total.shape[-2:]))
    for chunk in range(1, n):
        kept = states[..., chunk - 1, :, :]
        kept = kept if wide is None else wide[..., chunk - 1, :, :] * kept
        np.add(kept, added[..., chunk - 1, :, :], out=states[..., chunk, :, :])
    return states


def corrected(total: Array | None, k: Array, new: Array, seen: Array, start: Array | None) -> tuple[Array, Array]:
    """The states before each chunk, and what its items put in, once what the state says of their keys is taken out.

    new: what they would put into a state of 0; seen: how much of a state before the chunk each takes out, by channel.
    """
    n = new.shape[-3]
    shape = np.broadcast_shapes(k.shape[:-3], new.shape[:-3])
    first = np.zeros((1, 1), new.dtype) if start is None else start
    state = np.broadcast_to(first, (*shape, k.shape[-1], new.shape[-1]))
    wide = None if total is None else np.broadcast_to(total, (*total.shape[:-3], n, *total.shape[-2:]))
    k = np.broadcast_to(k, (*k.shape[:-3], n, *k.shape[-2:]))
    states, put = [], []
    for chunk in range(n):
        states.append(state)
        put.append(new[..., chunk, :, :] - seen[..., chunk, :, :] @ state)
        kept = state if wide is None else wide[..., chunk, :, :] * state
        state = kept + k[..., chunk, :, :].swapaxes(-1, -2) @ put[-1]
    if not n:
        return np.zeros((*shape, 0, *state.shape[-2:]), new.dtype), new
    return np.stack(states, -3), np.stack(put, -3)


def running(x: Array, dim: int, decay: Array | None = None, start: Array | None = None, before: bool = False) -> Array:
    """y of each item, where y = decay y + x, number by number.

    dim: that of items, from the right; decay: of size 1 there where it is the same for all; start: y before the first.
    before: y as it was before the item.
    """
    given = [x, np.ones((), x.dtype) if decay is None else decay]
    given += [np.zeros((), x.dtype) if start is None else np.expand_dims(start, dim)]
    x, left, first = (np.moveaxis(each, dim, 0) for each in np.broadcast_arrays(*given))
    if decay is None:
        y = np.cumsum(x, 0)
        y += first
    else:
        y = np.array(x, order="C")
        y[:1] += left[:1] * first[:1]
        decayed(left, y)
    if before:
        y = np.concatenate([first[:1], y[:-1]])
    return np.moveaxis(y, 0, dim)


def decayed(left: Array, y: Array) -> None:
    """y = left y + y in place, item by item; of small items chunk beside chunk first, then from one to the next."""
    n = len(y)
    size = math.isqrt(n)
    whole = n - n % max(size, 1)
    if size < 4 or y.size > WIDE * n:
        whole = min(n, 1)
    else:
        ys, lefts = (each[:whole].reshape(-1, size, *each.shape[1:]) for each in (y, left))
        for place in range(1, size):
            ys[:, place] += lefts[:, place] * ys[:, place - 1]
        lefts = np.cumprod(lefts, 1)
        for chunk in range(1, len(ys)):
            ys[chunk] += lefts[chunk] * ys[chunk - 1, -1]
    for place in range(whole, n):
        y[place] += left[place] * y[place - 1]
