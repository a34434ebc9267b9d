"""What `attnc cost --streams` says that a kernel moves is what its loads and stores move, counted one by one."""

from __future__ import annotations

import os

import pytest

import attnc
from attnc.compiler.streams.device import DEVICES
from attnc.compiler.streams.report import streams

from .judge import TILE, counted

torch = pytest.importorskip("torch")
os.environ.setdefault("TRITON_INTERPRET", "1")
pytest.importorskip("triton", reason="Triton is not installed")

CAUSAL = "softmax[k](scores where k <= q)"
SPEC = """\
width q
width k like q
depth g = 2, s = 2, d = 8, v = 5
model f(
    Q: [g, s, q, d], K: [g, k, d], V: [g, k, v], U: [g, s, k, v], real: bool[k], c: [g, s], b: [g, s, q, k]
) -> [g, s, q, v] {
    scores = dot[d](Q, K)
    return BODY
}
"""
BODIES = {
    "padding": "dot[k](softmax[k](scores where real), V)",
    "causal": "dot[k](softmax[k](scores where k <= q), V)",
    "window": "dot[k](softmax[k](scores where k <= q and q - k < 20), V)",
    "both sides": "dot[k](softmax[k](scores where abs(q - k) <= 9), V)",
    "two values": f"dot[k]({CAUSAL}, V) * dot[k]({CAUSAL}, U)",
    "bias": "dot[k](softmax[k](scores * broadcast[q, k](c) + b where k <= q), V)",
    "sigmoid": "dot[k](sigmoid(scores), V)",
    "L2": "dot[k](l2norm[k](scores), V)",
    "causal sigmoid": "dot[k](select(k <= q, sigmoid(scores), 0), V)",
    "causal L2": "dot[k](l2norm[k](select(k <= q, scores, 0)), V)",
    "shown": f"dot[k]({CAUSAL}, V), {CAUSAL}",
    "sinks": f"sigmoid(logsumexp[k](scores where k <= q) - broadcast[q](c)) * dot[k]({CAUSAL}, V)",
}


@pytest.mark.parametrize(
    "size", [pytest.param(37, id="37"), *(pytest.param(n, marks=pytest.mark.slow) for n in (16, 50))]
)
@pytest.mark.parametrize(
    "body", [pytest.param(body, marks=() if body == "causal" else pytest.mark.slow) for body in BODIES]
)
def test_loads_and_stores(body: str, size: int) -> None:
    text = SPEC.replace("BODY", BODIES[body])
    if body == "shown":
        text = text.replace("-> [g, s, q, v]", "-> (O: [g, s, q, v], w: [g, s, q, k])")
    model = attnc.loads(text).model("f")
    net = model.torch(kernels="triton", dtype="float32")
    sizes = {"g": 2, "s": 2, "d": 8, "v": 5, "q": size, "k": size}
    given = {}
    for port in model.inputs:
        x = torch.randn(3, *(sizes[axis] for axis in port.axes))
        given[str(port.name)] = x > 0 if port.element == "bool" else x
    with torch.no_grad(), counted() as moved:
        net(**given)
    found = streams(model.cost(q=size, batch=3), DEVICES["h100"], (TILE, TILE))
    (one,) = found.regions
    it = one.traffic
    assert it is not None
    loads = sum(it.reads(item).at(it.values) for item in it.inputs)
    stores = sum(it.written(fold).at(it.values) for fold in it.region.folds)
    assert moved == {"loads": loads + it.sums.at(it.values), "stores": stores}
    assert it.asked.at(it.values) == sum(moved.values())
