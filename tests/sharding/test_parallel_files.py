"""`NAME_parallel.py` as its owner runs it: beside `NAME.py`, without attnc."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from attnc.cli.main import main

from .subjects import EXAMPLES

SCRIPT = """
import sys

import torch
import torch.distributed as dist
from torch.distributed.device_mesh import init_device_mesh

import gpt
import gpt_parallel

rank, meet = int(sys.argv[1]), sys.argv[2]
dist.init_process_group("gloo", init_method=f"file://{meet}", rank=rank, world_size=2)
mesh = init_device_mesh("cpu", (1, 2), mesh_dim_names=("data", "model"))
torch.manual_seed(0)
whole = gpt.Gpt2().double().eval()
ids = torch.arange(12).reshape(2, 6)
net = gpt_parallel.parallelize(whole, mesh).eval()
assert net.state_dict().keys() == whole.state_dict().keys()
far = (net.whole_result(net(ids)) - whole(ids)).abs().max()
assert far < 1e-12, far
with torch.device("meta"):
    empty = gpt.Gpt2()
drawn = gpt_parallel.parallelize(empty, mesh, seed=1)
weights = {name: x.full_tensor() for name, x in drawn.named_parameters()}
assert 0.01 < weights["E"].std() < 0.03 and not any(x.isnan().any() for x in weights.values())
for wrong in (init_device_mesh("cpu", (2, 1), mesh_dim_names=("data", "model")),
              init_device_mesh("cpu", (2,), mesh_dim_names=("model",))):
    try:
        gpt_parallel.parallelize(whole, wrong)
    except ValueError as problem:
        print(problem)
for sizes in ({"inner": 32}, {"heads": 2}, {"drop": 0.0}):
    try:
        gpt_parallel.parallelize(gpt.Gpt2(**sizes), mesh)
    except ValueError as problem:
        print(problem)
other = gpt.Gpt2(heads=2, inner=32).double().eval()
net = gpt_parallel.parallelize(other, mesh, heads=2, inner=32).eval()
assert (net.whole_result(net(ids)) - other(ids)).abs().max() < 1e-12
dist.destroy_process_group()
"""


STAGES = """
import sys

import torch
import torch.distributed as dist
from torch.distributed.device_mesh import init_device_mesh

import gpt
import gpt_parallel

rank, meet = int(sys.argv[1]), sys.argv[2]
dist.init_process_group("gloo", init_method=f"file://{meet}", rank=rank, world_size=2)
mesh = init_device_mesh("cpu", (2,), mesh_dim_names=("pipe",))
torch.manual_seed(0)
whole = gpt.Gpt2().double().eval()
ids = torch.arange(24).reshape(4, 6)
net = gpt_parallel.parallelize(whole, mesh, checkpoint=True).eval()
found = net.forward_backward(net.batch_part(ids), loss=lambda logits: logits.square().sum(), micro=2)
wanted = whole(ids).square().sum()
wanted.backward()
assert abs(found - wanted) < 1e-12 * wanted, (found, wanted)
theirs = dict(whole.named_parameters())
largest = max(x.grad.abs().max() for x in theirs.values())
for name, x in net.named_parameters():
    assert (x.grad - theirs[name].grad).abs().max() < 1e-12 * largest, name
norms = net.clip_grad_norm_(1.0), torch.nn.utils.clip_grad_norm_(whole.parameters(), 1.0)
assert abs(norms[0] - norms[1]) < 1e-12 * norms[1], norms
names = [None, None]
dist.all_gather_object(names, {*net.state_dict()})
assert names[0] | names[1] == {*whole.state_dict()} and names[0] & names[1] == {"E"}, names
with torch.device("meta"):
    empty = gpt.Gpt2()
drawn = gpt_parallel.parallelize(empty, mesh, seed=1)
assert 0.01 < drawn.E.std() < 0.03
for wrong in ((whole, init_device_mesh("cpu", (2,), mesh_dim_names=("data",))), (gpt.Gpt2(inner=32), mesh),
              (gpt.Gpt2(heads=2), mesh)):
    try:
        gpt_parallel.parallelize(*wrong)
    except ValueError as problem:
        print(problem)
dist.destroy_process_group()
"""


def ran(folder: Path, script: str, mesh: str) -> str:
    """What the first of two processes prints that run it beside the files of GPT-2, without attnc."""
    sizes = [f"--set={name}={size}" for name, size in
             {"model": 32, "heads": 4, "inner": 64, "vocab": 48, "layers": 2, "longest": 16}.items()]  # fmt: skip
    command = ["compile", "--to", "torch", str(EXAMPLES / "zoo/gpt2.attn"), "--mesh", mesh, *sizes]
    assert main([*command, "-o", str(folder / "gpt.py")]) == 0
    (folder / "run.py").write_text(script)
    hidden = folder / "hidden"  # of attnc
    hidden.mkdir()
    (hidden / "attnc.py").write_text("raise ImportError\n")
    run = [sys.executable, "run.py"]
    started = [
        subprocess.Popen(
            [*run, str(rank), str(folder / "meet")], cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            text=True, env={**os.environ, "PYTHONPATH": str(hidden), "OMP_NUM_THREADS": "1"},
        )
        for rank in range(2)
    ]  # fmt: skip
    said = [each.communicate(timeout=120) for each in started]
    assert [each.returncode for each in started] == [0, 0], said[0][1][-3000:]
    return said[0][0]


@pytest.mark.slow
def test_files_run_without_attnc(tmp_path: Path) -> None:
    said = ran(tmp_path, SCRIPT, "data=1,model=2")
    assert sorted(file.name for file in tmp_path.glob("*.py") if file.name != "run.py") == [
        "attnc_parallel_torch.py", "attnc_runtime_torch.py", "gpt.py", "gpt_parallel.py"
    ]  # fmt: skip
    assert said.splitlines() == [
        "`model` of the mesh has 1 devices: this file is written for 2",
        "the mesh has the axes model: it takes data, model",
        "`layers.0.fed.up.weight` of `net` has the shape [32, 32], and this file takes [64, 32]: "
        "give `parallelize` the sizes of `net`",
        "`layers.0.self.heads` of `net` is 2, and 4 here: "
        "write what it was made with as arguments of `parallelize`, such as `heads=2`",
        "`drop` of `net` is 0.0, and 0.1 here: "
        "write what it was made with as arguments of `parallelize`, such as `drop=0.0`",
    ]


@pytest.mark.slow
def test_stages_run_without_attnc(tmp_path: Path) -> None:
    said = ran(tmp_path, STAGES, "pipe=2")
    assert sorted(file.name for file in tmp_path.glob("gpt_*.py")) == [
        "gpt_parallel.py", "gpt_stage0.py", "gpt_stage1.py"
    ]  # fmt: skip
    assert said.splitlines() == [
        "the mesh takes an axis `pipe` of 2 devices: there are as many stages",
        "`layers.0.fed.up.weight` of `net` has the shape [32, 32], and this file takes [64, 32]: "
        "stages have the sizes that they are written for",
        "`layers.0.self.heads` of `net` is 2, and 4 here: stages have the sizes that they are written for",
    ]
