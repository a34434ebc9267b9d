"""Steps of calls that have one set of weights and compute different things with it: methods of one class."""

from __future__ import annotations

import pytest

import attnc

from .steps import check_steps

CASES = {
    "masks": """
use std.attention: multihead, model, heads
width t
width p like t
depth model = 8, heads = 2
model net(x: [t, model], real: bool[t]) -> [t, model] causal t {
    share f = multihead
    x = f[t, p](x, x[t as p], mask = p <= t)
    x = f[t, p](x, x[t as p], mask = p <= t and t - p < 3)
    return f[t, p](x, x[t as p], mask = p <= t and real[t as p])
}
""",
    "masks of what has parts": """
width t
width p like t
depth d = 3
block att(x: [t, d], z: [p, d], m: bool[p, t] = true) -> [t, d] {
    w = softmax[p](dot[d](linear.q[d -> d](x), linear.k[d -> d](z)) where m and p <= t)
    return dot[p](w, z)
}
block layer(x: [t, d], m: bool[p, t] = true) -> [t, d] {
    repeat.deep i in 3 {
        if i == 1 {
            x = x + att.other(x, x[t as p], m)
        } else {
            x = x + att(x, x[t as p])
        }
        x = layernorm[d](x)
    }
    repeat.same 2 shared {
        seen = sum[p](select(m and p <= t, broadcast[t](cos(p)), 0))
        x = tanh(linear.mix[d -> d](x)) + broadcast[d](cumsum[t](sum[d](x))) + seen
    }
    return x
}
model net(x: [t, d], pad: bool[p]) -> [t, d] causal t {
    share o = layer
    x = o(x)
    x = o(x, t - p < 2)
    return o(x, pad)
}
""",
    "consts": """
width t
width p like t
depth d = 3
block conv[n: const](x: [t, d]) -> [t, d] {
    y = linear.q[d -> d](x[t = max(t - n, 0)])
    return layernorm.k[d](x + y, eps = n * 0.1)
}
model net(x: [t, d]) -> [t, d] causal t {
    share o = conv
    x = o[n = 1](x)
    return o[n = 3](o[n = 2](x))
}
""",
    "masks of a model": """
width t
width p like t
depth d = 3
model inner(x: [t, d], m: bool[p] = true) -> [t, d] causal t {
    k = linear.k[d -> d](x)
    return x + dot[p](softmax[p](dot[d](x, k[t as p]) where m and p <= t), k[t as p])
}
model net(x: [t, d], pad: bool[t]) -> [t, d] causal t {
    a = inner(x)
    return a + inner(tanh(a), pad[t as p])
}
""",
}


@pytest.mark.parametrize("text", CASES.values(), ids=CASES)
def test_steps_are_those_of_the_whole(text: str) -> None:
    check_steps(attnc.loads(text).model("net"))
