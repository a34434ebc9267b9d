"""Learned maps of few rows in generated NumPy code. The text is copied: keep it free of us."""

from typing import NamedTuple

import numpy as np

from .numpy_helpers import Array

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
    """The array of which all the weights are the parts, in order."""
    whole = weights[0].base
    if whole is None or any(weight.base is not whole for weight in weights):
        return None
    whole = whole if whole.shape == (ends[-1], weights[0].shape[-1]) else whole.T
    if whole.shape != (ends[-1], weights[0].shape[-1]):
        return None
    for weight, start in zip(weights, ends, strict=False):
        there = whole[start : start + len(weight)]
        if there.__array_interface__["data"] != weight.__array_interface__["data"] or there.strides != weight.strides:
            return None
    return whole


def map_rows(x: Array, rows: int, to: Joint) -> list[Array]:
    """x [..., in], of so many rows, through each of the maps: [..., out]."""
    y: Array = x.reshape(rows, x.shape[-1]) @ to.weight.T
    if to.bias is not None:
        y += to.bias
    y = y.reshape(*x.shape[:-1], y.shape[-1])
    return [y[..., a:b] for a, b in to.spans]
