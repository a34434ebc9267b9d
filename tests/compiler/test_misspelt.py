"""Which unknown names are taken for misspelt ones, that `--fix` may put right."""

from __future__ import annotations

import pytest

from attnc.compiler.base.names import akin, misspelt
from attnc.compiler.ops import WRITABLE


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


@pytest.mark.parametrize(
    ("name", "op"),
    [
        ("sofmax", "softmax"),
        ("layer", "layernorm"),
        ("embedding", "embed"),
        ("broadcast_to", "broadcast"),
        ("concatenate", "concat"),
        ("std_mean", "mean"),
        ("amax", "max"),
        ("rleu", "relu"),
        ("meen", "mean"),
        ("gelo", "gelu"),
        ("Dropout1d", "dropout"),
        ("stop", "stop_gradient"),
    ],
)
def test_ops_that_may_be_meant(name: str, op: str) -> None:
    assert akin(name, op)


ELSEWHERE = """
adjoint append choose cond conj cov delete detach float fork ge hamming insert lu psi put qr ravel real roots
searchsorted sgn smm unique vander
"""


@pytest.mark.parametrize("name", ELSEWHERE.split())
def test_what_is_near_an_op_by_its_letters_alone(name: str) -> None:
    assert not [op for op in WRITABLE if akin(name, op)]
