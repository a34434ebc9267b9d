"""States that no item of the input goes into: counters, constants and powers of a number."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import attnc

from .test_random import PASSES

SPEC = """\
width seq
block step(x: [], h: []) -> (h: [], out: []) {
    return NEXT, OUT
}
model net(x: [seq]) -> [seq] causal seq {
    _, y = scan[seq] step(x, h = START)
    return y
}
"""


@pytest.mark.parametrize("start", ["0", "0.5"])
@pytest.mark.parametrize("out", ["sqrt(x) + h", "h"])
@pytest.mark.parametrize("next_", ["h + 1", "2 * h + 1", "1 - h", "h * 0.5", "h", "0 * h + 3", "h * x + 1"])
def test_states_of_numbers(next_: str, out: str, start: str) -> None:
    net = attnc.loads(SPEC.replace("NEXT", next_).replace("OUT", out).replace("START", start)).model("net")
    x = np.random.default_rng(0).uniform(0.5, 1.5, (2, 7))
    wanted = net.torch(without=PASSES).double()(torch.tensor(x)).numpy()
    for found in (net.torch().double()(torch.tensor(x)).numpy(), net.numpy()(x)):
        np.testing.assert_allclose(found, wanted, rtol=1e-10, atol=1e-12)
