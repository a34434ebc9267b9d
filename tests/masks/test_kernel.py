"""PyTorch's fused attention takes masks of two or four dimensions; others fall back to products, without a word."""

from __future__ import annotations

import pytest
import torch
from torch.profiler import ProfilerActivity, profile

import attnc

PADDED = """\
use std.attention: multihead, model, heads
width t
width k like t
depth model as m = 16, heads as h = 2
model net(x: [t, model], real: bool[t] = true) -> [t, model] {
    return multihead[t, k](x, x[t as k], real[t as k])
}
"""
TILTED = """\
use std.attention: multihead, model, heads
width t
width k like t
depth model as m = 16, heads as h = 2, key = model / heads
model net(x: [t, model]) -> [t, heads, key] {
    Q = linear[model -> heads, key](x)
    V = linear[model -> heads, key](x[t as k])
    param slope: [heads] ~ normal(1) frozen
    return dot[k](softmax[k](dot[key](Q, V) / sqrt(|key|) + slope * int(k - t)), V)
}
"""


@pytest.mark.parametrize("text", [PADDED, TILTED])
def test_a_mask_without_the_batch_goes_to_the_fused_kernel(text: str) -> None:
    net = attnc.loads(text).model("net").torch().eval()
    with torch.inference_mode(), profile(activities=[ProfilerActivity.CPU]) as seen:
        net(torch.randn(3, 7, 16))
    ran = {event.key for event in seen.key_averages()}
    assert "aten::_scaled_dot_product_flash_attention_for_cpu" in ran
