"""Experts computed for what picked them alone: the numbers and gradients of all of them computed."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import torch
from torch import Tensor

import attnc

from .experts import program

LEFT_OUT = ["dispatch"]
MANY = 10
STD = """
use std.experts: experts, model, inner, expert, chosen
width seq
depth model = 8, inner = 4, expert = 6, chosen = 2
model f(x: [seq, model]) -> [seq, model] {
    return experts(x)
}
"""


def nets(text: str, dtype: torch.dtype = torch.float64) -> tuple[torch.nn.Module, torch.nn.Module]:
    """With the pass, and without, of the same weights."""
    model = attnc.loads(text).model("f")
    both = model.torch(seed=1, dtype=dtype), model.torch(seed=1, dtype=dtype, without=LEFT_OUT)
    assert [*both[0].state_dict()] == [*both[1].state_dict()]
    assert all(map(torch.equal, both[0].state_dict().values(), both[1].state_dict().values()))
    return both


def same(found: Tensor, wanted: Tensor, most: float) -> None:
    found, wanted = found.detach(), wanted.detach()
    assert found.shape == wanted.shape
    if wanted.numel():
        scale = max(float(wanted.std(correction=0)), float(wanted.abs().max()) / 10, 1e-6)
        assert float((found - wanted).abs().max()) <= most * scale


def check(seed: int, dtype: torch.dtype) -> bool:
    """Numbers and gradients in both backends; whether the pass did something."""
    text, most = program(seed), 1e-10 if dtype is torch.float64 else 2e-5
    model = attnc.loads(text).model("f")
    one, other = nets(text, dtype)
    depth = model._sized.inputs[0].value.type.axes[1].extent
    torch.manual_seed(seed)
    weights = {name: x.numpy() for name, x in one.state_dict().items()}
    for shape in ((2, 5, depth), (1, depth), (3, 1, depth), (0, depth)):
        x, cotangent = torch.randn(*shape, dtype=dtype), torch.randn(*shape, dtype=dtype)
        found = []
        for net in (one, other):
            at = x.clone().requires_grad_()
            y = net(at)
            wanted = [w for _, w in sorted(net.named_parameters())]
            grads = torch.autograd.grad(y, [at, *wanted], cotangent, allow_unused=True)
            found.append([y.detach(), *(torch.zeros(1) if g is None else g for g in grads)])
        for mine, theirs in zip(*found, strict=True):
            same(mine, theirs if theirs.shape == mine.shape else torch.zeros_like(mine), most)
        with torch.no_grad():
            same(one(x), found[1][0], most)
        arrays = [model.numpy(weights=weights, without=without)(x.numpy()) for without in ([], LEFT_OUT)]
        for array in arrays:
            same(torch.from_numpy(np.asarray(array)), found[1][0], most)
    return "Dispatch(" in model.source("torch")


def check_seeds(seeds: range) -> None:
    done = sum(check(seed, torch.float64 if seed % 3 else torch.float32) for seed in seeds)
    assert done > 0.8 * len(seeds)


def test_random_programs() -> None:
    check_seeds(range(MANY))


@pytest.mark.slow
@pytest.mark.parametrize("group", range(1, 50))
def test_more_random_programs(group: int) -> None:
    check_seeds(range(group * MANY, (group + 1) * MANY))


def test_what_is_not_picked_is_not_read() -> None:
    """An expert that makes no number of anything is harmless to those who did not pick it."""
    one, other = nets(STD)
    with torch.no_grad():
        for net in (one, other):
            net.get_parameter("experts.down.weight")[3].fill_(torch.nan)
    x = torch.randn(9, 8, dtype=torch.float64)
    picked = (one.experts.route.router(x).topk(2).indices == 3).any(-1)
    assert 0 < int(picked.sum()) < 9
    assert torch.equal(one(x).isnan().any(-1), picked) and bool(other(x).isnan().all())


def test_one_item_reads_the_matrices_of_its_experts() -> None:
    """And nothing else: elsewhere there may be no numbers."""
    model = attnc.loads(STD).model("f")
    net, x = model.torch(seed=2).eval(), torch.randn(1, 8)
    with torch.no_grad():
        wanted = net(x)
        best = net.experts.route.router(x).topk(2).indices[0].tolist()
        for name in ("gate", "up", "down"):
            weight = net.experts.get_submodule(name).weight
            weight[[e for e in range(6) if e not in best]] = torch.nan
        assert torch.equal(net(x), wanted)
    again = model.numpy(weights={name: w.numpy() for name, w in net.state_dict().items()})(x.numpy())
    np.testing.assert_allclose(again, wanted.numpy(), atol=1e-6)


def test_experts_without_rows_have_no_gradient() -> None:
    one, _ = nets(STD)
    x = torch.randn(1, 8, dtype=torch.float64)
    one(x).sum().backward()
    best = one.experts.route.router(x).topk(2).indices[0].tolist()
    grad = one.experts.gate.weight.grad
    assert [bool(grad[e].any()) for e in range(6)] == [e in best for e in range(6)]


def test_gradients_of_gradients() -> None:
    one, _ = nets(STD)
    x = torch.randn(2, 8, dtype=torch.float64, requires_grad=True)
    names = [name for name, _ in one.named_parameters() if "router" not in name]

    def made(x: Tensor, *weights: Tensor) -> Tensor:
        found: Tensor = torch.func.functional_call(one, dict(zip(names, weights, strict=True)), (x,))
        return found

    given = (x, *(one.get_parameter(name).detach().requires_grad_() for name in names))
    assert torch.autograd.gradcheck(made, given, fast_mode=True) and torch.autograd.gradgradcheck(
        made, given, fast_mode=True
    )


def test_where_torch_traces_all_are_computed() -> None:
    one, other = nets(STD)
    x = torch.randn(2, 5, 8, dtype=torch.float64)
    exported = torch.export.export(one, (x,)).module()
    same(exported(x), other(x), 1e-10)
    each = torch.func.vmap(one)(x)
    same(each, other(x), 1e-10)
    assert one.to("meta")(x.to("meta")).shape == x.shape


def test_autocast_and_half_precision() -> None:
    one, other = nets(STD, torch.float32)
    x = torch.randn(7, 8)
    with torch.autocast("cpu", torch.bfloat16):
        y = one(x)
        same(y.float(), other(x).float(), 0.1)
    y.float().sum().backward()
    assert one.experts.gate.weight.grad.dtype is torch.float32
    same(one.bfloat16()(x.bfloat16()).float(), other.bfloat16()(x.bfloat16()).float(), 0.1)


def test_dropout_within_experts() -> None:
    text = """
