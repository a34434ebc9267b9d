"""Learned maps of a step: done together where their weights lie side by side, which are the model's own."""

from __future__ import annotations

import copy
import gc
import pickle
import re
from collections import Counter
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

import attnc
from attnc.backends.plan.lower import lower, stepping
from attnc.backends.runtime.common.decoding import Configuration
from attnc.backends.runtime.numpy import decoding as numpy_decoding
from attnc.backends.runtime.numpy import maps as numpy_maps
from attnc.backends.runtime.torch import cache as torch_cache
from attnc.backends.runtime.torch import maps as torch_maps
from attnc.compiler.decoding.steps.join_maps import weights_together
from tests.backends.written import written

from .steps import check_steps

M = Configuration("m", "", {}, "x", "t", None)
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


def step_of(model: attnc.Model) -> str:
    source = written(model, "torch")
    return source[source.index("def multihead_step(") :]


def test_maps_of_one_value_are_one_product(model: attnc.Model) -> None:
    code = step_of(model)
    assert "Q, K, V = cache.heads(base, net.key, net.Q, net.K, net.V)" in code
    assert re.search(r"gate, \w+ = cache\.maps\(x, net\.gate, net\.up\)", code)
    assert "F.linear(x, net.E)" in code and "net.O(" in code
    code = written(model, "numpy")
    assert re.search(r"Q, K, V = cache\.maps\(\s*base,", code) and 'linear(x, w["E"])' in code


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
    code = step_of(attnc.loads(text).model("two"))
    assert "K, V = cache.heads(injected, net.key, net.K, net.V)" in code
    assert "Q = net.Q(base)" in code


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


def trained(net: nn.Module) -> None:
    optimizer = torch.optim.AdamW(net.parameters(), lr=0.1)
    net(torch.from_numpy(IDS)).square().sum().backward()
    optimizer.step()


def assigned(net: nn.Module) -> None:
    net.load_state_dict({key: x * 1.25 for key, x in net.state_dict().items()}, assign=True)


def moved(net: nn.Module) -> None:
    net.to(torch.float32).to(torch.float64)


IN_PLACE = [in_place, by_data, by_sign, by_place, by_row, loaded, trained]
OTHERS = [replaced, assigned, moved, wrapped, patched, hooked, parametrized]


@pytest.mark.parametrize("laid_out", [False, True])
@pytest.mark.parametrize("change", [*IN_PLACE, *OTHERS])
def test_steps_follow_every_change_of_the_weights(model: attnc.Model, change: object, laid_out: bool) -> None:
    net = model.torch(seed=0, dtype=torch.float64).eval()
    if laid_out:
        net.lay_out_for_decoding()  # type: ignore[operator]
    steps_equal_whole(net)
    change(net)  # type: ignore[operator]
    steps_equal_whole(net)
    twin = copy.deepcopy(net)
    in_place(twin)
    steps_equal_whole(twin)
    steps_equal_whole(net)


@pytest.mark.parametrize("static", [False, True])
@pytest.mark.parametrize("change", IN_PLACE)
def test_generate_follows_what_changes_weights_in_place(model: attnc.Model, change: object, static: bool) -> None:
    net, plain = (model.torch(seed=0, dtype=torch.float64).eval() for _ in range(2))
    net.lay_out_for_decoding()  # type: ignore[operator]
    ids = torch.from_numpy(IDS)
    for _ in range(3):
        found = net.generate(ids, 9, static=static)  # type: ignore[operator]
        assert torch.equal(found, plain.generate(ids, 9))  # type: ignore[operator]
        change(net)  # type: ignore[operator]
        plain.load_state_dict(net.state_dict())
        assert in_layout(net)


