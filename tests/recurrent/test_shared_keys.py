"""Keys that several heads share, each of which forgets at its own rate: as Mamba 2 and gated delta rules have them."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import attnc

from .test_random import PASSES

SPEC = """\
width seq
depth clan = 2, sharing = 3, key = 4, value = 5

block step(
    q: [clan, key], k: [clan, key], v: [clan, sharing, value], a: [clan, sharing], S: [clan, sharing, key, value]
) -> (S: [clan, sharing, key, value], out: [clan, sharing, value]) {
    S = a * S
    S = S + ADDED
    return S, dot[key](q, S)
}

model net(
    q: [seq, clan, key], k: [seq, clan, key], v: [seq, clan, sharing, value], a: [seq, clan, sharing]
) -> [seq, clan, sharing, value] causal seq {
    _, y = scan[seq] step(q, l2norm[key](k), v, sigmoid(a), S = 0)
    return y
}
"""


@pytest.mark.parametrize("added", ["k * v", "k * (v - dot[key](k, S))"])
def test_shared_keys(added: str) -> None:
    net = attnc.loads(SPEC.replace("ADDED", added)).model("net")
    assert "linear_attention(" in net.source("numpy") and "linear_attention(" in net.source("torch")
    draw = np.random.default_rng(0)
    given = [draw.normal(size=(2, 70, *shape)) for shape in ((2, 4), (2, 4), (2, 3, 5), (2, 3))]
    wanted = net.torch(without=PASSES).double()(*map(torch.tensor, given)).numpy()
    for found in (net.torch().double()(*map(torch.tensor, given)).numpy(), net.numpy()(*given)):
        assert np.abs(found - wanted).max() <= 1e-10 * wanted.std()
