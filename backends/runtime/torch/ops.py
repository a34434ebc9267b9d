"""Ops of generated PyTorch code that are more than a call of PyTorch.

PyTorch gives `broadcast_shapes` no types: hence the ignores.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn


def masked_softmax(scores: Tensor, mask: Tensor, dim: int) -> Tensor:
    """Softmax over what the mask keeps; what it leaves out weighs exactly 0, so a row without any is all zeros."""
    kept = torch.where(mask, scores, torch.finfo(scores.dtype).min)
    return torch.where(mask, kept.softmax(dim), 0.0)


def masked_log_softmax(scores: Tensor, mask: Tensor, dim: int) -> Tensor:
    """The logarithm of softmax over what the mask keeps; minus infinity for what it leaves out."""
    kept = torch.where(mask, scores, torch.finfo(scores.dtype).min)
    return torch.where(mask, kept.log_softmax(dim), -math.inf)


def wider(x: Tensor) -> torch.dtype:
    """The type of x, float32 for half precision, which has no room for sums and for small numbers."""
    return torch.promote_types(x.dtype, torch.float32)


def mean_of(x: Tensor, dim: int | tuple[int, ...], count: int) -> Tensor:
    """The sum along `dim` over the number of items."""
    return (x.sum(dim, dtype=wider(x)) / count).to(x.dtype)


def masked_mean(x: Tensor, mask: Tensor, dim: int | tuple[int, ...]) -> Tensor:
    """The mean of what the mask keeps; 0 of nothing. The mask has the extents of x along `dim`."""
    total = torch.where(mask, x, 0).sum(dim, dtype=wider(x))
    return (total / mask.sum(dim).clamp(min=1)).to(x.dtype)


def l2norm(x: Tensor, dim: int | tuple[int, ...], eps: float) -> Tensor:
    """x over its Euclidean length, which is taken to be at least eps."""
    length: Tensor = torch.linalg.vector_norm(x, dim=dim, keepdim=True, dtype=wider(x))
    return (x / length.clamp_min(eps)).to(x.dtype)


def amax(x: Tensor, dim: int | tuple[int, ...]) -> Tensor:
    """The largest along `dim`; of no items less than any number."""
    if has_items(x, dim):
        return x.amax(dim)
    return x.sum(dim, dtype=x.dtype) + (-math.inf if x.is_floating_point() else torch.iinfo(x.dtype).min)


def amin(x: Tensor, dim: int | tuple[int, ...]) -> Tensor:
    """The smallest along `dim`; of no items more than any number."""
    if has_items(x, dim):
        return x.amin(dim)
    return x.sum(dim, dtype=x.dtype) + (math.inf if x.is_floating_point() else torch.iinfo(x.dtype).max)


def pick_one(x: Tensor, dim: int, mask: Tensor | None = None) -> Tensor:
    """The index of the largest along `dim`, of equals the first, of what the mask keeps; -1 where that is nothing."""
    if mask is not None:
        mask = mask.expand(torch.broadcast_shapes(x.shape, mask.shape))  # type: ignore[no-untyped-call]
        x = torch.where(mask, x, -math.inf if x.is_floating_point() else torch.iinfo(x.dtype).min)
    if not has_items(x, dim):
        return x.sum(dim).long() - 1
    found = x.argmax(dim)
    if mask is None:
        return found
    del x
    kept = mask.gather(dim, found.unsqueeze(dim)).squeeze(dim)  # else all that are kept are the least
    some_kept, first = mask.max(dim)
    return torch.where(kept, found, torch.where(some_kept, first, -1))


def picks(x: Tensor, dim: int, count: int, mask: Tensor | None = None, descending: bool = True) -> Tensor:
    """The indices of the first `count` of what the mask keeps, in order along `dim`; -1 where there are fewer."""
    order = argsort(x if mask is None else torch.where(mask, x, 0), dim, descending)
    if mask is not None:  # what it keeps comes first, in this order: minus infinity too
        kept = mask.expand(order.shape).gather(dim, order)
        order = torch.where(kept, order, -1).gather(dim, argsort(kept.int(), dim, descending=True))
    none = order.new_full(resized(order.shape, dim, count), -1)
    return torch.cat([order, none], dim).narrow(dim, 0, count)


def some(x: Tensor, dim: int) -> Tensor:
    """x, or an item of zeros along `dim`, counted from the right, if it has none there."""
    return x if x.shape[dim] else x.new_zeros(resized(x.shape, dim, 1))


def has_items(x: Tensor, dim: int | tuple[int, ...]) -> bool:
    """Whether there is any item along `dim`."""
    return 0 not in [x.shape[one] for one in (dim if isinstance(dim, tuple) else (dim,))]


def concat(parts: list[Tensor], dim: int) -> Tensor:
    """Joins along `dim`, counted from the right; all other dimensions broadcast.

    The dimensions stay where they are: a result that is turned round makes all that is added to it lie so, too.
    """
    shape = torch.broadcast_shapes(*(resized(part.shape, dim, 1) for part in parts))  # type: ignore[no-untyped-call]
    return torch.cat([part.expand(resized(shape, dim, part.shape[dim])) for part in parts], dim)


def resized(shape: Sequence[int], dim: int, size: int) -> list[int]:
    """A shape with another size of the dimension `dim`."""
    found = list(shape)
    found[dim] = size
    return found


def pad(x: Tensor, dim: int, left: int, size: int, value: float = 0) -> Tensor:
    """x lengthened along `dim`, counted from the right, to `size`: `left` items before it, the rest behind."""
    right = size - left - x.shape[dim]
    if right < 0:
        raise ValueError(f"pad: {size} items have no room for {x.shape[dim]} and {left} more")
    before, after = (x.new_full(resized(x.shape, dim, size), value) for size in (left, right))
    return torch.cat([before, x, after], dim)


def window(x: Tensor, dim: int, places: int, size: int, stride: int, left: int) -> Tensor:
    """y[s, t] = x[s * stride + t - left] along `dim`, counted from the right, and 0 outside of x."""
    y = x.movedim(dim, -1)
    need = max((places - 1) * stride + size, 0) if places else 0
    right = max(need - left - y.shape[-1], 0)
    y = torch.cat([y.new_zeros(*y.shape[:-1], left), y, y.new_zeros(*y.shape[:-1], right)], -1)
    index = torch.arange(places, device=x.device)[:, None] * stride + torch.arange(size, device=x.device)
    return y[..., index].movedim((-2, -1), (dim - 1, dim))


def argsort(x: Tensor, dim: int, descending: bool = False, first: int | None = None) -> Tensor:
    """The indices that put x into order along `dim`, or the first few of them; equals keep theirs."""
    if torch.onnx.is_in_onnx_export():  # ONNX has one sort, which keeps them, and no rule for ours
        return x.sort(dim=dim, descending=descending).indices.narrow(dim, 0, x.shape[dim] if first is None else first)
    if first is not None and x.is_cpu and x.numel() >= 1024 and first * 4 <= x.shape[dim] and not is_traced():
        return first_of(x.detach().movedim(dim, -1), first, descending).movedim(-1, dim)
    order = x.sort(dim=dim, descending=descending, stable=True).indices
    return order if first is None else order.narrow(dim, 0, first)


def first_of(x: Tensor, count: int, descending: bool) -> Tensor:
    """The first `count` of `argsort` along the last dimension; 8 of 128 take 0.3 of the time of a whole sort.

    `topk` orders equals, and what is no number, as it likes: rows that have such among their first are sorted.
    """
    values, order = x.topk(count + 1, largest=descending)
    one, other = values[..., :-1], values[..., 1:]
    clear = (one > other if descending else one < other).all(-1)
    order = order[..., :count]
    if not bool(clear.all()):
        order[~clear] = x[~clear].sort(descending=descending, stable=True).indices[..., :count]
    return order


def take_along(x: Tensor, index: Tensor, dim: int) -> Tensor:
    """The items of x at `index` along `dim`, counted from the right; all other dimensions broadcast."""
    rank = max(x.dim(), index.dim())
    x, index = x[(None,) * (rank - x.dim())], index[(None,) * (rank - index.dim())]
    x, index = x.movedim(dim, -1), index.movedim(dim, -1)
    shape = torch.broadcast_shapes(x.shape[:-1], index.shape[:-1])  # type: ignore[no-untyped-call]
    return x.expand(*shape, x.shape[-1]).gather(-1, index.expand(*shape, index.shape[-1])).movedim(-1, dim)


def picked(kept: Tensor, index: Tensor, count: int) -> Tensor:
    """Which of so many items any index that is kept names, along the last dimension."""
    index = torch.where(kept & (index >= 0) & (index < count), index, count)
    found = torch.zeros(*index.shape[:-1], count + 1, dtype=torch.bool, device=index.device)
    return found.scatter(-1, index, True)[..., :count]


class GroupedLinear(nn.Module):
    """A linear map for each group: [..., groups, in] -> [..., groups, out], initialised as nn.Linear is."""

    def __init__(self, groups: tuple[int, ...], fan_in: int, fan_out: int, bias: bool = True) -> None:
        super().__init__()
        bound = fan_in**-0.5 if fan_in else 0.0
        self.weight = nn.Parameter(torch.empty(*groups, fan_out, fan_in).uniform_(-bound, bound))
        self.bias = nn.Parameter(torch.empty(*groups, fan_out).uniform_(-bound, bound)) if bias else None

    def forward(self, x: Tensor, dispatch: Any = None) -> Tensor:
        """dispatch: x has rows [n, ..., in] that picked a group each, and is multiplied for these alone."""
        if dispatch is not None:
            rows: Tensor = dispatch.product(x, self.weight, self.bias)
            return rows
        g = "abcdefgh"[: self.weight.dim() - 2]
        y = torch.einsum(f"...{g}i,{g}oi->...{g}o", x, self.weight)
        return y if self.bias is None else y + self.bias


def taps(x: Tensor, dim: int, places: int, size: int, left: int, at: Tensor | None = None) -> Tensor:
    """`window` of the last `places` items of x, which begins before them: y[s, t] = x[s + t - left].

    at: where these items stand in x, if they are not the last: x then has room for more.
    """
    if at is not None:
        index = at[:, None] + torch.arange(size, device=x.device) - left
        y = torch.where(index >= 0, x.movedim(dim, -1)[..., index.clamp(min=0)], 0)
        return y.movedim((-2, -1), (dim - 1, dim))
    behind = left - (x.shape[dim] - places)
    if behind < 0:
        x = x.narrow(dim, -behind, x.shape[dim] + behind)
    return window(x, dim, places, size, 1, max(behind, 0))


def is_free(size: Any) -> bool:
    """Whether a graph is being made that is to hold for more than this size."""
    if not torch.compiler.is_compiling():
        return False
    from torch.fx.experimental import symbolic_shapes

    known = getattr(symbolic_shapes, "has_static_value", None)  # PyTorch 2.6 has none
    return isinstance(size, torch.SymInt) if known is None else not known(size)


def is_traced() -> bool:
    """Whether PyTorch traces or transforms what runs: no code may depend on the numbers that a tensor then holds.

    That is torch.compile, torch.export, torch.jit.trace, torch.func, make_fx and tensors that are fake.
    """
    if torch.compiler.is_compiling():
        return True
    try:
        mode, key = torch._C._get_dispatch_mode, torch._C._TorchDispatchModeKey
        transformed: bool = torch._C._is_tracing() or torch._C._are_functorch_transforms_active()
        return transformed or mode(key.FAKE) is not None or mode(key.PROXY) is not None
    except AttributeError:  # these names are PyTorch's own, and may go: what runs without tracing must run on
        return False
