"""Plans in stages: together they have the weights and the work of the whole, and send what a run sends."""

from __future__ import annotations

import json

import pytest

import attnc
from attnc.cli.main import main
from attnc.compiler.sharding.choose import NoSplit
from attnc.compiler.sharding.plan import ShardingPlan
from attnc.compiler.sharding.stages import PipelinePlan

from .subjects import EXAMPLES, model

SIZES = {"seq": 8}


def test_stages_are_the_whole() -> None:
    of = model("zoo/gpt2")
    whole = of.plan({"data": 2}, SIZES, batch=8, micro=2)
    plan = of.plan_stages({"pipe": 2, "data": 2}, SIZES, batch=8, micro=2)
    paths = [{*each.weights} for each in plan.plans]
    assert set.union(*paths) == {*whole.weights} and set.intersection(*paths) == {*plan.held} == {"E"}
    assert plan.held["E"] == (0, 1)
    assert sum(each.flops for each in plan.plans) == whole.flops
    assert sum(each.parameters for each in plan.plans) == whole.parameters + whole.items("E")
    assert [plan.flight(number) for number in range(2)] == [2, 1] and plan.bubble == 1 / 3
    sizes = of.weights["E"].shape[1]
    assert plan.sent == ((2 * 8 * sizes * 2, 2 * 8 * sizes * 2),)  # items of a micro-batch, bfloat16


@pytest.mark.parametrize("mesh", [{"data": 2, "model": 2}, {"pipe": 2, "data": 2}])
def test_another_step_is_that_of_a_plan_of_its_own(mesh: dict[str, int]) -> None:
    """So a search plans each mesh once."""
    of = model("zoo/gpt2")
    plan = of.plan_stages if "pipe" in mesh else of.plan
    found, own = plan(mesh, SIZES, batch=2).with_step(24, 3, 1), plan(mesh, SIZES, batch=24, micro=3, zero=1)
    for how in ("none", "selective", "full"):
        assert found.timed(1e9, 1e12, how) == own.timed(1e9, 1e12, how)
        if isinstance(found, PipelinePlan) and isinstance(own, PipelinePlan):
            assert found.needs(how) == own.needs(how) == max(own.memory(number, how) for number in range(2))
        elif isinstance(found, ShardingPlan) and isinstance(own, ShardingPlan):
            assert found.held(how) == own.held(how)


def test_stages_that_do_the_same_are_planned_once() -> None:
    of = attnc.load(EXAMPLES / "zoo/gpt2.attn", sizes={"model": 32, "heads": 4, "layers": 8, "vocab": 48}).model("gpt2")
    plan = of.plan_stages({"pipe": 4}, SIZES)
    assert [count for stage in plan.stages for _, count in stage.passes.values()] == [2, 2, 2, 2]
    assert plan.unlike == (0, 1, 3)
    assert plan.plans[1].flops == plan.plans[2].flops
    assert {path.split(".")[1] for path in plan.plans[2].weights} == {"4", "5"}


def test_stages_that_share_weights_scatter_alike() -> None:
    """The encoder's weights, which are those of parts of the source, are whole beside a decoder that has all of it."""
    of = model("transformer_loss")
    sizes, splits = {"source": 8, "target": 8}, {"context": ["source"]}
    plan = of.plan_stages({"pipe": 2, "context": 2}, sizes, splits=splits)
    assert plan.held and [each.copied for each in plan.plans] == [(), ()]
    alone = of.plan_stages({"pipe": 2, "context": 2}, sizes)
    assert [each.copied for each in alone.plans] == [(0,), (0,)]


def test_few_micro_batches_go_forward_first() -> None:
    plan = model("zoo/gpt2").plan_stages({"pipe": 2}, SIZES)
    assert [plan.flight(number) for number in range(2)] == [1, 1] and plan.bubble == 0.5


def test_page(capsys: pytest.CaptureFixture[str]) -> None:
    command = ["shard", str(EXAMPLES / "zoo/gpt2.attn"), "--mesh", "pipe=4,model=2", "--set", "seq=64", "--batch", "2"]
    assert main(command) == 0
    said = capsys.readouterr().out
    rows = [line.split() for line in said.splitlines() if line[:5].strip().isdigit()]
    assert [row[0] for row in rows] == ["0", "1", "2", "3"] and rows[0][1:5] == ["layers", "0", "to", "2"], said
    assert "shared     E: stages 0, 3; its gradients are summed" in said
    assert "warning: 1 micro-batch for 4 stages: devices wait 75% of the time" in said
    assert main([*command, "--json", "--micro", "2"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert len(told["stages"]) == 4 and told["shared"] == {"E": [0, 3]}


def test_what_cannot_be() -> None:
    of = model("zoo/gpt2")
    with pytest.raises(NoSplit, match="a plan for each stage"):
        of.plan({"pipe": 2}, SIZES)
    with pytest.raises(ValueError, match="there is none"):
        of.plan_stages({"data": 2}, SIZES)
    with pytest.raises(NoSplit, match="it takes at most 2"):
        of.plan_stages({"pipe": 3}, SIZES)
    assert issubclass(NoSplit, ValueError) and attnc
