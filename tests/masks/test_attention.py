"""Attention in both libraries, each way that it is computed, against the formula written out."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest
import torch

from attnc.backends.runtime.numpy import masks as numpy_masks
from attnc.backends.runtime.torch import masks as torch_masks
from attnc.backends.runtime.torch.masks import fold, is_open, is_plain

from .predicates import causal, gaps, window

Array = Any
DRAW = np.random.default_rng(0)


def by_hand(
    seen: Any,
    Q: Array,
    K: Array,
    V: Array,
    *data: Array,
    bias: Array | None = None,
    scale: float = 1.0,
    cap: float | None = None,
) -> Array:
    scores = Q @ K.swapaxes(-1, -2) * scale
    scores = scores if cap is None else cap * np.tanh(scores / cap)
    scores = scores if bias is None else scores + bias
    mask = seen(np.arange(Q.shape[-2])[:, None], np.arange(K.shape[-2]), *data)
    weights = np.where(mask, np.exp(scores), 0)
    total = weights.sum(-1, keepdims=True)
    return weights / np.where(total == 0, 1, total) @ V


def dense(q: Any, k: Any, mask: Any) -> Any:
    return mask


def near(q: Any, k: Any, least: Any, real: Any) -> Any:
    return (k + least <= q) & real


def data_of(seen: Any, lead: tuple[int, ...], n: int, m: int) -> list[Array]:
    front = (lead[0], *(1 for _ in lead[1:])) if lead else ()
    real = DRAW.random((*front, 1, m)) > 0.4
    match seen.__name__:
        case "window":
            return [real]
        case "dense":
            return [DRAW.random((*lead, n, m)) > 0.5]
        case "near":
            return [DRAW.integers(0, 90, (n, 1)), real]
    return []


MASKS = [causal, gaps, window, dense, near]
# The leading axes of queries, and of keys and values, which broadcast.
LEADS = [((), ()), ((3,), (1,)), ((3,), ()), ((2, 3), (2, 1)), ((2, 3), (2, 3)), ((2, 1, 3), (2, 2, 1))]
WIDTHS = [(1, 1), (5, 70), (70, 5), (150, 150), (200, 3), (6, 0), (0, 6)]


@pytest.mark.parametrize("seen", MASKS, ids=lambda seen: seen.__name__)
@pytest.mark.parametrize(("lead", "keys"), LEADS)
def test_numpy(lead: tuple[int, ...], keys: tuple[int, ...], seen: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """By blocks and all at once, with and without a bias and a cap; queries that see nothing get zeros."""
    shape = np.broadcast_shapes(lead, keys)
    for number, (n, m) in enumerate(WIDTHS):
        Q, K, V = (DRAW.standard_normal(size) for size in ((*lead, n, 4), (*keys, m, 4), (*keys, m, 3)))
        data = data_of(seen, lead, n, m)
        bias = DRAW.standard_normal((*shape[-1:], n, m)) if number % 2 else None
        for scores in (0, 2**16):  # blocks of scores, or all at once
            monkeypatch.setattr(numpy_masks, "SCORES", scores)
            for cap in (None, 0.7):
                found = numpy_masks.masked_attention(seen, Q, K, V, *data, bias=bias, scale=0.4, cap=cap)
                expected = by_hand(seen, Q, K, V, *data, bias=bias, scale=0.4, cap=cap)
                assert found.shape == (*shape, n, 3)
                np.testing.assert_allclose(found, expected, atol=1e-12)
            mask = None if seen is causal else np.asarray(seen(np.arange(n)[:, None], np.arange(m), *data))
            found = numpy_masks.attention(Q, K, V, mask, bias, 0.4)
            expected = by_hand(dense, Q, K, V, np.ones((n, m), bool) if mask is None else mask, bias=bias, scale=0.4)
            np.testing.assert_allclose(found, expected, atol=1e-12)


def test_numpy_of_many_heads_and_wide() -> None:
    """More heads and keys than make one block of scores; float32 stays float32."""
    Q, K, V = (DRAW.standard_normal((1, 40, width, 2), dtype=np.float32) for width in (300, 900, 900))
    bias = DRAW.standard_normal((300, 900), dtype=np.float32)
    # Of gaps, later queries see two spans of keys, each in part.
    for seen, tilt, cap in ((lambda q, k: k >= 2 * q, None, None), (gaps, None, 0.7), (gaps, bias, None)):
        found = numpy_masks.masked_attention(seen, Q, K, V, bias=tilt, scale=0.5, cap=cap)
        assert found.dtype == np.float32
        np.testing.assert_allclose(found, by_hand(seen, Q, K, V, bias=tilt, scale=0.5, cap=cap), atol=1e-5)


@pytest.mark.parametrize("largest", [29.9, 30.1, -29.9, -30.1, 700.0, -700.0])
def test_numpy_where_scores_are_large(largest: float) -> None:
    """The greatest of a row is taken from it from 30 on: all of a block are alike large, or one of them is."""
    for others in (largest, 0.0):
        K = np.full((1, 90, 1), others)
        K[:, 40] = largest
        Q, V = np.ones((1, 90, 1)), DRAW.standard_normal((1, 90, 3))
        for dtype, rounds in ((np.float64, 1e-12), (np.float32, 1e-5)):
            found = numpy_masks.masked_attention(causal, *(x.astype(dtype) for x in (Q, K, V)))
            np.testing.assert_allclose(found, by_hand(causal, Q, K - K.max(), V), atol=rounds)


def test_when_numpy_makes_all_scores_at_once() -> None:
    def few(lead: tuple[int, ...], n: int, keys: tuple[int, ...], m: int) -> bool:
        return numpy_masks.few_scores(np.empty((*lead, n, 1)), np.empty((*keys, m, 1)))

    assert few((), 256, (), 256) and not few((), 257, (), 256) and not few((), 256, (2,), 256)
    assert few((2, 2), 128, (1, 2), 128) and not few((2, 2), 128, (1, 2), 129)
    assert few((9,), 4, (), 10**6) and not few((9,), 5, (), 10**6)


@pytest.mark.parametrize("seen", MASKS, ids=lambda seen: seen.__name__)
@pytest.mark.parametrize("lead", [(), (3,), (2, 3), (2, 1, 3)])
def test_pytorch_by_its_kernel(lead: tuple[int, ...], seen: Any) -> None:
    """What has a cap, or a gradient that would take too much memory, goes to PyTorch's kernel block by block."""
    for number, (n, m) in enumerate([(1, 1), (70, 70), (200, 200), (70, 130), (0, 5)]):
        Q, K, V = (DRAW.standard_normal(size) for size in ((*lead, n, 4), (*lead[:-1], *lead[-1:], m, 4), (m, 3)))
        data = data_of(seen, lead, n, m)
        bias = DRAW.standard_normal((n, 1)) + DRAW.standard_normal((*lead[-1:], 1, m)) if number % 2 else None
        given = [torch.tensor(x) for x in (Q, K, V, *data)]
        tilt = None if bias is None else torch.tensor(bias)
        for cap, scale in ((0.7, None), (0.7, 0.3), (None, 0.3)):
            if cap is None:
                for x in given[:3]:
                    x.requires_grad_()
            both = {"bias": tilt if cap is None else None, "scale": scale, "cap": cap}  # a bias is not capped
            found = torch_masks.masked_attention(seen, *given, **both).detach().numpy()
            by = bias if cap is None else None
            expected = by_hand(seen, Q, K, V, *data, bias=by, scale=0.5 if scale is None else scale, cap=cap)
            assert found.shape == (*lead, n, 3)
            np.testing.assert_allclose(found, expected, atol=1e-12)


