"""What a device holds: by hand, and beside published measurements; and what is warned of."""

from __future__ import annotations

import json
from collections import Counter

import pytest
import torch

import attnc
from attnc.cli import main
from attnc.compiler.cost.walk import CostWalk
from attnc.compiler.sharding.cautions import cautions
from attnc.compiler.sharding.estimates.activations import Checkpointing
from attnc.compiler.sharding.estimates.balance import placed_at
from attnc.compiler.sharding.find import MeshSearch
from attnc.compiler.sharding.options import PlanOptions
from tests.clock import at_most

from .subjects import EXAMPLES, model

LLAMA = EXAMPLES / "zoo/llama.attn"
GIB = 2**30
PUBLISHED = [(8, 82.4, 77.0), (128, 67.0, 62.0)]
"""torchtitan's tables 1 and 3 (December 2024): Llama 8B on so many devices, with and without torch.compile."""


@pytest.mark.parametrize(("devices", "eager", "compiled"), PUBLISHED)
def test_memory_of_torchtitan(devices: int, eager: float, compiled: float) -> None:
    plan = attnc.load(LLAMA).model("llama").plan({"data": devices}, {"seq": 8192}, batch=2 * devices, reduce="float32")
    ours = plan.memory("selective") / GIB
    assert ours == pytest.approx(eager, rel=0.1)
    assert ours == pytest.approx(compiled, rel=0.1)
    held = plan.held("selective")
    assert held.weights == held.gradients == 4 * plan.whole // devices  # float32, scattered
    assert held.loss == 3 * 4 * 2 * 8192 * 128256


