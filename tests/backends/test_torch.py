"""Generated PyTorch: fused attention, gradients, compilation, types, the border, and what the source looks like."""

from __future__ import annotations

import copy
import inspect
import pickle
import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import nn

from attnc.backends.loading.load import build_numpy, build_torch
from attnc.compiler.check import build
from attnc.compiler.graph.inventory import inventory
from attnc.dsl.source import Source
from tests.sources import numpy_source, torch_source

from .agreement import graph_of

ATTENTION = """\
depth model = 16, heads = 4
depth key = model / heads, value = model / heads
width source, target
block attend[q: width, k: width, d: depth, v: depth](
    Q: [q, d], K: [k, d], V: [k, v], mask: bool[q, k] = true
) -> [q, v] {
    scores = dot[d](Q, K) / sqrt(|d|)
    weights = softmax[k](scores where mask)
    return dot[k](weights, V)
}
block multihead[q: width, k: width](base: [q, model], injected: [k, model], mask: bool[q, k] = true) -> [q, model] {
    Q = linear[model -> heads, key](base)
    K = linear[model -> heads, key](injected)
    V = linear[model -> heads, value](injected)
    O = attend[q, k, key, value](Q, K, V, mask)
    return linear.O[heads, value -> model](O)
}
"""
CROSS = (
    ATTENTION
    + """\
model cross(x: [target, model], y: [source, model], real: bool[source]) -> [target, model] {
    return multihead[target, source](x, y, real)
}
"""
)
SELF = (
    ATTENTION
    + """\
width past like target
model self_(x: [target, model], real: bool[target]) -> [target, model] {
    a = multihead.one[target, past](x, x[target as past], past <= target and real[target as past])
    return a + multihead.two[target, past](a, a[target as past])
}
"""
)
IDS = """\
width seq
depth vocab = 11, model = 4
model m(ids: vocab[seq], real: bool[seq], x: [seq, model]) -> [seq, model] {
    return select(real, embed.E[vocab -> model](ids), 0) + x
}
"""


def test_multihead_attention_is_torchs_own() -> None:
    module = build_torch(graph_of(CROSS), seed=0, dtype=torch.float64)
    theirs = nn.MultiheadAttention(16, 4, batch_first=True, dtype=torch.float64)
    state = module.state_dict()
    with torch.no_grad():
        theirs.in_proj_weight.copy_(torch.cat([state[f"multihead.{n}.weight"] for n in "QKV"]))
        theirs.in_proj_bias.copy_(torch.cat([state[f"multihead.{n}.bias"] for n in "QKV"]))
        theirs.out_proj.weight.copy_(state["multihead.O.weight"])
        theirs.out_proj.bias.copy_(state["multihead.O.bias"])
    x, y = torch.randn(2, 5, 16, dtype=torch.float64), torch.randn(2, 7, 16, dtype=torch.float64)
    real = torch.rand(2, 7) > 0.3
    real[:, 0] = True
    expected, _ = theirs(x, y, y, key_padding_mask=~real)
    torch.testing.assert_close(module(x, y, real), expected)


def test_attention_is_fused_however_it_is_written() -> None:
    assert torch_source(graph_of(CROSS)).count("attention(Q, K, V, mask=mask[..., None, :, :])") == 1
    assert "softmax" not in torch_source(graph_of(CROSS))
    inline = """\
width q, k
depth d = 4, v = 3
model f(Q: [q, d], K: [k, d], V: [k, v], b: [q, k]) -> [q, v] {
    return dot[k](V, softmax[k](b + 0.5 * dot[d](K, Q)))
}
"""
    assert "scale=0.5" in torch_source(graph_of(inline))


def test_attention_whose_weights_are_read_stays() -> None:
    text = """\
width q, k
depth d = 4, v = 3
model f(Q: [q, d], K: [k, d], V: [k, v]) -> (out: [q, v], weights: [q, k]) {
    weights = softmax[k](dot[d](Q, K))
    return dot[k](weights, V), weights
}
"""
    assert "scaled_dot_product" not in torch_source(graph_of(text))


