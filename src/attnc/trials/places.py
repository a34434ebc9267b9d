"""The places of items along a claimed axis, as numbers: of inputs, of results."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

import numpy as np

from ..compiler.graph.core.places import group_of, place, place_of
from ..compiler.graph.nodes import Graph, Input
from ..compiler.sizes.axes import Axis, Const
from ..compiler.sizes.forms import LinearForm
from ..compiler.sizes.functions import OPERATIONS
from ..compiler.sizes.polynomials import Opaque, Poly, Size
from .sizes import TriedSizes

Array = np.ndarray[Any, np.dtype[Any]]


def input_places(graph: Graph, entry: Input, claimed: Axis, sizes: TriedSizes) -> Array | None:
    """The place of each element of an input: the last of those that its indices have. None if it has none."""
    axes = entry.value.type.axes
    direct = any(each.family == claimed.family for one in graph.inputs for each in one.value.type.axes)
    known: list[Array] = []
    for axis in axes:
        if direct and axis.family != claimed.family:
            continue
        form = place(axis, {claimed.family}, axes) or group_of(axis, claimed)
        if form is not None:
            known.append(_numbers(form, axes, sizes))
    return np.max(np.stack(np.broadcast_arrays(*known)), axis=0) if known else None


def result_places(axes: Sequence[Axis], claimed: Axis, sizes: TriedSizes) -> Array:
    """The place of each element of a result. The claim is of one that has places."""
    form = place_of(axes, claimed, {claimed.family})
    assert form is not None
    return _numbers(form, axes, sizes)


def _numbers(form: LinearForm, axes: Collection[Axis], sizes: TriedSizes) -> Array:
    order = list(axes)
    shape = tuple(map(sizes.of, order))
    indices = {
        axis: np.arange(size, dtype=np.int64).reshape([-1 if at == each else 1 for each in range(len(order))])
        for at, (axis, size) in enumerate(zip(order, shape, strict=True))
    }
    return np.broadcast_to(np.asarray(_value(form.poly, indices, sizes)), shape).astype(float)


def _value(poly: Poly, indices: dict[Axis, Array], sizes: TriedSizes) -> Any:
    total: Any = 0
    for monomial, by in poly.items():
        product: Any = int(by) if by.denominator == 1 else float(by)
        for unknown in monomial:
            product = product * _unknown(unknown, indices, sizes)
        total = total + product
    return total


def _unknown(unknown: object, indices: dict[Axis, Array], sizes: TriedSizes) -> Any:
    match unknown:
        case Axis():
            return indices[unknown]
        case Size(family=family):
            return sizes.free[family]
        case Const(value=value) if value is not None:
            return value
        case Opaque(op=op, args=args):
            values = [_value(dict(arg), indices, sizes) for arg in args]
            return np.vectorize(OPERATIONS[op].of, otypes=[float])(*values)
    raise ValueError(f"{unknown} has no number")
