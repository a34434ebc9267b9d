"""First values of weights, as NumPy arrays: each drawn on its own from (seed, path), so both backends start alike.

A weight's values hang on nothing but the seed, its path, its shape and its `Init`: not on other weights, nor on order.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from ...compiler.graph.inventory import WeightSpec, law

Array = np.ndarray[Any, np.dtype[np.float64]]
SKIPPED = 1 << 22  # values that are drawn at once where they are others'


def _stream(spec: WeightSpec, seed: int) -> Callable[[tuple[int, ...]], Array]:
    """Gives the first values of one weight, one after another, in the shapes that it is asked for."""
    digest = hashlib.sha256(f"{seed}\n{spec.path}".encode()).digest()
    draw = np.random.Generator(np.random.Philox(key=int.from_bytes(digest[:16], "little")))
    match law(spec):
        case "fill", value:
            return lambda shape: np.full(shape, value)
        case "normal", _, deviation:
            return lambda shape: draw.standard_normal(shape) * deviation
        case _, least, largest:
            return lambda shape: draw.uniform(least, largest, shape)
    raise AssertionError("law has three answers")


def initial(spec: WeightSpec, seed: int) -> Array:
    """The first values of one weight, in float64."""
    return _stream(spec, seed)(spec.shape)


def initial_rows(spec: WeightSpec, seed: int) -> Callable[[int, int], Array]:
    """Gives rows of the same, so many from one on: each time from behind the last."""
    give, ahead = _stream(spec, seed), 0
    row = spec.shape[1:]
    most = max(SKIPPED // max(math.prod(row), 1), 1)

    def rows(first: int, count: int) -> Array:
        nonlocal ahead
        while ahead < first:  # values that are others'
            few = min(most, first - ahead)
            give((few, *row))
            ahead += few
        ahead += count
        return give((count, *row))

    return rows


def initial_weights(specs: Mapping[str, WeightSpec], seed: int) -> dict[str, Array]:
    """All weights of a model, in float64: path -> array."""
    return {path: initial(spec, seed) for path, spec in specs.items()}
