"""The stages of a model, done one after another by one device, compute what the whole does, and its gradients."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

import attnc
from attnc.compiler.sharding.choose import NoSplit
from attnc.compiler.sharding.mesh import mesh_of
from attnc.compiler.sharding.stages import shape_code, shape_of, stages
from attnc.compiler.sharding.stages.deal import balanced
from attnc.spec import Model

from .devices import redrawn
from .subjects import KINDS, inputs, model

NUMBERED = """
width seq
depth model = 8
const layers = 5, before = 2, scales = [1, 3, 2, 5, 4]

block part[scale: const, i: const](x: [model]) -> [model] {
    depth inner = model * (i + 1)
    return linear.down[inner -> model](tanh(linear.up[model -> inner](x))) * scale
}

block passes(x: [seq, model], y: [seq, model]) -> (x: [seq, model], y: [seq, model]) {
    repeat before shared {
        x = linear.once[model -> model](x) + y
    }
    repeat i in layers {
        x = x + part.one[scale = scales[i], i = i](x)
        if i % 2 == 1 {
            y = relu(y + linear.other[model -> model](x))
        } else {
            y = y + 1
        }
    }
    return x, y
}

model numbered(given: [seq, model]) -> (first: [seq, model], second: [model]) {
    param late: [model] ~ normal(1.0)
    start = linear.start[model -> model](given)
    x, y = passes.both(start, given)
    return x * late + given, sum[seq](y) * late
}
"""


def check(of: Model, count: int, given: dict[str, Tensor]) -> None:
    whole = of.torch(seed=1, dtype="float64")
    torch.manual_seed(1)
    redrawn(whole)
    whole.eval()
    weights = {name: x.detach().numpy().copy() for name, x in whole.state_dict().items()}
    sent: tuple[Tensor, ...] = ()
    nets = []
    for stage in stages(of._sized, count):
        part = Model(stage.graph, "")
        net = part.torch(weights={path: weights[stage.path(path)] for path in part.weights}, dtype="float64").eval()
        own = {entry.name for entry in stage.graph.inputs[stage.received :]}
        made = net(*sent, **{name: x for name, x in given.items() if name in own})
        sent = made if isinstance(made, tuple) else (made,)
        nets.append((stage, net))
    made = whole(**given)
    results = made if isinstance(made, tuple) else (made,)
    for ours, theirs in zip(sent, results, strict=True):
        torch.testing.assert_close(ours, theirs, rtol=0, atol=1e-12)
    probes = [torch.randn_like(x) if x.is_floating_point() else None for x in results]
    for each in (sent, results):
        parts = [(x * probe).sum() for x, probe in zip(each, probes, strict=True) if probe is not None]
        torch.stack(parts).sum().backward()
    gradients: dict[str, Tensor] = {}
    for stage, net in nets:
        for name, x in net.named_parameters():
            path = stage.path(name)
            own = torch.zeros_like(x) if x.grad is None else x.grad
            gradients[path] = gradients[path] + own if path in gradients else own
    assert gradients.keys() == weights.keys()
    for name, x in whole.named_parameters():
        wanted = torch.zeros_like(x) if x.grad is None else x.grad
        torch.testing.assert_close(gradients[name], wanted, rtol=1e-10, atol=1e-10)


def test_two_repeats() -> None:
    of = model("transformer_loss")
    found = stages(of._sized, 3)
    assert [stage.passes for stage in found] == [
        {"encode.layers": (0, 2)}, {"decode.layers": (0, 1)}, {"decode.layers": (1, 1)},
    ]  # fmt: skip
    assert [[entry.name for entry in stage.graph.inputs] for stage in found] == [
        ["source_ids", "real"], ["memory", "target_ids", "real"], ["memory", "x", "target_ids", "real", "kept"],
    ]  # fmt: skip
    assert [stage.draws for stage in found] == [
        ((0, 1, 2, 3, 4), 12), ((5, 6, 7, 8), 12), ((9, 10, 11), 12)
    ]  # fmt: skip


DRAWN = """
width seq
depth model = 4
block cell(x: [model], h: [model]) -> (h: [model], out: [model]) {
    y = tanh(dropout(x, 0.1) + h)
    return y, y
}
model drawn(x: [seq, model]) -> [seq, model] {
    repeat.layers 2 {
        _, x = scan[seq] cell(x, h = 0)
    }
    return x
}
"""


def test_draws_of_scans() -> None:
    """One for each item: how many these are nobody knows."""
    assert [stage.draws for stage in stages(attnc.loads(DRAWN).model("drawn")._sized, 2)] == [None, None]


PASSES = {"transformer": 4, "zoo/t5": 4, "zoo/bart": 4, "zoo/mixed/latent": 3}  # of all repeats; of the others 2


@pytest.mark.slow
@pytest.mark.parametrize("name", KINDS)
@pytest.mark.parametrize("count", [1, 2, 3, 4])
def test_stages(name: str, count: int) -> None:
    of = model(name)
    most = PASSES.get(name.partition("_loss")[0], 2)
    if count > most:
        with pytest.raises(NoSplit, match=f"of `layers`; it takes at most {most}"):
            stages(of._sized, count)
    else:
        check(of, count, inputs(of))


@pytest.mark.parametrize("count", [3, *(pytest.param(count, marks=pytest.mark.slow) for count in (1, 2, 4, 5, 6, 7))])
def test_numbers_of_passes(count: int) -> None:
    """Passes that know their number, of two kinds, some with weights in common; two values go round."""
    of = attnc.loads(NUMBERED).model("numbered")
    check(of, count, {"given": torch.randn(2, 3, 8, dtype=torch.float64)})


def test_balanced() -> None:
    assert sorted(balanced([1.0] * 6, 4)) == [1, 1, 2, 2]
    assert balanced([2.0, 1.0, 1.0, 1.0, 1.0, 4.0], 3) == [2, 3, 1]


def test_no_repeat() -> None:
    spec = attnc.loads("depth a = 2\nmodel plain(x: [a]) -> [a] { return relu(x) }")
    with pytest.raises(NoSplit, match="plain has none"):
        stages(spec.model("plain")._sized, 2)


def test_what_is_refused() -> None:
    of = model("zoo/gpt2")
    with pytest.raises(NoSplit, match="`pipe` splits no axis"):
        of.plan_stages({"pipe": 2}, splits={"pipe": ("seq",)})
    with pytest.raises(NoSplit, match=r"a plan for each stage: `Model\.plan_stages`"):
        of.plan({"pipe": 2})
    with pytest.raises(NoSplit, match="2 of `layers`; it takes at most 2"):
        of.files("torch", mesh={"pipe": 3})


def test_shapes_of_what_is_sent() -> None:
    """As text, which files have, and as a function."""
    root = model("transformer_loss")._sized
    mesh = mesh_of({"context": 2, "model": 2}, {"context": ("source",), "model": ("vocab",)})
    given = {"source_ids": (4, 8), "target_ids": (4, 6), "real": (4, 8), "kept": (4, 6)}
    for stage in stages(root, 3):
        for output in stage.graph.outputs:
            code = shape_code(output.value, root, mesh)
            assert eval(code)(given) == shape_of(output.value, root, mesh)(given), code
    assert eval(shape_code(stages(root, 2)[0].graph.outputs[0].value, root, mesh))(given) == (4, 32)
