"""Attention over keys of many devices, each of which has a part of them and of the queries, in generated PyTorch code.

A device has its own keys and those of one other device at a time, and puts the results together by the logarithms of
their sums of weights (Liu, Zaharia and Abbeel 2023; Milakov and Gimelshein 2018). Step s is with the device s places
before it; where the mask rules that out wholly, nothing is sent and nothing done, which both devices know from the
mask's positions alone. For gradients keys and values are sent once more, weights are computed anew, and the gradients
of keys and values go back to the device whose they are. No array is of the size of queries times keys.

PyTorch gives `Function.apply` no types: hence the ignores.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import torch
import torch.distributed as dist
from torch import Tensor
from torch.autograd import Function
from torch.autograd.function import once_differentiable

from ..common.spans import Span, Truth
from ..torch.blocks import grouped
from ..torch.ops import wider
from ..torch.sights import unknown_data
from .torch_parts import device_count, devices_along, own_place

SCORES = 2**22  # at most about so many at a time


def trade(given: Tensor, to: int | None, room: Tensor, source: int | None, group: dist.ProcessGroup) -> list[Any]:
    """Begin to send what is given to one device of a group, and to receive from another into the room.

    None: nothing is. What comes back waits until it is done.
    """
    ops = []
    if to is not None:
        ops.append(dist.P2POp(dist.isend, given, dist.get_global_rank(group, to), group))
    if source is not None:
        ops.append(dist.P2POp(dist.irecv, room, dist.get_global_rank(group, source), group))
    return dist.batch_isend_irecv(ops) if ops else []


# for each step to which device the own keys go, and from which others come; None: to or from none
Steps = list[tuple[int | None, int | None]]


class Ring(NamedTuple):
    """seen: the mask, of the device's own queries from 0 on and of all keys; None: all is seen. scale: of scores."""

    seen: Callable[..., Any] | None
    group: dist.ProcessGroup
    scale: float
    devices: int
    own: int

    def sight(self, viewer: int, owner: int, n: int, m: int, data: Sequence[Tensor]) -> bool:
        """Whether one device may see any of another's m keys. Queries of others are as those of this device, moved."""
        if self.seen is None:
            return True
        q, k = (viewer - self.own) * n, owner * m
        unknown = [unknown_data(x.dtype == torch.bool) for x in data]
        return Truth.of(self.seen(Span(q, q + n - 1), Span(k, k + m - 1), *unknown)).some

    def steps(self, n: int, m: int, data: Sequence[Tensor]) -> Steps:
        """The steps of n queries and m keys on each device."""
        found: Steps = []
        for s in range(self.devices):
            to, source = (self.own + s) % self.devices, (self.own - s) % self.devices
            sends = self.sight(to, self.own, n, m, data)
            found.append((to if sends else None, source if self.sight(self.own, source, n, m, data) else None))
        return found

    def keys(self, steps: Steps, own: Tensor) -> Iterator[tuple[int | None, Tensor]]:
        """At each step whose keys and values this device sees, and these. The next are on their way meanwhile."""
        rooms = [own, torch.empty_like(own), torch.empty_like(own)]
        waiting: list[Any] = []
        room = own
        for s, (_, source) in enumerate(steps):
            for one in waiting:
                one.wait()
            waiting, following = [], rooms[1 + s % 2]
            if s + 1 < len(steps):
                waiting = trade(own, steps[s + 1][0], following, steps[s + 1][1], self.group)
            yield source, room
            room = following


class Tile(NamedTuple):
    """Some queries [b, h, g, rows, d] of a device from `first` on, the keys of one device, and how to hide some."""

    first: int
    rows: int
    hidden: Tensor | None


