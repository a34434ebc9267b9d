"""Rows of experts that other devices hold, sent to these and back, each with its gradient.

Along an axis of the mesh each device has items of its own, and an equal part of the experts, in order. First each tells
the others how many of its rows picked which expert; then rows go to the devices of the experts that they picked, are
sorted by expert there, and what is made of them goes back. Only rows that were picked are sent.

PyTorch gives `Function.apply` no types: hence the ignores.
"""

from __future__ import annotations

from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor
from torch.autograd import Function

from ..torch.kernels.dispatch import Dispatch
from .torch_parts import device_count, devices_along


def _counts_traded(counts: Tensor, group: dist.ProcessGroup) -> Tensor:
    """counts [devices, experts of each]: what each device has for the experts of this one, [devices, experts]."""
    found = torch.empty_like(counts)
    dist.all_to_all_single(found, counts.contiguous(), group=group)
    return found


def _rows_traded(x: Tensor, give: list[int], take: list[int], group: dist.ProcessGroup) -> Tensor:
    """Rows x [n, *own]: the first `give[0]` go to the first device, and so on; those of each device in turn."""
    found = x.new_empty(sum(take), *x.shape[1:])
    dist.all_to_all_single(found, x.contiguous(), take, give, group=group)
    return found


class SentRows(Dispatch):
    """The rows, of all devices along an axis of the mesh, that picked experts of this device, sorted by expert.

    home: those of this device, by all experts that the devices along the axis have together. came: of sorted rows which
    of those that came they are; going: of those that came which of the sorted ones.
    """

    def __init__(self, home: Dispatch, group: dist.ProcessGroup, devices: int) -> None:
        self.group, self.every, self.alone = group, home.every, None
        self.groups = home.groups // devices
        if home.every:  # all rows to each expert: how many is known, and so is their order
            many = home.items * self.groups
            self.give = self.take = [many] * devices
            self.items = home.items * devices
            places = torch.arange(many * devices, device=home.which.device)
            self.came = places.reshape(devices, self.groups, home.items).transpose(0, 1).reshape(-1)
            self.which = torch.arange(self.groups, device=places.device).repeat_interleave(self.items)
        else:
            counts = home.counts().reshape(devices, self.groups)
            found = _counts_traded(counts, group)
            self.give, self.take = torch.stack([counts.sum(1), found.sum(1)]).tolist()
            groups = torch.arange(self.groups, device=counts.device).repeat(devices)
            self.which, self.came = groups.repeat_interleave(found.reshape(-1)).sort(stable=True)
            self.ends = found.sum(0).cumsum(0).to(torch.int32)
        self.going = torch.empty_like(self.came)
        self.going[self.came] = torch.arange(len(self.came), device=self.came.device)

    def sent(self, x: Tensor) -> Tensor:
        """Rows [n, *own] of this device as those that its experts are given."""
        return _rows_traded(x, self.give, self.take, self.group).index_select(0, self.came)

    def returned(self, y: Tensor) -> Tensor:
        """What its experts make of rows, as what is made of the rows of this device."""
        return _rows_traded(y.index_select(0, self.going), self.take, self.give, self.group)


class _ToExperts(Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, rows: SentRows) -> Tensor:
        ctx.rows = rows
        return rows.sent(x)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None]:
        return ctx.rows.returned(grad), None


class _FromExperts(Function):
    @staticmethod
    def forward(ctx: Any, y: Tensor, rows: SentRows) -> Tensor:
        ctx.rows = rows
        return rows.returned(y)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None]:
        return ctx.rows.sent(grad), None


def sent_counts(rows: Dispatch, axis: str) -> SentRows:
    """The rows that this device is to be given along an axis of the mesh."""
    return SentRows(rows, devices_along(axis), device_count(axis))


def sent_rows(x: Tensor, rows: SentRows) -> Tensor:
    """Rows [n, *own] of this device as those that its experts are given, [other n, *own]."""
    return _ToExperts.apply(x, rows)  # type: ignore[no-any-return, no-untyped-call]


def returned_rows(y: Tensor, rows: SentRows) -> Tensor:
    """What its experts make of rows, [other n, *own], as what is made of the rows of this device, [n, *own]."""
    return _FromExperts.apply(y, rows)  # type: ignore[no-any-return, no-untyped-call]
