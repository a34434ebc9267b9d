"""Models in bfloat16 and under autocast: results have the type that was asked for, and are float32's, coarsely.

A table (sines, rotations, biases by distance) is made in float64 and rounded once, so that it promotes nothing; losses
under autocast are float32, as PyTorch's own.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

import attnc
from tests.backends.agreement import random_inputs
from tests.decode.models import ROOT, ZOO, small

QUICK = {"gpt2", "mistral", "t5"}  # learned positions; rotations and a window; biases by distance
SHORT = {"retention", "gru", "additive", "differential"}
HASHED = {"lsh"}  # rounding moves items to other buckets: nothing to compare


def marks(name: str) -> Any:
    return () if name in QUICK else pytest.mark.slow


CAUSAL = [pytest.param(path, id=path.split("/")[-1], marks=marks(path.split("/")[-1])) for path in ZOO]
ATTENTIONS = [
    pytest.param(file, id=file.stem, marks=() if file.stem in SHORT else pytest.mark.slow)
    for file in sorted((ROOT / "examples" / "attentions").glob("*.attn"))
    if file.stem not in HASHED
]
SIZES: dict[str, dict[str, Any]] = {
    "perceiver": {"latent": 64, "layers": 2, "blocks": 2}, "positions": {"vocab": 11}, "convolution": {"layers": 2},
    "blockwise": {"size": 4}, "retention": {"size": 4},
}  # fmt: skip


def results(found: object) -> list[Tensor]:
    return [x for x in torch.utils._pytree.tree_leaves(found) if x.is_floating_point()]


def short(x: Tensor) -> Tensor:
    return x.bfloat16() if x.is_floating_point() else x


def close(found: Tensor, right: Tensor, tolerance: float) -> None:
    found, right = found.detach(), right.detach()
    finite = right.isfinite()
    assert torch.equal(found.isfinite(), finite)
    scale = max(float(right[finite].std()), float(right[finite].abs().max()) / 10) if finite.any() else 1.0
    assert not finite.any() or float((found.float() - right)[finite].abs().max()) <= tolerance * scale


def check(model: attnc.Model, widths: tuple[int, ...], tolerance: float = 0.1) -> None:
    """Forward and backward."""
    inputs = [torch.tensor(x) for x in random_inputs(model._sized, (2,), widths, np.float32)]
    right = results(model.torch(seed=0).eval()(*inputs))

    def gradients(net: nn.Module, made: list[Tensor]) -> None:
        if any(weight.requires_grad for weight in net.parameters()):
            # `sum` of no results would be the number 0
            sum(x.float().masked_fill(~x.isfinite(), 0).square().mean() for x in made).backward()  # type: ignore[union-attr]
            assert all(w.grad is None or w.grad.isfinite().all() for w in net.parameters())

    net = model.torch(seed=0, dtype=torch.bfloat16).eval()
    made = results(net(*map(short, inputs)))
    assert all(x.dtype == torch.bfloat16 for x in made)
    for found, wanted in zip(made, right, strict=True):
        close(found, wanted, tolerance)
    gradients(net, made)
    net = model.torch(seed=0).eval()
    with torch.autocast("cpu", torch.bfloat16):
        made = results(net(*inputs))
    for found, wanted in zip(made, right, strict=True):
        close(found, wanted, tolerance)
    gradients(net, made)


@pytest.mark.filterwarnings("ignore:Mismatch dtype between input and weight")  # F.rms_norm under autocast
@pytest.mark.parametrize("path", CAUSAL)
def test_models(path: str) -> None:
    check(small(path), (9, 7))


@pytest.mark.filterwarnings("ignore:Mismatch dtype between input and weight")
@pytest.mark.parametrize("file", ATTENTIONS)
def test_attentions(file: Any) -> None:
    spec = attnc.load(file, sizes=SIZES.get(file.stem))
    for name in spec.models:
        check(spec.model(name), (28,) if file.stem == "shifted_windows" else (12,))


@pytest.mark.parametrize("path", CAUSAL)
def test_steps(path: str) -> None:
    """Step by step in bfloat16: what is kept is bfloat16, and results are those of the whole model."""
    model = small(path)
    decoding = model.decoding
    assert decoding.step is not None and decoding.prepare is not None and decoding.time is not None
    graph = model._sized
    arrays = [torch.tensor(x) for x in random_inputs(graph, (2,), (9, 7), np.float32)]
    inputs = {item.name: short(x) for item, x in zip(graph.inputs, arrays, strict=True)}
    along = {item.name for item in decoding.step.inputs}
    before = {item.name for item in decoding.prepare.inputs}
    net = model.torch(seed=0, dtype=torch.bfloat16).eval()
    with torch.inference_mode():
        whole = results(net(**{n: x for n, x in inputs.items() if n in along | before}))[0].float()
        cache = net.prepare(**{n: x for n, x in inputs.items() if n in before})
        steps = [
            results(net.step(**{n: inputs[n][:, at : at + 1] for n in along}, cache=cache))[0].float()
            for at in range(whole.shape[1])
        ]
    assert all(x.dtype == torch.bfloat16 for x in cache.tensors().values() if x.is_floating_point())
    close(torch.cat(steps, 1), whole, 0.1)


def test_a_fused_loss_of_bfloat16_logits_is_computed_in_float32() -> None:
    """512 classes of nearly equal logits: in bfloat16 the sum of their exponentials would be off by a tenth."""
    text = """\
width seq
depth model = 4, vocab = 512
model loss(x: [seq, model], next: vocab[seq]) -> [seq] {
    return cross_entropy[vocab](linear.out[model -> vocab](x), next)
}
"""
    model = attnc.loads(text).model("loss")
    x, ids = torch.randn(64, 4), torch.arange(64)
    expected = model.torch(seed=0)(x, ids)
    with torch.autocast("cpu", torch.bfloat16):
        loss = model.torch(seed=0)(x, ids)
    assert loss.dtype == torch.float32 and (loss - expected).abs().max() < 2e-2
    loss = model.torch(seed=0, dtype=torch.bfloat16)(x.bfloat16(), ids)
    assert loss.dtype == torch.bfloat16 and (loss.float() - expected).abs().max() < 5e-2
