"""What puts the items of a split axis together is done by parts: sums and largest ones are sent, and not the items."""

from __future__ import annotations

from collections.abc import Iterator

import torch

import attnc
from attnc.compiler.graph.nodes import Apply, Graph, children
from attnc.compiler.sharding.mesh import mesh_of
from attnc.compiler.sharding.spread import spread

from .devices import compared

BY_PARTS = """width seq
depth model = 8, wide = 8
model f(x: [seq, model], keep: bool[seq, wide]) -> [seq] {
    y = linear.W[model -> wide](x)
    shares = dot[wide](softmax[wide](y where keep), y)
    logs = dot[wide](select(keep, log_softmax[wide](y where keep), 0), y)
    most = logsumexp[wide](y where keep)
    means = mean[wide](y where keep) + select(most > -100, most, 0)
    centred = layernorm.centre[wide](y) + layernorm[wide](y, scale = false, bias = false)
    scaled = rmsnorm.scale[wide](y) + l2norm[wide](y)
    return shares + logs + means + dot[wide](centred * scaled, y)
}
"""


def test_what_masks_keep_and_norms() -> None:
    """Also where a device sees nothing of a row, and where no device does; and nothing is gathered."""
    keep = torch.rand(2, 5, 8) < 0.5
    keep[0, 0] = False
    keep[0, 1, :4] = False
    inputs = {"x": torch.randn(2, 5, 8, dtype=torch.float64), "keep": keep}
    found = compared(attnc.loads(BY_PARTS).model("f"), {"model": 4}, {"model": ("wide",)}, inputs)
    assert found.results < 1e-10 and found.gradients < 1e-10, (found.results, found.gradients)
    assert {kind for kind, _, _ in found.sent} == {"all-reduce"}


def test_random_ops_know_along_which_mesh_axes_they_are_split() -> None:
    """So that devices which have the same values drop the same, and those that have parts do not."""
    text = (
        "width seq\ndepth model = 8, wide = 8\nmodel f(x: [seq, model]) -> [seq, model] {\n"
        "    y = dropout(linear.up[model -> wide](x), p = 0.1)\n"
        "    return dropout(linear.down[wide -> model](y), p = 0.1)\n}\n"
    )
    splits = {"data": ("batch",), "model": ("wide",), "context": ("seq",)}
    found = spread(attnc.loads(text).model("f")._sized, mesh_of({"data": 2, "model": 2, "context": 2}, splits))
    drawn = [node.traits.drawn_along for node in nodes(found.graph) if node.traits.random]
    assert drawn == [("data", "model", "context"), ("data", "context")]


def nodes(graph: Graph) -> Iterator[Apply]:
    for node in graph.nodes:
        if isinstance(node, Apply):
            yield node
        for child in children(node):
            yield from nodes(child)