@pytest.mark.parametrize(
    "text", [CROSS, CROSS.replace("    return dot[k](weights, V)", "    w = weights * 1\n    return dot[k](raw(w), V)")]
)
def test_rows_without_any_key_are_zero_and_so_are_their_gradients(text: str) -> None:
    module = build_torch(graph_of(text), seed=0)
    with torch.no_grad():
        module.get_parameter("multihead.O.bias").zero_()
    x, y = torch.randn(2, 5, 16, requires_grad=True), torch.randn(2, 7, 16, requires_grad=True)
    real = torch.ones(2, 7, dtype=torch.bool)
    real[0] = False
    out = module(x, y, real)
    assert (out[0] == 0).all() and (out[1] != 0).any()
    out.square().sum().backward()
    for value in (x, y, *module.parameters()):
        assert value.grad is not None and torch.isfinite(value.grad).all()
    assert x.grad is not None and (x.grad[0] == 0).all()


@pytest.mark.parametrize("text", [CROSS, SELF])
def test_compiles_in_one_graph(text: str) -> None:
    module = build_torch(graph_of(text), seed=0).eval()
    graph = graph_of(text)
    inputs = [torch.randn(2, 6, 16) for item in graph.inputs if item.name in "xy"] + [torch.rand(2, 6) > 0.4]
    compiled = torch.compile(module, fullgraph=True, backend="eager")
    torch.testing.assert_close(compiled(*inputs), module(*inputs))


def test_one_class_serves_all_instances() -> None:
    source = torch_source(graph_of(SELF))
    assert source.count("class Multihead(") == source.count("class Multihead2(") == 1  # with a mask, and without
    sizes = """\
width t
depth a = 4, b = 6
block f(x: [a]) -> [a] {
    return linear.w[a -> a](x)
}
model g(x: [t, a], y: [t, b]) -> ([t, a], [t, b]) {
    return f.one(x), f.two[a = b](y)
}
"""
    source = torch_source(graph_of(sizes.replace("([t, a], [t, b])", "(p: [t, a], q: [t, b])")))
    assert source.count("class F(") == 1
    assert "self.one = F(a=a)" in source and "self.two = F(a=b)" in source


def test_lives_as_any_module_does() -> None:
    graph = graph_of(CROSS)
    module = build_torch(graph, seed=0)
    assert "class Cross(nn.Module)" in inspect.getsource(type(module))
    twin = copy.deepcopy(module)
    twin.load_state_dict(pickle.loads(pickle.dumps(module.state_dict())))
    assert list(inventory(graph)) == list(twin.state_dict())
    assert sum(p.numel() for p in module.parameters()) == sum(spec.size for spec in inventory(graph).values())


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float64])
def test_types(dtype: torch.dtype) -> None:
    module = build_torch(graph_of(SELF), seed=0, dtype=dtype)
    assert module(torch.randn(3, 16, dtype=dtype), torch.ones(3, dtype=torch.bool)).dtype == dtype


def test_positions_are_exact_in_bfloat16() -> None:
    text = "width t\ndepth m = 2\nmodel f(x: [t, m]) -> [t, m] {\n    return x + sin(t * 0.001)\n}\n"
    x = torch.zeros(5000, 2, dtype=torch.bfloat16)
    expected = torch.sin(torch.arange(5000, dtype=torch.float64) * 0.001).bfloat16()
    assert (build_torch(graph_of(text), dtype=torch.bfloat16)(x)[:, 0] == expected).all()


def test_dropout_only_in_training() -> None:
    module = build_torch(graph_of("width t\nmodel f(x: [t]) -> [t] {\n    return dropout(x, 0.5)\n}\n"))
    x = torch.ones(1000)
    assert set(module(x).tolist()) == {0.0, 2.0}
    assert (module.eval()(x) == x).all()


def test_frozen_weights_and_initialisation() -> None:
    text = """\
width t
depth m = 64, n = 32
model f(x: [t, m]) -> [t, n] {
    param c: [n] ~ constant(3) frozen
    param s: [n] ~ normal(0.5)
    return linear.a[m -> n](x) * s + linear.b[m -> n](x, init = xavier) + c
}
"""
    graph = graph_of(text)
    for module in (build_torch(graph), build_torch(graph, seed=3)):
        assert not module.get_parameter("c").requires_grad and (module.get_parameter("c") == 3).all()
        assert 0.3 < module.get_parameter("s").std() < 0.7
        assert 0.9 / 8 < module.get_parameter("a.weight").abs().max() <= 1 / 8
        assert module.get_parameter("a.bias").abs().max() <= 1 / 8
        assert 0.23 < module.get_parameter("b.weight").abs().max() <= 0.25
    twin = build_numpy(graph, seed=3)
    for path, array in twin.weights.items():  # type: ignore[attr-defined]
        assert (module.state_dict()[path].numpy() == array).all()


