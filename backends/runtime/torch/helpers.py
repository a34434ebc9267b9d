"""Helpers that generated PyTorch code carries along, each where used. Their text is copied: keep them free of us.

PyTorch gives `broadcast_shapes` no types: hence the ignores.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import torch
from torch import Tensor, nn


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


def check_inputs(
    model: str,
    inputs: dict[str, tuple[Tensor | None, str, str]],
    sizes: dict[str, int] | None = None,
    bounds: dict[str, int] | None = None,
    copies: dict[str, str] | None = None,
) -> tuple[int, ...]:
    """Refuses inputs that are not what the model declares; returns the extents of their common batch axes.

    inputs: for each, the tensor, its kind ("real", "bool", "int" or "index vocab") and its axes ("source model").
    sizes: extents known in advance; bounds: the largest allowed; copies: for an axis, another one of equal extent.
    """
    batch: tuple[int, ...] | None = None
    first = ""
    bounds, copies = bounds or {}, copies or {}
    found = {axis: (size, "") for axis, size in (sizes or {}).items()}
    for name, (x, kind, spaced) in inputs.items():
        if x is None:
            continue
        axes = spaced.split()
        shown = f"{model}: `{name}`"
        if not isinstance(x, Tensor):
            raise TypeError(f"{shown} is of type {type(x).__name__}, but must be a torch.Tensor")
        real, truth = x.is_floating_point(), x.dtype == torch.bool
        if not (real if kind == "real" else truth if kind == "bool" else not (real or truth or x.is_complex())):
            words = {"real": "reals", "bool": "truth values", "int": "integers"}
            wanted = words.get(kind, f"integers: it is an {kind}")
            raise TypeError(f"{shown} is {x.dtype}, but must hold {wanted.replace('index ', 'index into ')}")
        narrow = () if kind in ("real", "bool", "int") else (torch.int8, torch.uint8, torch.int16)
        if x.dtype in (*narrow, torch.uint16, torch.uint32, torch.uint64):
            use = "index" if narrow else "compute"
            raise TypeError(f"{shown} is {x.dtype}, with which PyTorch does not {use}: give it as torch.int64")
        if x.dim() < len(axes):
            raise ValueError(f"{shown} has rank {x.dim()}, but needs at least {len(axes)}: [{', '.join(axes)}]")
        split = x.dim() - len(axes)
        if batch is None:
            batch, first = tuple(x.shape[:split]), name
        elif tuple(x.shape[:split]) != batch:
            raise ValueError(f"{shown} has the batch axes {tuple(x.shape[:split])}, but `{first}` has {batch}")
        for axis, extent in zip(axes, x.shape[split:], strict=True):
            known = copies.get(axis, axis)
            size, other = found.setdefault(known, (extent, name))
            if extent != size:
                also = f"`{other}` has {known} = {size}" if other else f"this model has {known} = {size}"
                raise ValueError(f"{shown} has {axis} = {extent}, but {also}")
            if axis in bounds and extent > bounds[axis]:
                raise ValueError(f"{shown} has {axis} = {extent}, but {axis} is at most {bounds[axis]}")
    if is_traced():
        return batch or ()
    for name, (x, kind, _) in inputs.items():
        if x is None or not kind.startswith("index ") or x.device.type != "cpu":
            continue
        axis = kind[6:]
        size, _ = found.get(copies.get(axis, axis), (0, ""))
        bad = (x < 0) | (x >= size)
        if copies.get(axis, axis) in found and bad.any():
            place = bad.nonzero()[0].tolist()
            worst = int(x[tuple(place)])
            raise IndexError(f"{model}: `{name}`: {worst} at {place} is no index into {axis} (0..{size - 1})")
    return batch or ()


def check_lengths(model: str, name: str, lengths: Tensor, axis: str, extent: int) -> Tensor:
    """The lengths as int64; refuses those that the arrays have no room for; looks only in eager mode on the CPU."""
    if is_traced() or lengths.device.type != "cpu":
        return lengths.long()
    bad = (lengths < 0) | (lengths > extent)
    if bad.any():
        place = bad.nonzero()[0].tolist()
        raise ValueError(
            f"{model}: `{name}`: {int(lengths[tuple(place)])} at {place} is no length: {axis} = {extent} here"
        )
    return lengths.long()


def check_index(index: Tensor | int, size: int, where: str) -> None:
    """Refuses a computed index outside 0 .. size - 1; looks only in eager mode on the CPU."""
    if is_traced() or (isinstance(index, Tensor) and index.device.type != "cpu"):
        return
    if isinstance(index, Tensor):
        bad = (index < 0) | (index >= size)
        if not bad.any():
            return
        index = int(index[bad].flatten()[0])
    elif 0 <= index < size:
        return
    raise IndexError(f"{where}: {index} is no index ({f'0..{size - 1}' if size else 'there is no item'})")


def check_ragged_index(index: Tensor | int, lengths: Tensor, where: str, valid: Tensor | bool = True) -> None:
    """Refuses a computed index outside the items of its own example; looks only in eager mode on the CPU."""
    if is_traced() or lengths.device.type != "cpu":
        return
    bad = (lengths <= index) | (torch.as_tensor(index) < 0)
    bad = bad & valid
    if bad.any():
        worst, size = (int(torch.as_tensor(x).expand(bad.shape)[bad].flatten()[0]) for x in (index, lengths))
        raise IndexError(f"{where}: {worst} is no index ({f'0..{size - 1}' if size else 'there is no item'})")


def check_examples(ok: Tensor | bool, message: str, *shown: Tensor | float) -> None:
    """Refuses a batch in which this is false of an example; looks only in eager mode on the CPU.

    `{}` in the message stands for each number shown of the example.
    """
    if is_traced() or (isinstance(ok, Tensor) and ok.device.type != "cpu"):
        return
    ok = torch.as_tensor(ok)
    if not ok.all():
        place = (~ok).nonzero()[0].tolist()
        values = [torch.as_tensor(value).expand(ok.shape)[tuple(place)].item() for value in shown]
        raise ValueError(message.format(*values) + (f" (the example at {place})" if place else ""))


class Captured(NamedTuple):
    """A value from inside the model: its dimensions are the batch axes, then `axes`."""

    value: Tensor
    axes: tuple[str, ...]


def captured(value: Tensor, batch: tuple[int, ...], dims: tuple[str, ...], kept: tuple[str, ...]) -> Captured:
    """A recorded value with the batch and the axes along which it varies: `kept`, of all that it may have, `dims`."""
    value = value[(None,) * (len(batch) + len(dims) - value.dim())]
    value = value.expand((*batch, *value.shape[len(batch) :]))
    left = list(kept)
    for place, axis in reversed(list(enumerate(dims))):
        if left and left[-1] == axis:
            left.pop()
        else:
            value = value[(slice(None),) * (len(batch) + place) + (0,)]
    return Captured(value, kept)


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


def argmax(x: Tensor, dim: int, where: str) -> Tensor:
    """The index of the largest along `dim`; refuses to choose one of no items."""
    found = x.argmax(dim) if has_items(x, dim) else x.sum(dim).long()
    if found.numel() and not x.numel():
        raise ValueError(f"{where}: there is no item to choose; give at least one")
    return found


def has_items(x: Tensor, dim: int | tuple[int, ...]) -> bool:
    """Whether there is any item along `dim`."""
    return 0 not in [x.shape[one] for one in (dim if isinstance(dim, tuple) else (dim,))]


def concat(parts: list[Tensor], dim: int) -> Tensor:
    """Joins along `dim`, counted from the right; all other dimensions broadcast."""
    moved = [part.movedim(dim, -1) for part in parts]
    shape = torch.broadcast_shapes(*(part.shape[:-1] for part in moved))  # type: ignore[no-untyped-call]
    return torch.cat([part.expand(*shape, part.shape[-1]) for part in moved], -1).movedim(-1, dim)


def pad(x: Tensor, dim: int, left: int, size: int, value: float = 0) -> Tensor:
    """x lengthened along `dim`, counted from the right, to `size`: `left` items before it, the rest behind."""
    right = size - left - x.shape[dim]
    if right < 0:
        raise ValueError(f"pad: {size} items have no room for {x.shape[dim]} and {left} more")
    y = x.movedim(dim, -1)
    before, after = y.new_full((*y.shape[:-1], left), value), y.new_full((*y.shape[:-1], right), value)
    return torch.cat([before, y, after], -1).movedim(-1, dim)


def window(x: Tensor, dim: int, places: int, size: int, stride: int, left: int) -> Tensor:
    """y[s, t] = x[s * stride + t - left] along `dim`, counted from the right, and 0 outside of x."""
    y = x.movedim(dim, -1)
    need = max((places - 1) * stride + size, 0) if places else 0
    right = max(need - left - y.shape[-1], 0)
    y = torch.cat([y.new_zeros(*y.shape[:-1], left), y, y.new_zeros(*y.shape[:-1], right)], -1)
    index = torch.arange(places, device=x.device)[:, None] * stride + torch.arange(size, device=x.device)
    return y[..., index].movedim((-2, -1), (dim - 1, dim))


def argsort(x: Tensor, dim: int, descending: bool = False) -> Tensor:
    """The indices that put x into order along `dim`; equals keep theirs."""
    if torch.onnx.is_in_onnx_export():  # ONNX has one sort, which keeps them, and no rule for ours
        return x.sort(dim=dim, descending=descending).indices
    return x.sort(dim=dim, descending=descending, stable=True).indices


def take_along(x: Tensor, index: Tensor, dim: int) -> Tensor:
    """The items of x at `index` along `dim`, counted from the right; all other dimensions broadcast."""
    rank = max(x.dim(), index.dim())
    x, index = x[(None,) * (rank - x.dim())], index[(None,) * (rank - index.dim())]
    x, index = x.movedim(dim, -1), index.movedim(dim, -1)
    shape = torch.broadcast_shapes(x.shape[:-1], index.shape[:-1])  # type: ignore[no-untyped-call]
    return x.expand(*shape, x.shape[-1]).gather(-1, index.expand(*shape, index.shape[-1])).movedim(-1, dim)


class GroupedLinear(nn.Module):
    """A linear map for each group: [..., groups, in] -> [..., groups, out], initialised as nn.Linear is."""

    def __init__(self, groups: tuple[int, ...], fan_in: int, fan_out: int, bias: bool = True) -> None:
        super().__init__()
        bound = fan_in**-0.5 if fan_in else 0.0
        self.weight = nn.Parameter(torch.empty(*groups, fan_out, fan_in).uniform_(-bound, bound))
        self.bias = nn.Parameter(torch.empty(*groups, fan_out).uniform_(-bound, bound)) if bias else None

    def forward(self, x: Tensor) -> Tensor:
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
