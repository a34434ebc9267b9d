"""A spec of examples/attentions against a reference that knows nothing of attnc, in both backends and precisions.

A reference is a function of the weights, by path, and of the inputs of *one* example; the specs get batches.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import torch

import attnc

EXAMPLES = Path(__file__).parents[2] / "examples" / "attentions"
LEADS: tuple[tuple[int, ...], ...] = ((), (2, 3))
TOLERANCE = {"float32": 2e-5, "float64": 1e-10}  # of the standard deviation of a result

Array = np.ndarray[Any, np.dtype[Any]]
Weights = Mapping[str, Array]
Reference = Callable[..., Any]


@dataclass(frozen=True)
class Case:
    """One way to try a model.

    file, model: `examples/attentions/FILE.attn`; the model is by default the only one, or that of the same name.
    sizes:       those that differ from what the file says, by name.
    widths:      extents of the free widths, by name.
    inputs:      what is not drawn: a function of a generator and the shape that gives the array, by the input's name.
    spread:      the standard deviation of the weights, which are drawn anew: none is 0, and no scale is 1.
    """

    file: str
    model: str | None = None
    sizes: Mapping[str, Any] = field(default_factory=dict)
    widths: Mapping[str, int] = field(default_factory=dict)
    inputs: Mapping[str, Callable[[np.random.Generator, tuple[int, ...]], Array]] = field(default_factory=dict)
    spread: float = 0.5

    @cached_property
    def compiled(self) -> attnc.Model:
        spec = attnc.load(EXAMPLES / f"{self.file}.attn", sizes=self.sizes)
        assert not spec.warnings
        return spec.model(self.model or (spec.models[0] if len(spec.models) == 1 else self.file))

    def draw_weights(self, seed: int) -> dict[str, Array]:
        draw = np.random.default_rng(seed)
        return {path: self.spread * draw.standard_normal(spec.shape) for path, spec in self.compiled.weights.items()}

    def draw_inputs(self, seed: int, lead: tuple[int, ...] = ()) -> dict[str, Array]:
        draw = np.random.default_rng(seed + 1000)
        found: dict[str, Array] = {}
        for port in self.compiled.inputs:
            known = zip(port.axes, port.shape, strict=True)
            shape = lead + tuple(self.widths[axis] if size is None else size for axis, size in known)
            if port.name in self.inputs:
                found[port.name] = self.inputs[port.name](draw, shape)
            elif port.element == "bool":
                found[str(port.name)] = draw.random(shape) < 0.7
            else:
                assert port.element == "real", f"{port.name} needs an entry in `inputs`"
                found[str(port.name)] = draw.standard_normal(shape)
        return found


def agrees(
    case: Case,
    reference: Reference,
    seed: int = 0,
    leads: Sequence[tuple[int, ...]] = LEADS,
    double: float = TOLERANCE["float64"],
) -> None:
    """Every backend and precision gives what the reference gives, for every example of every batch.

    double: what is allowed in float64, where the reference goes through float32 whatever it is given.
    """
    model, weights = case.compiled, case.draw_weights(seed)
    runs: list[tuple[str, str, Callable[..., Any]]] = []
    for kind in TOLERANCE:
        net = model.torch(weights=weights, dtype=getattr(torch, kind)).eval()
        runs.append(("torch", kind, _on_arrays(net)))
        runs.append(("numpy", kind, model.numpy(weights, dtype=kind)))
    for lead in leads:
        inputs = case.draw_inputs(seed, lead)
        wanted = _batched(reference, weights, inputs, lead)
        for backend, kind, run in runs:
            given = {name: array.astype(kind) if array.dtype.kind == "f" else array for name, array in inputs.items()}
            found = _results(run(**given))
            assert len(found) == len(wanted)
            for mine, right in zip(found, wanted, strict=True):
                assert mine.shape == right.shape and mine.dtype == kind
                error = float(np.abs(mine - right).max()) / (float(right.std()) or float(np.abs(right).max()) or 1.0)
                assert error <= (double if kind == "float64" else TOLERANCE[kind]), (
                    case.file,
                    model.name,
                    backend,
                    kind,
                    lead,
                    error,
                )


def _on_arrays(net: torch.nn.Module) -> Callable[..., Any]:
    def run(**inputs: Array) -> Any:
        with torch.no_grad():
            return net(**{name: torch.tensor(array) for name, array in inputs.items()})

    return run


def _results(made: Any) -> list[Array]:
    return [np.asarray(one) for one in (made if isinstance(made, tuple) else (made,))]


def _batched(reference: Reference, weights: Weights, inputs: Mapping[str, Array], lead: tuple[int, ...]) -> list[Array]:
    """The reference, one example at a time."""
    rows = [
        _results(reference(weights, **{name: array[place] for name, array in inputs.items()}))
        for place in np.ndindex(lead)
    ]
    return [np.stack(column).reshape((*lead, *column[0].shape)) for column in zip(*rows, strict=True)]


# What the formulas are written with.


def softmax(scores: Array, mask: Array | bool = True) -> Array:
    """Over the last axis. `mask`: true where an item counts; one does in every row."""
    scores = np.where(mask, scores, -np.inf)
    powers = np.exp(scores - scores.max(-1, keepdims=True))
    return np.asarray(powers / powers.sum(-1, keepdims=True))


def sigmoid(x: Array) -> Array:
    return np.asarray(1 / (1 + np.exp(-x)))


def attention(Q: Array, K: Array, V: Array, mask: Array | bool = True) -> Array:
    """Equation 1 of Vaswani et al. 2017: Q [..., n, d], K [..., m, d], V [..., m, v], heads in front if any."""
    scores = Q @ np.swapaxes(K, -1, -2) / np.sqrt(Q.shape[-1])
    return np.asarray(softmax(scores, mask) @ V)


def heads(x: Array, weight: Array, count: int, bias: Array | float = 0.0) -> Array:
    """x [n, d] through a stored weight [count * size, d], as [count, n, size]."""
    made = x @ weight.T + bias
    return np.asarray(made.reshape(len(x), count, -1).swapaxes(0, 1))


def joined(x: Array) -> Array:
    """[heads, n, size] -> [n, heads * size]."""
    return np.asarray(x.swapaxes(0, 1).reshape(x.shape[1], -1))


def causal(n: int) -> Array:
    return np.tri(n, dtype=bool)


def distances(n: int) -> Array:
    """[i, j] -> i - j."""
    return np.subtract.outer(np.arange(n), np.arange(n))


def some_true(draw: np.random.Generator, shape: tuple[int, ...]) -> Array:
    """A mask over the last axis that leaves at least the first item."""
    mask = draw.random(shape) < 0.6
    mask[..., 0] = True
    return mask
