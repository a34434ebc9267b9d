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
try:
    gpt_parallel.parallelize(gpt.Gpt2(inner=32), mesh)
except ValueError as problem:
    print(problem)
dist.destroy_process_group()
"""


@pytest.mark.slow
def test_files_run_without_attnc(tmp_path: Path) -> None:
    sizes = [f"--set={name}={size}" for name, size in
             {"model": 32, "heads": 4, "inner": 64, "vocab": 48, "layers": 2, "longest": 16}.items()]  # fmt: skip
    command = ["compile", "--to", "torch", str(EXAMPLES / "zoo/gpt2.attn"), "--mesh", "data=1,model=2", *sizes]
    assert main([*command, "-o", str(tmp_path / "gpt.py")]) == 0
    assert sorted(file.name for file in tmp_path.iterdir()) == [
        "attnc_parallel_torch.py", "attnc_runtime_torch.py", "gpt.py", "gpt_parallel.py"
    ]  # fmt: skip
    (tmp_path / "run.py").write_text(SCRIPT)
    hidden = tmp_path / "hidden"  # of attnc
    hidden.mkdir()
    (hidden / "attnc.py").write_text("raise ImportError\n")
    run = [sys.executable, "run.py"]
    started = [
        subprocess.Popen(
            [*run, str(rank), str(tmp_path / "meet")], cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            text=True, env={**os.environ, "PYTHONPATH": str(hidden), "OMP_NUM_THREADS": "1"},
        )
        for rank in range(2)
    ]  # fmt: skip
    said = [each.communicate(timeout=120) for each in started]
    assert [each.returncode for each in started] == [0, 0], said[0][1][-3000:]
    assert said[0][0].splitlines() == [
        "`model` of the mesh has 1 devices: this file is written for 2",
        "the mesh has the axes model: it takes data, model",
        "`layers.0.fed.up.weight` of `net` has the shape [32, 32], and this file takes [64, 32]: "
        "give `parallelize` the sizes of `net`",
    ]