CASES = {
    "`real` has seq = 5, but `ids` has seq = 7": ([(7,), (5,), (7, 4)], {}),
    "`x` has model = 3, but this model has model = 4": ([(7,), (7,), (7, 3)], {}),
    "`x` has rank 1, but needs at least 2: [seq, model]": ([(7,), (7,), (4,)], {}),
    "`real` has the batch axes (3,), but `ids` has (2,)": ([(2, 7), (3, 7), (2, 7, 4)], {}),
    "`ids`: 11 at [0, 3] is no index into vocab (0..10)": ([(2, 7), (2, 7), (2, 7, 4)], {(0, 3): 11}),
    "`ids`: -1 at [1, 6] is no index into vocab (0..10)": ([(2, 7), (2, 7), (2, 7, 4)], {(1, 6): -1}),
}


@pytest.mark.parametrize("message", CASES)
def test_the_border_names_axes(message: str) -> None:
    shapes, changes = CASES[message]
    ids, real, x = np.zeros(shapes[0], int), np.ones(shapes[1], bool), np.zeros(shapes[2], np.float32)
    for place, value in changes.items():
        ids[place] = value
    graph = graph_of(IDS)
    for call, inputs in ((build_torch(graph), map(torch.tensor, (ids, real, x))), (build_numpy(graph), (ids, real, x))):
        with pytest.raises((ValueError, IndexError)) as caught:
            call(*inputs)
        assert str(caught.value) == f"m: {message}"


def test_the_border_refuses_other_kinds() -> None:
    with pytest.raises(
        TypeError, match=r"m: `ids` is torch.float32, but must hold integers: it is an index into vocab"
    ):
        build_torch(graph_of(IDS))(torch.zeros(7), torch.ones(7, dtype=torch.bool), torch.zeros(7, 4))


def test_bounds_and_derived_widths() -> None:
    text = """\
width seq <= 8
width chunk = seq / 2
depth c = 2
model f(x: [seq]) -> [chunk] {
    return sum[c](split[seq -> chunk, c](x))
}
"""
    module = build_torch(graph_of(text))
    assert module(torch.ones(3, 6)).shape == (3, 3)
    with pytest.raises(ValueError, match="seq is at most 8"):
        module(torch.ones(10))
    with pytest.raises(ValueError, match="chunk = seq / 2 does not divide: 5 / 2"):
        module(torch.ones(5))
    named = build_torch(graph_of(text.replace("seq / 2", "seq / c")))
    with pytest.raises(ValueError, match="chunk = seq / c does not divide: 5 / 2"):  # the spec's words, not the code's
        named(torch.ones(5))


def test_a_size_below_0_or_of_a_division_by_0_is_refused() -> None:
    text = "width s, t\nwidth c = s - 2, part = s / t\nmodel f(x: [s], y: [t]) -> (a: [c], b: [part]) {\n"
    text += "    z = sum[s](x) + sum[t](y)\n    return broadcast[c](z), broadcast[part](z)\n}\n"
    for run in (build_torch(graph_of(text)), lambda *given: build_numpy(graph_of(text))(*(x.numpy() for x in given))):
        assert [len(found) for found in run(torch.ones(4), torch.ones(2))] == [2, 2]
        with pytest.raises(ValueError, match="f: c = s - 2 is -1"):
            run(torch.ones(1), torch.ones(1))
        with pytest.raises(ValueError, match="f: part = s / t does not divide: 2 / 0"):
            run(torch.ones(2), torch.ones(0))


@pytest.mark.parametrize(
    ("size", "said"),
    [
        ("floor(s / t)", "c = floor(s / t) divides by t, which is 0"),
        ("ceil(s / (t - 1))", "c = ceil(s / (t - 1)) divides by t - 1, which is -1"),
        ("s % t", "c = s % t divides by t, which is 0"),
        ("floor(sqrt(t - 2))", "c = floor(sqrt(t - 2)) takes the root of t - 2, which is -2"),
        ("floor(log(t))", "c = floor(log(t)) takes the logarithm of t, which is 0"),
        ("floor(4 * t ^ (-1))", "c = floor(4 * t ^ (-1)) divides by t, which is 0"),
        ("floor((t - 1) ^ 0.5)", "c = floor((t - 1) ^ 0.5) takes the root of t - 1, which is -1"),
        ("10 - s * 4", "c = 10 - s * 4 is -2"),
        ("floor((t - 1) / 2)", "c = floor((t - 1) / 2) is -1"),
        ("min(t - 1, 4)", "c = min(t - 1, 4) is -1"),
    ],
)
def test_a_size_that_is_no_number_is_refused(size: str, said: str) -> None:
    text = f"width s, t\nwidth c = {size}\nmodel f(x: [s], y: [t]) -> [c] {{\n"
    graph = graph_of(f"{text}    return broadcast[c](sum[s](x) + sum[t](y))\n}}\n")
    for run in (build_torch(graph), lambda *given: build_numpy(graph)(*(x.numpy() for x in given))):
        with pytest.raises(ValueError, match=re.escape(f"f: {said}")):
            run(torch.ones(3), torch.ones(0))


