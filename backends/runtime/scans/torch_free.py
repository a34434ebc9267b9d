"""Scans in a graph that leaves their width open, as torch.export makes it: no loop may follow the width.

What a loop does elsewhere is done in groups of a known size, group beside group, and then between groups by their
pairs; a network by the op that graphs have for loops. PyTorch must see of each shape that it is right whatever the
width: so items are picked by their places, and there is a group more than needed, which tells it that there are two.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
import torch.nn.functional as F
from torch import Tensor

from ..torch.ops import is_free

GROUP = 16  # items or chunks that are done one by one
LOOPS = torch.__version__ >= "2.13"  # gradients of its loop are wrong in PyTorch 2.11, and 2.6 has none


def leaves_open(n: int) -> bool:
    """Whether torch.export makes a graph that is to hold for more than n. torch.compile makes one for each n."""
    return bool(getattr(torch.compiler, "_is_exporting_flag", False)) and is_free(n)


def is_walked(n: int) -> bool:
    """Whether such a graph can have a loop of n steps."""
    return LOOPS and leaves_open(n)


def in_groups(x: Tensor, dim: int, size: int, fill: float = 0) -> Tensor:
    """[.., n, ..] -> [.., groups, size, ..] at dim (from the right), filled up behind the last item."""
    n = x.shape[dim]
    places = torch.arange((n - 1) // size * size + 2 * size, device=x.device).clamp(max=n)
    x = F.pad(x, [0, 0] * (-dim - 1) + [0, 1], value=fill).index_select(dim, places)
    return x.unfold(dim, size, size).movedim(-1, dim)


def out_of_groups(x: Tensor, dim: int, n: int) -> Tensor:
    """The first n items of [.., groups, size, ..], size at dim (from the right)."""
    place = torch.arange(n, device=x.device)
    size = x.shape[dim]
    return x.movedim((dim - 1, dim), (0, 1))[place // size, place % size].movedim(0, dim)


def numbered(x: Tensor, dim: int) -> Tensor:
    """0, 1, .. along dim (from the right), with size 1 behind."""
    place = torch.arange(x.shape[dim], device=x.device)
    for _ in range(-dim - 1):
        place = place.unsqueeze(-1)
    return place


def along(x: Tensor, dim: int, n: int) -> Tensor:
    """x for each of n items along dim (from the right), where it may be the same for all."""
    x = x.movedim(dim, -1)
    return x.expand(*x.shape[:-1], n).movedim(-1, dim)


def with_first(x: Tensor, dim: int, more: Tensor) -> Tensor:
    """x with more added to its first item along dim (from the right)."""
    return torch.where(numbered(x, dim) == 0, x + more.unsqueeze(dim), x)


def before_each(x: Tensor, dim: int, first: Tensor | None = None) -> Tensor:
    """Of each item along dim (from the right) the one before it; of the first `first`, or 0."""
    x = F.pad(x, [0, 0] * (-dim - 1) + [1, -1])
    return x if first is None else torch.where(numbered(x, dim) == 0, first.unsqueeze(dim), x)


def faded(decay: Tensor, x: Tensor, dim: int, depth: int) -> Tensor:
    """y = decay y + x along dim (from the right): in groups, in groups of groups, `depth` times, then by pairs.

    decay: like x, or of size 1 in other dimensions.
    """
    if not depth:
        place = numbered(x, dim)
        to = place.unsqueeze(dim)
        later = (to > place).to(x.dtype)
        left = torch.addcmul(1 - later, decay.unsqueeze(dim), later).cumprod(dim - 1) * (to >= place)
        return (left * x.unsqueeze(dim - 1)).sum(dim)
    decays = in_groups(decay, dim, GROUP)
    found: list[Tensor] = []
    for left, one in zip(decays.unbind(dim), in_groups(x, dim, GROUP).unbind(dim), strict=True):
        found.append(torch.addcmul(one, left, found[-1]) if found else one)
    y, since = torch.stack(found, dim), decays.cumprod(dim)
    ends = faded(since.select(dim, -1), found[-1], dim, depth - 1)
    return out_of_groups(y + since * before_each(ends, dim).unsqueeze(dim), dim, x.shape[dim])


def mapped(maps: Tensor, x: Tensor, first: Tensor | None) -> Tensor:
    """y before each item, where y = map y + x: maps [.., n, d, d], x [.., n, d, e], first [.., d, e].

    What y is behind each group solves one system, whose matrix has the map of a group before that of its own y.
    """
    if first is not None:
        first = first.expand(*first.shape[:-2], *x.shape[-2:])
        x = with_first(x, -3, maps.select(-3, 0) @ first)
    ms, xs = (in_groups(one, -3, GROUP).unbind(-3) for one in (maps, x))
    m, end = ms[0], xs[0]
    for more, one in zip(ms[1:], xs[1:], strict=True):
        m, end = more @ m, more @ end + one
    d, group = m.shape[-1], torch.arange(m.shape[-3], device=x.device)
    at = torch.arange(m.shape[-3] * d, device=x.device)
    row, column = at // d, at % d
    system = -m[..., row, column, :][..., column] * (row.unsqueeze(-1) == row + 1)
    ends = torch.linalg.solve_triangular(system, end[..., row, column, :], upper=False, unitriangular=True)
    ends = ends[..., (group * d).unsqueeze(-1) + torch.arange(d, device=x.device), :]
    found = [before_each(ends, -3)]
    for more, one in zip(ms[:-1], xs[:-1], strict=True):
        found.append(more @ found[-1] + one)
    y = out_of_groups(torch.stack(found, -3), -3, maps.shape[-3])
    return y if first is None else with_first(y, -3, first)


def walked(step: Callable[..., tuple[Tensor, ...]], states: tuple[Tensor, ...], items: Sequence[Tensor]) -> Tensor:
    """The first of the states behind each item, [n, ..]: step(states, item of each) gives those behind one."""
    from torch._higher_order_ops.scan import scan

    def walk(states: tuple[Tensor, ...], items: list[Tensor]) -> tuple[tuple[Tensor, ...], Tensor]:
        states = step(states, items)
        return states, states[0].clone()

    found: Tensor
    _, found = scan(walk, states, list(items))
    return found