def test_pytorch_with_wide_blocks() -> None:
    """Blocks of 256 queries; runs of keys with a gap between them; widths that no block divides."""

    def ends(q: Any, k: Any) -> Any:
        return (k <= q) & ((q - k < 600) & (q - k > 100) | (k < 70))

    for seen, n in ((causal, 700), (ends, 1000)):
        Q, K, V = (DRAW.standard_normal((1, 2, n, 3)) for _ in range(3))
        given = [torch.tensor(x) for x in (Q, K, V)]
        found = torch_masks.masked_attention(seen, *given, cap=2.0)
        np.testing.assert_allclose(found.numpy(), by_hand(seen, Q, K, V, scale=3**-0.5, cap=2.0), atol=1e-12)
        tilt = DRAW.standard_normal((n, n))
        given[0].requires_grad_()
        found = torch_masks.masked_attention(seen, *given, bias=torch.tensor(tilt), scale=0.2)
        expected = by_hand(seen, Q, K, V, bias=tilt, scale=0.2)
        np.testing.assert_allclose(found.detach().numpy(), expected, atol=1e-12)


def test_causal_attention_is_so_where_all_its_data_is_true() -> None:
    def seen(q: Any, k: Any, real: Any) -> Any:
        return (k <= q) & real

    Q, K, V = (DRAW.standard_normal((2, 3, 9, 4)) for _ in range(3))
    given = [torch.tensor(x) for x in (Q, K, V)]
    real = np.ones((2, 1, 1, 9), bool)
    for hidden in (None, 0, 5):
        if hidden is not None:
            real[1, ..., hidden] = False
        found = torch_masks.masked_attention(seen, *given, torch.tensor(real), causal_if_true=True, scale=0.3)
        np.testing.assert_allclose(found.numpy(), by_hand(seen, Q, K, V, real, scale=0.3), atol=1e-12)
    torch.manual_seed(0)
    ones = torch.ones(1, 1, 400, 4)
    dropped = torch_masks.masked_attention(
        seen, ones, ones, ones, torch.ones(1, 400) > 0, causal_if_true=True, dropout_p=0.5
    )
    assert dropped.std() > 0.01 and 0.9 < dropped.mean() < 1.1


