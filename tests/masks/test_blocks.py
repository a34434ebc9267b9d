"""Attention by blocks with a gradient of its own: the numbers of products under a whole mask, twice derived too."""

from __future__ import annotations

import itertools
import random as rolls
from typing import Any

import pytest
import torch
from torch import Tensor

from attnc.backends.runtime.torch import blocks as torch_blocks
from attnc.backends.runtime.torch.masks import masked_attention

from .predicates import anchored, causal, gaps, window


def by_hand(seen: Any, Q: Tensor, K: Tensor, V: Tensor, *data: Tensor, bias: Tensor | None = None) -> Tensor:
    mask = seen(torch.arange(Q.shape[-2])[:, None], torch.arange(K.shape[-2]), *data)
    scores = Q @ K.mT * Q.shape[-1] ** -0.5
    scores = scores if bias is None else scores + bias
    blind = ~mask.any(-1, keepdim=True)
    weights = scores.masked_fill(~mask, -torch.inf).masked_fill(blind, 0).softmax(-1)
    return weights.masked_fill(blind, 0) @ V


def random(*shape: int) -> Tensor:
    return torch.randn(*shape, dtype=torch.float64, requires_grad=True)


def close(found: Any, expected: Any) -> None:
    for one, other in zip(found, expected, strict=True):
        torch.testing.assert_close(one, other)


@pytest.fixture(autouse=True)
def _narrow(monkeypatch: pytest.MonkeyPatch) -> None:
    """Here all masks are as narrow as need be."""
    monkeypatch.setattr(torch_blocks, "KEPT", torch.inf)


LEADS = [((), ()), ((3,), (1,)), ((5, 2), (5, 2)), ((2, 3), (2, 1)), ((2, 2, 3), (2, 2, 1)), ((2, 3, 2), (1, 3, 1))]


@pytest.mark.parametrize(("lead", "shared"), LEADS)
def test_values_and_gradients(lead: tuple[int, ...], shared: tuple[int, ...]) -> None:
    """Heads that share keys, biases along some axes, widths that blocks do not divide, and queries that see nothing."""
    torch.manual_seed(0)
    for n, tilted, seen in itertools.product((1, 70, 200), (None, (), (-1,), (-2,)), (causal, gaps, window)):
        Q, K, V = random(*lead, n, 4), random(*shared, n, 4), random(*shared, n, 3)
        shape = [*lead[-1:], n, n]
        for axis in tilted or ():
            shape[axis] = 1
        bias = None if tilted is None else random(*shape)
        data = [torch.rand(*lead[:1], *(1 for _ in lead[1:]), 1, n) > 0.4] if seen is window else []
        inputs = [x for x in (Q, K, V, bias) if x is not None]
        found = masked_attention(seen, Q, K, V, *data, bias=bias)
        expected = by_hand(seen, Q, K, V, *data, bias=bias)
        torch.testing.assert_close(found, expected)
        upstream = random(*found.shape)
        right = torch.autograd.grad(expected, inputs, upstream, create_graph=True)
        close(torch.autograd.grad(found, inputs, upstream, retain_graph=True), right)
        if n == 70:
            again = torch.autograd.grad(found, inputs, upstream, create_graph=True)
            close(again, right)
            sums = [torch.stack([x.square().sum() for x in each]).sum() for each in (again, right)]
            close(*(torch.autograd.grad(x, [*inputs, upstream]) for x in sums))


@pytest.mark.parametrize("seed", range(16))
def test_leading_axes_that_any_of_them_lacks(seed: int) -> None:
    """Queries, keys, values, data and a bias, each with some of the leading axes; gradients of all or of one, and of
    these gradients too.

    Of `gaps` and `anchored`, the later queries see runs of keys with a gap between them.
    """
    draw = rolls.Random(seed)
    torch.manual_seed(seed)
    lead = [draw.choice((2, 3)) for _ in range(draw.choice((1, 2, 2, 3)))]

    def some(*ends: int) -> Tensor:
        """Fewer leading axes than there are, or size 1 where there is one."""
        return random(*[draw.choice((1, size)) for size in lead][draw.choice((0, 0, 1)) :], *ends)

    n, m = draw.choice(((150, 200), (90, 210), (200, 130), (270, 270)))
    seen = anchored if n == 270 else draw.choice((gaps, causal, window))
    scale = draw.choice((None, 0.3))
    Q, K, V = some(n, 4), some(m, 4), some(m, 3)
    bias = some(draw.choice((1, n)), draw.choice((1, m))) if seed % 4 else None
    data = [some(1, m) > 0.2] if seen is window else []
    inputs = [x for x in (Q, K, V, bias) if x is not None]
    inputs = draw.sample(inputs, draw.choice((1, 1, len(inputs))))
    for x in (Q, K, V, bias):
        if x is not None and not any(x is one for one in inputs):
            x.requires_grad_(False)
    found = masked_attention(seen, Q, K, V, *data, bias=bias, scale=scale)
    expected = by_hand(seen, Q if scale is None else Q * scale * 2, K, V, *data, bias=bias)
    torch.testing.assert_close(found, expected)
    upstream = random(*found.shape)
    right = torch.autograd.grad(expected, inputs, upstream, create_graph=True)
    close(torch.autograd.grad(found, inputs, upstream, retain_graph=True), right)
    again = torch.autograd.grad(found, inputs, upstream, create_graph=True)
    close(again, right)
    sums = [sum(x.square().sum() for x in each) for each in (again, right)]
    close(*(torch.autograd.grad(x, [*inputs, upstream], materialize_grads=True) for x in sums))


