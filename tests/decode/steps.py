"""Step by step against all at once: the results of a model for a whole sequence, and those of its derived steps."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
import torch

import attnc
from tests.backends.agreement import random_inputs

Array = np.ndarray[Any, np.dtype[Any]]
SINGLE, DOUBLE = 1e-5, 1e-10  # of the results' standard deviation


def splits(total: int, seed: int) -> list[int]:
    """How a sequence is cut: all of it, one by one, or at random."""
    draw = np.random.default_rng(seed)
    if seed % 3 == 0:
        return [1] * total
    found: list[int] = []
    while sum(found) < total:
        found.append(int(draw.integers(1, total - sum(found) + 1)) if seed % 3 == 1 else 3 if not found else 1)
        found[-1] = min(found[-1], total - sum(found[:-1]))
    return found


def inputs_of(model: attnc.Model, lead: Sequence[int], widths: Sequence[int], real: Any, seed: int) -> dict[str, Array]:
    """Random inputs by name, those along time that may be left out left out."""
    decoding = model.decoding
    assert decoding.step is not None and decoding.prepare is not None, decoding.reason
    wanted = {item.name for graph in (decoding.step, decoding.prepare) for item in graph.inputs}
    graph = model._sized
    names = [item.name for item in graph.inputs]
    return {n: x for n, x in zip(names, random_inputs(graph, lead, widths, real, seed), strict=True) if n in wanted}


def apart(found: Array, right: Array) -> float:
    """The largest difference, in standard deviations of what is right."""
    assert found.shape == right.shape, (found.shape, right.shape)
    if found.dtype.kind != "f":
        return 0.0 if (found == right).all() else np.inf
    finite = np.isfinite(right)
    assert (np.isfinite(found) == finite).all()
    if not finite.any():
        return 0.0
    scale = max(float(right[finite].std()), float(np.abs(right[finite]).max()) / 10, 1e-6)
    return float(np.abs(found[finite] - right[finite]).max()) / scale


def check_steps(
    model: attnc.Model,
    lead: Sequence[int] = (2,),
    widths: Sequence[int] = (9, 7, 5),
    seeds: Sequence[int] = (0, 1),
    dtypes: Sequence[str] = ("float64", "float32"),
    backends: Sequence[str] = ("torch", "numpy"),
    values: dict[str, Array] | None = None,
    without: Sequence[str] = (),
) -> None:
    """Each backend's steps give what its whole model gives, for several ways to cut the sequence.

    without: passes that are left out.
    """
    decoding = model.decoding
    assert decoding.step is not None, decoding.reason
    assert decoding.time is not None
    for dtype in dtypes:
        inputs = inputs_of(model, lead, widths, np.dtype(dtype), seeds[0]) if values is None else values
        inputs = {name: x.astype(dtype) if x.dtype.kind == "f" else x for name, x in inputs.items()}
        for backend in backends:
            if backend == "torch":
                net: Any = model.torch(seed=1, dtype=getattr(torch, dtype), without=without).eval()
                given: dict[str, Any] = {name: torch.as_tensor(x) for name, x in inputs.items()}
                with torch.no_grad():
                    right = net(**given)
            else:
                net = model.numpy(seed=1, dtype=dtype, without=without)
                given = dict(inputs)
                right = net(**given)
            for seed in seeds:
                found = stepped(model, net, given, seed, backend)
                whole = chosen(model, right)
                for place, (one, other) in enumerate(zip(found, whole, strict=True)):
                    error = apart(one, other)
                    limit = DOUBLE if dtype == "float64" else SINGLE
                    assert error <= limit, (model.name, backend, dtype, place, seed, error)


def chosen(model: attnc.Model, result: Any) -> list[Array]:
    """The results that steps give, of all."""
    left_out = model.decoding.left_out
    outputs = model.graph.outputs
    return [x for x, output in zip(every(result), outputs, strict=True) if (output.name or "result") not in left_out]


def plain(x: Any) -> Array:
    return x.detach().numpy() if isinstance(x, torch.Tensor) else np.asarray(x)


def stepped(model: attnc.Model, net: Any, given: dict[str, Any], seed: int, backend: str) -> list[Array]:
    """The results of all steps, joined."""
    decoding = model.decoding
    assert decoding.step is not None and decoding.prepare is not None and decoding.time is not None
    cache = net.prepare(**{item.name: given[item.name] for item in decoding.prepare.inputs if item.name in given})
    items = {item.name: item for item in decoding.step.inputs}
    new = decoding.step.stepped
    assert new is not None
    places = {
        name: next(i - len(item.value.type.axes) for i, a in enumerate(item.value.type.axes) if a.family == new.new)
        for name, item in items.items()
    }
    first = next(iter(items))
    total = given[first].shape[places[first]]
    parts: list[list[Array]] = []
    at = 0
    dims = [output.axes.index(new.tail) - len(output.axes) for output in decoding.step.outputs]
    sizes = splits(total, seed)
    for size in sizes:
        piece = {}
        for name in items:
            index = [slice(None)] * given[name].ndim
            index[places[name]] = slice(at, at + size)
            piece[name] = given[name][tuple(index)]
        at += size
        before = copy.deepcopy(cache) if size == max(sizes) else None
        parts.append(every(net.step(**piece, cache=cache)))
        if before is not None:  # the last results alone
            last = min(size, 2)
            for one, some, dim in zip(every(net.step(**piece, cache=before, last=last)), parts[-1], dims, strict=True):
                assert apart(one, np.take(some, range(size - last, size), dim)) <= 1e-5
    return [np.concatenate([part[place] for part in parts], dim) for place, dim in enumerate(dims)]


def every(result: Any) -> list[Array]:
    return [plain(x) for x in (result if isinstance(result, tuple) else (result,))]


def each_steps(programs: Iterable[tuple[int, str, attnc.Model]], check: Callable[[attnc.Model, int], None]) -> int:
    """How many of these programs, by seed, have steps and pass the check."""
    done = 0
    for seed, text, model in programs:
        try:
            assert model.decoding.step is not None, model.decoding.reason
            check(model, seed)
        except Exception as error:
            error.add_note(f"seed {seed}\n{text}")
            raise
        done += 1
    return done
