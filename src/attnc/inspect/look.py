"""Run a model, and keep what it makes inside."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from ..compiler.sizes.axes import evaluate
from ..spec import Model, suggestion
from .find import Mask, Side, Spot, chosen, families
from .maps import Array, Map, named
from .model_inputs import batch_of
from .model_inputs import inputs as checked
from .problem import InspectError

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True, slots=True)
class Look(Mapping[str, Map]):
    """What a run made inside: maps by path, in the order of the spec. `result` is what the model gave."""

    model: str
    maps: Mapping[str, Map] = field(repr=False)
    result: Any = field(repr=False)

    def __getitem__(self, path: str) -> Map:
        """By path, or by the end of one. Raises KeyError with near names."""
        if path in self.maps:
            return self.maps[path]
        raise KeyError(f"no map `{path}`{suggestion(path, list(self.maps))}")

    def __iter__(self) -> Iterator[str]:
        return iter(self.maps)

    def __len__(self) -> int:
        return len(self.maps)

    def only(self, path: str) -> Look:
        """The same with this map alone."""
        return Look(self.model, {path: self.maps[path]}, self.result)

    @property
    def batch(self) -> int:
        """How many items the leading batch axes hold together."""
        return max(len(one.array) for one in self.maps.values())

    def figure(self, item: int = 0) -> Figure:
        """All maps of one item as a picture: a row for each path, a column for each head. Needs matplotlib."""
        from .picture import figure

        return figure(list(self.maps.values()), item, title=self.model)

    def html(self, item: int = 0) -> str:
        """One page to explore the maps of one item: it needs no network, and nothing beside it."""
        from .page import page

        return page(list(self.maps.values()), item, title=self.model)

    def save(self, out: str | Path, item: int = 0) -> None:
        """Write `.html`, `.png`, `.svg`, `.pdf`, or `.npz` (the arrays by path, [batch, heads, row, column])."""
        from .save import save

        save(self, Path(out), item)


def look(
    model: Model,
    inputs: Mapping[str, Any],
    weights: Mapping[str, Any] | None = None,
    *,
    capture: Sequence[str] = (),
    rows: Sequence[str] = (),
    columns: Sequence[str] = (),
    labels: Mapping[str, Sequence[str]] | None = None,
    backend: Literal["numpy", "torch"] = "numpy",
    seed: int = 0,
) -> Look:
    """Run a model on an input, and keep the values of these paths as maps.

    inputs:  {name: array [*batch, *axes]}.
    weights: {path: array}; None: drawn, by `seed`.
    capture: paths, as `model.torch(capture=...)` takes them; none: every attention map of the model.
    rows, columns: axes, by their names in the block that makes the value or in the model. Without them the columns of
             attention weights are the axes that the softmax normalises over, and their rows the widths that are left;
             any other value needs exactly two widths.
    labels:  {width: what its items are called}: for its copies, too.

    Raises InspectError for a path that names nothing, inputs and labels that do not fit and a value that is no map;
    `attnc.backends.WeightsError` for weights that do not fit. Both are ValueErrors.
    """
    spots = chosen(model, capture)
    given = checked(model, inputs)
    masks = {spot.mask.path: None for spot in spots if spot.mask is not None and spot.mask.path is not None}
    wanted = list(dict.fromkeys([*(spot.full for spot in spots), *masks]))
    result, found = _run(model, given, weights, wanted, backend, seed)
    batch = batch_of(model, given)
    maps = {}
    for spot in spots:
        made = _map(spot, *found[spot.full], batch, rows, columns)
        if spot.mask is not None and made.is_attention:
            made = _with_mask(made, spot.mask, model, given, found)
        elif made.is_attention and not spot.masked:
            made = replace(made, seen=np.ones((1,) * made.array.ndim, dtype=bool))
        maps[spot.path] = _labelled(made, model, labels or {})
    return Look(model.name, maps, result)


def _run(
    model: Model,
    given: Mapping[str, Array],
    weights: Mapping[str, Any] | None,
    paths: Sequence[str],
    backend: str,
    seed: int,
) -> tuple[Any, dict[str, tuple[Array, tuple[str, ...]]]]:
    """The result, and each captured value with the names of its dimensions behind those of the batch."""
    net: Any
    if backend == "numpy":
        net = model.numpy(weights, seed=seed, dtype="float32", capture=paths)
        ready: dict[str, Any] = dict(given)
        quiet: Any = np.errstate()
    else:
        import torch

        net = model.torch(weights=weights, seed=seed, dtype="float32", capture=paths).eval()
        ready = {name: torch.from_numpy(array) for name, array in given.items()}
        quiet = torch.inference_mode()
    try:
        with quiet:
            result, found = net(**ready)
    except (ValueError, IndexError, TypeError) as problem:
        raise InspectError(f"{model.name} cannot run on this input: {problem}") from None
    plain = {path: (getattr(one.value, "numpy", lambda one=one: one.value)(), one.axes) for path, one in found.items()}
    return result, plain


def _map(
    spot: Spot, value: Array, axes: tuple[str, ...], batch: tuple[int, ...], rows: Sequence[str], columns: Sequence[str]
) -> Map:
    """The value, its dimensions in the order [item, *heads, row, column]."""
    if len(set(axes)) < len(axes):
        raise InspectError(f"`{spot.path}` has two axes of one name, {list(axes)}, which cannot be told apart here")
    known = {side.name: side for side in spot.sides}
    sides = [known[name] for name in axes]
    across = _sides(spot, sides, rows, columns)
    heads = [side for side in sides if side not in across[0] and side not in across[1]]
    ordered = [*heads, *across[0], *across[1]]
    value = value.reshape(-1, *value.shape[len(batch) :])
    extents = {side.name: extent for side, extent in zip(sides, value.shape[1:], strict=True)}
    value = value.transpose(0, *(1 + sides.index(side) for side in ordered))
    shape = [math.prod(extents[side.name] for side in some) for some in across]
    array = value.reshape(len(value), *(extents[side.name] for side in heads), *shape).astype(np.float64)
    return Map(spot, array, None, tuple((side.name, extents[side.name]) for side in heads), *across)


def _sides(
    spot: Spot, sides: Sequence[Side], rows: Sequence[str], columns: Sequence[str]
) -> tuple[tuple[Side, ...], tuple[Side, ...]]:
    """The axes of the rows and those of the columns."""
    asked = [tuple(_called(spot, name) for name in names) for names in (rows, columns)]
    both = [side for side in asked[0] if side in asked[1]]
    if both:
        raise InspectError(f"`{spot}`: {named(both)} cannot be rows and columns at once")
    widths = tuple(side for side in sides if side.is_width)
    if spot.is_attention:
        down = asked[1] or tuple(side for side in sides if side.name in spot.normalised)
        return asked[0] or tuple(side for side in widths if side not in down), down
    if asked[0] or asked[1]:
        left = [tuple(side for side in widths if side not in other) for other in reversed(asked)]
        return asked[0] or left[0], asked[1] or left[1]
    if len(widths) != 2:
        has = (
            f"the widths {named(widths)}" if len(widths) > 1 else f"the width {named(widths)}" if widths else "no width"
        )
        example = (
            f"; say which axes it has, such as --rows {sides[0].name} --columns {sides[-1].name}"
            if len(sides) > 1
            else ""
        )
        raise InspectError(f"a map needs two widths, and `{spot}` has {has}{example}")
    return (widths[0],), (widths[1],)


def _called(spot: Spot, name: str) -> Side:
    """An axis of a value by its name in the block, else in the model."""
    for side in spot.sides:
        if side.name == name:
            return side
    outer = [side for side in spot.sides if side.outer == name]
    if len(outer) == 1:
        return outer[0]
    raise InspectError(f"`{spot}` has no axis `{name}`{suggestion(name, [side.name for side in spot.sides])}")


def _with_mask(
    made: Map, mask: Mask, model: Model, given: Mapping[str, Array], found: Mapping[str, tuple[Array, tuple[str, ...]]]
) -> Map:
    """The map, with what its queries may see."""
    if mask.path is not None:
        value, axes = found[mask.path]
    elif mask.input is not None and mask.input in given:
        value = given[mask.input]
        axes = next(port.axes for port in model.inputs if port.name == mask.input)
    else:
        value, axes = _default(model, mask.input), ()
    names = [mask.axes.get(name, name) for name in axes]
    heads = [name for name, _ in made.heads]
    order = [*heads, *(side.name for side in (*made.rows, *made.columns))]
    if not set(names) <= set(order):
        return made
    value = value.reshape(-1, *value.shape[value.ndim - len(names) :])
    value = value.transpose(0, *(1 + place for place in sorted(range(len(names)), key=lambda i: order.index(names[i]))))
    # A dimension of size 1 for each axis that the mask lacks, unless it is flattened with others.
    present = [name for name in order if name in names]
    sizes = dict(zip(present, value.shape[1:], strict=True))
    value = value.reshape(len(value), *(sizes.get(name, 1) for name in order))
    shape = [len(value), *(sizes.get(name, 1) for name in heads)]
    for sides in (made.rows, made.columns):
        own = [side.name for side in sides]
        if len({name in sizes for name in own}) > 1:
            return made  # it varies along a part of a side only
        shape.append(math.prod(sizes.get(name, 1) for name in own))
    return replace(made, seen=value.reshape(shape).astype(bool))


def _default(model: Model, name: str | None) -> Array:
    """The truth value that stands in for a mask that is not given."""
    default = next(item.default for item in model._sized.inputs if item.name == name)
    assert default is not None  # or it would have been asked for
    return np.array([bool(evaluate(default))])


def _labelled(made: Map, model: Model, labels: Mapping[str, Sequence[str]]) -> Map:
    """The map, with what the items of its sides are called, where that was said."""
    known = dict(families(model))
    for name in labels:
        if name not in known:
            raise InspectError(f"{model.name} has no axis `{name}` to label{suggestion(name, list(known))}")
    found: list[tuple[str, ...] | None] = []
    for sides, count in ((made.rows, made.array.shape[-2]), (made.columns, made.array.shape[-1])):
        given = next(
            (
                (name, tuple(texts))
                for side in sides[:1]
                for name, texts in labels.items()
                if len(sides) == 1 and known[name] == side.family
            ),
            None,
        )
        if given is not None and len(given[1]) != count:
            raise InspectError(f"there are {len(given[1])} labels for `{given[0]}`, which has {count} items here")
        found.append(None if given is None else given[1])
    return replace(made, row_labels=found[0], column_labels=found[1])
