"""What is known of the numbers of an op follows from its row: rows made here, of which no stage has heard."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

import attnc
from attnc.backends.emit.operands import dims
from attnc.backends.text.expressions import Code
from attnc.backends.torch.ops import OPS as TORCH
from attnc.compiler.graph.traits import Anything, Arrange, Function, IndexMap, OpTraits, Pointwise, Reads, Sum
from attnc.compiler.ops import OPS
from attnc.compiler.ops.ranges import ALL, keeps_finite, range_of

LOG1P = Function(zero=True, above=-1, harmless=0, rising=True)
EXPM1 = Function(zero=True, least=-1, below=80, harmless=0, rising=True)
ATANH = Function(zero=True, above=-1, below=1, harmless=0, rising=True)
LOGIT = Function(above=0, below=1, harmless=0.5, rising=True)
SOFTPLUS = Function(least=0, rising=True)
inf = math.inf


def op(reads: Reads, **more: bool) -> OpTraits:
    return OpTraits("anew", reads=reads, **more)


@pytest.mark.parametrize(
    ("function", "finite", "infinite"),
    [
        (LOG1P, [(0, inf), (-0.5, 3)], [(-1, 0), ALL]),
        (EXPM1, [(-inf, 79), (0, 1)], [(0, 100), ALL]),
        (ATANH, [(-0.5, 0.5)], [(0, 1), (-1, 0), ALL]),
        (LOGIT, [(0.1, 0.9)], [(0, 0.5), (0.5, 1)]),
        (SOFTPLUS, [ALL], []),
        (Function(zero=True, above=0, harmless=1), [(0, inf)], [(-1, 1)]),  # a root has a value at its end
        (Function(above=0, harmless=1), [(1, inf)], [(0, inf)]),
    ],
)
def test_where_functions_are_finite(
    function: Function, finite: list[tuple[float, float]], infinite: list[tuple[float, float]]
) -> None:
    assert all(keeps_finite(op(Pointwise(function)), [x]) for x in finite)
    assert not any(keeps_finite(op(Pointwise(function)), [x]) for x in infinite)


def test_nothing_is_known_of_what_may_read_anything() -> None:
    assert not keeps_finite(op(Anything()), [(0, 1)])
    assert range_of(op(Anything()), [(0, 1)]) == ALL


@pytest.mark.parametrize(
    ("reads", "x", "range"),
    [
        (Pointwise(Function(least=0, greatest=1)), ALL, (0, 1)),
        (Pointwise(SOFTPLUS), (1, 2), (0, inf)),
        (Pointwise(Sum((1,))), (1, 2), (1, 2)),
        (Pointwise(Sum((-2,))), (1, 2), (-4, -2)),
        (Arrange(IndexMap.MIRRORED), (1, 2), (1, 2)),
        (Arrange(IndexMap.SHIFTED), (1, 2), ALL),  # what stands outside of x may be any number
    ],
)
def test_between_which_numbers_a_result_lies(reads: Reads, x: tuple[float, float], range: tuple[float, float]) -> None:
    assert range_of(op(reads), [x]) == range
    assert range_of(op(reads, random=True), [x]) == ALL


@pytest.fixture
def rows(monkeypatch: pytest.MonkeyPatch) -> None:
    """Functions, a mirror and what lets no gradient through, in the table for the time of a test."""
    code = {
        "log1p": (LOG1P, "torch.log1p({0})"),
        "expm1": (EXPM1, "torch.expm1({0})"),
        "atanh": (ATANH, "torch.atanh({0})"),
        "logit": (LOGIT, "torch.logit({0})"),
    }
    for name, (function, torch) in code.items():
        row = replace(OPS["tanh"], name=name, reads=Pointwise(function), torch=torch, number="")
        monkeypatch.setitem(OPS, name, row)
    stop = replace(
        OPS["tanh"], name="stop", reads=Pointwise(Sum((1,))), gradient=False, torch="{0}.detach()", number=""
    )
    monkeypatch.setitem(OPS, "stop", stop)
    flip = replace(
        OPS["cumsum"],
        name="flip",
        reads=Arrange(IndexMap.MIRRORED),
        rule=lambda call: call.make(call.operands[0].type),
    )
    monkeypatch.setitem(OPS, "flip", flip)
    monkeypatch.setitem(
        TORCH,
        "flip",
        lambda body, node, vals, mask: body.combine(
            [vals[0]], Code.of("{}.flip({})", vals[0].atom, dims(vals[0], node.axes)), vals[0].axes, node.out
        ),
    )


@pytest.mark.parametrize(
    "choice",
    [
        "select(x > -1, log1p(x), 0)",
        "select(x < 2, expm1(500 * x), 0)",
        "select(abs(x) < 1, atanh(x), 0)",
        "select(x > 0 and x < 1, logit(x), 0)",
        "select(flip[s](x) > -1, flip[s](log1p(x)), 0)",
        "select(x > -1, flip[s](log1p(flip[s](x))), 0)",
    ],
)
def test_what_a_choice_does_not_take_spoils_no_gradient(rows: None, choice: str) -> None:
    torch = pytest.importorskip("torch")
    text = f"width s\nmodel m(x: [s]) -> [s] {{\n    return {choice}\n}}\n"
    x = torch.tensor([-1.0, 0.25, 2.0, 5.0], dtype=torch.float64, requires_grad=True)
    net = attnc.loads(text).model("m").torch(dtype=torch.float64)
    net(x).sum().backward()
    assert x.grad.isfinite().all() and x.grad.count_nonzero() > 0
    bare = attnc.loads(text).model("m").source("torch", without=["guard"])
    assert bare.count("torch.where") < attnc.loads(text).model("m").source("torch").count("torch.where")


@pytest.mark.parametrize("stopped", ["stop(log1p(x)) * w", "w * stop(1 / (x + 1))", "w / stop(x + 1)"])
def test_what_lets_no_gradient_through_is_a_factor_still(rows: None, stopped: str) -> None:
    """What it multiplies has a gradient, of which 0 times infinity would make NaN."""
    torch = pytest.importorskip("torch")
    text = f"width s\nmodel m(x: [s], w: [s]) -> [s] {{\n    return select(x > -1, {stopped}, 0)\n}}\n"
    x = torch.tensor([-1.0, 0.25, -2.0, 5.0], dtype=torch.float64)
    w = torch.ones(4, dtype=torch.float64, requires_grad=True)
    attnc.loads(text).model("m").torch(dtype=torch.float64)(x, w).sum().backward()
    assert w.grad.isfinite().all() and (w.grad != 0).tolist() == [False, True, False, True]