def test_dropout_of_capped_scores() -> None:
    torch.manual_seed(0)
    ones = torch.ones(1, 1, 300, 4)
    dropped = torch_masks.masked_attention(causal, ones, ones, ones, dropout_p=0.5, cap=1.0)
    assert dropped.std() > 0.01 and 0.9 < dropped.mean() < 1.1


FLEXIBLE = "ignore:flex_attention called without"


@pytest.mark.filterwarnings(FLEXIBLE)
def test_flexible_attention_with_a_cap_and_a_scale() -> None:
    Q, K, V = (DRAW.standard_normal((2, 3, width, 16)).astype(np.float32) for width in (140, 150, 150))
    given = [torch.tensor(x) for x in (Q, K, V)]
    real = DRAW.random((2, 1, 1, 150)) > 0.3
    for cap, scale in itertools.product((None, 0.7), (None, 0.5)):
        found = torch_masks.flexible_attention(window, *given, torch.tensor(real), scale=scale, cap=cap).numpy()
        expected = by_hand(window, Q, K, V, real, scale=0.25 if scale is None else scale, cap=cap)
        np.testing.assert_allclose(found, expected, atol=1e-5)
    for n, m in ((0, 5), (5, 0)):
        none = torch_masks.flexible_attention(causal, given[0][:, :, :n], given[1][:, :, :m], given[2][:, :, :m])
        assert none.shape == (2, 3, n, 16) and (none == 0).all()


@pytest.mark.parametrize("lead", LEADS)
def test_plain_attention_of_leading_axes_that_broadcast(lead: Any) -> None:
    queries, keys = lead
    Q, K, V = (DRAW.standard_normal(size) for size in ((*queries, 5, 4), (*keys, 6, 4), (*keys, 6, 3)))
    mask = DRAW.random((*queries[:1], *(1 for _ in queries[1:]), 5, 6)) > 0.2
    mask[..., 0] = True
    given = [torch.tensor(x) for x in (Q, K, V)]
    found = torch_masks.attention(*given, torch.tensor(mask), scale=0.3)
    np.testing.assert_allclose(found.numpy(), by_hand(dense, Q, K, V, mask, scale=0.3), atol=1e-12)
    assert found.shape == (*np.broadcast_shapes(queries, keys), 5, 3)
    found = torch_masks.attention(*given, is_causal=True)
    np.testing.assert_allclose(found.numpy(), by_hand(causal, Q, K, V, scale=0.5), atol=1e-12)
    torch.manual_seed(0)
    assert not torch.allclose(torch_masks.attention(*given, dropout_p=0.5), torch_masks.attention(*given))


