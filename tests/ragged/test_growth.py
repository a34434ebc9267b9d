"""States of scans in padding: held where they would grow without end, and left alone where they stay finite."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import attnc


def spec(h: str, c: str = "c") -> str:
    """A scan of two states, which a step makes of x (of both at once), of itself and of the other."""
    return f"""
    width s ragged
    depth d = 2
    const half = 0.5
    block cell(x: [d], h: [d], c: [d]) -> (h: [d], c: [d]) {{
        a = linear.A[d -> d](x)
        b = linear.B[d -> d](h) + linear.C[d -> d](c)
        e = 0.25 * c
        return {h}, {c}
    }}
    model m(x: [s, d]) -> [s, d] {{
        h, c = scan[s] cell(x, h = 0, c = 1)
        return h + c
    }}
    """


LEFT_ALONE = [
    "tanh(a + b)",
    "h",
    "a * a - tanh(h)",
    "sigmoid(b) * h + a",
    "a + h * sigmoid(b)",
    "(1 - sigmoid(b)) * h + sigmoid(b) * tanh(a + b)",
    "a - sin(b) * cos(b) * h",
    "half * h + a",
    "h * (-0.5) - a",
    "select(a > 0, h, tanh(b)) + a",
    "select(b > 0, h, 0.5 * h)",
    "dot[d](softmax[d](b), a) + h",
    "mean[d](tanh(b)) * a",
    "max(tanh(b), a) * a",
    "min(sigmoid(b), 0.5) * h",
    "clamp(h * h, -1, 1)",
    "clamp(b, 0, 1) * h + clamp(h, -9, a)",
]
HELD = [
    "a + b",
    "h + h",
    "h * a",
    "h * h",
    "1.5 * h",
    "h * (1 + sigmoid(b))",
    "h * (sigmoid(b) + sigmoid(a))",
    "h + c",
    "c",
    "e + a",
    "select(a > 0, h, c)",
    "tanh(b) / h",
    "clamp(h + 1, 0, h)",
    "clamp(h, 0, 9) * h",
    "exp(b)",
    "relu(h) * 2",
    "c - sigmoid(b) * h",
    "h - sin(b) * c",
]


def held(text: str) -> bool:
    """Whether the step is told where examples have ended."""
    code = attnc.loads(text).model("m").source("torch")
    step = code[code.index("def forward", code.index("class Cell")) : code.index("class M(")]
    return "s_valid" in step


@pytest.mark.parametrize("next_", LEFT_ALONE)
def test_what_cannot_grow_is_left_alone(next_: str) -> None:
    assert not held(spec(next_))


@pytest.mark.parametrize("next_", HELD)
def test_what_may_grow_is_held(next_: str) -> None:
    assert held(spec(next_))


def test_an_int_is_held() -> None:
    assert held("""
    width s ragged
    block cell(x: [], n: int[]) -> (n: int[]) { return n + 1 }
    model m(x: [s]) -> int[s] { return scan[s] cell(x, n = 0) }
    """)


PARTS = st.sampled_from(["h", "c", "a", "b", "0.5", "1", "2", "(-1)"])


def grown(parts: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    one = st.sampled_from(["tanh", "sigmoid", "sin", "relu", "abs"])
    return st.one_of(
        st.builds("{}({})".format, one, parts),
        st.builds("({} {} {})".format, parts, st.sampled_from("+-*"), parts),
        st.builds("select({} > 0, {}, {})".format, parts, parts, parts),
        st.builds("{}({}, {})".format, st.sampled_from(["max", "min"]), parts, parts),
    )


@settings(max_examples=15, deadline=None)
@given(h=st.recursive(PARTS, grown, max_leaves=6), c=st.recursive(PARTS, grown, max_leaves=6))
def test_gradients_of_short_examples_are_those_alone(h: str, c: str) -> None:
    """Any step, an example of 2 items in 1,500: what doubles at each would be infinite."""
    net = attnc.loads(spec(f"({h}) + 0 * a", f"({c}) + 0 * a")).model("m").torch(dtype=torch.float64, seed=0)
    x = torch.rand(1500, 2, dtype=torch.float64) - 0.5
    alone = torch.autograd.grad(net(x[:2], torch.tensor(2)).sum(), list(net.parameters()), allow_unused=True)
    padded = torch.autograd.grad(net(x, torch.tensor(2)).sum(), list(net.parameters()), allow_unused=True)
    for one, other in zip(alone, padded, strict=True):
        if one is not None:
            torch.testing.assert_close(other, one, rtol=1e-9, atol=1e-12)
