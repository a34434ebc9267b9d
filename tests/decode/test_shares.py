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
    "repeats without weights of one name": """
width t
depth d = 3
const n = 2
model net(x: [t, d]) -> [t, d] causal t {
    repeat n { x = cumsum[t](x) / 2 }
    repeat n {
        x = linear.y[d -> d](x[t = max(t - 1, 0)]) + x
    }
    repeat i in n { x = tanh(x) + i * x[t = max(t - 2, 0)] }
    x = linear.k[d -> d](x)
    repeat.k i in 3 {
        if i == 1 { x = x + sin(x) } else { x = x - cumsum[t](x) / 9 }
    }
    repeat.k 2 shared { x = cos(x) }
    return x
}
""",
    "repeats without weights that differ": """
width t
depth d = 3
const two = 2, three = 3
block f[k: const](x: [t, d]) -> [t, d] {
    x = linear.a[d -> d](x)
    repeat.r i in k { x = cumsum[t](x) / (i + 2) }
    if k > 2 {
        repeat.s 2 { x = tanh(x) }
    } else {
        repeat.s i in 3 {
            repeat.u k { x = sin(x) + i }
        }
    }
    repeat.w i in 2 {
        repeat.v k { x = x + 1 }
        x = linear.b[d -> d](x)
    }
    return x
}
model net(x: [t, d]) -> [t, d] causal t {
    share g = f
    return g[k = two](x) + g[k = three](x) * 2
}
""",
    "passes that differ in one call alone": """
width t
width p like t
depth d = 3
const yes = 1, no = 0
block att(x: [t, d], z: [p, d], m: bool[p, t] = true) -> [t, d] {
    w = softmax[p](dot[d](linear.q[d -> d](x), linear.k[d -> d](z)) where m and p <= t)
    return dot[p](w, z)
}
block f[on: const](x: [t, d]) -> [t, d] {
    repeat.deep i in 3 {
        if i == 1 and on > 0 {
            x = x + att(x, x[t as p], t - p < 2)
        } else {
            x = x + att(x, x[t as p])
        }
    }
    return x
}
model net(x: [t, d]) -> [t, d] causal t {
    share a = f
    share b = f
    return a[on = yes](x) - a[on = no](x) + b[on = no](x) - b[on = yes](x) * 2
}
""",
    "a block with and without weights": """
width t
depth d = 3
const yes = 1, no = 0
block f[on: const](x: [t, d], seen: bool[t]) -> [t, d] {
    if on > 0 { y = linear.y[d -> d](x) * broadcast[d](select(seen, 2, 1)) } else { y = tanh(x) }
    return y
}
block outer[late: const](x: [t, d]) -> [t, d] {
    if late > 0 { z = f[on = yes](f[on = no](x, true), true) } else { z = f[on = yes](f[on = no](x, true), t > 1) }
    return z
}
model net(x: [t, d]) -> [t, d] causal t {
    share s = outer
    return s[late = yes](x) + s[late = no](x)
}
""",
}


@pytest.mark.parametrize("text", CASES.values(), ids=CASES)
def test_steps_are_those_of_the_whole(text: str) -> None:
    check_steps(attnc.loads(text).model("net"))
