"""The short check of what comes into a model of generated NumPy code: it stands in the model's own file."""

from __future__ import annotations

from typing import Any

import numpy as np


def check(model: str, declared: str, /, *inputs: Any, **sizes: int) -> None:
    """Refuses inputs of other kinds and sizes than declared, say as "ids: vocab[seq], x?: [seq, model]"."""
    known: dict[str, Any] = {axis: (size, f"this model has {axis}") for axis, size in sizes.items()}
    texts = [text.replace(": ", "[").split("[") for text in declared.removesuffix("]").split("], ")]
    given = [(x, *text) for x, text in zip(inputs, texts, strict=True) if x is not None or "?" not in text[0]]
    for x, name, kind, axes in given:
        dims = axes.split(", ") if axes else []
        wanted = {"": "float", "bool": "bool"}.get(kind, "int")
        if not isinstance(x, np.ndarray | np.generic) or wanted not in str(x.dtype) or x.ndim < len(dims):
            found = f"{x.dtype}{[*x.shape]}" if isinstance(x, np.ndarray | np.generic) else type(x).__name__
            raise TypeError(f"{model}: `{name}` is {found}, but must be an array of {wanted}: {kind}[{axes}]")
        shape = [tuple(x.shape[: x.ndim - len(dims)]), *x.shape[x.ndim - len(dims) :]]
        for axis, size in zip(["batch axes", *dims], shape, strict=True):
            first, other = known.setdefault(axis.split(" like ")[-1], (size, f"`{name}` has {axis}"))
            if size != first:
                raise ValueError(f"{model}: `{name}` has {axis} = {size}, but {other} = {first}")
    for x, name, axis, _ in given:
        if axis in known and ((x < 0) | (x >= known[axis][0])).any():
            raise IndexError(f"{model}: `{name}` has {x.min()}..{x.max()}, but {axis} has 0..{known[axis][0] - 1}")
