"""What each op makes of its operands: kind of element, axes in their order, the mark of weights; and its options."""

from __future__ import annotations

import pytest

import attnc
from attnc.compiler.graph.nodes import Apply
from attnc.compiler.graph.typed_value import show_type
from attnc.compiler.graph.values import Role

HEAD = (
    "width q, k, seq\nwidth past like seq\nwidth ring = 4\n"
    "depth a = 2, b = 3, c = 6, d = 4, e = 5, v = 9, w = 9\ndepth v2 like v\n"
)
GIVEN = (
    "x: [q, d], y: [k, d], z: [d], one: [], n: int[q], j: int[], m: bool[q], p: bool[q], "
    "i: v[q], i2: v[q], u: v[], s: [q, k], mk: bool[k], mqk: bool[q, k], xc: [q, c, k], xab: [a, q, b, k], l: [q, v], "
    "nd: int[q, d]"
)


def made_of(expression: str) -> str:
    text = f"{HEAD}block f({GIVEN}) -> int[] {{\n    made = {expression}\n    return 0\n}}\n"
    graph = attnc.loads(text).block("f").graph
    (node,) = [node for node in graph.nodes if isinstance(node, Apply) and node.out.name == "made"]
    return show_type(node.out.type)


TYPES = {
    # arithmetic: an index and an int give an index, two indices an int, anything with a real a real
    "i + 1": "v[q]",
    "1 + i": "v[q]",
    "i - 1": "v[q]",
    "1 - i": "int[q]",
    "i - i2": "int[q]",
    "i + i2": "int[q]",
    "i * 2": "int[q]",
    "i % 2": "int[q]",
    "i / 2": "[q]",
    "n / 2": "[q]",
    "n ^ 2": "int[q]",
    "n ^ broadcast[q](j)": "[q]",
    "i ^ 2": "[q]",
    "2 ^ n": "[q]",
    "n * broadcast[q](j)": "int[q]",
    "n + 0.5": "[q]",
    "n - broadcast[q](one)": "[q]",
    "i + 0.5": "[q]",
    "seq + past": "int[seq, past]",
    "seq + 1": "seq[seq]",
    "-n": "int[q]",
    "-i": "int[q]",
    "-x": "[q, d]",
    "abs(i)": "int[q]",
    "abs(x)": "[q, d]",
    "floor(x)": "int[q, d]",
    "ceil(one)": "int[]",
    "exp(n)": "[q]",
    "sqrt(seq + 1)": "[seq]",
    "int(i)": "int[q]",
    "max(n, 1)": "int[q]",
    "max(i, i2)": "v[q]",
    "max(i, 1)": "v[q]",
    "min(1, i)": "v[q]",
    "max(n, 1, 0.5)": "[q]",
    "min(i, one)": "[q]",
    "clamp(n, 0, 1)": "int[q]",
    "clamp(n, 0, 0.5)": "[q]",
    "clamp(n, 0.5, 1)": "[q]",
    "clamp(i, 0, 3)": "v[q]",
    "clamp(x, 0, 1)": "[q, d]",
    "x < one": "bool[q, d]",
    "m == p": "bool[q]",
    "i == i2": "bool[q]",
    "i < n": "bool[q]",
    "seq >= past": "bool[seq, past]",
    "m and mk": "bool[q, k]",
    "not m": "bool[q]",
    "select(m, i, i2)": "v[q]",
    "select(m, i, 1)": "v[q]",
    "select(m, 1, i)": "v[q]",
    "select(m, n, 1)": "int[q]",
    "select(m, n, 0.5)": "[q]",
    "select(m, p, m)": "bool[q]",
    "select(mqk, broadcast[k](n), 0)": "int[q, k]",
    # axes: those of the operand that has the most first
    "broadcast[q](one) * x": "[q, d]",
    "x * broadcast[q](one)": "[q, d]",
    "s * broadcast[k](n)": "[q, k]",
    "broadcast[k](n) * s": "[k, q]",
    "broadcast[k](x)": "[k, q, d]",
    "broadcast[k, b](z)": "[k, b, d]",
    "broadcast[k](m)": "bool[k, q]",
    # what is summed over goes; a mask's axes stay
    "dot[d](x, y)": "[q, k]",
    "dot[d](y, x)": "[k, q]",
    "dot[d](x, z)": "[q]",
    "dot[k](s, y)": "[q, d]",
    "dot[d](nd, z)": "[q]",
    "sum[d](nd)": "int[q]",
    "sum[q, d](nd)": "int[]",
    "mean[d](nd)": "[q]",
    "max[d](nd)": "int[q]",
    "min[d](x)": "[q]",
    "logsumexp[d](nd)": "[q]",
    "cumsum[q](nd)": "int[q, d]",
    "cumsum[d](x)": "[q, d]",
    "any[q](m)": "bool[]",
    "all[k](mqk)": "bool[q]",
    "argmax[v](l)": "v[q]",
    "argmax[q](l where m)": "q[v]",
    "sum[k](s where mk)": "[q]",
    "sum[k](1 where mqk)": "int[q]",
    "sum[k](y where mqk)": "[d, q]",
    "mean[k](y where mk)": "[d]",
    "max[k](y where mqk)": "[d, q]",
    "any[k](mk where mqk)": "bool[q]",
    "softmax[k](s)": "[q, k]",
    "softmax[k](s where mk)": "[q, k]",
    "softmax[k](y where mqk)": "[k, d, q]",
    "log_softmax[d](nd)": "[q, d]",
    "l2norm[d](x)": "[q, d]",
    # arranged: what is made stands where it came from
    "split[c -> a, b](xc)": "[q, a, b, k]",
    "split[c -> b, a](xc)": "[q, b, a, k]",
    "merge[a, b -> c](xab)": "[c, q, k]",
    "merge[b, a -> c](xab)": "[q, c, k]",
    "concat[a, d -> c](xab, broadcast[q, k, b](z))": "[c, q, b, k]",
    "concat[q, q -> k](n, n)": "int[k]",
    "concat[d, a -> c](nd, broadcast[a](n))": "int[q, c]",
    "concat[d, a -> c](nd, broadcast[q, a](one))": "[q, c]",
    "concat[d, a -> c](broadcast[d](m), broadcast[a](p))": "bool[c, q]",
    "concat[d, a -> c](broadcast[d](i), broadcast[a](i2))": "v[c, q]",
    "window[q -> seq, b](xc)": "[seq, b, c, k]",
    "window[c -> c, b](xc)": "[q, c, b, k]",
    "window[q -> q, b](n)": "int[q, b]",
    "pad[d -> c](x)": "[q, c]",
    "pad[d -> c](nd)": "int[q, c]",
    "pad[d -> c](nd, value = -1)": "int[q, c]",
    "pad[d -> c](nd, value = 0.5)": "[q, c]",
    "topk[v -> a](l)": "v[q, a]",
    "topk[q -> a](l)": "q[a, v]",
    "argsort[v -> v2](l)": "v[q, v2]",
    "argsort[v -> w](l)": "v[q, w]",
    "index[v](n)": "v[q]",
    "dropout(nd, 0.1)": "[q, d]",
    "l[v = i]": "[q]",
    "l[v = u]": "[q]",
    "l[q = 0]": "[v]",
    "x[q = 0]": "[d]",
    "embed.w[v -> d](i)": "[q, d]",
    "embed.w[v -> a, b](u)": "[a, b]",
    "linear.w[d -> a, b](nd)": "[q, a, b]",
    "linear.w[a, b -> d](xab)": "[q, k, d]",
    "linear.w[a: b -> d](xab)": "[a, q, k, d]",
    "linear.w[e: d -> a](x)": "[q, e, a]",
    "layernorm.w[d](nd)": "[q, d]",
    "rmsnorm.w[q](x, scale = false)": "[q, d]",
    "cross_entropy[v](l, i)": "[q]",
    "cross_entropy[v](broadcast[k](l), broadcast[k](i))": "[k, q]",
}


