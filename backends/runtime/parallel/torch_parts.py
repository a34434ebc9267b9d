"""Collectives of a model that is split over the devices of a mesh, each with what its gradient takes in its place.

A tensor is a *part* along an axis of the mesh where each of its devices has some of the items of one dimension; else
it is whole: the same on each. What is whole has the gradient of the whole, what is a part that of its part.

The functions take the name of an axis of the mesh, that of the model whose code calls them; what is sent for gradients
goes to the same devices, whichever models have run since.

PyTorch gives `Function.apply` no types: hence the ignores.
"""

from __future__ import annotations

from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor
from torch.autograd import Function

from .torch_running import running_model
from .torch_training import refuse_uneven

# of two names that PyTorch has for each, the first is new, and the second warns where that is there
_all_gather = getattr(dist, "all_gather_single", None) or dist.all_gather_into_tensor
_reduce_scatter = getattr(dist, "reduce_scatter_single", None) or dist.reduce_scatter_tensor


def devices_along(axis: str) -> dist.ProcessGroup:
    """The group of the devices along an axis of the mesh. Raises RuntimeError where no divided model runs."""
    return running_model().mesh.get_group(axis)


def device_count(axis: str) -> int:
    """How many devices there are along an axis of the mesh."""
    return dist.get_world_size(devices_along(axis))


def _summed(x: Tensor, group: dist.ProcessGroup) -> Tensor:
    total = x.contiguous().clone()
    dist.all_reduce(total, group=group)
    return total


def _gathered(x: Tensor, dim: int, group: dist.ProcessGroup) -> Tensor:
    count = dist.get_world_size(group)
    x = x.contiguous()
    found = x.new_empty((count * x.shape[0], *x.shape[1:])) if x.dim() else x.new_empty(count)
    _all_gather(found, x, group=group)
    return torch.cat(found.chunk(count), dim) if dim % max(x.dim(), 1) else found


def _scattered(x: Tensor, dim: int, group: dist.ProcessGroup) -> Tensor:
    """The sum over devices, of which each keeps its part."""
    count = dist.get_world_size(group)
    parts = torch.cat(x.chunk(count, dim)) if dim % x.dim() else x.contiguous()
    found = parts.new_empty((parts.shape[0] // count, *parts.shape[1:]))
    _reduce_scatter(found, parts, group=group)
    return found


def _own(x: Tensor, dim: int, group: dist.ProcessGroup) -> Tensor:
    return x.chunk(dist.get_world_size(group), dim)[dist.get_rank(group)].contiguous()


def _exchanged(x: Tensor, dim: int, other: int, group: dist.ProcessGroup) -> Tensor:
    """Parts along `dim` become parts along `other`."""
    given = torch.stack(x.chunk(dist.get_world_size(group), other)).contiguous()
    found = torch.empty_like(given)
    dist.all_to_all_single(found, given, group=group)
    return torch.cat(found.unbind(), dim)


class _Enter(Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, group: dist.ProcessGroup) -> Tensor:
        ctx.group = group
        return x.view_as(x)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None]:
        return _summed(grad, ctx.group), None


class _Sum(Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, group: dist.ProcessGroup) -> Tensor:
        return _summed(x, group)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None]:
        return grad, None


class _SumToParts(Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, dim: int, group: dist.ProcessGroup) -> Tensor:
        ctx.dim, ctx.group = dim, group
        return _scattered(x, dim, group)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None, None]:
        return _gathered(grad, ctx.dim, ctx.group), None, None


class _Gather(Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, dim: int, group: dist.ProcessGroup, parts: bool) -> Tensor:
        ctx.dim, ctx.group, ctx.parts = dim, group, parts
        return _gathered(x, dim, group)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None, None, None]:
        back = _scattered if ctx.parts else _own
        return back(grad, ctx.dim, ctx.group), None, None, None


class _Own(Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, dim: int, group: dist.ProcessGroup) -> Tensor:
        ctx.dim, ctx.group = dim, group
        return _own(x, dim, group)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None, None]:
        return _gathered(grad, ctx.dim, ctx.group), None, None


class _Exchange(Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, dim: int, other: int, group: dist.ProcessGroup) -> Tensor:
        ctx.dim, ctx.other, ctx.group = dim, other, group
        return _exchanged(x, dim, other, group)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None, None, None]:
        return _exchanged(grad, ctx.other, ctx.dim, ctx.group), None, None, None


def enter_parts(x: Tensor, axis: str) -> Tensor:
    """What is whole, to be used by parts: the gradients of these are summed."""
    return _Enter.apply(x, devices_along(axis))  # type: ignore[no-any-return, no-untyped-call]


def sum_parts(x: Tensor, axis: str) -> Tensor:
    """The sum over devices, on each of them."""
    return _Sum.apply(x, devices_along(axis))  # type: ignore[no-any-return, no-untyped-call]


def sum_to_parts(x: Tensor, dim: int, axis: str, of: str = "") -> Tensor:
    """The sum over devices, of which each keeps its part along `dim`. of: what that is called, if it is a width."""
    refuse_uneven(f"`{of}`", x.shape[dim], axis, device_count(axis))
    return _SumToParts.apply(x, dim, devices_along(axis))  # type: ignore[no-any-return, no-untyped-call]


def gather_parts(x: Tensor, dim: int, axis: str, used_by_parts: bool = True) -> Tensor:
    """The whole of the parts along `dim`. used_by_parts: so that its gradients differ by device, and are summed."""
    return _Gather.apply(x, dim, devices_along(axis), used_by_parts)  # type: ignore[no-any-return, no-untyped-call]


def own_part(x: Tensor, dim: int, axis: str, used_by_parts: bool = False, of: str = "") -> Tensor:
    """Of what is whole the part of this device along `dim`. used_by_parts: the whole has the gradient of this part.
    of: what `dim` is called, if it is a width.
    """
    refuse_uneven(f"`{of}`", x.shape[dim], axis, device_count(axis))
    if used_by_parts:
        return _own(x, dim, devices_along(axis))
    return _Own.apply(x, dim, devices_along(axis))  # type: ignore[no-any-return, no-untyped-call]


def exchange_parts(x: Tensor, dim: int, other: int, axis: str, of: str = "") -> Tensor:
    """Parts along `dim` as parts along `other`. of: what that is called, if it is a width."""
    refuse_uneven(f"`{of}`", x.shape[other], axis, device_count(axis))
    return _Exchange.apply(x, dim, other, devices_along(axis))  # type: ignore[no-any-return, no-untyped-call]


def largest_of_parts(x: Tensor, axis: str, largest: bool = True) -> Tensor:
    """The largest (or smallest) over devices; without a gradient."""
    found = x.detach().contiguous().clone()
    dist.all_reduce(found, dist.ReduceOp.MAX if largest else dist.ReduceOp.MIN, group=devices_along(axis))
    return found


def own_place(axis: str) -> int:
    """The number of this device along an axis of the mesh."""
    return dist.get_rank(devices_along(axis))
