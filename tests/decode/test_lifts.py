"""Steps of blocks whose calls lift: what such a block keeps has the lifted axes, which no argument of a step has."""

from __future__ import annotations

import numpy as np
import pytest

import attnc

from .steps import check_steps

HEAD = "width seq\ndepth heads = 2, key = 3, e = 4\n"
BLOCK = (
    "block f(a: [heads], b: [], c: []) -> (x: [heads], y: [], r: [], s: []) {\n    v = mean[heads](tanh(a))\n"
    "    return tanh(a + broadcast[heads](v)), tanh(b + v), v, tanh(c) * v\n}\n"
)
ALONG = (
    "block f[w: width](a: [heads], b: [], c: [w]) -> (x: [heads], y: [], r: [], s: [w]) {\n"
    "    v = mean[heads](tanh(a))\n"
    "    return tanh(a + broadcast[heads](v)), tanh(b + v), v, tanh(c) * broadcast[w](v)\n}\n"
)
MODELS = {
    "an axis that the value which is kept does not have": BLOCK
    + "model net(x: [], k: [key], y: [seq]) -> [seq] causal seq {\n"
    "    p, q, r, _ = f(broadcast[heads](x), k, mean[seq](y))\n"
    "    return y * broadcast[seq](r) * broadcast[seq](mean[key](q))\n}\n",
    "an axis that it has": BLOCK + "model net(x: [], k: [key], y: [seq]) -> [seq, key] causal seq {\n"
    "    p, q, r, _ = f(broadcast[heads](k), x, mean[seq](y))\n"
    "    return broadcast[key](y) * broadcast[seq](r) * broadcast[seq, key](mean[key](q))\n}\n",
    "another one in the steps": ALONG + "model net(x: [], k: [key], z: [seq, e]) -> [seq, key, e] causal seq {\n"
    "    p, q, r, s = f[seq](broadcast[heads](k), x, z)\n"
    "    return s * broadcast[seq](mean[heads](p)) * broadcast[seq](q)\n}\n",
    "one in what is prepared alone": ALONG + "model net(x: [], k: [key], y: [seq]) -> [seq, key] causal seq {\n"
    "    p, q, r, s = f[seq](broadcast[heads](x), k, y)\n    return broadcast[key](s) + broadcast[seq](r * q)\n}\n",
    "a table lifted, and an item": BLOCK + "model net(x: [], z: [seq, e]) -> [seq, key, e] causal seq {\n"
    "    p, q, r, s = f(broadcast[heads](cos(key)), x, z)\n    return s * mean[heads](p) * broadcast[seq](q)\n}\n",
    "two calls, one without lifts": ALONG + "model net(x: [], k: [key], y: [seq]) -> [seq, key] causal seq {\n"
    "    p, q, r, s = f[seq](broadcast[heads](k), x, y)\n    t, u, v, w = f[seq](broadcast[heads](x), x, y)\n"
    "    return s * broadcast[key](w) + broadcast[seq](r * q * v)\n}\n",
    "a block around it": ALONG + "block g[n: width](a: [heads], c: [n]) -> [n] {\n"
    "    p, q, r, s = f[n](a, mean[heads](a), c)\n    return s + broadcast[n](q * r)\n}\n"
    "model net(x: [], k: [key], z: [seq, e]) -> [seq, key, e] causal seq {\n"
    "    return g[seq](broadcast[heads](k), z) * broadcast[key](g[seq](broadcast[heads](x), z))\n}\n",
}


@pytest.mark.parametrize("batch", [(), (5,)], ids=["alone", "batched"])
@pytest.mark.parametrize("case", MODELS)
def test_the_steps_are_the_whole(case: str, batch: tuple[int, ...]) -> None:
    model = attnc.loads(HEAD + MODELS[case]).model("net")
    assert model.decoding.step is not None, model.decoding.reason
    shapes = {"x": (), "k": (3,), "y": (4,), "z": (4, 4)}
    draw = np.random.default_rng(0)
    values = {item.name: draw.normal(size=(*batch, *shapes[item.name])) for item in model.graph.inputs}
    check_steps(model, seeds=(0, 2), dtypes=("float64",), values=values)


def test_weights_along_another_bounded_width_are_cut_to_its_extent() -> None:
    """A step took all rows up to the bound of it."""
    model = attnc.loads(
        "width frame <= 5\nwidth seq <= 6\ndepth d = 2\n"
        "model net(x: [d, frame], y: [seq]) -> [frame, seq, d] causal seq {\n    z = mean[frame](x)\n"
        "    param P: [seq, frame, d] ~ normal(0.5)\n"
        "    repeat.r 2 shared { P = tanh(P + broadcast[seq, frame](z)) }\n    return P\n}\n"
    ).model("net")
    draw = np.random.default_rng(0)
    check_steps(model, seeds=(0, 2), values={"x": draw.normal(size=(2, 3)), "y": draw.normal(size=4)})


def test_what_a_scan_gives_need_not_have_an_axis_that_it_is_the_same_along() -> None:
    """A KeyError: the result of `f` could have `d`, along which it does not vary, and that of the scan has not."""
    model = attnc.loads(
        "width t\ndepth d = 4, e = 3\nblock f(x: [e, d]) -> [d, e] {\n    return exp(x)\n}\n"
        "block cell(h: [], x: []) -> (h: [], r: [e]) {\n    return tanh(h + x), f(broadcast[e](x))\n}\n"
        "model net(x: [t]) -> [t, e] causal t {\n    h, r = scan[t] cell(h = 0, x = x)\n    return r\n}\n"
    ).model("net")
    check_steps(model, seeds=(0, 2), values={"x": np.random.default_rng(0).normal(size=5)})


def test_a_model_that_a_step_calls_whole_is_given_some_of_the_items() -> None:
    """Its border asked for all items of a width of a given size."""
    model = attnc.loads(
        "width t = 2\nwidth past like t\ndepth d = 3\n"
        "model scale(x: [d, past]) -> [past, d] {\n    return tanh(x)\n}\n"
        "model net(x: [], y: [t]) -> [d, past] causal past {\n"
        "    return rsqrt(abs(scale(broadcast[d, past](x))) + 1)\n}\n"
    ).model("net")
    draw = np.random.default_rng(0)
    check_steps(model, seeds=(0, 2), values={"x": draw.normal(size=5), "y": draw.normal(size=(5, 2))})


@pytest.mark.parametrize("items", [0, 1, 3])
def test_what_is_kept_may_be_the_same_along_a_width(items: int) -> None:
    """It was written out along it, and of no items none was left to read."""
    text = (
        "width query\nwidth past_query like query\nwidth seq\ndepth d = 2, vocab = 3\n"
        "block b[g: width](ids: vocab[g]) -> [g, d] {\n    return embed.e[vocab -> d](ids)\n}\n"
        "model net(x: [seq, query], one: vocab[], all: vocab[past_query])"
        " -> (u: [seq, query, d] causal seq, v: [past_query, d]) {\n    share s = b\n"
        "    u = min(broadcast[d](x), broadcast[seq, query](s[past_query](one)))\n"
        "    return u, s[past_query](all)\n}\n"
    )
    x = np.random.default_rng(0).normal(size=(4, items))
    values = {"x": x, "one": np.array(1), "all": np.arange(items) % 3}
    check_steps(attnc.loads(text).model("net"), seeds=(0, 2), dtypes=("float64",), values=values)
