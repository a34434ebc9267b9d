"""Learned maps of a step: done together, with weights laid out that follow every change of the model's own."""

from __future__ import annotations

import copy
import gc
import re

import numpy as np
import pytest
import torch
from torch import nn

import attnc
from attnc.backends.plan.lower import lower, stepping
from attnc.backends.runtime.common.decoding import Configuration
from attnc.backends.runtime.numpy import decoding as numpy_decoding
from attnc.backends.runtime.numpy import maps as numpy_maps
from attnc.backends.runtime.torch import cache as torch_cache
from attnc.backends.runtime.torch import maps as torch_maps
from attnc.compiler.decoding.join_maps import weights_together

from .steps import check_steps

M = Configuration("m", "", {})
SPEC = """
use std.attention: multihead, model, heads
use std.feed_forward: swiglu, inner, model

const layers = 2
width seq
width past like seq
depth model as m = 12, heads as h = 3, inner as f = 20, vocab as n = 9

model lm(ids: vocab[seq]) -> [seq, vocab] causal seq {
    param E: [vocab, model] ~ normal(0.5)
    x = E[vocab = ids]
    repeat layers {
        y = layernorm.see[model](x)
        x = x + multihead.self[seq, past, bias = true](y, y[seq as past], past <= seq)
        x = x + swiglu.fed(layernorm.feed[model](x))
    }
    return dot[model](x, E)
}
"""


@pytest.fixture
def model() -> attnc.Model:
    return attnc.loads(SPEC).model("lm")


def step_of(source: str) -> str:
    return source[source.index("class Multihead") :]


def test_maps_of_one_value_are_one_product(model: attnc.Model) -> None:
    code = step_of(model.source("torch"))
    assert "Q, K, V = cache.maps(base, self.Q, self.K, self.V)" in code
    assert re.search(r"gate, \w+ = cache\.maps\(x, self\.gate, self\.up\)", code)
    assert "cache.map(x, self.E)" in code


def test_maps_of_different_values_are_not() -> None:
    text = """
use std.attention: multihead, model, heads
const layers = 2
width seq
width past like seq
depth model as m = 12, heads as h = 3
model two(x: [seq, model], y: [seq, model]) -> [seq, model] causal seq {
    return multihead.self[seq, past, bias = true](x, y[seq as past], past <= seq)
}
"""
    code = step_of(attnc.loads(text).model("two").source("torch"))
    assert "K, V = cache.maps(injected, self.K, self.V)" in code
    assert "cache.map(base, self.Q)" in code


IDS = np.random.default_rng(0).integers(0, 9, (2, 7))


def steps_equal_whole(net: nn.Module) -> None:
    ids = torch.from_numpy(IDS)
    with torch.inference_mode():
        whole = net(ids)
    cache = net.prepare()  # type: ignore[operator]
    found = torch.cat([net.step(ids[:, i : i + 1], cache) for i in range(ids.shape[1])], 1)  # type: ignore[operator]
    torch.testing.assert_close(found, whole, rtol=1e-9, atol=1e-9)


def in_place(net: nn.Module) -> None:
    with torch.no_grad():
        for weight in net.parameters():
            weight.mul_(1.5)


def by_data(net: nn.Module) -> None:
    for weight in net.parameters():
        weight.data.copy_(weight.data * 0.5)


def by_sign(net: nn.Module) -> None:
    for weight in net.parameters():
        weight.data.neg_()


def by_place(net: nn.Module) -> None:
    for weight in net.parameters():
        weight.data.copy_(weight.data.flip(-1))


def by_row(net: nn.Module) -> None:
    for weight in net.parameters():
        weight.data.copy_(weight.data.roll(1, 0))


def replaced(net: nn.Module) -> None:
    for part in net.modules():
        if isinstance(part, nn.Linear):
            part.weight = nn.Parameter(part.weight.detach() * 2)


def loaded(net: nn.Module) -> None:
    net.load_state_dict({key: x * 1.25 for key, x in net.state_dict().items()})


class Doubled(nn.Module):
    def __init__(self, inner: nn.Module) -> None:
        super().__init__()
        self.inner = inner

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return 2 * self.inner(x)


def wrapped(net: nn.Module) -> None:
    net.layers[0].self.Q = Doubled(net.layers[0].self.Q)  # type: ignore[index, union-attr]


def patched(net: nn.Module) -> None:
    vars(net.get_submodule("layers.0.self.Q"))["forward"] = lambda x: x


def hooked(net: nn.Module) -> None:
    net.layers[1].fed.gate.register_forward_hook(lambda module, given, result: result + 1)  # type: ignore[index, union-attr]