def test_more_heads_than_one_product_takes() -> None:
    """And weights in more pieces of memory than one."""
    torch.manual_seed(0)
    lead, n = (1, 130), 250
    Q, K, V, bias = random(*lead, n, 2), random(*lead, n, 2), random(*lead, n, 3), random(*lead[1:], 1, n)
    found, expected = masked_attention(causal, Q, K, V, bias=bias), by_hand(causal, Q, K, V, bias=bias)
    torch.testing.assert_close(found, expected)
    upstream = random(*found.shape)
    close(*(torch.autograd.grad(out, (Q, K, V, bias), upstream) for out in (found, expected)))


def test_queries_that_see_nothing_before_those_that_do() -> None:
    """Whole blocks of them: those after it are worked out all the same."""
    Q = random(1, 2, 300, 4)
    late = lambda q, k: (q >= 200) & (k <= q)  # noqa: E731
    found = masked_attention(late, Q, Q, Q)
    torch.testing.assert_close(found, by_hand(late, Q, Q, Q))
    assert not found[:, :, :200].any() and found[:, :, 200:].all()
    right = torch.autograd.grad(by_hand(late, Q, Q, Q).sin().sum(), Q)
    close(torch.autograd.grad(found.sin().sum(), Q, retain_graph=True), right)
    close(torch.autograd.grad(found.sin().sum(), Q, create_graph=True), right)


def test_weights_take_places_of_their_own() -> None:
    """One after the other in a piece, then in the next piece; or, where none are kept, each in place of the last."""
    room = torch_blocks.Room([torch.zeros(7), torch.zeros(6)], keep=True)
    taken = [room.take(2, 2), room.take(1, 3), room.take(2, 2), room.take(2)]
    for number, x in enumerate(taken, 1):
        x += number
    assert [x.flatten().tolist() for x in taken] == [[1] * 4, [2] * 3, [3] * 4, [4] * 2]
    one = torch_blocks.Room([torch.zeros(4)], keep=False)
    assert one.take(2, 2).data_ptr() == one.take(3).data_ptr()


def test_one_tensor_as_queries_keys_and_values() -> None:
    x = random(1, 2, 100, 4)
    found, expected = masked_attention(causal, x, x, x), by_hand(causal, x, x, x)
    right = torch.autograd.grad(expected.sin().sum(), x)
    close(torch.autograd.grad(found.sin().sum(), x, retain_graph=True), right)
    close(torch.autograd.grad(found.sin().sum(), x, create_graph=True), right)


def test_what_a_bias_alone_hides_is_not_seen_through() -> None:
    """Where a bias is -inf on all that a query sees, no weight goes to what it does not see."""
    Q, K, V = random(1, 1, 100, 4), random(1, 1, 100, 4), random(1, 1, 100, 4)
    bias = torch.zeros(100, 100, dtype=torch.float64)
    bias[5] = -torch.inf
    found = masked_attention(causal, Q, K, V, bias=bias)
    assert found[0, 0, 5].isnan().all() and found[0, 0, 6:].isfinite().all()


def test_blocks_are_made_once_for_layers_and_calls(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch_blocks, "BLOCKS", {})
    Q = random(1, 2, 200, 4)
    with torch.inference_mode():  # a later call may train
        masked_attention(gaps, Q, Q, Q)
    (known,) = torch_blocks.BLOCKS.values()
    out = masked_attention(gaps, Q, Q, Q)
    right = torch.autograd.grad(by_hand(gaps, Q, Q, Q).sum(), Q)
    close(torch.autograd.grad(out.sum(), Q, retain_graph=True), right)
    close(torch.autograd.grad(out.sum(), Q, create_graph=True), right)
    assert {next(iter(torch_blocks.BLOCKS)): known} == torch_blocks.BLOCKS
    assert all(block.known is not None for block in known if block.runs)  # what each hides too
    for far in range(40):
        found = masked_attention(lambda q, k, near=far: (k <= q) & (q - k <= near), Q, Q, Q)
        torch.testing.assert_close(found, by_hand(lambda q, k, near=far: (k <= q) & (q - k <= near), Q, Q, Q))
        assert len(torch_blocks.BLOCKS) <= 32
    for near in range(2, 4):  # what it is made with is not in its code
        expected = by_hand(lambda q, k: abs(q - k) < near, Q, Q, Q)  # noqa: B023
        torch.testing.assert_close(masked_attention(lambda q, k: abs(q - k) < near, Q, Q, Q), expected)  # noqa: B023


@pytest.mark.parametrize("near", [10, 100, 1000])
def test_what_a_gradient_needs_does_not_grow_with_the_square_of_the_width(
    near: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.undo()
    Q, K, V = (torch.randn(1, 8, 1000, 16, requires_grad=True) for _ in range(3))
    saved: dict[int, int] = {}

    def keep(x: Tensor) -> Tensor:
        saved[x.untyped_storage().data_ptr()] = x.untyped_storage().nbytes()
        return x

    with torch.autograd.graph.saved_tensors_hooks(keep, lambda x: x):
        out = masked_attention(lambda q, k: (k <= q) & (q - k < near), Q, K, V)
    assert out.requires_grad and sum(saved.values()) <= 4 * 4 * Q.nbytes
