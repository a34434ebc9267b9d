"""The same numbers with a rewrite and without it: results in both backends, and gradients, in float64."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch

import attnc
from attnc.compiler.pipeline import NAMES
from tests.backends.written import written

Array = np.ndarray[Any, np.dtype[Any]]
CLOSE = 1e-10
WAYS: tuple[tuple[str, ...], ...] = (*((name,) for name in NAMES), NAMES)  # each pass left out in turn, and all


def apart(a: Array, b: Array) -> float:
    """How far apart, relative to the size of b; NaN must stand where it stands in b."""
    if a.shape != b.shape or a.dtype.kind != b.dtype.kind:
        return np.inf
    if a.dtype.kind != "f":
        return 0.0 if np.array_equal(a, b) else np.inf
    if not np.array_equal(np.isfinite(a), np.isfinite(b)):
        return np.inf
    sound = np.isfinite(b)
    if not sound.any():
        return 0.0
    return float(np.abs(a[sound] - b[sound]).max() / max(float(np.abs(b[sound]).max()), 1e-3))


def parts(result: Any) -> list[Any]:
    return list(result) if isinstance(result, tuple) else [result]


def on_numpy(model: attnc.Model, weights: Mapping[str, Array], values: Mapping[str, Array],
             without: Sequence[str]) -> list[Array]:  # fmt: skip
    with np.errstate(all="ignore"):
        found = parts(model.numpy(weights, dtype=np.float64, without=without)(**values))
    return [np.asarray(x) for x in found]


def on_torch(model: attnc.Model, weights: Mapping[str, Array], values: Mapping[str, Array],
             without: Sequence[str]) -> list[Array]:  # fmt: skip
    """Results, and the gradients of the sum of their tangents hyperbolic by every real input and every weight."""
    module = model.torch(weights=weights, dtype=torch.float64, without=without).eval()
    given = {name: torch.as_tensor(x) for name, x in values.items()}
    moving = [x.requires_grad_() for x in given.values() if x.is_floating_point()]
    moving += [parameter for parameter in module.parameters() if parameter.requires_grad]
    results = parts(module(**given))
    total = sum((x.tanh().sum() for x in results if x.is_floating_point()), torch.zeros((), dtype=torch.float64))
    found = [x.detach().numpy() for x in results]
    if total.requires_grad and moving:
        gradients = torch.autograd.grad(total, moving, allow_unused=True)
        found += [np.zeros(x.shape) if g is None else g.numpy() for x, g in zip(moving, gradients, strict=True)]
    return found


def check_same(
    model: attnc.Model, weights: Mapping[str, Array], values: Mapping[str, Array], ways: Sequence[Sequence[str]] = WAYS
) -> int:
    """Fails where leaving passes out changes a number. Gives how many ways changed the code at all."""
    changed = 0
    for backend, run in (("numpy", on_numpy), ("torch", on_torch)):
        usual = written(model, backend)
        right: list[Array] | None = None
        for without in ways:
            if written(model, backend, without) == usual:
                continue
            changed += 1
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                right = run(model, weights, values, ()) if right is None else right
                found = run(model, weights, values, without)
            assert len(found) == len(right)
            for place, (a, b) in enumerate(zip(found, right, strict=True)):
                gap = apart(a, b)
                assert gap <= CLOSE, f"{backend} without {', '.join(without)}: result {place} is off by {gap:.3g}"
    return changed
