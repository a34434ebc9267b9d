"""Weights behind what lets no gradient through (W0521), though nothing else learns: told just where PyTorch has no
gradient for them, and has one for an input.
"""

from __future__ import annotations

import pytest
import torch

import attnc

HARD = {
    "pick": ("x[seq = argsort[seq -> past](s)][past as seq]", True),
    "largest": ("x + broadcast[seq](x[seq = argmax[seq](s)])", True),
    "branch": ("select(s > 0, x, 0)", True),
    "mask": ("sum[past](broadcast[seq](x[seq as past]) where s[seq as past] > 0 and past <= seq)", True),
    "any": ("select(any[model](x * s > 0), x, -x)", True),
    "floor": ("x * floor(s)", True),
    "ceil in a softmax": ("x * softmax[seq](ceil(s))", True),
    "beside": ("x + softmax[seq](floor(s))", True),
    "soft": ("x * sigmoid(s)", False),
    "soft beside hard": ("x * floor(s) * s", False),
    "straight through": ("x * (s + stop_gradient(floor(s) - s))", False),
    "meant": ("x * stop_gradient(s)", False),
    "a share of what is picked": ("x[seq = argsort[seq -> past](s)][past as seq] * softmax[seq](s)", False),
    "measure": ("broadcast[model](softmax[seq](floor(s)))", False),
}
HEAD = "width seq\nwidth past like seq\ndepth model = 4\n"
SCORES = "s = sum[model](linear.S[model -> model](x))"
PLACES = {
    "model": "model net(x: [seq, model]) -> [seq, model] {{\n    {scores}\n    return {hard}\n}}\n",
    "block": "block hard(x: [seq, model]) -> [seq, model] {{\n    {scores}\n    return {hard}\n}}\n"
    "model net(x: [seq, model]) -> [seq, model] {{\n    return hard(hard.other(x))\n}}\n",
    "passes": "model net(x: [seq, model]) -> [seq, model] {{\n    repeat.r 2 {{\n        {scores}\n"
    "        x = {hard}\n    }}\n    return x\n}}\n",
}


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("way", HARD)
def test_weights_that_nothing_moves(way: str, place: str) -> None:
    hard, told = HARD[way]
    text = HEAD + PLACES[place].format(scores=SCORES, hard=hard)
    found = [each for each in attnc.check(text) if each.code == "W0521"]
    assert bool(found) is told, text
    net = attnc.loads(text).model("net").torch(seed=0)
    x = torch.randn(2, 5, 4, requires_grad=True)
    made = net(x)
    if made.requires_grad:
        made.sum().backward()
    moved = {name for name, weight in net.named_parameters() if weight.grad is not None}
    if found:
        assert not moved
        assert x.grad is not None
    else:
        assert moved or way in ("meant", "measure")
