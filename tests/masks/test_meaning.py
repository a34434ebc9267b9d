"""However a mask is lowered, it means what it says: NumPy, PyTorch and the independent interpreter agree."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
import torch

from attnc.backends import build_torch, torch_source
from attnc.compiler.graph import Graph
from attnc.compiler.rewrites import PASSES, Pass
from tests.backends.agreement import agree, graph_of, random_inputs

from .random_masks import spec

SIZES = (0, 1, 2, 7, 65, 130)


DENSE = [one for one in PASSES if one.name != "place_masks"]  # masks are made as a whole, and given to the kernel


@pytest.mark.parametrize("seed", range(25))
def test_random_masks(seed: int) -> None:
    agree(graph_of(spec(seed)), leads=((), (2,)), widths=((SIZES[seed % len(SIZES)],),))


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(1000, 1300))
def test_many_random_masks(seed: int) -> None:
    agree(graph_of(spec(seed)), leads=((2, 1),), widths=((SIZES[seed % len(SIZES)],),))


@pytest.mark.parametrize("seed", [3, 5])
def test_wide(seed: int) -> None:
    agree(graph_of(spec(seed)), leads=((),), widths=((1000,),))


def gradients(graph: Graph, inputs: list[np.ndarray], passes: Sequence[Pass] = PASSES) -> list[torch.Tensor]:
    module = build_torch(graph, seed=1, dtype=torch.float64, passes=passes)
    x = torch.tensor(inputs[0], requires_grad=True)
    out = module(x, *map(torch.tensor, inputs[1:]))
    (out * torch.linspace(-1, 1, out.numel(), dtype=out.dtype).reshape(out.shape)).sum().backward()
    return [
        x.grad if x.grad is not None else torch.zeros_like(x),
        *(p.grad if p.grad is not None else torch.zeros_like(p) for p in module.parameters()),
    ]


@pytest.mark.parametrize("seed", range(14))
def test_gradients(seed: int) -> None:
    graph = graph_of(spec(seed))
    inputs = random_inputs(graph, (2,), (SIZES[1 + seed % 5],))
    assert "masked_attention" not in torch_source(graph, passes=DENSE)
    found, expected = gradients(graph, inputs), gradients(graph, inputs, DENSE)
    for one, other in zip(found, expected, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-9, atol=1e-10)
