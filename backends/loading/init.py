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
SKIPPED = 1 << 16  # values that are drawn at once where they are others'


def initial(spec: WeightSpec, seed: int) -> Array:
    """The first values of one weight, in float64."""
    return initial_items(spec, seed)(0, math.prod(spec.shape)).reshape(spec.shape)


Items = Callable[[int, int], Array]
"""Gives of a weight, as it lies in memory, so many items, from one on, [count]: each time from behind the last."""


def initial_items(spec: WeightSpec, seed: int) -> Items:
    """Gives some at a time of what `initial` gives, and none twice."""
    digest = hashlib.sha256(f"{seed}\n{spec.path}".encode()).digest()
    stream = np.random.Philox(key=int.from_bytes(digest[:16], "little"))
    match law(spec):
        case "fill", value:
            return lambda first, count: np.full(count, value)
        case "normal", _, deviation:
            return _normal(stream, deviation)
        case _, least, largest:
            return _uniform(stream, least, largest)
    raise AssertionError("law has three answers")


def _normal(stream: np.random.Philox, deviation: float) -> Items:
    """Each takes from the stream as many numbers as it happens to need: those before it are drawn, too."""
    draw, ahead = np.random.Generator(stream), 0

    def items(first: int, count: int) -> Array:
        nonlocal ahead
        while ahead < first:
            few = min(SKIPPED, first - ahead)
            draw.standard_normal(few)
            ahead += few
        ahead += count
        found = draw.standard_normal(count)
        found *= deviation
        return found

    return items


def _uniform(stream: np.random.Philox, least: float, largest: float) -> Items:
    """Each takes one number from the stream, which comes in fours: those before it are left out."""
    start = stream.state

    def items(first: int, count: int) -> Array:
        stream.state = start
        stream.advance(first // 4)
        draw = np.random.Generator(stream)
        draw.random(first % 4)
        return draw.uniform(least, largest, count)

    return items


def initial_weights(specs: Mapping[str, WeightSpec], seed: int) -> dict[str, Array]:
    """All weights of a model, in float64: path -> array."""
    return {path: initial(spec, seed) for path, spec in specs.items()}