@pytest.mark.parametrize("change", IN_PLACE)
def test_the_next_step_of_a_cache_follows_it_too(model: attnc.Model, change: object) -> None:
    nets = [model.torch(seed=0, dtype=torch.float64).eval() for _ in range(2)]
    nets[0].lay_out_for_decoding()  # type: ignore[operator]
    caches = [net.prepare() for net in nets]  # type: ignore[operator]
    for place in range(4):
        found, right = (
            net.step(torch.from_numpy(IDS[:, place : place + 1]), cache)  # type: ignore[operator]
            for net, cache in zip(nets, caches, strict=True)
        )
        torch.testing.assert_close(found, right, rtol=1e-9, atol=1e-9)
        change(nets[0])  # type: ignore[operator]
        nets[1].load_state_dict(nets[0].state_dict())


def in_layout(net: nn.Module) -> bool:
    """Whether the maps of a step are one product each."""
    cache = net.prepare()  # type: ignore[operator]
    net.step(torch.from_numpy(IDS[:, :1]), cache)  # type: ignore[operator]
    firsts = [first for layer in cache.parts_of(net).layers for first in (layer.self.Q, layer.fed.gate)]
    found = [to is not None for first in firsts for to in first.beside.values()]
    assert len(found) == 4 and len({*found}) == 1
    return found[0]


def test_when_weights_are_laid_out(model: attnc.Model) -> None:
    """When it is asked for, and until they get other memory or it is undone."""
    net = model.torch(seed=0).eval()
    strides = {name: x.stride() for name, x in net.named_parameters()}
    net.generate(torch.from_numpy(IDS), 3)  # type: ignore[operator]
    assert not in_layout(net)
    for leave in (lambda: net.lay_out_for_decoding(undo=True), lambda: moved(net), lambda: assigned(net)):  # type: ignore[operator]
        net.lay_out_for_decoding()  # type: ignore[operator]
        assert in_layout(net) and net.layers[0].self.O.weight.stride() == (1, 12)  # type: ignore[index, union-attr]
        net.train()
        net.eval().requires_grad_(False).requires_grad_(True)
        assert in_layout(net)
        leave()
        net.float()
        assert not in_layout(net)
    net.lay_out_for_decoding(undo=True)  # type: ignore[operator]
    assert strides == {name: x.stride() for name, x in net.named_parameters()}
    assert len({x.untyped_storage().data_ptr() for x in net.parameters()}) == len(strides)


def test_maps_that_are_not_what_they_were_stay_as_they_lie(model: attnc.Model) -> None:
    net = model.torch(seed=0, dtype=torch.float64).eval()
    wrapped(net)
    hooked(net)
    before = {name: x.data_ptr() for name, x in net.named_parameters()}
    net.lay_out_for_decoding()  # type: ignore[operator]
    stay = {name for name, x in net.named_parameters() if x.data_ptr() == before[name]}
    assert {"E", "layers.1.fed.gate.weight"} <= stay and "layers.0.self.K.weight" not in stay
    steps_equal_whole(net)


def held(net: nn.Module) -> int:
    """The bytes of memory in which the weights lie, and of all that the model holds besides."""
    memories = {x.untyped_storage().data_ptr(): x.untyped_storage().nbytes() for x in net.state_dict().values()}
    return sum(memories.values())


def tensors_alive() -> int:
    """The bytes of memory of all plain tensors."""
    gc.collect()
    plain = [x for x in gc.get_objects() if type(x) in (torch.Tensor, nn.Parameter) and torch._C._has_storage(x)]
    return sum({x.untyped_storage().data_ptr(): x.untyped_storage().nbytes() for x in plain}.values())


@pytest.mark.parametrize("laid_out", [False, True])
def test_there_is_one_copy_of_the_weights(model: attnc.Model, laid_out: bool) -> None:
    net = model.torch(seed=0).eval()
    own, alive = held(net), tensors_alive()
    if laid_out:
        net.lay_out_for_decoding()  # type: ignore[operator]
    cache = net.prepare()  # type: ignore[operator]
    for place in range(3):
        net.step(torch.from_numpy(IDS[:, place : place + 1]), cache)  # type: ignore[operator]
    assert held(net) == own
    assert tensors_alive() - alive <= cache.nbytes
    del cache
    net.generate(torch.from_numpy(IDS), 3)  # type: ignore[operator]
    assert tensors_alive() <= alive