@pytest.mark.parametrize(("expression", "type"), TYPES.items(), ids=TYPES)
def test_types(expression: str, type: str) -> None:
    assert made_of(expression) == type


# What of a made value tells that it was no slip: weights are averaged over what they sum to one over (D6), scores are
# scaled by the root of what they are summed over, ids of tokens are no amounts.
JUDGED = {
    "dot[k](softmax[k](s), y)": "",
    "dot[q](softmax[k](s), x)": "E0307",
    "dot[k](softmax[k, q](s), y)": "E0307",
    "dot[q, k](softmax[k, q](s), s)": "",
    "dot[q, k](softmax[k](s), s)": "W0508",
    "dot[a, k](softmax[k](xab), xab)": "",
    "dot[q](log_softmax[k](s), x)": "",
    "dot[q](l2norm[k](s), x)": "",
    "dot[q](raw(softmax[k](s)), x)": "",
    "dot[a](split[c -> a, b](softmax[c](xc)), xab)": "E0307",
    "dot[a, b](split[c -> a, b](softmax[c](xc)), xab)": "",
    "dot[a](split[c -> a, b](softmax[q](xc)), xab)": "E0307",
    "dot[q](split[c -> a, b](softmax[q](xc)), x)": "",
    "dot[c](merge[a, b -> c](softmax[a, b](xab)), xc)": "",
    "dot[k](merge[a, b -> c](softmax[a, b](xab)), y)": "E0307",
    "dot[k](merge[a, b -> c](softmax[a](xab)), y)": "",  # sums to one over a part of `c`: no weights any more
    "dot[k](merge[a, b -> c](softmax[q](xab)), y)": "E0307",
    "dot[q](merge[a, b -> c](softmax[q](xab)), x)": "",
    "dot[a](broadcast[a](softmax[k](s)), xab)": "E0307",
    "dot[k](broadcast[a](softmax[k](s)), y)": "",
    "dot[q](dropout(softmax[k](s), 0.1), x)": "E0307",
    "dot[k](dropout(softmax[k](s), 0.1), y)": "",
    "dot[k](softmax[k](s) * 2, y)": "",
    "dot[q](softmax[k](s) * 2, x)": "W0508",
    "dot[q](2 * softmax[k](s), x)": "W0508",
    "dot[q](softmax[k](s) * 2 * 3, x)": "W0508",
    "dot[q](2 * (3 * softmax[k](s)), x)": "W0508",
    "dot[q](softmax[k](s) / 2, x)": "W0508",
    "dot[q](softmax[k](s) + 1, x)": "W0508",
    "dot[q](1 + softmax[k](s), x)": "W0508",
    "dot[q](softmax[k](s) - 1, x)": "W0508",
    "dot[q](2 / softmax[k](s), x)": "",
    "dot[q](1 - softmax[k](s), x)": "",
    "dot[q](softmax[k](s) ^ 2, x)": "",
    "dot[q](softmax[k](s) * broadcast[k](x[d = 0]), x)": "",
    "dot[q](softmax[k](int(q) * int(k)), x)": "E0307",
    "dot[q](x, softmax[k](int(q) * int(k)))": "E0307",
    "dot[q](softmax[k](s), softmax[k](int(q) * int(k)))": "E0307",
    "dot[q](softmax[k](int(q) * int(k)), sin(q * d))": "",  # a table of tables
    "dot[q](softmax[k](s), softmax[q](s))": "",  # the second averages the first
    "dot[q](softmax[q](s), softmax[k](s))": "",
    "dot[q](softmax[k](s) * 2, softmax[q](s))": "",
    "dot[q, k](softmax[k](s), softmax[q](s))": "",
    "dot[q, k](softmax[k](s), softmax[k](s))": "W0508",
    "dot[q, k](s, softmax[k](s))": "W0508",
    "dot[k](softmax[k, q](s) * 2, y)": "",
    "dot[q](s, softmax[k](s), x)": "E0307",
    "softmax[k](softmax[k](s))": "W0511",
    "log_softmax[k](softmax[k](s))": "W0511",
    "softmax[k](softmax[k](s) where k < 2)": "W0511",
    "softmax[k, q](softmax[k](s))": "W0511",
    "softmax[k](softmax[k, q](s))": "W0511",
    "softmax[k](raw(softmax[k](s)))": "",
    "softmax[q](softmax[k](s))": "",
    "softmax[k](log_softmax[k](s))": "",
    "softmax[k](softmax[k](s) * 2)": "",
    "l2norm[k](softmax[k](s))": "",
    "cross_entropy[v](softmax[v](l), i)": "W0511",
    "cross_entropy[v](log_softmax[v](l), i)": "A0524",
    "cross_entropy[v](raw(softmax[v](l)), i)": "",
    "cross_entropy[v](softmax[q](l), i)": "",
    "x / sqrt(|d|)": "",
    "x * rsqrt(|a|)": "",
    "sum[d](x) / sqrt(|d|)": "",
    "dot[a, b](xab, xab) / sqrt(|a|)": "W0504",
    "dot[a, b](xab, xab) / sqrt(|a| * |b|)": "",
    "dot[d](x, y) / sqrt(2 * |a|)": "",
    "dot[d](x, y) - sqrt(|a|)": "",
    "dot[d](x, y) / sqrt(|d|)": "",
    "dot[d](x, y) / sqrt(|a|)": "W0504",
    "dot[d](x, y) * rsqrt(|a|)": "W0504",
    "dot[d](x, y) * 2 / sqrt(|a|)": "W0504",
    "dot[d](x, y) * sqrt(|a|)": "",
    "dot[d](x, y) / rsqrt(|a|)": "",
    "dot[d](x, y) / |a|": "",
    "(dot[d](x, y) + 1) / sqrt(|a|)": "",
    "x * broadcast[d](i)": "W0509",
    "broadcast[d](i) + x": "W0509",
    "x * broadcast[d](int(i))": "",
    "x * broadcast[d](seq)": "",
    "1.5 * i": "",
    "x[q = 0] / seq": "E0324",
    "x[q = 0] / sqrt(seq)": "E0324",
    "x[q = 0] * rsqrt(seq + 1)": "",
    "x[q = 0] / (seq + 1)": "",
    "broadcast[a, b](x)": "",
    "broadcast[seq, q](x)": "E0302",
    "window[q -> seq, d](x)": "E0302",
    "window[q -> d, c](x)": "E0302",
    "window[q -> q, c](x)": "",
    "split[c -> a, k](xc)": "E0302",
    "linear.w[d -> c, a](broadcast[a](x))": "E0302",
    "embed.w[v -> d, ring](broadcast[ring](i))": "E0302",
    "concat[a, b -> d](xab, xab)": "E0302",
    "rmsnorm.w[d, q](x)": "E0310",
    "linear.w[d -> e, k](x)": "E0310",
    "linear.w[k: d -> e](x)": "E0310",
    "x + m": "E0304",
    "m + x": "E0304",
    "max(x, x, m)": "E0304",
    "clamp(x, 0, m)": "E0304",
    "m and x": "E0304",
    "x and m": "E0304",
    "select(x, x, x)": "E0304",
    "select(m, x, m)": "E0304",
    "dot[d](x, y, m)": "E0304",
    "dropout(x, 0.1)": "",
    "layernorm.w[d](x, 0.1)": "",
    "rmsnorm.w[d](x, 0.1)": "",
    "layernorm.w[d](x, 0.1, false)": "E0319",
    "l2norm[d](x, 1)": "E0319",
    "linear.w[d -> e](x, false)": "E0319",
    "window[q -> q, c](x, 1)": "E0319",
    "pad[d -> e](x, 1)": "E0319",
    "argsort[v -> v2](l, true)": "E0319",
    "cross_entropy[v](l, i, 0.1)": "E0319",
    "max(i, i2, seq)": "E0306",
    "max(i, i2, u)": "",
    "sum[k, a](1 where mk)": "E0301",
    "sum[a, k](1 where mk)": "E0301",
    "sum[k, q](1 where mqk)": "",
    "dot[v](x, y)": "E0301",
    "dot[v](x)": "E0301",
    "dot[d](x, y, z)": "",
    "dot[d, k](x, y)": "E0301",
    "dot[k, d](x, y)": "E0301",
    "sum[d, k](x)": "E0301",
    "merge[q, k -> seq](x)": "E0301",
    "rmsnorm.w[d, k](x)": "E0301",
    "linear.w[d, k -> e](x)": "E0301",
    "seq < seq": "W0506",
    "seq < past": "",
}


