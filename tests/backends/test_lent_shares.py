"""A share that stands outside of a shared repeat and is called in it, as in Perceiver: one set of weights."""

from __future__ import annotations

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

import attnc
from tests.decode.steps import check_steps

PERCEIVER = """
width latent = 3
width input, other like latent
depth d = 4
const times = 3
block cross(x: [latent, d], data: [input, d]) -> [latent, d] {
    w = softmax[input](dot[d](linear.Q[d -> d](x), data))
    return x + dot[input](w, linear.V[d -> d](data))
}
block think(x: [latent, d]) -> [latent, d] {
    w = softmax[other](dot[d](linear.Q[d -> d](x), x[latent as other]))
    return x + dot[other](w, x[latent as other])
}
model perceiver(data: [input, d]) -> [latent, d] {
    param start: [latent, d]
    share read = cross
    x = read(start, data)
    repeat i in times shared {
        if i > 0 {
            x = read(x, data)
        }
        x = think(x) + linear.more[d -> d](x)
    }
    return x
}
"""
DEEP = """
width seq
width past like seq
depth d = 4
const layers = 2, windows = [0, 2]
block mix[near: const](x: [seq, d]) -> [seq, d] {
    seen = past <= seq and (near == 0 or seq - past < near)
    w = softmax[past](dot[d](linear.Q[d -> d](x), x[seq as past]) where seen)
    return x + dot[past](w, x[seq as past])
}
block inner(x: [seq, d]) -> [seq, d] {
    share one = mix
    x = one[near = 0](x)
    repeat near in windows shared {
        param bias: [d] ~ uniform(1.0)
        repeat.twice 2 shared {
            x = one[near = near](x) + linear.U[d -> d](x)
        }
        x = layernorm.norm[d](x) + bias
    }
    return x
}
model net(x: [seq, d]) -> [seq, d] causal seq {
    repeat layers {
        x = inner(x)
    }
    return inner.last(x)
}
"""


def perceiver(w: dict[str, Tensor], data: Tensor) -> Tensor:
    def read(x: Tensor) -> Tensor:
        q = F.linear(x, w["read.Q.weight"], w["read.Q.bias"])
        return x + (q @ data.mT).softmax(-1) @ F.linear(data, w["read.V.weight"], w["read.V.bias"])

    x = read(w["start"])
    for i in range(3):
        x = read(x) if i else x
        q = F.linear(x, w["times.think.Q.weight"], w["times.think.Q.bias"])
        thought = x + (q @ x.mT).softmax(-1) @ x
        x = thought + F.linear(x, w["times.more.weight"], w["times.more.bias"])
    return x


def deep(w: dict[str, Tensor], x: Tensor) -> Tensor:
    place = torch.arange(x.shape[-2])
    far = place[:, None] - place

    def mix(x: Tensor, at: str, near: int) -> Tensor:
        q = F.linear(x, w[at + "one.Q.weight"], w[at + "one.Q.bias"])
        seen = (far >= 0) & ((far < near) if near else far >= 0)
        return x + (q @ x.mT).masked_fill(~seen, -torch.inf).softmax(-1) @ x

    for at in ("layers.0.inner.", "layers.1.inner.", "last."):
        x = mix(x, at, 0)
        for near in (0, 2):
            for _ in range(2):
                x = mix(x, at, near) + F.linear(x, w[at + "windows.twice.U.weight"], w[at + "windows.twice.U.bias"])
            x = (
                F.layer_norm(x, (4,), w[at + "windows.norm.weight"], w[at + "windows.norm.bias"])
                + w[at + "windows.bias"]
            )
    return x


PLAIN = {PERCEIVER: perceiver, DEEP: deep}


@pytest.mark.parametrize("text", PLAIN, ids=["perceiver", "deep"])
def test_calls_in_the_repeat_have_the_weights_of_those_outside(text: str) -> None:
    spec = attnc.loads(text)
    model = spec.model(spec.models[0])
    net, x = model.torch().double(), torch.randn(2, 5, 4, dtype=torch.float64)
    weights = dict(net.state_dict())
    assert weights.keys() == model.weights.keys()
    right = PLAIN[text](weights, x)
    torch.testing.assert_close(net(x), right, rtol=0, atol=1e-12)
    function = model.numpy({name: weight.numpy() for name, weight in weights.items()})
    np.testing.assert_allclose(function(x.numpy()), right.numpy(), rtol=0, atol=1e-12)
    assert model.cost().parameters.value == sum(weight.size for weight in model.weights.values())


def test_gradients_of_all_calls_meet() -> None:
    net = attnc.loads(PERCEIVER).model("perceiver").torch().double()
    x = torch.randn(2, 5, 4, dtype=torch.float64)
    net(x).sum().backward()
    weights = {name: weight.detach().requires_grad_() for name, weight in net.named_parameters()}
    perceiver(weights, x).sum().backward()
    for name, weight in net.named_parameters():
        torch.testing.assert_close(weight.grad, weights[name].grad)


def test_steps_of_calls_in_the_repeat() -> None:
    check_steps(attnc.loads(DEEP).model("net"), seeds=(0,), dtypes=("float64",))


def test_what_is_made_in_the_repeat_has_a_path() -> None:
    model = attnc.loads(PERCEIVER).model("perceiver")
    net, x = model.torch(capture=["times.think.w", "read.w", "times.x"]).double(), torch.randn(2, 5, 4).double()
    result, found = net(x)
    weights = {name: weight.detach().numpy() for name, weight in net.state_dict().items()}
    _, same = model.numpy(weights, capture=["times.think.w", "read.w", "times.x"])(x.numpy())
    for path in found:
        np.testing.assert_allclose(found[path].value.detach().numpy(), same[path].value, atol=1e-12)
    np.testing.assert_allclose(found["times.x"].value.detach(), result.detach())
    assert found["read.w"].value.shape[-2:] == (3, 5)


def test_the_figure_shows_the_share_at_each_call() -> None:
    text = attnc.loads(PERCEIVER).model("perceiver").draw().svg()
    assert "shared weights" in text and "cross" in text
