"""Queries that see nothing get zeros (D6), and finite gradients, whatever kernel PyTorch takes.

On CUDA, cuDNN's attention in half precision gives such a query finite numbers that are no zeros. Here a kernel that
does so, or makes no numbers of them at all, stands in the place of that of the CPU.
"""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
import torch.nn.functional as F

import attnc
from attnc.backends.runtime.torch import masks as torch_masks

from .predicates import gaps, window

KERNEL = F.scaled_dot_product_attention
BATCH, WIDTH = 3, 70

SPEC = """\
use std.attention: multihead, model, heads
width seq
width past like seq
depth model = 16, heads = 2
model net(x: [seq, model], real: bool[seq]) -> [seq, model]CLAIM {
    BODY
}
"""
# What a mask is lowered to: a mask made as a whole, with a bias, and in blocks of queries under one of positions.
BODIES = {
    "padding": "return multihead[seq, past](x, x[seq as past], real[seq as past])",
    "pairs": "return multihead[seq, past](x, x[seq as past], real and real[seq as past])",
    "bias": "there = x[seq as past]\n"
    "    scores = dot[model](x, there) / sqrt(|model|) - 0.1 * abs(seq - past)\n"
    "    return dot[past](softmax[past](scores where real[seq as past]), there)",
    "positions": "return multihead[seq, past](x, x[seq as past], past < seq and real[seq as past])",
}


def blind(value: float) -> Any:
    """PyTorch's kernel, but that queries that see nothing get this times the mean of all values."""

    def kernel(
        Q: torch.Tensor,
        K: torch.Tensor,
        V: torch.Tensor,
        mask: Any = None,
        *more: Any,
        attn_mask: Any = None,
        **rest: Any,
    ) -> torch.Tensor:
        mask = attn_mask if mask is None else mask
        out = KERNEL(Q, K, V, mask, *more, **rest)
        if mask is None:
            return out
        sees = (mask if mask.dtype == torch.bool else mask > -math.inf).any(-1, keepdim=True)
        return torch.where(sees, out, V.detach().mean(-2, keepdim=True) * value)

    return kernel


