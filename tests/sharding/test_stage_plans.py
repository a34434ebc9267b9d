"""Plans in stages: together they have the weights and the work of the whole, and send what a run sends."""

from __future__ import annotations

import json

import pytest

import attnc
from attnc.cli.main import main
from attnc.compiler.sharding.choose import NoSplit

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
    assert "warning: 1 micro-batches for 4 stages: devices wait 75% of the time" in said
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
