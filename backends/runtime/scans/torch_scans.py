"""Scans whose states are linear in themselves: many items at once, in chunks.

Nothing is divided by a decay: what is left of an item at a later one is the product of the decays between them, made
for each pair of a chunk. So a decay may be 0, or negative, or as near to 0 or 1 as its type allows.

PyTorch gives `broadcast_shapes` no types: hence the ignores.
"""

from __future__ import annotations

import math

import torch
import torch.nn.functional as F
from torch import Tensor

from .torch_free import along, before_each, faded, in_groups, leaves_open, mapped, out_of_groups, with_first

CHUNK = 64  # items that are computed as pairs
FINE = 16  # where each pair has a decay of its own for each channel
WIDE = 1024  # numbers in a state that are worth a step of their own


def linear_attention(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    decay: Tensor | None = None,
    erase: Tensor | None = None,
    start: Tensor | None = None,
    before: bool = False,
) -> Tensor:
    """q S for each item, where S = decay S + k (v - erase S): a state [d, e] that sums keys times values.

    q, k, erase: [.., n, d]; v: [.., n, e]; decay: [.., n, 1], or by channel [.., n, d] (then without erase), of n = 1
    where it is the same for all items; start: [.., d, e], the state before the first. before: an item sees the state
    that it has not changed yet. (Yang et al. 2024, "Gated Linear Attention Transformers with Hardware-Efficient
    Training", "Parallelizing Linear Transformers with the Delta Rule over Sequence Length".)
    """
    n, dtype = q.shape[-2], q.dtype
    if dtype in (torch.float16, torch.bfloat16):
        decay, erase, start = (None if x is None else x.float() for x in (decay, erase, start))
        return linear_attention(q.float(), k.float(), v.float(), decay, erase, start, before).to(dtype)
    by_channel = decay is not None and decay.shape[-1] > 1
    size = FINE if by_channel else CHUNK if erase is None else CHUNK // 2
    if not torch.compiler.is_compiling():
        size = max(1, min(size, n))
    q, k, v = chunks(q, size), chunks(k, size), chunks(v, size)
    total = None
    left, since, to_end = None, None, k
    if decay is not None:
        decay = chunks(decay, size, 1).expand(*decay.shape[:-2], -1, size, -1)
        left = passed(decay)  # [.., to, of, 1 or d]
        since = decay.cumprod(-2)
        to_end, total = k * left[..., -1, :, :], since[..., -1, :, None]
        left = left if by_channel else left[..., 0]
    sooner, since_sooner = left, since
    if left is not None and since is not None and (before or erase is not None):
        sooner, since_sooner = F.pad(left, [0, 0] * (1 + by_channel) + [1, -1]), F.pad(since, [0, 0, 1, -1], value=1)
    if erase is None:
        states = carried(total, to_end.mT @ v, start)
    else:
        erase = chunks(erase, size)
        pairs = erase @ k.mT if sooner is None else (erase @ k.mT) * sooner
        erase = erase if since_sooner is None else erase * since_sooner
        unit = torch.eye(size, dtype=q.dtype, device=q.device).expand_as(pairs)
        solved = torch.linalg.solve_triangular(pairs, unit, upper=False, unitriangular=True)
        states, v = corrected(total, to_end, solved @ v, solved @ erase, start)
    if before:
        left, since = sooner, since_sooner
    if by_channel and left is not None:
        pairs = (q[..., :, None, :] * left * k[..., None, :, :]).sum(-1)
    else:
        pairs = (q @ k.mT).tril(-before) if left is None else (q @ k.mT) * left
    out = pairs @ v
    if states is not None:
        out = out + (q if since is None else q * since) @ states
    return out_of_groups(out, -2, n) if leaves_open(n) else out.flatten(-3, -2)[..., :n, :]


def linear_attention_and_sums(
    q: Tensor, k: Tensor, v: Tensor, decay: Tensor | None = None, before: bool = False
) -> tuple[Tensor, Tensor]:
    """The same, and what it would be for values of 1, [.., n]: what the values were weighed with."""
    out = linear_attention(q, k, F.pad(v, (0, 1), value=1), decay, before=before)
    return out[..., :-1], out[..., -1]


def chunks(x: Tensor, size: int, fill: float = 0) -> Tensor:
    """[.., n, d] -> [.., chunks, size, d], filled up behind the last item; what all items share stays one."""
    if x.shape[-2] == 1 and size > 1:
        return x.unsqueeze(-2)
    if leaves_open(x.shape[-2]):
        return in_groups(x, -2, size, fill)
    n = (x.shape[-2] + size - 1) // size or 1
    return torch.unflatten(F.pad(x, [0, 0, 0, n * size - x.shape[-2]], value=fill), -2, (n, size))


def passed(decay: Tensor) -> Tensor:
    """What is left at each item of what is from each one before it: [.., n, d] -> [.., to, of, d]."""
    place = torch.arange(decay.shape[-2], device=decay.device)
    later = (place[:, None] > place).to(decay.dtype)[..., None]
    left = torch.addcmul(1 - later, decay.unsqueeze(-2), later).cumprod(-3)
    return left * (place[:, None] >= place)[..., None]


