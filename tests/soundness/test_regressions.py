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
    "result with a broadcast axis": (
        "depth d = 3, e = 2\n"
        "block twice(x: [d, e]) -> [d, e] {\n    return x * 2\n}\n"
        "model net(x: [d]) -> [d] {\n    return twice(x)\n}\n",
        {"x": (3,)},
    ),
    # ... and refused where an op makes that axis.
    "op that makes a broadcast axis": (
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
    # What does not vary along an axis had it at its extent all the same, where a call has that axis for another.
    "axis in name only beside that axis": (
        "width f, w\ndepth e = 2, k = 2\n"
        "block look[g: depth, t: width](x: [f], ids: f[t, g]) -> [g, t] {\n    return x[f = ids]\n}\n"
        "block add[t: width](x: [e], y: [t]) -> [e, t] {\n    return broadcast[t](x) + broadcast[e](y)\n}\n"
        "block cell[t: width](h: [], x: [e], y: [t]) -> (h: []) {\n    return tanh(h + mean[e, t](add[t](x, y)))\n}\n"
        "model net(x: [f], y: [w]) -> (r: [e, w], h: [f]) {\n"
        "    u = broadcast[e](mean[k](look[k, w](x, argmax[f](broadcast[k](x)))))\n"
        "    h = scan[f] cell[w](h = 0, x = u, y = broadcast[f](y) * broadcast[w](x))\n"
        "    return add[w](u, y), h\n}\n",
        {"x": (3,), "y": (2,)},
    ),
    # Calls of one set of weights that compute different things with it were refused (E0414).
    "a share with a mask and without": (
        "use std.attention: multihead, model, heads\nwidth seq\nwidth past like seq\ndepth model = 8, heads = 2\n"
        "model net(x: [seq, model]) -> [seq, model] {\n    share f = multihead\n"
        "    x = f[seq, past](x, x[seq as past], mask = past <= seq)\n    return f[seq, past](x, x[seq as past])\n}\n",
        {"x": (4, 8)},
    ),
    # The first pass makes `x` of what has no batch yet, though the later ones do not.
    "carried crosswise, once": (
        "width t\ndepth d = 2\n"
        "model net(x: [d], y: [t, d]) -> (one: [d], two: [d], none: [d]) {\n    v = sin(d)\n    a = x\n    b = x\n"
        "    repeat.r 1 {\n        u = tanh(v)\n        w = tanh(v + mean[t](y))\n        x = u\n        v = w\n    }\n"
        "    v = sin(d)\n"
        "    repeat.s 2 {\n        u = tanh(v)\n        w = tanh(v + mean[t](y))\n        a = u\n        v = w\n    }\n"
        "    v = sin(d)\n"
        "    repeat.z 0 {\n        u = tanh(v)\n        w = tanh(v + mean[t](y))\n        b = u\n        v = w\n    }\n"
        "    return x, a, b\n}\n",
        {"x": (2,), "y": (3, 2)},
    ),
    # Of one call only the state has the batch, of the other only the items.
    "a scan whose calls have the batch in different arguments": (
        "width p = 3\n"
        "block cell(h: [], x: []) -> (h: []) {\n    return tanh(h + x)\n}\n"
        "block run(h: [], x: [p]) -> [p] {\n    return scan[p] cell(h = h, x = x)\n}\n"
        "model net(x: [p], y: []) -> (a: [p], b: [p]) {\n    return run(0.5 * sum[p](sin(p)), x), run(y, cos(p))\n}\n",
        {"x": (3,), "y": ()},
    ),
    # The result hangs on the state alone, but has the leading dimensions of all arguments: those of the lift too.
    "a scan of what hangs on nothing, lifted": (
        "width t\ndepth d = 3, e = 4\n"
        "block cell(h: [d], x: [d], z: [d]) -> (h: [d], r: [d]) {\n    return tanh(h), exp(h)\n}\n"
        "block run(x: [t, d], z: [d]) -> (a: [d, t], b: [t, d]) {\n"
        "    h, r = scan[t] cell(h = 0.5, x = x, z = broadcast[t](z))\n    return r, h\n}\n"
        "model net(x: [t], z: [d, e], y: [d, t]) -> (a: [], b: []) {\n"
        "    a, b = run(broadcast[d](x), z)\n    return dot[d, t](a, y), dot[d, t](b, y)\n}\n",
        {"x": (4,), "z": (3, 4), "y": (3, 4)},
    ),
    "a share with other consts": (
        "width t\ndepth d = 3\n"
        "block deeper[c: const](x: [d]) -> [d] {\n    return linear.out[d -> d](x * c, bias = false) / c\n}\n"
        "block f[c: const](x: [t, d]) -> [t, d] {\n"
        "    y = deeper[c = c + 1](layernorm.N[d](linear.a[d -> d](x) * c, eps = 0.1 * c)) ^ c\n"
        "    if c > 2 {\n        y = tanh(linear.b[d -> d](y))\n    } else {\n"
        "        y = y + linear.b[d -> d](y)\n    }\n"
        "    return dropout(y, 0.1 * c)\n}\n"
        "block g[c: const](x: [t, d]) -> [t, d] {\n    return linear.a[d -> d](x) / c\n}\n"
        "model net(x: [t, d]) -> (a: [t, d], b: [t, d], c: [t, d]) {\n    share s = f\n    a = s[c = 2](x)\n"
        "    repeat.r i in 3 {\n        share p = f\n        x = tanh(p[c = i + 1](x) + p[c = 2](x))\n    }\n"
        "    share k = g\n    return a, s[c = 3](x), s[c = 2](k[c = 2](a)) + k[c = |t|](x)\n}\n",
        {"x": (2, 3)},
    ),
    "a share along depths of two sizes": (
        "depth d = 3, e = 5, u = 2\n"
        "block g[n: depth](x: [n]) -> [n] {\n    return x - mean[n](x) + |n| + int(n)\n}\n"
        "block f[n: depth](x: [n], k: [d]) -> [n] {\n    param W: [d]\n    depth two = |n| * 2\n"
        "    z = split[two -> n, u](broadcast[two](sum[d](W * k)))\n"
        "    return g[n](x) * dot[d](W, k) / |n| + sum[u](z)\n}\n"
        "model net(x: [d], y: [e]) -> (a: [d], b: [e]) {\n    share s = f\n    return s[d](x, x), s[e](y, x)\n}\n",
        {"x": (3,), "y": (5,)},
    ),
    "a share along widths, of which some are fixed, bounded or derived": (
        "width t, half = t / 2, six = 6, four = 4, most <= 9\ndepth d = 3\n"
        "block f[n: width](x: [n, d]) -> [n, d] {\n    return x * linear.a[d -> d](x) + cos(n) / |n|\n}\n"
        "block g[m: width](x: [m, d]) -> [d] {\n    width q = m / 2\n    depth two = 2\n    share i = f\n"
        "    y = i[q](mean[two](split[m -> q, two](x)))\n    return sum[q](y) + sum[m](i[m](x))\n}\n"
        "model net(x: [t, d], y: [half, d], z: [six, d], v: [four, d], w: [most, d]) -> (a: [d], b: [d], c: [d]) {\n"
        "    share k = g\n    return k[t](x) + k[half](y), k[six](z), k[four](v) * k[most](w)\n}\n",
        {"x": (4, 3), "y": (2, 3), "z": (6, 3), "v": (4, 3), "w": (2, 3)},
    ),
    "a share given numbers, tables and data": (
        "width t\ndepth d = 3\nblock three() -> [] {\n    return 3\n}\n"
        "block f(x: [d], by: [], q: [] = 3, m: bool[d] = true) -> [d] {\n"
        "    return linear.a[d -> d](x * by + cos(q)) + mean[d](x where m) + select(m, 1.0, 0.0)\n}\n"
        "model net(x: [t, d], y: [t]) -> (a: [t, d], b: [t, d], c: [t, d], d: [t, d]) {\n    share s = f\n"
        "    a = s(x, three(), broadcast[t](y[t = 0]))\n    b = s(x, y, 4, int(d) < 2)\n"
        "    return a, b, s(x, y, cos(t)), s(x, 2, m = x > 0)\n}\n",
        {"x": (4, 3), "y": (4,)},
    ),
    "a share of what has parts": (
        "width t\nwidth p like t\ndepth d = 3\n"
        "block att(x: [t, d], z: [p, d], m: bool[p, t] = true) -> [t, d] {\n"
        "    w = softmax[p](dot[d](linear.q[d -> d](x), linear.k[d -> d](z)) where m)\n    return dot[p](w, z)\n}\n"
        "block layer(x: [t, d], m: bool[p, t] = true) -> [t, d] {\n"
        "    repeat.deep i in 3 {\n"
        "        if i == 1 {\n            x = x + att.other(x, x[t as p], m)\n"
        "        } else {\n            x = x + att(x, x[t as p])\n        }\n        x = layernorm[d](x)\n    }\n"
        "    repeat.same 2 shared {\n"
        "        x = tanh(linear.mix[d -> d](x)) + sum[p](select(m, broadcast[t](cos(p)), 0))\n    }\n    return x\n}\n"
        "block outer(x: [t, d], m: bool[p, t] = true) -> [t, d] {\n    share s = layer\n    return s(s(x), m)\n}\n"
        "model net(x: [t, d], pad: [p]) -> (a: [t, d], b: [t, d], c: [t, d]) {\n    share o = outer\n    a = o(x)\n"
        "    b = o(x, p <= t)\n    return a, b, o(x, p <= t and pad > 0)\n}\n",
        {"x": (4, 3), "pad": (4,)},
    ),
    "a shared cell, called and scanned": (
        "width t\ndepth d = 3\n"
        "block cell(a: [d], y: [d], h: [d]) -> (h: [d]) {\n    return tanh(linear.u[d -> d](a) + y + h)\n}\n"
        "block mix(x: [t, d], y: [t, d]) -> [t, d] {\n    return scan[t] cell(linear.o[d -> d](x), y, h = 0)\n}\n"
        "model net(x: [t, d], z: [t, d]) -> (a: [t, d], b: [t, d], c: [t, d]) {\n"
        "    share m = mix\n    share k = cell\n    param b: [d] ~ normal(1.0)\n    u = m(x, z)\n"
        "    c = scan[t] k(x, b, h = 0)\n"
        "    return u, m(u, b), c + k(x, z, broadcast[t](b))\n}\n",
        {"x": (4, 3), "z": (4, 3)},
    ),
    "a model called with a mask and without": (
        "width t\nwidth p like t\ndepth d = 3\n"
        "model inner(x: [t, d], m: bool[p] = true) -> [t, d] {\n"
        "    return x + broadcast[t](mean[p](linear.a[d -> d](x)[t as p] where m))\n}\n"
        "model net(x: [t, d], pad: [t]) -> (a: [t, d], b: [t, d]) {\n"
        "    a = inner(x)\n    return a, inner(a, pad[t as p] > 0)\n}\n",
        {"x": (4, 3), "pad": (4,)},
    ),
    "a share of a norm with two numbers": (
        "width t\ndepth d = 3\n"
        "block f[c: const](x: [t, d]) -> [t, d] {\n"
        "    if c == 1 {\n        x = rmsnorm.b[d](layernorm.a[d](x, eps = 0.5), eps = 0.25)\n    } else {\n"
        "        x = rmsnorm.b[d](layernorm.a[d](x, eps = 2.0), eps = 3.0)\n    }\n    return x\n}\n"
        "model net(x: [t, d]) -> (a: [t, d], b: [t, d]) {\n    share s = f\n    return s[c = 1](x), s[c = 2](x)\n}\n",
        {"x": (4, 3)},
    ),
    "a share of a shared repeat of two counts, and of an own one of one": (
        "width t\ndepth d = 3\n"
        "block g[n: const](x: [d]) -> [d] {\n"
        "    repeat.own i in n {\n        x = linear.a[d -> d](x) * (i + 1)\n    }\n    return x\n}\n"
        "block f[c: const](x: [d]) -> [d] {\n"
        "    repeat.same i in c shared {\n        x = tanh(linear.b[d -> d](x)) + i * c\n    }\n"
        "    return g[n = ceil(c / 2)](x)\n}\n"
        "model net(x: [t, d]) -> (a: [t, d], b: [t, d]) {\n    share s = f\n    return s[c = 4](x), s[c = 3](x)\n}\n",
        {"x": (4, 3)},
    ),
    "a share of a weight called as a method": (
        "width t\ndepth d = 3\n"
        "block f(x: [t, d], m: bool[d] = true) -> [t, d] {\n    param forward_2: [d]\n"
        "    return x * forward_2 + broadcast[d](mean[d](x where m))\n}\n"
        "model net(x: [t, d]) -> [t, d] {\n    share s = f\n    return s(x) + s(x, int(d) < 2)\n}\n",
        {"x": (4, 3)},
    ),
    "a model called as its caller has a layer called as a method": (
        "width t\nwidth p like t\ndepth d = 3\n"
        "model inner(x: [t, d], m: bool[p] = true) -> [t, d] {\n"
        "    return x + broadcast[t](mean[p](linear.a[d -> d](x)[t as p] where m))\n}\n"
        "model outer(x: [t, d], m: bool[p] = true) -> [t, d] {\n"
        "    return inner(linear.forward_2[d -> d](inner(x)), m)\n}\n"
        "model net(x: [t, d], pad: [t]) -> (a: [t, d], b: [t, d]) {\n"
        "    a = outer(x)\n    return a, inner(outer(a, pad[t as p] > 0))\n}\n",
        {"x": (4, 3), "pad": (4,)},
    ),
    "a model called along widths with a bound and without": (
        "width t, four = 4, most <= 9, more <= 32\ndepth d = 3\n"
        "model inner[n: width](x: [n, d]) -> [n, d] {\n    return x * linear.a[d -> d](x) / |n|\n}\n"
        "model net(x: [t, d], y: [most, d], z: [four, d], w: [more, d])"
        " -> (a: [t, d], b: [most, d], c: [four, d], e: [more, d]) {\n"
        "    a = inner[t](x)\n    return a, inner[most](y), inner[four](z), inner[more](w)\n}\n",
        {"x": (40, 3), "y": (5, 3), "z": (4, 3), "w": (20, 3)},
    ),
    "a share of passes of which one alone differs": (
        "width t\ndepth d = 3\n"
        "block g[c: const](x: [t, d]) -> [t, d] {\n    if c == 2 {\n        x = tanh(x)\n    }\n"
        "    return linear.L[d -> d](x) * c\n}\n"
        "block f[c: const](x: [t, d]) -> [t, d] {\n    repeat.r i in 3 {\n        if i == 1 {\n"
        "            x = g.n[c = c](x)\n        } else {\n            x = tanh(g.n[c = 3](x))\n        }\n    }\n"
        "    return x\n}\n"
        "model net(x: [t, d]) -> [t, d] {\n    share s = f\n    return s[c = 1](x) + s[c = 2](x)\n}\n",
        {"x": (4, 3)},
    ),
    "a share of which one call gives a size that another derives": (
        "width seq\ndepth key = 3, heads = 2\ndepth model = key * heads\ndepth other = 6\n"
        "block f[n: width](x: [n, model]) -> [n, model] {\n"
        "    return x + linear.L[heads, key -> model](split[model -> heads, key](x))\n}\n"
        "model net(x: [seq, model], y: [seq, other]) -> (a: [seq, model], b: [seq, other]) {\n"
        "    share s = f\n    return s[seq](x), s[seq, model = other](y)\n}\n",
        {"x": (4, 6), "y": (4, 6)},
    ),
    # A call inside a block was refused where that block was lifted.
    "argument that lacks an axis inside a lifted block": (
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
    # A broadcast axis that the callee has too was taken for one that the call lifts over.
    "broadcast axis that the callee has": (
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
    # A number given to an op of the user's own, or left to its default, was not passed (seeds 30792, 31533).
    "number for an op of the user's own": (
        'depth d = 3\nop doubled(x: []) -> [] = "attnc_soundness_external:doubled"\n'
        "block f(x: []) -> [] {\n    return doubled(x)\n}\n"
        "model net(x: [d]) -> [d] {\n    return x + f(0.5) + doubled(2)\n}\n",
        {"x": (3,)},
    ),
    # A dimension of size 1 was taken for one that the repeat lifts over, beside a value that has it (30628, 31390).
    "axis in name only that enters a repeat": (
        "depth d = 3, e = 2, f = 2\n"
        "block same(x: [d], n: []) -> [d] {\n    return tanh(x)\n}\n"
        "model net(x: [e, d], n: [f]) -> [e, d] {\n"
        "    v = same(mean[e](x), n)\n    m = n * 2\n"
        "    repeat.r 2 shared {\n        x = tanh(x + v) * mean[f](m)\n    }\n    return x\n}\n",
        {"x": (2, 3), "n": (2,)},
    ),
    # `where` with a plain truth value to choose by (30937, 31818).
    "select by a default": (
        "depth d = 3\n"
        "block f(x: [d], m: bool[d] = true) -> [d] {\n    return select(m, x, 0.5)\n}\n"
        "block g(m: bool[d] = true) -> bool[d] {\n    return select(m, m, int(d) >= 2)\n}\n"
        "model net(x: [d]) -> [d] {\n    return f(x) + select(g(), x, 1)\n}\n",
        {"x": (3,)},
    ),
    # Of two kinds of passes only one asked for the extent of a width (30799, 31954).
    "passes that want different extents": (
        "width q\ndepth d = 3\n"
        "block f(x: [d]) -> [d] {\n    repeat.r i in 3 {\n        if i % 2 == 0 {\n"
        "            y = broadcast[q](x)\n            x = tanh(x + dot[q](y, y))\n        } else {\n"
        "            x = tanh(x)\n        }\n    }\n    return x\n}\n"
        "model net(x: [d], y: [q]) -> [d] {\n    return f(x) + mean[q](y)\n}\n",
        {"x": (3,), "y": (4,)},
    ),
    # The queries of a fused attention lost a dimension that is of size 1 in one call alone (31156).
    "attention of queries that are spread once": (
        "use std.attention: attend\nwidth q, k\ndepth d = 3, v = 2\n"
        "block f(x: [q], y: [k, d], z: [k, v]) -> [q, v] {\n    return attend[q, k, d, v](broadcast[d](x), y, z)\n}\n"
        "model net(x: [q], y: [k, d], z: [k]) -> [q, v] {\n"
        "    a = f(x, y, broadcast[v](z))\n"
        "    b = f(broadcast[q](mean[q](x)), y, broadcast[k, v](mean[k](z)))\n"
        "    return a + f(mean[v](a), y, broadcast[k](mean[q](a + b)))\n}\n",
        {"x": (4,), "y": (5, 3), "z": (5,)},
    ),
    # Of no queries, torch's fused attention has their batch axes, not what all operands broadcast to (30919).
    "attention without queries": (
        "use std.attention: attend\nwidth q, k\ndepth d = 3, v = 2, h = 2\n"
        "model net(x: [q, d], y: [k, d], z: [k, v, h]) -> [q, v, h] {\n    return attend[q, k, d, v](x, y, z)\n}\n",
        {"x": (0, 3), "y": (5, 3), "z": (5, 2, 2)},
    ),
    # What a pass gives has axes in name only that what it takes lacks: refused (31081).
    "broadcast axis out of a pass": (
        "width w\ndepth a = 2, b = 3\n"
        "block f(x: [w, a]) -> [w, a] {\n    return relu(x)\n}\n"
        "model net(x: [b], y: [w]) -> [b] {\n    s = f(0.5)\n"
        "    repeat.r 2 shared {\n        x = tanh(x + s)\n    }\n    return x + mean[w](y)\n}\n",
        {"x": (3,), "y": (4,)},
    ),
    # A state that a call had left a broadcast axis was lifted over it, and refused beside one that varied (50844).
    "broadcast axis of a first state": (
        "width t, w\ndepth d = 3\n"
        "block half(x: [w] = 0.5) -> [w] {\n    return x\n}\n"
        "block cell(h: [], g: [d], x: []) -> (h: [], g: [d]) {\n    return tanh(h + x), tanh(g + h)\n}\n"
        "model net(x: [t], y: [w]) -> (h: [t], g: [t, d]) {\n"
        "    h, g = scan[t] cell(h = 0, g = broadcast[d](half()), x = x)\n"
        "    return h + broadcast[t](mean[w](y)), g\n}\n",
        {"x": (4,), "y": (2,)},
    ),
    # ... and so was a state that meets an item with a broadcast axis; a number given to each step had no items to take.
    "number that is the item of each step": (
        "width t, w\ndepth d = 3\n"
        "block half(x: [w] = 0.5) -> [w] {\n    return x\n}\n"
        "block cell(h: [], g: [d], x: [], y: []) -> (h: [], g: [d]) {\n    return tanh(h + y), tanh(g + h + x)\n}\n"
        "model net(x: [t], y: [w]) -> (h: [t], g: [t, d]) {\n"
        "    h, g = scan[t] cell(h = 0, g = 0, x = x, y = broadcast[t](half()))\n"
        "    return h + broadcast[t](mean[w](y)), g\n}\n",
        {"x": (4,), "y": (2,)},
    ),
    "index left to its default": (
        "width q\ndepth kinds = 2, d = 3\n"
        "block f(kind: kinds[q] = 1) -> [q, d] {\n    return embed.E[kinds -> d](kind)\n}\n"
        "model net(x: [q, d], kind: kinds[q] = 0) -> [q, d] {\n    return x + f.a(kind) + f.b()\n}\n",
        {"x": (4, 3)},
    ),
    # A state had the axes that its cell is lifted over, though it does not hang on what has them.
    "state that does not hang on what is lifted": (
        "width t\ndepth d = 3, e = 2\n"
        "block cell(x: [], h: [e]) -> (h: [e], o: []) {\n    return tanh(h + 1), x * 2\n}\n"
        "model net(x: [t, d]) -> (h: [t, e], o: [t, d]) {\n"
        "    h, o = scan[t] cell(x, h = 0)\n    return h, o\n}\n",
        {"x": (4, 3)},
    ),
    # ... of which there may be none.
    "state beside an empty width that is lifted": (
        "width t, w\ndepth e = 2\n"
        "block cell(x: [], h: [e]) -> (h: [e], o: []) {\n    return tanh(h + 1), x * 2\n}\n"
        "model net(x: [t, w]) -> [t, e] {\n    h, _ = scan[t] cell(x, h = 0)\n    return h\n}\n",
        {"x": (3, 0)},
    ),
    # ... and so had what a repeat carries beside it.
    "carried value that does not hang on what is lifted": (
        "width t\ndepth d = 3\n"
        "block f(x: [], y: []) -> (x: [], y: []) {\n"
        "    repeat.r 2 {\n        y = tanh(y * x)\n        x = x + 1\n    }\n    return x, y\n}\n"
        "model net(x: [t], y: [t, d]) -> (x: [t], y: [t, d]) {\n    a, b = f(x, y)\n    return a, b\n}\n",
        {"x": (4,), "y": (4, 3)},
    ),
    # A repeat's result was taken to vary with all that the repeat is given: so it kept its size 1 (25353).
    "spread argument of a repeat beside a whole one": (
        "depth heads = 2, inner = 3, vocab = 2\n"
        "block f[a: depth, b: depth](x: [a], n: [b, a]) -> [a] {\n"
        "    repeat.r 2 {\n        x = tanh(x + 1)\n        m = linear.L[a -> a](n)\n    }\n    return x\n}\n"
        "model net(x: [], n: [heads, inner, vocab]) -> [inner, vocab] {\n"
        "    return f[inner, heads](broadcast[inner, vocab](x), n)\n}\n",
        {"x": (), "n": (2, 3, 2)},
    ),
    # Refused: the block speaks of `key`, whose size is made of `heads`; no value of it has `heads`.
    "lifted over an axis that a size is made of": (
        "width q\nwidth k like q\ndepth model = 6, heads = 2\ndepth key = model / heads\n"
        "block attend(Q: [q, key], K: [k, key]) -> [q, k] {\n"
        "    return softmax[k](dot[key](Q, K) / sqrt(|key|) where k <= q)\n}\n"
        "model net(x: [q, model]) -> [q, model] {\n"
        "    y = split[model -> heads, key](x)\n"
        "    return merge[heads, key -> model](dot[k](attend(y, y[q as k]), y[q as k]))\n}\n",
        {"x": (4, 6)},
    ),
    # Numbers that a repeat carries became arrays of float64 in NumPy, and so did what they met.
    "numbers that a repeat carries": (
        "depth d = 3\n"
        "block f(t: []) -> [] {\n    c = 0.5\n"
        "    repeat.r 2 {\n        c = tanh(t) + c\n        t = t + tanh(c)\n    }\n    return max(sin(t), c)\n}\n"
        "model net(x: [d]) -> [d] {\n    return x - f(0.5)\n}\n",
        {"x": (3,)},
    ),
    # Names that generated code, or Python, has for itself.
    "names of the generated code": (
        "width last\ndepth dtype = 2, device = 3\n"
        "model net(self: [last, dtype], cls: [last, dtype], np: [last, device], cache: [last, dtype])"
        " -> [last, dtype] {\n"
        "    return self + cls * sin(dtype / 3) + sum[device](np) + cache\n}\n",
        {"self": (4, 2), "cls": (4, 2), "np": (4, 3), "cache": (4, 2)},
    ),
    # A repeat that rebinds nothing: PyTorch wrote ` = layer(x)`.
    "repeat whose results nobody has": (
        "width q\ndepth d = 2\n"
        "model net(x: [q, d]) -> [q, d] {\n"
        "    repeat.layer 2 {\n        _ = linear.L[d -> d](x)\n        y = tanh(x)\n    }\n"
        "    return x\n}\n",
        {"x": (3, 2)},
    ),
    # Two classes of a block, unlike by their mask, share the class of its passes; only one of them lifts.
    "passes that lift in one call alone": (
        "width q\ndepth d = 2\n"
        "block pressed[n: width](x: [n], m: bool[n]) -> [n] {\n"
        "    repeat.layer 2 {\n        x = tanh(x)\n    }\n    return select(m, x, 0)\n}\n"
        "model net(x: [q], y: [q, d]) -> [q, d] {\n"
        "    return pressed.A[q](x, true) + pressed.B[q](y, q % 2 == 0)\n}\n",
        {"x": (3,), "y": (3, 2)},
    ),
    # A copy that a block declares of a width that none of its arguments has: its size was asked for by that name.
    "copy of a width in a block without it": (
        "width q\ndepth d = 2, e = 3\n"
        "block sums[n: width](x: [n, d]) -> [n] {\n"
        "    s = sum[d](tanh(x))\n"
        "    repeat.r 2 shared {\n        s = tanh(s + mean[d](linear.z[d -> d](x)))\n    }\n    return s\n}\n"
        "block inner(x: [e], y: [d]) -> [e] {\n"
        "    width o like q\n    width long = q + q\n"
        "    v = sums.A[o, d = e](broadcast[o](x))\n"
        "    w = sums.B[long](broadcast[long](y + v[o = 0]) + long)\n"
        "    return x + broadcast[e](mean[long](w))\n}\n"
        "model net(x: [q, e], y: [d]) -> [q, e] {\n"
        "    return x + broadcast[q](inner(mean[q](x), y))\n}\n",
        {"x": (3, 3), "y": (2,)},
    ),
    # A class was made as its base with a size that it computed only afterwards.
    "model called with a size that another follows": (
        "width q\ndepth heads = 2, part = 3, inner = 2\ndepth both = part + inner\n"
        "model one(x: [q, heads]) -> [q, both] {\n    return linear.L[heads -> both](x)\n}\n"
        "model net(x: [q, inner]) -> [q] {\n"
        "    y = logsumexp[both](sin(both))\n"
        "    z = one[inner = both](linear.C[inner -> heads](x))\n"
        "    return y * x[inner = 0]\n}\n",
        {"x": (3, 2)},
    ),
    # Names: of the class of results and of classes that the file carries along; axes that jaxtyping takes otherwise.
    "names of results, helpers and axes": (
        "width _4 = 4\nwidth _\ndepth _x = 3, e = 2\n"
        "block grouped_linear(x: [_x, e]) -> [_x, e] {\n    return linear.L[e: _x -> _x](x)\n}\n"
        "block net_output(x: [_x, e]) -> [_x, e] {\n    return x * 2\n}\n"
        "model net(x: [_x, e], y: [_4, _]) -> (a: [_x, e], b: [_4, _]) {\n"
        "    NetOutput = grouped_linear(x)\n    GroupedLinear = net_output(NetOutput)\n"
        "    return NetOutput + GroupedLinear, y + broadcast[_4](mean[_4](y))\n}\n",
        {"x": (3, 2), "y": (4, 3)},
    ),
    # What a pass made of weights alone had no batch: the result neither.
    "pass that makes a value of weights": (
        "width q\ndepth d = 2\n"
        "model net(x: [q], y: [q]) -> (a: [q], b: [q]) {\n"
        "    param P: [d] ~ normal(0.3)\n"
        "    repeat.r 2 {\n        y = tanh(x + y)\n        x = broadcast[q](mean[d](P))\n    }\n"
        "    return x, y\n}\n",
        {"x": (3,), "y": (3,)},
    ),
    # PyTorch transposed a vector: the weights have the axis that is summed over in name only.
    "product with weights spread over its axis": (
        "width q\ndepth d = 2\n"
        "model net(z: [q, d], s: [q]) -> [d] {\n"
        "    param P: [d] ~ normal(0.3)\n"
        "    return dot[q](softmax[q](s), broadcast[q](tanh(P))) + mean[q](z)\n}\n",
        {"z": (3, 2), "s": (3,)},
    ),
    # Calls of one set of weights were refused (E0414), or checked and not emitted: what a call lifts over, or is given
    # as a table or as a known truth, made two bodies of one.
    "a share given a table, and data": (
        "width q\ndepth d = 3\nblock f(x: [q, d], scale: [q]) -> [q, d] {\n"
        "    return linear.a[d -> d](x) * broadcast[d](scale)\n}\n"
        "model net(x: [q, d], y: [q]) -> [q, d] {\n    share g = f\n    return g(g(x, cos(q / 3)), y)\n}\n",
        {"x": (4, 3), "y": (4,)},
    ),
    "a share whose index is lifted over": (
        "width q\ndepth d = 3, e = 2\nblock f(x: [d], by: [q]) -> [q] {\n"
        "    at = index[d](int(floor(abs(by))) % |d|)\n    return linear.a[d -> d](x)[d = at]\n}\n"
        "model net(x: [d], y: [q], z: [q, e]) -> [q, e] {\n    share g = f\n"
        "    return g(x, z) + broadcast[e](g(x, y))\n}\n",
        {"x": (3,), "y": (4,), "z": (4, 2)},
    ),
    "a share with a mask that is known, and one that is not": (
        "width q\nwidth k like q\ndepth d = 3\nblock f(x: [q, d], m: bool[q, k]) -> [q, d] {\n"
        "    y = linear.v[d -> d](x)\n"
        "    return dot[k](softmax[k](dot[d](x, y[q as k]) where m), y[q as k])\n}\n"
        "model net(x: [q, d]) -> [q, d] {\n    share g = f\n    x = g(x, k <= q or true)\n    return g(x, k <= q)\n}\n",
        {"x": (4, 3)},
    ),
    "a share of which one call has a block more, that learns nothing": (
        "depth d = 3\nblock twice(x: [d]) -> [d] {\n    return 2 * x\n}\nblock f[n: const](x: [d]) -> [d] {\n"
        "    x = linear.L[d -> d](x)\n    if n == 1 {\n        x = twice.a(x)\n    }\n    return x\n}\n"
        "model net(x: [d]) -> [d] {\n    share s = f\n    return s[n = 1](x) + s[n = 2](x)\n}\n",
        {"x": (3,)},
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
    expected = judge.arrays(model.torch(seed=0, dtype=torch.float64).eval()(**tensors))
    for got, want in zip(judge.arrays(model.numpy(seed=0, dtype=np.float64)(**values)), expected, strict=True):
        assert got.shape == want.shape
        assert got.shape[: len(batch)] == batch
        np.testing.assert_allclose(got, want, rtol=1e-10, atol=1e-12)
    single = {name: value.to(torch.float32) for name, value in tensors.items()}
    assert all(found.dtype == np.float32 for found in judge.arrays(model.torch(seed=0)(**single)))
    halves = {name: value.astype(np.float32) for name, value in values.items()}
    assert all(found.dtype == np.float32 for found in judge.arrays(model.numpy(seed=0)(**halves)))


def test_an_input_behind_one_with_a_default_is_missed() -> None:
    text, _ = CASES["input behind one with a default"]
    model = attnc.loads(text).model("net")
    x = np.zeros(3)
    with pytest.raises(TypeError, match="`z` is missing"):
        model.numpy(dtype=np.float64)(x)
    with pytest.raises(TypeError, match="`z` is missing"):
        model.torch(dtype=torch.float64)(torch.as_tensor(x))
    np.testing.assert_allclose(model.numpy(dtype=np.float64)(x=x, z=x + 1), 0.5)


def test_values_that_are_spread_in_one_call_alone_keep_their_axis_in_another() -> None:
    """Both backends took the first item of V along v, as if it were the same along it in every call (seed 31156)."""
    text, shapes = CASES["attention of queries that are spread once"]
    draw = np.random.default_rng(0)
    x, y, z = (draw.normal(size=shape) for shape in shapes.values())

    def attend(queries: Any, values: Any) -> Any:
        scores = np.repeat(queries[:, None], 3, 1) @ y.T / np.sqrt(3)
        weights = np.exp(scores)
        return weights / weights.sum(1, keepdims=True) @ values

    a = attend(x, np.repeat(z[:, None], 2, 1))
    b = attend(np.full(4, x.mean()), np.full((5, 2), z.mean()))
    wanted = a + attend(a.mean(1), np.repeat((a + b).mean(0)[None], 5, 0))
    model = attnc.loads(text).model("net")
    np.testing.assert_allclose(model.numpy(dtype=np.float64)(x, y, z), wanted, rtol=1e-10)


def test_the_first_value_of_a_state_may_have_a_broadcast_axis() -> None:
    """By hand: it lifts nothing (seed 50844)."""
    text, _ = CASES["number that is the item of each step"]
    x, y = np.array([0.3, -0.2]), np.array([1.0, 3.0])
    h, g = 0.0, np.zeros(3)
    found = attnc.loads(text).model("net").numpy(dtype=np.float64)(x, y)
    for at, item in enumerate(x):
        h, g = np.tanh(h + 0.5), np.tanh(g + h + item)
        np.testing.assert_allclose(found[0][at], h + 2)
        np.testing.assert_allclose(found[1][at], g)


def test_a_call_passes_on_that_a_size_is_as_written() -> None:
    """`topk[g -> joined]` in a block that another calls: the generator bound `g` to a smaller axis (seed 50750)."""
    from random import Random

    from .blocks import bind_axes
    from .program import Axis, Generic, Unit
    from .scope import Draft, Gen, Scope

    mine, theirs = (Axis(name, False, 4, name, True) for name in ("mine", "theirs"))
    unit = Unit("block", "callee", (), (), (), (Generic(theirs),), pinned=frozenset({"theirs"}))
    caller = Scope(Gen(Random(0)), [mine], Draft())
    assert bind_axes(caller, unit) is not None
    assert caller.draft.pinned == {"mine"}


def test_an_index_in_the_padding_of_a_derived_width_is_not_checked() -> None:
    """Only along declared ragged widths it was not (seeds 61167, 61342)."""
    model = attnc.loads(
        "depth size = 2, d = 3\nwidth s ragged\nwidth chunk = s / size\n"
        "model net(x: [d], y: [s], ids: d[chunk]) -> [] {\n    return sum[chunk](x[d = ids]) + mean[s](y)\n}\n"
    ).model("net")
    x, y = np.array([[1.0, 2.0, 4.0]] * 2), np.zeros((2, 4))
    ids, lengths = np.array([[2, 1], [2, -100]]), np.array([4, 2])
    np.testing.assert_allclose(model.numpy(dtype=np.float64)(x, y, ids, lengths), [6, 4])
    found = model.torch(dtype=torch.float64)(*map(torch.as_tensor, (x, y, ids, lengths)))
    np.testing.assert_allclose(found.numpy(), [6, 4])
    with pytest.raises(IndexError, match="-100"):
        model.numpy(dtype=np.float64)(x, y, ids, np.array([4, 4]))


def test_a_call_may_lift_over_an_axis_that_only_a_size_hangs_on() -> None:
    """`both` is `model` and one more, so `spread` has `model` among its own axes: the first item was taken."""
    text = (
        "width n\ndepth model = 3\ndepth both = {}\nconst reps = 2\n"
        "block stream(x: [n, model]) -> [n, model] {{\n"
        "    repeat reps {{\n        x = x + tanh(linear.q[model -> model](x))\n    }}\n    return x\n}}\n"
        "block spread(x: [n]) -> [n, both] {{\n    return broadcast[both](tanh(x))\n}}\n"
        "model net(y: [n]) -> [model, n, both] {{\n    return spread(stream(broadcast[model](y)))\n}}\n"
    )
    y = np.array([0.5, -1.0])
    plain, hanging = (attnc.loads(text.format(size)).model("net") for size in ("4", "model + 1"))
    wanted = plain.numpy(seed=0, dtype=np.float64)(y)
    assert not np.allclose(wanted[0], wanted[1])
    np.testing.assert_allclose(hanging.numpy(seed=0, dtype=np.float64)(y), wanted, rtol=1e-12)
    found = hanging.torch(seed=0, dtype=torch.float64)(torch.as_tensor(y))
    np.testing.assert_allclose(found.detach().numpy(), wanted, rtol=1e-12)


@pytest.mark.parametrize("ragged", ["", " ragged"])
def test_a_repeat_of_nothing(ragged: str) -> None:
    """Values that a block has none of had no largest number, and a repeat that reads nothing no step."""
    text = (
        f"width seq{ragged}\ndepth d = 2\nconst n = 3\n"
        "block keep[w: width](x: [w, d]) -> [w, d] {\n    repeat n {\n    }\n    return x\n}\n"
        "model net(x: [seq, d]) -> [seq, d] causal seq {\n"
        "    repeat n {\n        x = keep[seq](x)\n        wide = |d|\n    }\n"
        "    repeat.idle i in n {\n        repeat.inner i {\n            const k = i + 1\n        }\n    }\n"
        "    return x\n}\n"
    )
    model, x = attnc.loads(text).model("net"), np.arange(6.0).reshape(1, 3, 2)
    lengths = [np.array([3])] if ragged else []
    np.testing.assert_array_equal(model.numpy()(x, *lengths), x)
    np.testing.assert_array_equal(model.torch()(*map(torch.as_tensor, (x, *lengths))), x)
    assert model.decoding.step is not None


def test_what_a_branch_binds_is_known_where_the_const_is() -> None:
    """With the const of a call, or the number of a pass, it is one branch; without, the block was held to be wrong."""
    text = (
        "depth a = 2\n"
        "block f[n: const](x: [a]) -> [a] {\n"
        "    if n > 1 {\n        y = -x\n    } else {\n        z = tanh(x)\n    }\n    return z\n}\n"
        "block g[n: const](x: [a]) -> [a] {\n"
        "    repeat i in n {\n"
        "        if i > 0 {\n            y = x * 2\n        } else {\n            z = f[n = n](x)\n        }\n"
        "        if i > 0 {\n            x = y\n        } else {\n            x = z + 1\n        }\n"
        "    }\n    return x\n}\n"
        "model net(x: [a]) -> [a] {\n    return f[n = 0](x) + g[n = 1](x)\n}\n"
    )
    found = [one.message for one in attnc.check(text) if one.severity is attnc.Severity.ERROR]
    assert found == ["`y` is bound only in a branch that is not taken"]
    text = text.replace("            x = y\n", "            x = x * 2\n").replace("x = z + 1", "x = f[n = n](x) + 1")
    spec, x = attnc.loads(text), np.array([0.5, -1.0])
    np.testing.assert_allclose(spec.model("net").numpy()(x), np.tanh(x) * 2 + 1)
    np.testing.assert_allclose(spec.model("net").torch()(torch.as_tensor(x).float()), np.tanh(x) * 2 + 1, rtol=1e-6)
    with pytest.raises(attnc.AttnError, match="which branch `f` takes depends on const `n`, which has no value"):
        spec.block("f")
    np.testing.assert_allclose(attnc.loads(text, sizes={"n": 1}).block("f").numpy()(x), np.tanh(x))


def test_calls_of_one_set_of_weights_may_lift_an_op_of_the_users_own_unlike() -> None:
    spec = attnc.loads(
        'width q, k\ndepth d = 2\nop twice(x: [d]) -> [d] = "nowhere:twice"\n'
        "block f(x: [d]) -> [d] {\n    return linear.a[d -> d](twice(x))\n}\n"
        "model net(x: [q, d], y: [q, k, d]) -> (a: [q, d], b: [q, k, d]) {\n"
        "    share g = f\n    return g(x), g(y)\n}\n"
    )
    assert not spec.warnings and list(spec.model("net").weights) == ["g.a.weight", "g.a.bias"]


def test_a_chain_of_sizes_that_are_used_twice() -> None:
    """Each was looked into twice, and so what it hangs on: 2 ^ 60 times in all."""
    lines = ["depth a0 = 3", *(f"depth a{i + 1} = a{i} * a{i}" for i in range(60))]
    found = attnc.check("\n".join([*lines, "block f(x: [a0]) -> [a0] {\n    return x\n}\n"]))
    assert [one.message for one in found if one.severity is attnc.Severity.ERROR] == ["this number is too large"]


def test_logits_that_are_the_same_for_all_classes_are_not_spent() -> None:
    model = attnc.loads(
        "width t\ndepth key = 3, d = 4\n"
        "block f(x: [d], y: [d, key]) -> [key] {\n    return dot[d](x, y)\n}\n"
        "model net(x: [t, d], ids: key[t]) -> [t] {\n"
        "    return cross_entropy[key](f(x, broadcast[key](x)), ids)\n}\n"
    ).model("net")
    x, ids = np.arange(8.0).reshape(2, 4), np.array([0, 2])
    np.testing.assert_allclose(model.numpy()(x, ids), np.log(3) * np.ones(2))
    np.testing.assert_allclose(model.torch(dtype="float64")(torch.tensor(x), torch.tensor(ids)), np.log(3) * np.ones(2))


UNREAD = {
    # A repeat whose result nobody reads went with a table that was taken out of its block, and its weights with it.
    "in a block with a table": """
block f(x: [seq, model]) -> [seq, model] {
    repeat.r 2 {
        y = linear[model -> model](x)
    }
    return x[seq = max(seq - 1, 0)]
}
model net(x: [seq, model]) -> [seq, model] {
    return f.b(f.a(x))
}
""",
    # Its body was written last, and a method that it calls before the class of this.
    "with calls of a share that differ": """
const two = 2
block f[c: const](x: [seq, model]) -> [seq, model] {
    param g: [model]
    repeat c {
        x = tanh(x)
    }
    return x * g
}
model net(x: [seq, model]) -> [seq, model] {
    repeat.r i in 2 {
        share s = f
        y = s[c = i](x)
        z = s[c = two](y)
    }
    return x
}
""",
}


@pytest.mark.parametrize("text", UNREAD.values(), ids=UNREAD)
def test_a_repeat_whose_result_nobody_reads_keeps_its_weights(text: str) -> None:
    model = attnc.loads(f"width seq\ndepth model = 3\n{text}").model("net")
    module = model.torch(seed=0)
    assert model.weights and set(module.state_dict()) == set(model.weights)
    x = np.random.default_rng(0).normal(size=(4, 3)).astype(np.float32)
    np.testing.assert_allclose(module(torch.as_tensor(x)).detach(), model.numpy(seed=0)(x), rtol=1e-5)