def test_a_size_that_is_told_by_another_is_none_below_0() -> None:
    text = "width s\nwidth c = s + 3\nmodel f(y: [c]) -> [s] {\n    return broadcast[s](sum[c](y))\n}\n"
    for run in (build_torch(graph_of(text)), lambda y: build_numpy(graph_of(text))(y.numpy())):
        assert len(run(torch.ones(5))) == 2
        with pytest.raises(ValueError, match="f: s = c - 3 is -1"):
            run(torch.ones(2))


def test_what_a_scan_of_no_steps_would_have_told_is_told_all_the_same() -> None:
    text = "width s\nwidth h = s / 2\nblock f(y: [], z: []) -> (z: []) {\n    return z + y * sum[h](1.0 * h)\n}\n"
    text += "model m(x: [s]) -> [h] {\n    return (scan[s] f(x, z = 0))[s = index[s](int(h))]\n}\n"
    for run in (build_torch(graph_of(text)), lambda x: build_numpy(graph_of(text))(x.numpy())):
        assert run(torch.ones(0)).shape == (0,)
        assert run(torch.ones(4)).tolist() == [1, 2]


def test_a_number_rounded_that_is_infinite_is_no_error() -> None:
    text = "width s, t\nmodel f(x: [s], y: [t]) -> int[] {\n"
    text += "    return floor(|s| / |t|) + floor(0 * sum[s](x) * sum[t](y))\n}\n"
    for run in (build_torch(graph_of(text)), lambda *given: build_numpy(graph_of(text))(*(x.numpy() for x in given))):
        assert int(run(torch.ones(5), torch.ones(2))) == 2
        assert int(run(torch.ones(2), torch.ones(0))) == -(2**63)


def test_a_width_is_told_by_one_that_derives_from_it() -> None:
    module = build_torch(graph_of(
        "width short\nwidth seq = 3 * short + 1\n"
        "model f(x: [seq]) -> [short] {\n    return broadcast[short](sum[seq](x)) * short\n}\n"
    ))  # fmt: skip
    assert module(torch.ones(7)).tolist() == [0, 7]
    with pytest.raises(ValueError, match=r"short = \(seq - 1\) / 3 does not divide: 7 / 3"):
        module(torch.ones(8))
    both = "width a, b\nwidth seq = a + b\nmodel f(x: [seq]) -> [a, seq] {\n    return broadcast[a](x)\n}\n"
    (unknown,) = build(Source("main.attn", both)).errors  # either may be of any size
    assert unknown.code == "E0409" and "along the width `a`" in unknown.message


def test_sizes_that_others_tell_are_not_written() -> None:
    """What heads of a size make together is what they were made of: `nn.Linear(model, model)`, `(self.heads, -1)`."""
    text = """\
width t
depth model = 24, heads = 2, groups = 3, key = model / (heads * groups), two = 2, half = key / two
model f(x: [t, model]) -> [t, model] {
    Q = linear[model -> heads, groups, key](x)
    turned = merge[two, half -> key](split[key -> two, half](Q))
    return linear.O[heads, groups, key -> model](turned + Q)
}
"""
    graph = graph_of(text)
    source = torch_source(graph)
    assert "self.Q = nn.Linear(model, model)" in source and "self.O = nn.Linear(model, model)" in source
    assert "self.Q(x).unflatten(-1, (self.heads, self.groups, -1))" in source
    assert "self.model, self.heads, self.groups, self.two = model, heads, groups, two" in source
    assert "key" not in source[source.index("class F(") : source.index("def forward")]
    module, x = build_torch(graph, seed=0, dtype="float64"), np.random.default_rng(0).normal(size=(2, 5, 24))
    with torch.no_grad():
        out = module(torch.tensor(x))
    np.testing.assert_allclose(out, build_numpy(graph, seed=0, dtype="float64")(x), rtol=0, atol=1e-12)
    assert module(torch.zeros(0, 5, 24).double()).shape == (0, 5, 24)
    made = type(module)(model=36, heads=3, groups=2)
    assert made(torch.zeros(5, 36)).shape == (5, 36)
    with pytest.raises(RuntimeError, match="unflatten"):
        type(module)(model=35, heads=3, groups=2)(torch.zeros(5, 35))


