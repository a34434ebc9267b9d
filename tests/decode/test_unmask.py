"""Masks that hide nothing from one new item are made for several alone."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import torch

import attnc
from tests.backends.written import written

SPEC = """
use std.attention: multihead, model, heads

const near = 4, layers = 2
width seq
width past like seq
depth model = 8, heads = 2, vocab = 7
model lm(ids: vocab[seq], real: bool[seq] = true) -> [seq, vocab] causal seq {
    param E: [vocab, model] ~ normal(0.5)
    x = E[vocab = ids]
    repeat i in layers {
        x = x + multihead.self[seq, past](x, x[seq as past], MASK)
    }
    return dot[model](x, E)
}
"""
CAUSAL, BAND = "past <= seq", "past <= seq and seq - past < near"


def lines(mask: str) -> int:
    """How many masks the code of a step makes for several items alone."""
    return written(attnc.loads(SPEC.replace("MASK", mask)).model("lm"), "torch").count("None if cache.alone else")


@pytest.mark.parametrize(
    ("mask", "made"),
    [
        (CAUSAL, 1),
        (BAND, 1),
        ("seq >= past and seq < past + 3", 1),
        ("seq + 1 > past", 1),
        ("seq >= past and abs(seq - past) < 3", 0),  # it does, but what an absolute value is not is not known
        ("past < seq", 0),  # the newest does not see itself
        ("past <= seq and seq - past > 2", 0),
        ("past <= seq and (seq - past) % 2 == 0", 0),
        ("past <= seq and (seq - past < 4 or past < 2)", 0),
    ],
)
def test_what_hides_nothing(mask: str, made: int) -> None:
    assert lines(mask) == made
    model = attnc.loads(SPEC.replace("MASK", mask)).model("lm")
    net = model.torch(seed=0, dtype=torch.float64).eval()
    ids = torch.from_numpy(np.random.default_rng(0).integers(0, 7, (2, 9)))
    whole = net(ids).detach()
    for parts in ([1] * 9, [4, 1, 2, 1, 1], [9], [2, 7]):
        cache = net.prepare()
        found = torch.cat([net.step(part, cache) for part in ids.split(parts, 1)], 1)
        torch.testing.assert_close(found, whole, rtol=1e-9, atol=1e-9)


PAIR = """
use std.attention: multihead, model, heads

width source, target
width past like target
depth model = 8, heads = 2, vocab = 7
model pair(x: [source, model], ids: vocab[target], real: bool[source] = true) -> [target, vocab] causal target {
    param E: [vocab, model] ~ normal(0.5)
    y = E[vocab = ids]
    repeat.layers 2 {
        y = y + multihead.self[target, past](y, y[target as past], past <= target)
        y = y + multihead.cross[target, source](y, x, MASK)
    }
    return dot[model](y, E)
}
"""


def hides(cache: Any) -> Iterator[bool]:
    """What a cache and its parts know of masks."""
    yield from cache.hides.values()
    for part in cache.parts.values():
        yield from hides(part)


@pytest.mark.parametrize(
    ("mask", "looked"),
    [
        ("real", True),
        ("real and source > 0", True),
        ("real or target > 2", False),
    ],
)
@pytest.mark.parametrize("backend", ["torch", "numpy"])
def test_a_mask_that_is_kept_is_looked_at_once(mask: str, looked: bool, backend: str) -> None:
    spec = attnc.loads(PAIR.replace("MASK", mask)).model("pair")
    assert ("cache.mask" in written(spec, backend)) == looked
    draw = np.random.default_rng(0)
    x, ids, real = draw.normal(size=(2, 5, 8)), draw.integers(0, 7, (2, 6)), draw.random((2, 5)) < 0.5
    real[:, -1] = True
    for given in ({}, {"real": np.ones_like(real)}, {"real": real}, {"real": real[:1].repeat(2, 0)}):
        if backend == "numpy":
            net, items = spec.numpy(seed=0, dtype="float64"), np.split(ids, 6, 1)
            whole, cache = net(x, ids, **given), net.prepare(x, **given)
            found = np.concatenate([net.step(item, cache) for item in items], 1)
        else:
            net = spec.torch(seed=0, dtype=torch.float64).eval()
            mine = {name: torch.from_numpy(one) for name, one in given.items()}
            whole, cache = (
                net(torch.from_numpy(x), torch.from_numpy(ids), **mine),
                net.prepare(torch.from_numpy(x), **mine),
            )
            found = torch.cat([net.step(item, cache) for item in torch.from_numpy(ids).split(1, 1)], 1).numpy()
            whole = whole.detach().numpy()
        np.testing.assert_allclose(found, whole, rtol=1e-9, atol=1e-9)
        if looked:
            assert {*hides(cache)} == {("real" in given and not given["real"].all()) or "0" in mask}


def test_it_is_a_pass() -> None:
    model = attnc.loads(SPEC.replace("MASK", CAUSAL)).model("lm")
    assert "None if cache.alone else" not in written(model, "torch", without=["unmask"])
    assert "step: unmask: 1 mask not made for one new item: lm" in model.explain().decoding
    assert "cache.alone" not in written(model, "numpy")
