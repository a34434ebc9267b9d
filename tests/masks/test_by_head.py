"""Masks that differ by head, group or example: each kind has blocks of its own, and means what it says."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest
import torch

import attnc
from attnc.backends.runtime.common.spans import Numbered, Written, kinds_along
from attnc.backends.runtime.numpy import masks as numpy_masks
from attnc.backends.runtime.torch import masks as torch_masks

SPEC = """\
width q
width k like q
depth h = {heads}, g = {groups}, d = 4
block attend[q: width, k: width](Q: [q, d], K: [k, d], V: [k, d], mask: bool[q, k] = true) -> [q, d] {{
    return dot[k](softmax[k](dot[d](Q, K) / sqrt(|d|) where mask), V)
}}
model f(
    Q: [h, g, q, d], K: [h, k, d], V: [h, k, d], n: int[], on: bool[h], far: int[h], real: bool[k], at: int[g]
) -> [h, g, q, d] {{
    return {attention}
}}
"""
ATOMS = (
    "k <= q", "q - k < 40", "(q - k) % 64 == 0", "floor(q / 50) == floor(k / 50)", "k % 70 >= 60", "k < n", "real",
    "q - k <= 10 * h", "q - k < far", "h % 2 == 0", "h % 2 == 1", "h < 2", "on", "k >= at", "h == 1 and g == 0",
    "q - k < 8 + g", "k < 10 * h", "abs(q - k) <= far", "floor(h / 2) == floor(k / 64)",
)  # fmt: skip
FORMS = ("attend[q, k](Q, K, V, {mask})", "dot[k](softmax[k](dot[d](Q, K) / sqrt(|d|) where {mask}), V)")


def mask(draw: random.Random, depth: int) -> str:
    if depth == 0 or draw.random() < 0.2:
        return draw.choice(ATOMS)
    op = draw.choice(("and", "or", "or", "not"))
    if op == "not":
        return f"not ({mask(draw, depth - 1)})"
    return f"({mask(draw, depth - 1)} {op} {mask(draw, depth - 1)})"


def both_ways(seed: int) -> None:
    """Values in both libraries and gradients, with blocks and under the mask made as a whole."""
    draw, rng = random.Random(seed), np.random.default_rng(seed)
    text = mask(draw, 3)
    text = text if "k" in text else f"{text} and k >= 0"
    heads, groups, n, lead = draw.choice((2, 3, 4)), draw.choice((1, 2)), draw.choice((1, 7, 66, 200, 300)), ()
    lead = draw.choice(((), (2,)))
    spec = SPEC.format(heads=heads, groups=groups, attention=draw.choice(FORMS).format(mask=text))
    model = attnc.loads(spec).model("f")
    given = [rng.standard_normal((*lead, heads, *shape)) for shape in ((groups, n, 4), (n, 4), (n, 4))]
    given += [rng.integers(0, n + 1, lead), rng.random((*lead, heads)) > 0.5, rng.integers(0, 70, (*lead, heads))]
    given += [rng.random((*lead, n)) > 0.3, rng.integers(0, 90, (*lead, groups))]
    found: list[list[Any]] = []
    for without in ((), ("place_masks",)):
        tensors = [torch.tensor(x) for x in given]
        inputs = [x.requires_grad_() for x in tensors[:3]]
        out = model.torch(dtype=torch.float64, without=without)(*tensors)
        upstream = torch.linspace(-1, 1, out.numel(), dtype=out.dtype).reshape(out.shape)
        found.append([out, *torch.autograd.grad(out, inputs, upstream)])
        found[-1].append(torch.tensor(model.numpy(dtype="float64", without=without)(*given)))
    for one, other in zip(*found, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-9, atol=1e-10)
    torch.testing.assert_close(found[0][0], found[0][-1], rtol=1e-9, atol=1e-10)


@pytest.mark.parametrize("seed", range(12))
def test_random(seed: int) -> None:
    both_ways(seed)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(1000, 1500))
def test_many_random(seed: int) -> None:
    both_ways(seed)


def strided(q: Any, k: Any, head: Any) -> Any:
    return (k <= q) & ((head % 2 == 0) & (q - k < 9) | (head % 2 == 1) & ((q - k) % 9 == 0))


def test_heads_that_see_alike_are_one_kind() -> None:
    """Written out with their numbers, masks are compared as words: what is known to be true or false plays no part."""
    heads = ((6, 1, 1), [*range(6)])
    dim, kinds = kinds_along(strided, [heads])
    assert dim == -3 and [places for _, places in kinds] == [[0, 2, 4], [1, 3, 5]]
    assert Numbered(strided, (4,)).words() == "((k <= q) & ((q - k) < 9))"
    spans = lambda q, k, far: q - k <= far  # noqa: E731
    assert [places for _, places in kinds_along(spans, [((3, 1, 1), [5, 7, 5])])[1]] == [[0, 2], [1]]
    assert kinds_along(spans, [((40, 1, 1), [*range(40)])]) == (0, [])  # a plan for each would cost more
    assert kinds_along(spans, [None]) == (0, []) and kinds_along(spans, [((2, 3, 1, 1), [*range(6)])]) == (0, [])


def test_what_a_predicate_does_in_words() -> None:
    q, k = Written("q"), Written("k")
    assert (
        str((1 + abs(q - 2) * 3 // 4 % 5 >= 6 - k) ^ True)
        == "(((6 - k) <= (1 + (((abs((q - 2)) * 3) // 4) % 5))) ^ True)"
    )
    assert str((q < k) & True) == str(False | (q < k)) == str(k > q) == "(q < k)"
    assert ((q == k) & False) is False and ((q != k) | True) is True


@pytest.mark.parametrize("places", [[0, 1, 0, 1], [0, 0, 1, 1], [0, 1, 1, 0], [1, 0, 0], [0, 1, 2, 0]])
def test_what_is_computed_by_kinds_is_put_back_in_order(places: list[int]) -> None:
    seen = lambda q, k, kind: (k <= q) & (q - k < 20 * kind + 5)  # noqa: E731
    torch.manual_seed(0)
    x = torch.randn(len(places), 150, 4, dtype=torch.float64)
    kind, at = torch.tensor(places)[:, None, None], torch.arange(150)
    expected = torch.nn.functional.scaled_dot_product_attention(x, x, x, seen(at[:, None], at, kind))
    torch.testing.assert_close(torch_masks.masked_attention(seen, x, x, x, kind), expected)
    numpy_masks_found = numpy_masks.masked_attention(seen, *(y.numpy() for y in (x, x, x, kind)), scale=0.5)
    np.testing.assert_allclose(numpy_masks_found, expected, atol=1e-12)


@pytest.mark.parametrize("pattern", ["strided", "fixed"])
def test_a_sparse_transformer_never_makes_a_mask(pattern: str) -> None:
    """Half of its heads see a window; those alone are blocks of few keys."""
    model = attnc.load("examples/attentions/sparse.attn", sizes={"stride": 64, "heads": 4}).model(pattern)
    (one,) = model.explain().attended
    assert "`heads % 2 == 0`" in one.sees and not one.unread
    assert "masked_attention(seen, Q, K, V, " in model.source("torch")


def test_why_a_mask_stays_dense() -> None:
    """It is said what is true of the model at hand."""
    block = """\
width q
width k like q
depth d = 4
block attend(x: [q, d], mask: bool[q, k]) -> [q, d] {
    y = linear.Q[d -> d](x)
    return dot[k](softmax[k](dot[d](y, y[q as k]) where mask), y[q as k])
}
"""
    told = {
        "model f(x: [q, d]) -> [q, d] {\n    share a = attend\n    return a(x, k <= q) + a(x, q - k < 3)\n}\n":
        "calls of one set of weights have unlike masks",
        "model f(x: [q, d], m: bool[q, k]) -> [q, d] {\n    return attend(x, m)\n}\n": "it is data",
        "model f(x: [q, d]) -> [q, d] {\n    return attend(x, sin(int(q) * int(k)) > 0)\n}\n":
        "it compares real numbers",
        "model f(x: [q, d]) -> [q, d] {\n    return inner(x, k <= q)\n}\n"
        "model inner(x: [q, d], mask: bool[q, k]) -> [q, d] {\n    return attend(x, mask)\n}\n":
        "a model that is called is given its mask as data",
    }  # fmt: skip
    for model, why in told.items():
        (one,) = attnc.loads(block + model).model("f").explain().attended
        assert [part.why for part in one.unread] == [why]
