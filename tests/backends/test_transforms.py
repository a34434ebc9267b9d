"""What PyTorch does to functions (torch.func, tracing, many gradients at once) works on models with masks and ids."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.fx.experimental.proxy_tensor import make_fx

import attnc

TEXT = """\
use std.attention: multi_query, model, heads
width t
width k like t
depth model = 64, heads = 2, vocab = 11
model net(ids: vocab[t], real: bool[t]) -> [t, model] {
    param E: [vocab, model] ~ normal(1)
    x = E[vocab = ids]
    return multi_query[t, k](x, x[t as k], k <= t and t - k < 9 and real[t as k])
}
model of_reals(x: [t, model], real: bool[t]) -> [t, model] {
    return multi_query[t, k](x, x[t as k], k <= t and t - k < 9 and real[t as k])
}
"""
SPEC = attnc.loads(TEXT)
pytestmark = pytest.mark.filterwarnings("ignore")  # that it is slow, or deprecated


@pytest.fixture
def net() -> nn.Module:
    return SPEC.model("net").torch(seed=0, dtype="float64")


def given(batch: int, width: int) -> tuple[Tensor, Tensor]:
    draw = torch.Generator().manual_seed(0)
    ids, real = torch.randint(11, (batch, width), generator=draw), torch.rand(batch, width, generator=draw) > 0.3
    return ids, real


def test_gradients_of_each_example(net: nn.Module) -> None:
    ids, real = given(3, 100)
    weights = dict(net.named_parameters())

    def loss(weights: Any, ids: Tensor, real: Tensor) -> Tensor:
        return torch.func.functional_call(net, weights, (ids, real)).sin().sum()

    found = torch.func.vmap(torch.func.grad(loss), (None, 0, 0))(weights, ids, real)
    for number in range(3):
        one = torch.autograd.grad(net(ids[number], real[number]).sin().sum(), list(weights.values()))
        for path, expected in zip(weights, one, strict=True):
            torch.testing.assert_close(found[path][number], expected)


@pytest.mark.parametrize("lead", [(), (1, 2)])
def test_many_gradients_at_once(lead: tuple[int, ...]) -> None:
    net = SPEC.model("of_reals").torch(seed=0, dtype="float64")
    x = torch.randn(*lead, 80, 64, dtype=torch.float64, requires_grad=True)
    out = net(x, torch.rand(*lead, 80) > 0.3)
    upstream = torch.randn(3, *out.shape, dtype=torch.float64)
    expected = torch.stack([torch.autograd.grad(out, x, one, retain_graph=True)[0] for one in upstream])
    (found,) = torch.autograd.grad(out, x, upstream, is_grads_batched=True, retain_graph=True)
    torch.testing.assert_close(found, expected)
    (found,) = torch.func.vmap(lambda one: torch.autograd.grad(out, x, one, retain_graph=True))(upstream)
    torch.testing.assert_close(found, expected)


def test_a_trace_holds_for_other_widths(net: nn.Module) -> None:
    traced = torch.jit.trace(net, given(2, 70))
    for width in (1, 70, 150):
        torch.testing.assert_close(traced(*given(3, width)), net(*given(3, width)))


TRUTHS = attnc.loads("""
width seq
width past like seq
depth model = 8
const layers = 2

block attend[free: const = false](x: [seq, model], mask: bool[seq, past]) -> [seq, model] {
    return dot[past](softmax[past](dot[model](x, x[seq as past]) where free or mask), x[seq as past])
}

model filled(x: [seq, model], real: bool[seq] = true, flag: bool[] = layers > 1) -> [seq, model] {
    return select(real, x, 0) * broadcast[seq](select(flag, 2, 3))
}

model chosen(x: [seq, model], real: bool[seq] = true) -> bool[seq] {
    some = sum[model](x) > 0
    return select(some, real, true) and select(some, false, not real) or select(real, true, false)
}

model consts(x: [seq, model], pad: bool[seq] = false) -> [seq, model] {
    repeat i in layers {
        x = x + select(x > 0 or i % 2 == 0, x, 0) + select(pad == (i > 0), 1, 0) + select(i > 0, x, 1)
        x = attend[free = i % 2 == 0](x, past <= seq)
    }
    return x
}

model masked(x: [seq, model], pad: bool[seq] = false) -> [seq, model] {
    return attend(x, not (past > seq and pad[seq as past])) + attend(x, not pad[seq as past])
}
""")


@pytest.mark.parametrize("name", TRUTHS.models)
@pytest.mark.parametrize("given", [False, True])
def test_a_trace_where_truth_values_meet_tensors(name: str, given: bool) -> None:
    """`torch.jit.trace` knows no op of a tensor and a truth value of Python's, nor one that fills with it."""
    net = TRUTHS.model(name).torch(seed=0, dtype="float64").eval()

    def inputs(*batch: int) -> tuple[Tensor, ...]:
        return torch.randn(*batch, 8, dtype=torch.float64), *([torch.rand(batch) > 0.5] if given else [])

    traced = torch.jit.trace(net, inputs(2, 5))
    for batch in ((2, 5), (3, 1), (1, 150)):
        case = inputs(*batch)
        torch.testing.assert_close(traced(*case), net(*case))


def test_a_trace_of_operations(net: nn.Module) -> None:
    ids, real = given(2, 70)
    torch.testing.assert_close(make_fx(net)(ids, real)(ids, ~real), net(ids, ~real))


def test_tensors_that_are_fake(net: nn.Module) -> None:
    with FakeTensorMode(allow_non_fake_inputs=True):
        out = net(torch.zeros(2, 70, dtype=torch.long), torch.ones(2, 70, dtype=torch.bool))
    assert out.shape == (2, 70, 64)


def test_forward_mode() -> None:
    net = SPEC.model("of_reals").torch(seed=0, dtype="float64")
    x, real = torch.randn(1, 80, 64, dtype=torch.float64), torch.rand(1, 80) > 0.3
    with torch.nn.attention.sdpa_kernel(torch.nn.attention.SDPBackend.MATH), torch.autograd.forward_ad.dual_level():
        out = net(torch.autograd.forward_ad.make_dual(x, torch.ones_like(x)), real)
        tangent = torch.autograd.forward_ad.unpack_dual(out).tangent
    near = (net(x + 1e-6, real) - net(x - 1e-6, real)) / 2e-6
    torch.testing.assert_close(tangent, near, rtol=1e-6, atol=1e-6)


def test_classes_of_32_bits() -> None:
    text = "width t\ndepth c = 5\nmodel loss(x: [t, c], ids: c[t]) -> [t] {\n    return cross_entropy[c](x, ids)\n}\n"
    net, x, ids = attnc.loads(text).model("loss").torch(), torch.randn(2, 3, 5), torch.tensor([[0, 1, 2], [4, 3, 0]])
    torch.testing.assert_close(net(x, ids.int()), net(x, ids))


@pytest.mark.parametrize("lead", [(0,), (2, 0), (0, 3), (2, 0, 1)])
@pytest.mark.parametrize("width", [0, 1, 70])
def test_no_examples(lead: tuple[int, ...], width: int) -> None:
    net = SPEC.model("of_reals").torch(seed=0)
    x = torch.zeros(*lead, width, 64, requires_grad=True)
    out = net(x, torch.ones(*lead, width, dtype=torch.bool))
    out.sum().backward()
    assert out.shape == x.shape
    assert x.grad is not None and all(weight.grad is not None for weight in net.parameters())
