"""Ops that came after 0.1: what they compute, against NumPy and PyTorch; and specs with a block of such a name."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import attnc
from attnc.compiler.ops import OPS
from attnc.compiler.ops.table import FIRST

NEWER = {name: op for name, op in OPS.items() if op.since != FIRST}
X = np.random.default_rng(3).normal(0, 3, (2, 5, 4))  # [batch, seq, d]
LARGE = np.array([-1000.0, -60.0, -1e-9, 0.0, 1e-9, 30.0, 60.0, 1000.0])

POINTWISE = {
    "softplus": lambda x: np.maximum(x, 0) + np.log1p(np.exp(-np.abs(x))),
    "expm1": np.expm1,
    "log1p": np.log1p,
    "stop_gradient": lambda x: x,
}
ALONG = {
    "cummax": lambda x: np.array([x[: i + 1].max() for i in range(len(x))]),
    "logcumsumexp": lambda x: np.array([np.log(np.exp(x[: i + 1] - x.max()).sum()) + x.max() for i in range(len(x))]),
    "flip": lambda x: x[::-1],
}


def both(spec: str, x: np.ndarray) -> list[np.ndarray]:
    """The result of the model `f`, of NumPy and of PyTorch."""
    torch = pytest.importorskip("torch")
    model = attnc.loads(spec).model("f")
    net = model.torch(dtype=torch.float64)
    return [model.numpy(dtype=x.dtype.name)(x), net(torch.from_numpy(x)).detach().numpy()]


def test_each_has_a_reference() -> None:
    elsewhere = {"valid"}  # tests/picks
    assert {*POINTWISE, *ALONG, *elsewhere} == set(NEWER)


@pytest.mark.parametrize("name", POINTWISE)
def test_functions(name: str) -> None:
    spec = f"width seq\nmodel f(x: [seq]) -> [seq] {{\n    return {name}(x)\n}}\n"
    for x in (X.reshape(-1), LARGE):
        x = x[x > -1] if name == "log1p" else x[x < 700] if name == "expm1" else x
        for found in both(spec, x):
            np.testing.assert_allclose(found, POINTWISE[name](x), rtol=1e-13, atol=1e-300)


@pytest.mark.parametrize("name", ALONG)
@pytest.mark.parametrize("axis", ["seq", "d"])
def test_along_an_axis(name: str, axis: str) -> None:
    spec = f"width seq\ndepth d = 4\nmodel f(x: [seq, d]) -> [seq, d] {{\n    return {name}[{axis}](x)\n}}\n"
    expected = np.apply_along_axis(ALONG[name], -2 if axis == "seq" else -1, X)
    for found in both(spec, X):
        np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_several_axes_turned_round() -> None:
    spec = "width seq\ndepth d = 4\nmodel f(x: [seq, d]) -> [d, seq] {\n    return flip[d, seq](x)\n}\n"
    for found in both(spec, X):
        np.testing.assert_array_equal(found, X[:, ::-1, ::-1].swapaxes(-2, -1))


def test_the_log_of_a_running_sum_does_not_overflow() -> None:
    x = np.array([-1e4, 1e4, 1e4, -np.inf])
    spec = "width seq\nmodel f(x: [seq]) -> [seq] {\n    return logcumsumexp[seq](x)\n}\n"
    for found in both(spec, x):
        np.testing.assert_allclose(found, [-1e4, 1e4, 1e4 + np.log(2), 1e4 + np.log(2)], rtol=1e-12)


def test_running_maxima_keep_their_kind() -> None:
    spec = attnc.loads("width seq\nmodel f(i: int[seq]) -> int[seq] {\n    return cummax[seq](i)\n}\n")
    found = spec.model("f").numpy()(np.array([1, -2, 3]))
    assert found.dtype == np.int64
    np.testing.assert_array_equal(found, [1, 1, 3])


def test_no_gradient_goes_through() -> None:
    """x minus what it is rounded to, forward the rounded one: the gradient is that of x (straight-through)."""
    torch = pytest.importorskip("torch")
    spec = "width seq\nmodel f(x: [seq]) -> [seq] {\n    return x + stop_gradient(floor(x) - x)\n}\n"
    net = attnc.loads(spec).model("f").torch(dtype=torch.float64)
    x = torch.tensor([0.3, 1.8, -2.5], dtype=torch.float64, requires_grad=True)
    out = net(x)
    (out * torch.tensor([1.0, 2.0, 3.0])).sum().backward()
    torch.testing.assert_close(out.detach(), torch.tensor([0.0, 1.0, -3.0], dtype=torch.float64))
    torch.testing.assert_close(x.grad, torch.tensor([1.0, 2.0, 3.0], dtype=torch.float64))


@pytest.mark.parametrize("name", NEWER)
def test_an_older_spec_keeps_its_own_block(name: str, tmp_path: Path) -> None:
    block = f"block {name}(x: []) -> [] {{\n    return 2 * x\n}}\n"
    model = f"width seq\nmodel f(x: [seq]) -> [seq] {{\n    return {name}(x)\n}}\n"
    spec = attnc.loads(block + model)
    (warning,) = spec.warnings
    assert (warning.code, warning.span.text if warning.span else "") == ("W0515", name)
    (tmp_path / "own.attn").write_text(block)
    (tmp_path / "main.attn").write_text(f"use own: {name}\n{model}")
    used = attnc.load(tmp_path / "main.attn")
    assert [warning.code for warning in used.warnings] == ["W0515"]  # in the file that declares it
    for each in (spec, used):
        np.testing.assert_array_equal(each.model("f").numpy()(X[0, :, 0]), 2 * X[0, :, 0])


def test_a_decoding_model_of_them_all() -> None:
    model = attnc.loads(
        "width seq\ndepth d = 4\nmodel f(x: [seq, d]) -> [seq, d] causal seq {\n"
        "    y = logcumsumexp[seq](linear.a[d -> d](x)) + stop_gradient(cummax[seq](x))\n"
        "    return softplus(y) + log1p(expm1(flip[d](abs(y)))) + cumsum[seq](x)\n}\n"
    ).model("f")
    net = model.numpy(seed=1, dtype="float64")
    whole = net(X)
    cache = net.prepare()
    parts = [net.step(X[:, [i]], cache) for i in range(3)] + [net.step(X[:, 3:], cache)]
    np.testing.assert_allclose(np.concatenate(parts, axis=-2), whole, rtol=1e-11)


@pytest.mark.parametrize(("op", "goes_on"), [("flip", True), ("cummax", True), ("cumsum", True), ("sum", False)])
def test_the_legend_says_whether_the_axis_goes_on(op: str, goes_on: bool) -> None:
    result = "[seq]" if goes_on else "[]"
    spec = f"width seq\nmodel f(x: [seq]) -> {result} {{\n    return {op}[seq](x)\n}}\n"
    dot = attnc.loads(spec).model("f").draw(legend=True).dot
    assert ("op along its axis, which goes on" in dot, "reduction" in dot) == (goes_on, not goes_on)
