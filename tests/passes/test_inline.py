"""Blocks of one expression stand where they are called: which ones do, and that nothing else changes."""

from __future__ import annotations

import re
from typing import Any

import pytest
import torch

import attnc

from .test_structure import same_numbers

HEAD = "use std.attention: attend\nwidth t, u\nwidth s like t\ndepth m = 4, h = 2, n = 3\nconst c = 2\n"
GOES = {  # a block, and how it is called with x [t, m], y [t, h, m], i int[t], r [t], p bool[t], z [m]
    "one op": ("block f(x: [m]) -> [m] { return tanh(x) }", "x + f(x)"),
    "a cap": ("block f[cap: const](x: []) -> [] { return cap * tanh(x / cap) }", "f[cap = 3](x) + f[cap = c](x)"),
    "an operand read twice": ("block f(x: [m]) -> [m] { return x * sigmoid(x) }", "f(x + 1) * f(tanh(x))"),
    "a result with a name": ("block f(x: [m]) -> [m] {\n y = x * 2\n return y\n}", "f(f(x)) + x"),
    "only another name": (
        "block f[a: width, b: width like a](x: [a, m]) -> [b, m] { return x[a as b] }",
        "x + f[s, t](f[t, s](x))",
    ),
    "lifted": ("block f(x: [m]) -> [m] { return softmax[m](x) }", "x + sum[h](f(y))"),
    "lifted, of two": ("block f(x: [m], z: [m]) -> [m] { return x - z }", "sum[h](f(y, y * y)) + f(x, x + 1)"),
    "an argument that lacks an axis": (
        "block f[q: width](x: [q, m], p: bool[q, m]) -> [q, m] { return select(p, x, 0) }",
        "f[t](x, p) + f[t](x, z > 0)",
    ),
    "a reduction along an axis that an argument lacks": (
        "block f[q: width](r: [q], p: bool[q]) -> [] { return sum[q](r where p) }",
        "x + broadcast[t](f[t](r, p) + f[t](r, true))",
    ),
    "a number": ("block f(x: [m], by: []) -> [m] { return x * by }", "f(x, 2) + f(x, c)"),
    "sizes": ("block f[a: depth](x: [a]) -> [a] { return x / |a| }", "f[m](x) + sum[n](f[n](linear.w[m -> n](x)))"),
    "positions": (
        "block f[q: width, k: width like q]() -> bool[q, k] { return k <= q }",
        "attend[t, s, m, m](x, x[t as s], x[t as s], f[t, s]())",
    ),
    "blocks in it": (
        "block g(x: [m]) -> [m] { return exp(-x) }\nblock f(x: [m]) -> [m] { return 1 / (1 + g(x)) }",
        "f(x) + g(x)",
    ),
    "indices": ("block f(i: int[], z: [m]) -> [] { return z[m = clamp(i, 0, 3)] }", "x + f(i, z)"),
    "dropout": ("block f(x: [m]) -> [m] { return x + dropout(x, 0.5) }", "f(x)"),
    "attention": (
        "block f[q: width, k: width](Q: [q, m], K: [k, m], p: bool[q, k]) -> [q, m] {\n scores = dot[m](Q, K) * 0.3\n"
        " w = softmax[k](scores where p)\n return dot[k](w, K)\n}",
        "f[t, s](x, x[t as s], p[t as s]) + f[t, s](x, x[t as s], s <= t)",
    ),
}  # fmt: skip
STAYS = {
    "two statements": ("block f(x: [m]) -> [m] {\n y = tanh(x)\n return y + y\n}", "f(x)"),
    "a value read twice": ("block f(x: [m]) -> [m] {\n y = tanh(x)\n z = y * y\n return z + 1\n}", "f(x)"),
    "many ops": ("block f(x: [m]) -> [m] { return exp(tanh(sin(cos(x) + 1) * 2)) }", "f(x)"),
    "weights": ("block f(x: [m]) -> [m] { return linear.w[m -> m](x) }", "f(x)"),
    "a learned number": ("block f(x: [m]) -> [m] {\n param g: [m] ~ ones\n return x * g\n}", "f(x)"),
    "an axis of its own": (
        "block f(x: [m]) -> [m] {\n depth half = m / 2\n return merge[h, half -> m](split[m -> h, half](x))\n}",
        "f(x)",
    ),
    "whole numbers for reals": ("block f(x: []) -> [] { return floor(x / 2) }", "x + f(i)"),
}
MODEL = "\nmodel net(x: [t, m], y: [t, h, m], i: int[t], r: [t], p: bool[t], z: [m]) -> [t, m] {{\n    return {}\n}}\n"


