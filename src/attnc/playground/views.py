"""Which item of a result hangs on which item of an input: one item is changed, and the results that change have seen
it. Nothing is proved by that, but it can be drawn.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from ..spec import Model, Port

Array = np.ndarray[Any, np.dtype[Any]]
Inputs = Mapping[str, Array]
Run = Callable[[Inputs], list[Array]]
ITEMS = 6  # of each free width
CHANGED = 1e-9  # of what is largest: less is rounding


def drawn_weights(model: Model, numbers: np.random.Generator) -> dict[str, Array]:
    """Weights of no particular kind, by path in the order of the alphabet: none is zero."""
    return {path: numbers.standard_normal(model.weights[path].shape) * 0.5 for path in sorted(model.weights)}


def drawn_inputs(model: Model, numbers: np.random.Generator) -> dict[str, Array]:
    """An item each, without batch axes."""
    return {str(port.name): _drawn(model, port, numbers) for port in model.inputs}


def _drawn(model: Model, port: Port, numbers: np.random.Generator) -> Array:
    shape = tuple(ITEMS if size is None else size for size in port.shape)
    if port.element == "real":
        return np.asarray(numbers.standard_normal(shape))
    if port.element == "bool":
        found = numbers.random(shape) < 0.7
        found[..., :1] = True
        return np.asarray(found)
    return np.asarray(numbers.integers(0, _numbers(model, port), shape))


def _numbers(model: Model, port: Port) -> int:
    """How many numbers an input of whole numbers may hold: those that index an axis have its size."""
    for entry in model.graph.inputs:
        axis = getattr(entry.value.type.element, "axis", None)
        if entry.name == port.name and axis is not None:
            return int(axis.extent or ITEMS)
    return 4


def runner(model: Model, weights: Inputs) -> Run:
    """The model as a function of inputs, in float64."""
    compiled = model.numpy(weights=dict(weights), dtype="float64")

    def run(inputs: Inputs) -> list[Array]:
        with np.errstate(all="ignore"):
            made = compiled(**inputs)
        return [np.asarray(part, dtype=float) for part in (made if isinstance(made, tuple) else (made,))]

    return run


def seen(model: Model) -> list[list[bool]] | None:
    """Of each item of the first result that has items of inputs, as a row, which items of these it hangs on. None if
    there is no such result.
    """
    free = {axis for port in model.inputs for axis, size in zip(port.axes, port.shape, strict=True) if size is None}
    for position, output in enumerate(model.outputs):
        for axis in output.axes:
            if axis in free:
                return _seen(model, axis, position)
    return None


def _seen(model: Model, axis: str, position: int) -> list[list[bool]]:
    numbers = np.random.default_rng(0)
    run, inputs = runner(model, drawn_weights(model, numbers)), drawn_inputs(model, numbers)
    base, row = run(inputs)[position], model.outputs[position].axes.index(axis)
    others = tuple(k for k in range(base.ndim) if k != row)
    found = np.zeros((base.shape[row], ITEMS), dtype=bool)
    for item in range(ITEMS):
        changed = dict(inputs)
        for port in model.inputs:
            if axis in port.axes and port.element != "bool":
                changed[str(port.name)] = value = np.array(inputs[str(port.name)])
                at = (slice(None),) * port.axes.index(axis) + (item,)
                value[at] = _other(model, port, value[at], numbers)
        apart = abs(run(changed)[position] - base)
        found[:, item] = ~(apart.max(axis=others) <= CHANGED * max(1.0, abs(base).max()))
    return [[bool(each) for each in line] for line in found]


def _other(model: Model, port: Port, value: Array, numbers: np.random.Generator) -> Array:
    if port.element == "real":
        return np.asarray(value + numbers.standard_normal(value.shape))
    return np.asarray((value + 1) % _numbers(model, port))
