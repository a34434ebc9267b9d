"""Random inputs for a graph, and the check that PyTorch, NumPy and the oracle agree on what it gives."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

from attnc.backends.loading.init import initial_weights
from attnc.backends.loading.load import build_numpy, build_torch
from attnc.backends.runtime.numpy import masks
from attnc.compiler.check import build
from attnc.compiler.graph.inventory import inventory
from attnc.compiler.graph.nodes import Graph
from attnc.compiler.graph.values import Scalar
from attnc.compiler.sizes.axes import Arith, Axis, Literal, SizeOf, Static
from attnc.compiler.sizes.functions import OPERATIONS
from attnc.dsl.source import Source

from .oracle import Oracle

Array = np.ndarray[Any, np.dtype[Any]]


def graph_of(text: str, name: str | None = None, **sizes: int | float) -> Graph:
    """The graph of a model of a spec (its last), which must be correct."""
    program = build(Source("<test>", text), sizes=sizes)
    assert not program.errors, program.errors[0].message
    return program.graph(name or program.models[-1])


def sizes_of(graph: Graph, widths: Sequence[int]) -> dict[int, int]:
    """An extent for each family of widths: the free ones in turn, the derived ones by their formulas."""
    found: dict[int, int] = {}

    def value(static: Static) -> Any:
        match static:
            case SizeOf(axis):
                return size(axis)
            case Literal(number):
                return number
            case Arith(op, args):
                return OPERATIONS["//" if op == "/" else op](*(value(arg) for arg in args))
        raise AssertionError(static)

    def size(axis: Axis) -> int:
        if axis.extent is not None:
            return axis.extent
        if axis.size is not None:
            return int(value(axis.size))
        if axis.family not in found:
            found[axis.family] = widths[len(found) % len(widths)]
        return found[axis.family]

    for item in graph.inputs:
        for axis in item.value.type.axes:
            found[axis.family] = size(axis)
    return found


def random_inputs(
    graph: Graph, lead: Sequence[int], widths: Sequence[int], real: Any = np.float64, seed: int = 0
) -> list[Array]:
    """One array for each input, with the leading batch axes `lead`."""
    draw = np.random.default_rng(seed)
    extents = sizes_of(graph, widths)
    found: list[Array] = []
    for item in graph.inputs:
        shape = (*lead, *(a.extent if a.extent is not None else extents[a.family] for a in item.value.type.axes))
        element = item.value.type.element
        if element is Scalar.REAL:
            found.append(draw.standard_normal(shape).astype(real))
        elif element is Scalar.BOOL:
            found.append(draw.random(shape) > 0.5)
        elif element is Scalar.INT:
            found.append(draw.integers(-5, 6, shape))
        else:
            axis = element.axis
            size = axis.extent if axis.extent is not None else extents[axis.family]
            found.append(draw.integers(0, max(size, 1), shape))
    return found


def close(a: Array, b: Array, tolerance: float, what: object) -> None:
    """Equal shapes, infinities in the same places, and numbers within a tolerance relative to their spread."""
    assert a.shape == b.shape, (what, a.shape, b.shape)
    if a.dtype.kind != "f" or not a.size:
        assert (a == b).all(), what
        return
    finite = np.isfinite(a)
    assert (finite == np.isfinite(b)).all(), what
    if finite.any():
        error = np.abs(a[finite] - b[finite]).max()
        assert error <= tolerance * max(float(b[finite].std()), float(np.abs(b[finite]).max()) / 10, 1e-6), (
            what,
            error,
        )


def in_blocks(function: Any, inputs: Sequence[Array]) -> Any:
    """What a compiled NumPy model gives where attention makes scores in blocks, as of many, though there are few."""
    usual, masks.SCORES = masks.SCORES, 0
    try:
        return function(*inputs)
    finally:
        masks.SCORES = usual


def agree(
    graph: Graph,
    leads: Sequence[tuple[int, ...]] = ((), (2,), (2, 3), (0,)),
    widths: Sequence[Sequence[int]] = ((5, 7, 3),),
) -> None:
    """NumPy is what the oracle says in float64; PyTorch is what NumPy says, in float64 and float32."""
    specs = inventory(graph)
    for dtype, real, tolerance in ((torch.float64, np.float64, 1e-10), (torch.float32, np.float32, 2e-5)):
        module = build_torch(graph, seed=1, dtype=dtype).eval()
        function = build_numpy(graph, seed=1, dtype=real)
        state = module.state_dict()
        assert set(state) == set(specs)
        assert all(tuple(state[path].shape) == spec.shape for path, spec in specs.items())
        for lead in leads:
            for width in widths:
                inputs = random_inputs(graph, lead, width, real)
                there, here = module(*map(torch.tensor, inputs)), function(*inputs)
                blocks = in_blocks(function, inputs)
                several = isinstance(here, tuple)
                there, here, blocks = (there, here, blocks) if several else ((there,), (here,), (blocks,))
                for other, block in zip(here, blocks, strict=True):
                    close(np.asarray(other), np.asarray(block), tolerance, ("numpy by blocks", lead, width))
                expected = (
                    Oracle(initial_weights(specs, 1))(graph, *inputs) if real is np.float64 else [None] * len(here)
                )
                for one, other, right in zip(there, here, expected, strict=True):
                    array = one.detach().numpy()
                    other = np.asarray(other)
                    assert array.dtype == other.dtype and array.dtype != (
                        np.float64 if real is np.float32 else np.float32
                    )
                    close(array, other, tolerance, ("torch and numpy", lead, width))
                    if right is not None:
                        close(other, right, 1e-9, ("numpy and oracle", lead, width))
