"""A graph made ready computes what it did, and in it all that streams is found."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from attnc import load, loads
from attnc.backends.loading.load import build_numpy
from attnc.compiler.graph.inventory import inventory
from attnc.compiler.graph.nodes import Graph
from attnc.compiler.streams.find import find
from attnc.compiler.streams.prepare import prepared
from attnc.compiler.streams.rules import FoldKind
from tests.backends.agreement import close, random_inputs

ROOT = Path(__file__).parents[2]
SPECS = sorted((ROOT / "examples/attentions").glob("*.attn"))
WIDTHS = {
    "blockwise": (64,),
    "shifted_windows": (14,),
    "native_sparse": (32,),
    "moba": (128,),
    "vision_prefix": (4, 16),
    "gated_delta": (64,),
    "lsh": (64,),
    "retention": (64,),
}
QUICK = {"relative_t5"}


def alike(graph: Graph, widths: Sequence[int], name: object = "") -> Graph:
    """The prepared graph, which gives what the graph gives, with the same weights."""
    ready = prepared(graph)
    assert list(inventory(ready)) == list(inventory(graph)), name
    inputs = random_inputs(graph, (2,), widths)
    before, after = (build_numpy(one, seed=1)(*inputs) for one in (graph, ready))
    for a, b in zip(*((one if isinstance(one, tuple) else (one,)) for one in (before, after)), strict=True):
        close(b, a, 1e-10, name)
    return ready


@pytest.mark.parametrize(
    "path",
    [pytest.param(path, marks=() if path.stem in QUICK else pytest.mark.slow, id=path.stem) for path in SPECS],
)
def test_attentions(path: Path) -> None:
    spec = load(path)
    for name in spec.models:
        alike(spec.model(name)._sized, WIDTHS.get(path.stem, (7, 7, 5)), name)


HEAD = """\
width q
width k like q
depth two = 2, h = 2, d = 4, v = 3
model f(Q: [two, h, q, d], K: [two, h, k, d], V: [h, k, v], g: [h, q, k], c: [h, q]) -> [h, q, v] {
    w = softmax[k](dot[d](Q, K) / sqrt(|d|) where k <= q)
    t = dot[d](Q[two = 0], K[two = 1]) + g
"""
BODIES = {
    "return dot[k](w[two = 0] - broadcast[k](c) * w[two = 1], V)": 4,
    "return dot[k]((w[two = 0] - w[two = 1]) * 0.5, V) / 3": 4,
    "u = softmax[k](t)\n return dot[k](u / broadcast[k](sum[k](u)), V)": 3,
    "u = softmax[k](t + w[two = 0])\n return dot[k](u, V)": 0,
    "return dot[k](w[two = 1] * sigmoid(g) + l2norm[k](t), V)": 4,
    "return dot[k](w[two = 0] * broadcast[q, k](sum[q](c)), V)": 2,
}


@pytest.mark.parametrize("body", BODIES)
def test_spread(body: str) -> None:
    ready = alike(loads(HEAD + body + "\n}\n").model("f")._sized, (6, 6))
    folds = [fold.kind for region in find(ready).regions for fold in region.folds]
    assert len(folds) == BODIES[body], folds
    assert all(kind in (FoldKind.SHARES, FoldKind.ROOT, FoldKind.WEIGHTED) for kind in folds)


def test_what_is_read_in_many_ways_is_looked_at_once() -> None:
    twice = "".join(f"    w = w + w * broadcast[k](sum[k](w)) {'+ l2norm[k](t)' * (n == 0)}\n" for n in range(30))
    head = HEAD.replace("    t = ", "    w = w[two = 0]\n    t = ")
    graph = loads(head + twice + "    return dot[k](w, V)\n}\n").model("f")._sized
    assert find(prepared(graph)).refusals
