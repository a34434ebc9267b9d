"""The inputs of a run: checked by name and kind, and drawn at random where a first look is all that is wanted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ..compiler.graph.values import Scalar
from ..spec import Model, Port, suggestion
from .problem import InspectError

Array = np.ndarray[Any, np.dtype[Any]]


def inputs(
    model: Model,
    given: Mapping[str, Any] | None = None,
    *,
    random: Mapping[str, int] | None = None,
    seed: int = 0,
) -> dict[str, Array]:
    """The arrays that a model is run on, each of the kind that its input has.

    given:  {name of an input: array, [*batch, *its axes]}.
    random: sizes for free widths, by name: every input that is not given and has no default is drawn, reals from the
            standard normal, ids evenly; truth values are all true, and what is ragged is nowhere shorter. None: nothing
            is drawn.

    Raises InspectError for names that the model does not have, inputs that are missing or of another kind, and widths
    of which no size is known.
    """
    ports = {str(port.name): port for port in model.inputs}
    given = dict(given or {})
    unknown = [name for name in given if name not in ports]
    if unknown:
        raise InspectError(f"{model.name} has no input `{unknown[0]}`{suggestion(unknown[0], list(ports))}")
    made = {name: _as(port, given[name]) for name, port in ports.items() if name in given}
    wanted = [port for name, port in ports.items() if name not in made and not port.optional]
    if wanted and random is None:
        listed = ", ".join(f"`{port}`" for port in wanted)
        needs = "an input that it is not given" if len(wanted) == 1 else "inputs that it is not given"
        raise InspectError(f"{model.name} needs {needs}: {listed} (--input gives them, --random draws them)")
    if random is not None:
        sizes = _sizes(model, made, random)
        batch = batch_of(model, made)
        numbers = np.random.default_rng(seed)
        for port in wanted:
            made[str(port.name)] = _drawn(model, port, sizes, batch, numbers)
    return {name: made[name] for name in ports if name in made}


def _as(port: Port, value: Any) -> Array:
    """An array of the kind of an input."""
    array = np.asarray(value)
    shown = f"`{port}`"
    if array.ndim < len(port.axes):
        raise InspectError(
            f"{shown} has {_dims(len(port.axes))}, but it is given {_dims(array.ndim)}: {list(array.shape)}"
        )
    match port.element:
        case Scalar.REAL.value:
            if array.dtype.kind not in "fiu":
                raise InspectError(f"{shown} takes real numbers, but it is given {array.dtype}")
            return array.astype(np.float32)
        case Scalar.BOOL.value:
            if array.dtype != bool and not np.isin(array, (0, 1)).all():
                raise InspectError(f"{shown} takes truth values, but it is given {array.dtype} other than 0 and 1")
            return array.astype(bool)
        case _:
            if array.dtype.kind not in "iu":
                raise InspectError(f"{shown} takes whole numbers, but it is given {array.dtype}")
            return array.astype(np.int64)


def _dims(count: int) -> str:
    return f"{count} dimension{'' if count == 1 else 's'}"


def _sizes(model: Model, made: Mapping[str, Array], random: Mapping[str, int]) -> dict[int, int]:
    """The size of each family of widths: as the inputs have it, or as asked for."""
    axes = {axis.name: axis for axis in model._sized.axes}
    free = [name for name, axis in axes.items() if axis.is_width and axis.extent is None]
    found: dict[int, int] = {}
    for name, size in random.items():
        if name not in free:
            raise InspectError(f"{model.name} has no free width `{name}` to draw{suggestion(name, free)}")
        if size < 1 or (axes[name].bound or size) < size:
            least = f" and at most {axes[name].bound}" if axes[name].bound else ""
            raise InspectError(f"`{name}` = {size}: it is at least 1{least}")
        found[axes[name].family] = size
    for port in model.inputs:
        if str(port.name) in made:
            shape = made[str(port.name)].shape
            for name, extent in zip(port.axes, shape[len(shape) - len(port.axes) :], strict=True):
                if name in axes:
                    found.setdefault(axes[name].family, extent)
    return found


def batch_of(model: Model, made: Mapping[str, Array]) -> tuple[int, ...]:
    """The sizes of the leading batch axes, which all inputs have."""
    for port in model.inputs:
        if str(port.name) in made:
            shape = made[str(port.name)].shape
            return tuple(shape[: len(shape) - len(port.axes)])
    return ()


def _drawn(
    model: Model, port: Port, sizes: Mapping[int, int], batch: tuple[int, ...], numbers: np.random.Generator
) -> Array:
    axes = {axis.name: axis for axis in model._sized.axes}
    shape: list[int] = list(batch)
    for name, extent in zip(port.axes, port.shape, strict=True):
        size = extent if extent is not None else sizes.get(axes[name].family)
        if size is None:
            raise InspectError(f"how large is the width `{name}` of `{port}`? draw it with --random {name}=12")
        shape.append(size)
    match port.element:
        case Scalar.REAL.value:
            return numbers.standard_normal(shape).astype(np.float32)
        case Scalar.BOOL.value:
            return np.ones(shape, dtype=bool)
        case Scalar.INT.value:
            ragged = next((item.length_of for item in model._sized.inputs if item.name == port.name), None)
            if ragged is not None:
                return np.full(shape, sizes[ragged.family])
            raise InspectError(
                f"`{port}` is a whole number of which nothing says what it may be: give it, --ids {port.name}=1"
            )
        case name:
            into = axes[name]
            size = into.extent if into.extent is not None else sizes.get(into.family)
            if size is None:
                raise InspectError(
                    f"how large is the width `{name}` that `{port}` indexes? draw it with --random {name}=12"
                )
            return numbers.integers(0, size, shape)


def ids(text: str, tokens: Sequence[str]) -> list[int]:
    """The ids of a text: from the left, the longest of `tokens` that fits; an id is a place in the list.

    Raises InspectError where none fits.
    """
    known = {token: place for place, token in reversed(list(enumerate(tokens))) if token}
    longest = max(map(len, known), default=0)
    found: list[int] = []
    at = 0
    while at < len(text):
        for end in range(min(at + longest, len(text)), at, -1):
            if text[at:end] in known:
                found.append(known[text[at:end]])
                at = end
                break
        else:
            raise InspectError(f"no token begins {text[at : at + 12]!r}, character {at + 1} of the text")
    return found
