"""What a probe tries: which items are changed, and what must stay as it was, for each kind of leak."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass

import torch
from torch import Tensor

from .report import Index, Kind
from .tensors import stays

Tensors = Mapping[str, Tensor]
Dims = Mapping[str, int]


@dataclass(frozen=True)
class Asked:
    """The arguments of `attnc.probe` that say what to look for."""

    axis: int | Mapping[str, int] | None
    batch: int | Mapping[str, int] | None
    padding: str | Tensor | Mapping[str, str | Tensor] | None
    shorter: int
    last: Callable[[int], int] | None
    trials: int


@dataclass(frozen=True)
class Unit:
    """A part of an input that is changed as one: what has these indices in these dimensions."""

    input: str
    dims: Index
    index: Index


@dataclass(frozen=True)
class Trial:
    """Changes of some units, and by the name of each output to look at: what must stay (a mask that spreads to its
    shape), and the dimensions of what is called an item there.
    """

    kind: Kind
    units: tuple[Unit, ...]
    stay: Tensors
    dims: Mapping[str, Index]


def axis_trials(asked: Asked, inputs: Tensors, outputs: Tensors) -> Iterator[Trial]:
    """All from an item on is changed; what may depend on what is before it alone must stay."""
    assert asked.axis is not None
    changed, seen = sides("axis", asked.axis, inputs, outputs, other_sizes=asked.last is not None)
    size = _size("axis", changed, inputs)
    units = [Unit(name, (dim,), (item,)) for item in range(size) for name, dim in changed.items()]
    dims = {name: (dim,) for name, dim in seen.items()}
    for cut in _some(range(1, size), asked.trials):
        stay = {name: before(outputs[name], dim, asked.last, cut) for name, dim in seen.items()}
        if any(mask.any() for mask in stay.values()):
            yield Trial("axis", tuple(unit for unit in units if unit.index[0] >= cut), stay, dims)


def before(output: Tensor, dim: int, last: Callable[[int], int] | None, cut: int) -> Tensor:
    """Which items of an output depend on items before a cut alone."""
    items = [(item if last is None else last(item)) < cut for item in range(output.shape[dim])]
    return _along(torch.tensor(items), dim, output.ndim)


def batch_trials(asked: Asked, inputs: Tensors, outputs: Tensors) -> Iterator[Trial]:
    """All examples but one are changed; that one must stay."""
    assert asked.batch is not None
    changed, seen = sides("batch", asked.batch, inputs, outputs)
    size = _size("batch", changed, inputs)
    dims = {name: (dim,) for name, dim in seen.items()}
    for example in _some(range(size), asked.trials):
        units = [
            Unit(name, (dim,), (each,)) for each in range(size) for name, dim in changed.items() if each != example
        ]
        alone = torch.arange(size) == example
        yield Trial("batch", tuple(units), {n: _along(alone, d, outputs[n].ndim) for n, d in seen.items()}, dims)


def padding_trials(asked: Asked, inputs: Tensors, outputs: Tensors) -> Iterator[Trial]:
    """All padding is changed; what is real must stay. Once is all, so it is done with several values."""
    real, seen = _real(asked.padding, inputs, outputs)
    units = tuple(
        Unit(name, tuple(range(mask.ndim)), tuple(index))
        for name, mask in real.items()
        for index in (~mask).nonzero().tolist()
    )
    if not units:
        raise ValueError("padding: every item is real, so there is none to change")
    stay, dims = {}, {}
    for name, mask in seen.items():
        output = outputs[name]
        stay[name] = mask.reshape(*mask.shape, *[1] * (output.ndim - mask.ndim))
        dims[name] = tuple(range(mask.ndim))
    for _ in range(min(asked.trials, 4)):
        yield Trial("padding", units, stay, dims)


def _real(padding: object, inputs: Tensors, outputs: Tensors) -> tuple[Tensors, Tensors]:
    """What is real: of each input that is changed, of each output that is looked at."""
    if isinstance(padding, Mapping):
        for name in padding:
            _known("padding", name, {**inputs, **outputs})
        masks = {name: _mask(given, inputs) for name, given in padding.items()}
        changed = {name: mask for name, mask in masks.items() if name in inputs}
        seen = {name: mask for name, mask in masks.items() if name in outputs}
        for name, mask in (*changed.items(), *seen.items()):
            shape = inputs[name].shape if name in changed and masks[name] is mask else outputs[name].shape
            if shape[: mask.ndim] != mask.shape:
                raise ValueError(f"padding: `{name}` is {list(shape)}, but what is real is {list(mask.shape)}")
    else:
        mask = _mask(padding, inputs)
        fit = {name: value for name, value in inputs.items() if value.shape[: mask.ndim] == mask.shape}
        changed = {name: mask for name, value in fit.items() if name != padding and not stays(name, value)}
        seen = {}
    if not changed:
        raise ValueError("padding: no input has the shape of what is real, so there is none to change")
    if not seen:
        for name, value in outputs.items():
            fitting = [found for mask in changed.values() if (found := _fitting(mask, value)) is not None]
            if fitting:
                seen[name] = fitting[0]
    if not seen:
        raise ValueError(f"padding: no output fits what is real: {_shapes(outputs)}")
    return changed, seen


def _mask(given: object, inputs: Tensors) -> Tensor:
    if isinstance(given, str):
        _known("padding", given, inputs)
        given = inputs[given]
    if not isinstance(given, Tensor) or given.is_floating_point():
        raise ValueError("padding: a tensor of truth values, or of 0 and 1, or the name of an input that is one")
    return (given != 0).cpu()


def _fitting(mask: Tensor, output: Tensor) -> Tensor | None:
    """What of an output must stay: its real items; of one without items, the examples with a real one, or the whole.
    None if it cannot be told.
    """
    if output.shape[: mask.ndim] == mask.shape:
        return mask
    if output.ndim and output.shape[0] == len(mask) and not {*mask.shape[1:]} & {*output.shape[1:]}:
        return mask.reshape(len(mask), -1).any(1)
    return None if output.ndim else torch.tensor(True)


def sides(
    kind: str, asked: int | Mapping[str, int], inputs: Tensors, outputs: Tensors, *, other_sizes: bool = False
) -> tuple[Dims, Dims]:
    """The dimensions meant: of each input to change, of each output to look at. An output of another size is meant
    where `other_sizes` says so.
    """
    if isinstance(asked, Mapping):
        for name, dim in asked.items():
            _known(kind, name, {**inputs, **outputs})
            for value in (each[name] for each in (inputs, outputs) if name in each):
                if not -value.ndim <= dim < value.ndim:
                    raise ValueError(f"{kind}: `{name}` is {list(value.shape)}, so it has no dimension {dim}")
        changed = {name: dim % inputs[name].ndim for name, dim in asked.items() if name in inputs}
        seen = {name: dim % outputs[name].ndim for name, dim in asked.items() if name in outputs}
        dim = next((asked[name] for name in changed), 0)
    else:
        dim, seen = asked, {}
        changed = _of_size(dim, None, {name: value for name, value in inputs.items() if not stays(name, value)})
    if not changed:
        raise ValueError(f"{kind}: no input with dimension {dim} is there to change: {_shapes(inputs)}")
    size = _size(kind, changed, inputs)
    seen = seen or _of_size(dim, None if other_sizes else size, outputs)
    if not seen:
        raise ValueError(f"{kind}: no output has {size} items in dimension {dim}: {_shapes(outputs)}")
    return changed, seen


def _of_size(dim: int, size: int | None, tensors: Tensors) -> dict[str, int]:
    """Those with a dimension of a size, or of the size that the first of them has."""
    found = {}
    for name, value in tensors.items():
        if -value.ndim <= dim < value.ndim and value.shape[dim] == (value.shape[dim] if size is None else size):
            size = value.shape[dim]
            found[name] = dim % value.ndim
    return found


def _size(kind: str, dims: Dims, tensors: Tensors) -> int:
    sizes = {tensors[name].shape[dim] for name, dim in dims.items()}
    if len(sizes) > 1:
        raise ValueError(f"{kind}: {', '.join(f'`{name}`' for name in dims)} have {sorted(sizes)} items there")
    if (size := sizes.pop()) < 2:
        raise ValueError(f"{kind}: of {size} items none can leak into another")
    return size


def _known(kind: str, name: str, tensors: Tensors) -> None:
    if name not in tensors:
        near = difflib.get_close_matches(name, tensors, n=1)
        known = f"did you mean `{near[0]}`?" if near else f"there are {_shapes(tensors)}"
        raise ValueError(f"{kind}: no input or output is called `{name}`; {known}")


def _shapes(tensors: Tensors) -> str:
    return ", ".join(f"`{name}` {list(value.shape)}" for name, value in tensors.items()) or "no tensor"


def _along(mask: Tensor, dim: int, rank: int) -> Tensor:
    return mask.reshape([-1 if each == dim else 1 for each in range(rank)])


def _some(items: range, most: int) -> Iterable[int]:
    """All, or so many: the first, the last, and some between that no regular distance chooses."""
    if len(items) <= most:
        return items
    between = torch.randperm(len(items) - 2, generator=torch.Generator().manual_seed(len(items)))
    chosen = {items[0], items[-1], *(items[1 + place] for place in between[: max(most - 2, 0)].tolist())}
    return sorted(chosen)
