"""What one use of each op takes, by the example of its row: worked out by hand from its operands and its result."""

from __future__ import annotations

import pytest

import attnc
from attnc.compiler.ops import OPS

FUNCTIONS = (
    """exp log sqrt rsqrt sin cos tanh sigmoid erf relu gelu gelu_tanh silu softplus log1p expm1 abs neg clamp"""
)
REDUCED = ["sum", "mean", "max", "min"]

# Operations other than multiply-adds, bytes moved, steps, bytes of the result and of what is needed for a moment.
# Reals have 4 bytes, truth values 1, indices and ints 8.
TAKES = {
    **dict.fromkeys(["+", "-", "*", "/", "%", "^", "maximum", "minimum"], ("1", "12", "1", "4")),
    **dict.fromkeys(["<=", ">=", "<", ">", "==", "!="], ("1", "9", "1", "1")),
    **dict.fromkeys(FUNCTIONS.split(), ("1", "8", "1", "4")),
    **dict.fromkeys(REDUCED, ("k q", "4 q (k + 1)", "1", "4 q")),
    "and": ("1", "3", "1", "1"),
    "or": ("1", "3", "1", "1"),
    "not": ("1", "2", "1", "1"),
    "select": ("1", "13", "1", "4"),
    "floor": ("1", "12", "1", "8"),
    "ceil": ("1", "12", "1", "8"),
    "int": ("0", "0", "0", "0"),
    "stop_gradient": ("0", "0", "0", "0"),
    "dot": ("0", "4 (k q + d k + d q)", "1", "4 k q"),
    "logsumexp": ("4 k q", "4 q (k + 1)", "1", "4 q"),
    "any": ("k q", "q (k + 1)", "1", "q"),
    "all": ("k q", "q (k + 1)", "1", "q"),
    "argmax": ("k q", "4 q (k + 2)", "1", "8 q"),
    "cumsum": ("k q", "8 k q", "1", "4 k q"),
    "cummax": ("k q", "8 k q", "1", "12 k q"),  # and where each stood, an index
    "logcumsumexp": ("4 k q", "8 k q", "1", "4 k q"),
    "softmax": ("5 k q", "9 k q", "1", "12 k q"),  # masked: two arrays more of its size for a moment
    "log_softmax": ("5 k q", "8 k q", "1", "4 k q"),
    "l2norm": ("4 d q", "8 d q", "1", "4 d q"),
    "linear": ("0", "4 (inner seq + model seq + inner model + inner)", "1", "4 inner seq"),
    "embed": ("0", "8 seq (model + 1)", "1", "4 model seq"),  # of the table the rows that are looked up
    "gather": ("0", "8 seq (model + 1)", "1", "4 model seq"),
    "layernorm": ("7 model seq", "8 model (seq + 1)", "1", "4 model seq"),
    "rmsnorm": ("5 model seq", "4 model (2 seq + 1)", "1", "4 model seq"),
    **dict.fromkeys(["rename", "split", "merge", "index"], ("0", "0", "0", "0")),
    "broadcast": ("w", "12 w", "1", "4 w"),  # the sum in its example
    "concat": ("0", "4 (c + b + a)", "1", "4 c"),
    "dropout": ("2", "8", "1", "4"),
    "cross_entropy": ("5 vocab seq", "4 seq (vocab + 3)", "1", "4 seq"),
    "window": ("0", "4 d seq (tap + 1)", "1", "4 d tap seq"),
    "pad": ("0", "4 (b + a)", "1", "4 b"),
    "flip": ("0", "8 k q", "1", "4 k q"),
    "topk": ("k q", "4 q (k + 2 best)", "1", "8 best q"),
    "argsort": ("k q", "12 k q", "1", "8 k q"),
    "valid": ("seq + best", "4 seq + 17 best", "2", "9 best"),  # and the picks in its example
}


@pytest.mark.parametrize("name", OPS)
def test_what_an_op_takes(name: str) -> None:
    cost = attnc.loads(OPS[name].example).block("f").cost()
    assert (str(cost.operations), str(cost.moved), str(cost.steps), str(cost.peak)) == TAKES[name]