def tiles(ring: Ring, Q: Tensor, source: int | None, m: int, data: Sequence[Tensor]) -> Iterator[Tile]:
    """The queries that see anything of a device's m keys, some at a time. data: [b, h, g, q, k], all keys."""
    if source is None:
        return
    n, k = Q.shape[3], source * m
    step = max(SCORES // max(math.prod(Q.shape[:3]) * m, 1), 16)
    for first in range(0, n, step):
        end = min(first + step, n)
        if ring.seen is None:
            yield Tile(first, end - first, None)
            continue
        unknown = [unknown_data(x.dtype == torch.bool) for x in data]
        truth = Truth.of(ring.seen(Span(first, end - 1), Span(k, k + m - 1), *unknown))
        if not truth.some:
            continue
        mask: Any = truth.every
        if not truth.every:
            rows, columns = (torch.arange(a, b, device=Q.device) for a, b in ((first, end), (k, k + m)))
            mask = ring.seen(rows[:, None], columns[None], *(cut_data(x, first, end, k, k + m) for x in data))
        yield Tile(first, end - first, None if isinstance(mask, bool) else ~mask)


def cut_data(x: Tensor, q0: int, q1: int, k0: int, k1: int) -> Tensor:
    """The data [.., q, k] of a mask at some queries and keys; a dimension of size 1 is the same for all."""
    x = x[..., q0:q1, :] if x.shape[-2] > 1 else x
    return x[..., k0:k1] if x.shape[-1] > 1 else x


def scores_of(tile: Tile, q: Tensor, k: Tensor, scale: float) -> Tensor:
    """[b, h, g, rows, k] of q [b, h, g, rows, d] and k [b, h, k, d]; minus infinity where nothing is seen."""
    scores = (q.flatten(2, 3) @ k.mT).view(*q.shape[:4], k.shape[-2]).to(wider(q)) * scale
    return scores if tile.hidden is None else scores.masked_fill(tile.hidden, -math.inf)


def product(weights: Tensor, v: Tensor) -> Tensor:
    """[b, h, g, rows, v] of weights [b, h, g, rows, k] and v [b, h, k, v]."""
    return (weights.flatten(2, 3).to(v.dtype) @ v).view(*weights.shape[:4], v.shape[-1])


def packed(x: Tensor, y: Tensor) -> Tensor:
    """Two arrays in one row."""
    return torch.cat([x.reshape(-1), y.reshape(-1)])


def unpacked(row: Tensor, like: Tensor, other: Tensor) -> tuple[Tensor, Tensor]:
    """Two arrays of these shapes out of one row."""
    return row[: like.numel()].view(like.shape), row[like.numel() :].view(other.shape)


class _RingAttention(Function):
    """Of Q [b, h, g, q, d], K [b, h, k, d] and V [b, h, k, v]; data [b, h, g, q, all k]."""

    @staticmethod
    def forward(ctx: Any, ring: Ring, Q: Tensor, K: Tensor, V: Tensor, *data: Tensor) -> Tensor:
        n, m = Q.shape[3], K.shape[2]
        out = Q.new_zeros(*Q.shape[:4], V.shape[-1], dtype=wider(Q))
        sums = out.new_full((*Q.shape[:4], 1), -math.inf)  # logarithms of them
        for source, row in ring.keys(ring.steps(n, m, data), packed(K, V)):
            k, v = unpacked(row, K, V)
            for tile in tiles(ring, Q, source, m, data):
                scores = scores_of(tile, Q.narrow(3, tile.first, tile.rows), k, ring.scale)
                so_far, result = (x.narrow(3, tile.first, tile.rows) for x in (sums, out))
                total = torch.logaddexp(so_far, scores.logsumexp(-1, keepdim=True))
                origin = total.masked_fill(total == -math.inf, 0)
                result.mul_((so_far - origin).exp()).add_(product((scores - origin).exp(), v))
                so_far.copy_(total)
        result = out.to(Q.dtype)
        ctx.ring = ring
        ctx.save_for_backward(Q, K, V, result, sums, *data)
        return result

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        ring: Ring = ctx.ring
        Q, K, V, out, sums, *data = ctx.saved_tensors
        n, m = Q.shape[3], K.shape[2]
        mean = (grad * out).sum(-1, keepdim=True, dtype=wider(Q))
        origin = sums.masked_fill(sums == -math.inf, 0)
        steps = ring.steps(n, m, data)
        dQ = torch.zeros_like(Q, dtype=wider(Q))
        own = torch.zeros(K.numel() + V.numel(), dtype=wider(Q), device=Q.device)
        for (to, _), (source, row) in zip(steps, ring.keys(steps, packed(K, V)), strict=True):
            k, v = unpacked(row, K, V)
            into = own if source == ring.own else torch.zeros_like(own)
            dk, dv = unpacked(into, K, V)
            for tile in tiles(ring, Q, source, m, data):
                q, g, o, d, dq = (x.narrow(3, tile.first, tile.rows) for x in (Q, grad, origin, mean, dQ))
                weights = (scores_of(tile, q, k, ring.scale) - o).exp()
                slopes = (product(g, v.mT).to(weights.dtype) - d).mul_(weights).mul_(ring.scale)
                dq.add_(product(slopes, k))
                dk.add_(slopes.flatten(2, 3).mT.to(q.dtype) @ q.flatten(2, 3))
                dv.add_(weights.flatten(2, 3).mT.to(g.dtype) @ g.flatten(2, 3))
            if to != ring.own or source != ring.own:  # theirs goes back, and ours comes
                room = torch.empty_like(own, dtype=K.dtype)
                for one in trade(into.to(K.dtype), source, room, to, ring.group):
                    one.wait()
                if to is not None:
                    own += room
        dK, dV = unpacked(own.to(K.dtype), K, V)
        return None, dQ.to(Q.dtype), dK, dV, *(None for _ in data)


def ring_attention(
    seen: Callable[..., Any] | None,
    Q: Tensor,
    K: Tensor,
    V: Tensor,
    *data: Tensor,
    along: str,
    mask: Tensor | None = None,
    scale: float | None = None,
) -> Tensor:
    """Attention of a device's queries Q [..., q, d] to the keys K [..., k, d] and values V [..., k, v] of all devices
    along an axis of the mesh, each of which has as many. What sees nothing gets zeros.

    seen(q, k, *data): which of all keys k the own queries q, from 0 on, see; those of the device before begin at minus
        as many. data, and a mask that is an array: [..., q, k], of the own queries and all keys.
    """
    if seen is None and mask is not None:
        seen, data = _given, (mask,)
    lead = torch.broadcast_shapes(*(x.shape[:-2] for x in (Q, K, V, *data)))  # type: ignore[no-untyped-call]
    shape = lead or (1,)
    own = max((len(shape) - i for x in (K, V) for i, size in enumerate(x.shape[-3::-1]) if size > 1), default=1)
    Q = grouped(Q.expand(*shape, *Q.shape[-2:]), shape, own)
    K, V = (grouped(x.expand(*shape[:own], *[1] * (len(shape) - own), *x.shape[-2:]), shape, own) for x in (K, V))
    scale = Q.shape[-1] ** -0.5 if scale is None else scale
    ring = Ring(seen, devices_along(along), scale, device_count(along), own_place(along))
    laid = (Q, K[:, :, 0], V[:, :, 0], *(grouped(x, shape, own) for x in data))
    out: Tensor = _RingAttention.apply(ring, *laid)  # type: ignore[no-untyped-call]
    return out.reshape(*lead, *out.shape[-2:])


def _given(q: Any, k: Any, mask: Any) -> Any:
    """A mask that is an array, as a function of positions."""
    return mask
