"""Masks, causal or not, are arguments of a block: one class for all its calls, and the numbers of each stay."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel

import attnc
from attnc.backends.runtime.numpy import masks as numpy_masks
from attnc.backends.runtime.torch import masks as torch_masks

from .agreement import in_blocks

BACKENDS: tuple[Literal["torch", "numpy"], ...] = ("torch", "numpy")
EXAMPLES = Path(__file__).parents[2] / "examples"
CLASSES = {
    "transformer.attn": "Place Multihead Join FeedForward EncodeLayer Encode DecodeLayer Decode Transformer",
    "zoo/gpt2.attn": "Multihead FeedForwardGeluTanh Gpt2Layer Gpt2",
    "zoo/llama.attn": "rotary RotaryAttention Swiglu LlamaLayer Llama",
    "zoo/bert.attn:bert": "Multihead AddNorm FeedForwardGelu EncodeLayer Encode Bert",
    "zoo/vit.attn": "Multihead FeedForwardGelu VitLayer Vit",
    "zoo/bart.attn": "Place Multihead AddNorm FeedForwardGelu BartEncoder BartDecoder Bart",
    # What differs: which way relative positions go, and whether there is an offset, and a mask of positions beside it.
    "zoo/t5.attn": "relative_bucket RelativeBias Attention FeedForward Feed T5Encoder relative_bucket2 RelativeBias2"
    " Attention2 Attention3 T5Decoder T5",
}


@pytest.mark.parametrize("example", CLASSES)
def test_one_class_for_each_block(example: str) -> None:
    path, _, name = example.partition(":")
    spec = attnc.load(EXAMPLES / path)
    source = spec.model(name or spec.models[-1]).source("torch")
    found = re.findall(r"(?m)^(?:class (?=.*nn\.Module)|def (?!check\())(\w+)\(", source)  # a function keeps nothing
    assert found == CLASSES[example].split()


HEAD = """\
use std.attention: multihead, model, heads
width t, u
width s like t
depth model = 8, heads = 2
"""
CALLS = {  # of multihead, each with the mask that it means, [t or u of keys]
    "all": ("multihead.a[t, s](x, x[t as s])", "a(x, x)"),
    "causal": ("multihead.b[t, s](x, x[t as s], s <= t)", "b(x, x, causal=True)"),
    "padding": ("multihead.c[t, s](x, x[t as s], real[t as s])", "c(x, x, mask=real[..., None, :])"),
    "pairs": ("multihead.d[t, u](x, y, p)", "d(x, y, mask=p)"),
}
INPUTS = "x: [t, model], y: [u, model], real: bool[t], p: bool[t, u]"


def model_of(*ways: str, more: str = "") -> attnc.Model:
    calls = " + ".join(CALLS[way][0] for way in ways)
    return attnc.loads(f"{HEAD}model net({INPUTS}) -> [t, model] {{\n    return {calls}{more}\n}}\n").model("net")


def given(dtype: Any = np.float64, seed: int = 0) -> list[np.ndarray[Any, Any]]:
    draw = np.random.default_rng(seed)
    real, pairs = draw.random((3, 9)) > 0.3, draw.random((3, 9, 7)) > 0.4
    real[0], pairs[1, 2] = False, False  # these see nothing
    return [draw.normal(size=(3, 9, 8)).astype(dtype), draw.normal(size=(3, 7, 8)).astype(dtype), real, pairs]


@pytest.mark.parametrize(
    "ways", [("all", "causal"), ("causal", "padding"), ("all", "padding"), ("all", "causal", "padding", "pairs")]
)
def test_the_numbers_are_those_of_classes_of_their_own(ways: tuple[str, ...]) -> None:
    model = model_of(*ways)
    source = model.source("torch")
    assert len(re.findall(r"(?m)^class Multihead", source)) == 1
    assert all(CALLS[way][1] in source for way in ways)
    assert bool(re.search(r"\bcausal: bool = False", source)) is ("causal" in ways)
    assert ("mask: Bool" in source and "| None = None" in source) is bool({"padding", "pairs"} & {*ways})
    apart: dict[str, Any] = {"without": ["mask_arguments"]}
    assert len(re.findall(r"(?m)^class Multihead", model.source("torch", **apart))) > 1
    arrays = given()
    one, other = (model.torch(seed=0, dtype=torch.float64, **more) for more in ({}, apart))
    assert [*one.state_dict()] == [*other.state_dict()] == [*model.weights]
    found = []
    for net in (one, other):
        x, y, real, p = map(torch.tensor, arrays)
        leaves = [x.requires_grad_(), y.requires_grad_(), *net.parameters()]
        out = net(x, y, real, p)
        found.append([out.detach(), *torch.autograd.grad(out.square().sum(), leaves, materialize_grads=True)])
    for a, b in zip(*found, strict=True):
        assert a.isfinite().all()
        torch.testing.assert_close(a, b, rtol=1e-12, atol=1e-12)
    numpy = [model.numpy(seed=0, dtype="float64", **more) for more in ({}, apart)]
    for run in (lambda f: f(*arrays), lambda f: in_blocks(f, arrays)):
        here, there = map(run, numpy)
        np.testing.assert_allclose(here, there, rtol=0, atol=0)
        np.testing.assert_allclose(here, found[0][0].numpy(), rtol=1e-10, atol=1e-12)


def test_a_mask_whose_structure_is_known_stays_known() -> None:
    window = " + multihead.w[t, s](x, x[t as s], s <= t and t - s < 3)"
    both = " + multihead.v[t, s](x, x[t as s], s <= t and real[t as s])"
    for more in (window, both):
        source = model_of("all", "causal", "padding", more=more).source("torch")
        assert len(re.findall(r"(?m)^class Multihead", source)) == 2 and "masked_attention(seen" in source


def test_a_block_called_in_one_way_alone_takes_no_more_than_that() -> None:
    assert "def forward(self, base: " in re.sub(r"\(\n\s+", "(", model_of("causal").source("torch"))
    for way, kernel in (("all", "attention(Q, K, V)"), ("causal", "attention(Q, K, V, is_causal=True)")):
        source = model_of(way).source("torch")
        assert f"F.scaled_dot_product_{kernel}" in source and not re.search(r"\bcausal: bool|Bool.* \| None", source)
    source = model_of("all", "causal").source("torch")
    assert "F.scaled_dot_product_attention(Q, K, V, is_causal=causal)" in source


KERNELS = [SDPBackend.MATH, SDPBackend.FLASH_ATTENTION]  # those of a CPU


@pytest.mark.parametrize("backend", [*KERNELS, None])
@pytest.mark.parametrize("width", [5, 150])
def test_a_causal_block_joins_a_mask(backend: Any, width: int) -> None:
    """PyTorch refuses `attn_mask` and `is_causal` at once: whoever calls the class with both gets both."""
    draw = [torch.randn(2, 3, width, 4, dtype=torch.float64, requires_grad=True) for _ in range(3)]
    mask = torch.rand(2, 1, 1, width) > 0.4
    mask[0, :, :, :2] = False
    tri = torch.ones(width, width, dtype=torch.bool).tril()
    scores = (draw[0] @ draw[1].mT / 2).masked_fill(~(mask & tri), -1e30)
    due = scores.softmax(-1).masked_fill(~(mask & tri), 0) @ draw[2]
    wanted = torch.autograd.grad(due.square().sum(), draw)
    with sdpa_kernel([backend] if backend is not None else KERNELS):
        for function in (torch_masks.safe_attention, torch_masks.attention):
            out = function(*draw, mask=mask, is_causal=True)
            torch.testing.assert_close(out, due, rtol=1e-9, atol=1e-12)
            for one, other in zip(torch.autograd.grad(out.square().sum(), draw), wanted, strict=True):
                torch.testing.assert_close(one, other, rtol=1e-9, atol=1e-12)
            torch.testing.assert_close(
                function(*draw, is_causal=True), F.scaled_dot_product_attention(*draw, is_causal=True)
            )
    arrays = [x.detach().numpy() for x in draw]
    found = numpy_masks.attention(*arrays, mask.numpy(), causal=True, scale=0.5)
    np.testing.assert_allclose(found, due.detach().numpy(), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("backend", KERNELS)
def test_a_class_under_each_kernel(backend: Any) -> None:
    model = model_of("all", "causal", "padding", "pairs")
    net, arrays = model.torch(seed=0, dtype=torch.float64), [*map(torch.tensor, given())]
    due = model.numpy(seed=0, dtype="float64")(*given())
    with sdpa_kernel(backend), torch.no_grad():
        np.testing.assert_allclose(net(*arrays).numpy(), due, rtol=1e-9, atol=1e-12)
    compiled: Any = torch.compile(net, fullgraph=True, backend="eager")
    np.testing.assert_allclose(compiled(*arrays).detach().numpy(), due, rtol=1e-9, atol=1e-12)
    exported: Any = torch.export.export(net, tuple(arrays)).module()
    np.testing.assert_allclose(exported(*arrays).detach().numpy(), due, rtol=1e-9, atol=1e-12)


def test_what_prepare_calls_whole_is_of_the_same_class() -> None:
    source = attnc.load(EXAMPLES / "transformer.attn", config="tiny").model("transformer").source("torch")
    assert "forward_2" not in source and source.count("def forward(") == 9


@pytest.mark.parametrize("lead", [(2,), (2, 3), (2, 5, 3), ()])
@pytest.mark.parametrize("masked", [False, True])
def test_keys_that_queries_share_are_not_expanded(lead: tuple[int, ...], masked: bool, monkeypatch: Any) -> None:
    """Queries [*lead, 4, q, d] of keys [*lead, 1, k, d]: the kernel is told so, and gets each key once."""
    given: list[tuple[int, ...]] = []
    kernel = F.scaled_dot_product_attention

    def noting(Q: torch.Tensor, K: torch.Tensor, *more: Any, **words: Any) -> torch.Tensor:
        given.append(tuple(K.shape))
        return kernel(Q, K, *more, **words)

    queries = torch.randn(*lead, 4, 6, 8, dtype=torch.float64, requires_grad=True)
    keys, values = (torch.randn(*lead, 1, 6, 8, dtype=torch.float64, requires_grad=True) for _ in range(2))
    mask = torch.rand(*lead, 1, 1, 6) > 0.4 if masked else None
    whole = [x.expand(*lead, 4, 6, 8) for x in (keys, values)]
    due = torch_masks.attention(queries, *whole, mask=mask, is_causal=not masked)
    monkeypatch.setattr(F, "scaled_dot_product_attention", noting)
    out = torch_masks.attention(queries, keys, values, mask=mask, is_causal=not masked)
    elements = int(np.prod(given[0]))
    assert elements == keys.numel() * (1 if lead else 4)  # heads of one example lie along the first axis of two
    torch.testing.assert_close(out, due, rtol=1e-12, atol=1e-12)
    leaves = [queries, keys, values]
    for one, other in zip(*(torch.autograd.grad(x.square().sum(), leaves) for x in (out, due)), strict=True):
        torch.testing.assert_close(one, other, rtol=1e-10, atol=1e-12)
    compiled: Any = torch.compile(torch_masks.attention, fullgraph=True, backend="eager")
    torch.testing.assert_close(compiled(queries, keys, values, mask=mask, is_causal=not masked), due)


@pytest.mark.parametrize("mask", ["not (past > seq and pad[seq as past])", "pad and not (past > seq and free)"])
def test_masks_that_read_like_arguments(mask: str) -> None:
    """`past <= seq or not pad[..]`, of data, is no truth value `causal`."""
    spec = attnc.loads(f"""
        width seq
        width past like seq
        depth model = 8
        model lm(x: [seq, model], pad: bool[seq], free: bool[]) -> [seq, model] {{
            scores = dot[model](x, x[seq as past])
            return dot[past](softmax[past](scores where {mask}), x[seq as past])
        }}""").model("lm")
    rng = np.random.default_rng(0)
    x, pad = rng.standard_normal((2, 7, 8)), rng.random((2, 7)) > 0.5
    sees = np.tri(7, dtype=bool) | ~pad[:, None, :]
    for free in (np.array([True, True]), np.array([False, False])):
        if "free" in mask:
            sees = pad[:, :, None] & (np.tri(7, dtype=bool) | ~free[:, None, None])
        weights = np.exp(x @ x.swapaxes(-1, -2)) * sees
        total = weights.sum(-1, keepdims=True)
        due = np.divide(weights, total, where=total > 0, out=np.zeros_like(weights)) @ x
        np.testing.assert_allclose(spec.numpy(dtype="float64")(x, pad, free), due, rtol=1e-9, atol=1e-12)
        out = spec.torch(dtype=torch.float64)(*map(torch.tensor, (x, pad, free)))
        np.testing.assert_allclose(out.detach().numpy(), due, rtol=1e-9, atol=1e-12)
