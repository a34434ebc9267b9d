"""What comes into a model of generated NumPy code, and what is captured inside it."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from .arrays import Array


def check_inputs(
    model: str,
    inputs: dict[str, tuple[Array | None, str, str]],
    sizes: dict[str, int] | None = None,
    bounds: dict[str, int] | None = None,
    copies: dict[str, str] | None = None,
) -> tuple[int, ...]:
    """Refuses inputs that are not what the model declares; returns the extents of their common batch axes.

    inputs: for each, the array, its kind ("real", "bool", "int" or "index vocab"; "?" if it may be None) and its axes
            ("source model").
    sizes: extents known in advance; bounds: the largest allowed; copies: for an axis, another one of equal extent.
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
        if not isinstance(x, np.ndarray | np.generic):
            raise TypeError(f"{shown} is of type {type(x).__name__}, but must be a NumPy array")
        if x.dtype.kind not in {"real": "fV", "bool": "b"}.get(kind, "iu"):  # V: bfloat16 and its like
            wanted = {"real": "reals", "bool": "truth values"}.get(kind, "integers")
            wanted += f": it is an {kind.replace('index ', 'index into ')}" if kind.startswith("index ") else ""
            raise TypeError(f"{shown} is {x.dtype}, but must hold {wanted}")
        if x.ndim < len(axes):
            raise ValueError(f"{shown} has rank {x.ndim}, but needs at least {len(axes)}: [{', '.join(axes)}]")
        split = x.ndim - len(axes)
        if batch is None:
            batch, first = x.shape[:split], name
        elif x.shape[:split] != batch:
            raise ValueError(f"{shown} has the batch axes {x.shape[:split]}, but `{first}` has {batch}")
        for axis, extent in zip(axes, x.shape[split:], strict=True):
            known = copies.get(axis, axis)
            size, other = found.setdefault(known, (extent, name))
            if extent != size:
                also = f"`{other}` has {known} = {size}" if other else f"this model has {known} = {size}"
                raise ValueError(f"{shown} has {axis} = {extent}, but {also}")
            if axis in bounds and extent > bounds[axis]:
                raise ValueError(f"{shown} has {axis} = {extent}, but {axis} is at most {bounds[axis]}")
    for name, (x, kind, _) in inputs.items():
        if x is None or not kind.startswith("index "):
            continue
        axis = kind.removesuffix("?")[6:]
        size, _ = found.get(copies.get(axis, axis), (0, ""))
        if copies.get(axis, axis) in found and x.size and (x.min() < 0 or x.max() >= size):
            place = [int(i) for i in np.argwhere((x < 0) | (x >= size))[0]]
            worst = int(x[tuple(place)])
            raise IndexError(f"{model}: `{name}`: {worst} at {place} is no index into {axis} (0..{size - 1})")
    return batch or ()


def check_lengths(model: str, name: str, lengths: Array, axis: str, extent: int) -> Array:
    """The lengths as int64; refuses those that the arrays have no room for."""
    lengths = np.asarray(lengths)
    bad = (lengths < 0) | (lengths > extent)
    if bad.any():
        place = [int(i) for i in np.argwhere(bad)[0]]
        raise ValueError(
            f"{model}: `{name}`: {int(lengths[tuple(place)])} at {place} is no length: {axis} = {extent} here"
        )
    return lengths.astype(np.int64)


def check_index(index: Array | int, size: int, where: str) -> None:
    """Refuses a computed index outside 0 .. size - 1: NumPy would wrap a negative one round."""
    index = np.asarray(index)
    bad = (index < 0) | (index >= size)
    if bad.any():
        worst = int(index[bad].flat[0])
        raise IndexError(f"{where}: {worst} is no index ({f'0..{size - 1}' if size else 'there is no item'})")


def check_ragged_index(index: Array | int, lengths: Array, where: str, valid: Array | bool = True) -> None:
    """Refuses a computed index outside the items of its own example; of what is not `valid` none is wrong."""
    index, lengths, valid = np.broadcast_arrays(index, lengths, valid)
    bad = ((index < 0) | (index >= lengths)) & valid
    if bad.any():
        worst, size = int(index[bad].flat[0]), int(lengths[bad].flat[0])
        raise IndexError(f"{where}: {worst} is no index ({f'0..{size - 1}' if size else 'there is no item'})")


def check_examples(ok: Array | bool, message: str, *shown: Array | float) -> None:
    """Refuses a batch in which this is false of an example; `{}` in the message stands for each number shown of it."""
    ok, *values = np.broadcast_arrays(ok, *shown)
    if not ok.all():
        place = [int(i) for i in np.argwhere(~ok)[0]]
        which = f" (the example at {place})" if place else ""
        raise ValueError(message.format(*(value[tuple(place)] for value in values)) + which)


class Captured(NamedTuple):
    """A value from inside the model: its dimensions are the batch axes, then `axes`."""

    value: Array
    axes: tuple[str, ...]


def captured(value: Array, batch: tuple[int, ...], dims: tuple[str, ...], kept: tuple[str, ...]) -> Captured:
    """A recorded value with the batch and the axes along which it varies: `kept`, of all that it may have, `dims`."""
    value = value[(None,) * (len(batch) + len(dims) - value.ndim)]
    value = np.broadcast_to(value, (*batch, *value.shape[len(batch) :]))
    left = list(kept)
    for place, axis in reversed(list(enumerate(dims))):
        if left and left[-1] == axis:
            left.pop()
        else:
            value = value[(slice(None),) * (len(batch) + place) + (0,)]
    return Captured(value, kept)