def test_computed_indices_are_checked_unless_proved() -> None:
    shift = "width t\nmodel f(x: [t]) -> [t] {\n    return x[t = max(t - 1, 0)]\n}\n"
    assert "check_index" not in torch_source(graph_of(shift))
    joined = (
        "width t, s = 2 * t\nwidth u like t\nmodel f(x: [t], y: [t]) -> [s] {\n"
        "    i = argsort[t -> u](y)\n    return x[t = concat[u, t -> s](i, i[u as t])]\n}\n"
    )
    assert "check_index" not in torch_source(graph_of(joined))
    free = "width t\ndepth a = 3\nmodel f(x: [a], i: int[t]) -> [t] {\n    return x[a = i - 1]\n}\n"
    graph = graph_of(free)
    for call, wrap in ((build_torch(graph), torch.tensor), (build_numpy(graph), np.asarray)):
        assert call(wrap([1.0, 2.0, 3.0]), wrap([1, 3])).tolist() == [1, 3]
        with pytest.raises(IndexError, match=r"^f: index into a: -1 is no index \(0\.\.2\)$"):
            call(wrap([1.0, 2.0, 3.0]), wrap([1, 0]))


DISAGREEING = {  # widths that are free where an op takes for granted that they fit
    "split[seq -> a, b] needs |seq| = |a| * |b|, but these are 7 and 6": (
        "width seq\ndepth a = 2, b = 3\nmodel f(x: [seq]) -> [a, b] {\n    return split[seq -> a, b](x)\n}\n",
        [7],
    ),
    "merge[p, q -> r] needs |r| = |p| * |q|, but these are 1 and 6": (  # 1 would go with anything
        "width p, q, r\nmodel f(x: [p, q], y: [r]) -> [r] {\n    return merge[p, q -> r](x) + y\n}\n",
        [(2, 3), 1],
    ),
    "concat[p, q -> r] needs |r| = |p| + |q|, but these are 1 and 5": (
        "width p, q, r\nmodel f(x: [p], y: [q], z: [r]) -> [r] {\n    return concat[p, q -> r](x, y) + z\n}\n",
        [2, 3, 1],
    ),
}


@pytest.mark.parametrize("message", DISAGREEING)
def test_extents_that_do_not_fit_are_refused(message: str) -> None:
    text, shapes = DISAGREEING[message]
    arrays = [np.ones(shape, np.float32) for shape in shapes]
    with pytest.raises(ValueError, match=re.escape(f"f: {message}")):
        build_torch(graph_of(text))(*map(torch.tensor, arrays))
    with pytest.raises(ValueError, match=re.escape(f"f: {message}")):
        build_numpy(graph_of(text))(*arrays)


def test_extents_that_surely_fit_are_not_checked() -> None:
    text = (
        "width seq, blocks = seq / 4, rank like seq\nwidth row = 4\n"
        "model f(x: [seq]) -> [rank] {\n    y = merge[blocks, row -> seq](exp(split[seq -> blocks, row](x)))\n"
        "    return y[seq = argsort[seq -> rank](y)]\n}\n"
    )
    assert "but these are" not in torch_source(graph_of(text))


def test_numpy_stays_in_float32() -> None:
    """Every array that the generated code makes is float32, but for tables of positions."""
    graph = graph_of(CROSS)
    call = build_numpy(graph)
    x, y = np.ones((2, 3, 16), np.float32), np.ones((2, 4, 16), np.float32)
    assert call(x, y, np.ones((2, 4), bool)).dtype == np.float32
    assert "float64" not in numpy_source(graph)


def test_golden_source(golden: Callable[[Path, str], None]) -> None:
    """Whole files; test_reading.py has more."""
    golden(Path("golden/cross_torch.txt"), torch_source(graph_of(CROSS), header="made by a test"))
    golden(Path("golden/cross_numpy.txt"), numpy_source(graph_of(CROSS), header="made by a test"))


def test_source_is_the_same_each_time() -> None:
    assert torch_source(graph_of(SELF)) == torch_source(graph_of(SELF))
    assert numpy_source(graph_of(SELF)) == numpy_source(graph_of(SELF))