width seq
depth model = 8, inner = 64, expert = 4
model f(x: [seq, model]) -> [seq, expert_] {
    s = linear.router[model -> expert](x)
    best = argmax[expert](s)
    h = dropout(1 + 0 * linear.up[expert: model -> inner](x), 0.25)
    return dot[expert](select(expert == best, 1, 0), linear.down[expert: inner -> expert_](h, bias = false))
}
""".replace("expert = 4", "expert = 4, expert_ = 1")
    one, other = nets(text)
    with torch.no_grad():
        for net in (one, other):
            net.get_parameter("down.weight").fill_(1 / 64)
    x = torch.randn(500, 8, dtype=torch.float64)
    for net, training in itertools.product((one, other), (False, True)):
        y = net.train(training)(x).detach()
        assert abs(float(y.mean()) - 1) < 0.02
        assert abs(float(y.std()) - (0.25 / 0.75 / 64) ** 0.5 * training) < 0.02


def test_steps_dispatch_too() -> None:
    text = """
use std.attention: multihead, heads, model
use std.experts: experts, inner, expert, chosen, model
width seq
width past like seq
depth model = 8, heads = 2, vocab = 9, inner = 4, expert = 6, chosen = 2
const layers = 2
model f(ids: vocab[seq]) -> [seq, vocab] causal seq {
    x = embed.E[vocab -> model](ids)
    repeat layers {
        x = x + multihead.self[seq, past](x, x[seq as past], past <= seq)
        x = x + experts(x)
        up = linear[expert: model -> inner](x)
        p = softmax[expert](linear.router[model -> expert](x))
        w = select(expert == argmax[expert](p), p, 0)
        x = x + dot[expert](w, linear.down[expert: inner -> model](silu(up)))
    }
    return linear.logits[model -> vocab](x)
}
"""
    one, other = nets(text)
    prompt = torch.randint(9, (3, 4))
    wanted = prompt
    for _ in range(6):
        wanted = torch.cat([wanted, other(wanted)[:, -1:].argmax(-1)], 1)
    for net in (one, other):
        assert torch.equal(net.generate(prompt, 6), wanted[:, 4:])
    model = attnc.loads(text).model("f")
    weights = {name: x.numpy() for name, x in one.state_dict().items()}
    assert np.array_equal(model.numpy(weights=weights).generate(prompt.numpy(), 6), wanted[:, 4:].numpy())


def test_a_balance_loss_reads_the_scores_of_all() -> None:
    text = """
