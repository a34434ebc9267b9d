"""What contenders need whoever wrote them: those that are installed, a training step, whether they do the same."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeVar

import torch
from torch import Tensor, nn
from torch.nn import functional as F

T = TypeVar("T")
Loss = tuple[nn.Module, Callable[[], Tensor]]  # a model, and its loss on the data at hand


def installed(makers: Mapping[str, Callable[[], T]]) -> dict[str, T]:
    """What each of them makes; one whose package is missing is left out, with a line that says so."""
    found = {}
    for name, make in makers.items():
        try:
            found[name] = make()
        except ImportError as error:
            print(f"{name} is left out: {error}", flush=True)
    return found


def step(module: nn.Module, loss: Callable[[], Tensor]) -> Callable[[], None]:
    """Forward and backward; what an optimiser would do is the same for all, and left out. No gradient stays."""

    def call() -> None:
        loss().backward()
        module.zero_grad(set_to_none=True)

    return call


def cross_entropy(found: object, following: Tensor) -> Tensor:
    """Mean loss of logits [batch, width, vocab], or of what holds them, as everybody writes it."""
    logits = getattr(found, "logits", found)
    return F.cross_entropy(logits.flatten(0, 1), following.flatten())


def same_training(losses: Mapping[str, Loss], embeddings: Mapping[str, Tensor]) -> None:
    """Whoever has the same weights has the same loss and gradient of the embeddings as the first; all have a loss."""
    found = {}
    for name, (_, loss) in losses.items():
        found[name] = loss()
        found[name].backward()
        assert bool(found[name].isfinite()), name
    first, *others = embeddings
    for name in others:
        torch.testing.assert_close(found[name], found[first], rtol=1e-4, atol=1e-5, msg=lambda m, n=name: f"{n}: {m}")
        mine, theirs = embeddings[first].grad, embeddings[name].grad
        assert mine is not None and theirs is not None
        assert float((mine - theirs).abs().max() / theirs.std()) < 1e-3, name
    for module, _ in losses.values():
        module.zero_grad(set_to_none=True)


def greedy(tokens: Tensor, logits: Tensor, who: str) -> None:
    """Each token [n] is the likeliest by the logits [n, vocab] before it, or as good as: rounding may break a tie."""
    lost = logits.amax(-1) - logits.gather(-1, tokens[:, None])[:, 0]
    assert float(lost.max() / logits.std()) < 1e-4, f"{who} does not take the likeliest token"
