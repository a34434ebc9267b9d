"""NumPy's helpers for pointwise functions: as exact as their type, at every size, without a warning."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable

import numpy as np
import pytest

from attnc.backends import numpy_pointwise as helpers

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
