"""What is said of two calls of one set of weights that would make it differently."""

from __future__ import annotations

import pytest

from attnc.compiler.check import build
from attnc.compiler.graph.equality import first_difference
from attnc.dsl.source import Source

FILE = """
width seq, most <= 16, more <= 32
depth d = 8, wide = 12, group = 2
const small = 0.1
block inner[n: depth](x: [d]) -> [d] {
    param W: [n, d]
    return sum[n](W * x)
}
block changed(x: [d]) -> [d] {
    return tanh(linear.L[d -> d](x))
}
block kept(x: [d]) -> [d] {
    return linear.L[d -> d](x)
}
block one(x: [seq, d], i: d[seq]) -> [seq, d] {
%s
}
block other(x: [seq, d], i: d[seq]) -> [seq, d] {
%s
}
"""

ALIKE = {
    "other ops": ("return linear.a[d -> d](x)", "return relu(linear.a[d -> d](x + 1))"),
    "a repeat and what it holds": (
        "repeat.r 2 {\n x = inner[wide](x)\n}\nreturn x",
        "repeat.r 2 {\n x = tanh(inner[wide](x))\n}\nreturn x",
    ),
    "passes that differ in what is done with the same weights": (
        "repeat.r j in 3 {\n if j == 1 {\n  x = tanh(x)\n }\n x = linear.a[d -> d](x)\n}\nreturn x",
        "repeat.r j in 3 {\n if j == 2 {\n  x = relu(x)\n }\n x = linear.a[d -> d](x)\n}\nreturn x",
    ),
    "more passes with one set of weights": (
        "repeat.r 2 shared {\n x = linear.a[d -> d](x)\n}\nreturn x",
        "repeat.r 3 shared {\n x = linear.a[d -> d](x)\n}\nreturn x",
    ),
    "one start, written in two ways": (
        "param W: [d] ~ normal(0.1)\nreturn x * W",
        "param W: [d] ~ normal(small)\nreturn x + W",
    ),
}

APART = {
    "more": (
        "return linear.a[d -> d](x)",
        "return linear.b[d -> d](linear.a[d -> d](x))",
        "E0414: `b` is learned here and not at the other call",
    ),
    "less": (
        "return linear.b[d -> d](inner[group](x))",
        "return linear.b[d -> d](x)",
        "E0414: `inner` is learned at the other call and not here",
    ),
    "ops": (
        "return layernorm.n[d](x)",
        "return rmsnorm.n[d](x)",
        "E0414: `n` is a `rmsnorm` here and a `layernorm` at the other call",
    ),
    "a param and an op": (
        "return linear.W[d -> d](x)",
        "param W: [d]\nreturn x * W",
        "E0414: `W` is a `param` here and a `linear` at the other call",
    ),
    "a bias": (
        "return linear.a[d -> d](x)",
        "return linear.a[d -> d](x, bias = false)",
        "E0414: `a` has a `bias` at the other call and none here",
    ),
    "no bias": (
        "return linear.a[d -> d](x, bias = false)",
        "return linear.a[d -> d](x)",
        "E0414: `a` has a `bias` here and none at the other call",
    ),
    "shapes": (
        "return sum[wide](linear.a[d -> d, wide](x))",
        "return sum[group](linear.a[d -> d, group](x))",
        "E0412: `a.weight` is [16, 8] here and [96, 8] at the other call",
    ),
    "shapes in a block that both call": (
        "return inner[wide](x)",
        "return inner[group](x)",
        "E0412: `inner.W` is [2, 8] here and [12, 8] at the other call",
    ),
    "shapes in a pass": (
        "repeat.r 2 {\n x = inner[wide](x)\n}\nreturn x",
        "repeat.r 2 {\n x = inner[group](x)\n}\nreturn x",
        "E0412: `r.0.inner.W` is [2, 8] here and [12, 8] at the other call",
    ),
    "shapes along a width that is bounded": (
        "param W: [most, d]\nreturn x + broadcast[seq](mean[most](W))",
        "param W: [more, d]\nreturn x + broadcast[seq](mean[more](W))",
        "E0412: `W` is [32, 8] here and [16, 8] at the other call",
    ),
    "shapes of the same axes": (
        "return sum[group](linear.a[d -> d, group](x, bias = false))",
        "return linear.a[d, group -> d](broadcast[group](x), bias = false)",
        "E0412: `a.weight` is [8, 16] here and [16, 8] at the other call",
    ),
    "passes": (
        "repeat.r 2 {\n x = linear.a[d -> d](x)\n}\nreturn x",
        "repeat.r 3 {\n x = linear.a[d -> d](x)\n}\nreturn x",
        "E0414: `r` runs 3 times here and 2 at the other call",
    ),
    "which pass has which": (
        "repeat.r j in 2 {\n if j == 0 {\n  x = linear.a[d -> d](x)\n } else {\n  x = kept(x)\n }\n}\nreturn x",
        "repeat.r j in 2 {\n if j == 1 {\n  x = linear.a[d -> d](x)\n } else {\n  x = kept(x)\n }\n}\nreturn x",
        "E0414: `r.0.kept` is learned here and not at the other call",
    ),
    "a repeat and a block": (
        "repeat.r 1 {\n x = linear.L[d -> d](x)\n}\nreturn x",
        "return kept.r(x)",
        "E0414: `r` is a call of `kept` here and a repeat at the other call",
    ),
    "a shared repeat and one that is not": (
        "repeat.r 1 {\n x = linear.L[d -> d](x)\n}\nreturn x",
        "repeat.r 1 shared {\n x = linear.L[d -> d](x)\n}\nreturn x",
        "E0414: `r` is a `shared` repeat here and a repeat at the other call",
    ),
    "two blocks of one label": (
        "return changed.r(x)",
        "return kept.r(x)",
        "E0414: `r` is a call of `kept` here and a call of `changed` at the other call",
    ),
    "starts that are nearly one": (
        "param W: [d] ~ normal(0.1)\nreturn x * W",
        "param W: [d] ~ normal(0.10000001)\nreturn x * W",
        "E0414: `W` begins as `normal(0.10000001)` here and as `normal(0.1)` at the other call",
    ),
    "starts": (
        "param W: [d] ~ normal(0.25)\nreturn x * W",
        "param W: [d] ~ ones\nreturn x * W",
        "E0414: `W` begins as `ones` here and as `normal(0.25)` at the other call",
    ),
    "numbers of a start": (
        "return embed.E[d -> d](i, init = normal(0.25))",
        "return embed.E[d -> d](i, init = normal(0.5))",
        "E0414: `E.weight` begins as `normal(0.5)` here and as `normal(0.25)` at the other call",
    ),
    "what is trained": (
        "param W: [d] ~ ones frozen\nreturn x * W",
        "param W: [d] ~ ones\nreturn x * W",
        "E0414: `W` is trained here and frozen at the other call",
    ),
}


def said(one: str, other: str) -> str | None:
    program = build(Source("main.attn", FILE % (one, other)))
    assert not program.errors, program.errors[0].message
    found = first_difference(program.graph("one"), program.graph("other"), {})
    return None if found is None else ": ".join(found)


@pytest.mark.parametrize("pair", ALIKE.values(), ids=ALIKE)
def test_they_make_the_same_weights(pair: tuple[str, str]) -> None:
    assert said(*pair) is None
    assert said(*reversed(pair)) is None


@pytest.mark.parametrize("row", APART.values(), ids=APART)
def test_how_they_differ(row: tuple[str, str, str]) -> None:
    one, other, how = row
    assert said(one, other) == how
    assert said(one, one) is None
