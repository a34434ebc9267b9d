"""What a GPU must do: `make test-gpu`, where there is one. Every test runs on the CPU too, as far as that shows it."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
from functools import partial
from pathlib import Path

import numpy as np
import pytest

import attnc

torch = pytest.importorskip("torch")
ROOT = Path(__file__).parents[1]
NO_CUDA = pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device here")
COMPILERS = {"cuda": "inductor", "cpu": "eager"}  # of torch.compile: what makes kernels, and what only makes graphs
pytestmark = [
    pytest.mark.parametrize("device", ["cpu", pytest.param("cuda", marks=[pytest.mark.gpu, NO_CUDA])]),
    pytest.mark.filterwarnings("default"),  # the compiler's own
]


@pytest.fixture(autouse=True)
def _fresh() -> None:
    torch._dynamo.reset()


def inputs(batch: int = 3, source: int = 37, target: int = 29) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(0)
    real = rng.random((batch, source)) > 0.3
    real[0] = False  # a source of nothing but padding: rows of attention that see nothing
    ids = {"source_ids": rng.integers(0, 50, (batch, source)), "target_ids": rng.integers(0, 50, (batch, target))}
    return {**ids, "real": real}


def on(device: str, arrays: dict[str, np.ndarray]) -> dict[str, torch.Tensor]:
    return {name: torch.from_numpy(array).to(device) for name, array in arrays.items()}


def transformer() -> attnc.Model:
    return attnc.load(ROOT / "examples" / "transformer.attn", config="tiny").model("transformer")


def gpt(layers: int = 3) -> attnc.Spec:
    sizes = {"layers": layers, "model": 64, "heads": 2, "vocab": 97}
    return attnc.load(ROOT / "bench" / "speed" / "gpt.attn", sizes=sizes)


@pytest.mark.parametrize(("dtype", "tolerance"), [("float64", 1e-10), ("float32", 2e-5), ("bfloat16", 0.1)])
def test_agrees_with_numpy(device: str, dtype: str, tolerance: float) -> None:
    """In float32 too: products are not rounded to TF32 unless the user says so."""
    arrays = inputs()
    expected = transformer().numpy(seed=0, dtype="float64")(**arrays)
    net = transformer().torch(seed=0, device=device, dtype=getattr(torch, dtype)).eval()
    with torch.no_grad():
        found = net(**on(device, arrays)).double().cpu().numpy()
    assert np.isfinite(found).all()
    assert np.abs(found - expected).max() <= tolerance * expected.std()


def test_tf32_stays_as_the_user_set_it(device: str) -> None:
    before = torch.get_float32_matmul_precision(), torch.backends.cudnn.allow_tf32
    net = transformer().torch(seed=0, device=device)
    net(**on(device, inputs()))
    assert (torch.get_float32_matmul_precision(), torch.backends.cudnn.allow_tf32) == before


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_rows_that_see_nothing_have_finite_gradients(device: str, dtype: str) -> None:
    net = transformer().torch(seed=0, device=device, dtype=dtype)
    net(**on(device, inputs())).square().sum().backward()
    assert all(torch.isfinite(weight.grad).all() for weight in net.parameters())


def test_compiled_in_one_graph(device: str) -> None:
    net = transformer().torch(seed=0, device=device).eval()
    tensors = on(device, inputs())
    with torch.no_grad():
        plain = net(**tensors)
        fast = torch.compile(net, fullgraph=True, backend=COMPILERS[device])(**tensors)
    assert (fast - plain).abs().max() <= 1e-4 * plain.std()


@pytest.mark.parametrize("blocks", [False, True])
def test_training_compiled_under_autocast(device: str, blocks: bool) -> None:
    """As a whole or by its blocks: losses fall as those of the plain model in float32 do."""
    model = gpt().model("loss")
    ids = torch.from_numpy(np.random.default_rng(0).integers(0, 97, (4, 33))).to(device)

    def losses(fast: bool) -> list[float]:
        net = model.torch(seed=0, device=device)
        run = net
        if fast and blocks:
            for block in net.layers:
                block.compile(fullgraph=True, backend=COMPILERS[device])
        elif fast:
            run = torch.compile(net, fullgraph=True, backend=COMPILERS[device])
        optimiser = torch.optim.AdamW(net.parameters(), lr=3e-3, fused=True)
        found = []
        for _ in range(4):
            with torch.autocast(device, torch.bfloat16, enabled=fast):
                loss = run(ids[:, :-1], ids[:, 1:]).mean()
            assert loss.dtype == torch.float32
            loss.backward()
            optimiser.step()
            optimiser.zero_grad(set_to_none=True)
            found.append(float(loss.detach()))
        return found

    plain, fast = losses(False), losses(True)
    assert plain[-1] < plain[0] - 0.1
    np.testing.assert_allclose(fast, plain, rtol=0.02)


MASKED = """\
use std.attention: multihead, model, heads
width seq
width past like seq
depth model = 64, heads = 4
model net(x: [seq, model], real: bool[seq]) -> [seq, model] {{
    return multihead[seq, past](x, x[seq as past], {mask})
}}
"""


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize(
    "mask",
    [
        "past <= seq",
        "past <= seq and seq - past < 100 and real[seq as past]",
        "past <= seq and (seq - past) % 32 == 0 or abs(seq - past) < 8",
        "floor(seq / 64) == floor(past / 64)",
    ],
)
def test_masks_of_positions(device: str, mask: str, compiled: bool) -> None:
    """FlexAttention sees what NumPy sees, and its gradients are those of the CPU; in graphs likewise."""
    spec = attnc.loads(MASKED.format(mask=mask)).model("net")
    for width in (1, 127, 300):
        rng = np.random.default_rng(0)
        arrays = {"x": rng.standard_normal((2, width, 64)), "real": rng.random((2, width)) > 0.2}
        expected = spec.numpy(seed=0, dtype="float64")(**arrays)
        arrays["x"] = arrays["x"].astype(np.float32)
        gradients = []
        for place in (device, "cpu"):
            net = spec.torch(seed=0, device=place)
            made = compiled and place == device
            torch._dynamo.reset()
            run = torch.compile(net, fullgraph=True, backend=COMPILERS[place]) if made else net
            out = run(**on(place, arrays))
            assert np.abs(out.detach().double().cpu().numpy() - expected).max() <= 1e-3 * expected.std()
            out.square().sum().backward()
            gradients.append({name: weight.grad.cpu() for name, weight in net.named_parameters()})
        # Of one item attention has no choice: the gradient of Q and K is 0 there, and what comes is rounding.
        rounding = 1e-6 * max(float(each.abs().max()) for each in gradients[1].values())
        for name, right in gradients[1].items():
            assert (gradients[0][name] - right).abs().max() <= 1e-2 * right.abs().max() + rounding, name


def test_masks_under_autocast(device: str) -> None:
    """Queries and keys turned by float32 tables, values of bfloat16: one kernel takes them all."""
    sizes = dict(vocab=37, model=64, layers=2, groups=2, sharing=1, key=32, inner=64, base=5000, near=40)
    model = attnc.load(ROOT / "examples" / "zoo" / "mistral.attn", sizes=sizes).model("mistral")
    arrays = {"ids": np.random.default_rng(0).integers(0, 37, (2, 150))}
    arrays |= {port.name: np.ones((2, 150), bool) for port in model.inputs if port.element == "bool" and port.name}
    expected = model.numpy(seed=0, dtype="float64")(**arrays)
    net = model.torch(seed=0, device=device)
    with torch.autocast(device, torch.bfloat16):
        out = net(**on(device, arrays))
    assert np.abs(out.detach().double().cpu().numpy() - expected).max() <= 0.1 * expected.std()


def test_decoding(device: str) -> None:
    """Tokens are those of NumPy."""
    model = gpt().model("gpt")
    prompts = [[5, 7, 11, 2], [3, 1]]
    expected = model.numpy(seed=0, dtype="float64").generate(prompts, 12)
    net = model.torch(seed=0, device=device, dtype=torch.float64).eval()
    rows = [torch.tensor(row, device=device) for row in prompts]
    assert (net.generate(rows, 12).cpu().numpy() == expected).all()
    for static in (True, partial(torch.compile, fullgraph=True, backend=COMPILERS[device])):
        for _ in range(2):  # made, and used again
            assert (net.generate(rows, 12, static=static).cpu().numpy() == expected).all()


BENCH = [sys.executable, str(ROOT / "bench" / "gpu.py"), "--small", "--rounds", "2"]


def benchmark(device: str, out: Path, *only: str) -> dict[str, dict[str, object]]:
    """What gpu.json tells of each task, at tiny sizes."""
    chosen = [text for name in only for text in ("--only", name)]
    command = [*BENCH, "--device", device, "--backend", COMPILERS[device], "--out", str(out), *chosen]
    found = subprocess.run(command, capture_output=True, text=True, timeout=900)
    assert found.returncode == 0, found.stdout[-2000:] + found.stderr[-2000:]
    assert len(list(out.iterdir())) <= 8
    return {row["name"]: row for row in json.loads((out / "gpu.json").read_text())["work"]}


@pytest.mark.slow
def test_the_benchmark(device: str, tmp_path: Path) -> None:
    """bench/gpu.py at tiny sizes: all contenders compute the same; without a GPU and without --small it says so."""
    if device == "cpu" and not torch.cuda.is_available():
        alone = subprocess.run([*BENCH[:2], "--out", str(tmp_path)], capture_output=True, text=True, timeout=200)
        assert alone.returncode == 1 and "there is no CUDA device here" in alone.stderr
    work = benchmark(device, tmp_path, "attention", "correct_masks")
    assert {row["state"] for row in work.values()} == {"done"} and work["correct_masks"]["wrong"] == []
    assert all(goal["met"] is None for goal in work["attention"]["goals"])  # type: ignore[attr-defined]


@pytest.mark.slow
def test_the_whole_benchmark(device: str, tmp_path: Path) -> None:
    work = benchmark(device, tmp_path)
    assert {row["state"] for row in work.values()} == {"done"} and len(work) == 14
    peers = {"experts_8": "Hugging Face grouped_mm", "linear": "chunked by hand", "train_124M": "nanoGPT"}
    for name, peer in peers.items():
        there = not peer.startswith("Hugging") or importlib.util.find_spec("transformers")
        assert not there or peer in work[name]["seconds"]  # type: ignore[operator]
    files = {str(row[0]).partition(":")[0] for row in work["correct_attentions"]["errors"]}  # type: ignore[attr-defined]
    assert files == {path.stem for path in (ROOT / "examples" / "attentions").glob("*.attn")}


@pytest.mark.slow
def test_a_task_that_fails_takes_too_long_or_ends_its_process(device: str, tmp_path: Path) -> None:
    """Each is told, and the next one runs."""
    code = """
