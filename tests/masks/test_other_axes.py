"""Masks that vary along more than queries and keys: heads with spans of their own, a third copy, values."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import attnc

HEADER = "width seq\nwidth past like seq\nwidth third like seq\ndepth heads = 3, d = 2\n"
# What is masked how, and whether the scores of query i, key j are seen at the index p of the other axis.
MASKS = {
    "past <= seq or heads == 0": ("heads", lambda i, j, p: (j <= i) | (p == 0)),
    "seq - past <= heads and past <= seq": ("heads", lambda i, j, p: (i - j <= int(p)) & (j <= i)),
    "past <= third": ("third", lambda i, j, p: j <= p),
    "past <= seq and third != past": ("third", lambda i, j, p: (j <= i) & (p != j)),
}
SPELLINGS = {  # the attention itself, one behind a block, one behind a block and a repeat
    "plain": "    return dot[past](softmax[past](dot[d](x, y) where MASK), y)\n",
    "block": "    return attend(x, y, MASK)\n",
    "repeat": "    z = 0 * broadcast[OTHER](x)\n"
    "    repeat.r 1 {\n        z = z + attend(x, y, MASK)\n    }\n    return z\n",
}
ATTEND = (
    "block attend(x: [seq, d], y: [past, d], mask: bool[seq, past]) -> [seq, d] {\n"
    "    return dot[past](softmax[past](dot[d](x, y) where mask), y)\n}\n"
)


def expected(x: np.ndarray, other: int, seen: object) -> np.ndarray:
    """[other, seq, d], by loops."""
    n = len(x)
    out = np.zeros((other, n, x.shape[1]))
    for p in range(other):
        for i in range(n):
            kept = [j for j in range(n) if seen(i, j, p)]  # type: ignore[operator]
            if kept:
                scores = np.exp([x[i] @ x[j] for j in kept])
                out[p, i] = scores / scores.sum() @ x[kept]
    return out


@pytest.mark.parametrize("spelling", SPELLINGS)
@pytest.mark.parametrize("mask", MASKS)
def test_a_mask_may_vary_along_another_axis(mask: str, spelling: str) -> None:
    axis, seen = MASKS[mask]
    body = SPELLINGS[spelling].replace("MASK", mask).replace("OTHER", axis)
    text = (
        f"{HEADER}{ATTEND if spelling != 'plain' else ''}"
        f"model net(x: [seq, d]) -> [{axis}, seq, d] {{\n    y = x[seq as past]\n{body}}}\n"
    )
    model = attnc.loads(text).model("net")
    x = np.random.default_rng(0).normal(size=(5, 2))
    wanted = expected(x, 3 if axis == "heads" else 5, seen)
    np.testing.assert_allclose(model.numpy(dtype="float64")(x), wanted, atol=1e-12)
    np.testing.assert_allclose(model.torch(dtype=torch.float64)(torch.as_tensor(x)), wanted, atol=1e-12)


def test_a_mask_may_vary_along_the_axis_of_the_values() -> None:
    """The weights themselves vary along it: no attention, but a sum of products."""
    text = (
        f"{HEADER}model net(x: [seq, d], hide: bool[d, past]) -> [seq, d] {{\n"
        "    y = x[seq as past]\n    return dot[past](softmax[past](dot[d](x, y) where hide), y)\n}\n"
    )
    model = attnc.loads(text).model("net")
    draw = np.random.default_rng(0)
    x, hide = draw.normal(size=(5, 2)), draw.random((2, 5)) < 0.6
    scores = np.exp(x @ x.T)[:, None] * hide
    wanted = np.einsum("qdk,kd->qd", scores / scores.sum(-1, keepdims=True), x)
    np.testing.assert_allclose(model.numpy(dtype="float64")(x, hide), wanted, atol=1e-12)
    got = model.torch(dtype=torch.float64)(torch.as_tensor(x), torch.as_tensor(hide))
    np.testing.assert_allclose(got, wanted, atol=1e-12)


def test_queries_that_are_alike_see_unlike_keys() -> None:
    text = (
        f"{HEADER}{ATTEND}model net(x: [d], y: [past, d]) -> [seq, d] {{\n"
        "    return attend(broadcast[seq](x), y, past <= seq)\n}\n"
    )
    model = attnc.loads(text).model("net")
    draw = np.random.default_rng(0)
    x, y = draw.normal(size=2), draw.normal(size=(5, 2))
    scores = np.tril(np.broadcast_to(np.exp(y @ x), (5, 5)))
    wanted = scores / scores.sum(-1, keepdims=True) @ y
    np.testing.assert_allclose(model.numpy(dtype="float64")(x, y), wanted, atol=1e-12)
    got = model.torch(dtype=torch.float64)(torch.as_tensor(x), torch.as_tensor(y))
    np.testing.assert_allclose(got, wanted, atol=1e-12)