def parametrized(net: nn.Module) -> None:
    class Half(nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return x / 2

    nn.utils.parametrize.register_parametrization(net.layers[0].self.O, "weight", Half())  # type: ignore[index, union-attr]


CHANGES = [in_place, by_data, by_sign, by_place, by_row, replaced, loaded, wrapped, patched, hooked, parametrized]


@pytest.mark.parametrize("change", CHANGES)
def test_steps_follow_every_change_of_the_weights(model: attnc.Model, change: object) -> None:
    net = model.torch(seed=0, dtype=torch.float64).eval()
    steps_equal_whole(net)
    change(net)  # type: ignore[operator]
    steps_equal_whole(net)
    twin = copy.deepcopy(net)
    in_place(twin)
    steps_equal_whole(twin)
    steps_equal_whole(net)


def test_what_is_laid_out_goes_with_the_weights(model: attnc.Model) -> None:
    net = model.torch(seed=0).eval()
    layouts = type(net).step.__wrapped__.__globals__["LAYOUTS"]
    gc.collect()  # models of other tests
    before = len(layouts.known)
    net.generate(torch.from_numpy(IDS), 3)  # type: ignore[operator]
    assert len(layouts.known) > before
    del net
    gc.collect()
    assert len(layouts.known) == before


def test_the_state_dict_is_what_the_spec_says(model: attnc.Model) -> None:
    net = model.torch(seed=0).eval()
    before = {key: x.clone() for key, x in net.state_dict().items()}
    net.generate(torch.from_numpy(IDS), 3)  # type: ignore[operator]
    after = net.state_dict()
    assert list(after) == list(before)
    for key, x in after.items():
        assert x.is_contiguous() and torch.equal(x, before[key])


def test_numpy_weights_lie_side_by_side_and_may_change(model: attnc.Model) -> None:
    net = model.numpy(seed=0, dtype=np.float64)
    w = net.weights
    Q, K, V, out = ((w[f"layers.0.self.{part}.weight"],) for part in "QKVO")
    found = net.module.joint((Q, K, V))
    np.testing.assert_array_equal(found.weight, np.concatenate([*Q, *K, *V]))
    assert np.shares_memory(found.weight, Q[0]) and net.module.joint((Q, V)) is net.module.joint((Q, out)) is None
    assert len({id(x.base) for x in w.values()}) == 1

    def check() -> None:
        cache = net.prepare()
        found = np.concatenate([net.step(IDS[:, i : i + 1], cache) for i in range(IDS.shape[1])], 1)
        np.testing.assert_allclose(found, net(IDS), rtol=1e-9, atol=1e-9)

    check()
    for x in net.weights.values():
        x *= 1.5  # in place
    check()
    net.weights["layers.0.self.K.weight"] = net.weights["layers.0.self.K.weight"] * 2  # another array
    check()
    net.weights["layers.1.self.K.weight"] = net.weights["layers.1.self.V.weight"]  # a neighbour, but the wrong one
    check()


def test_which_weights_lie_side_by_side() -> None:
    """Those of the maps of one value over the same axes: once for each pass that has weights of its own."""
    text = """
width n
depth d = 4, e = 3, vocab = 5
depth d2 like d, d3 like d
const layers = 3
block gated(x: [n, d]) -> [n, d] {
    return linear.down[e -> d](linear.gate[d -> e](x) * linear.up[d -> e](x))
}
model f(x: [n, d], t: [n, d, e]) -> [n, vocab] causal n {
    param E: [vocab, d]
    x = linear.a[d -> d](x) + linear.b[d3 -> d](x[d as d2][d2 as d3]) + x * sum[vocab](dot[d](x, E))
    x = x * sum[e, vocab](linear.rows[d -> vocab](t) * sum[d](linear.columns[e -> vocab](t)))
    repeat.same layers shared {
        x = x + gated.fed(x)
    }
    repeat.deep i in layers {
        if i == 1 {
            x = x + gated.fed(x)
        } else {
            x = x + linear.one[d -> d](x) * linear.two[d -> d](x)
        }
    }
    share g = gated
    return dot[d](g(g(x)) + x, E)
}
"""
    model = attnc.loads(text).model("f")
    check_steps(model, widths=(4,), seeds=(0,), dtypes=("float64",))
    graph = model._sized
    step = stepping(graph, lower(graph)[0]).step
    assert step is not None
    assert [" ".join(path.removesuffix(".weight") for path in together) for together in weights_together(step)] == [
        "a b E",
        "rows",
        "columns",
        "E",
        "same.fed.gate same.fed.up",
        "same.fed.down",
        "deep.0.one deep.0.two",
        "deep.1.fed.gate deep.1.fed.up",
        "deep.1.fed.down",
        "deep.2.one deep.2.two",
        "g.gate g.up",
        "g.down",
    ]


def test_a_block_with_weights_is_a_step_of_itself_whatever_else_it_does() -> None:
    """Its whole form is rewritten otherwise than its step: as a block of its own it would have had other weights."""
    text = """
width time
depth rank = 3, bucket = 3, inner = 1, sign = 4
block blk[d: depth](h: [d, sign], init: []) -> (a: [d], b: [d, sign]) {
    c = layernorm.kernel[d](h)
    a = dot[sign](h, c)
    out = sin(sign / 3.5)
    return a, c
}
model m(x: [time, bucket], y: [time, inner], z: [sign])
    -> (a: [time, bucket] causal time, b: [inner, time, rank, sign, bucket] causal time) {
    input = linear[bucket -> rank](x)
    s = select(z < -0.4, x[time = floor(time / 2)], tanh(x) * y)
    a, b = blk.net[bucket](clamp(s, -0.7, 1.1), input)
    return x, window[time -> time, rank](b, pad = |rank| - 1)
}
"""
    net = attnc.loads(text).model("m").torch(seed=0, dtype=torch.float64).eval()
    rng = torch.Generator().manual_seed(0)
    x, y, z = (torch.randn(*shape, generator=rng, dtype=torch.float64) for shape in ((5, 3), (5, 1), (4,)))
    cache = net.prepare(z=z)  # type: ignore[operator]
    steps = [net.step(x[i : i + 1], y[i : i + 1], cache) for i in range(5)]  # type: ignore[operator]
    whole = net(x, y, z)
    torch.testing.assert_close(torch.cat([step.b for step in steps], 1), whole.b, rtol=1e-10, atol=1e-10)


def test_how_weights_lie() -> None:
    """Side by side, of [in, out] in memory where there are more results than operands."""
    draw = torch.Generator().manual_seed(0)
    wide, narrow, one = (torch.randn(*shape, generator=draw) for shape in ((5, 3), (2, 3), (2, 9)))
    for weights, turned in (([wide], True), ([narrow], False), ([wide, narrow], True), ([torch.ones(3, 3)], True)):
        laid = torch_maps.lay_out(list(weights), [None] * len(weights))
        assert laid.bias is None and laid.sizes == [len(w) for w in weights]
        assert torch.equal(laid.weight, torch.cat(list(weights))) and laid.weight.T.is_contiguous() == turned
    bias = torch.tensor([1.0, 2.0])
    laid = torch_maps.lay_out([one, one, one], [None, nn.Parameter(bias), bias])
    assert laid.bias is not None and laid.bias.tolist() == [0, 0, 1, 2, 1, 2] and not laid.bias.requires_grad
    assert not torch_maps.lay_out([nn.Parameter(wide)], [None]).weight.requires_grad


def test_which_maps_are_done_with_weights_laid_out() -> None:
    cache, one, other, table = torch_cache.Cache(M), nn.Linear(3, 4), nn.Linear(3, 2, bias=False), torch.randn(5, 3)
    x = torch.randn(2, torch_maps.FEW // 2, 3)
    with torch.no_grad():
        for found, part in zip(cache.maps(x, one, other, table), (one, other, table), strict=True):
            torch.testing.assert_close(found, torch_maps.map_each(x, part))
        torch.testing.assert_close(torch_maps.map_each(x, table), x @ table.T)
        assert [laid is not None and laid.sizes for laid in cache.laid.values()] == [[4, 2, 5]]
        torch.testing.assert_close(cache.map(x, one), one(x))
        assert list(cache.laid) == [(one, other, table), (one,)]
        cache.laid.clear()
        for many in (torch.randn(torch_maps.FEW + 1, 3), torch.randn(2, 9, 3)):
            torch.testing.assert_close(cache.map(many, one), one(many))
            for found, part in zip(cache.maps(many, one, other), (one, other), strict=True):
                torch.testing.assert_close(found, part(many))
        traced = torch.func.vmap(lambda x: cache.map(x, one))(x)
        torch.testing.assert_close(traced, one(x))
        assert cache.map(torch.randn(1, 3, device="meta"), table.to("meta")).is_meta
        assert cache.laid == {}


@pytest.mark.parametrize("where", ["forward hook", "pre hook", "forward", "class"])
def test_maps_that_are_not_what_they_were_are_called(where: str) -> None:
    part: nn.Linear = nn.Linear(3, 3)
    if where == "forward hook":
        part.register_forward_hook(lambda module, given, found: 2 * found)
    elif where == "pre hook":
        part.register_forward_pre_hook(lambda module, given: (2 * given[0],))
    elif where == "forward":
        vars(part)["forward"] = lambda x: 2 * x
    else:
        part = type("Other", (nn.Linear,), {"forward": lambda self, x: 2 * x})(3, 3)
    assert torch_maps.laid_out((nn.Linear(3, 2), part)) is None
    cache, x = torch_cache.Cache(M), torch.randn(1, 3)
    torch.testing.assert_close(cache.map(x, part), part(x))


def test_weights_are_laid_out_again_when_they_change() -> None:
    layouts, one, bias = torch_maps.Layouts(), nn.Parameter(torch.tensor([[1.0, 2.0], [3.0, 4.0]])), torch.ones(2)
    first = layouts.of([one], [bias])
    assert layouts.of([one], [bias]) is first and layouts.of([one], [None]) is not first

    def changed() -> bool:
        nonlocal first
        before, first = first, layouts.of([one], [bias])
        assert torch.equal(first.weight, one) and first.bias is not None and torch.equal(first.bias, bias)
        assert len(layouts.known) == 2
        return first is not before

    assert not changed()
    one.data.neg_()
    assert changed()
    one.data = one.data.flip(0)
    assert changed()
    one.data.copy_(one.data.flip(1))
    assert changed()
    bias.data.copy_(torch.tensor([2.0, 0.0]))
    assert changed()
    bias.data.copy_(bias.flip(0))
    assert changed()
    one.data = one.data.clone()
    assert changed() and not changed()
    del one
    gc.collect()
    assert layouts.known == {}
    for dtype in (torch.float16, torch.bfloat16, torch.float64):
        x = torch.ones(2, 2, dtype=dtype)
        assert layouts.of([x], [None]) is layouts.of([x], [None])
    with torch.inference_mode():
        x = torch.ones(2, 2)
        assert layouts.of([x], [None]) is layouts.of([x], [None])


def test_numpy_weights_that_lie_side_by_side() -> None:
    """In order and in one block: one array of all; with a bias, zeros stand for those that have none."""
    whole = np.arange(24.0).reshape(8, 3)
    a, b, c = whole[:3], whole[3:4], whole[4:]
    one, other = np.array([1.0, 2.0, 3.0]), np.array([9.0])
    found = numpy_maps.joint(((a,), (b,), (c,)))
    assert found is not None and np.shares_memory(found.weight, whole) and found.bias is None
    assert found.spans == [(0, 3), (3, 4), (4, 8)] and (found.weight == whole).all()
    biased = numpy_maps.joint(((a, one), (b,)))
    assert biased is not None and biased.bias is not None and biased.bias.tolist() == [1, 2, 3, 0]
    assert (biased.weight == whole[:4]).all() and len(biased.parts) == 2
    alone = numpy_maps.joint(((np.ones((2, 3)), other.repeat(2)),))
    assert alone is not None and alone.spans == [(0, 2)] and alone.weight.shape == (2, 3)
    x = np.random.default_rng(0).standard_normal((2, 3))
    for part, result in zip((a @ x.T, b @ x.T), numpy_maps.map_rows(x, biased), strict=True):
        np.testing.assert_allclose(result, (part + (one[:, None] if len(part) == 3 else 0)).T)
    for apart in ((b, a), (a, c), (a, a), (a, b.copy()), (a.copy(), b), (whole[:3:2], b)):
        assert numpy_maps.joint(tuple((part,) for part in apart)) is None
    assert numpy_maps.joint(((whole.copy(),), (whole.copy(),))) is None  # each a block of its own


def test_how_many_rows_numpy_does_at_once() -> None:
    whole = np.random.default_rng(0).standard_normal((5, 3))
    a, b, x = (whole[:2],), (whole[2:],), np.random.default_rng(1).standard_normal((2, 9, 3))
    for rows, count in ((x[:, : numpy_maps.FEW // 2], 1), (x, 0), (x.reshape(-1, 3)[: numpy_maps.FEW + 1], 0)):
        cache = numpy_decoding.Cache(M)
        for found, part in zip(cache.maps(rows, a, b), (a, b), strict=True):
            np.testing.assert_allclose(found, rows @ part[0].T)
        assert len(cache.joint) == count
    cache = numpy_decoding.Cache(M)
    for found, part in zip(cache.maps(x[:1, :2], b, a), (b, a), strict=True):
        np.testing.assert_allclose(found, x[:1, :2] @ part[0].T)
    assert list(cache.joint.values()) == [None]
