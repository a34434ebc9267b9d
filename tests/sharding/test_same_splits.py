"""The plan that is printed is the one that runs: commands, written files, figures and `parallelize` divide alike."""

from __future__ import annotations

import ast
import json
import shlex
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import torch.distributed as dist
from torch.distributed.device_mesh import init_device_mesh
from torch.testing._internal.distributed.fake_pg import FakeStore

import attnc
from attnc.backends.runtime.parallel.torch_modules import Division
from attnc.backends.runtime.parallel.torch_weights import Lies
from attnc.cli.main import main
from attnc.compiler.sharding.choose import NoSplit
from attnc.compiler.sharding.mesh import Indivisible
from attnc.compiler.sharding.weights import PlacedWeight

from .subjects import EXAMPLES, EXPERTS, KINDS, model

MESHES = ({"model": 2}, {"data": 2, "model": 4}, {"expert": 2, "model": 2}, {"data": 2, "context": 2, "model": 2})
WIDTHS = (16, 16384)
"""Of one item more than a device would want, and so many that scores outweigh all else."""


@pytest.fixture
def devices() -> Iterator[None]:
    dist.init_process_group("cpu:fake,meta:fake", rank=0, world_size=8, store=FakeStore())
    yield
    dist.destroy_process_group()


def written(text: str) -> Division:
    """`DIVISION` of a file."""
    names = {"Division": Division, "Lies": Lies}
    for node in ast.parse(text).body:
        target = (
            node.targets[0]
            if isinstance(node, ast.Assign)
            else node.target
            if isinstance(node, ast.AnnAssign)
            else None
        )
        if isinstance(target, ast.Name) and target.id == "DIVISION" and isinstance(node, ast.Assign | ast.AnnAssign):
            assert node.value is not None
            found: Any = eval(compile(ast.Expression(node.value), "", "eval"), names)
            assert isinstance(found, Division)
            return found
    raise AssertionError("no DIVISION")


def assert_lies(division: Division, weights: Mapping[str, PlacedWeight], mesh: Mapping[str, int]) -> None:
    for path, placed in weights.items():
        lies = division.lies(path)
        for number, name in enumerate(mesh):
            split, there = placed.split(number), lies.dimension(name)
            assert (split and split[0]) == (there and there[0]), (path, name)
            assert (number in placed.partial) == (name in lies.summed), (path, name)


@pytest.mark.slow
@pytest.mark.usefixtures("devices")
@pytest.mark.parametrize("name", [*KINDS, *(name for name in EXPERTS if name not in KINDS)])
def test_examples_are_divided_alike(name: str) -> None:
    of, some = model(name), False
    free = {each for port in of.inputs for each, size in zip(port.axes, port.shape, strict=True) if size is None}
    bounds = {axis.name: axis.bound for axis in of.graph.axes if axis.bound is not None}
    for mesh in MESHES:
        try:
            plans = [
                of.plan(mesh, {each: min(width, bounds.get(each, width) // 2 * 2) for each in free}) for width in WIDTHS
            ]
        except (NoSplit, Indivisible) as problem:
            with pytest.raises(type(problem)):
                of.files("torch", "some", mesh=mesh)
            continue
        some = True
        assert plans[0].mesh == plans[1].mesh
        division = written(of.files("torch", "some", mesh=mesh)["some_parallel.py"])
        assert_lies(division, plans[0].weights, mesh)
        over = init_device_mesh("cpu", tuple(mesh.values()), mesh_dim_names=tuple(mesh))
        net: Any = of.parallelize(over, seed=None)
        assert net._division == division
    assert some


SMALL = """
width seq
depth model = 8, inner = 16
model small(x: [seq, model]) -> [seq, model] {
    return x + linear.down[inner -> model](relu(linear.up[model -> inner](x)))
}
"""


@pytest.mark.parametrize(
    "name",
    ["small", *(pytest.param(name, marks=pytest.mark.slow) for name in ("zoo/gpt2", "zoo/bart"))],
)
def test_commands_divide_alike(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Whatever width a plan is made for; so does the figure."""
    file, sizes = tmp_path / "small.attn", KINDS[name][0] if name in KINDS else {}
    if name in KINDS:
        file = EXAMPLES / f"{name}.attn"
    else:
        file.write_text(SMALL)
    command = [str(file), "--mesh", "data=2,model=4", *(f"--set={name}={size}" for name, size in sizes.items())]
    spec = attnc.load(file, sizes=sizes)
    of = spec.model(spec.models[0])
    free = [axis.name for port in of.graph.inputs for axis in port.value.type.axes if axis.extent is None]
    assert main(["shard", *command, "--json", *(f"--set={each}=16" for each in free)]) == 0
    said = json.loads(capsys.readouterr().out)
    assert main(["compile", "--to", "torch", *command, "-o", str(tmp_path / "some.py")]) == 0
    division = written((tmp_path / "some_parallel.py").read_text())
    mesh = {"data": 2, "model": 4}
    plan = of.plan(mesh)
    assert_lies(division, plan.weights, mesh)
    assert said["mesh"] == {axis.name: {"devices": axis.size, "splits": [*axis.splits]} for axis in plan.mesh.axes}
    assert of._sent(mesh, {})[1] == plan.mesh


@pytest.mark.slow
@pytest.mark.usefixtures("devices")
def test_what_is_found_runs(capsys: pytest.CaptureFixture[str]) -> None:
    """Each command plans the mesh of its row, and its arguments are those of `parallelize`, which divides alike."""
    command = ["shard", str(EXAMPLES / "gpt/gpt.attn:loss"), "--find", "8", "--batch", "32", "--set", "seq=64"]
    command += [f"--set={name}={size}" for name, size in KINDS["gpt/gpt"][0].items()]
    assert main(command) == 0
    lines = capsys.readouterr().out.splitlines()
    plans = [shlex.split(line[3:]) for line in lines if " shard " in line]
    calls = [line.strip() for line in lines if line.strip().startswith("parallelize(mesh, ")]
    assert len(plans) == len(calls) == 5
    of = attnc.load(EXAMPLES / "gpt/gpt.attn", sizes=dict(KINDS["gpt/gpt"][0])).model("loss")
    for plan, call in zip(plans, calls, strict=True):
        assert main([*plan[1:], "--json"]) == 0
        said = json.loads(capsys.readouterr().out)
        if "stages" in said:
            continue  # what stages run is in test_pipelines.py
        sizes = {name: axis["devices"] for name, axis in said["mesh"].items()}
        mesh = init_device_mesh("cpu", tuple(sizes.values()), mesh_dim_names=tuple(sizes))
        net: Any = eval(f"of.{call}", {"of": of, "mesh": mesh})
        for path, weight in said["weights"].items():
            assert {*net._division.lies(path).split} == {*weight["placed"]}
