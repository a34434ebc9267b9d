"""Entropy and spectra against the formulas, written out."""

from __future__ import annotations

import math

import numpy as np
import pytest

from attnc.inspect import carried, entropy, spectrum
from attnc.inspect.measure import rank_for


def softmax(scores: np.ndarray, seen: np.ndarray) -> np.ndarray:
    powers = np.where(seen, np.exp(scores - scores.max()), 0.0)
    total = powers.sum(-1, keepdims=True)
    return np.divide(powers, total, out=np.zeros_like(powers), where=total > 0)


@pytest.mark.parametrize("seed", range(3))
def test_entropy_is_the_sum_over_the_keys_in_sight(seed: int) -> None:
    numbers = np.random.default_rng(seed)
    seen = numbers.random((2, 1, 7, 9)) > 0.4
    seen[0, 0, 3] = False  # sees nothing
    seen[0, 0, 4] = np.arange(9) == 2  # has no choice
    weights = softmax(numbers.standard_normal((2, 3, 7, 9)), seen)
    nats, share = entropy(weights, seen)
    for place in np.ndindex(2, 3, 7):
        keys = np.flatnonzero(seen[place[0], 0, place[2]])
        if not len(keys):
            assert np.isnan(nats[place])
            assert np.isnan(share[place])
            continue
        expected = -sum(weights[place][key] * math.log(weights[place][key]) for key in keys)
        assert nats[place] == pytest.approx(expected, abs=1e-12)
        if len(keys) == 1:
            assert nats[place] == 0
            assert np.isnan(share[place])
        else:
            assert share[place] == pytest.approx(expected / math.log(len(keys)), abs=1e-12)


def test_entropy_of_even_and_of_certain_weights() -> None:
    nats, share = entropy(np.full((1, 8), 1 / 8))
    assert nats[0] == pytest.approx(math.log(8))
    assert share[0] == pytest.approx(1)
    nats, share = entropy(np.eye(4))
    assert not nats.any()
    assert not np.signbit(nats).any()
    assert not share.any()
    # a key in sight that underflowed to nothing is still a choice
    assert entropy(np.array([[1.0, 0.0]]), np.array([[True, True]]))[1][0] == 0


def test_spectrum_is_the_roots_of_the_gram_matrix() -> None:
    weights = np.random.default_rng(0).dirichlet(np.ones(6), size=(3, 9))
    values = spectrum(weights)
    gram = np.linalg.eigvalsh(weights.mT @ weights)[:, ::-1]
    np.testing.assert_allclose(values, np.sqrt(np.maximum(gram, 0)), atol=1e-9)
    share = carried(values)
    np.testing.assert_allclose(share[..., 2], values[..., :3].sum(-1) / values.sum(-1))
    np.testing.assert_allclose(share[..., -1], 1)


def test_rank_for_a_share() -> None:
    share = carried(np.array([[6.0, 3.0, 1.0], [10.0, 0.0, 0.0]]))
    assert rank_for(share, 0.9).tolist() == [2, 1]
    assert rank_for(share, 1.0).tolist() == [3, 1]
    assert np.isnan(carried(np.zeros((1, 3)))).all()