NAMES = {"linear": "product", "addmm": "product", "mm": "product", "layer_norm": "norm", "native_layer_norm": "norm"}


class Reads(TorchDispatchMode):
    """Counts the operations to which tensors in the memory of the weights are given, views aside."""

    def __init__(self, net: nn.Module) -> None:
        super().__init__()
        self.weights = {x.untyped_storage().data_ptr() for x in net.parameters()}
        self.counted = Counter[str]()

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        given = [x for x in tree_leaves((args, kwargs)) if isinstance(x, torch.Tensor)]
        if not func.is_view and any(x.untyped_storage().data_ptr() in self.weights for x in given):
            name = func.overloadpacket.__name__
            self.counted[NAMES.get(name, name)] += 1
        return func(*args, **(kwargs or {}))


@pytest.mark.parametrize("laid_out", [False, True])
def test_nothing_reads_the_weights_but_the_products(model: attnc.Model, laid_out: bool) -> None:
    """Per step and layer: Q, K, V, O, gate, up, down, two norms; besides, the embedding and the scores."""
    net = model.torch(seed=0).eval()
    if laid_out:
        net.lay_out_for_decoding()  # type: ignore[operator]
    for count in (1, 4):
        with Reads(net) as reads:
            net.generate(torch.from_numpy(IDS[:, :1]), count)  # type: ignore[operator]
        assert reads.counted == {
            "embedding": count,
            "norm": 4 * count,
            "product": count * (1 + 2 * (4 if laid_out else 7)),
        }


def test_the_state_dict_is_what_the_spec_says(model: attnc.Model) -> None:
    net = model.torch(seed=0).eval()
    before = {key: x.clone() for key, x in net.state_dict().items()}
    net.lay_out_for_decoding()  # type: ignore[operator]
    assert list(net.state_dict()) == list(before)
    assert all(torch.equal(x, before[key]) for key, x in net.state_dict().items())
    net.lay_out_for_decoding(undo=True)  # type: ignore[operator]
    net.generate(torch.from_numpy(IDS), 3)  # type: ignore[operator]
    after = net.state_dict()
    assert list(after) == list(before)
    for key, x in after.items():
        assert x.is_contiguous() and torch.equal(x, before[key])


def test_numpy_weights_lie_side_by_side_and_may_change(model: attnc.Model) -> None:
    net = model.numpy(seed=0, dtype=np.float64)
    w = net.weights
    Q, K, V, out = ((w[f"layers.0.self.{part}.weight"],) for part in "QKVO")
    joint = numpy_maps.joint
    found = joint((Q, K, V))
    np.testing.assert_array_equal(found.weight, np.concatenate([*Q, *K, *V]))
    assert np.shares_memory(found.weight, Q[0]) and joint((Q, V)) is joint((Q, out)) is None
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
    """Side by side, of [in, out] in memory where there are no fewer results than operands."""
    draw = torch.Generator().manual_seed(0)
    wide, narrow, square = (torch.randn(*shape, generator=draw) for shape in ((5, 3), (2, 3), (3, 3)))
    for given, turned in (([wide], True), ([narrow], False), ([wide, narrow], True), ([square], True)):
        weights = [nn.Parameter(x.clone()) for x in given]
        torch_maps.place(weights, apart=False)
        whole = torch_maps.side_by_side([*weights])
        assert whole is not None and torch.equal(whole, torch.cat(given)) and not whole.requires_grad
        assert whole.T.is_contiguous() == turned and whole.is_contiguous() != turned
        assert all(torch.equal(x, right) and x.requires_grad for x, right in zip(weights, given, strict=True))
        torch_maps.place(weights, apart=True)
        assert all(torch.equal(x, right) and x.is_contiguous() for x, right in zip(weights, given, strict=True))
        assert len(given) == 1 or torch_maps.side_by_side([*weights]) is None
    torch_maps.place([], apart=False)