def test_checkpointing_keeps_what_enters_each_pass() -> None:
    """Of 32 layers each a stream, once, and one layer; beside them what the last norm and the logits need."""
    of = attnc.load(LLAMA).model("llama")
    plan = of.plan({"data": 1}, {"seq": 8192})
    stream = 8192 * 4096 * 2
    full, all, some = plan.held("full"), plan.held("none"), plan.held("selective")
    table = 8192 * 8192  # the mask, one byte for each pair
    assert 32 * stream <= full.activations <= 32 * stream + 3 * stream + 2 * table
    assert all.again == 0 and all.activations > 32 * full.again
    # of each layer Q, V, the gate, and the last map, and what attention makes (8 of 32 heads in V)
    assert some.activations - full.activations == 32 * (stream + stream // 4 + 8192 * 14336 * 2 + stream + stream)
    with pytest.raises(ValueError, match="'some' is not a valid Checkpointing"):
        plan.held("some")


def test_weights_beside_experts_are_scattered_as_these_are() -> None:
    """Over `data` alone, where each device has the same of all: so they are when it runs."""
    text = (
        "width seq\ndepth m = 8, e = 4, f = 16\n"
        "model some(x: [seq, m], best: e[seq]) -> [seq, f] {\n"
        "    made = linear.W[e: m -> f](linear.V[m -> m](x, bias = false), bias = false)\n"
        "    return made[e = best]\n}\n"
    )
    plan = attnc.loads(text).model("some").plan({"data": 2, "expert": 4}, {"seq": 4})
    assert plan.copied == (0,)
    assert plan.weight_bytes == 2 * (4 * 8 * 16 // (4 * 2) + 8 * 8 // 2)
    summed = [(mesh, means.value, bytes) for why, mesh, means, bytes, _ in plan.weight_sendings if why == "gradients"]
    assert sorted(summed) == [(0, "reduce-scatter", 2 * (4 * 8 * 16 // 4 + 8 * 8)), (1, "all-reduce", 2 * 8 * 8)]


@pytest.mark.parametrize(
    ("mesh", "more", "says"),
    [
        (
            {"model": 16},
            {},
            "`model` are not on one host of 8: 66 collectives of `inner` and `vocab` wait for slow links",
        ),
        ({"model": 4, "data": 8}, {}, "over at most 8, and name it last in --mesh, so that they are neighbours"),
        ({"data": 8}, {"batch": 12}, "12 leaves no whole number of items for each of 8 copies"),
        ({"data": 2}, {"batch": 4, "micro": 4}, "4 in 4 micro-batches leaves no whole number of items for each of 2"),
        ({"context": 8}, {}, "the last device of `context` does 1.11 times the work of the mean"),
        ({"data": 2}, {"micro": 8}, "weights are gathered 16 times in a step: with --zero 2 once"),
        ({"data": 2, "model": 8}, {}, ""),
    ],
)
def test_what_papers_warn_of(mesh: dict[str, int], more: dict[str, int], says: str) -> None:
    splits = {"model": ["inner", "vocab"]} if "model" in mesh else {}
    plan = attnc.load(LLAMA).model("llama").plan(mesh, {"seq": 8192}, splits=splits, **more)
    said = cautions(plan)
    assert any(says in one for one in said) if says else not said


@pytest.mark.slow
def test_pipelines_are_found() -> None:
    """Of Llama 405B in seconds: what was published (docs/meshes.md) is near the best, and as it was published."""
    sizes = {"model": 16384, "inner": 53248, "layers": 126, "sharing": 16}
    of = attnc.load(LLAMA, sizes=sizes).model("llama")
    how = PlanOptions({"seq": 8192}, {"model": ("groups", "inner", "vocab", "seq")}, 2048, reduce="float32")
    search = MeshSearch(of._sized, how, 8192, 80e9, 1e11, 4e14, again=tuple(Checkpointing))
    with at_most(600):
        best = search.run().best
    place, published = next(
        (place, one) for place, one in enumerate(best) if str(one.plan.mesh) == "pipe = 16, data = 64, model = 8"
    )
    assert place < len(best) // 3 and published.each < 1.3 * best[0].each and published.fits
    assert (published.plan.micro, published.plan.zero) == (32, 2)


@pytest.mark.slow
def test_meshes_are_found(capsys: pytest.CaptureFixture[str]) -> None:
    """With `context` where nothing else fits; where each copy has to have an item, with fewer copies."""
    decoder = [str(EXAMPLES / "zoo/decoder/decoder.attn"), "--set", "layers=2", "--set", "seq=4096"]
    for name, size in {"model": 64, "groups": 2, "sharing": 2, "key": 16, "inner": 128, "vocab": 256}.items():
        decoder += ["--set", f"{name}={size}"]
    assert main(["shard", *decoder, "--find", "4"]) == 0
    rows = capsys.readouterr().out.splitlines()
    assert rows[2].startswith("1  data = 4") and not any("context" in row for row in rows if " tried" not in row)
    assert rows[0] == "a batch of 4" and any(row[3:].startswith("pipe = 2, data = 2") for row in rows)
    assert main(["shard", *decoder, "--find", "4", "--memory", "0.001"]) == 0
    small = capsys.readouterr().out
    assert "context = 4" in small and "too large" in small
    assert main(["shard", *decoder, "--find", "4", "--batch", "2"]) == 0
    few = capsys.readouterr().out
    assert "data = 2, model = 2" in few and "data = 4" not in few


def test_work_under_a_mask_is_that_of_the_own_items() -> None:
    """What devices do of a causal model together is what one does; the last does most."""
    of, sizes = model("zoo/decoder/decoder"), {"seq": 64}
    whole, plan = of.plan({"data": 1}, sizes), of.plan({"context": 4}, sizes)
    bills = (
        CostWalk(plan.cost.values, 2).run(placed_at(plan.cost.graph, {0: place}, plan.mesh), plan.cost.scope)[0]
        for place in range(4)
    )
    flops = [2 * plan.bytes_of(bill.work.kept + bill.work.kept_back) for bill in bills]
    assert sum(flops) == whole.flops and flops == sorted({*flops}) and plan.flops == flops[-1]
    assert plan.imbalance == 4 * flops[-1] / sum(flops) and plan.behind == ("context",)
    assert of.plan({"context": 4, "model": 2}, sizes, splits={"model": ["groups", "vocab"]}).behind == ("context",)
    parts = of.plan({"model": 4}, sizes, splits={"model": ["groups", "inner", "seq"]})
    assert parts.imbalance == 1  # each has groups of its own, for all items


def test_what_is_done_again() -> None:
    text = (
        "width seq\ndepth m = 8, f = 16\n"
        "model some(x: [seq, m]) -> [seq, m] {\n"
        "    repeat.layers 3 { x = linear.down[f -> m](relu(linear.up[m -> f](x))) }\n"
        "    return linear.last[m -> m](x)\n}\n"
    )
    plan = attnc.loads(text).model("some").plan({"model": 2}, {"seq": 4}, splits={"model": ["f"]}, micro=2)
    full = 2 * 2 * 3 * 2 * (4 * 8 * 8)  # FLOP each, micro-batches, passes, maps
    assert [plan.flops_again(how) for how in ("none", "selective", "full")] == [0, full // 2, full]
    sums = sum(one.times * one.means.sent(plan.bytes_of(one.given), 2) for one in plan.sent if not one.backward)
    assert plan.sent_again("full") == plan.sent_again("selective") == 2 * sums > plan.sent_again("none") == 0
    assert plan.seconds(1.0, 1.0, "full") == plan.flops + full + plan.sent_bytes + 2 * sums


def test_weights_that_no_gradient_reaches() -> None:
    """Of a router that only ranks nothing is summed or kept, though its weights are gathered; so it is in PyTorch."""
    text = (
        "width seq\ndepth m = 8, e = 4, f = 16\n"
        "block pick(x: [seq, m]) -> e[seq] { return argmax[e](linear.route[m -> e](x)) }\n"
        "model some(x: [seq, m]) -> [seq, f] {\n"
        "    repeat.layers 2 { x = linear.step[m -> m](x) }\n"
        "    best = pick(linear.before[m -> m](x))\n"
        "    return linear.W[e: m -> f](x)[e = best]\n}\n"
    )
    of = attnc.loads(text).model("some")
    net = of.torch(seed=0)
    net(torch.randn(2, 3, 8)).sum().backward()
    unused = {path for path, weight in net.named_parameters() if weight.grad is None}
    plan = of.plan({"data": 2}, {"seq": 4})
    assert unused == {"pick.route.weight", "pick.route.bias", "before.weight", "before.bias"}
    assert unused == {path for path, placed in plan.weights.items() if not placed.learned}
    items = sum(map(plan.items, unused))
    assert plan.weight_bytes - plan.gradient_bytes == items  # two bytes each, on two devices
    given = Counter[str]()
    for why, _, _, bytes, _ in plan.weight_sendings:
        given[why] += bytes
    assert given["gradients"] == 2 * (plan.whole - items) and given["weights, forward"] == plan.whole


def test_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["shard", str(LLAMA), "--mesh", "data=2,model=4", "--set", "seq=8192", "--json"]) == 0
    data = json.loads(capsys.readouterr().out)
    plan = attnc.load(LLAMA).model("llama").plan({"data": 2, "model": 4}, {"seq": 8192})
    assert data["memory"]["full"]["total"] == plan.memory("full")
    assert sum(one["sent"] for one in data["sent"] + data["sent_of_weights"]) == data["sent_bytes"] == plan.sent_bytes
    assert data["weights"]["layers.0.self.Q.weight"]["placed"] == {"model": "groups"}
    assert main(["shard", str(LLAMA), "--find", "4", "--json"]) == 2
