"""Programs that once went wrong, each as small as it got: what the generator found, and what was mended."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

import attnc

CASES: dict[str, tuple[str, dict[str, tuple[int, ...]]]] = {
    # Two tables in one expression were both called `x`: the second overwrote the first.
    "temporaries of one expression": (
        "depth a = 4, b = 3, c = 2\n"
        "model net(x: [c]) -> [b, c] {\n"
        "    t = (0.3 * sin((a * 2) / 3)) + cos(b / |b|)\n"
        "    t = tanh(t)\n"
        "    return x * linear.L[a -> c](t)\n"
        "}\n",
        {"x": (2,)},
    ),
    # NumPy read the size of a derived depth before it computed it.
    "derived depth of an input": (
        "depth heads = 2, key = 3\ndepth model = heads * key\n"
        "model net(x: [model, key]) -> [key] {\n    return mean[model](x)\n}\n",
        {"x": (6, 3)},
    ),
    # Python: a parameter without a default behind one with a default.
    "input behind one with a default": (
        "width q\nmodel net(x: [q], y: [q] = 0.5, z: [q]) -> [q] {\n    return x + y * z\n}\n",
        {"x": (3,), "y": (3,), "z": (3,)},
    ),
    # The size of a derived run-time width was asked for when the class was built.
    "norm without weights over a derived width": (
        "width a\ndepth two = 2\nwidth half = a / two\n"
        "model net(x: [half], y: [a]) -> [half] {\n    return rmsnorm[half](x, scale = false)\n}\n",
        {"x": (2,), "y": (4,)},
    ),
    # What a call gives has an axis in name only: refused as `[]`, where `[]` was wanted.
    "result with a thin axis": (
        "depth d = 3, e = 2\n"
        "block twice(x: [d, e]) -> [d, e] {\n    return x * 2\n}\n"
        "model net(x: [d]) -> [d] {\n    return twice(x)\n}\n",
        {"x": (3,)},
    ),
    # ... and refused where an op makes that axis.
    "op that makes a thin axis": (
        "depth d = 3, tap = 2\n"
        "block twice(x: [d, tap]) -> [d, tap] {\n    return x * 2\n}\n"
        "model net(x: [d]) -> [d, tap] {\n    return window[d -> d, tap](twice(x))\n}\n",
        {"x": (3,)},
    ),
    # A state that begins as a number was a number inside the cell too.
    "number as the first value of a state": (
        "width t, w\ndepth a = 2\n"
        "block second[d: depth](x: [d], y: [d]) -> [] {\n    return mean[d](y)\n}\n"
        "block cell[w: width](h: [a], g: [], x: [a]) -> (h: [a], g: []) {\n"
        "    v: [w] = second[d = a](broadcast[a, w](g), broadcast[w](h))\n"
        "    return tanh(h + broadcast[a](mean[w](v))), tanh(g + mean[a](x))\n"
        "}\n"
        "model net(x: [t, a], y: [w]) -> [t, a] {\n"
        "    h, g = scan[t] cell[w](h = 0, g = 0, x = x)\n    return h * g\n}\n",
        {"x": (3, 2), "y": (2,)},
    ),
    # What each step computes in float64 stayed so.
    "table out of a scan": (
        "width t\ndepth d = 3\n"
        "block cell(h: [], x: []) -> (h: [], wave: [d]) {\n    return tanh(h + x), cos(int(d))\n}\n"
        "model net(x: [t]) -> [t, d] {\n    h, wave = scan[t] cell(h = 0.5, x = x)\n    return wave\n}\n",
        {"x": (3,)},
    ),
    # A call inside a block was refused where that block was lifted.
    "thin argument inside a lifted block": (
        "width q\ndepth d = 3, e = 2\n"
        "block add(x: [d, e]) -> [d, e] {\n    return x + 1\n}\n"
        "block outer(x: [d]) -> [d] {\n    return mean[e](broadcast[e](add(x)))\n}\n"
        "model net(x: [q, d]) -> [q, d] {\n    return outer(x)\n}\n",
        {"x": (4, 3)},
    ),
    # Elementwise, of a value that does not vary along its axis: the result had size 1.
    "op of the user's own on a spread value": (
        'width q\nop doubled(x: []) -> [] = "attnc_soundness_external:doubled"\n'
        "block spread(x: [q]) -> [q] {\n    return doubled(x)\n}\n"
        "model net(x: [], y: [q]) -> [q] {\n    return spread(broadcast[q](x))\n}\n",
        {"x": (), "y": (3,)},
    ),
    # A table of float64 picked by data stayed in float64.
    "table picked by data": (
        "width q\ndepth d = 3\n"
        "block pick(x: [d], i: d[q]) -> [q] {\n    return x[d = i]\n}\n"
        "model net(x: [q, d]) -> [q] {\n    return pick(cos(int(d)), argmax[d](x))\n}\n",
        {"x": (4, 3)},
    ),
    # A number spread over an axis was a number still.
    "number that is spread": (
        "depth d = 3\n"
        "block scale(x: [d], y: [] = 2.0) -> [] {\n    L = rmsnorm[d](x)\n    return log(abs(y) + mean[d](0 * L))\n}\n"
        "block two(y: [] = 2.0) -> [] {\n    return log(abs(y))\n}\n"
        "model net(x: [d]) -> [d] {\n    return x + scale(broadcast[d](two()))\n}\n",
        {"x": (3,)},
    ),
    # A thin axis that the callee has too was taken for one that the call lifts over.
    "thin axis that the callee has": (
        "width w\ndepth a = 3, b = 3\n"
        "block f(x: [a, w], y: [b, w]) -> [b, w] {\n    return relu(y) + 0 * mean[a](x)\n}\n"
        "block g(x: [b]) -> [b] {\n    return x * 2\n}\n"
        "block h(x: [b], y: [a]) -> [] {\n    return mean[a](y)\n}\n"
        "model net(x: [a, w], z: []) -> [] {\n    return h(g(z), broadcast[a](g(z)))\n}\n",
        {"x": (3, 2), "z": ()},
    ),
    "functions of numbers": (
        "block f(x: []) -> [] {\n    return silu(x) + gelu(x) + gelu_tanh(x)\n}\n"
        "model net(x: []) -> [] {\n    return x + f(0.5)\n}\n",
        {"x": ()},
    ),
    "softmax of a number": (
        "width q\ndepth d = 3\nmodel net(x: [q]) -> [q, d] {\n    return x * softmax[d](1 where d < 2)\n}\n",
        {"x": (4,)},
    ),
}  # fmt: skip


@pytest.mark.parametrize("batch", [(), (2,)], ids=["alone", "batched"])
@pytest.mark.parametrize("case", CASES)
def test_it_runs_and_the_backends_agree(case: str, batch: tuple[int, ...]) -> None:
    from . import judge  # it supplies the ops of the user's own

    text, shapes = CASES[case]
    model = attnc.loads(text).model("net")
    draw = np.random.default_rng(0)
    values: dict[str, Any] = {name: draw.normal(size=(*batch, *shape)) for name, shape in shapes.items()}
    tensors = {name: torch.as_tensor(value) for name, value in values.items()}
    expected = judge.arrays(model.torch(seed=0, dtype=torch.float64)(**tensors))
    for got, want in zip(judge.arrays(model.numpy(seed=0, dtype=np.float64)(**values)), expected, strict=True):
        assert got.shape == want.shape
        assert got.shape[: len(batch)] == batch
        np.testing.assert_allclose(got, want, rtol=1e-10, atol=1e-12)
    single = {name: value.to(torch.float32) for name, value in tensors.items()}
    assert all(found.dtype == np.float32 for found in judge.arrays(model.torch(seed=0)(**single)))


def test_an_input_behind_one_with_a_default_is_missed() -> None:
    text, _ = CASES["input behind one with a default"]
    model = attnc.loads(text).model("net")
    x = np.zeros(3)
    with pytest.raises(TypeError, match="`z` is missing"):
        model.numpy(dtype=np.float64)(x)
    with pytest.raises(TypeError, match="`z` is missing"):
        model.torch(dtype=torch.float64)(torch.as_tensor(x))
    np.testing.assert_allclose(model.numpy(dtype=np.float64)(x=x, z=x + 1), 0.5)
