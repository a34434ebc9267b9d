"""Of a width of a given size what is not made of items is known to its end, and read to its end by the steps too.

The proof of causality lets it: the number of items tells nothing. The steps read it as far as the newest item alone,
and gave other numbers than the whole.
"""

from __future__ import annotations

import pytest

import attnc

from .steps import check_steps

HEAD = """use std.attention: attend
width seq = 6
width past like seq
width other like seq
width double = 2 * seq
width rows = 3
width columns = 2
depth tap = 3
depth out = 2

block cell(p: [], h: []) -> (h: []) {
    h = 0.5 * h + p
    return h
}

block centred[t: width](p: [t]) -> [t] {
    return p - broadcast[t](mean[t](p))
}

block scored[t: width, s: width like t](x: [t], p: [s]) -> [t] {
    return mean[s](broadcast[t](p) * broadcast[s](x)) + p[s as t]
}
"""
TABLES = {
    "mean": "x + mean[past](P[seq as past])",
    "max": "x + max[past](P[seq as past])",
    "argmax": "x + 1.0 * int(argmax[past](P[seq as past]))",
    "how many come after": "x + sum[past](1.0 where seq < past)",
    "mean of indices": "x * mean[past](1.0 * past + 0 * seq)",
    "softmax": "x * dot[past](softmax[past](T), T)",
    "softmax, masked later": "dot[past](softmax[past](T) * select(past <= seq, 1.0, 0.0), x[seq as past])",
    "norm": "x + layernorm[seq](P, scale = false, bias = false)",
    "next": "x + P[seq = min(seq + 1, |seq| - 1)]",
    "one by number": "x + broadcast[seq](P[seq = 4])",
    "by content": "x + T[past = index[past](int(floor(abs(x) * 10)) % |past|)]",
    "before": "x + P[seq = max(seq - 2, 0)]",
    "window": "x + mean[tap](window[seq -> seq, tap](P, pad = 1))",
    "window that ends here": "x + mean[tap](window[seq -> seq, tap](P, pad = 2))",
    "cumsum": "x + cumsum[seq](P)",
    "linear": "x + broadcast[seq](mean[out](linear.L[seq -> out](P)))",
    "linear to the width": "x + linear.L[out -> seq](mean[seq](broadcast[out](P)))",
    "argsort": "x + P[seq = argsort[seq -> past](P)[past as seq]]",
    "topk": "x + mean[out](P[seq = topk[seq -> out](P)])",
    "split": "x + merge[rows, columns -> seq](cumsum[rows](split[seq -> rows, columns](P)))",
    "concat": "x + broadcast[seq](mean[double](concat[seq, past -> double](P, P[seq as past])))",
    "cross entropy": "x + cross_entropy[seq](P, index[seq](2))",
    "call": "x + centred[seq](P)",
    "lifted call": "x + mean[past](centred[past](T))",
    # of items and what is known, along the axis of which the second alone runs
    "products": "mean[past](broadcast[past](x) * broadcast[seq](P[seq as past]))",
    "logsumexp of products": "logsumexp[past](broadcast[past](x) * T)",
    "softmax of products": "dot[past](softmax[past](broadcast[past](x) * T), T)",
    "norm of products": "sum[past](l2norm[past](broadcast[past](x) * T) * T)",
    "softmax of products, masked later": (
        "dot[past](softmax[past](broadcast[past](x) * T) * select(past <= seq, 1.0, 0.0), x[seq as past])"
    ),
    "both at once": (
        "sum[past, other](broadcast[other](x[seq as past]) * broadcast[past](P[seq as other]) where past <= seq)"
    ),
    "call with both": "scored[seq, past](x, P[seq as past])",
    "attention to a table": "mean[out](attend[seq, past, out, out](broadcast[out](x), broadcast[out](P[seq as past]), "
    "broadcast[out](P[seq as past])))",
}


def model(body: str) -> attnc.Model:
    return attnc.loads(
        f"{HEAD}\nmodel net(x: [seq]) -> [seq] causal seq {{\n"
        f"    param P: [seq] ~ normal(1)\n    param T: [seq, past] ~ normal(1)\n{body}\n}}\n"
    ).model("net")


@pytest.mark.parametrize("result", TABLES.values(), ids=TABLES)
def test_read_to_the_end(result: str) -> None:
    check_steps(model(f"    return {result}"), seeds=(0, 1, 2), dtypes=("float64",))


@pytest.mark.parametrize(
    "body",
    [
        "p = P\n repeat.layers 3 {\n p = p + broadcast[seq](mean[seq](tanh(p)))\n }\n return x + p",
        "repeat.layers 3 {\n x = x + broadcast[seq](mean[seq](tanh(P)))\n }\n return x",
        "repeat.layers 3 {\n param Q: [seq]\n x = x + broadcast[seq](mean[seq](tanh(P * Q)))\n }\n return x",
        "v = (P - broadcast[seq](mean[seq](P))) ^ 2\n return x * mean[past](v[seq as past])",
    ],
)
def test_in_repeats(body: str) -> None:
    check_steps(model(body), seeds=(0, 1, 2), dtypes=("float64",))


@pytest.mark.parametrize(
    ("result", "why"),
    [
        ("x + broadcast[seq](mean[seq](scan[seq] cell(P, h = 0)))", "what `cell` gives is read to its end"),
        ("x + broadcast[seq](mean[seq](cumsum[seq](P)))", "what `cumsum` gives is read to its end"),
    ],
)
def test_what_goes_on_from_item_to_item_is_not(result: str, why: str) -> None:
    decoding = model(f"    return {result}").decoding
    assert decoding.step is None and why in decoding.reason


def test_which_row_is_data() -> None:
    """Any row, also one that comes after; the index is told by the items, one by one."""
    text = (
        f"{HEAD}\nmodel net(x: [seq], ids: seq[seq]) -> [seq] causal seq {{\n"
        "    param P: [seq] ~ normal(1)\n    return x + P[seq = ids]\n}\n"
    )
    check_steps(attnc.loads(text).model("net"), seeds=(0, 1, 2), dtypes=("float64",))
