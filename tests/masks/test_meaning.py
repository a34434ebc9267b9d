"""However a mask is lowered, it means what it says: NumPy, PyTorch and the independent interpreter agree."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
import torch

import attnc
from attnc.backends.loading.load import build_torch
from attnc.compiler.graph.nodes import Graph
from attnc.compiler.pipeline import PASSES, Pass
from tests.backends.agreement import agree, graph_of, random_inputs
from tests.sources import torch_source

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


# A mask, and the same of positions s and t, of i and real there: `k` and `r` are those of t.
TWICE: list[tuple[str, Callable[..., Any]]] = [
    ("s - t < i[s as t] and s - t < i[s as t]", lambda s, t, i, k, r: s - t < k),
    ("(t <= s or i == i[s as t]) and i == i[s as t]", lambda s, t, i, k, r: i == k),
    ("t <= s and i == i[s as t] and not (i[s as t] < i and i == i[s as t])", lambda s, t, i, k, r: (t <= s) & (i == k)),
    ("t <= s and (real[s as t] or i > 1) and (real[s as t] or i > 0)", lambda s, t, i, k, r: (t <= s) & (r | (i > 1))),
]


@pytest.mark.parametrize(("mask", "meant"), TWICE)
@pytest.mark.parametrize("bias", ["", " + 0.5 * (s - t)"])
def test_a_mask_that_reads_a_value_twice(mask: str, meant: Callable[..., Any], bias: str) -> None:
    """Operands were counted by the mask, which read one value less than there were: the spare was taken for a bias."""
    model = attnc.loads(f"""
width s
width t like s
depth d = 4
model f(x: [s, d], i: int[s], real: bool[s]) -> [s, d] {{
    return dot[t](softmax[t](dot[d](x, x[s as t]){bias} where {mask}), x[s as t])
}}
""").model("f")
    draw = np.random.default_rng(0)
    x, i, real = draw.normal(size=(2, 9, 4)), draw.integers(0, 3, (2, 9)), draw.random((2, 9)) > 0.3
    s, t = np.arange(9)[:, None], np.arange(9)
    scores = np.einsum("bsd,btd->bst", x, x) + (0.5 * (s - t) if bias else 0)
    weights = np.where(meant(s, t, i[..., None], i[:, None], real[:, None]), np.exp(scores), 0)
    due = weights / np.maximum(weights.sum(-1, keepdims=True), 1e-300) @ x
    for without in ((), ("merge",), ("place_masks",)):
        np.testing.assert_allclose(model.numpy(dtype=np.float64, without=without)(x, i, real), due, rtol=1e-10)
        found = model.torch(dtype=torch.float64, without=without)(*map(torch.as_tensor, (x, i, real)))
        np.testing.assert_allclose(found.numpy(), due, rtol=1e-10)


INNER = "dot[p](softmax[p](dot[d](x, z)), {values})"
NESTED = {
    "as scores": f"{INNER.format(values='dot[d](z, x[s as t])')}",
    "as scores, scaled": f"{INNER.format(values='2 * dot[d](z, x[s as t])')} / 2",
    "as scores, with a bias": f"{INNER.format(values='dot[d](z, x[s as t])')} + 0 * dot[d](x, x[s as t])",
    "as queries": f"0 * (s - t) + dot[d]({INNER.format(values='z')}, x[s as t])",
}


@pytest.mark.parametrize("scores", NESTED.values(), ids=NESTED)
def test_attention_over_the_result_of_an_attention(scores: str) -> None:
    """The product of the inner one is no product of queries and keys once it is an attention itself."""
    model = attnc.loads(f"""
width s
width t like s
depth d = 3, p = 4
model f(x: [s, d], z: [p, d]) -> [s, d] {{
    return dot[t](softmax[t]({scores} where t <= s), x[s as t])
}}
""").model("f")
    draw = np.random.default_rng(0)
    x, z = draw.normal(size=(2, 5, 3)), draw.normal(size=(2, 4, 3))
    inner = np.exp(x @ z.mT)
    weights = np.tril(np.exp(inner / inner.sum(-1, keepdims=True) @ (z @ x.mT)))
    due = weights / weights.sum(-1, keepdims=True) @ x
    for without in ((), ("place_masks",), ("fuse_attention",)):
        np.testing.assert_allclose(model.numpy(dtype=np.float64, without=without)(x, z), due, rtol=1e-10)
        found = model.torch(dtype=torch.float64, without=without)(torch.tensor(x), torch.tensor(z))
        np.testing.assert_allclose(found.numpy(), due, rtol=1e-10)


TRUTHS = ["near > 1", "near < 1", "true", "not true", "past <= seq or near > 1", "past <= seq and near < 1"]


@pytest.mark.parametrize("truth", TRUTHS)
def test_a_truth_that_is_one_for_all_items(truth: str) -> None:
    """`where near < 1` kept everything in an attention, and ended in an error elsewhere."""
    text = f"""
width seq
width past like seq
depth d = 4
const near = 3
model net(x: [seq, d]) -> (seen: [seq, d], mean: [seq, d], many: [seq]) {{
    y = x[seq as past]
    seen = dot[past](softmax[past](dot[d](x, y) where {truth}), y)
    mean = broadcast[seq](0 * x[seq = 0]) + broadcast[seq](mean[past](y where {truth}))
    return seen, mean, sum[past](int(past) where {truth}) + 0 * int(seq)
}}
"""
    if "past" in truth:
        text = text.replace("broadcast[seq](mean[past](y", "(mean[past](y")
    model, x = attnc.loads(text).model("net"), np.random.default_rng(0).normal(size=(2, 3, 4))
    keeps = truth.endswith(("> 1", "true")) and "not" not in truth
    weights = np.exp(np.einsum("bqd,bkd->bqk", x, x))
    seen = (weights / weights.sum(-1, keepdims=True)) @ x
    wanted = (seen, np.broadcast_to(x.mean(1, keepdims=True), x.shape), np.full((2, 3), 3.0))
    for without in ((), ("fuse_attention",), ("fold_truths",), ("place_masks",)):
        outs = model.numpy(dtype=np.float64, without=without)(x)
        again = model.torch(dtype=torch.float64, without=without)(torch.as_tensor(x))
        for out, other, due in zip(outs, again, wanted, strict=True):
            np.testing.assert_allclose(out, due * keeps, rtol=1e-12, atol=1e-12)
            np.testing.assert_allclose(other.numpy(), out, rtol=1e-12, atol=1e-12)
