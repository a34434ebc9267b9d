"""What a choice does not take spoils no gradient, however it is written; and no result is another for it."""

from __future__ import annotations

import math
import re

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
MORE = """\
width rest = t / 2
depth two = 2
width tp = t + p
block outer(x: []) -> [] {
    return logged(x)
}
block pair(x: []) -> (a: [], b: []) {
    return log(x), sqrt(x - 1)
}
block deep(x: []) -> [] {
    return chosen(x > 0.25, outer(x))
}
block ratio(n: [], x: []) -> [] {
    return select(n > 0, x / n, 0)
}
block laid(m: bool[t, p], x: [t]) -> [t, p] {
    return select(m, broadcast[p](log(x)), 0)
}
block turned(m: bool[p, t], x: [t]) -> [p, t] {
    y = log(x)
    return select(m, broadcast[t](y[t as p]), 0)
}
block swapped(x: [t]) -> [t] {
    return x[t as p][p as t]
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
AROUND = [-1.25, 0.0, 0.5, 2.0, 3.0, 0.0]


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


# Where the number that is none comes from positions or sizes alone: [result], what is chosen, and what is not taken.
TABLES = {
    "select(p < t, broadcast[p](x) / (t - p), 0)": "[t, p]",
    "n = t % 2\nreturn select(n > 0, x / n, 0)": "[t]",
    "select(|t| > 6, x / (|t| - 6), x)": "[t]",
    "select(|t| > 9, x * log(|t| - 6), x)": "[t]",
    "select(t > 9, x * log(t - 3), x)": "[t]",
    "select(t > 0, x * log(t), 0)": "[t]",
    "select(t > 1, x / (t ^ 2 - t), 0)": "[t]",
    "select(t < 3, x, log(t - 2) * x)": "[t]",
    "select(t != p, broadcast[p](x) * log(abs(t - p)), 0)": "[t, p]",
    "select(p <= t, broadcast[p](x) * exp(900 * (p - t)), 0)": "[t, p]",
    "select(p <= t, broadcast[p](x) * 0.5 ^ (2000 * (t - p)), 0)": "[t, p]",
    "select(t > 1, x / (t - 1), 0) + select(t == 1, x, x / (t - 1))": "[t]",
    "ratio(int(t), x)": "[t]",
    "chosen(t > 1, x / (t - 1))": "[t]",
}
# Through calls in calls, blocks with several results, and ops that arrange or drop.
WAYS = {
    "select(x > 0.25, outer(x), 0)": "[t]",
    "a, b = pair(x)\nreturn select(x > 1, a * b, 0)": "[t]",
    "b, a = pair(x)\nreturn select(x > 1, a, 0)": "[t]",
    "deep(x)": "[t]",
    "y = log(x)\nreturn select(x[t as p] > 0.25, y[t as p], 0)": "[p]",
    "y = log(x)\nreturn select(x[t as p] > 0.25 and p <= t, broadcast[t](y[t as p]), 0)": "[t, p]",
    "select(x > 0.25 and p <= t, broadcast[p](log(x)), 0)": "[t, p]",
    "select(x > 0.25, merge[two, rest -> t](log(split[t -> two, rest](x))), 0)": "[t]",
    "y = split[t -> two, rest](x)\nreturn select(y > 0.25, split[t -> two, rest](log(x)), 0)": "[two, rest]",
    "y = split[t -> two, rest](x)\nreturn select(min[rest](y) > 0.25, split[t -> two, rest](log(x)), 0)": "[two, rest]",
    "y = concat[t, p -> tp](x, x[t as p])\nz = concat[t, p -> tp](log(x), x[t as p])\n"
    "return select(y > 0.25, z, 0)": "[tp]",
    "y = concat[t, p -> tp](x, x[t as p])\nz = concat[t, p -> tp](x, log(x[t as p]))\n"
    "return select(y > 0.25, z, 0)": "[tp]",
    "select(x > 0.25, swapped(log(x)), 0)": "[t]",
    "laid(x > 0.25, x)": "[t, p]",
    "laid(x > 0.25 and p <= t, x)": "[t, p]",
    "laid(x > 0.25, x) + laid(x > 0.75 and p <= t, x)": "[t, p]",
    "turned(x[t as p] > 0.25, x)": "[p, t]",
}


@pytest.mark.parametrize("text", [*TABLES, *WAYS])
def test_gradients_are_those_of_what_is_taken(text: str) -> None:
    """Each is compared with the differences of the results themselves."""
    body = text if "return" in text else f"return {text}"
    result = {**TABLES, **WAYS}[text]
    model = attnc.loads(f"{BLOCKS}{MORE}model net(x: [t]) -> {result} {{\n{body}\n}}\n").model("net")
    net = model.torch(dtype="float64")
    x = torch.tensor(AROUND, dtype=torch.float64, requires_grad=True)
    y = net(x)
    y.sum().backward()
    assert x.grad is not None
    step = 1e-6 * torch.eye(len(x), dtype=torch.float64)
    with torch.no_grad():
        wanted = torch.stack([(net(x + one).sum() - net(x - one).sum()) / 2e-6 for one in step])
        np.testing.assert_array_equal(y, model.torch(dtype="float64", without=["guard"])(x))
    np.testing.assert_allclose(x.grad, wanted, rtol=1e-6, atol=1e-6)
    with np.errstate(all="ignore"):
        np.testing.assert_allclose(model.numpy(dtype="float64")(np.array(AROUND)), y.detach(), rtol=1e-12)


def test_dropout_on_the_way_draws_once() -> None:
    once = model_of("    return select(x > 0, dropout(log(x), 0.5), 0)\n").torch(dtype="float64")
    x = torch.tensor(POINTS, dtype=torch.float64, requires_grad=True)
    once(x).sum().backward()
    assert x.grad is not None and x.grad.isfinite().all()
    # What another reads too is drawn once for both.
    twice = model_of("    y = dropout(log(2 + x), 0.5)\n    return select(x > 0, y, 0) - y\n").torch(dtype="float64")
    found = twice(x)
    assert (found[x > 0] == 0).all()


def test_what_a_guard_makes_of_a_table_is_as_exact() -> None:
    """A choice by data among numbers of positions: they are not rounded to the type of the model."""
    text = "width t\nmodel net(x: [t], m: bool[t]) -> [t] {\n    return select(m, x * (log(t - 3) * 0 + t), 0)\n}\n"
    x, m = torch.ones(600, dtype=torch.bfloat16, requires_grad=True), torch.arange(600) > 3
    y = attnc.loads(text).model("net").torch(dtype="bfloat16")(x, m)
    y.sum().backward()
    assert x.grad is not None and x.grad.isfinite().all()
    assert y[517] == torch.tensor(517.0, dtype=torch.bfloat16)


MASKED = """\
width before, ship
depth d = 4
model f(Q: [ship, d], K: [before, d]) -> [ship] {
    param rate: []
    param tau: []
    s = dot[d](Q, K) / tau - rate * log1p(int(ship) - int(before))
    return REDUCED
}
"""


@pytest.mark.parametrize(
    "reduced",
    [
        "sum[before](softmax[before](s where int(before) <= int(ship)) * dot[d](Q, K))",
        "sum[before](s where int(before) <= int(ship))",
    ],
)
def test_what_a_mask_leaves_out(reduced: str) -> None:
    """Gradients are those of a score that is written without numbers that are none; what all pairs share stays."""
    found = []
    for away in ("int(ship) - int(before)", "max(int(ship) - int(before), 0)"):
        text = MASKED.replace("REDUCED", reduced).replace("int(ship) - int(before))\n", f"{away})\n")
        net = attnc.loads(text).model("f").torch(seed=0, dtype="float64")
        with torch.no_grad():
            net.tau.fill_(2.0), net.rate.fill_(0.5)
        draw = torch.Generator().manual_seed(0)
        Q, K = (torch.randn(7, 4, generator=draw, dtype=torch.float64).requires_grad_() for _ in "QK")
        y = net(Q, K)
        code = attnc.loads(text).model("f").files("torch")["f.py"]
        assert re.search(r"/ self\.tau\b", code)  # not of one where it is seen
        y.square().sum().backward()
        found.append([y.detach(), Q.grad, K.grad, net.rate.grad, net.tau.grad])
    for mine, right in zip(*found, strict=True):
        torch.testing.assert_close(mine, right)
