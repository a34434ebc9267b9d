"""Recurrent networks by PyTorch's own kernels: an LSTM, a GRU, and a plain one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn

from .torch_free import is_walked, walked


def lstm(
    x: Tensor,
    into: Sequence[nn.Module],
    back: Sequence[nn.Module],
    order: Sequence[int] = (),
    h: Tensor | None = None,
    c: Tensor | None = None,
) -> Tensor:
    """h of each item: c = sigmoid(f) c + sigmoid(i) tanh(g); h = sigmoid(o) tanh(c). (Hochreiter, Schmidhuber 1997)

    x: [.., n, in]; into, back: the map of i, f, g, o that is made of an item, and that of h, or a map for each; order:
    at which place of the one map each stands; h, c: before the first item, [.., hidden].
    """

    def step(given: list[Tensor], heard: list[Tensor], states: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        i, f, g, o = (one + other for one, other in zip(given, heard, strict=True))
        c = f.sigmoid() * states[1] + i.sigmoid() * g.tanh()
        return o.sigmoid() * c.tanh(), c

    return recurrent(torch.lstm, step, x, (into, back), order or range(4), (h, c))


def gru(
    x: Tensor,
    into: Sequence[nn.Module],
    back: Sequence[nn.Module],
    order: Sequence[int] = (),
    h: Tensor | None = None,
) -> Tensor:
    """h of each item: h = (1 - z) tanh(n + sigmoid(r) n') + z h, z a sigmoid. (Cho et al. 2014, as cuDNN has it)

    See `lstm`: the maps are of r, z, n.
    """

    def step(given: list[Tensor], heard: list[Tensor], states: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        r, z = ((one + other).sigmoid() for one, other in zip(given[:2], heard[:2], strict=True))
        return ((1 - z) * (given[2] + r * heard[2]).tanh() + z * states[0],)

    return recurrent(torch.gru, step, x, (into, back), order or range(3), (h,))


def rnn(x: Tensor, into: Sequence[nn.Module], back: Sequence[nn.Module], h: Tensor | None = None) -> Tensor:
    """h of each item: h = tanh(into(x) + back(h)). (Elman 1990)"""

    def step(given: list[Tensor], heard: list[Tensor], states: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        return ((given[0] + heard[0]).tanh(),)

    return recurrent(torch.rnn_tanh, step, x, (into, back), range(1), (h,))


def recurrent(
    kernel: Any,
    step: Any,
    x: Tensor,
    maps: tuple[Sequence[nn.Module], Sequence[nn.Module]],
    order: Sequence[int],
    starts: tuple[Tensor | None, ...],
) -> Tensor:
    """By the kernel; where a map is more than a matrix, or gradients are of another kind, step by step."""
    into, back = maps
    one_map: Any = into[0]
    size: int = one_map.weight.shape[0] // (len(order) if len(into) == 1 else 1)
    ahead, n = x.shape[:-2], x.shape[-2]
    shape = (*ahead, size)
    states = tuple(x.new_zeros(shape) if start is None else start.expand(shape) for start in starts)
    plain = all(type(one) is nn.Linear and not one._forward_hooks for one in (*into, *back))
    if n and plain and x.numel() and not is_walked(n) and not torch._C._are_functorch_transforms_active():
        flat = x.reshape(-1, n, x.shape[-1])
        first = tuple(state.reshape(1, -1, size).contiguous() for state in states)
        (w, b), (u, c) = (as_one_map(each, order) for each in maps)
        weights = [w, u, b, c]
        state = first if len(first) > 1 else first[0]
        learns = (
            torch.is_grad_enabled()
        )  # cuDNN has gradients of what it did "in training" alone, in which nothing is dropped
        out: Tensor = kernel(flat, state, weights, True, 1, 0.0, learns, False, True)[0]
        return out.reshape(*ahead, n, size)

    def gates(maps: Sequence[nn.Module], x: Tensor) -> list[Tensor]:
        if len(maps) == len(order):
            return [one(x) for one in maps]
        parts = maps[0](x).chunk(len(order), -1)
        return [parts[place] for place in order]

    given, found = gates(into, x), []
    if is_walked(n):
        first = tuple(state.contiguous() for state in states)
        inputs = [one.movedim(-2, 0) for one in given]
        return walked(lambda h, items: step(items, gates(back, h[0]), h), first, inputs).movedim(0, -2)
    for items in zip(*(one.unbind(-2) for one in given), strict=True):
        states = step(list(items), gates(back, states[0]), states)
        found.append(states[0])
    return torch.stack(found, -2) if found else x.new_zeros((*ahead, 0, size))


def as_one_map(maps: Sequence[Any], order: Sequence[int]) -> tuple[Tensor, Tensor]:
    """The weight and the bias of these maps as one, the gates in the order of the kernel."""
    weight = maps[0].weight if len(maps) == 1 else torch.cat([one.weight for one in maps])
    biases = [one.weight.new_zeros(len(one.weight)) if one.bias is None else one.bias for one in maps]
    bias = biases[0] if len(maps) == 1 else torch.cat(biases)
    if len(maps) == 1 and list(order) != sorted(order):
        weight, bias = (x.unflatten(0, (len(order), -1))[list(order)].flatten(0, 1) for x in (weight, bias))
    return weight, bias