def test_leading_axes_as_a_batch_and_heads() -> None:
    """All but the first are heads; those along which nothing varies take no memory."""
    for shape, lead, wanted in (
        ((7, 4), (), (1, 1, 7, 4)), ((5, 7, 4), (5,), (1, 5, 7, 4)), ((2, 5, 7, 4), (2, 5), (2, 5, 7, 4)),
        ((2, 1, 7, 4), (2, 5), (2, 1, 7, 4)), ((7, 4), (2, 5), (1, 1, 7, 4)), ((1, 5, 7, 4), (2, 5), (1, 5, 7, 4)),
        ((2, 3, 5, 7, 4), (2, 3, 5), (2, 15, 7, 4)), ((2, 3, 1, 7, 4), (2, 3, 5), (2, 15, 7, 4)),
        ((2, 1, 1, 7, 4), (2, 3, 5), (2, 1, 7, 4)), ((5, 7, 4), (2, 3, 5), (1, 15, 7, 4)),
    ):  # fmt: skip
        x = torch.randn(*shape)
        found = fold(x, lead)
        batch, heads = (lead if len(lead) > 1 else (1, *lead, 1))[0], math.prod(lead[1:] if len(lead) > 1 else lead)
        assert found.shape == wanted
        assert torch.equal(found.expand(batch, heads, 7, 4).reshape(*lead, 7, 4), x.expand(*lead, 7, 4))


def test_what_autograd_alone_watches() -> None:
    x, y = torch.randn(2, 3), torch.nn.Parameter(torch.randn(2, 3))
    assert is_plain(x, y) and is_plain(x.double()) and is_plain(x, x > 0, torch.zeros(2, dtype=torch.int64))
    assert not is_plain(x, y.double()) and not is_plain(x.half()) and not is_plain(x.bfloat16())
    assert not is_plain(x, x.to("meta")) and not is_plain(x, type("Other", (torch.Tensor,), {})())
    with torch.autocast("cpu", torch.bfloat16):
        assert not is_plain(x)
    with torch.autograd.forward_ad.dual_level():
        assert not is_plain(x)
    seen: list[bool] = []
    torch.func.vmap(lambda x: (seen.append(is_plain(x)), x)[1])(x)
    with pytest.warns(DeprecationWarning, match="trace"):
        torch.jit.trace(lambda x: (seen.append(is_open(3)), x)[1] + 0, (x,), check_trace=False)
    assert seen == [False, True] and is_open(3) is False


@pytest.mark.parametrize("shared", [False, True])
@pytest.mark.parametrize("mask", [None, "all", "some", "none", "rows", "wide", "late"])
def test_one_query_a_head(shared: bool, mask: str | None) -> None:
    """As at a step of decoding: a mask is looked at, keys that heads share are not expanded; what is computed is the
    same."""
    torch.manual_seed(0)
    lead, keys = ((2, 3, 4), (2, 3, 1)) if shared else ((2, 3), (2, 3))
    Q = torch.randn(*lead, 1, 8, dtype=torch.float64)
    K, V = (torch.randn(*keys, 7, 8, dtype=torch.float64) for _ in range(2))
    some = torch.arange(7) != 3
    masks = {
        None: None, "all": torch.ones(1, 7, dtype=torch.bool), "some": some[None],
        "none": torch.zeros(1, 7, dtype=torch.bool), "rows": some.expand(2, 1, 1, 7),
        "wide": torch.ones(5, *(1,) * len(lead), 1, 7, dtype=torch.bool) & some, "late": some.expand(1, 1, 1, 7),
    }  # fmt: skip
    given = masks[mask]
    if mask == "wide":  # a batch that the queries lack
        Q, K, V = (x.expand(5, *x.shape) for x in (Q, K, V))
    if mask in ("rows", "late") and shared:
        given = given[:, None] if given is not None else None
    with torch.enable_grad():
        expected = torch_masks.attention(Q, K, V, given)
    with torch.no_grad():
        found = torch_masks.attention(Q, K, V, given)
    assert found.shape == expected.shape
    torch.testing.assert_close(found, expected, rtol=1e-12, atol=1e-12)


def test_keys_that_heads_share_are_not_expanded(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[tuple[int, ...]] = []

    def kernel(Q: torch.Tensor, K: torch.Tensor, *others: Any, **named: Any) -> torch.Tensor:
        seen.append(tuple(K.shape))
        return Q

    monkeypatch.setattr(torch_masks.F, "scaled_dot_product_attention", kernel)
    with torch.no_grad():
        torch_masks.attention(torch.randn(2, 3, 4, 1, 8), *torch.randn(2, 2, 3, 1, 7, 8))
    assert seen == [(2, 3, 7, 8)]
