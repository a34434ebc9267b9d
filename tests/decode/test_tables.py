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

block smooth[t: width](x: [t], p: [t]) -> [t] {
    return x * mean[tap](window[t -> t, tap](p, pad = 2))
}

block twice(p: []) -> [] {
    return p * 2
}

block shared_out[by: const](x: []) -> [] {
    return x / by
}

block both(m: bool[], n: bool[]) -> bool[] {
    return m and n
}

block before[t: width, s: width like t, by: const](x: [t]) -> [t] {
    return sum[s](broadcast[t](x[t as s]) where s <= t - by)
}

block parted(x: [], p: []) -> (a: [], b: []) {
    return x + p, p * p
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
    "norm over both, masked": "x + sum[past](softmax[seq, past](T where past <= seq))",
    "next": "x + P[seq = min(seq + 1, |seq| - 1)]",
    "one by number": "x + broadcast[seq](P[seq = 4])",
    "by content": "x + T[past = index[past](int(floor(abs(x) * 10)) % |past|)]",
    "before": "x + P[seq = max(seq - 2, 0)]",
    "window": "x + mean[tap](window[seq -> seq, tap](P, pad = 1))",
    "window that ends here": "x + mean[tap](window[seq -> seq, tap](P, pad = 2))",
    "window that ends here, to the end": "x + mean[past](mean[tap](window[seq -> seq, tap](P, pad = 2))[seq as past])",
    "cumsum": "x + cumsum[seq](P)",
    "cumsum, and its mean": "x + cumsum[seq](P) + broadcast[seq](mean[seq](cumsum[seq](P)))",
    "cumsum, and the next": "x + cumsum[seq](P)[seq = min(seq + 1, |seq| - 1)]",
    "cumsum along the other": "x + sum[past](cumsum[past](T))",
    "cumsum for each of the other": "x + sum[past](cumsum[seq](T))",
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
    "window of products": "max[past](mean[tap](window[past -> past, tap](broadcast[past](x) * T, pad = 1)))",
    "cumsum of products": "sum[past](cumsum[past](broadcast[past](x) * T) * T)",
    "linear of products": "mean[out](linear.L[past -> out](broadcast[past](x) * T))",
    "order of products": "x + int(argsort[past -> other](broadcast[past](x) * T)[other = 1])",
    "cross entropy of products": "cross_entropy[past](broadcast[past](x) * T, index[past](2))",
    "scores made by a map": (  # Synthesizer (Tay et al. 2020)
        "dot[past](softmax[past](linear.L[out -> past](broadcast[out](x)) where past <= seq), x[seq as past])"
    ),
    "both at once": (
        "sum[past, other](broadcast[other](x[seq as past]) * broadcast[past](P[seq as other]) where past <= seq)"
    ),
    "the size given as a const": "shared_out[by = |past|](x) + cumsum[seq](shared_out.seen[by = |seq|](x))",
    "call with both": "scored[seq, past](x, P[seq as past])",
    "attention to a table": "mean[out](attend[seq, past, out, out](broadcast[out](x), broadcast[out](P[seq as past]), "
    "broadcast[out](P[seq as past])))",
}


def model(body: str) -> attnc.Model:
    return attnc.loads(
        f"{HEAD}\nmodel net(x: [seq]) -> [seq] causal seq {{\n"
        f"    param P: [seq] ~ normal(1)\n    param T: [seq, past] ~ normal(1)\n    param U: [past, seq] ~ normal(1)\n"
        f"{body}\n}}\n"
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
        # read in a block that reads nothing else of what is known of the items so far
        "repeat.layers 3 {\n x = x + smooth[seq](x * P, P)\n }\n return x",
        # carried in another order of axes than a pass gives it
        "u = U\n repeat.layers 3 {\n u = T + u\n }\n return x + max[past](u)",
        "u = sin(seq - past)\n repeat.layers i in 3 {\n if i % 2 == 0 {\n u = T\n } else {\n u = U\n }\n }\n"
        "return x + sum[past](u where past <= seq)",
    ],
)
def test_in_repeats(body: str) -> None:
    check_steps(model(body), seeds=(0, 1, 2), dtypes=("float64",))


@pytest.mark.parametrize(
    "body",
    [
        "return dot[past](twice(softmax[past](T where past <= seq)), x[seq as past])",
        "return dot[past](softmax[past](T where both(past <= seq, past % 2 == 0)), x[seq as past])",
        "n = select(past <= seq, broadcast[seq](x[seq as past]), 0)\n"
        "return max[past](l2norm[past](n) where past <= seq)",
        "repeat.a i in 2 {\n repeat.b j in 3 {\n x = x + before.l[seq, past, by = i + j](x)\n }\n }\n return x",
        "a, b = parted(x, P)\n return a + mean[past](b[seq as past])",
    ],
    ids=["weights through a block", "a mask of a block", "zeros", "a const of two passes", "results of two kinds"],
)
def test_items_are_read_no_further_than_a_mask_lets(body: str) -> None:
    check_steps(model(body), seeds=(0, 1, 2), dtypes=("float64",))


def test_what_goes_on_from_item_to_item() -> None:
    check_steps(model("    return x + broadcast[seq](mean[seq](scan[seq] cell(P, h = 0)))"), dtypes=("float64",))


def test_which_row_is_data() -> None:
    """Any row, also one that comes after; the index is told by the items, one by one."""
    text = (
        f"{HEAD}\nmodel net(x: [seq], ids: seq[seq]) -> [seq] causal seq {{\n"
        "    param P: [seq] ~ normal(1)\n    return x + P[seq = ids]\n}\n"
    )
    check_steps(attnc.loads(text).model("net"), seeds=(0, 1, 2), dtypes=("float64",))
