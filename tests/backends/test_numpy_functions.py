"""NumPy's helpers for pointwise functions: as exact as their type, at every size, without a warning."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable

import numpy as np
import pytest

from attnc.backends.runtime.numpy import masks as numpy_masks
from attnc.backends.runtime.numpy import ops as numpy_ops
from attnc.backends.runtime.numpy import pointwise as helpers

EXACT: dict[str, Callable[[float], float]] = {
    "erf": math.erf,
    "gelu": lambda x: 0.5 * x * math.erfc(-x / math.sqrt(2)),
    "gelu_tanh": lambda x: 0.5 * x * (1 + math.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))),
    "sigmoid": lambda x: 1 / (1 + math.exp(-x)) if x > -700 else 0.0,
    "silu": lambda x: x / (1 + math.exp(-x)) if x > -700 else 0.0,
}


@pytest.mark.parametrize("name", EXACT)
@pytest.mark.parametrize(("dtype", "near"), [(np.float32, 4e-7), (np.float64, 1e-15), (np.float16, 2e-3)])
def test_as_exact_as_the_type(name: str, dtype: type, near: float) -> None:
    size = helpers.BLOCK + 17  # more than a block, and not a multiple of it
    x = np.concatenate([np.linspace(-9, 9, size), [0, -1e3, 1e3, 1e-7]]).astype(dtype)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = getattr(helpers, name)(x)
    assert found.dtype == dtype
    wanted = np.array([EXACT[name](float(v)) for v in x])
    assert np.all(np.abs(found - wanted) <= near * np.maximum(np.abs(wanted), np.maximum(np.abs(x), 1)))


@pytest.mark.parametrize("name", EXACT)
@pytest.mark.parametrize("shape", [(), (0,), (3, 4), (2, 0, 3)])
def test_shapes_and_strides(name: str, shape: tuple[int, ...]) -> None:
    function = getattr(helpers, name)
    x = np.random.default_rng(0).standard_normal(shape).astype(np.float32)
    assert function(x).shape == shape
    given = x.copy()
    np.testing.assert_array_equal(function(x.T), function(x).T)
    np.testing.assert_array_equal(x, given)  # its operand stays as it is


@pytest.mark.parametrize("name", EXACT)
def test_what_is_not_a_number_stays_so(name: str) -> None:
    assert np.isnan(getattr(helpers, name)(np.array([np.nan, 1.0], np.float32))[0])


@pytest.mark.parametrize("name", ["layernorm", "rmsnorm"])
@pytest.mark.parametrize(("dtype", "near"), [(np.float32, 1e-6), (np.float64, 1e-14), (np.float16, 2e-3)])
def test_one_row_is_normed_as_many_are(name: str, dtype: type, near: float) -> None:
    rng = np.random.default_rng(0)
    rows, weight = (3 + rng.standard_normal(shape).astype(dtype) for shape in ((4, 1, 50), (50,)))
    norm = getattr(numpy_ops, name)
    given, together = rows.copy(), norm(rows, 1, 1e-5, weight)
    alone = np.stack([norm(row, 1, 1e-5, weight) for row in rows])
    assert alone.dtype == together.dtype == dtype and alone.shape == rows.shape
    np.testing.assert_allclose(alone, together, rtol=near, atol=near)
    np.testing.assert_array_equal(rows, given)
    centred = rows.astype(np.float64) - (rows.astype(np.float64).mean(-1, keepdims=True) if name == "layernorm" else 0)
    wanted = centred / np.sqrt((centred**2).mean(-1, keepdims=True) + 1e-5) * weight
    np.testing.assert_allclose(alone, wanted, rtol=2 * near, atol=2 * near)


@pytest.mark.parametrize("size", [1, 3])
def test_attention_of_few_to_nothing_is_zero(size: int) -> None:
    Q, K = np.ones((2, size, 4), np.float32), np.ones((2, 5, 4), np.float32)
    mask = np.arange(5) < np.array([[0], [5]])[:, None]  # of the first example, nothing
    some = numpy_masks.attention(Q, K, K, mask)
    np.testing.assert_array_equal(some, np.stack([0 * Q[0], Q[1]]))
    np.testing.assert_array_equal(numpy_masks.attention(Q, K[:, :0], K[:, :0]), 0 * Q)
    bias = np.where(mask, np.float32(0), np.float32(-np.inf))
    np.testing.assert_array_equal(numpy_masks.attention(Q, K, K, None, bias), some)


@pytest.mark.parametrize("batch", [0, 2])
def test_attention_of_few_has_the_batch_of_a_mask_that_hides_nothing(batch: int) -> None:
    Q, K = np.ones((3, 4)), np.ones((5, 4))
    assert numpy_masks.attention(Q, K, K, np.ones((batch, 3, 5), bool)).shape == (batch, 3, 4)
    seen = numpy_masks.masked_attention(lambda q, k, real: real, Q, K, K, np.ones((batch, 1, 5), bool))
    assert seen.shape == (batch, 3, 4)
