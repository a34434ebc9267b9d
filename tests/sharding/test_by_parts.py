"""What puts the items of a split axis together is done by parts: sums and largest ones are sent, and not the items."""

from __future__ import annotations

import torch

import attnc

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
    ends = max[wide](y where keep) - min[wide](y * y)
    highest = select(any[wide](keep), ends, 0)
    return highest + shares + logs + means + dot[wide](centred * scaled, y)
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
