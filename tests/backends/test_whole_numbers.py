"""Whole numbers that come from data are exact, and so is what is computed of them alone, until it meets real data.

Every model here adds to x, which is zeros, what its positions say: in half precision that is right to the last digit of
the result, however far the positions are.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

import attnc
from tests.decode.steps import check_steps

FAR = np.arange(5000)
KEPT = np.random.default_rng(0).random(5000) < 0.8
WAVE = "block wave[d: depth](p: []) -> [d] {\n    return sin(p / 3 ^ (d / |d|))\n}\n"
CELL = "block cell(h: [], p: int[]) -> (h: []) {\n    return h + p / 2\n}\n"
MODEL = (
    "width seq\ndepth d = 8\n{blocks}model net(x: [seq, d], pos: int[seq], real: bool[seq]) -> [seq, d] {{\n{body}}}\n"
)

BODIES = {
    "an angle": "return x + sin(pos / 100 ^ (d / |d|))",
    "counted from a mask": "pos = cumsum[seq](select(real, 1, 0)) - 1\n    return x + sin(pos / 100 ^ (d / |d|))",
    "chosen": "p = pos * select(real, 1.001, 0.5)\n    return x + sin(p / 3 ^ (d / |d|))",
    "summed": "t = sum[seq](pos / 2 where real) + mean[seq](pos) - max[seq](pos + 0.5)\n"
    "    return x + sin(broadcast[seq](t) + pos)",
    "in a block": "return x + wave[d](pos / 2)",
    "in a block that real data enters too": "return x + wave[d](pos / 2) + wave[d](sum[d](x))",
    "in a repeat": "repeat.layers 3 {\n        x = x + sin(pos / 3 ^ (d / |d|)) / 3\n    }\n    return x",
    "round a repeat": "p = pos / 1\n    repeat.more 3 {\n        p = 2 * p + 1\n    }\n    return x + sin(p)",
    "in a scan": "q = scan[seq] cell(h = 0, p = pos)\n    return x + sin(q)",
    "picked": "p = (pos / 3)[seq = max(seq - 1, 0)]\n    return x + sin(p)",
    "normed": "p = int(pos + d * 100)\n"
    "    return x + l2norm[d](p / 7) + softmax[d](p / 100) + rmsnorm[d](p / 7, scale = false)",
}


def given(dtype: Any = np.float64, width: int = 5000) -> tuple[np.ndarray[Any, Any], ...]:
    return np.zeros((width, 8), dtype), FAR[:width] + (90000 if width == 5000 else 255), KEPT[:width]


def model_of(body: str) -> attnc.Model:
    blocks = (WAVE if "wave" in body else "") + (CELL if "cell" in body else "")
    return attnc.loads(MODEL.format(blocks=blocks, body=f"    {body}\n")).model("net")


@pytest.mark.parametrize("case", BODIES)
def test_half_precision_rounds_the_result_alone(case: str) -> None:
    model = model_of(BODIES[case])
    width = 400 if "scan" in case else 5000
    exact = model.numpy(dtype="float64")(*given(width=width))
    assert np.ptp(exact) > 0.1
    found = model.numpy(dtype="float16")(*given(np.float16, width))
    np.testing.assert_allclose(found, exact, rtol=2e-3, atol=1e-3)
    for dtype, near in ((torch.float16, 1e-3), (torch.bfloat16, 8e-3)):
        made = model.torch(dtype=dtype)(*_tensors(dtype, width))
        assert made.dtype == dtype
        np.testing.assert_allclose(made.double().numpy(), exact, rtol=2 * near, atol=near)


def _tensors(dtype: torch.dtype, width: int) -> tuple[torch.Tensor, ...]:
    x, pos, real = map(torch.tensor, given(width=width))
    return x.to(dtype), pos, real


def test_the_example_of_256_and_257() -> None:
    model = model_of(BODIES["an angle"])
    x, pos = torch.zeros(2, 8, dtype=torch.bfloat16), torch.tensor([256, 257])
    made = model.torch(dtype=torch.bfloat16)(x, pos, torch.ones(2, dtype=torch.bool))
    wanted = np.sin(np.array([256.0, 257.0]))
    np.testing.assert_allclose(made[:, 0].double().numpy(), wanted, atol=4e-3)


@pytest.mark.parametrize("case", ["an angle", "counted from a mask", "in a scan", "in a block"])
def test_steps_are_exact_too(case: str) -> None:
    text = MODEL.format(blocks=WAVE + CELL, body=f"    {BODIES[case]}\n").replace("[seq, d] {", "[seq, d] causal seq {")
    model = attnc.loads(text.replace("cumsum[seq](select(real, 1, 0)) - 1", "cumsum[seq](pos / 4)")).model("net")
    check_steps(model, values=dict(zip(("x", "pos", "real"), given(width=9), strict=True)), dtypes=("float64",))
    x, pos, real = _tensors(torch.bfloat16, 300)
    net = model.torch(dtype=torch.bfloat16)
    cache = net.prepare()
    steps = [net.step(x[i : i + 1], pos[i : i + 1], real[i : i + 1], cache) for i in range(300)]
    np.testing.assert_allclose(torch.cat(steps).float().numpy(), net(x, pos, real).float().numpy(), atol=8e-3)


def test_lengths_of_ragged_examples() -> None:
    text = "width seq ragged\nmodel net(x: [seq]) -> [seq] {\n    return x + sin(seq * 5 / |seq| * 1000 + |seq|)\n}\n"
    model = attnc.loads(text).model("net")
    x, lengths = np.zeros((2, 700)), np.array([700, 515])
    exact = model.numpy(dtype="float64")(x, lengths)
    made = model.torch(dtype=torch.bfloat16)(torch.tensor(x).bfloat16(), torch.tensor(lengths))
    np.testing.assert_allclose(made.double().numpy(), exact, atol=4e-3)


def test_what_meets_real_data_at_once_is_of_its_type() -> None:
    """A mask of numbers to add is as wide as the scores: nothing is gained by float64 there."""
    text = (
        "width q\nwidth k like q\n"
        "model net(s: [q, k], m: bool[q, k]) -> [q, k] {\n    return s + select(m, 0, -1e4) + select(m, 0.5, 0)\n}\n"
    )
    assert "float64" not in attnc.loads(text).model("net").source("torch").replace("-10000.0, dtype=torch.float64", "")
    assert "float64" not in attnc.loads(text).model("net").source("numpy")


def test_a_block_with_weights_is_called_with_both() -> None:
    text = (
        "width seq\ndepth d = 8\n" + WAVE + "block mapped(p: []) -> [d] {\n    w = wave[d](p)\n"
        "    return linear.out[d -> d](w, bias = false)\n}\n"
        "model net(x: [seq, d], pos: int[seq]) -> [seq, d] {\n"
        "    share f = mapped\n    return f(pos / 2) + f(sum[d](x))\n}\n"
    )
    model = attnc.loads(text).model("net")
    assert list(model.weights) == ["f.out.weight"]
    weight = {name: torch.eye(8) for name in model.weights}
    net = model.torch(dtype=torch.bfloat16, weights=weight)
    made = net(torch.zeros(5000, 8, dtype=torch.bfloat16), torch.tensor(FAR)).detach().double().numpy()
    wanted = np.sin(FAR[:, None] / 2 / 3 ** (np.arange(8) / 8))
    np.testing.assert_allclose(made, wanted, atol=8e-3)


def test_scores_of_positions_are_exact() -> None:
    text = (
        "width q\nwidth k like q\ndepth e = 2, d = 8\nmodel net(x: [q, d], pos: int[q]) -> [q, d] {\n"
        "    a = broadcast[e](pos / 4)\n    return dot[k](softmax[k](dot[e](a, a[q as k])), x[q as k])\n}\n"
    )
    x, pos = torch.arange(8 * 40).reshape(40, 8) / 64, torch.arange(40) + 4000  # the last is the nearest of all
    made = attnc.loads(text).model("net").torch(dtype=torch.bfloat16)(x.bfloat16(), pos)
    np.testing.assert_array_equal(made.float().numpy(), x[-1:].bfloat16().float().expand(40, 8).numpy())
