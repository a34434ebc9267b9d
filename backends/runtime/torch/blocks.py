"""Attention by blocks of queries with a gradient of its own in generated PyTorch code.

Plain products, because PyTorch's fused kernel on the CPU computes the weights once more for the gradient, and because
the gradients of keys that blocks share are added in place here, where autograd would make one of all keys for each.
What it works on is x [b, h, g, q, d] of queries and x [b, h, 1, k, d] of keys, which g heads share; of the mask's data
and of a bias [b, h, g, q, k], dimensions of size 1 are the same for all.

PyTorch gives `Function.apply` no types: hence the ignore.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor

from ..common.spans import MOST_KINDS, mask_key
from .ops import is_traced, masked_softmax
from .sights import Runs, block_mask, cut, look_at, row_sights

Share = tuple[int, int, int]  # which one of b, and from and to which of h
KEPT = 2  # weights for a gradient take at most so many times the memory of Q, K, V and the result
QUERIES = 64  # of a block: fewer or more were slower for windows and for causal attention alike


class QueryBlock:
    """Queries that attend together, from `first` on, and the runs of keys in their sight."""

    def __init__(self, seen: Callable[..., Any], first: int, rows: int, runs: Runs) -> None:
        self.seen, self.first, self.rows, self.runs = seen, first, rows, runs
        self.width = sum(b - a for a, b, _ in runs)
        gaps = bool(runs) and runs[-1][1] - runs[0][0] > self.width
        self.spans = [(a, b - a) for a, b, _ in runs] if gaps else [(a, self.width) for a, _, _ in runs[:1]]
        self.known: tuple[Tensor | None, Tensor | None] | None = None

    def weights(
        self, at: Share, q: Tensor, k: Tensor, scale: float, bias: Tensor | None, data: Sequence[Tensor], room: Tensor
    ) -> Tensor:
        """[h, g q, k] of q [h, g q, d] and k [h, k, d], in the room."""
        scores = torch.baddbmm(room, q, k.mT, beta=0, alpha=scale, out=room).view(len(q), -1, self.rows, self.width)
        hidden, blind = self.known or self.hide(data, q.dtype)
        added = None if hidden is None else pick(hidden, at)
        if bias is not None:
            tilt = cut(pick(bias, at), self.first, self.first + self.rows, self.runs)
            added = tilt if added is None else torch.where(added < 0, added, tilt)  # what is hidden may be no number
        if added is not None:  # now that the scores are in the cache
            scores += added
        torch.softmax(room, -1, out=room)
        if blind is not None:
            scores.masked_fill_(pick(blind, at), 0)
        return room

    @torch.inference_mode(False)  # what is known is used again, and that call may train
    def hide(self, data: Sequence[Tensor], dtype: torch.dtype) -> tuple[Tensor | None, Tensor | None]:
        """What is added to the scores: -inf where nothing is seen.

        And which queries see nothing at all, if there are any.
        """
        hidden: Tensor | None = None
        column = 0
        for a, b, every in self.runs:
            mask = block_mask(self.seen, self.first, self.first + self.rows, [(a, b, every)], data, torch.device("cpu"))
            if mask is not None:
                mask = mask[(None,) * (5 - mask.dim())]
                if hidden is None:
                    hidden = torch.zeros(*mask.shape[:-1], self.width, dtype=dtype, device="cpu")
                hidden[..., column : column + b - a].masked_fill_(~mask, -math.inf)
            column += b - a
        blind: Tensor | None = None
        if hidden is not None and not any(every for _, _, every in self.runs):
            blind = hidden.amax(-1, keepdim=True) < 0  # softmax makes no numbers of these rows: they become 0
        found = hidden, blind if blind is not None and blind.any() else None
        if hidden is None or hidden.numel() <= 2**15:
            self.known = found
        return found

    def keys(self, x: Tensor) -> Tensor:
        """Those keys [..., k, d] of x."""
        parts = [x.narrow(-2, a, width) for a, width in self.spans]
        return parts[0] if len(parts) == 1 else torch.cat(parts, -2)

    def add_to_keys(self, into: Tensor, scores: Tensor, q: Tensor, scale: float = 1) -> None:
        """The product of scores [h, g q, k] with q [h, g q, d] where these keys are."""
        parts = torch.split(scores, [width for _, width in self.spans], -1)
        for (a, width), part in zip(self.spans, parts, strict=True):
            into.narrow(1, a, width).baddbmm_(part.mT, q, alpha=scale)

    def add_to_bias(self, at: Share, into: Tensor, x: Tensor) -> None:
        """x [h, g q, k], summed over what has one bias."""
        x = x.view(len(x), -1, self.rows, self.width)
        for a, b, _ in self.runs:
            there = cut(pick(into, at), self.first, self.first + self.rows, [(a, b, False)])
            there += x[..., : b - a].sum_to_size(there.shape)
            x = x[..., b - a :]


def pick(x: Tensor, at: Share) -> Tensor:
    """That part of x [b, h, ...]."""
    i, j, end = at
    x = x[i if x.shape[0] > 1 else 0]
    return x if x.shape[0] == 1 else x[j:end]


class Room:
    """Memory for weights, block after block; one place for all where they are not kept."""

    def __init__(self, memory: list[Tensor], keep: bool) -> None:
        self.memory, self.keep, self.piece, self.used = memory, keep, 0, 0

    def take(self, *shape: int) -> Tensor:
        count, first = math.prod(shape), self.used
        if first + count > len(self.memory[self.piece]):
            self.piece, first = self.piece + 1, 0
        self.used = first + count if self.keep else 0
        return self.memory[self.piece].narrow(0, first, count).view(shape)


class BlockPlan(NamedTuple):
    """scale: what scores are multiplied with. keep: whether weights are kept, for a gradient."""

    blocks: list[QueryBlock]
    scale: float
    keep: bool

    def heads(self, Q: Tensor) -> int:
        """How many of h make one product: 4 MB of float32, or one."""
        widest = max((block.width for block in self.blocks), default=0)
        return min(max(2**20 // max(Q.shape[2] * QUERIES * widest, 1), 1), Q.shape[1])

    def room(self, Q: Tensor, keep: bool) -> Room:
        """For the weights of all blocks, or for the largest of them.

        In pieces of less than 32 MB: larger ones go back to the system at once, which clears them anew the next time.
        """
        b, h, g = Q.shape[:3]
        step, sizes = self.heads(Q), [block.rows * block.width * g for block in self.blocks]
        if not keep:
            return Room([Q.new_empty(step * max(sizes, default=0))], keep)
        pieces = [0]
        for heads in [min(step, h - j) for _ in range(b) for j in range(0, h, step)]:
            for size in sizes:
                if pieces[-1] + heads * size > 30 * 2**20 // Q.element_size():
                    pieces.append(0)
                pieces[-1] += heads * size
        return Room([Q.new_empty(size) for size in pieces], keep)

    def shares(self, of_queries: Sequence[Tensor], of_keys: Sequence[Tensor]) -> list[tuple[Share, Any, list[Tensor]]]:
        """For one of b, and as many of h as make one product: which they are, x [h, g, q, d] of blocks, x [h, k, d].

        Where g is 1, that is left out.
        """
        b, h, g = of_queries[0].shape[:3]
        step = self.heads(of_queries[0])
        found = []
        for i in range(b):
            for j in range(0, h, step):
                end = min(j + step, h)
                parts = [torch.split(x[i, j:end] if g > 1 else x[i, j:end, 0], QUERIES, -2) for x in of_queries]
                found.append(((i, j, end), list(zip(*parts, strict=True)), [x[i, j:end, 0] for x in of_keys]))
        return found


def joined(x: Tensor) -> Tensor:
    """[h, g q, d] of x [h, g, q, d]."""
    return x if x.dim() == 3 else x.flatten(1, 2)


class BlockAttention(torch.autograd.Function):
    """softmax(Q K' scale + bias, where the mask is true) V, by the blocks of a plan. Who sees nothing gets zeros."""

    @staticmethod
    def forward(
        ctx: Any, plan: BlockPlan, Q: Tensor, K: Tensor, V: Tensor, bias: Tensor | None, *data: Tensor
    ) -> Tensor:
        b, h, g, n, _ = Q.shape
        out = Q.new_empty(b, n, h, g, V.shape[-1]).permute(0, 2, 3, 1, 4)  # as the map that comes next wants it
        room = plan.room(Q, plan.keep)
        shares = plan.shares((Q, out), (K, V))
        for at, queries, keys in shares:
            for block, (q, o) in zip(plan.blocks, queries, strict=False):
                if not block.runs:
                    o.zero_()
                    continue
                q, k, v = joined(q), *map(block.keys, keys)
                weights = block.weights(at, q, k, plan.scale, bias, data, room.take(*q.shape[:2], block.width))
                o.copy_(torch.bmm(weights, v).view(o.shape))
        if plan.keep:
            ctx.save_for_backward(Q, K, V, bias, out, *data, *room.memory)
            ctx.plan, ctx.data = plan, len(data)
        return out

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        plan, (Q, K, V, bias, out, *more) = ctx.plan, ctx.saved_tensors
        data, kept = more[: ctx.data], more[ctx.data :]
        if torch.is_grad_enabled() or is_traced() or torch._C._functorch.is_legacy_batchedtensor(grad):
            return None, *gradients_again(plan, grad, Q, K, V, bias, data), *(None for _ in data)
        dQ, dK, dV = torch.empty_like(Q), torch.zeros_like(K), torch.zeros_like(V)
        of_bias = torch.zeros_like(bias) if ctx.needs_input_grad[4] else None
        known = Room(kept, True)
        room = plan.room(Q, False)
        shares = plan.shares((Q, out, grad, dQ), (K, V, dK, dV))
        for at, queries, (K, V, dk, dv) in shares:
            for block, (q, o, g, dq) in zip(plan.blocks, queries, strict=False):
                if not block.runs:
                    dq.zero_()
                    continue
                q, o, g, k, v = *map(joined, (q, o, g)), block.keys(K), block.keys(V)
                weights = known.take(*q.shape[:2], block.width)
                mean = (g * o).sum(-1, keepdim=True)
                scores = torch.baddbmm(mean, g, v.mT, beta=-1, out=room.take(*weights.shape)).mul_(weights)
                torch.mul(torch.bmm(scores, k).view(dq.shape), plan.scale, out=dq)
                block.add_to_keys(dk, scores, q, plan.scale)
                block.add_to_keys(dv, weights, g)
                if of_bias is not None:
                    block.add_to_bias(at, of_bias, scores)
        return None, dQ, dK, dV, of_bias, *(None for _ in data)


def gradients_again(
    plan: BlockPlan, grad: Tensor, Q: Tensor, K: Tensor, V: Tensor, bias: Tensor | None, data: Sequence[Tensor]
) -> tuple[Tensor | None, ...]:
    """The gradients of Q, K, V and the bias with nothing written in place, such that PyTorch can follow for theirs."""
    dQ, dK, dV = torch.zeros_like(Q), torch.zeros_like(K), torch.zeros_like(V)
    of_bias = torch.zeros_like(bias) if bias is not None and bias.requires_grad else None
    for block in plan.blocks:
        if not block.runs:
            continue
        rows = torch.arange(block.first, block.first + block.rows, device="cpu")
        columns = torch.cat([torch.arange(a, b, device="cpu") for a, b, _ in block.runs])
        q, g = (x.narrow(-2, block.first, block.rows) for x in (Q, grad))
        k, v = block.keys(K), block.keys(V)
        scores = q @ k.mT * plan.scale
        if bias is not None:
            scores = scores + cut(bias, block.first, block.first + block.rows, block.runs)
        mask = block_mask(block.seen, block.first, block.first + block.rows, block.runs, data, torch.device("cpu"))
        weights = scores.softmax(-1) if mask is None else masked_softmax(scores, mask, -1)
        slopes = weights * (g @ v.mT)
        slopes = slopes - weights * slopes.sum(-1, keepdim=True)
        dQ = dQ.index_add(-2, rows, slopes @ k * plan.scale)
        dK = dK.index_add(-2, columns, (slopes.mT @ q).sum(2, keepdim=True) * plan.scale)
        dV = dV.index_add(-2, columns, (weights.mT @ g).sum(2, keepdim=True))
        if of_bias is not None:
            alike = [dim for dim, size in enumerate(of_bias.shape) if size == 1]
            slopes = slopes.sum(alike, keepdim=True) if alike else slopes
            rows, columns = (x[:1] * 0 if dim in alike else x for dim, x in ((3, rows), (4, columns)))
            across = slopes.new_zeros(*slopes.shape[:-1], of_bias.shape[-1]).index_add(-1, columns, slopes)
            of_bias = of_bias.index_add(-2, rows, across)
    return dQ, dK, dV, of_bias


BLOCKS: dict[object, list[QueryBlock]] = {}  # by mask and widths: made once, for all layers and calls


def blocks_of(seen: Callable[..., Any], n: int, m: int, data: Sequence[Tensor]) -> list[QueryBlock]:
    """The blocks of n queries. Those of the last masks that read no data are known."""
    key = None if data or mask_key(seen) is None else (mask_key(seen), n, m)
    known = BLOCKS.get(key)
    if known is not None:
        return known
    sights = row_sights(seen, n, m, QUERIES, look_at(data), 64 if data else 16)  # what is known is made once
    made = [QueryBlock(seen, i * QUERIES, min(QUERIES, n - i * QUERIES), runs) for i, runs in enumerate(sights)]
    if key is not None:
        if len(BLOCKS) == 2 * MOST_KINDS:
            BLOCKS.clear()
        BLOCKS[key] = made
    return made


def block_attention(
    seen: Callable[..., Any],
    lead: tuple[int, ...],
    Q: Tensor,
    K: Tensor,
    V: Tensor,
    bias: Tensor | None,
    data: tuple[Tensor, ...],
    scale: float | None,
) -> Tensor | None:
    """Attention [*lead, q, v] under the mask `seen`; the leading axes of all that is given broadcast to `lead`.

    None where it is to have a gradient for which the weights of so many keys would take too much memory, and where
    there is nothing at all.
    """
    if 0 in lead:
        return None
    shape = lead or (1,)
    own = max((len(shape) - i for x in (K, V) for i, size in enumerate(x.shape[-3::-1]) if size > 1), default=1)
    Q = Q.expand(*shape, *Q.shape[-2:])
    K, V = (x.expand(*shape[:own], *[1] * (len(shape) - own), *x.shape[-2:]) for x in (K, V))
    given = [None if x is None else grouped(x, shape, own) for x in (Q, K, V, bias, *data)]
    turned = Q.shape[0] > math.prod(shape[1:own])
    if turned:  # the longer one goes into one product
        given = [None if x is None else x.transpose(0, 1) for x in given]
    blocks = blocks_of(seen, Q.shape[-2], K.shape[-2], [x for x in given[4:] if x is not None])
    graded = torch.is_grad_enabled() and any(x.requires_grad for x in given if x is not None)
    weights = sum(block.rows * block.width for block in blocks)
    if graded and weights > KEPT * 2 * Q.shape[-2] * (Q.shape[-1] + V.shape[-1]):
        return None
    plan = BlockPlan(blocks, Q.shape[-1] ** -0.5 if scale is None else scale, graded)
    out: Tensor = BlockAttention.apply(plan, *given)  # type: ignore[no-untyped-call]
    return (out.transpose(0, 1) if turned else out).reshape(*lead, *out.shape[-2:])


def grouped(x: Tensor, lead: tuple[int, ...], own: int) -> Tensor:
    """x [..., a, b] as [b, h, g, a, b]: of the leading dimensions `lead`, the first, `own` and those that share keys.

    Dimensions of size 1 that broadcast stay so where all that come together do.
    """
    x = x[(None,) * (len(lead) + 2 - x.dim())]
    shape = list(x.shape)
    for part in (slice(1, own), slice(own, len(lead))):
        if math.prod(shape[part]) > 1:
            shape[part] = lead[part]
    heads, group = math.prod(shape[1:own]), math.prod(shape[own : len(lead)])
    return x.expand(shape).reshape(shape[0], heads, group, *shape[-2:])
