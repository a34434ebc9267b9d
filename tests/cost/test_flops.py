"""Multiply-adds against torch's own counter, attention counted full: equal, forward and backward, at any size."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import Any

import pytest

import attnc

torch = pytest.importorskip("torch")

from tests.cost.measured import compiled, forward_and_backward, inputs  # noqa: E402

ROOT = Path(__file__).parents[2]
SPECS = sorted(
    [
        *(ROOT / "examples").glob("*.attn"),
        *(ROOT / "examples/attentions").glob("*.attn"),
        *(ROOT / "examples/zoo").glob("*.attn"),
        *(ROOT / "tests/zoo/more").glob("*.attn"),
        *(ROOT / "tests/compiler/right").glob("*.attn"),
    ]
)


def models() -> list[Any]:
    found = []
    for path in SPECS:
        spec = attnc.load(path)
        marks = [pytest.mark.slow] if path.parent.name == "right" else []  # small: the others have all that they have
        found += [pytest.param(path, name, id=f"{path.stem}-{name}", marks=marks) for name in spec.models]
    return found


def widths(model: attnc.Model) -> list[str]:
    """The free and bounded widths that may be set."""
    first: dict[int, str] = {}
    for axis in sorted(model.graph.axes, key=lambda axis: axis.id):
        first.setdefault(axis.family, axis.name)
    free = [axis for axis in model.graph.axes if axis.is_width and axis.extent is None and axis.size is None]
    return [axis.name for axis in free if first[axis.family] == axis.name]


def check(model: attnc.Model, sizes: dict[str, int], batch: int) -> None:
    cost = model.cost(sizes, batch=batch)
    assert cost.parameters.value == sum(weight.size for weight in model.weights.values())
    forward, backward = forward_and_backward(compiled(model), inputs(model, dict(cost.sizes), (batch,)))
    assert (cost.flops, 2 * cost.backward.value) == (forward, backward)


def checked(path: Path, name: str, batch: int, lengths: tuple[int, ...]) -> None:
    """At the first of the lengths that the model can have: its derived widths must divide."""
    model = attnc.load(path).model(name)
    bounds = {axis.name: axis.bound for axis in model.graph.axes}
    for length in lengths:
        sizes = {width: min(bounds[width] or length, length) for width in widths(model)}
        with contextlib.suppress(ValueError):
            model.cost(sizes)
            return check(model, sizes, batch)
    raise AssertionError(f"{name} has none of the lengths {lengths}")


@pytest.mark.parametrize(("path", "name"), models())
def test_flops(path: Path, name: str) -> None:
    checked(path, name, 2, (16, 56, 64))


@pytest.mark.slow
@pytest.mark.parametrize(("path", "name"), models())
def test_flops_of_longer_inputs(path: Path, name: str) -> None:
    checked(path, name, 1, (192, 512, 448))
