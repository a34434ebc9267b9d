"""States of scans in padding: held where they would grow without end, and left alone where they stay finite."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import attnc


def spec(h: str, c: str = "c", y: str = "h + c", told: str = "h, c, y") -> str:
    """A scan of two states, which a step makes of x (`r`, `a`), of both (`b`), of itself and of the other."""
    some = {name: f"sum[d]({name})" for name in told.split(", ")}
    names = ", ".join(name if name in some else "_" for name in ("h", "c", "y"))
    return f"""
    width s ragged
    depth d = 2
    const half = 0.5
    block cell(x: [d], h: [d], c: [d]) -> (h: [d], c: [d], y: [d]) {{
        r = linear.A[d -> d](x)
        a = tanh(r)
        b = linear.B[d -> d](h) + linear.C[d -> d](c)
        z = sigmoid(b)
        return {h}, {c}, {y}
    }}
    model m(x: [s, d]) -> [s] {{
        {names} = scan[s] cell(x, h = 0, c = 1)
        return {" + ".join(some.values())}
    }}
    """


BOUNDED = [
    "tanh(a + b)",
    "h",
    "-h",
    "a * a - tanh(h)",
    "z * h",
    "(1 - z) * h + z * tanh(a + b)",
    "tanh(a + b) * z + h * (1 - z)",
    "(1 - sigmoid(b)) * h + sigmoid(b) * a",
    "h + z * (a - h)",
    "half * (a - h) + h",
    "max(h * (-0.5), a)",
    "select(b > 0, h, 0.5 * h)",
    "select(a > 0, h, tanh(b))",
    "broadcast[d](dot[d](softmax[d](b), a))",
    "mean[d](tanh(b)) * a",
    "broadcast[d](mean[d](h))",
    "max(tanh(b), a) * a",
    "min(sigmoid(b), 0.5) * h",
    "clamp(h * h, -1, 1)",
]
SLOW = [
    "z * h + a",
    "h * z + z * a",
    "h + tanh(b)",
    "a - sin(b) * cos(b) * h",
    "half * h + a",
    "h * (-0.5) - a",
    "select(a > 0, h, tanh(b)) + a",
    "broadcast[d](dot[d](softmax[d](b), a)) + h",
    "clamp(b, 0, 1) * h + clamp(h, -9, a)",
    "(1 - z) * h + sigmoid(a) * tanh(b)",
    "h + z * (a + 1)",
]
FAST = [
    "r",
    "h + r",
    "z * h + r",
    "(1 - z) * h + z * r",
    "max(h, r)",
    "a + b",
    "h + h",
    "h * r",
    "h * h",
    "1.5 * h",
    "h * (1 + z)",
    "h * (z + sigmoid(a))",
    "(2 - z) * h + z * a",
    "h + z * (h - a)",
    "(z - 1) * h + z * h * h",
    "h + c",
    "select(a > 0, h, c + a)",
    "tanh(b) / h",
    "exp(b)",
    "relu(h) * 2",
    "c - z * h",
    "h - sin(b) * c",
    "clamp(h + 1, 0, h)",
    "clamp(h, 0, 9) * h + h",
]


def held(text: str) -> bool:
    """Whether the step is told where examples have ended."""
    code = attnc.loads(text).model("m").source("torch")
    step = code[code.index("class Cell" if "class Cell" in code else "def cell(") : code.index("class M(")]
    return "s_valid" in step


@pytest.mark.parametrize("next_", BOUNDED)
def test_what_stays_bounded_is_left_alone(next_: str) -> None:
    assert not held(spec(next_))


@pytest.mark.parametrize("next_", SLOW)
def test_what_grows_slowly_is_left_alone_as_long_as_no_one_can_tell(next_: str) -> None:
    assert not held(spec(next_, y="tanh(h)", told="y"))
    assert not held(spec(next_, y="tanh(2 * h + c)", told="c, y"))
    assert not held(spec(next_, y="tanh(r * h - h)", told="y"))
    assert held(spec(next_, y="tanh(h)", told="h, y"))
    for told in (
        "h * c",
        "tanh(h * h)",
        "tanh(broadcast[d](dot[d](h, h)))",
        "exp(-h)",
        "2 ^ h",
        "tanh(exp(h))",
        "a / (1 + h * h)",
        "layernorm.out[d](h)",
    ):
        assert held(spec(next_, y=told, told="y")), told


@pytest.mark.parametrize("next_", FAST)
def test_what_may_grow_is_held(next_: str) -> None:
    assert held(spec(next_, c="c + a", y="tanh(h)", told="y"))


def test_of_two_states_one_bounds_the_other() -> None:
    assert not held(spec("c + tanh(a)", "(1 - z) * c + z * a"))
    assert not held(spec("z * c + (1 - z) * h", "tanh(h + a)"))
    assert held(spec("h + c", "h"))


@pytest.mark.parametrize(
    ("start", "step", "given"),
    [
        ("", "return tanh((c * c * c * c) * (c * c * c * c) * 0.0001 * b), c + 100 * sigmoid(r)", ""),
        ("e = 2 ^ s", "return max(h, e + x * x), c", ", e"),
        ("e = 2 ^ s", "return select(x > 100, h, x + e), c", ", e"),
    ],
)
def test_what_overflows_in_padding_spoils_no_gradient(start: str, step: str, given: str) -> None:
    """Products of what grows slowly, and what grows with the place."""
    text = f"""
    width s ragged
    depth d = 2
    block cell(x: [d]{", e: []" if given else ""}, h: [d], c: [d]) -> (h: [d], c: [d], y: [d]) {{
        r = linear.A[d -> d](x)
        b = linear.B[d -> d](h)
        {step}, tanh(b)
    }}
    model m(x: [s, d]) -> [s] {{
        {start}
        _, _, y = scan[s] cell(x{given}, h = 1, c = 1)
        return sum[d](y)
    }}
    """
    net = attnc.loads(text).model("m").torch(seed=0)
    x = torch.rand(400, 2)
    net(x, torch.tensor(4)).sum().backward()
    assert all(weight.grad is None or weight.grad.isfinite().all() for weight in net.parameters())


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
@given(
    h=st.recursive(PARTS, grown, max_leaves=6),
    c=st.recursive(PARTS, grown, max_leaves=6),
    told=st.sampled_from(["y", "h, y", "c, y", "h, c"]),
    kind=st.sampled_from([torch.float32, torch.float64]),
)
def test_gradients_of_short_examples_are_those_alone(h: str, c: str, told: str, kind: torch.dtype) -> None:
    """Any step, an example of 2 items in 1,500: what doubles at each would be infinite, and so is `exp` of a sum."""
    text = spec(f"({h}) + 0 * a", f"({c}) + 0 * a", "exp(clamp(h, -9, 9)) + c / exp(h)", told)
    net = attnc.loads(text).model("m").torch(dtype=kind, seed=0)
    x = (torch.rand(1500, 2, dtype=torch.float64) - 0.5).to(kind)
    alone = torch.autograd.grad(net(x[:2], torch.tensor(2)).sum(), list(net.parameters()), allow_unused=True)
    padded = torch.autograd.grad(net(x, torch.tensor(2)).sum(), list(net.parameters()), allow_unused=True)
    near = 1e-9 if kind == torch.float64 else 1e-4
    for one, other in zip(alone, padded, strict=True):
        if one is not None and one.isfinite().all():
            torch.testing.assert_close(other, one, rtol=near, atol=near)
