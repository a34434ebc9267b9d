"""Every attention as torch.compile has it, in one graph, and with gradients that are numbers."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from tests.specs import models_in

from .checking import EXAMPLES, Case

SIZES: dict[str, dict[str, Any]] = {
    "perceiver": {"latent": 64, "layers": 2, "blocks": 2}, "positions": {"vocab": 11}, "convolution": {"layers": 2},
    "lsh": {"size": 4}, "blockwise": {"size": 4}, "retention": {"size": 4},
}  # fmt: skip
WIDTHS = {"target": 12, "source": 12, "words": 7, "input": 9, "high": 14, "wide": 21}
QUICK = {"streaming", "lsh", "cross"}  # a mask of positions, a sort, a mask that is data
MODELS = [
    pytest.param(path.stem, model, id=model, marks=() if model in QUICK else pytest.mark.slow)
    for path in sorted(EXAMPLES.glob("*.attn"))
    for model in models_in(path)
]


@pytest.mark.parametrize(("file", "model"), MODELS)
def test_one_graph_and_gradients(file: str, model: str) -> None:
    ids = {"ids": lambda draw, shape: draw.integers(0, 11, shape)}
    case = Case(file, model, SIZES.get(file, {}), WIDTHS, ids)
    net = case.compiled.torch(seed=0)
    inputs = [torch.tensor(array) for array in case.draw_inputs(0, (2,)).values()]
    inputs = [x.float().requires_grad_() if x.is_floating_point() else x for x in inputs]
    whole = torch.compile(net, fullgraph=True, backend="eager")
    plain, made = (torch.utils._pytree.tree_leaves(run(*inputs)) for run in (net, whole))
    for one, other in zip(plain, made, strict=True):
        torch.testing.assert_close(one, other)  # graphs have other kernels for narrow masks
    sum((result**2).sum() for result in made).backward()
    for leaf in [
        *net.parameters(),
        *(x for x in inputs if x.requires_grad and file != "lsh"),
    ]:  # no gradient passes a sort
        assert leaf.grad is not None and leaf.grad.isfinite().all()
