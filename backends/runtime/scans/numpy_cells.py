"""Recurrent networks as tight loops: an LSTM, a GRU, and a plain one."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from ..numpy.arrays import Array

Maps = Sequence[tuple[Array, ...]]  # the weight of a map, and its bias if it has one


def lstm(
    x: Array, into: Maps, back: Maps, order: Sequence[int] = (), h: Array | None = None, c: Array | None = None
) -> Array:
    """h of each item: c = sigmoid(f) c + sigmoid(i) tanh(g); h = sigmoid(o) tanh(c). (Hochreiter, Schmidhuber 1997)

    x: [.., n, in]; into, back: the map of i, f, g, o that is made of an item, and that of h, or a map for each; order:
    at which place of the one map each stands; h, c: before the first item, [.., hidden].
    """

    size = back[0][0].shape[1]
    i, f, g, o = (slice(place * size, (place + 1) * size) for place in order or range(4))
    half = np.full(4 * size, 0.5, x.dtype)  # sigmoid(x) = tanh(x / 2) / 2 + 1 / 2
    half[g] = 1
    rest = 1 - half
    rest[g] = 0

    def step(given: Array, U: Array, bias: Array, h: Array, c: Array) -> tuple[Array, Array]:
        gates = h @ U
        gates += given
        gates *= half
        np.tanh(gates, out=gates)
        gates *= half
        gates += rest
        c = gates[:, f] * c
        c += gates[:, i] * gates[:, g]
        return gates[:, o] * np.tanh(c), c

    return recurrent(step, x, into, back, range(4), [h, c], together=True)


def gru(x: Array, into: Maps, back: Maps, order: Sequence[int] = (), h: Array | None = None) -> Array:
    """h of each item: h = (1 - z) tanh(n + sigmoid(r) n') + z h, z a sigmoid. (Cho et al. 2014, as cuDNN has it)

    See `lstm`: the maps are of r, z, n.
    """

    def step(given: Array, U: Array, bias: Array, h: Array) -> tuple[Array]:
        heard = h @ U
        heard += bias
        size = 2 * h.shape[-1]
        soft = given[..., :size] + heard[..., :size]
        soft *= 0.5
        np.tanh(soft, out=soft)
        soft *= 0.5
        soft += 0.5
        new = np.tanh(given[..., size:] + soft[..., : size // 2] * heard[..., size:])
        return (new + soft[..., size // 2 :] * (h - new),)

    return recurrent(step, x, into, back, order or range(3), [h])


def rnn(x: Array, into: Maps, back: Maps, h: Array | None = None) -> Array:
    """h of each item: h = tanh(into(x) + back(h)). (Elman 1990)"""

    def step(given: Array, U: Array, bias: Array, h: Array) -> tuple[Array]:
        made = h @ U
        made += given
        return (np.tanh(made, out=made),)

    return recurrent(step, x, into, back, range(1), [h], together=True)


def recurrent(
    step: Callable[..., tuple[Array, ...]],
    x: Array,
    into: Maps,
    back: Maps,
    order: Sequence[int],
    starts: Sequence[Array | None],
    together: bool = False,
) -> Array:
    """The loop. together: the biases of both maps are added to what enters."""
    (W, b), (U, c) = as_one_map(into, order), as_one_map(back, order)
    size, (*ahead, n, _) = U.shape[1], x.shape
    given = np.moveaxis(x, -2, 0).reshape(n, -1, x.shape[-1]) @ W.T
    given += b + c if together else b
    states = tuple(
        np.broadcast_to(np.zeros((), x.dtype) if start is None else start, (*ahead, size)).reshape(-1, size)
        for start in starts
    )
    out = np.empty((n, given.shape[1], size), x.dtype)
    U = np.ascontiguousarray(U.T)
    for place in range(n):
        states = step(given[place], U, c, *states)
        out[place] = states[0]
    return np.moveaxis(out.reshape(n, *ahead, size), 0, -2)


def as_one_map(maps: Maps, order: Sequence[int]) -> tuple[Array, Array]:
    """The weight and the bias of these maps as one, the gates in that order."""
    parts = [part for weight, *_ in maps for part in np.split(weight, len(order) // len(maps))]
    biases = [
        part for w, *b in maps for part in np.split(b[0] if b else np.zeros_like(w[:, 0]), len(order) // len(maps))
    ]
    if list(order) == sorted(order) and len(maps) == 1:
        return maps[0][0], np.concatenate(biases)
    return np.concatenate([parts[place] for place in order]), np.concatenate([biases[place] for place in order])
