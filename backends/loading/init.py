"""First values of weights, as NumPy arrays: each drawn on its own from (seed, path), so both backends start alike.

A weight's values hang on nothing but the seed, its path, its shape and its `Init`: not on other weights, nor on order.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from ...compiler.graph.inventory import WeightSpec

Law = tuple[str, float, float] | tuple[str, float]


def law(spec: WeightSpec) -> Law:
    """How a weight is drawn: ("fill", value), ("normal", mean, deviation) or ("uniform", least, largest).

    `default` is what torch gives `nn.Linear`: uniform in +-1/sqrt(fan_in).
    `xavier` is Glorot and Bengio 2010, equation 16: uniform in +-sqrt(6 / (fan_in + fan_out)).
    """
    init = spec.init
    match init.kind:
        case "zeros":
            return "fill", 0.0
        case "ones":
            return "fill", 1.0
        case "constant":
            return "fill", float(init.args[0])
        case "normal":
            return "normal", 0.0, float(init.args[0])
        case "uniform":
            bound = float(init.args[0])
        case "xavier":
            bound = math.sqrt(6 / max(spec.fan_in + spec.fan_out, 1))
        case "default":
            bound = 1 / math.sqrt(max(spec.fan_in, 1))
        case kind:
            raise ValueError(f"initialisation {kind!r} of `{spec.path}`")
    return "uniform", -bound, bound


def initial(spec: WeightSpec, seed: int) -> np.ndarray[Any, np.dtype[np.float64]]:
    """The first values of one weight, in float64."""
    digest = hashlib.sha256(f"{seed}\n{spec.path}".encode()).digest()
    draw = np.random.Generator(np.random.Philox(key=int.from_bytes(digest[:16], "little")))
    match law(spec):
        case "fill", value:
            return np.full(spec.shape, value)
        case "normal", _, deviation:
            return draw.standard_normal(spec.shape) * deviation
        case _, least, largest:
            return draw.uniform(least, largest, spec.shape)
    raise AssertionError("law has three answers")


def initial_weights(specs: Mapping[str, WeightSpec], seed: int) -> dict[str, np.ndarray[Any, np.dtype[np.float64]]]:
    """All weights of a model, in float64: path -> array."""
    return {path: initial(spec, seed) for path, spec in specs.items()}
