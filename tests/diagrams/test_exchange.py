"""Operands of sums and products may be exchanged, and what does not hang together written in another order: the figure
stays as it is.
"""

from __future__ import annotations

import pytest

import attnc

AXES = "width x, y\ndepth m = 8, n = 6, h = 4, k = 2\n"
BLOCK = "block f(a: [x, m], b: [x, m]) -> [x, m]"


def drawn(program: str) -> str:
    return attnc.loads(AXES + program).block("f").draw(depth=3).dot


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("a + tanh(linear.D[m -> m](a))", "tanh(linear.D[m -> m](a)) + a"),
        ("linear.A[m -> m](a) + relu(linear.B[m -> m](a))", "relu(linear.B[m -> m](a)) + linear.A[m -> m](a)"),
        ("silu(linear.A[m -> m](a)) * linear.B[m -> m](b)", "linear.B[m -> m](b) * silu(linear.A[m -> m](a))"),
        ("max(a, b * 2, a + 1)", "max(a + 1, a, b * 2)"),
        ("min(a, b)", "min(b, a)"),
        ("select(a > 0 and b > 1, a, b)", "select(b > 1 and a > 0, a, b)"),
        ("select(a > 0 or (b > 1 and b < 3), a, b)", "select((b < 3 and b > 1) or a > 0, a, b)"),
        ("select(a == b, a, b)", "select(b == a, a, b)"),
        ("a * (1 + |m|)", "(|m| + 1) * a"),
        ("a * (|m| * 3 + |n|)", "(|n| + 3 * |m|) * a"),
        ("a + x * m * 2", "2 * (m * x) + a"),
        ("softmax[m](a where m < 3 and x > 1)", "softmax[m](a where x > 1 and m < 3)"),
        ("a - b + tanh(a)", "tanh(a) + (a - b)"),
    ],
)
def test_in_an_expression(one: str, other: str) -> None:
    assert drawn(f"{BLOCK} {{ return {one} }}") == drawn(f"{BLOCK} {{ return {other} }}")


@pytest.mark.parametrize(
    ("one", "other"),
    [
        pytest.param(
            "block f(a: [x, m], b: [y, m]) -> [x, y] { return dot[m](linear.Q[m -> m](a), linear.K[m -> m](b)) / 2 }",
            "block f(a: [x, m], b: [y, m]) -> [x, y] { return dot[m](linear.K[m -> m](b), linear.Q[m -> m](a)) / 2 }",
            id="a contraction",
        ),
        pytest.param(
            "block f(a: [x, m], b: [x, m], c: [m, n]) -> [x, n] { return dot[m](a, b, c) }",
            "block f(a: [x, m], b: [x, m], c: [m, n]) -> [x, n] { return dot[m](c, a, b) }",
            id="of three",
        ),
        pytest.param(
            """block g(a: [x, m], b: [x, m], c: [x, m]) -> [x, m] { return tanh(linear.D[m -> m](a)) * b + c }
            block f(a: [x, m], b: [x, m]) -> [x, m] {
                repeat.r 3 { a = a + g(a, b, relu(b)) * b }
                return a
            }""",
            """block g(a: [x, m], b: [x, m], c: [x, m]) -> [x, m] { return c + b * tanh(linear.D[m -> m](a)) }
            block f(a: [x, m], b: [x, m]) -> [x, m] {
                repeat.r 3 { a = b * g(a, b, relu(b)) + a }
                return a
            }""",
            id="in blocks and passes",
        ),
        pytest.param(
            """block f(a: [x, m], b: [x, m], c: [x, m]) -> [x, m] {
                repeat.r 3 { a = a + relu(b) * linear.L[m -> m](c) }
                return a
            }""",
            """block f(a: [x, m], b: [x, m], c: [x, m]) -> [x, m] {
                repeat.r 3 { a = a + linear.L[m -> m](c) * relu(b) }
                return a
            }""",
            id="what enters a repeat",
        ),
        pytest.param(
            "block f(a: [x, m], b: [x, m]) -> [x, m] { u = relu(a)\nv = tanh(b)\nreturn u - v }",
            "block f(a: [x, m], b: [x, m]) -> [x, m] { v = tanh(b)\nu = relu(a)\nreturn u - v }",
            id="statements",
        ),
        pytest.param(
            """block f(a: [x, m]) -> [x, m] {
                param g: [m]
                param u: [m, n]
                return dot[n](dot[m](a * g, u), u)
            }""",
            """block f(a: [x, m]) -> [x, m] {
                param u: [m, n]
                param g: [m]
                return dot[n](u, dot[m](u, g * a))
            }""",
            id="weights",
        ),
    ],
)
def test_in_a_program(one: str, other: str) -> None:
    assert drawn(one) == drawn(other)


@pytest.mark.parametrize("sign", ["+", "*"])
def test_what_is_alike_stands_as_it_is_written(sign: str) -> None:
    """Nothing but names tells the operands apart: exchanging them is naming them otherwise."""
    one = drawn(f"{BLOCK} {{ return linear.L1[m -> m](a) {sign} linear.L2[m -> m](a) }}")
    other = drawn(f"{BLOCK} {{ return linear.L2[m -> m](a) {sign} linear.L1[m -> m](a) }}")
    assert one != other
    assert _swapped(one) == other


def _swapped(dot: str) -> str:
    for one, other in (("<I>L1</I>", "<I>L2</I>"), ("linear[m] L1", "linear[m] L2")):
        dot = dot.replace(one, "\0").replace(other, one).replace("\0", other)
    return dot


@pytest.mark.parametrize(
    ("one", "other"),
    [("a - b", "b - a"), ("a / (b + 1)", "(b + 1) / a"), ("select(a > b, a, b)", "select(b > a, a, b)")],
)
def test_others_may_not_be_exchanged(one: str, other: str) -> None:
    assert drawn(f"{BLOCK} {{ return {one} }}") != drawn(f"{BLOCK} {{ return {other} }}")


def test_axes_stand_in_the_order_in_which_the_figure_meets_them() -> None:
    """Whatever the order in which the file declares them: in formulas, in masks, in predicates."""
    text = """block f(a: [x, n], b: [y, n], c: [x, k], d: [y, k]) -> [x, y] {
        s = (dot[n](a, b) + dot[k](c, d)) / sqrt(|n| + |k|)
        return softmax[y](s where int(x) - int(y) < |k| + |n| + 3 * |m|)
    }"""
    axes = ("width x", "width y", "depth m = 8", "depth n = 4", "depth k = 4")
    orders = (axes, axes[::-1], (*axes[2:], *axes[:2]), (*axes[1::2], *axes[::2]))
    assert len({attnc.loads("\n".join((*order, text))).block("f").draw().dot for order in orders}) == 1
