"""Steps of decoding by kernels of Triton, in its interpreter, beside plain PyTorch in float64."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence

import pytest

import attnc

from .cases import CASES, Case
from .test_kernels import error, inputs, nets

torch = pytest.importorskip("torch")
os.environ.setdefault("TRITON_INTERPRET", "1")
pytest.importorskip("triton", reason="Triton is not installed")
pytestmark = pytest.mark.slow

STEPS = """multi_head multi_query grouped_query alibi_attention differential latent_attention remembering streaming
learned_sinks strided fixed local reads_a_picture transformer sigmoid_attention biased gated shown two_streams
polynomial"""
CAUSAL = [case for case in CASES if case.model in STEPS.split()]


def stepped(
    net: torch.nn.Module, given: Mapping[str, torch.Tensor], along: Mapping[str, int], counts: Sequence[int]
) -> list[torch.Tensor]:
    """What steps of so many items give. along: of what comes item by item, its dimension of items."""
    cache = net.prepare(**{name: x for name, x in given.items() if name not in along})
    found, first = [], 0
    for count in counts:
        new = {name: given[name].narrow(dim, first, count) for name, dim in along.items()}
        made = net.step(**new, cache=cache)
        found += made if isinstance(made, tuple) else [made]
        first += count
    return found


def typed(given: Mapping[str, torch.Tensor], kind: torch.dtype) -> dict[str, torch.Tensor]:
    return {name: x.to(kind) if x.is_floating_point() else x for name, x in given.items()}


@pytest.mark.parametrize("case", [pytest.param(case, id=f"{case.file}-{case.model}") for case in CAUSAL])
def test_steps(case: Case) -> None:
    model, (ours, plain) = case.load(), nets(case)
    decoding, given = model.decoding, inputs(model)
    assert decoding.step is not None and decoding.time is not None
    axes = {str(port.name): [*port.axes] for port in model.inputs}
    along = {item.name: 1 + axes[item.name].index(decoding.time.name) for item in decoding.step.inputs}
    counts = (7, 1, 1, 4, 1)
    right = stepped(plain, typed(given, torch.float64), along, counts)
    assert max(map(error, stepped(ours, typed(given, torch.float32), along, counts), right)) < 1e-5
    with_steps, without = (model.files("triton", "net", decoding=on)["net_kernels.py"] for on in (True, False))
    assert with_steps.count("_forward(\n") == without.count("_forward(\n") + case.kernels


DECODER = """width target
width past like target
depth model = 16, heads = 2, vocab = 11
depth key = model / heads

block attend(x: [target, model], seen: bool[target, past]) -> [target, model] {
    Q = linear[model -> heads, key](x)
    K = linear[model -> heads, key](x)
    V = linear[model -> heads, key](x)
    weights = softmax[past](dot[key](Q, K[target as past]) / sqrt(|key|) where seen)
    return linear.O[heads, key -> model](dot[past](weights, V[target as past]))
}

model decoder(ids: vocab[target]) -> [target, vocab] causal target {
    param E: [vocab, model] ~ normal(0.3)
    x = E[vocab = ids]
    x = x + attend.all(layernorm.a[model](x), past <= target)
    x = x + attend.near(layernorm.b[model](x), past <= target and target - past < 40)
    return dot[model](x, E)
}
"""


def test_long_caches_are_shared() -> None:
    """Of one new item several programs share the keys; of more, tiles that none of them sees are not read."""
    model = attnc.loads(DECODER).model("decoder")
    ours, plain = model.torch(kernels="triton", seed=0), model.torch(dtype="float64", seed=0)
    plain.load_state_dict({name: x.double() for name, x in ours.state_dict().items()})
    ids = torch.randint(11, (2, 180), generator=torch.Generator().manual_seed(0))
    counts = (130, 1, 1, 20, 1, 3, 1)
    for x, y in zip(*(stepped(net, {"ids": ids}, {"ids": 1}, counts) for net in (ours, plain)), strict=True):
        torch.testing.assert_close(x.double(), y, rtol=1e-5, atol=1e-5)
    assert torch.equal(ours.generate(ids[:, :5], 8), plain.generate(ids[:, :5], 8))


def test_steps_are_exported() -> None:
    """Where a step begins is a tensor there, and a cache has room for all items."""
    model = attnc.loads(DECODER).model("decoder")
    net = model.torch(kernels="triton", seed=0)
    ids = torch.randint(11, (2, 60), generator=torch.Generator().manual_seed(0))
    prepare, step = net.export_decoding(ids[:, :5], room=64)
    right, first = net(ids), 0
    once, at, kept = prepare.module()(ids[:, :5], {})
    for count in (30, 5, 6):
        made, at, kept = step.module()(ids[:, first : first + count], once, at, kept)
        first += count
        torch.testing.assert_close(made[:, -1], right[:, first - 1])
