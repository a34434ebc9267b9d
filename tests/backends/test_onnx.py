"""Models as ONNX: what the other runtime computes is what the model does."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import attnc

SPEC = attnc.loads("""
width seq
depth d = 6, rank = d, best = 2, model = 4

model top(x: [seq, d]) -> d[seq, best] {
    return topk[d -> best](x)
}

model sorted(x: [seq, d]) -> [seq, rank] {
    return x[d = argsort[d -> rank](x)] - 2 * x[d = argsort[d -> rank](x, descending = true)]
}

model of_integers(x: int[seq, d]) -> d[seq, best] {
    return topk[d -> best](x)
}

model routed(x: [seq, d]) -> [seq, model] {
    param W: [d, model] ~ normal(1)
    scores = softmax[d](x)
    i = topk[d -> best](scores)
    return dot[best](scores[d = i], W[d = i])
}
""")
pytestmark = pytest.mark.filterwarnings("ignore")  # of the exporter


def given(name: str, *batch: int) -> np.ndarray[Any, Any]:
    """Few different values: most are equals, of which the first comes first."""
    x = np.random.default_rng(batch).integers(0, 3, (*batch, 6))
    return x if name == "of_integers" else x.astype(np.float32)


def test_while_exporting_there_is_no_stable_sort(monkeypatch: pytest.MonkeyPatch) -> None:
    """ONNX's exporter has a rule for the other one alone."""
    x = torch.tensor(given("top", 2, 3))
    net = SPEC.model("top").torch()

    def sorts() -> list[str]:
        return [str(node.target) for node in torch.export.export(net, (x,)).graph.nodes if "sort" in str(node.target)]

    assert sorts() == ["aten.sort.stable"]
    monkeypatch.setattr(torch.onnx, "is_in_onnx_export", lambda: True)
    assert sorts() == ["aten.sort.default"]


@pytest.mark.slow
@pytest.mark.parametrize("dynamo", [True, False])
@pytest.mark.parametrize("name", SPEC.models)
def test_onnx_computes_the_same(name: str, dynamo: bool, tmp_path: Path) -> None:
    pytest.importorskip("onnxscript")
    runtime = pytest.importorskip("onnxruntime")
    net, file = SPEC.model(name).torch(seed=0), str(tmp_path / "net.onnx")
    x = torch.tensor(given(name, 2, 5))
    if dynamo:
        free = torch.export.Dim.DYNAMIC
        torch.onnx.export(net, (x,), file, dynamo=True, verbose=False, dynamic_shapes=({0: free, 1: free},))
    else:
        names = {"x": {0: "batch", 1: "seq"}}
        torch.onnx.export(net, (x,), file, dynamo=False, input_names=["x"], dynamic_axes=names)
    session = runtime.InferenceSession(file)
    for batch in ((2, 5), (3, 40), (1, 1)):
        case = given(name, *batch)
        (found,) = session.run(None, {session.get_inputs()[0].name: case})
        np.testing.assert_allclose(found, net(torch.tensor(case)).detach().numpy(), rtol=1e-5)


ATTENTION = attnc.loads("""
width s
width past like s
depth d = 6

model net(x: [s, d]) -> [s, d] {
    return dot[past](softmax[past](dot[d](x, x[s as past]) where past <= s), x[s as past])
}
""")


@pytest.mark.slow
@pytest.mark.parametrize("batch", [(), (2,), (2, 3)])
def test_attention_without_heads_as_onnx(batch: tuple[int, ...], tmp_path: Path) -> None:
    """The newer exporter refuses what has not four dimensions (docs/gpu.md)."""
    pytest.importorskip("onnxscript")
    runtime = pytest.importorskip("onnxruntime")
    net, file = ATTENTION.model("net").torch(), str(tmp_path / "net.onnx")
    x = torch.randn(*batch, 5, 6, generator=torch.Generator().manual_seed(0))
    torch.onnx.export(net, (x,), file, dynamo=False)
    session = runtime.InferenceSession(file)
    (found,) = session.run(None, {session.get_inputs()[0].name: x.numpy()})
    np.testing.assert_allclose(found, net(x).detach().numpy(), rtol=1e-5, atol=1e-6)
