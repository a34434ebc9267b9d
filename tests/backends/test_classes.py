"""Which blocks share a class (a function), and which may not: two calls, and how many classes they need."""

from __future__ import annotations

import re

import pytest

from attnc.compiler.pipeline import passes_without
from tests.sources import numpy_source, torch_source

from .agreement import graph_of

HEAD = """
width t <= 8, u
depth m = 4, n = 6, v = 4
const c = 2
"""
SHARED = {  # what differs, a block, and the results of the model
    "nothing": ("block f(x: [m]) -> [m] { return linear.w[m -> m](x) }", "f.a(x)", "f.b(x + 1)"),
    "sizes": (
        "block f[a: depth, b: depth](x: [a]) -> [b] { return linear.w[a -> b](x) * |a| }",
        "f.a[m, m](x)",
        "linear.down[n -> m](f.b[m, n](x))",
    ),
    "sizes worked out of others": (
        "block f[a: depth, b: depth](x: [a]) -> [a] {\n y = linear.w[a -> b](x)\n return linear.o[b -> a](y) / |b|\n}",
        "f.a[m, n](x)",
        "f.b[m, v](x)",
    ),
    "integers and reals": (
        "block f(x: [m], s: []) -> [m] { return linear.w[m -> m](x) * s }",
        "f.a(x, i)",
        "f.b(x, y)",
    ),
    "consts": ("block f[k: const](x: [m]) -> [m] { return linear.w[m -> m](x) * k }", "f.a[k = 2](x)", "f.b[k = 3](x)"),
    "the axes that a call lifts over": (
        "block f(x: [m]) -> [m] { return linear.w[m -> m](x) }",
        "f.a(x)",
        "broadcast[t](f.b(z))",
    ),
}
APART = {
    "which of two masks": (
        "block f[k: const](x: [m]) -> [m] {\n a = x > 0\n b = x < 1\n if k == 1 {\n y = sum[m](x where a)\n } else {\n"
        " y = sum[m](x where b)\n }\n return select(a and b, x, x + y)\n}",
        "f.a[k = 1](x)",
        "f.b[k = 2](x)",
    ),
    "a number and an array": (
        "block f(x: [m], s: []) -> [m] { return linear.w[m -> m](x) * s }",
        "f.a(x, 2)",
        "f.b(x, y)",
    ),
    "a bound": (
        "block f[q: width](x: [q, m]) -> [q, m] {\n param p: [q, m]\n return x + p\n}",
        "f.a[t](x)",
        "broadcast[t](sum[hour](f.b[hour](w)))",
    ),
    "a default that is not given": (
        "block f(x: [m], s: bool[] = true) -> [m] { return linear.w[m -> m](select(s, x, 1)) }",
        "f.a(x)",
        "f.b(x, y > 0)",
    ),
    "the block": (
        "block f(x: [m]) -> [m] { return linear.w[m -> m](x) }\nblock f2(x: [m]) -> [m] { return linear.w[m -> m](x) }",
        "f.a(x)",
        "f2.b(x)",
    ),
    "a const that decides": (
        "block f[k: const](x: [m]) -> [m] {\n if k == 2 {\n y = linear.w[m -> m](x)\n } else {\n"
        " y = linear.v[m -> m](x)\n }\n return y\n}",
        "f.a[k = 2](x)",
        "f.b[k = 3](x)",
    ),
    "a const that freezes": (
        "block f[k: const](x: [m]) -> [m] {\n if k == 2 {\n param p: [m] ~ normal(1) frozen\n y = x + p\n } else {\n"
        " param p: [m] ~ normal(1)\n y = x + p\n }\n return y\n}",
        "f.a[k = 2](x)",
        "f.b[k = 3](x)",
    ),
    "numbers, which are put in": (
        "block f(x: [m], s: []) -> [m] { return linear.w[m -> m](x) * s }",
        "f.a(x, 2)",
        "f.b(x, 0.5)",
    ),
}
MODEL = """
model net(x: [t, m], y: [t], z: [m], w: [hour, m], i: int[t]) -> (p: [t, m], q: [t, m]) {{
    return {}, {}
}}
"""


@pytest.mark.parametrize(("what", "classes"), [*((what, 1) for what in SHARED), *((what, 2) for what in APART)])
def test_classes(what: str, classes: int) -> None:
    block, one, two = (SHARED | APART)[what]
    graph = graph_of(HEAD + "width hour = 5\n" + block + MODEL.format(one, two))
    assert len(re.findall(r"(?m)^(?:class F|def f)_?\d*\(", torch_source(graph))) == classes
    assert len(re.findall(r"(?m)^def f_?\d*\(", numpy_source(graph))) == classes


def test_a_table_of_positions_is_given_in_the_models_type_or_to_a_class_of_its_own() -> None:
    """In a class that is given float64, what it makes of that is float64 until it meets data."""
    block = "block f(x: [m], s: []) -> [m] { return linear.w[m -> m](x) * s + s }\n"
    graph = graph_of(HEAD + "width hour = 5\n" + block + MODEL.format("f.a(x, t / 3)", "f.b(x, y)"))
    for left_out, classes in (([], 1), (["hoist"], 2)):
        source = torch_source(graph, passes=passes_without(left_out))
        assert len(re.findall(r"(?m)^(?:class F|def f)_?\d*\(", source)) == classes
