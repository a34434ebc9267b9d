"""Which unknown names are taken for misspelt ones, that `--fix` may put right."""

from __future__ import annotations

import pytest

from attnc.compiler.names import misspelt


@pytest.mark.parametrize(
    ("name", "known"),
    [
        ("sofmax", "softmax"),
        ("softmaax", "softmax"),
        ("sigmod", "sigmoid"),
        ("layer_norm", "layernorm"),
        ("tahn", "tanh"),
        ("ReLU", "relu"),
        ("multihaed", "multihead"),
        ("Liner", "linear"),
        ("vocabz", "vocab"),
        ("blocks", "block"),
    ],
)
def test_letters_lost_doubled_or_turned_round(name: str, known: str) -> None:
    assert misspelt(name, known)


@pytest.mark.parametrize(
    ("name", "known"),
    [
        ("selu", "silu"),
        ("tan", "tanh"),
        ("sqr", "sqrt"),
        ("dropout2d", "dropout"),
        ("Hardsigmoid", "sigmoid"),
        ("bilinear", "linear"),
        ("binary_cross_entropy", "cross_entropy"),
        ("renorm", "rmsnorm"),
        ("decoder", "encoder"),
        ("norm3", "norm2"),
        ("hidden2", "hidden1"),
        ("hsplit", "split"),
        ("softmax1", "softmax"),
        ("Flatten", "attend"),
    ],
)
def test_another_thing_of_a_like_name(name: str, known: str) -> None:
    assert not misspelt(name, known)
