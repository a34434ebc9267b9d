"""What only a GPU can show; skipped without one. Where there is one: `make test-gpu`."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import attnc

torch = pytest.importorskip("torch")
pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device here"),
]

SPEC = Path(__file__).parents[1] / "examples" / "transformer.attn"


def inputs(batch: int = 3, source: int = 37, target: int = 29) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(0)
    real = rng.random((batch, source)) > 0.3
    real[0] = False  # a source of nothing but padding: rows of attention that see nothing
    ids = {"source_ids": rng.integers(0, 50, (batch, source)), "target_ids": rng.integers(0, 50, (batch, target))}
    return {**ids, "real": real}


def on(device: str, arrays: dict[str, np.ndarray]) -> dict[str, torch.Tensor]:
    return {name: torch.from_numpy(array).to(device) for name, array in arrays.items()}


def model() -> attnc.Model:
    return attnc.load(SPEC, config="tiny").model("transformer")


@pytest.mark.parametrize(("dtype", "tolerance"), [("float64", 1e-10), ("float32", 2e-5), ("bfloat16", 0.1)])
def test_the_gpu_agrees_with_numpy(dtype: str, tolerance: float) -> None:
    arrays = inputs()
    expected = model().numpy(seed=0, dtype="float64")(**arrays)
    net = model().torch(seed=0, device="cuda", dtype=getattr(torch, dtype)).eval()
    with torch.no_grad():
        found = net(**on("cuda", arrays)).double().cpu().numpy()
    assert np.isfinite(found).all()
    assert np.abs(found - expected).max() <= tolerance * expected.std()


def test_rows_that_see_nothing_have_finite_gradients() -> None:
    net = model().torch(seed=0, device="cuda")
    net(**on("cuda", inputs())).square().sum().backward()
    assert all(torch.isfinite(weight.grad).all() for weight in net.parameters())


def test_compiled_in_one_graph() -> None:
    net = model().torch(seed=0, device="cuda").eval()
    tensors = on("cuda", inputs())
    with torch.no_grad():
        plain = net(**tensors)
        fast = torch.compile(net, fullgraph=True)(**tensors)
    assert (fast - plain).abs().max() <= 1e-4 * plain.std()


MASKED = """\
use std.attention: multihead, model, heads
width seq
width past like seq
depth model = 64, heads = 4
model net(x: [seq, model], real: bool[seq]) -> [seq, model] {{
    return multihead[seq, past](x, x[seq as past], {mask})
}}
"""


@pytest.mark.parametrize(
    "mask",
    [
        "past <= seq",
        "past <= seq and seq - past < 100 and real[seq as past]",
        "past <= seq and (seq - past) % 32 == 0 or abs(seq - past) < 8",
        "floor(seq / 64) == floor(past / 64)",
    ],
)
@pytest.mark.parametrize("width", [1, 127, 700])
def test_masks_of_positions(mask: str, width: int) -> None:
    """FlexAttention sees what NumPy sees, and its gradients are those of the CPU."""
    spec = attnc.loads(MASKED.format(mask=mask)).model("net")
    rng = np.random.default_rng(0)
    arrays = {"x": rng.standard_normal((2, width, 64)), "real": rng.random((2, width)) > 0.2}
    expected = spec.numpy(seed=0, dtype="float64")(**arrays)
    arrays["x"] = arrays["x"].astype(np.float32)
    gradients = []
    for device in ("cuda", "cpu"):
        net = spec.torch(seed=0, device=device)
        out = net(**on(device, arrays))
        assert np.abs(out.detach().double().cpu().numpy() - expected).max() <= 1e-3 * expected.std()
        out.square().sum().backward()
        gradients.append(net.multihead.Q.weight.grad.cpu())
    assert (gradients[0] - gradients[1]).abs().max() <= 1e-2 * gradients[1].std()
