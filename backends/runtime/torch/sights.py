"""What blocks of queries see under a mask of positions in generated PyTorch code."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache, partial
from typing import Any

import torch
from torch import Tensor

from ..common.spans import Span, Truth, in_sight
from .ops import is_traced

Runs = list[tuple[int, int, bool]]  # keys from .. to, and whether all queries of a block surely see all of them


def row_sights(
    seen: Callable[..., Any], n: int, m: int, size: int, look: Callable[..., list[Any]], step: int = 64
) -> list[Runs]:
    """For each block of `size` of the n queries, the runs of the m keys in its sight, to multiples of `step`.

    look(q0, q1, k0, k1): what is known of the data of the mask on a tile.
    """
    ends = [(q, min(q + size, n)) for q in range(0, n, size)]
    return [in_sight(seen, *rows, m, step, partial(look, *rows)) for rows in ends]


def look_at(data: Sequence[Tensor]) -> Callable[..., list[Any]]:
    """What is known of the data of a mask on a tile. What does not vary with the queries is looked at once for all."""
    varies = any(x.shape[-2] > 1 for x in data)

    @cache
    def tile(q0: int, q1: int, k0: int, k1: int) -> list[Any]:
        return [look(cut(x, q0, q1, [(k0, k1, False)])) for x in data]

    return lambda q0, q1, k0, k1: tile(*((q0, q1) if varies else (0, 1)), k0, k1)


def look(x: Tensor) -> Any:
    """What is known of all of this data. To look would break a graph, and make a GPU wait: there nothing is known."""
    truth = x.dtype == torch.bool
    if is_traced() or x.device.type != "cpu" or not x.numel():
        return unknown_data(truth)
    return Truth(bool(x.all()), bool(x.any())) if truth else Span(int(x.min()), int(x.max()))


def unknown_data(truth: bool) -> Truth | Span:
    """What is known of data that nobody looked at."""
    return Truth(False, True) if truth else Span(-(2**62), 2**62)


class TruthTensors(torch.overrides.TorchFunctionMode):
    """Makes tensors of truth values that meet tensors: `torch.jit.trace` knows no op of the two."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return func(*(torch.tensor(x) if isinstance(x, bool) else x for x in args), **(kwargs or {}))


def block_mask(
    seen: Callable[..., Any], q0: int, q1: int, runs: Runs, data: Sequence[Tensor], device: torch.device
) -> Tensor | None:
    """The mask [.., q, k] of the queries q0 .. q1 - 1 and the keys of these runs; None if all is seen."""
    if all(every for _, _, every in runs):
        return None
    q = torch.arange(q0, q1, device=device)[:, None]
    k = torch.cat([torch.arange(a, b, device=device) for a, b, _ in runs])[None, :]
    parts = [cut(x, q0, q1, runs) for x in data]
    if torch.compiler.is_compiling() or not torch._C._is_tracing():
        mask: Tensor | bool = seen(q, k, *parts)
    else:
        with TruthTensors():
            mask = seen(q, k, *parts)
    return None if isinstance(mask, bool) else mask


def cut(x: Tensor, q0: int, q1: int, runs: Runs) -> Tensor:
    """The data [.., q, k] of a mask at some queries and runs of keys; a dimension of size 1 is the same for all."""
    x = x[..., q0:q1, :] if x.shape[-2] > 1 else x
    if x.shape[-1] == 1:
        return x
    return torch.cat([x[..., a:b] for a, b, _ in runs], -1) if len(runs) > 1 else x[..., runs[0][0] : runs[0][1]]


def number_data(x: Tensor) -> tuple[tuple[int, ...], list[Any]] | None:
    """The shape and items of data that is whole numbers or truths, the same for all queries and keys.

    None of other data, and where nobody may look at it.
    """
    plain = type(x) is Tensor and x.is_cpu and not x.is_floating_point() and not is_traced()
    return (x.shape, x.flatten().tolist()) if plain and x.shape[-2:] == (1, 1) else None
