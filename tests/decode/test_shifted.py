"""Items that are known before they come, in chunks: step by step against the whole."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

import attnc

from . import shifted
from .steps import apart, each_steps, every, plain

LENGTH = 12
PLANS = ((1,) * LENGTH, (5, 1, 1, 1, 4), (2, 1, 3, 6), (4, 4, 4), (LENGTH,))

HOURGLASS = """
width seq
width short = seq / k
width k = 2
depth d = 4

# Groups of two, of items that are shifted by one, so that no item sees one after it (Nawrot et al. 2021).
model net(x: [seq, d]) -> [seq, d] causal seq {
    shifted = select(seq < |k| - 1, 0, x[seq = max(seq - |k| + 1, 0)])
    y = linear.pool[k, d -> d](split[seq -> short, k](shifted))
    return x + merge[short, k -> seq](linear.spread[d -> k, d](y))
}
"""

BLOCK_RECURRENT = """
use std.attention: multihead, model as d, heads
width seq
width chunk = seq / at
width at = 4, state = 3
width from like at
depth d = 4, heads = 2

# Hutchins et al. 2022. What hangs on the state is done chunk by chunk, the rest for all: calls of one set of modules.
block cell(x: [at, d], S: [state, d]) -> (y: [at, d], S: [state, d]) {
    y = x + multihead.own[at, from](x, x[at as from], mask = from <= at) + multihead.read[at, state](x, S)
    gate = sigmoid(linear.gate[d -> d](S))
    return y, gate * S + (1 - gate) * multihead.write[state, at](S, x)
}

model net(x: [seq, d]) -> [seq, d] causal seq {
    param start: [state, d] ~ normal(1.0)
    y, _ = scan[chunk] cell(split[seq -> chunk, at](x), S = start)
    return merge[chunk, at -> seq](y)
}
"""

PATCHES = """
use std.attention: multihead, model as d, heads
width seq
width patch = seq / at
width earlier like patch
width at = 4
width from like at
depth d = 4, heads = 2

# Yu et al. 2023: one block for patches, of which there are ever more, and for the four items in one.
block layer[q: width, k: width like q](x: [q, d]) -> [q, d] {
    return x + multihead[q, k](x, x[q as k], mask = k <= q)
}

model net(x: [seq, d]) -> [seq, d] causal seq {
    y = split[seq -> patch, at](x)
    whole = layer.outer[patch, earlier](select(patch == 0, 0, mean[at](y)[patch = max(patch - 1, 0)]))
    return merge[patch, at -> seq](layer.local[at, from](y + broadcast[at](whole)))
}
"""

PREFIX = """
use std.attention: multihead, model as d, heads
width prefix, text
width seq = prefix + text
width past like seq
depth d = 4, heads = 2

# A block that speaks of the size of the prefix, which its callers know.
block layer(x: [seq, d]) -> [seq, d] {
    return x + multihead[seq, past](x, x[seq as past], mask = past <= seq or past < |prefix|)
}

model net(lead: [prefix, d], x: [text, d]) -> [text, d] causal text {
    z = concat[prefix, text -> seq](lead, x)
    repeat.layers 2 {
        z = layer(z)
    }
    return z[seq = |prefix| + int(text)]
}
"""


def check(model: attnc.Model, seed: int, **others: Any) -> None:
    size = next(axis.extent for axis in model.graph.axes if axis.name == "d")
    given = np.random.default_rng(seed).standard_normal((2, LENGTH, size or 0))
    for net in (model.numpy(seed=1, dtype="float64"), model.torch(seed=1, dtype=torch.float64).eval()):
        lift: Any = torch.as_tensor if isinstance(net, torch.nn.Module) else np.asarray
        there = {name: lift(value) for name, value in others.items()}
        whole = every(net(x=lift(given), **there))[0]
        for plan in PLANS:
            cache, at, found = net.prepare(**there), 0, []
            for count in plan:
                found.append(plain(net.step(lift(given[:, at : at + count]), cache)))
                at += count
            assert apart(np.concatenate(found, 1), whole) < 1e-9, (type(net).__name__, plan)


def run(seeds: range) -> int:
    return each_steps(shifted.causal(seeds), check)


def test_random() -> None:
    assert run(range(8)) >= 3


@pytest.mark.slow
@pytest.mark.parametrize("group", range(20))
def test_many(group: int) -> None:
    assert run(range(8 + 20 * group, 28 + 20 * group)) >= 6


@pytest.mark.parametrize("text", [HOURGLASS, BLOCK_RECURRENT, PATCHES])
def test_written(text: str) -> None:
    check(attnc.loads(text).model("net"), 0)


def test_prefix() -> None:
    """What a block says of its caller's prefix is known in there: nothing is made anew."""
    model = attnc.loads(PREFIX).model("net")
    assert not model.decoding.at_once
    check(model, 0, lead=np.random.default_rng(5).standard_normal((2, 3, 4)))


def test_words() -> None:
    """A leak through what is shifted says by how much."""
    wrong = HOURGLASS.replace("|k| + 1, 0", "1, 0").replace("width k = 2", "width k = 3")
    assert any("up to `seq` - 1" in label.text for one in attnc.check(wrong) for label in one.related)