def carried(total: Tensor | None, added: Tensor, start: Tensor | None) -> Tensor | None:
    """The states before each chunk, [.., chunks, d, e]; None where all are 0.

    total: what is left of a state behind a chunk; added: what that adds.
    """
    n = added.shape[-3]
    if total is None:
        sums = F.pad(added.cumsum(-3), [0, 0, 0, 0, 1, -1])
        return sums if start is None else sums + start.unsqueeze(-3)
    if leaves_open(n):
        total = total.expand(*total.shape[:-3], n, -1, -1)
        added = added if start is None else with_first(added, -3, total.select(-3, 0) * start)
        return before_each(faded(total, added, -3, 1), -3, start)
    if start is None and n == 1:
        return None
    first = torch.zeros_like(added.select(-3, 0)) if start is None else start
    states = [first.expand(torch.broadcast_shapes(first.shape, added.select(-3, 0).shape))]  # type: ignore[no-untyped-call]
    for left, more in zip(total.expand(*total.shape[:-3], n, -1, -1).unbind(-3)[:-1], added.unbind(-3), strict=False):
        states.append(left * states[-1] + more)
    return torch.stack(states, -3)


def corrected(
    total: Tensor | None, k: Tensor, new: Tensor, seen: Tensor, start: Tensor | None
) -> tuple[Tensor, Tensor]:
    """The states before each chunk, and what its items put in, once what the state says of their keys is taken out.

    new: what they would put into a state of 0; seen: how much of a state before the chunk each takes out, by channel.
    """
    n = new.shape[-3]
    if leaves_open(n):
        unit = torch.eye(k.shape[-1], dtype=k.dtype, device=k.device)
        before = mapped((unit if total is None else unit * total) - k.mT @ seen, k.mT @ new, start)
        return before, new - seen @ before
    shape = torch.broadcast_shapes(k.shape[:-3], new.shape[:-3])  # type: ignore[no-untyped-call]
    first = k.new_zeros(1) if start is None else start
    state = first.expand(*shape, k.shape[-1], new.shape[-1])
    wide = None if total is None else total.expand(*total.shape[:-3], n, -1, -1)
    states, put = [], []
    for chunk in range(n):
        states.append(state)
        put.append(new.select(-3, chunk) - seen.select(-3, chunk) @ state)
        if chunk < n - 1:
            kept = state if wide is None else wide.select(-3, chunk) * state
            state = kept + k.select(-3, chunk).mT @ put[-1]
    return torch.stack(states, -3), torch.stack(put, -3)


def running(
    x: Tensor, dim: int, decay: Tensor | None = None, start: Tensor | None = None, before: bool = False
) -> Tensor:
    """y of each item, where y = decay y + x, number by number.

    dim: that of items, from the right; decay: of size 1 there where it is the same for all; start: y before the first.
    before: y as it was before the item.
    """
    first = None if start is None else start.unsqueeze(dim)
    if decay is None:
        y = x.cumsum(dim)
        y = y if first is None else y + first
    else:
        left, given = decay, [decay, x] if first is None else [decay, x, first]
        decay, x, *starts = torch.broadcast_tensors(*given)  # type: ignore[no-untyped-call]
        n = x.shape[dim]
        for one in starts:
            if leaves_open(n):
                x = with_first(x, dim, decay.select(dim, 0) * one.select(dim, 0))
                continue
            head, rest = x.tensor_split([1], dim)
            x = torch.cat([head + decay.tensor_split([1], dim)[0] * one.tensor_split([1], dim)[0], rest], dim)
        if leaves_open(n):
            y = faded(decay if left.dim() < -dim else along(left, dim, n), x, dim, 2)
        else:
            y = decayed(decay, x, dim, n if x.numel() > WIDE * n else math.isqrt(n))
    if not before:
        return y
    if leaves_open(y.shape[dim]):
        return before_each(y, dim, start)
    head = torch.zeros_like(y.tensor_split([1], dim)[0])
    return torch.cat([head if first is None else head + first, y.tensor_split([-1], dim)[0]], dim)


def decayed(decay: Tensor, x: Tensor, dim: int, size: int) -> Tensor:
    """y = decay y + x, chunk beside chunk, then from one chunk to the next."""
    n = x.shape[dim]
    if size >= n or size < 4:
        return steps(decay, x, dim)
    count = -(-n // size)
    more = [0, 0] * (-dim - 1) + [0, count * size - n]
    decay, x = (torch.unflatten(F.pad(one, more), dim, (count, size)) for one in (decay, x))
    y, left = steps(decay, x, dim), decay.cumprod(dim)
    ends = steps(left.select(dim, -1), y.select(dim, -1), dim)
    before = F.pad(ends, [0, 0] * (-dim - 1) + [1, -1]).unsqueeze(dim)
    return (y + left * before).flatten(dim - 1, dim).narrow(dim, 0, n)


def steps(decay: Tensor, x: Tensor, dim: int) -> Tensor:
    """y = decay y + x, item by item."""
    lefts, xs = decay.unbind(dim), x.unbind(dim)
    if not xs or (torch.is_grad_enabled() and (decay.requires_grad or x.requires_grad)):
        found = list(xs[:1])
        for left, one in zip(lefts[1:], xs[1:], strict=True):
            found.append(torch.addcmul(one, left, found[-1]))
        return torch.stack(found, dim) if found else x
    out = torch.empty_like(x)
    ys = out.unbind(dim)
    ys[0].copy_(xs[0])
    for place in range(1, len(xs)):
        torch.addcmul(xs[place], lefts[place], ys[place - 1], out=ys[place])
    return out
