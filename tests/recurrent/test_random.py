"""Random programs of these shapes compute the same as their loops, with the same gradients."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import attnc

from .programs import INPUTS, program

PASSES = ["linear_scans", "cells", "lift_scans", "running_sums", "halves"]
WIDTHS = (0, 1, 2, 5, 17, 40, 70, 130)


def check(seed: int) -> int:
    """One program; how many lines of its code a rewrite changed."""
    text, _ = program(seed)
    try:
        net = attnc.loads(text).model("net")
        return _agrees(net, seed)
    except Exception as error:
        error.add_note(f"seed {seed}\n{text}")
        raise


def _agrees(net: attnc.Model, seed: int) -> int:
    draw = np.random.default_rng(seed)
    sizes = {port.name: port for port in net.inputs}
    n, batch = int(draw.choice(WIDTHS)), [(), (2,), (2, 1)][seed % 3]
    given = {}
    for name in INPUTS:
        shape = (*batch, *(n if size is None else size for size in sizes[name].shape))
        given[name] = draw.normal(size=shape)
    ours, theirs = net.torch(seed=0).double(), net.torch(seed=0, without=PASSES).double()
    assert [*ours.state_dict()] == [*theirs.state_dict()]
    theirs.load_state_dict(ours.state_dict())
    found = [_results(one, given) for one in (ours, theirs)]
    for mine, expected in zip(*found, strict=True):
        assert mine.shape == expected.shape
        if mine.numel():
            assert torch.isfinite(expected).all()
            assert float((mine - expected).abs().max()) <= 1e-10 * max(float(expected.std(correction=0)), 1e-2)
    weights = {path: weight.numpy() for path, weight in ours.state_dict().items()}
    in_numpy = net.numpy(weights=weights) if weights else net.numpy()
    expected = found[1][0].numpy()
    if expected.size:
        assert np.abs(in_numpy(**given) - expected).max() <= 1e-10 * max(expected.std(), 1e-2)
        single = ours.float()(*(torch.tensor(x, dtype=torch.float32) for x in given.values())).detach().double().numpy()
        loop = theirs.float()(*(torch.tensor(x, dtype=torch.float32) for x in given.values())).detach().double().numpy()
        error, usual = np.abs(single - expected).max(), np.abs(loop - expected).max()
        assert error <= max(2e-5 * max(expected.std(), 1e-2), 20 * usual)  # where the numbers cancel, in another order
    a, b = (net.source("torch", without=without) for without in ([], PASSES))
    return sum(one != other for one, other in zip(a.split("\n"), b.split("\n"), strict=False))


def _results(net: torch.nn.Module, given: dict[str, np.ndarray]) -> list[torch.Tensor]:
    """The result and all gradients."""
    inputs = [torch.tensor(x, requires_grad=True) for x in given.values()]
    out = net(*inputs)
    upstream = torch.linspace(-1, 1, out.numel(), dtype=out.dtype).reshape(out.shape)
    leaves = [*inputs, *net.parameters()]
    total = (out * upstream).sum() + 0 * sum(x.sum() for x in leaves)  # of no items a loop has no gradient
    gradients = torch.autograd.grad(total, leaves)
    return [out.detach(), *gradients]


def test_same_numbers() -> None:
    assert sum(check(seed) > 0 for seed in range(25)) > 20


@pytest.mark.slow
@pytest.mark.parametrize("group", range(19))
def test_same_numbers_of_many(group: int) -> None:
    for seed in range(25 + group * 25, 50 + group * 25):
        check(seed)
