"""What a choice does not take spoils no gradient, however it is written; and no result is another for it."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

import attnc

BLOCKS = """\
width t
width p like t
depth d = 4
block logged(x: []) -> [] {
    return log(x)
}
block chosen(m: bool[], x: []) -> [] {
    return select(m, x, 0)
}
block within(m: bool[], x: []) -> [] {
    root = sqrt(x)
    return select(m, root, 0)
}
"""
# What is chosen, and its derivative where that is defined.
CASES = {
    "select(x > 0, log(x), 0)": (lambda x: x > 0, lambda x: 1 / x),
    "select(x <= 0, 0, log(x))": (lambda x: x > 0, lambda x: 1 / x),
    "select(not (x > 0), 0, 3 * log(x))": (lambda x: x > 0, lambda x: 3 / x),
    "select(x > 0, sqrt(x), 0)": (lambda x: x > 0, lambda x: x**-0.5 / 2),
    "select(x > 0, rsqrt(x), 0)": (lambda x: x > 0, lambda x: -(x**-1.5) / 2),
    "select(x > 0, x ^ 0.5, 0)": (lambda x: x > 0, lambda x: x**-0.5 / 2),
    "select(x != 0, 1 / x, 0)": (lambda x: x != 0, lambda x: -1 / x**2),
    "select(x != 0, x / x, 0)": (lambda x: x != 0, lambda x: 0 * x),
    "select(x < 1, exp(1000 * x), 0)": (lambda x: x < 1, lambda x: 1000 * math.exp(1000 * x)),
    "select(x < 1, 2 ^ (2000 * x), 0)": (lambda x: x < 1, lambda x: 2000 * math.log(2) * 2 ** (2000 * x)),
    "select(x > 0, log(1 - exp(-x)), 0)": (lambda x: x > 0, lambda x: math.exp(-x) / (1 - math.exp(-x))),
    "select(x > 0 and x < 3, log(x) / sqrt(3 - x), 0)": (
        lambda x: 0 < x < 3,
        lambda x: 1 / x / math.sqrt(3 - x) + math.log(x) / 2 / (3 - x) ** 1.5,
    ),
    "select(x > 0, select(x < 3, log(3 - x), 0) + log(x), 0)": (
        lambda x: x > 0,
        lambda x: 1 / x - (1 / (3 - x) if x < 3 else 0),
    ),
    "select(x > 0, logged(x), 0)": (lambda x: x > 0, lambda x: 1 / x),
    "chosen(x > 0, log(x))": (lambda x: x > 0, lambda x: 1 / x),
    "chosen(x > 0, logged(sqrt(x)))": (lambda x: x > 0, lambda x: 1 / (2 * x)),
    "within(x > 0, x)": (lambda x: x > 0, lambda x: x**-0.5 / 2),
    "max[d](select(x > 0, broadcast[d](log(x)), broadcast[d](0 * x)))": (lambda x: x > 0, lambda x: 1 / x),
}
POINTS = [-1.0, 0.0, 0.25, 2.0, 3.0]


def model_of(text: str) -> attnc.Model:
    return attnc.loads(f"{BLOCKS}model net(x: [t]) -> [t] {{\n{text}}}\n").model("net")


@pytest.mark.parametrize("named", [False, True])
@pytest.mark.parametrize("text", CASES)
def test_gradients_are_numbers(text: str, named: bool) -> None:
    body = f"    return {text}\n"
    if named and text.startswith("select("):  # through names, read twice
        inner = text[len("select(") : -1]
        body = (
            "    far = log(x)\n" * ("log(x)" in inner)
            + f"    y = select({inner.replace('log(x)', 'far')})\n    return y\n"
        )
    model = model_of(body)
    taken, slope = CASES[text]
    x = torch.tensor(POINTS, dtype=torch.float64, requires_grad=True)
    y = model.torch(dtype="float64")(x)
    y.sum().backward()
    wanted = [slope(v) if taken(v) else 0.0 for v in POINTS]
    assert x.grad is not None
    np.testing.assert_allclose(x.grad.numpy(), wanted, rtol=1e-12, atol=1e-12)
    with np.errstate(all="ignore"):
        plain = model.numpy(dtype="float64", without=["guard"])(np.array(POINTS))
    np.testing.assert_array_equal(
        y.detach().numpy(), model.torch(dtype="float64", without=["guard"])(x).detach().numpy()
    )
    np.testing.assert_allclose(model.numpy(dtype="float64")(np.array(POINTS)), plain, rtol=1e-14)


def test_a_causal_decay_of_200_items() -> None:
    text = (
        "width t\nwidth p like t\nmodel net(s: [t], x: [t]) -> [t] causal t {\n"
        "    decay = exp(broadcast[p](s) - broadcast[t](s[t as p]))\n"
        "    return dot[p](select(p <= t, decay, 0), x[t as p])\n}\n"
    )
    s = (-torch.arange(200.0)).requires_grad_()
    y = attnc.loads(text).model("net").torch()(s, torch.ones(200))
    y.sum().backward()
    assert s.grad is not None and y.isfinite().all() and s.grad.isfinite().all()
    t = s.detach().double().requires_grad_()
    (t[:, None] - t).masked_fill(~torch.ones(200, 200).tril().bool(), -math.inf).exp().sum().backward()
    assert t.grad is not None
    torch.testing.assert_close(s.grad.double(), t.grad, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(
    "text", ["select(x > 0, tanh(x) * 2, 0)", "select(x > 0, x ^ 2 / 3, x)", "select(t > 0, 1 / (t + 1), 0) * x"]
)
def test_what_is_harmless_stays_as_it_is(text: str) -> None:
    model = model_of(f"    return {text}\n")
    assert model.source("torch") == model.source("torch", without=["guard"])