@pytest.fixture(params=[1.0, math.nan])
def elsewhere(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Such a kernel; gives what a model, or a module of helpers, is told so that it reckons with it."""
    monkeypatch.setattr(F, "scaled_dot_product_attention", blind(request.param))
    monkeypatch.setattr(torch_masks, "clears_blind", lambda Q: False)
    monkeypatch.setattr(torch_masks, "is_plain", lambda *given: False)

    def told(net: torch.nn.Module) -> torch.nn.Module:
        names = type(net).forward.__globals__
        for name in {"clears_blind", "is_plain"} & names.keys():
            monkeypatch.setitem(names, name, lambda *given: False)
        return net

    return told


def model(body: str, claim: str = "") -> attnc.Model:
    return attnc.loads(SPEC.replace("BODY", BODIES[body]).replace("CLAIM", claim)).model("net")


def inputs(width: int = WIDTH) -> list[np.ndarray[Any, Any]]:
    draw = np.random.default_rng(0)
    real = draw.random((BATCH, width)) > 0.3
    real[0] = False
    return [draw.normal(size=(BATCH, width, 16)), real]


@pytest.mark.parametrize("body", BODIES)
@pytest.mark.parametrize("way", ["plain", "compiled", "exported"])
def test_models(body: str, way: str, elsewhere: Any) -> None:
    spec, arrays = model(body), inputs()
    due = spec.numpy(seed=0, dtype="float64")(*arrays)
    net, given = elsewhere(spec.torch(seed=0, dtype="float64")), tuple(map(torch.tensor, arrays))
    run: Any = net
    if way == "compiled":
        run = torch.compile(net, fullgraph=True, backend="eager")
    elif way == "exported":
        run = torch.export.export(net, given).module()
    given[0].requires_grad_(way == "plain")
    out = run(*given)
    np.testing.assert_allclose(out.detach().numpy(), due, rtol=1e-9, atol=1e-12)
    assert (out[0] == 0).all()
    if way == "plain":
        gradients = torch.autograd.grad(out.square().sum(), [given[0], *net.parameters()])
        assert all(one.isfinite().all() for one in gradients) and (gradients[0][0] == 0).all()


def test_steps(elsewhere: Any) -> None:
    spec, arrays = model("positions", " causal seq"), inputs(9)
    due = spec.numpy(seed=0, dtype="float64")(*arrays)
    net: Any = elsewhere(spec.torch(seed=0, dtype="float64").eval())
    x, real = map(torch.tensor, arrays)
    with torch.no_grad():
        cache = net.prepare()
        steps = [net.step(x=x[:, t : t + 1], real=real[:, t : t + 1], cache=cache) for t in range(9)]
    np.testing.assert_allclose(torch.cat(steps, 1).numpy(), due, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("seen", [gaps, window])
@pytest.mark.parametrize("bias", [False, True])
def test_blocks_of_queries(seen: Any, bias: bool, elsewhere: Any) -> None:
    given = [torch.randn(2, 3, WIDTH, 4, dtype=torch.float64, requires_grad=True) for _ in range(3)]
    data = [torch.rand(2, 1, 1, WIDTH) > 0.5] if seen is window else []
    tilt = torch.randn(WIDTH, WIDTH, dtype=torch.float64, requires_grad=True) if bias else None
    out = torch_masks.masked_attention(seen, *given, *data, bias=tilt)
    mask = torch.as_tensor(seen(torch.arange(WIDTH)[:, None], torch.arange(WIDTH), *data))
    weights = ((given[0] @ given[1].mT / 2).exp() * (1 if tilt is None else tilt.exp())) * mask
    due = weights / weights.sum(-1, keepdim=True).clamp(min=1e-300) @ given[2]
    torch.testing.assert_close(out, due, rtol=1e-9, atol=1e-12)
    leaves = [*given, *([] if tilt is None else [tilt])]
    found, wanted = (torch.autograd.grad(x.square().sum(), leaves) for x in (out, due))
    for one, other in zip(found, wanted, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16, torch.float32, torch.float64])
@pytest.mark.parametrize("width", [5, 300])
def test_the_kernels_of_a_cpu_clear_what_is_blind(dtype: torch.dtype, width: int) -> None:
    """That is why nothing is done for them."""
    given = [torch.randn(2, 3, width, 16).to(dtype).requires_grad_() for _ in range(3)]
    mask = torch.rand(2, 1, width, width) > 0.3
    mask[0], mask[1, :, 1] = False, False
    for one in (mask, torch.where(mask, torch.randn(width, width), -math.inf).to(dtype)):
        out = KERNEL(*given, one)
        assert (out[0] == 0).all() and (out[1, :, 1] == 0).all()
        assert all(x.isfinite().all() for x in torch.autograd.grad(out.float().square().sum(), given))


def test_where_kernels_are_trusted(monkeypatch: pytest.MonkeyPatch) -> None:
    def trusted(place: str, dtype: torch.dtype) -> bool:
        query: Any = SimpleNamespace(device=torch.device(place), dtype=dtype)
        return torch_masks.clears_blind(query)

    assert trusted("cpu", torch.bfloat16) and trusted("cuda", torch.float32) and trusted("cuda", torch.float64)
    assert not trusted("cuda", torch.bfloat16) and not trusted("cuda", torch.float16)
    assert not trusted("mps", torch.float32)
    monkeypatch.setattr(torch, "is_autocast_enabled", lambda kind: True)
    assert trusted("cpu", torch.float32) and not trusted("cuda", torch.float32)


def test_only_a_mask_that_may_leave_a_query_nothing_is_looked_at() -> None:
    assert "safe_attention" in model("padding").source("torch", single_file=True)
    text = SPEC.replace("CLAIM", "").replace(", real: bool[seq]", "")
    for mask, call in (("past <= seq", "is_causal=True"), ("true", "attention(Q, K, V)")):
        body = f"return multihead[seq, past](x, x[seq as past], {mask})"
        source = attnc.loads(text.replace("BODY", body)).model("net").source("torch", single_file=True)
        assert call in source and "safe_attention" not in source


@pytest.mark.parametrize("bias", ["log(q - k + 1)", "1 / max(q - k + 1, 0)", "offset"])
def test_hidden_bias(bias: str) -> None:
    """What a mask hides weighs nothing, be its bias infinite or no number."""
    text = f"""width q
width k like q
depth d = 3
model net(x: [q, d], offset: [q, k]) -> [q, d] {{
    return dot[k](softmax[k](dot[d](x, x[q as k]) + {bias} where k <= q), x[q as k])
}}
"""
    model = attnc.loads(text).model("net")
    x = torch.randn(2, 19, 3)
    hidden = torch.ones(19, 19).triu(1).bool()
    offset = torch.randn(2, 19, 19).masked_fill(hidden, math.nan)
    made = model.torch()(x=x, offset=offset)
    torch.testing.assert_close(made, model.torch(without=["fuse_attention"])(x=x, offset=offset))


@pytest.mark.parametrize("scores", ["0 - s", "3 - s", "s / 2 + pi", "s * (1 - 2) / |d| + log(|k|)"])
def test_numbers_around_scores(scores: str) -> None:
    """A negative scale, of which a kernel of PyTorch makes no numbers; and one number added to all scores."""
    text = f"""width q
width k like q
depth d = 3
model net(x: [q, d]) -> [q, d] {{
    s = dot[d](x, x[q as k])
    return dot[k](softmax[k]({scores} where k <= q), x[q as k])
}}
"""
    model, x = attnc.loads(text).model("net"), torch.randn(2, 1, 19, 3)
    torch.testing.assert_close(model.torch()(x), model.torch(without=["fuse_attention"])(x))
