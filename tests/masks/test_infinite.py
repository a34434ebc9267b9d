"""What is infinite or no number behind a mask: each row of the table in docs/masks.md, "What a mask leaves out"."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import attnc
from attnc.compiler.graph.traits import Normalise, Reduce
from attnc.compiler.ops import OPS

Array = np.ndarray[Any, np.dtype[Any]]
BAD = pytest.mark.parametrize("bad", [np.inf, -np.inf, np.nan])
DOCS = (
    (Path(__file__).parents[2] / "docs/masks.md")
    .read_text("utf-8")
    .split("## What a mask leaves out")[1]
    .split("##")[0]
)
MASKED = [op.name for op in OPS.values() if op.masked and isinstance(op.reads, Reduce | Normalise) and not op.variadic]
ATTENTION = """\
width q
width k like q
depth d = 4
model net(Q: [q, d], K: [k, d], V: [k, d], B: [q, k], real: bool[k]) -> [q, d] {
    seen = MASK
    return dot[k](softmax[k](dot[d](Q, K) / sqrt(|d|) + B where seen), V)
}
"""
MASKS = ["real", "k <= q", "k <= q and real", "k <= q and q - k < 3", "real and B > -9"]


def test_the_table_has_these_rows() -> None:
    rows = [line.split("|")[1].strip() for line in DOCS.splitlines() if line.startswith("| ")]
    assert len(rows) == 1 + 6, rows


def both(model: attnc.Model, inputs: list[Array]) -> tuple[Array, Array]:
    with np.errstate(all="ignore"):
        numpy = model.numpy({}, dtype="float64")(*inputs)
    return model.torch(dtype="float64")(*map(torch.tensor, inputs)).detach().numpy(), numpy


@BAD
@pytest.mark.parametrize("op", MASKED)
def test_an_op_with_a_mask_reads_nothing_of_it(op: str, bad: float) -> None:
    for result, best in (("[s]", ""), ("[s, t]", ""), ("t[s]", ""), ("t[s, best]", " -> best"), ("t[s, r]", " -> r")):
        text = f"width s, t\nwidth r like t\ndepth best = 2\nmodel net(x: [s, t], m: bool[s, t]) -> {result} {{\n"
        with suppress(attnc.AttnError):
            model = attnc.loads(f"{text}    return {op}[t{best}](x where m)\n}}\n").model("net")
            break
    else:
        assert op in ("any", "all")  # of truth values, which are neither
        return
    rng = np.random.default_rng(0)
    x, m = rng.standard_normal((5, 6)), rng.random((5, 6)) > 0.4
    m[0] = False
    for found, right in zip(both(model, [np.where(m, x, bad), m]), both(model, [x, m]), strict=True):
        np.testing.assert_array_equal(found, right)


@BAD
def test_a_choice_reads_nothing_of_the_other_side(bad: float) -> None:
    text = "width s\nmodel net(x: [s], m: bool[s]) -> [s] {\n    return select(m, x, 1) + select(not m, 2, exp(x))\n}\n"
    x, m = np.arange(6.0), np.arange(6) % 2 == 0
    model = attnc.loads(text).model("net")
    values = torch.tensor(np.where(m, x, bad)).requires_grad_()
    model.torch(dtype="float64")(values, torch.tensor(m)).sum().backward()
    assert values.grad is not None and (values.grad[~torch.tensor(m)] == 0).all()
    for found, right in zip(both(model, [np.where(m, x, bad), m]), both(model, [x, m]), strict=True):
        np.testing.assert_array_equal(found, right)


def seen_in(mask: str, n: int, real: Array) -> Array:
    q, k = np.arange(n)[:, None], np.arange(n)
    return {
        "k <= q": k <= q,
        "k <= q and real": (k <= q) & real,
        "k <= q and q - k < 3": (k <= q) & (q - k < 3),
    }.get(mask, real & (q >= 0))


@BAD
@pytest.mark.parametrize("mask", MASKS)
@pytest.mark.parametrize("n", [5, 150])
def test_attention(mask: str, n: int, bad: float) -> None:
    """Its bias may be anything where the mask hides it. Of keys and values results are right or none, never others."""
    model = attnc.loads(ATTENTION.replace("MASK", mask)).model("net")
    rng = np.random.default_rng(0)
    (Q, K, V), B, real = rng.standard_normal((3, n, 4)), rng.standard_normal((n, n)), np.arange(n) < n - 2
    seen = seen_in(mask, n, real)
    right = both(model, [Q, K, V, B, real])
    if "B" not in mask:
        for found, wanted in zip(both(model, [Q, K, V, np.where(seen, B, bad), real]), right, strict=True):
            np.testing.assert_allclose(found, wanted, rtol=1e-9, atol=1e-12)
    last = seen[:, -1]  # who sees the last key
    for place, one in ((1, K), (2, V)):
        items = one.copy()
        items[-1] = bad
        inputs = [Q, *(items if at == place else other for at, other in ((1, K), (2, V))), B, real]
        for found, wanted in zip(both(model, inputs), right, strict=True):
            close = np.isclose(found, wanted, rtol=1e-9, atol=1e-12) | np.isnan(found)
            assert close[~last].all()
            assert not np.isclose(found, wanted)[last].any() or place == 1


RAGGED = """\
width seq ragged
width past like seq
depth d = 4
model net(x: [seq, d]) -> [seq, d] {
    return x + dot[past](softmax[past](dot[d](x, x[seq as past])), log(1 + x[seq as past] ^ 2))
}
"""


@BAD
def test_padding_of_a_ragged_width_is_never_read(bad: float) -> None:
    model = attnc.loads(RAGGED).model("net")
    x, lengths = np.random.default_rng(0).standard_normal((3, 6, 4)), np.array([6, 3, 0])
    inside = np.arange(6) < lengths[:, None]
    found = []
    for fill in (0.5, bad):
        given = np.where(inside[..., None], x, fill)
        values = torch.tensor(given).requires_grad_()
        y = model.torch(dtype="float64")(values, torch.tensor(lengths))
        y[torch.tensor(inside)].square().sum().backward()
        assert values.grad is not None
        with np.errstate(all="ignore"):
            other = model.numpy({}, dtype="float64")(given, lengths)
        found.append((y.detach().numpy()[inside], other[inside], values.grad.numpy()))
    for mine, right in zip(*reversed(found), strict=True):
        np.testing.assert_array_equal(mine, right)


DECODED = """\
width seq
width past like seq
depth d = 4
model net(x: [seq, d], real: bool[seq]) -> [seq, d] causal seq {
    return dot[past](softmax[past](dot[d](x, x[seq as past]) where past <= seq and real[seq as past]), x[seq as past])
}
"""


@BAD
def test_a_step_keeps_items_as_they_are(bad: float) -> None:
    """A cache holds what a mask leaves out, too: what later steps give is right or none."""
    model = attnc.loads(DECODED).model("net")
    net = model.torch(dtype="float64")
    x, real = np.random.default_rng(0).standard_normal((1, 5, 4)), np.array([[True, False, True, True, True]])
    right = net(torch.tensor(x), torch.tensor(real))
    given = np.where(real[..., None], x, bad)
    cache = net.prepare()
    items = [(torch.tensor(given[:, at : at + 1]), torch.tensor(real[:, at : at + 1])) for at in range(5)]
    found = torch.cat([net.step(*item, cache) for item in items], 1)
    close = torch.isclose(found, right) | found.isnan()
    assert close[:, [0, 2, 3, 4]].all() and torch.isclose(found, right)[:, 0].all()
