"""Multiply-adds against torch's own counter, attention counted full: equal, forward and backward, at any size."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import Any

import pytest

import attnc

torch = pytest.importorskip("torch")

from tests.cost.measured import compiled, forward_and_backward, inputs  # noqa: E402
from tests.specs import models_in  # noqa: E402

ROOT = Path(__file__).parents[2]
SPECS = sorted(
    [
        *(ROOT / "examples").glob("*.attn"),
        *(ROOT / "examples/attentions").glob("*.attn"),
        *(ROOT / "examples/zoo").rglob("*.attn"),
        *(ROOT / "tests/zoo/more").glob("*.attn"),
        *(ROOT / "tests/compiler/right").glob("*.attn"),
    ]
)


def models() -> list[Any]:
    found = []
    for path in SPECS:
        shown = path.parent.name in ("examples", "attentions", "zoo", "more")  # what the rest have, these have, too
        marks = [] if shown else [pytest.mark.slow]
        found += [pytest.param(path, name, id=f"{path.stem}-{name}", marks=marks) for name in models_in(path)]
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
    lengths = (64,) if name == "native_sparse" else (16, 56, 64)  # of one chunk torch multiplies without a count
    checked(path, name, 2, lengths)


@pytest.mark.slow
@pytest.mark.parametrize(("path", "name"), models())
def test_flops_of_longer_inputs(path: Path, name: str) -> None:
    checked(path, name, 1, (192, 512, 448))


# Of `h`, which has a gradient, `x` and `y`, which have none, and weights, one of them frozen.
PRODUCTS = {
    "[n]": ["dot[d](h, x, y)", "dot[d](x, h, y)", "dot[d](x, y, h)", "dot[d](h, h, y)"],
    "[d, k]": ["dot[n](x, dot[d](h, p))"],
    "[n, k]": [
        "dot[d](x, f)", "dot[d](x, p)", "dot[d](h, f)", "dot[d](h, p)",
        "linear.o[d -> k](x) + dot[d](h, p)",
        "linear.o[d -> k](h) + dot[d](floor(h) * 1.0, p)",
        "dot[m, d](dot[d](x, y[n as m]), h[n as m], p)",
        "dot[m, d](softmax[m](dot[d](x, y[n as m])), x[n as m], p)",
        "dot[m, d](softmax[m](dot[d](h, y[n as m])), x[n as m], f)",
        "dot[m, d](softmax[m](dot[d](x, y[n as m])), x[n as m], f)",
    ],
}  # fmt: skip


@pytest.mark.parametrize(("gives", "product"), [(gives, each) for gives, some in PRODUCTS.items() for each in some])
def test_products(gives: str, product: str) -> None:
    text = f"""width n
width m like n
depth d = 8, k = 6
model net(x: [n, d], y: [n, d]) -> {gives} {{
    param p: [d, k] ~ normal(1)
    param f: [d, k] ~ normal(1) frozen
    h = linear.h[d -> d](x)
    return {product}
}}
"""
    check(attnc.loads(text).model("net"), {"n": 7}, 2)
