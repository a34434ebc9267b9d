"""Half precision is summed in float32 on the way, in NumPy as in PyTorch; and large logits do not cancel."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

import attnc

ATTENTION = (
    "width q\nwidth k like q\ndepth d = 64\nmodel net(x: [q, d], b: [q, k]) -> [q, d] {{\n"
    "    s = {scores}\n    return dot[k](softmax[k](s{mask}), x[q as k])\n}}\n"
)
SCORES = "dot[d](x, x[q as k]) / sqrt(|d|)"


def results(text: str, *given: Any, dtype: str = "float16") -> tuple[Any, Any, Any]:
    """By NumPy, by PyTorch, and by NumPy in float64."""
    model = attnc.loads(text).model("net")
    given = tuple(x.astype(dtype) if x.dtype.kind == "f" else x for x in map(np.asarray, given))
    wide = (x.astype(np.float64) if x.dtype.kind == "f" else x for x in given)
    found = model.numpy(dtype=dtype)(*given)
    assert found.dtype == dtype
    return found, model.torch(dtype=dtype)(*map(torch.tensor, given)).numpy(), model.numpy(dtype="float64")(*wide)


def close(text: str, *given: Any, near: float = 2e-3) -> None:
    found, torchs, exact = results(text, *given)
    np.testing.assert_allclose(found, exact, rtol=near, atol=near)
    np.testing.assert_allclose(torchs, exact, rtol=near, atol=near)


NORMS = ("rmsnorm[d](x, scale = false)", "layernorm[d](x, scale = false, bias = false)", "l2norm[d](x)")
SUMS = ("mean[s](x)", "mean[s](x where m)", "mean[s](x * y) / 300", "dot[s](x, y)", "sum[s](x)", "sum[s](x where m)")


@pytest.mark.parametrize("op", [*NORMS, "softmax[d](x)", "log_softmax[d](x / 256)"])
@pytest.mark.parametrize("size", [1e-7, 1.0, 300.0, 6e4])
def test_norms_of_numbers_whose_squares_half_precision_does_not_hold(op: str, size: float) -> None:
    text = f"width s\ndepth d = 48\nmodel net(x: [s, d]) -> [s, d] {{\n    return {op}\n}}\n"
    for rows in (1, 5):
        close(text, size * np.random.default_rng(0).uniform(-1, 1, (rows, 48)).astype(np.float16))


@pytest.mark.parametrize("op", SUMS)
@pytest.mark.parametrize("width", [40, 400])
def test_sums_that_half_precision_does_not_hold_on_the_way(op: str, width: int) -> None:
    text = f"width s\nmodel net(x: [s], y: [s], m: bool[s]) -> [] {{\n    return {op}\n}}\n"
    x = np.full(width, 300.0)
    if "mean" not in op:
        x[width // 2 :] = -299  # the sum is small, that of its first half is not
    close(text, x, np.full(width, 200.0), np.arange(width) % 4 > 0)


def test_counting_to_5000() -> None:
    text = "width s\nmodel net(x: [s]) -> [s] {\n    return cumsum[s](x)\n}\n"
    found, torchs, exact = results(text, np.ones(5000))
    np.testing.assert_array_equal(found, exact.astype(np.float16))
    np.testing.assert_array_equal(torchs, found)


@pytest.mark.parametrize("dtype", ["float16", "float32"])
def test_zeros_have_no_direction(dtype: str) -> None:
    text = "width s\ndepth d = 4\nmodel net(x: [s, d]) -> [s, d] {\n    return l2norm[d](x)\n}\n"
    for found in results(text, np.zeros((2, 4)), dtype=dtype):
        np.testing.assert_array_equal(found, 0)
    x = torch.zeros(2, 4, dtype=getattr(torch, dtype), requires_grad=True)
    made = attnc.loads(text).model("net").torch(dtype=dtype)(x)
    (made * 0).sum().backward()  # as of padding
    assert x.grad is not None and (x.grad == 0).all()


BIASES = {
    "none": "",
    "added": " + b",
    "taken away": " - b",
    "of distances": " - abs(q - k) / 4",
    "of integers": " - abs(q - k)",
    "of several terms": " + 0.25 * b - abs(q - k) / 3 - (b - q)",
}


@pytest.mark.parametrize("mask", ["", " where k <= q"])
@pytest.mark.parametrize("bias", BIASES)
@pytest.mark.parametrize("width", [5, 150])
def test_attention_of_inputs_near_100(bias: str, mask: str, width: int) -> None:
    rng = np.random.default_rng(0)
    x = (100 + 3 * rng.standard_normal((width, 64))).astype(np.float16)
    close(ATTENTION.format(scores=SCORES + BIASES[bias], mask=mask), x, rng.standard_normal((width, width)), near=5e-3)


@pytest.mark.parametrize(
    "scores",
    [
        "b - 0.1 * dot[d](x, x[q as k])",
        "(dot[d](x, x[q as k]) - b) / 8",
        "(b - (dot[d](x, x[q as k]) - abs(q - k)) * 0.5) / 4 + q",
        "-(b + dot[d](x / 4, x[q as k]))",
    ],
)
def test_biases_of_every_sign_are_those_that_the_spec_says(scores: str) -> None:
    rng = np.random.default_rng(0)
    text = ATTENTION.format(scores=scores, mask=" where k <= q")
    model = attnc.loads(text).model("net")
    assert "masked_attention(" in model.source("torch")
    x, b = rng.standard_normal((7, 64)), rng.standard_normal((7, 7))
    places = np.arange(7)
    names = {"b": b, "q": places[:, None], "k": places, "abs": np.abs, "D": x @ x.T}
    plain = scores.replace("dot[d](x, x[q as k])", "D").replace("dot[d](x / 4, x[q as k])", "(D / 4)")
    powers = np.exp(eval(plain, {}, names)) * (places <= places[:, None])
    wanted = powers / powers.sum(-1, keepdims=True) @ x
    np.testing.assert_allclose(model.numpy(dtype="float64")(x, b), wanted, atol=1e-12)
    made = model.torch(dtype="float64")(torch.tensor(x), torch.tensor(b))
    np.testing.assert_allclose(made.numpy(), wanted, atol=1e-12)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("smoothing", [0.0, 0.1])
def test_large_logits_do_not_cancel(dtype: str, smoothing: float) -> None:
    text = (
        "width s\ndepth v = 4\n"
        "model net(x: [s, v], y: v[s], m: bool[v]) -> (whole: [s, v], some: [s, v], loss: [s]) {\n"
        "    whole = log_softmax[v](x)\n    some = log_softmax[v](x where m)\n"
        f"    return whole, some, cross_entropy[v](x, y, smoothing = {smoothing})\n}}\n"
    )
    model = attnc.loads(text).model("net")
    x = np.full((2, 4), 1e8, dtype)
    x[1] += [0, 8, 16, 16]
    given = x, np.array([0, 2]), np.array([True, False, True, True])
    found, made = model.numpy(dtype=dtype)(*given), model.torch(dtype=dtype)(*map(torch.tensor, given))
    for one, other in zip(found, made, strict=True):
        np.testing.assert_allclose(one, other.numpy(), rtol=1e-5)
    np.testing.assert_allclose(found.whole[0], -np.log(4), rtol=1e-6)
    np.testing.assert_allclose(found.some[0], [-np.log(3), -np.inf, -np.log(3), -np.log(3)], rtol=1e-6)
