"""Kernels of Triton under `torch.compile`: no graph breaks, one program for any length, forward and backward."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from .cases import CASES, Case
from .test_kernels import found, inputs, nets

torch = pytest.importorskip("torch")
os.environ.setdefault("TRITON_INTERPRET", "1")
pytest.importorskip("triton", reason="Triton is not installed")
pytestmark = pytest.mark.slow

SOME = [case for case in CASES if case.file in ("differential", "biased", "shown", "spherical")]


@pytest.mark.parametrize("case", [pytest.param(case, id=case.file) for case in SOME])
def test_one_program_for_any_length(case: Case) -> None:
    """As it is without `torch.compile`, gradients too; another length compiles nothing anew."""
    from torch._dynamo.utils import counters

    net, _ = nets(case)
    torch._dynamo.reset()
    counters.clear()
    compiled = torch.compile(net, backend="aot_eager", fullgraph=True, dynamic=True)
    given = inputs(case.load())
    axes = {str(port.name): [*port.axes] for port in case.load().inputs}
    for length in (19, 11, 16):
        cut = dict(given)
        for name, own in axes.items():
            if "target" in own and name in cut:
                cut[name] = cut[name].narrow(1 + own.index("target"), 0, length)
        for x, y in zip(*(found(one, cut, torch.float32) for one in (compiled, net)), strict=True):
            torch.testing.assert_close(x, y, rtol=1e-4, atol=1e-5)
    assert counters["stats"]["unique_graphs"] == 1


TRACED = """
import torch, triton
from torch._dynamo.backends.common import aot_autograd
from triton.backends.compiler import GPUTarget
from tests.fused.cases import CASES


class Driver:  # as on an H100, as far as tracing asks
    def get_current_target(self):
        return GPUTarget("cuda", 90, 32)

    def get_current_device(self):
        return 0

    def is_active(self):
        return True


def compiler(graph, example):
    nodes = [*graph.graph.nodes]
    print(*(node.kwargs["kernel_idx"] for node in nodes if "triton_kernel_wrapper" in str(node.target)))

    def like(node):
        value = node.meta["val"] if node is not None else None
        if not isinstance(value, torch.Tensor):
            return value if value is None else value.node.hint
        return torch.empty([getattr(size, "node", size) and int(size) for size in value.shape], device="meta")

    return lambda *args: [like(node) for node in nodes[-1].args[0]]


triton.runtime.driver.set_active(Driver())
(case,) = (case for case in CASES if case.file == "FILE")
model = case.load()
net = model.torch(kernels="triton", device="meta")
given = {}
for port in model.inputs:
    sizes = [axis.extent or 19 for axis in model.graph.axes if axis.name in port.axes]
    given[port.name] = torch.empty(3, *sizes, device="meta", requires_grad=True)
backend = aot_autograd(fw_compiler=compiler, bw_compiler=compiler)
made = torch.compile(net, backend=backend, fullgraph=True, dynamic=True)(**given)
sum(x.sum() for x in (made if isinstance(made, tuple) else (made,))).backward()
"""


@pytest.mark.parametrize("file", ["multi_head", "biased"])
def test_kernels_are_seen_through(file: str) -> None:
    """Where they do not run in Python, traced for a GPU that is not there: the programs hold the kernels themselves,
    and Triton knows from each what it writes, for which it must translate all of it.
    """
    kept = {name: value for name, value in os.environ.items() if name != "TRITON_INTERPRET"}
    command = [sys.executable, "-c", TRACED.replace("FILE", file)]
    root = Path(__file__).parents[2]
    done = subprocess.run(command, cwd=root, capture_output=True, text=True, env=kept)
    assert done.returncode == 0, done.stderr[-2000:]
    assert "assuming every input is mutated" not in done.stderr, done.stderr[-2000:]
    layers = {"multi_head": 1, "biased": 2}[file]
    forward, backward = (len(line.split()) for line in done.stdout.splitlines())
    assert (forward, backward) == (layers, 2 * layers)