@pytest.mark.parametrize(("expression", "code"), JUDGED.items(), ids=JUDGED)
def test_judgements(expression: str, code: str) -> None:
    text = f"{HEAD}block f({GIVEN}) -> int[] {{\n    made = {expression}\n    return 0\n}}\n"
    try:
        found = [warning.code for warning in attnc.loads(text).warnings]
    except attnc.AttnError as error:
        found = [diagnostic.code for diagnostic in error.diagnostics]
    unread = ("W0502", "W0503")  # what is given, and made, is not read
    assert [each for each in found if each not in unread] == ([code] if code else [])


# What a value hangs on; a number that is spread is a table, which is computed in float64.
ROLES = {
    "broadcast[q](2)": Role.TABLE,
    "broadcast[q](2) + 1": Role.TABLE,
    "seq * 2": Role.TABLE,
    "sum[seq](seq * 1)": Role.TABLE,
    "linear.w[d -> e](broadcast[d](1.5))": Role.WEIGHT,
    "x * 0": Role.DATA,
    "sum[k](1 where mk)": Role.DATA,
    "rmsnorm[d](broadcast[d](seq * 1), scale = false)": Role.TABLE,
}


@pytest.mark.parametrize(("expression", "role"), ROLES.items(), ids=ROLES)
def test_what_it_hangs_on(expression: str, role: Role) -> None:
    text = f"{HEAD}block f({GIVEN}) -> int[] {{\n    made = {expression}\n    return 0\n}}\n"
    graph = attnc.loads(text).block("f").graph
    (node,) = [node for node in graph.nodes if isinstance(node, Apply) and node.out.name == "made"]
    assert node.out.role is role


