"""Learned maps of few rows in generated NumPy code."""

from typing import NamedTuple

import numpy as np

from .arrays import Array
from .ops import linear

FEW = 16  # rows up to which one product with weights side by side is faster than one with each


class Joint(NamedTuple):
    """The weights of some maps as one, with their biases, and where the results of each begin and end."""

    weight: Array
    bias: Array | None
    spans: list[tuple[int, int]]
    parts: tuple[tuple[Array, ...], ...]


def joint(parts: tuple[tuple[Array, ...], ...]) -> Joint | None:
    """parts: for each map its weight [out, in] and, if it has one, its bias. None: they do not lie side by side."""
    first = parts[0][0]
    ends = np.cumsum([0, *(len(part[0]) for part in parts)]).tolist()
    spans = [(end - len(part[0]), end) for end, part in zip(ends[1:], parts, strict=True)]
    weight = first if len(parts) == 1 else side_by_side([part[0] for part in parts], ends)
    if weight is None:
        return None
    bias = None
    if any(len(part) > 1 for part in parts):
        bias = np.concatenate([part[1] if len(part) > 1 else np.zeros(len(part[0]), first.dtype) for part in parts])
    return Joint(weight, bias, spans, parts)


def side_by_side(weights: list[Array], ends: list[int]) -> Array | None:
    """The array of which all the weights are the parts, in order: each begins where the one before it ends."""
    first = weights[0]
    place, row = first.__array_interface__["data"][0], first.strides[0]
    for weight, start in zip(weights, ends, strict=False):
        behind = weight.__array_interface__["data"][0] == place + start * row
        if not behind or weight.strides != first.strides or weight.base is not first.base or first.base is None:
            return None
    return np.lib.stride_tricks.as_strided(first, (ends[-1], first.shape[-1]))


def map_rows(x: Array, to: Joint) -> list[Array]:
    """x [..., in], of few rows, through each of the maps: [..., out]."""
    y = linear(x, to.weight, to.bias)
    return [y[..., a:b] for a, b in to.spans]