width seq
depth model = 4, inner = 3, expert = 6, chosen = 2
model f(x: [seq, model]) -> (y: [seq, model], loss: []) {
    s = linear.router[model -> expert](x)
    best = topk[expert -> chosen](s)
    w = sum[chosen](select(expert == best, softmax[chosen](s[expert = best]), 0))
    loss = dot[expert](mean[seq](w), mean[seq](softmax[expert](s))) * |expert|
    return dot[expert](w, linear.down[expert: inner -> model](relu(linear.up[expert: model -> inner](x)))), loss
}
"""
    assert "Dispatch(" in attnc.loads(text).model("f").source("torch")
    x, found = torch.randn(2, 7, 4, dtype=torch.float64), []
    for net in nets(text):
        y, loss = net(x)
        (y.square().sum() + 3 * loss.sum()).backward()
        found.append([y.detach(), loss.detach(), *(w.grad for w in net.parameters())])
    for mine, theirs in zip(*found, strict=True):
        same(mine, theirs, 1e-10)


def test_one_call_of_a_router_of_several_is_left_alone() -> None:
    """Calls that share weights share a class: where only one of them would give more, none does."""
    text = """
width seq
depth model = 4, inner = 3, expert = 6, chosen = 2
block route(x: [model]) -> [expert] {
    s = linear.router[model -> expert](x)
    best = topk[expert -> chosen](s)
    return sum[chosen](select(expert == best, softmax[chosen](s[expert = best]), 0))
}
model f(x: [seq, model]) -> [seq, model] {
    share r = route
    made = linear.up[expert: model -> model](x)
    return dot[expert](r(x), made) + mean[expert](r(2 * x)) * x
}
"""
    one, other = nets(text)
    x = torch.randn(5, 4, dtype=torch.float64)
    same(one(x), other(x), 1e-10)


AXES = {"c": "", "v": "d", "x": "s, d", "w": "g, d", "z": "s, g, d"}


def lacking(name: str) -> str:
    """An input, repeated along `g` and `d` where it has not got them."""
    missing = [axis for axis in ("g", "d") if axis not in AXES[name].split(", ")]
    return f"broadcast[{', '.join(missing)}]({name})" if missing else name


@pytest.mark.parametrize("picks", ["", "s"])
def test_what_is_read_may_lack_axes_and_a_batch(picks: str) -> None:
    sizes, draw = {"s": 5, "d": 3, "g": 4}, np.random.default_rng(0)
    inputs = ", ".join(f"{name}: [{axes}]" for name, axes in AXES.items())
    for one, other in itertools.combinations_with_replacement(AXES, 2):
        made = "s" if "s" in (picks, AXES[one][:1], AXES[other][:1]) else ""
        text = (
            f"width s\ndepth d = 3, g = 4\nmodel f({inputs}, i: int[{picks}]) -> [{made}] {{\n"
            f"    return dot[d]({lacking(one)}, {lacking(other)})[g = index[g](i % |g|)]\n}}\n"
        )
        model, modules = attnc.loads(text).model("f"), nets(text)
        for lead in [(), (2,)]:
            shapes = ([sizes[axis] for axis in axes.split(", ") if axis] for axes in (*AXES.values(), picks))
            *values, index = (draw.normal(size=(*lead, *shape)) * 5 for shape in shapes)
            found = [model.numpy(without=without)(*values, np.abs(index).astype(int)) for without in ([], LEFT_OUT)]
            given = [*map(torch.as_tensor, values), torch.as_tensor(np.abs(index).astype(int))]
            for grad, net in itertools.product((True, False), modules):
                with torch.set_grad_enabled(grad):
                    found.append(net(*given).detach().numpy())
            for each in found[1:]:
                np.testing.assert_allclose(each, found[0], rtol=1e-9, atol=1e-12, err_msg=text)
