"""What a step makes of places is made for many places at once, and read from a table."""

from __future__ import annotations

import copy

import pytest
import torch

import attnc
from tests.backends.written import written

from .steps import check_steps

HEAD = """
use std.attention: multihead, model, heads
use std.positions: sinusoid, rotary

const layers = 2
width seq
width past like seq
depth model = 8, heads = 2, vocab = 7
model lm(ids: vocab[seq]) -> [seq, vocab] causal seq {
    param E: [vocab, model] ~ normal(0.5)
    x = E[vocab = ids]
"""
TAIL = """
    repeat layers {
        x = x + multihead.self[seq, past](rotary[seq, model](x), x[seq as past], past <= seq)
    }
    return dot[model](x, E)
}
"""
ADDED = {
    "": 2,  # the cosines and sines of the rotation
    "    x = x + sinusoid[seq, model]()": 3,
    "    x = x * (1 + seq % 3)": 2,  # whole numbers, by few ops
    "    x = x + sin(seq * 0.5) * exp(0 - seq)": 3,
    "    x = x + sin(seq / |model|) / sqrt(seq + 1)": 3,
    "    x = x + sin(sqrt(seq + 1) * x)": 2,  # the items are in it
}


def model(added: str) -> attnc.Model:
    return attnc.loads(HEAD + added + TAIL).model("lm")


@pytest.mark.parametrize("added", ADDED)
def test_what_is_a_table(added: str) -> None:
    assert written(model(added), "torch").count("cache.tabulate") == ADDED[added]
    check_steps(model(added), seeds=(0, 1, 2))


def test_tables_are_made_seldom_and_grow() -> None:
    net = model("").torch(seed=0, dtype=torch.float64).eval()
    ids = torch.randint(7, (2, 40), generator=torch.Generator().manual_seed(0))
    whole, cache, made = net(ids).detach(), net.prepare(), []
    for place, item in enumerate(ids.split(1, 1)):
        other = copy.deepcopy(cache)
        found = net.step(item, cache)
        torch.testing.assert_close(found, whole[:, place : place + 1], rtol=1e-9, atol=1e-9)
        assert torch.equal(net.step(item, other), found)
        made.append(dict.fromkeys(len(table) for table, _ in cache.tables.values()))
    lengths = list(dict.fromkeys(length for each in made for length in each))
    assert lengths == [2, 6, 14, 30, 62]
    room = net.prepare()
    room.room = 50
    net.step(ids[:, :1], room)
    assert {len(table) for table, _ in room.tables.values()} == {50}


def test_a_fixed_cache_has_none() -> None:
    net = model("    x = x + sinusoid[seq, model]()").torch(seed=0).eval()
    ids = torch.randint(7, (2, 5), generator=torch.Generator().manual_seed(0))
    assert torch.equal(net.generate(ids, 6), net.generate(ids, 6, static=True))
    assert net._fixed_step.cache.tables == {}


def test_it_is_a_pass() -> None:
    text = written(model(""), "torch", without=["tabulate"])
    assert "if cache.lacks" not in text and "cache.places(" in text
    assert "step: tabulate: 2 tables of places (PyTorch): lm" in model("").explain().decoding
    assert "if cache.lacks" not in written(model(""), "numpy")
