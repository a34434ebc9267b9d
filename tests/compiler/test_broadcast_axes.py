"""Arguments that lack axes of what the block asks for: which axes a value then has in name only (is the same along)."""

from __future__ import annotations

import pytest

import attnc
from attnc.compiler.graph.nodes import Call, makes

TEXT = """\
width q, k, u
width p like q
width ring = 4
width ring2 like ring
depth d = 4, e = 5, g = 2, hh = 2, c = 8, tap = 3, r = 2
depth d2 like d, s like d
block cell(a: [d], h: [d]) -> (h: [d]) {
    return a + h
}
block id(a: []) -> [] {
    return a + 1
}
block inner(
    x: [q, d], b: [q, d], bb: [q, d], z: [q, k, d], o: [q, ring, d], v: [q, ring, d], i: d[q], m: bool[q],
    mk: bool[q, k], n: int[q], full: bool[q], y: [d]
) -> int[] {
    made = EXPRESSION
    return 0
}
model net(x: [q, d], y: [k, d], o: [ring, d], i: d[], m: bool[], mk: bool[k], full: bool[q]) -> int[] {
    param w: [d]
    param wo: [ring, d]
    return inner(x, w, w * 2, broadcast[k](w), wo, w, i, m, mk, |k|, full, w)
}
"""

