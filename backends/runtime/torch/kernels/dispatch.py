"""What is computed for each of several groups (experts), done for the rows that picked the group, and for no others.

Rows are sorted by the group that they picked, so that each group multiplies one block of rows by its matrix. On a CPU,
128 groups of 32 rows: PyTorch's grouped product takes 1.6 to 2 times as long as one product of all rows with one
matrix, a loop of `mm` 2.6 to 3 times; one row with the matrices that it picked is faster in a loop. Matrices gathered
for each row (`bmm`) take 3 times as long for one row, and 40 times for 512. PyTorch's grouped product has gradients of
its own, but refuses one that is expanded, and double precision.

PyTorch gives `Function.apply` no types: hence the ignores.
"""

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from ..ops import is_traced


class Dispatch:
    """Rows by what they picked. `back(map(rows(x)))` is `map` of each row, and for each of its picks.

    Of picks [*items, ranks] among so many groups, each a row, those that are kept: what comes back is 0 for the others,
    or it is what their group makes of them: nothing that counts. Between `rows` and `back` values are [n, *own], sorted
    by group. Where PyTorch traces, and the numbers of rows are not to be known, every group is given every row.
    counted: how many there are is waited for, on a GPU, too, as rows are sent elsewhere or left to other devices.
    """

    def __init__(self, picks: Tensor, groups: int, kept: Tensor | None = None, counted: bool = False) -> None:
        self.shape, self.groups = picks.shape, groups
        self.items = picks.shape[:-1].numel()
        self.order: Tensor | None = None  # of sorted rows: which picks they are
        self.inverse: Tensor | None = None  # of picks: which of the sorted rows they are
        self.which: Tensor  # of sorted rows: which group they picked
        self.ends: Tensor  # of groups: where their rows end
        self.alone: list[int] | None = None  # one item's picks, unsorted, where no gradient is wanted
        self.every = is_traced() or picks.is_meta
        self.kept = kept if counted and self.every else None
        known = counted or not picks.is_cuda  # how many rows there are
        if kept is not None and known and not self.every:
            picks = torch.where(kept, picks, groups)
        picks = picks.reshape(-1)
        if self.every:
            self.picks = picks.clamp(0, groups - 1).reshape(self.items, self.shape[-1])
            self.which = torch.arange(groups, device=picks.device).repeat_interleave(self.items)
            return
        if self.items == 1 and not counted and not picks.is_cuda and not torch.is_grad_enabled():
            self.which = picks.clamp(0, groups - 1)
            self.alone = self.which.tolist()
            return
        self.which, self.order = picks.sort(stable=True)
        if kept is not None and not known:  # how many are kept would have to be waited for: all are computed
            self.which = self.which.clamp(0, groups - 1)
        self.ends = torch.searchsorted(self.which, _places(groups, picks), right=True, out_int32=True)
        n = len(picks) if kept is None or not known else int(self.ends[-1])
        self.which, self.order = self.which[:n], self.order[:n]
        self.inverse = torch.full_like(picks, n).scatter_(0, self.order, _places(n, picks))

    def counts(self) -> Tensor:
        """How many rows each group has, [groups], int64."""
        return self.ends.long().diff(prepend=self.ends.new_zeros(1, dtype=torch.int64))

    def rows(self, x: Tensor, own: int, grouped: bool = False) -> Tensor:
        """x [*items, *own] for the rows; grouped: x [*items, groups, *own], of which each row gets what it picked.

        Items may be missing from x, or 1, where it is the same for all.
        """
        sizes = x.shape[x.dim() - own :]
        if grouped:
            if x.shape[: x.dim() - own - 1].numel() == 1:
                return x.reshape(self.groups, *sizes).index_select(0, self.which)
            x = x.expand(*self.shape[:-1], self.groups, *sizes).reshape(-1, *sizes)
            return x.index_select(0, self._items() * self.groups + self.which)
        x = x.expand((*self.shape[:-1], *sizes)).reshape(self.items, *sizes)
        if self.every:
            return x.repeat(self.groups, *[1] * own)
        if self.order is None:
            return x.expand(self.shape[-1], *sizes)
        taken: Tensor = TakenRows.apply(x, self)  # type: ignore[no-untyped-call]
        return taken

    def _items(self) -> Tensor:
        """Which item each of the rows is of."""
        if self.every:
            return torch.arange(self.items, device=self.which.device).repeat(self.groups)
        if self.order is None:
            return torch.zeros_like(self.which)
        return self.order // self.shape[-1]

    def back(self, y: Tensor) -> Tensor:
        """y [n, *own] as [*items, ranks, *own]."""
        own = y.shape[1:]
        if self.every:
            y = y.reshape(self.groups, self.items, *own).transpose(0, 1)
            index = self.picks.reshape(*self.picks.shape, *[1] * len(own)).expand(*self.picks.shape, *own)
            y = y.gather(1, index)
            if self.kept is not None:
                y = torch.where(self.kept.reshape(self.items, -1, *[1] * len(own)), y, 0)
        elif self.inverse is not None:
            if len(y) < len(self.inverse):
                y = torch.cat([y, y.new_zeros(1, *own)])
            y = y.index_select(0, self.inverse)
        return y.reshape(*self.shape, *own)

    def weighed(self, y: Tensor, weights: Tensor) -> Tensor:
        """y [n, *own] times weights [*items, ranks], added up over the ranks: [*items, *own]."""
        sizes = *self.shape[:-1], *y.shape[1:]
        y = y.reshape(len(y), y.shape[1:].numel())
        if self.inverse is not None and 0 < len(y) == len(self.inverse) and y.is_cpu and y.dtype is weights.dtype:
            weights = weights.expand(self.shape).reshape(self.items, -1)
            made: Tensor = WeighedRows.apply(y, weights, self)  # type: ignore[no-untyped-call]
            return made.reshape(sizes)
        return torch.einsum("...r,...rm->...m", weights, self.back(y)).reshape(sizes)

    def product(self, x: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
        """x [n, *own, in] times weight [groups, out, in] plus bias [groups, out] of each row: [n, *own, out]."""
        if not self.every and torch.is_autocast_enabled(x.device.type):
            dtype = torch.get_autocast_dtype(x.device.type)
            x, weight, bias = x.to(dtype), weight.to(dtype), None if bias is None else bias.to(dtype)
        many = x.shape[1:-1].numel()  # products of each row
        flat = x.reshape(-1, x.shape[-1])
        if self.every:
            y = (x.reshape(self.groups, -1, x.shape[-1]) @ weight.mT).flatten(0, 1)
        elif self.alone is not None:
            y = x.new_empty(len(x), many, weight.shape[1])
            for group, row, to in zip(self.alone, flat.reshape(len(x), many, x.shape[-1]), y, strict=True):
                torch.mm(row, weight[group].mT, out=to)
        else:
            y = GroupedProduct.apply(flat, weight, self.ends * many)  # type: ignore[no-untyped-call]
        y = y.reshape(*x.shape[:-1], weight.shape[-2])
        return y if bias is None else self.biased(y, bias)

    def biased(self, y: Tensor, bias: Tensor) -> Tensor:
        """y [n, *own, out] plus bias [groups, out] of each row."""
        return y + bias.index_select(0, self.which).reshape(-1, *[1] * (y.dim() - 2), bias.shape[-1])


def _places(n: int, like: Tensor) -> Tensor:
    return torch.arange(n, device=like.device)


class TakenRows(torch.autograd.Function):
    """The items of sorted rows. Its gradient is sorted back, and added up for each item: no index is added to."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, rows: Dispatch) -> Tensor:
        assert rows.order is not None
        ctx.rows, ctx.own = rows, x.dim() - 1
        return x.index_select(0, rows.order // rows.shape[-1])

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None]:
        back = ctx.rows.back(grad)
        return back.reshape(ctx.rows.items, ctx.rows.shape[-1], *grad.shape[1:]).sum(1), None


class WeighedRows(torch.autograd.Function):
    """The sum of each item's rows of y [n, own], times weights [items, ranks]: rows are read where they lie."""

    @staticmethod
    def forward(ctx: Any, y: Tensor, weights: Tensor, rows: Dispatch) -> Tensor:
        assert rows.inverse is not None
        ctx.save_for_backward(y, weights)
        ctx.rows = rows
        starts = torch.arange(0, weights.numel(), weights.shape[1])
        flat = weights.reshape(-1)
        return torch.embedding_bag(y, rows.inverse, starts, mode=0, per_sample_weights=flat)[0]  # 0: added up

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, Tensor, None]:
        (y, weights), rows = ctx.saved_tensors, ctx.rows
        grad = grad.index_select(0, rows.order // rows.shape[-1])
        of_weights = torch.linalg.vecdot(y, grad).index_select(0, rows.inverse).reshape(weights.shape)
        return grad * weights.reshape(-1).index_select(0, rows.order)[:, None], of_weights, None


class GroupedProduct(torch.autograd.Function):
    """x [n, in], of which the rows of each group end at `ends`, times weight[group].T [in, out]: [n, out]."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor, ends: Tensor) -> Tensor:
        ctx.save_for_backward(x, weight, ends)
        if has_kernel(x, weight.mT):
            return F.grouped_mm(x, weight.mT, offs=ends)
        y = x.new_empty(len(x), weight.shape[1])
        for group, start, end in blocks(ends):
            torch.mm(x[start:end], weight[group].mT, out=y[start:end])
        return y

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, Tensor | None, None]:
        x, weight, ends = ctx.saved_tensors
        for_x, for_weight, _ = ctx.needs_input_grad
        grad = grad.contiguous()
        return (
            GroupedProduct.apply(grad, weight.mT, ends) if for_x else None,  # type: ignore[no-untyped-call]
            GroupedOuter.apply(grad, x, ends) if for_weight else None,  # type: ignore[no-untyped-call]
            None,
        )


class GroupedOuter(torch.autograd.Function):
    """y[rows].T x[rows] of each group's rows, of y [n, out] and x [n, in]: [groups, out, in]."""

    @staticmethod
    def forward(ctx: Any, y: Tensor, x: Tensor, ends: Tensor) -> Tensor:
        ctx.save_for_backward(y, x, ends)
        if has_kernel(y.mT, x):
            return F.grouped_mm(y.mT, x, offs=ends)
        made = x.new_zeros(len(ends), y.shape[1], x.shape[1])
        for group, start, end in blocks(ends):
            torch.mm(y[start:end].mT, x[start:end], out=made[group])
        return made

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, Tensor, None]:
        y, x, ends = ctx.saved_tensors
        of_y: Tensor = GroupedProduct.apply(x, grad, ends)  # type: ignore[no-untyped-call]
        return of_y, GroupedProduct.apply(y, grad.mT, ends), None  # type: ignore[no-untyped-call]


def blocks(ends: Tensor) -> list[tuple[int, int, int]]:
    """The groups that have rows: which, and where these start and end."""
    last = ends.tolist()
    return [
        (group, start, end) for group, (start, end) in enumerate(zip([0, *last], last, strict=False)) if start < end
    ]


def has_kernel(a: Tensor, b: Tensor) -> bool:
    """Whether PyTorch's own grouped product takes these: no double precision, some rows, and aligned."""
    if not hasattr(F, "grouped_mm") or a.dtype is not b.dtype or not a.numel():
        return False
    if a.dtype is not torch.bfloat16 and (a.is_cuda or a.dtype is not torch.float32):
        return False
    sizes = {size for x in (a, b) for size in x.stride() if size != 1}
    return all(size * a.element_size() % 16 == 0 for size in sizes) and a.data_ptr() % 16 == b.data_ptr() % 16 == 0
