"""A graph as a function of arrays: its code for NumPy in float64, as it stands or rewritten."""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ..backends.loading.load import build_numpy
from ..compiler.advice.sizes import require_sizes
from ..compiler.graph.inventory import inventory
from ..compiler.graph.nodes import Graph, Input, nested
from ..compiler.graph.values import IndexInto, Scalar
from ..compiler.pipeline import PASSES
from ..compiler.rewrites.numerics.exact import mark_exact
from ..compiler.rewrites.picks.follow import follow_picks
from ..compiler.rewrites.ragged.widths import pad_ragged
from ..dsl.errors import AttnError
from .sizes import TriedSizes

Array = np.ndarray[Any, np.dtype[Any]]
WEIGHTS = 4_000_000  # numbers, of a graph that is tried


class NotTried(Exception):
    """Why a graph cannot be run here."""


class RunnableGraph:
    """One graph, its weights drawn anew by `redraw`."""

    def __init__(self, graph: Graph) -> None:
        for part in nested(graph):
            if part.target:
                raise NotTried(f"`{part.name}` is an op of your own, which is not run to check a spec")
        try:
            require_sizes(graph)
        except AttnError:
            raise NotTried("it has sizes that are not known") from None
        padded, problems = pad_ragged(follow_picks(replace(graph, kind="model"))[0])
        if problems:
            raise NotTried("its ragged widths cannot be padded")
        self.graph = mark_exact(padded)
        self.inputs = self.graph.inputs
        self.weights = inventory(self.graph)
        if sum(spec.size for spec in self.weights.values()) > WEIGHTS:
            raise NotTried(f"it has more than {WEIGHTS:,} weights")
        self._values = {path: np.zeros(spec.shape) for path, spec in self.weights.items()}
        self._compiled: dict[tuple[bool, bool], Any] = {}

    def redraw(self, numbers: np.random.Generator, positive: bool) -> None:
        """Weights of no particular kind, whatever their init: none is zero. positive: all above 0."""
        for path, spec in self.weights.items():
            inner = spec.fan_in or math.prod(spec.shape[1:])
            drawn: Array = numbers.standard_normal(spec.shape)
            self._values[path] = (np.abs(drawn) + 0.1 if positive else drawn) / max(inner, 1) ** 0.5

    def drawn(
        self, numbers: np.random.Generator, sizes: TriedSizes, within: TriedSizes, *, large: bool, negative: bool
    ) -> dict[str, Array]:
        """Inputs by name. within: an index is drawn so that it is one at these sizes too. large, negative: whole
        numbers may be as large as a width, and less than 0; if large, what has a default is given.
        """
        most = within.longest + 2 if large else 3
        given = [entry for entry in self.inputs if entry.default is None or large]
        return {e.name: _drawn(e, numbers, sizes, within, range(-most if negative else 0, most)) for e in given}

    def __call__(self, inputs: Mapping[str, Array], *, fast: bool, coarse: bool = False) -> list[Array]:
        """The results; inputs have the same leading batch axes. fast: its code is rewritten, as a model's is. coarse:
        in float32.
        """
        dtype = "float32" if coarse else "float64"
        if (fast, coarse) not in self._compiled:
            passes = PASSES if fast else ()
            self._compiled[fast, coarse] = build_numpy(self.graph, weights=self._values, dtype=dtype, passes=passes)
        compiled = self._compiled[fast, coarse]
        for path, value in self._values.items():
            compiled.weights[path][...] = value
        if coarse:
            inputs = {name: x.astype(dtype) if x.dtype == np.float64 else x for name, x in inputs.items()}
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            made = compiled(**inputs)
        parts: Sequence[Any] = made if isinstance(made, tuple) else (made,)
        return [np.asarray(part, dtype=float) for part in parts]


def _drawn(entry: Input, numbers: np.random.Generator, sizes: TriedSizes, within: TriedSizes, whole: range) -> Array:
    type = entry.value.type
    shape = tuple(sizes.of(axis) for axis in type.axes)
    if entry.length_of is not None:
        return np.full(shape, sizes.of(entry.length_of))
    found: Any
    match type.element:
        case IndexInto(axis):
            found = numbers.integers(0, min(sizes.of(axis), within.of(axis)), shape, np.int64)
        case Scalar.REAL:
            found = numbers.standard_normal(shape)
        case Scalar.BOOL:
            found = numbers.random(shape) < 0.6
        case _:
            found = numbers.integers(whole.start, whole.stop, shape, np.int64)
    return np.asarray(found)


def changed(entry: Input, value: Array, numbers: np.random.Generator, sizes: TriedSizes) -> Array:
    """Another value for each element of an input; of a real one it may be large, so that what is picked changes."""
    found: Any = value
    match entry.value.type.element:
        case IndexInto(axis):
            if (size := sizes.of(axis)) > 1:
                found = (value + numbers.integers(1, size, value.shape)) % size
        case Scalar.REAL:
            found = numbers.standard_normal(value.shape) * 10 ** numbers.random(value.shape)
        case Scalar.BOOL:
            found = ~value
        case _:
            found = numbers.integers(int(value.min(initial=0)), int(value.max(initial=0)) + 2, value.shape)
    return np.asarray(found)