# `b`, `i`, `m`, `n` and the like lack `q`; `v` lacks `ring` too. Behind `/`: what the result has in name only.
TYPES = {
    "b * 2": "q, d / q",
    "x + b": "q, d",
    "b + x": "q, d",
    "b + bb": "q, d / q",
    "-b": "q, d / q",
    "broadcast[ring2](b)": "ring2, q, d / q",
    "exp(b)": "q, d / q",
    "floor(b)": "q, d / q",
    "abs(n)": "q / q",
    "n + 1": "q / q",
    "n * n": "q / q",
    "n + b": "q, d / q",
    "i + 1": "q / q",
    "i - i": "q / q",
    "int(i)": "q / q",
    "max(b, bb)": "q, d / q",
    "max(b, x)": "q, d",
    "clamp(b, 0, 1)": "q, d / q",
    "clamp(x, b, 1)": "q, d",
    "b < bb": "q, d / q",
    "b < x": "q, d",
    "m and m": "q / q",
    "m and full": "q",
    "not m": "q / q",
    "select(m, b, bb)": "q, d / q",
    "select(m, x, b)": "q, d",
    "select(full, b, bb)": "q, d",
    "select(m, y, b)": "q, d / q",
    "softmax[d](b)": "q, d / q",
    "softmax[d](b where b > x)": "q, d",
    "log_softmax[d](b)": "q, d / q",
    "l2norm[d](b)": "q, d / q",
    "sum[d](b)": "q / q",
    "sum[d](b where b > 0)": "q / q",
    "mean[d](b where b < x)": "q",
    "max[d](b)": "q / q",
    "argmax[d](b)": "q / q",
    "any[d](b > 0)": "q / q",
    "all[d](x > b)": "q",
    "cumsum[d](b)": "q, d / q",
    "dot[d](b, bb)": "q / q",
    "dot[d](b, x)": "q",
    "dot[d](b, y)": "q / q",
    "dot[d](b)": "q / q",
    "sum[k](z)": "q, d / q",
    "sum[k](z where mk)": "q, d / q",
    "sum[k](1 where mk)": "q / q",
    "b[d as d2]": "q, d2 / q",
    "b[q as p]": "p, d / p",
    "x[q as p] + b": "p, d, q / q",
    "b[d = 0]": "q / q",
    "b[d = i]": "q / q",
    "y[d = i]": "q / q",
    "x[d = i]": "q",
    "x[d = d2]": "q, d2",
    "b[d = d2]": "q, d2 / q",
    "z[k = 0]": "q, d / q",
    "z[k = k]": "q, k, d / q",
    "b[d = index[d](n)]": "q / q",
    "split[d -> g, hh](b)": "q, g, hh / q",
    "merge[d, g -> c](broadcast[g](b))": "q, c / q",
    "merge[d, g -> c](broadcast[g](x))": "q, c",
    "broadcast[k](b)": "k, q, d / q",
    "concat[d, d -> c](b, bb)": "q, c / q",
    "concat[d, d -> c](b, x)": "q, c",
    "concat[d, d -> c](b, y)": "q, c / q",
    "window[d -> d, tap](b, pad = 1)": "q, d, tap / q",
    "pad[d -> c](b, left = 1)": "q, c / q",
    "topk[d -> r](b)": "q, r / q",
    "argsort[d -> s](b)": "q, s / q",
    "index[d](n)": "q / q",
    "index[q](n)": "q / q",
    "dropout(b, 0.1)": "q, d / q",
    "linear.w[d -> e](b)": "q, e / q",
    "linear.w[ring: d -> e](o)": "q, ring, e / q",
    "linear.w[ring, d -> e](o)": "q, e / q",
    "embed.w[d -> e](i)": "q, e / q",
    "layernorm.w[d](b)": "q, d / q",
    "rmsnorm.w[d](b)": "q, d / q",
    "cross_entropy[d](b, i)": "q / q",
    "cross_entropy[d](y, i)": "q / q",
    "scan[ring] cell(o, h = 0)": "ring, d",
    "scan[ring] cell(o, h = b)": "ring, d",
    "scan[k] cell(z, h = b)": "k, d",
    "id(b)": "d",
    "id(id(z))": "k, d",
    "id(x * b)": "q, d",
    "raw(softmax[d](b)) * 1": "q, d / q",
    "v * 2": "q, ring, d / q, ring",
    "v + o": "q, ring, d / q",
    "o + v": "q, ring, d / q",
    "sum[d](v)": "q, ring / q, ring",
    "linear.w[ring: d -> e](v)": "q, ring, e / q",
    "linear.w[d -> e](v)": "q, ring, e / q, ring",
    "id(v)": "d",
    "v + x": "q, ring, d / ring",
    "select(m, v, o)": "q, ring, d / q",
    "concat[d, d -> c](v, o)": "q, ring, c / q",
    "v[ring as ring2]": "q, ring2, d / q, ring2",
    "split[d -> g, hh](v)": "q, ring, g, hh / q, ring",
    "merge[g, hh -> d](split[d -> g, hh](v))": "q, ring, d / q, ring",
    "broadcast[k](v)": "k, q, ring, d / q, ring",
    # statements before
    "got * 1; got = b; repeat.r 2 {; got = got + bb; }": "q, d / q",
    "got * 1; got = b; repeat.r 2 {; got = got + x; }": "q, d",
    "got * 1; got = b; repeat.r 2 {; got = x; }": "q, d",
    "got * 1; got = x; repeat.r 2 {; got = b; }": "q, d / q",
    "got * 1; got = v; repeat.r 2 {; got = got + o; }": "q, ring, d / q",
    "got * 1; got = o; repeat.r 2 {; got = v; }": "q, ring, d / q, ring",
    "got * 1; got = v; repeat.r 2 {; got = id(got); }": "d, q, ring / q, ring",
    "got * 1; got = b; repeat.r j in 3 {; if j == 0 {; got = bb; } else {; got = x; }; }": "q, d",
    "got * 1; got = b; repeat.r j in 3 {; if j == 0 {; got = x; } else {; got = bb; }; }": "q, d",
    "got * 1; got = b; repeat.r j in 3 {; if j == 0 {; got = bb; } else {; got = got + bb; }; }": "q, d / q",
}


@pytest.mark.parametrize(("expression", "axes"), TYPES.items(), ids=TYPES)
def test_what_is_there_in_name_only(expression: str, axes: str) -> None:
    made, *before = expression.split("; ")
    body = "\n    ".join([*before, f"made = {made}"])
    graph = attnc.loads(TEXT.replace("made = EXPRESSION", body)).model("net").graph
    (call,) = [node for node in graph.nodes if isinstance(node, Call)]
    (type,) = [out.type for node in call.graph.nodes for out in makes(node) if out.name == "made"]
    broadcast_axes = ", ".join(sorted(axis.name for axis in type.broadcast_axes))
    assert ", ".join(axis.name for axis in type.axes) + (f" / {broadcast_axes}" if broadcast_axes else "") == axes
