"""However a mask is lowered, it means what it says: NumPy, PyTorch and the independent interpreter agree."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import pytest
import torch

import attnc.backends.lower
from attnc.backends import build_torch
from attnc.compiler.graph import Graph
from attnc.compiler.rewrites import fold_truths, fuse_attention
from tests.backends.agreement import agree, graph_of, random_inputs

from .random_masks import spec

SIZES = (0, 1, 2, 7, 65, 130)


@contextmanager
def dense() -> Iterator[None]:
    """Masks are made as a whole, as they were before any was recognised."""
    usual = attnc.backends.lower.PASSES
    attnc.backends.lower.PASSES = (
        ("fold_truths", lambda g: fold_truths(g)[0]),
        ("fuse", lambda g: fuse_attention(g)[0]),
    )
    try:
        yield
    finally:
        attnc.backends.lower.PASSES = usual


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


def gradients(graph: Graph, inputs: list[np.ndarray]) -> list[torch.Tensor]:
    module = build_torch(graph, seed=1, dtype=torch.float64)
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
    found = gradients(graph, inputs)
    with dense():
        expected = gradients(graph, inputs)
    for one, other in zip(found, expected, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-9, atol=1e-10)
