"""Attentions in chunks and behind prefixes, decoded: a prompt of n items and single steps behind it, for every n.

What comes after does not count: the first n items are those of the whole on the next length that it takes.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
import torch

import attnc
from tests.decode.steps import apart, every, plain

from .checking import EXAMPLES

DELTA = {"at": 4, "rounds": 1, "heads": 2, "key": 3, "value": 5}
SMALL = {"model": 8, "heads": 2, "inner": 12}
CASES: Mapping[str, tuple[str, dict[str, Any], int]] = {  # file, sizes, of how many items the length is a multiple
    "chunkwise": ("retention", {"size": 4, "heads": 2, "key": 4, "value": 3}, 4),
    "chunkwise_delta": ("gated_delta", DELTA, 4),
    "moba": ("moba", {"at": 4, "heads": 2, "key": 3, "value": 5, "best": 1}, 4),
    "native_sparse": (
        "native_sparse",
        {"model": 6, "heads": 2, "key": 3, "value": 5, "at": 4, "best": 1, "near": 3},
        4,
    ),
    "indexed": ("indexed", {"model": 6, "heads": 2, "key": 3, "value": 5, "small": 4, "scorers": 3, "best": 3}, 1),
    "remembering": ("memory_tokens", SMALL, 1),
    "reads_a_picture": ("vision_prefix", SMALL | {"pixels": 5, "vocab": 11}, 1),
}
LONGEST = 9


def drawn(model: attnc.Model, time: str, length: int, seed: int) -> dict[str, Any]:
    draw = np.random.default_rng(seed)
    found: dict[str, Any] = {}
    for port in model.inputs:
        known = zip(port.axes, port.shape, strict=True)
        shape = (2, *(length if axis == time else 3 if size is None else size for axis, size in known))
        found[str(port.name)] = draw.standard_normal(shape) if port.element == "real" else draw.integers(0, 11, shape)
    return found


@pytest.mark.parametrize("backend", ["numpy", "torch"])
@pytest.mark.parametrize("name", CASES)
def test_every_prompt(name: str, backend: str) -> None:
    file, sizes, step = CASES[name]
    model = attnc.load(EXAMPLES / f"{file}.attn", sizes=sizes).model(name)
    decoding = model.decoding
    assert decoding.step is not None and decoding.prepare is not None and decoding.time is not None
    time = decoding.time.name
    net: Any = (
        model.numpy(seed=1, dtype="float64") if backend == "numpy" else model.torch(seed=1, dtype=torch.float64).eval()
    )
    lift = (lambda x: x) if backend == "numpy" else torch.as_tensor
    items = [str(item.name) for item in decoding.step.inputs]
    places = {port.name: port.axes.index(time) + 1 for port in model.inputs if port.name in items}
    along = [axis.name for axis in model.graph.outputs[0].axes].index(time) + 1
    whole = LONGEST + -LONGEST % step
    given, other = drawn(model, time, whole, 0), drawn(model, time, whole, 1)
    for n in range(1, LONGEST + 1):
        upto = n + -n % step
        cut: dict[str, Any] = {}
        for key, x in given.items():
            cut[key] = x if key not in places else np.concatenate(  # behind n come others: they do not count
                [part(x, places[key], 0, n), part(other[key], places[key], n, upto)], places[key]
            )  # fmt: skip
        right = part(plain(every(net(**{key: lift(x) for key, x in cut.items()}))[0]), along, 0, n)
        for prompt in {1, n // 2, n - 3, n} & {*range(1, n + 1)}:
            cache = net.prepare(**{item.name: lift(given[item.name]) for item in decoding.prepare.inputs})
            found = []
            for start, end in [(0, prompt), *((i, i + 1) for i in range(prompt, n))]:
                piece = {key: lift(part(given[key], places[key], start, end)) for key in items}
                found.append(plain(every(net.step(**piece, cache=cache))[0]))
            assert apart(np.concatenate(found, along), right) < 1e-10, (n, prompt)


def part(x: Any, dim: int, start: int, end: int) -> Any:
    return x[(slice(None),) * dim + (slice(start, end),)]