def test_which_tensors_lie_side_by_side() -> None:
    whole = torch.arange(24.0).reshape(8, 3)
    a, b, c = whole[:3], whole[3:4], whole[4:]
    found = torch_maps.side_by_side([b, c])
    assert found is not None and torch.equal(found, whole[3:]) and found.data_ptr() == b.data_ptr()
    for apart in ((b, a), (a, c), (a, a), (a, b.clone()), (a, b.int()), (a, b.view(torch.int32)), (a, b[:, :2])):
        assert torch_maps.side_by_side([*apart]) is None
    assert torch_maps.side_by_side([whole[:3:2], whole[4::2]]) is not None  # every second row
    vector = torch.arange(5.0)
    found = torch_maps.side_by_side([vector[1:3], vector[3:]])
    assert found is not None and found.tolist() == [1, 2, 3, 4]


def linears(*sizes: int, bias: bool = True) -> tuple[nn.Linear, ...]:
    """Maps of 3 operands, side by side."""
    found = tuple(nn.Linear(3, size, bias=bias) for size in sizes)
    torch_maps.place([part.weight for part in found], apart=False)
    torch_maps.place([part.bias for part in found if bias], apart=False)
    return found


def test_which_maps_are_one_product() -> None:
    """Those of `parts_of`, that is: as they are, modules are called one by one."""
    x, table = torch.randn(2, torch_maps.FEW // 2, 3), torch.randn(5, 3)
    cache = torch_cache.Cache(M)
    modules, unbiased = linears(4, 2), linears(2, 3, bias=False)
    one, other = (torch_maps.plain_part(part, set()) for part in modules)
    bare = tuple(torch_maps.plain_part(part, set()) for part in unbiased)
    with torch.no_grad():
        for parts, together in (
            ((one, other), [4, 2]), ((other, one), None), ((one, other, table), None), (bare, [2, 3]), (modules, None),
        ):  # fmt: skip
            to = torch_maps.joined_maps(x, parts)
            assert (None if to is None else to.sizes) == together
            for found, part in zip(cache.maps(x, *parts), parts, strict=True):
                torch.testing.assert_close(found, torch_maps.map_each(x, part))
            if table not in parts:
                for found, part in zip(cache.heads(x, 1, *parts), parts, strict=True):
                    torch.testing.assert_close(found, part(x).mT[..., None])
        torch.testing.assert_close(torch_maps.map_each(x, table), x @ table.T)
        for many in (torch.randn(torch_maps.FEW + 1, 3), torch.randn(2, 9, 3)):
            assert torch_maps.joined_maps(many, (one, other)) is None
            for found, part in zip(cache.maps(many, one, other), (one, other), strict=True):
                torch.testing.assert_close(found, part(many))
        traced = torch.func.vmap(lambda x: cache.maps(x, *modules))(x)
        torch.testing.assert_close(traced, (one(x), other(x)))
        first, apart = modules[0], nn.Linear(3, 2)
        apart.weight.data = modules[1].weight.data  # side by side with its neighbour, but not its bias
        assert torch_maps.joint((first, apart)) is None and torch_maps.joint(modules) is not None
        apart.register_parameter("bias", None)
        assert torch_maps.joint((first, apart)) is None
        assert torch_maps.joint(tuple(part.to("meta") for part in linears(4, 2))) is None


@pytest.mark.parametrize("where", ["forward hook", "pre hook", "forward", "class"])
def test_maps_that_are_not_what_they_were_are_called(where: str) -> None:
    first, part = linears(2, 3)
    assert torch_maps.joint((first, part)) is not None
    if where == "forward hook":
        part.register_forward_hook(lambda module, given, found: 2 * found)
    elif where == "pre hook":
        part.register_forward_pre_hook(lambda module, given: (2 * given[0],))
    elif where == "forward":
        vars(part)["forward"] = lambda x: 2 * x
    else:
        part.__class__ = type("Other", (nn.Linear,), {"forward": lambda self, x: 2 * x})  # type: ignore[assignment]
    assert torch_maps.joint((first, part)) is None
    cache, x = torch_cache.Cache(M), torch.randn(1, 3)
    given = [torch_maps.plain_part(one, set()) for one in (first, part)]
    assert given[1] is part
    torch.testing.assert_close(cache.maps(x, *given), (first(x), part(x)))


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


WAYS = {"pickle": lambda net: pickle.loads(pickle.dumps(net)), "deepcopy": copy.deepcopy}


@pytest.mark.parametrize("way", WAYS)
def test_copies_of_a_model_that_is_laid_out(model: attnc.Model, way: str) -> None:
    net = model.torch(seed=0, dtype=torch.float64).eval()
    net.lay_out_for_decoding()  # type: ignore[operator]
    twin = WAYS[way](net)
    in_place(twin)
    steps_equal_whole(twin)
    steps_equal_whole(net)
    twin.lay_out_for_decoding()
    assert in_layout(twin) and in_layout(net)


def test_a_model_without_generate_is_laid_out_too() -> None:
    text = """
use std.attention: multihead, model, heads
width seq
width past like seq
depth model = 12, heads = 3
model encoder(x: [seq, model]) -> [seq, model] causal seq {
    return multihead.self[seq, past](x, x[seq as past], past <= seq) + linear.lay[model -> model](x)
}
"""
    model = attnc.loads(text).model("encoder")
    assert "def lay_out_for_decoding(net: Encoder" in written(model, "torch")
    assert "Decoder" not in written(model, "torch") and not hasattr(model.torch(), "generate")
    net = model.torch(seed=0).eval()
    with torch.inference_mode():
        net.lay_out_for_decoding()
    x = torch.randn(1, 3, 12)
    cache = net.prepare()
    found = torch.cat([net.step(x[:, i : i + 1], cache) for i in range(3)], 1)
    torch.testing.assert_close(found, net(x))
    assert all(to is not None for to in cache.parts_of(net).self.Q.beside.values())
    net(x).sum().backward()  # weights that were laid out in inference mode may be trained


@pytest.mark.parametrize("name", ["lay_out_for_decoding", "decodes"])
def test_a_part_may_be_called_as_a_method_of_decoding(name: str) -> None:
    """Its model does not decode, which the checker tells."""
    text = f"width n\ndepth d = 3\nmodel f(x: [n, d]) -> [n, d] causal n {{\n    return linear.{name}[d -> d](x)\n}}\n"
    spec = attnc.loads(text)
    assert [warning.code for warning in spec.warnings] == ["W0514"]
    net = spec.model("f").torch(seed=0)
    assert list(net.state_dict()) == [f"{name}.weight", f"{name}.bias"] and net(torch.zeros(2, 3)).shape == (2, 3)
    with pytest.raises(AttributeError, match=f"no step: a part of it with weights is called `{name}`"):
        net.step  # noqa: B018


def test_two_maps_with_one_weight(model: attnc.Model) -> None:
    net = model.torch(seed=0, dtype=torch.float64).eval()
    net.layers[0].self.K.weight = net.layers[0].self.Q.weight  # type: ignore[index, union-attr]
    net.layers[1].self.O.weight = net.layers[0].self.O.weight  # type: ignore[index, union-attr]
    net.lay_out_for_decoding()  # type: ignore[operator]
    assert net.layers[0].self.K.weight is net.layers[0].self.Q.weight  # type: ignore[index, union-attr]
    steps_equal_whole(net)
    in_place(net)
    steps_equal_whole(net)