def blocks(source: str) -> list[str]:
    return re.findall(r"(?m)^(?:class|def) ((?:F|G|Attend|f|g|attend)\d*)\(", source)


def text_of(case: str) -> str:
    block, call = (GOES | STAYS)[case]
    return HEAD + block + MODEL.format(call)


@pytest.mark.parametrize("case", [*GOES, *STAYS])
def test_where_it_stands_and_that_the_numbers_stay(case: str) -> None:
    model = attnc.loads(text_of(case)).model("net")
    for to in ("torch", "numpy"):
        assert bool(blocks(model.source(to))) == (case in STAYS), model.source(to)  # type: ignore[arg-type]
        assert blocks(model.source(to, without=["inline"]))  # type: ignore[arg-type]
    assert [*model.weights] == [*attnc.loads(text_of(case)).model("net").torch(without=["inline"]).state_dict()]
    same_numbers(text_of(case), (5,), "net")


def test_what_is_drawn_at_random_is_the_same() -> None:
    model = attnc.loads(text_of("dropout")).model("net")
    given = [
        torch.randn(5, 4),
        torch.randn(5, 2, 4),
        torch.zeros(5).long(),
        torch.randn(5),
        torch.ones(5) > 0,
        torch.randn(4),
    ]
    found = []
    for without in ([], ["inline"]):
        net = model.torch(without=without).train()
        torch.manual_seed(0)
        found.append(net(*given))
        assert not torch.equal(found[-1], net.eval()(*given))
    torch.testing.assert_close(*found, rtol=0, atol=0)


STEPS = """
use std.attention: attend
width t
width s like t
depth m = 4, vocab = 7
block soft(x: [m]) -> [m] { return 3 * tanh(x / 3) }
block net_layer(x: [t, m]) -> [t, m] {
    K = linear.K[m -> m](x)
    y = attend[t, s, m, m](linear.Q[m -> m](x), K[t as s], x[t as s], s <= t)
    return soft(x + soft(y))
}
model net(ids: vocab[t]) -> [t, vocab] causal t {
    x = embed[vocab -> m](ids)
    repeat.layers 2 { x = net_layer(x) }
    return linear.out[m -> vocab](soft(x))
}
"""


def test_steps_do_in_place_what_the_model_does() -> None:
    model = attnc.loads(STEPS).model("net")
    source = model.source("torch")
    assert re.findall(r"(?m)^class (\w+)\((?:Decoder, )?nn\.Module", source) == ["NetLayer", "NetLayer2", "Net"]
    assert "class Soft" not in source and "class Attend" not in source
    net: Any = model.torch(seed=0, dtype=torch.float64)
    plain: Any = model.torch(seed=0, dtype=torch.float64, without=["inline"])
    ids = torch.tensor([[1, 5, 2, 0, 6, 3]])
    caches = [one.prepare() for one in (net, plain)]
    for start, stop in ((0, 3), (3, 4), (4, 6)):
        steps = [one.step(ids[:, start:stop], cache) for one, cache in zip((net, plain), caches, strict=True)]
        torch.testing.assert_close(*steps, rtol=1e-12, atol=1e-12)
        torch.testing.assert_close(steps[0], net(ids)[:, start:stop], rtol=1e-9, atol=1e-9)
    assert [*map(str, model.decoding.caches)] and str(model.decoding) == str(attnc.loads(STEPS).model("net").decoding)
