"""Architectures of `families/`: equal to plain PyTorch, proved, decoded, and their wrong neighbours refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import attnc

from .references import REFERENCES
from .steps import apart, every, plain

HERE = Path(__file__).parent / "families"
LENGTH = 16
FAST = ("infini", "lookback")
NEIGHBOURS = {  # what is written, and what is not causal in its place
    "ssd": [("from <= at", "from <= at + 1"), ("from <= at", "at <= from"), ("return H,", "return kept * H + added,")],
    "infini": [("from <= at", "from <= at + 1"), ("dot[key](q, z) +", "dot[key](q, z + sum[at](k)) +")],
    "quest": [
        ("past <= seq and", "past <= seq + 1 and"),
        ("bound where over", "bound where page <= floor(seq / |at|)"),
    ],
    "beacons": [("before < chunk", "before <= chunk"), ("other <= slot", "other <= slot + 1")],
    "hierarchy": [("chunk * |at| + |at| - 1 <", "chunk * |at| <"), ("(large + 1) * |small|", "large * |small|")],
    "strided": [("ends <= int(seq)", "ends <= int(seq) + 1"), ("pad = |tap| - |stride|", "pad = 0")],
    "lookback": [("from <= at", "from <= at + 1"), ("chunk - 1, 0", "chunk, 0")],
    "joint": [("past <= seq and", "past <= seq + 1 and"), ("|at| - 1 < int(seq)", "|at| - 2 <= int(seq) + 1")],
}
NAMES = [pytest.param(name, marks=[] if name in FAST else [pytest.mark.slow]) for name in REFERENCES]


@pytest.mark.parametrize("name", NAMES)
def test_reference(name: str) -> None:
    """In float64, in both backends: the whole, a prompt and single steps, and steps of several items."""
    model = attnc.load(HERE / f"{name}.attn").model(name)
    draw = np.random.default_rng(3)
    weights = {path: draw.normal(size=spec.shape) * 0.6 for path, spec in model.weights.items()}
    given = draw.normal(size=(2, LENGTH, 12))
    given_weights = {path: torch.as_tensor(value) for path, value in weights.items()}
    wanted = torch.stack([REFERENCES[name](given_weights, torch.as_tensor(one)) for one in given]).numpy()
    for net in (model.numpy(weights, dtype="float64"), model.torch(weights=weights, dtype=torch.float64).eval()):
        lift: Any = torch.as_tensor if isinstance(net, torch.nn.Module) else np.asarray
        assert apart(every(net(lift(given)))[0], wanted) < 1e-10
        for plan in ((1,) * LENGTH, (6, 1, 1, 1, 1, 3, 3)):
            cache, at, found = net.prepare(), 0, []
            for count in plan:
                found.append(plain(net.step(lift(given[:, at : at + count]), cache)))
                at += count
            assert apart(np.concatenate(found, 1), wanted) < 1e-10, (type(net).__name__, plan)


@pytest.mark.parametrize("name", NAMES)
def test_neighbours(name: str) -> None:
    text = (HERE / f"{name}.attn").read_text()
    for written, wrong in NEIGHBOURS[name]:
        assert written in text
        found = attnc.check(text.replace(written, wrong))
        leaks = [one.message for one in found if one.code == "E0701"]
        assert len(leaks) == 1 and " is not causal along `seq`: " in leaks[0], (written, wrong, found)
        assert " changes item " in leaks[0], (written, wrong, found)