import os, sys, time
sys.path.insert(0, sys.argv[1])
import torch
from device import guard
from device.setting import Setting

def fails(setting): raise ValueError("no such kernel")
def waits(setting): time.sleep(600)
def dies(setting): os._exit(3)
def works(setting): return {"what": "this"}

TASKS = {each.__name__: guard.Task(2.0, 0, each) for each in (fails, waits, dies, works)}

def serve(line, setting): guard.work(line, setting, TASKS)

if __name__ == "__main__":
    worker = guard.Worker(serve, Setting(torch.device("cpu"), True, "eager", 1, None))
    for name, told in guard.guarded(TASKS, list(TASKS), worker, 5):
        print(name, told["state"], str(told.get("error", told.get("what"))).strip().splitlines()[-1])
    for name, told in guard.guarded(TASKS, ["works"], worker, 0.01):
        print(name, told["state"])
"""
    (tmp_path / "tasks.py").write_text(code)
    command = [sys.executable, str(tmp_path / "tasks.py"), str(ROOT / "bench")]
    found = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert found.stdout.splitlines() == [
        "fails failed ValueError: no such kernel",
        "waits out of time more than 2 seconds",
        "dies failed the process ended with 3",
        "works done this",
        "works no time",
    ], found.stderr[-2000:]


@pytest.mark.parametrize(("dtype", "tolerance"), [("float32", 2e-5), ("bfloat16", 0.03)])
def test_masks_and_biases_however_they_lie_in_memory(device: str, dtype: str, tolerance: float) -> None:
    """cuDNN reads a mask of one item for all keys, and the transpose of a table, as if their keys lay in a row."""
    from attnc.backends.runtime.torch.masks import safe_attention

    draw = torch.Generator().manual_seed(0)
    Q, K, V = (torch.randn(2, 4, 64, 16, generator=draw, dtype=torch.float64) for _ in range(3))
    bias = torch.randn(64, 64, 4, generator=draw, dtype=torch.float64).permute(2, 1, 0)[None]
    for mask, tilt in ((torch.ones(1, 1, 1, 1, dtype=torch.bool), None), (None, bias)):
        leaves = [x.clone().to(device, getattr(torch, dtype)).requires_grad_() for x in (Q, K, V)]
        exact = [x.double().cpu().detach().requires_grad_() for x in leaves]
        given = None if tilt is None else tilt.to(leaves[0])
        found = safe_attention(*leaves, None if mask is None else mask.to(device), given)
        expected = safe_attention(*exact, mask, tilt)
        up = torch.randn(expected.shape, generator=draw, dtype=torch.float64)
        gradients = torch.autograd.grad(found, leaves, up.to(found))
        expectations = torch.autograd.grad(expected, exact, up)
        for one, other in zip((found, *gradients), (expected, *expectations), strict=True):
            assert (one.double().cpu() - other).square().mean().sqrt() < tolerance * other.std()


@pytest.mark.parametrize("name", ["gru", "lstm", "rnn"])
def test_recurrent_nets_have_gradients_outside_training_too(device: str, name: str) -> None:
    spec = attnc.load(ROOT / "examples" / "attentions" / f"{name}.attn", sizes={"input": 8, "hidden": 6})
    net = spec.model(name).torch(seed=0, device=device).eval()
    net(torch.randn(2, 5, 8, device=device)).square().sum().backward()
    assert all(weight.grad is not None and weight.grad.isfinite().all() for weight in net.parameters())


FAKES = [sys.executable, str(ROOT / "bench" / "device" / "fakes.py")]


@pytest.mark.slow
def test_no_example_waits_for_the_device_or_mixes_devices(device: str) -> None:
    """In a process of its own."""
    found = subprocess.run(FAKES, capture_output=True, text=True, timeout=900)
    assert found.stdout == "0 went wrong\n", found.stdout + found.stderr[-2000:]


@pytest.mark.slow
def test_what_waits_for_the_device_or_mixes_devices_is_found(device: str, tmp_path: Path) -> None:
    code = """
import sys
sys.path.insert(0, sys.argv[1])
import torch
from device import fakes

class Bad(torch.nn.Module):
    def __init__(self, look):
        super().__init__()
        self.look, self.weight = look, torch.nn.Parameter(torch.empty(4, device="meta"))

    def forward(self, x):
        return self.weight * x if self.look(x) else x

class Subject:
    steps = False

    def __init__(self, name, look): self.name, self.look, self.model = name, look, self
    def torch(self, **_): return Bad(self.look)
    def inputs(self): return {"x": torch.ones(4)}

looks = {"number": lambda x: x.sum() > 0, "device": lambda x: x + torch.ones(4) is not None, "none": lambda x: True}
for name, what in fakes.told(Subject(*each) for each in looks.items()).items():
    print(name, "|", what.partition("(")[0])
"""
    (tmp_path / "bad.py").write_text(code)
    found = subprocess.run(
        [sys.executable, str(tmp_path / "bad.py"), str(ROOT / "bench")], capture_output=True, text=True, timeout=300
    )
    names = [line.partition(" |")[0] for line in found.stdout.splitlines()]
    assert names == ["number, forward on CUDA", "number, backward", "device, forward on CUDA", "device, backward"], (
        found.stdout + found.stderr[-2000:]
    )
