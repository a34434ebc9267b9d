"""Weights that no gradient reaches (W0521) have none in PyTorch, whatever the program; nor while some weights are 0."""

from __future__ import annotations

import random

import numpy as np
import pytest
import torch

from attnc.compiler.advice.meaning.never_learn import by_pass, ends_gradient
from attnc.compiler.graph.flows.learning import Learning
from attnc.compiler.graph.flows.zeros import Moving

from .generate import generate
from .judge import data, lengths, load
from .program import Weights

SEEDS = 100


@pytest.mark.slow
def test_what_no_gradient_reaches_has_none() -> None:
    unreached = emptied = 0
    for seed in range(SEEDS):
        program = generate(seed)
        model = load(program.text, program).model("net")
        weights = Weights(seed)
        inputs = program.inputs() | lengths(model, program)
        with np.errstate(all="ignore"):
            program.evaluate(inputs, weights)
        leaves = {name: torch.as_tensor(x) for name, x in data(inputs, program, np.float64).items()}
        draw = random.Random(seed)
        without = Learning(ends_gradient).whole(model.graph)[0]
        moving = Moving(ends_gradient)
        for share in (0, 0.3, 0.7):
            zeros = frozenset(path for path in sorted(by_pass(weights.arrays.keys())) if draw.random() < share)
            arrays = {p: x * 0 if by_pass([p]) <= zeros else x for p, x in weights.arrays.items()}
            module = model.torch(dtype=torch.float64, weights=arrays).eval()
            result = module(**leaves)
            parts = [x for x in (result if isinstance(result, tuple) else (result,)) if x.is_floating_point()]
            total = sum((x.tanh().sum() for x in parts), torch.zeros((), dtype=torch.float64))
            if not total.requires_grad or not total.isfinite():
                continue
            total.backward()
            reached = moving.whole(model.graph, zeros)[0]
            for path, parameter in module.named_parameters():
                if path not in without or by_pass([path]).isdisjoint(reached):
                    grad = torch.zeros(()) if parameter.grad is None else parameter.grad.nan_to_num(0)
                    assert not grad.any(), f"{program.text}\n{path} learns; zeros: {sorted(zeros)}"
                    unreached += path not in without
                    emptied += path in without
    assert (unreached, emptied) > (5, 5)
