"""What is computed for each of several groups (experts), done for the rows that picked the group, and for no others."""

import math

import numpy as np

from .arrays import Array


class Dispatch:
    """Rows by what they picked. `back(map(rows(x)))` is `map` of each row, and for each of its picks.

    Of picks [*items, ranks] among so many groups, each a row, those that are kept: what comes back is 0 for the others.
    Between `rows` and `back` values are [n, *own], sorted by group.
    """

    def __init__(self, picks: Array, groups: int, kept: Array | None = None) -> None:
        self.shape, self.groups = picks.shape, groups
        self.items = math.prod(picks.shape[:-1])
        if kept is not None:
            picks = np.where(kept, picks, groups)
        picks = picks.reshape(-1)
        order = picks.argsort(kind="stable")
        ends = np.searchsorted(picks[order], np.arange(groups), side="right").tolist()
        n = ends[-1]
        self.order = order[:n]  # of sorted rows: which picks they are
        self.which = picks[self.order].clip(0)  # and which group they picked
        self.inverse = np.full(len(picks), n)  # of picks: which of the sorted rows they are
        self.inverse[self.order] = np.arange(n)
        starts = [0, *ends]
        self.runs = [(group, starts[group], ends[group]) for group in range(groups) if starts[group] < ends[group]]

    def rows(self, x: Array, own: int, grouped: bool = False) -> Array:
        """x [*items, *own] for the rows; grouped: x [*items, groups, *own], of which each row gets what it picked.

        Items may be missing from x, or 1, where it is the same for all.
        """
        sizes = x.shape[x.ndim - own :]
        of = self.order // self.shape[-1]  # which item each row is of
        taken: Array
        if not grouped:
            taken = np.broadcast_to(x, (*self.shape[:-1], *sizes)).reshape(self.items, *sizes)[of]
            return taken
        if math.prod(x.shape[: x.ndim - own - 1]) == 1:
            taken = x.reshape(self.groups, *sizes)[self.which]
            return taken
        every = np.broadcast_to(x, (*self.shape[:-1], self.groups, *sizes)).reshape(self.items, self.groups, *sizes)
        taken = every[of, self.which]
        return taken

    def back(self, y: Array) -> Array:
        """y [n, *own] as [*items, ranks, *own]."""
        if len(y) < len(self.inverse):
            y = np.concatenate([y, np.zeros((1, *y.shape[1:]), y.dtype)])
        back: Array = y[self.inverse]
        return back.reshape(*self.shape, *y.shape[1:])

    def weighed(self, y: Array, weights: Array) -> Array:
        """y [n, *own] times weights [*items, ranks], added up over the ranks: [*items, *own]."""
        flat = self.back(y).reshape(*self.shape, math.prod(y.shape[1:]))
        summed: Array = np.matmul(weights[..., None, :], flat).reshape(*self.shape[:-1], *y.shape[1:])
        return summed

    def product(self, x: Array, weight: Array, bias: Array | None = None) -> Array:
        """x [n, *own, in] times weight [groups, out, in] plus bias [groups, out] of each row: [n, *own, out]."""
        y = np.empty((*x.shape[:-1], weight.shape[-2]), np.result_type(x, weight))
        for group, start, end in self.runs:
            if x.ndim == 2 and end - start == 1:  # with one vector NumPy is done sooner
                np.dot(weight[group], x[start], out=y[start])
            else:
                np.matmul(x[start:end], weight[group].T, out=y[start:end])
        return y if bias is None else y + bias[self.which].reshape(-1, *[1] * (x.ndim - 2), weight.shape[-2])
