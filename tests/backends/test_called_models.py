"""Models that call models (D11): their weights stand side by side, and nothing else of them meets."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import attnc
from tests.decode.steps import check_steps

from .written import run_alone

HEAD = "width t\ndepth d = 2, e = 4\nconst n = 2\n"
CALLERS = {
    "parts without weights of one name": (
        "model a(x: [d]) -> [d] {\n    x = linear.p[d -> d](x)\n    repeat.r 3 { x = tanh(x) }\n    return x\n}\n"
        "model b(x: [d]) -> [d] {\n    x = linear.q[d -> d](x)\n    repeat.r 2 { x = 1 / (2 + sin(x)) }\n"
        "    return x\n}\n"
        "model net(x: [t, d], y: [t, e]) -> [t, d] {\n    repeat.r 2 { x = cos(x) }\n    return a(x) + b(x)\n}\n",
        ["p", "q"],
    ),
    "another size for one of them": (
        "model a(x: [t, d]) -> [t, d] {\n    return linear.p[d -> d](x) * |d|\n}\n"
        "model b(x: [t, d]) -> [t, d] {\n    return linear.q[d -> d](x) * |d|\n}\n"
        "model net(x: [t, d], y: [t, e]) -> (u: [t, d], v: [t, e]) {\n    return a(x), b[d = e](y)\n}\n",
        ["p", "q"],
    ),
    "two sizes for one without weights": (
        "model a(x: [t, d]) -> [t, d] {\n    repeat.r 2 { x = softmax[d](x) * |d| }\n    return x\n}\n"
        "block f(x: [t, d]) -> [t, d] {\n    repeat.r 2 { x = cos(a(x)) }\n    return linear.p[d -> d](x)\n}\n"
        "model net(x: [t, d], y: [t, e]) -> (u: [t, d], v: [t, e]) {\n    return f(a(x)), a[d = e](y)\n}\n",
        ["f.p"],
    ),
    "calls that differ": (
        "model a(x: [d], s: [] = 0.5) -> [d] {\n    x = linear.p[d -> d](x)\n    v = tanh(s)\n"
        "    repeat.r n {\n        s = tanh(v)\n        x = sin(x) * n\n    }\n"
        "    if n > 2 { x = cos(x) * n }\n    return x * s\n}\n"
        "model net(x: [t, d], y: [t, e]) -> (u: [t, d], v: [t, d, e]) {\n    return a(x), a[n = n + 1](x, y)\n}\n",
        ["p"],
    ),
    "one without weights called unlike": (
        "model a(x: [d], s: [] = 0.5) -> [d] {\n    v = tanh(s)\n    repeat.r 3 { s = tanh(v) }\n    return x * s\n}\n"
        "model net(x: [t, d], y: [t, e]) -> (u: [t, d], v: [t, d, e]) {\n    return a(x), a(x, y)\n}\n",
        [],
    ),
    "one called by two others": (
        "model inner(x: [d]) -> [d] {\n    repeat.r 2 { x = tanh(x) }\n    return linear.p[d -> d](x)\n}\n"
        "model a(x: [d]) -> [d] {\n    depth h = d * 3\n    repeat.r 2 { x = cos(x) }\n"
        "    return inner(linear.q[h -> d](linear.u[d -> h](x)) * |h|)\n}\n"
        "model b(x: [d]) -> (c: [d], f: [e]) {\n    repeat.r 2 { x = sin(x) }\n    param P: [d, e] ~ normal(0.5)\n"
        "    return inner(linear.v[d -> d](x)), dot[d](P, x)\n}\n"
        "model net(x: [t, d], y: [t, e]) -> (u: [t, d], v: [t, e]) {\n    c, f = b(a(inner(x)))\n"
        "    return c, f * y\n}\n",
        ["p", "q", "u", "v", "P"],
    ),
    "a count that the call works out": (
        "model a(x: [d]) -> [d] {\n    repeat.deep n { x = linear.p[d -> d](x) * n }\n    return x\n}\n"
        "model net(x: [t, d], y: [t, e]) -> (u: [t, d], v: [t, e]) {\n    repeat.z n { x = linear.o[d -> d](x) * n }\n"
        "    return a[n = n * 2 + 1](x), y\n}\n",
        [f"deep.{i}.p" for i in range(5)] + [f"z.{i}.o" for i in range(2)],
    ),
    "numbers that a call works out": (
        "model a(x: [d]) -> [d] {\n    return linear.p[d -> d](x) * n\n}\n"
        "model b(x: [d]) -> [d] {\n    return linear.q[d -> d](x) / n ^ n\n}\n"
        "model c(x: [d]) -> [d] {\n    repeat.r n * 2 { x = linear.u[d -> d](x) }\n    return x\n}\n"
        "model f(x: [d]) -> [d] {\n    repeat.r n { x = sin(x) * n }\n    return linear.v[d -> d](x)\n}\n"
        "model net(x: [t, d], y: [t, e]) -> [t, d] {\n"
        "    return f[n = |d| + 1](c[n = 3 - 2](b[n = 6 / 3](a[n = 1 - 3](x))))\n}\n",
        ["p", "q", "r.0.u", "r.1.u", "v"],
    ),
    "one called by two others alone": (
        "model a(x: [d]) -> [d] {\n    return linear.p[d -> d](x)\n}\n"
        "model b(x: [d]) -> [d] {\n    return a(tanh(x))\n}\n"
        "model c(x: [d]) -> [d] {\n    return a(cos(x))\n}\n"
        "model net(x: [t, d], y: [t, e]) -> [t, d] {\n    return c(b(x))\n}\n",
        ["p"],
    ),
    "a caller of two forms": (
        "model i(x: [d]) -> [d] {\n    repeat.r 2 { x = cos(x) }\n    return linear.p[d -> d](x)\n}\n"
        "model a(x: [d], s: [] = 0.5) -> [d] {\n    v = tanh(s)\n    repeat.r 3 { s = tanh(v) }\n"
        "    return i(x) * s\n}\n"
        "model net(x: [t, d], y: [t, e]) -> (u: [t, d], v: [t, d, e]) {\n    return a(x), a(x, y)\n}\n",
        ["p"],
    ),
    "a scan of one": (
        "model cell(h: [d], x: [d]) -> (h: [d]) {\n"
        "    return tanh(linear.p[d -> d](x) + linear.q[d -> d](h))\n}\n"
        "model net(x: [t, d], y: [t, e]) -> [t, d] {\n    return scan[t] cell(h = 0, x = x)\n}\n",
        ["p", "q"],
    ),
    "names that a module has": (
        "model step(x: [d]) -> [d] {\n    return linear.p[d -> d](x)\n}\n"
        "model eval(x: [d]) -> [d] {\n    return step(linear.q[d -> d](x))\n}\n"
        "model eval_2(x: [d]) -> [d] {\n    return eval(x) * 2\n}\n"
        "model net(x: [t, d], y: [t, e]) -> [t, d] {\n    return linear.o[d -> d](eval_2(tanh(step(x))))\n}\n",
        ["p", "q", "o"],
    ),
}


@pytest.mark.parametrize("case", CALLERS)
def test_the_backends_agree(case: str) -> None:
    text, learn = CALLERS[case]
    model = attnc.loads(HEAD + text).model("net")
    module = model.torch(seed=1, dtype=torch.float64).eval()
    assert {path if path == "P" else path.rsplit(".", 1)[0] for path in model.weights} == set(learn)
    assert set(module.state_dict()) == set(model.weights)
    draw = np.random.default_rng(0)
    x, y = draw.normal(size=(5, 3, 2)), draw.normal(size=(5, 3, 4))
    found = module(torch.as_tensor(x), torch.as_tensor(y))
    meant = model.numpy(seed=1, dtype=np.float64)(x, y)
    for got, want in zip(*((r if isinstance(r, tuple) else (r,)) for r in (found, meant)), strict=True):
        np.testing.assert_allclose(got.detach().numpy(), want, rtol=1e-10, atol=1e-12)


def test_each_has_its_own_repeat() -> None:
    """Of both only the last was run, in silence: they were one attribute of one object."""
    model = attnc.loads(HEAD + CALLERS["parts without weights of one name"][0]).model("net")
    weights = {"p.weight": np.eye(2), "p.bias": np.zeros(2), "q.weight": np.eye(2) * 2, "q.bias": np.ones(2)}
    x = np.random.default_rng(0).normal(size=(3, 2))
    at = np.cos(np.cos(x))
    other = 1 / (2 + np.sin(1 / (2 + np.sin(2 * at + 1))))
    module = model.torch(weights=weights, dtype=torch.float64).eval()
    with torch.no_grad():
        found = module(torch.as_tensor(x), torch.zeros(3, 4, dtype=torch.float64)).numpy()
    np.testing.assert_allclose(found, np.tanh(np.tanh(np.tanh(at))) + other, rtol=1e-12)


def test_sizes_may_be_given_when_it_is_built() -> None:
    """A model that called two others took no sizes; what they derive from these follows."""
    text = (
        "model i(x: [t, d]) -> [t, d] {\n    depth h = d * 3 + 1\n"
        "    return linear.q[h -> d](linear.p[d -> h](x)) * |h|\n}\n"
        "model a(x: [t, d]) -> [t, d] {\n    depth g = d * 2\n    depth k = g + 1\n"
        "    return linear.v[k -> d](linear.w[g -> k](i[d = g](linear.u[d -> g](x))))\n}\n"
        "model b(x: [t, d]) -> [t, d] {\n    return linear.o[d -> d](x)\n}\n"
        "model net(x: [t, d], y: [t, e]) -> (u: [t, d], v: [t, e]) {\n    return a(x), b[d = e](y)\n}\n"
    )
    net = run_alone(attnc.loads(HEAD + text).model("net"))["Net"](d=3, e=5)
    u, v = net(torch.ones(2, 3), torch.ones(2, 5))
    assert (u.shape, v.shape) == ((2, 3), (2, 5))
    shapes = {name: tuple(weight.shape) for name, weight in net.named_parameters() if name.endswith("weight")}
    assert shapes == {
        "u.weight": (6, 3), "p.weight": (19, 6), "q.weight": (6, 19), "w.weight": (7, 6), "v.weight": (3, 7),
        "o.weight": (5, 5),
    }  # fmt: skip


def _check_steps(text: str, **shapes: tuple[int, ...]) -> None:
    draw = np.random.default_rng(0)
    values = {name: draw.normal(size=shape) for name, shape in shapes.items()}
    check_steps(attnc.loads(HEAD + text).model("net"), dtypes=("float64",), values=values)


@pytest.mark.parametrize(
    "name", ["class", "None", "torch", "Float", "__init__", "_apply", "Cache", "NetOutput", "prepare", "forward_"]
)
def test_a_model_may_be_called_what_a_method_may_not(name: str) -> None:
    text = (
        f"model {name}(x: [t, d]) -> [t, d] causal t {{\n    param P: [d] ~ normal(0.5)\n"
        "    return cumsum[t](x * P)\n}\n"
        "model other(x: [t, d]) -> [t, d] causal t {\n    return linear.q[d -> d](x)\n}\n"
        "model net(x: [t, d], k: [d]) -> (a: [t, d] causal t, b: [t, d] causal t) {\n"
        f"    y = {name}(other(x))\n    return {name}(y), y * broadcast[t](k)\n}}\n"
    )
    _check_steps(text, x=(3, 2), k=(2,))


def test_what_a_called_model_keeps_is_kept_before_it_is_read() -> None:
    text = (
        "model prepare(x: [t], z: [e]) -> [t] causal t {\n    param P: [e] ~ normal(0.5)\n"
        "    v = mean[e](tanh(z) * P)\n    return cumsum[t](x) * broadcast[t](v)\n}\n"
        "model net(x: [t], z: [e]) -> [t] causal t {\n    return prepare(tanh(prepare(x, z)), z)\n}\n"
    )
    _check_steps(text, x=(3,), z=(4,))


def test_steps_of_called_models() -> None:
    text = (
        "use std.attention: multihead, model, heads\nwidth seq\nwidth past like seq\n"
        "depth model = 8, heads = 2\nconst layers = 2\n"
        "model body(x: [seq, model]) -> [seq, model] causal seq {\n    repeat layers {\n"
        "        x = x + multihead[seq, past](x, x[seq as past], mask = past <= seq)\n    }\n"
        "    repeat.r 2 { x = tanh(x) }\n    return x\n}\n"
        "model soft(x: [seq, model]) -> [seq, model] causal seq {\n"
        "    repeat.r 2 { x = cos(x) + cumsum[seq](x) }\n    return x\n}\n"
        "model net(x: [seq, model]) -> [seq, model] causal seq {\n    repeat.r 2 { x = sin(x) }\n"
        "    x = body(soft(x))\n    return linear.out[model -> model](body(x))\n}\n"
    )
    check_steps(attnc.loads(text).model("net"), seeds=(0, 2), dtypes=("float64",))
