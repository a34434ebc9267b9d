"""Models go to other processes (multiprocessing pickles what it sends), and can be copied."""

from __future__ import annotations

import copy
import pickle
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import attnc

SPEC = attnc.loads("""
use std.attention: multihead, model, heads

const layers = 2
width seq <= 32
width past like seq
depth model = 12, heads = 3, vocab = 9

model lm(ids: vocab[seq]) -> [seq, vocab] causal seq {
    param E: [vocab, model] ~ normal(1)
    x = E[vocab = ids]
    repeat layers {
        y = layernorm.see[model](x)
        x = x + multihead.self[seq, past](y, y[seq as past], past <= seq)
    }
    return dot[model](x, E)
}

model renamed(self: [seq, model], lambda: [seq, model]) -> [seq, model] {
    return linear.W[model -> model](self) - lambda
}

model plain(x: int[seq]) -> [seq] {
    return sin(x)
}
""")
IDS = [[1, 2, 3, 4]]
REALS = np.random.default_rng(0).standard_normal((2, 4, 12))
BACKENDS = ["torch", "numpy"]
WAYS: dict[str, Callable[[Any], Any]] = {
    "pickle": lambda x: pickle.loads(pickle.dumps(x)),
    "deepcopy": copy.deepcopy,
    "copy": copy.copy,
}


def build(name: str, backend: str) -> Any:
    model = SPEC.model(name)
    if backend == "torch":
        return model.torch(seed=1, dtype="float64").eval()
    return model.numpy(seed=1, dtype="float64")


def inputs(name: str, backend: str) -> dict[str, Any]:
    given: dict[str, Any] = {
        "lm": {"ids": np.array(IDS)},
        "renamed": {"self": REALS, "lambda": 2 * REALS},
        "plain": {"x": np.arange(4)},
    }[name]
    return {key: torch.tensor(x) for key, x in given.items()} if backend == "torch" else given


def plain(x: Any) -> Any:
    return (x.detach() if isinstance(x, torch.Tensor) else x).tolist()


def results(net: Any, name: str) -> list[Any]:
    """What a model makes of some inputs: by position, by name, and in steps."""
    given = inputs(name, "torch" if isinstance(net, torch.nn.Module) else "numpy")
    outs = [net(*given.values()), net(**given)]
    if name == "lm":
        outs += [net.generate([1, 2], 5, temperature=1.0, seed=3), net.step(given["ids"], net.prepare())]
    return list(map(plain, outs))


THERE = """
import pickle, sys
with open(sys.argv[1], "rb") as file:
    net, inputs, cache = pickle.load(file)
out = net(**inputs)
more = cache and (net.generate([1, 2], 5, temperature=1.0, seed=3), net.step(inputs["ids"], cache))
with open(sys.argv[1], "wb") as file:
    pickle.dump((out, more), file)
"""


@pytest.mark.parametrize("name", ["lm", "renamed"])
@pytest.mark.parametrize("backend", BACKENDS)
def test_a_model_goes_to_a_fresh_process(backend: str, name: str, tmp_path: Path) -> None:
    file, net, given = tmp_path / "sent", build(name, backend), inputs(name, backend)
    cache = net.prepare() if name == "lm" else None
    file.write_bytes(pickle.dumps((net, given, cache)))
    subprocess.run([sys.executable, "-P", "-c", THERE, str(file)], check=True)
    out, more = pickle.loads(file.read_bytes())
    np.testing.assert_allclose(plain(out), plain(net(**given)), rtol=1e-12)
    if name == "lm":
        assert plain(more[0]) == plain(net.generate([1, 2], 5, temperature=1.0, seed=3))
        np.testing.assert_allclose(plain(more[1]), plain(out), rtol=1e-9)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", SPEC.models)
@pytest.mark.parametrize("backend", BACKENDS)
def test_copies_do_the_same(backend: str, name: str, way: str) -> None:
    net = build(name, backend)
    twin = WAYS[way](net)
    assert type(twin) is type(net) and twin is not net
    assert results(twin, name) == results(net, name)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("backend", BACKENDS)
def test_whose_weights_they_are(backend: str, way: str) -> None:
    """Those of a shallow copy are the model's own; others have their own, with what was changed."""
    net = build("lm", backend)
    weights = (lambda net: net.state_dict()) if backend == "torch" else (lambda net: net.weights)
    weights(net)["E"][0] = 7
    twin = WAYS[way](net)
    assert weights(twin)["E"][0, 0] == 7 and list(weights(twin)) == list(weights(net))
    weights(net)["E"][0] = 8
    assert weights(twin)["E"][0, 0] == (8 if way == "copy" else 7)


def test_in_numpy_weights_lie_side_by_side_again() -> None:
    net = build("lm", "numpy")
    for twin in (net, copy.deepcopy(net), pickle.loads(pickle.dumps(net))):
        cache = twin.prepare()
        twin.step(np.array([[1]]), cache)
        products = [joint for part in cache.at("layers.0").parts.values() for joint in part.joint.values()]
        assert products and None not in products


def test_in_numpy_weights_of_another_type_stay() -> None:
    net = build("lm", "numpy")
    net.weights["E"] = net.weights["E"].astype(np.float32)
    twin = copy.deepcopy(net)
    assert {path: x.dtype for path, x in twin.weights.items()} == {path: x.dtype for path, x in net.weights.items()}
    assert results(twin, "lm") == results(net, "lm")


@pytest.mark.parametrize("way", ["pickle", "deepcopy"])
@pytest.mark.parametrize("backend", BACKENDS)
def test_a_cache_goes_along_without_the_weights(backend: str, way: str) -> None:
    ids = inputs("lm", backend)["ids"]
    net = build("lm", backend)
    cache = net.prepare()
    net.step(ids[:, :1], cache)
    twin, other = WAYS[way]((net, cache))
    if backend == "torch":
        assert cache.parts_known[0] is net and other.parts_known == (None, None)
    else:
        assert cache.at("layers.0").at("self").joint and not other.at("layers.0").at("self").joint
    np.testing.assert_allclose(plain(twin.step(ids, other)), plain(net.step(ids, cache)), rtol=1e-12)
