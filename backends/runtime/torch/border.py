"""What comes into a model of generated PyTorch code, and what is captured inside it."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor, nn

from .ops import is_traced


def check_inputs(
    model: str,
    inputs: dict[str, tuple[Tensor | None, str, str]],
    sizes: dict[str, int] | None = None,
    bounds: dict[str, int] | None = None,
    copies: dict[str, str] | None = None,
    weights: nn.Module | None = None,
) -> tuple[int, ...]:
    """Refuses inputs that are not what the model declares; returns the extents of their common batch axes.

    inputs: for each, the tensor, its kind ("real", "bool", "int" or "index vocab"; "?" if it may be None) and its axes
            ("source model").
    sizes: extents known in advance; bounds: the largest allowed; copies: for an axis, another one of equal extent.
    weights: the module that reads them: where its weights lie, and of which type they are.
    """
    batch: tuple[int, ...] | None = None
    first = ""
    bounds, copies = bounds or {}, copies or {}
    found = {axis: (size, "") for axis, size in (sizes or {}).items()}
    for name, (x, kind, spaced) in inputs.items():
        if x is None and kind.endswith("?"):
            continue
        kind, axes = kind.removesuffix("?"), spaced.split()
        shown = f"{model}: `{name}`"
        if not isinstance(x, Tensor):
            raise TypeError(f"{shown} is of type {type(x).__name__}, but must be a torch.Tensor")
        check_kind(shown, x, kind)
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
    given = [(name, x, kind) for name, (x, kind, _) in inputs.items() if x is not None]
    for name, x, _ in given:
        check_place(f"{model}: `{name}`", x, weights)
    for name, x, kind in given:
        if not kind.startswith("index ") or x.device.type != "cpu":
            continue
        axis = kind.removesuffix("?")[6:]
        size, _ = found.get(copies.get(axis, axis), (0, ""))
        bad = (x < 0) | (x >= size)
        if copies.get(axis, axis) in found and bad.any():
            place = bad.nonzero()[0].tolist()
            worst = int(x[tuple(place)])
            raise IndexError(f"{model}: `{name}`: {worst} at {place} is no index into {axis} (0..{size - 1})")
    return batch or ()


def check_place(shown: str, x: Tensor, net: nn.Module | None) -> None:
    """Refuses an input on another device than all weights, or reals of another type: PyTorch multiplies no two types.

    Of weights that are somewhere else until they are used (sharded, offloaded) nothing is known; autocast casts. What a
    loss compares in float32 may stand beside weights of half precision.
    """
    first = next(net.parameters(), None) if net is not None else None
    real = x.is_floating_point()
    if net is None or first is None or (x.device == first.device and (x.dtype == first.dtype or not real)):
        return
    weights = [*net.parameters()]
    if any(type(weight) not in (nn.Parameter, Tensor) or weight.is_meta for weight in weights):
        return
    if all(weight.device != x.device for weight in weights):
        raise ValueError(f"{shown} is on {x.device}, but the weights are on {first.device}: bring one to the other")
    types = [weight.dtype for weight in weights if weight.is_floating_point()]
    wide = x.dtype is torch.float32 and all(dtype.itemsize < 4 for dtype in types)
    if real and types and x.dtype not in types and not wide and not torch.is_autocast_enabled(x.device.type):
        raise TypeError(f"{shown} is {x.dtype}, but the weights are {types[0]}: give it as {types[0]}")


def check_kind(shown: str, x: Tensor, kind: str) -> None:
    """Refuses an input that holds another kind of numbers, or of a type that PyTorch has no ops for."""
    check_dense(shown, x)
    real, truth = x.is_floating_point(), x.dtype == torch.bool
    index = kind.startswith("index ")
    if not (real if kind == "real" else truth if kind == "bool" else not (real or truth or x.is_complex())):
        wanted = {"real": "reals", "bool": "truth values"}.get(kind, "integers")
        wanted += f": it is an {kind.replace('index ', 'index into ')}" if index else ""
        raise TypeError(f"{shown} is {x.dtype}, but must hold {wanted}")
    narrow = (torch.int8, torch.uint8, torch.int16) if index else ()
    if x.dtype in (*narrow, torch.uint16, torch.uint32, torch.uint64):
        use = "index" if narrow else "compute"
        raise TypeError(f"{shown} is {x.dtype}, with which PyTorch does not {use}: give it as torch.int64")


def check_dense(shown: str, x: Tensor) -> None:
    """Refuses a sparse tensor."""
    if x.layout != torch.strided:
        raise TypeError(f"{shown} is {str(x.layout).removeprefix('torch.')}, but must be dense: `.to_dense()`")


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