# Options at both ends of what they may be.
OPTIONS = {
    "dropout(x, {})": ((0, 0.0, 0.999), (-0.1, 1, 1.5)),
    "cross_entropy[v](l, i, smoothing = {})": ((0, 0.5), (-0.1, 1.0)),
    "l2norm[d](x, eps = {})": ((0, 1e-3, 2), (-1e-9,)),
    "layernorm.w[d](x, eps = {})": ((1e-9, 1), (0, 0.0, -1)),
    "layernorm.w[d](x, {})": ((1e-9,), (0,)),
    "rmsnorm.w[d](x, {})": ((1e-9,), (0,)),
    "window[q -> q, b](x, pad = {})": ((0, 2), (-1, 1.5)),
    "window[q -> seq, b](x, stride = {})": ((1, 2), (0, -1, 1.5)),
    "pad[d -> c](x, left = {})": ((0, 2), (-1, 3, 0.5)),
    "pad[d -> c](x, value = {})": ((-1, 0.5), ()),
    "argsort[v -> v2](l, descending = {})": (("true", "false"), (2,)),
    "linear.w[d -> a](x, bias = {})": (("true", "false"), (2,)),
    "layernorm.w[d](x, scale = {})": (("true", "false"), (2,)),
    "max({})": (("x, x, x, x",), ()),
    "dot[d]({})": (("x, x, y",), ()),
    "concat[d, a -> c]({})": ((), ("x", "x, x, x")),
    "exp({})": ((), ("x, x",)),
    "clamp(x, {})": (("0, 1",), ("0", "0, 1, 2")),
}


@pytest.mark.parametrize("form", OPTIONS)
def test_what_options_may_be(form: str) -> None:
    right, wrong = OPTIONS[form]
    for given in right:
        assert made_of(form.format(given))
    for given in wrong:
        with pytest.raises(attnc.AttnError):
            made_of(form.format(given))
