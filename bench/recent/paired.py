"""Contenders that are functions of tensors: a piece of work for all of them, and whether they compute the same."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from speed.timing import FLOOR, OURS, Case
from torch import Tensor, nn

import attnc

ATTENTIONS = Path(__file__).resolve().parents[2] / "examples" / "attentions"
SAME = 2e-3  # of the deviation: what float32 rounds in a few thousand steps


@dataclass(frozen=True, slots=True)
class Way:
    """One contender. given: its inputs, in a layout of its own; learned: its weights, in the order of the others'."""

    call: Callable[..., Tensor]
    given: Sequence[Tensor]
    learned: Sequence[nn.Parameter] = ()

    def step(self, upstream: Tensor | None) -> list[Tensor]:
        """Its result and, where `upstream` is the gradient of it, all gradients; none of them stays."""
        if upstream is None:
            with torch.inference_mode():
                return [self.call(*self.given)]
        found = self.call(*self.given)
        found.backward(upstream)
        leaves = [*self.given, *self.learned]
        gradients = [x.grad for x in leaves if x.grad is not None]
        for x in leaves:
            x.grad = None
        return [found.detach(), *gradients]


def example(file: str, model: str, /, **sizes: int) -> attnc.Model:
    """A model of examples/attentions."""
    return attnc.load(ATTENTIONS / f"{file}.attn", sizes=sizes).model(model)


def case(
    name: str,
    what: str,
    target: float | None,
    ways: Mapping[str, Way],
    gradients: int,
    floor: Callable[[], object] | None,
) -> Case:
    """Of ways by contender, ours among them; with `gradients` forward and backward, else forward alone."""
    for way in ways.values():
        for x in way.given:
            x.requires_grad_(bool(gradients) and x.is_floating_point())
    upstream = None
    if gradients:
        with torch.no_grad():
            upstream = torch.randn_like(ways[OURS].call(*ways[OURS].given))
    contenders: dict[str, Callable[[], object]] = {
        who: lambda way=way: way.step(upstream)  # type: ignore[misc]
        for who, way in ways.items()
    }

    def check() -> None:
        expected = ways[OURS].step(upstream)
        for who, way in ways.items():
            found = way.step(upstream)
            assert len(found) == len(expected), who
            for mine, theirs in zip(expected, found, strict=True):
                assert float((mine - theirs).abs().max()) < SAME * float(mine.std()), who

    if floor:
        contenders[FLOOR] = floor
    passes = "forward and backward" if gradients else "forward"
    return Case(name, f"{what}, {passes}", target, contenders, check)


def numpy_case(
    name: str,
    what: str,
    target: float | None,
    ways: Mapping[str, Callable[[], np.ndarray]],
    floor: Callable[[], object] | None,
) -> Case:
    """Forward in NumPy."""

    def check() -> None:
        expected = ways[OURS]()
        for who, way in ways.items():
            assert np.abs(way() - expected).max() < SAME * expected.std(), who

    contenders: dict[str, Callable[[], object]] = {**ways, **({FLOOR: floor} if floor else {})}
    return Case(name, f"NumPy {what}, forward", target, contenders, check)


def drawn(*shapes: tuple[int, ...]) -> list[Tensor]:
    torch.manual_seed(0)
    return [torch.randn(shape) for shape in shapes]
