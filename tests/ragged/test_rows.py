"""Ragged widths of ops that no stage has heard of: how each reads padding follows from its row."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import attnc
from attnc.backends.emit.operands import dims, without
from attnc.backends.numpy.ops import OPS as NUMPY
from attnc.backends.text.expressions import Code, filled_in
from attnc.backends.torch.ops import OPS as TORCH
from attnc.compiler.graph.nodes import Apply
from attnc.compiler.graph.traits import (
    ADDED,
    AVERAGED,
    LARGEST,
    LOG_ADDED,
    SMALLEST,
    Arrange,
    Function,
    IndexMap,
    Normalise,
    Pointwise,
    Reads,
    Reduce,
    Running,
    Sum,
)
from attnc.compiler.ops import OPS

from .test_growth import held, spec

torch = pytest.importorskip("torch")
HEAD = "width s ragged\nwidth t ragged\ndepth d = 3\n"

# How each is written in PyTorch and in NumPy, for an array and its axes.
ALONG = {
    "cummax": (Running(LARGEST), "{0}.cummax({1}).values", "np.maximum.accumulate({0}, {1})"),
    "cummin": (Running(SMALLEST), "{0}.cummin({1}).values", "np.minimum.accumulate({0}, {1})"),
    "logcumsumexp": (Running(LOG_ADDED), "{0}.logcumsumexp({1})", "np.logaddexp.accumulate({0}, {1})"),
    "flip": (Arrange(IndexMap.MIRRORED), "{0}.flip({1})", "np.flip({0}, {1})"),
}
FUNCTIONS = {
    "softplus": (Function(least=0, rising=True), "F.softplus({0})", "np.logaddexp({0}, 0)"),
    "log1p": (Function(zero=True, above=-1, harmless=0, rising=True), "torch.log1p({0})", "np.log1p({0})"),
    "expm1": (
        Function(zero=True, least=-1, below=80, harmless=0, rising=True),
        "torch.expm1({0})",
        "np.expm1({0})",
    ),
    "atanh": (
        Function(zero=True, above=-1, below=1, harmless=0, rising=True),
        "torch.atanh({0})",
        "np.arctanh({0})",
    ),
    "logit": (
        Function(above=0, below=1, harmless=0.5, rising=True),
        "torch.logit({0})",
        "np.log({0} / (1 - {0}))",
    ),
}


@pytest.fixture
def ops(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Puts an op in the table for the time of a test: like another one but for what it reads, and its code."""

    def emit(text: str, reduces: bool) -> Any:
        def written(body: Any, node: Apply, vals: Any, mask: Any) -> Any:
            x = body.full(body.real(vals[0], False), node.axes)
            axes = without(x, node.axes) if reduces else x.axes
            return body.combine([x], filled_in(text, [x.code, Code(dims(x, node.axes))]), axes, node.out)

        return written

    def add(name: str, reads: Reads, torch: str = "", numpy: str = "", like: str = "cumsum", **more: Any) -> None:
        row = replace(OPS[like], name=name, usage=f"{name}[k](x)", reads=reads, number="", **more)
        if isinstance(reads, Pointwise):
            row = replace(row, usage=f"{name}(x)", torch=torch, numpy=numpy)
        else:
            for table, text in ((TORCH, torch), (NUMPY, numpy)):
                monkeypatch.setitem(table, name, emit(text, isinstance(reads, Reduce)))
        if isinstance(reads, Arrange | Normalise):
            row = replace(row, rule=lambda call: call.make(call.operands[0].type))
        monkeypatch.setitem(OPS, name, row)

    for name, code in ALONG.items():
        add(name, *code)
    for name, (function, *code) in FUNCTIONS.items():
        add(name, Pointwise(function), *code, like="tanh")
    add("stop", Pointwise(Sum((1,))), "{0}.detach()", "{0}", like="tanh", gradient=False)
    return add


def as_if_alone(text: str, low: float = -2, high: float = 2) -> None:
    """Each example of a ragged batch has the results and gradients that it has alone, whatever stands in padding.

    text: a model `m` that takes `x` along s, and perhaps t, from `low` to `high`, and has a learned map.
    """
    rng, lengths = np.random.default_rng(0), {"s": [4, 1, 3, 0], "t": [3, 4, 2, 3]}

    def own(axes: tuple[str, ...], place: int) -> tuple[slice, ...]:
        cut = (slice(lengths[axis][place]) if axis in lengths else slice(None) for axis in axes)
        return slice(place, place + 1), *cut

    both = {ragged: attnc.loads(text if ragged else text.replace(" ragged", "")).model("m") for ragged in (True, False)}
    axes = both[False].inputs[0].axes
    x = rng.uniform(low, high, (4, *({"d": 3}.get(axis, 4) for axis in axes)))
    junk = np.full_like(x, np.nan)
    for place in range(4):
        junk[own(axes, place)] = x[own(axes, place)]
    given = {f"{axis}_lengths": np.array(lengths[axis]) for axis in axes if axis in lengths}
    together = both[True].numpy(dtype="float64", seed=0)(x=junk, **given)
    nets = {ragged: model.torch(dtype=torch.float64, seed=0) for ragged, model in both.items()}
    found = nets[True](x=torch.from_numpy(junk), **{name: torch.from_numpy(array) for name, array in given.items()})
    np.testing.assert_allclose(found.detach(), together, atol=1e-10)
    found.sum().backward()
    out = both[False].outputs[0].axes
    for place in range(4):
        if any(lengths[axis][place] == 0 for axis in axes if axis in lengths):
            continue  # it has no items, and adds nothing
        alone = nets[False](x=torch.from_numpy(x[own(axes, place)]))
        alone.sum().backward()
        np.testing.assert_allclose(found[own(out, place)].detach(), alone.detach(), atol=1e-10)
    grads = [[weight.grad for weight in net.parameters()] for net in nets.values()]
    assert grads[0]
    for grad, right in zip(*grads, strict=True):
        np.testing.assert_allclose(grad, right, atol=1e-8)


@pytest.mark.parametrize("op", ALONG)
@pytest.mark.parametrize(
    "model",
    [
        "(x: [s, d]) -> [s, d] {{ return {0}[s](linear.A[d -> d](x)) }}",
        "(x: [s, d]) -> [d] {{ return sum[s]({0}[s](linear.A[d -> d](x)) * x) }}",
        "(x: [s, d]) -> [s, d] {{ return {0}[d](linear.A[d -> d](x)) }}",
        "(x: [s, t, d]) -> [s, t, d] {{ return {0}[s]({0}[t](linear.A[d -> d](x))) }}",
        "(x: [s, d]) -> [s, d] {{ return {0}[s](log({0}[s](linear.A[d -> d](x) * 0.1 + x) + 3)) }}",
    ],
)
def test_along_a_ragged_width(ops: None, op: str, model: str) -> None:
    head = HEAD if "t, d" in model else HEAD.replace("width t ragged\n", "")
    as_if_alone(f"{head}model m{model.format(op)}\n")


@pytest.mark.parametrize("op", ALONG)
def test_what_is_infinite_in_padding_spoils_no_gradient(ops: None, op: str) -> None:
    """An input reads 1 there, of which 10 ^ 400 is made. The gradient of a logarithm of sums reads all of them."""
    model = f"    y = x * 10.0 ^ 200\n    return {op}[s](linear.A[d -> d](y) + y * y)\n"
    with np.errstate(over="ignore"):
        as_if_alone(f"width s ragged\ndepth d = 3\nmodel m(x: [s, d]) -> [s, d] {{\n{model}}}\n", 1e-200, 2e-200)


@pytest.mark.parametrize("axes", ["s, d", "d, s", "s, t", "t, d, s"])
def test_several_axes_are_mirrored_at_once(ops: None, axes: str) -> None:
    as_if_alone(f"{HEAD}model m(x: [s, t, d]) -> [s, t, d] {{ return flip[{axes}](linear.A[d -> d](x)) }}\n")


@pytest.mark.parametrize("op", ALONG)
def test_in_a_block_and_along_a_derived_width(ops: None, op: str) -> None:
    as_if_alone(
        "width s ragged\ndepth d = 3\nwidth longer = s + 2\n"
        f"block along[a: width](x: [a]) -> [a] {{\n    return {op}[a](x) * tanh({op}[a](x))\n}}\n"
        "model m(x: [s, d]) -> [s, d] {\n    y = linear.A[d -> d](x)\n"
        "    z = along[longer](pad[s -> longer](y, left = 1, value = -0.5))\n"
        "    repeat.r 2 {\n        y = along[s](y) + broadcast[s](mean[longer](z))\n    }\n    return y\n}\n"
    )


def test_what_is_mirrored_keeps_its_padding_last(ops: None) -> None:
    """The op that stands in the code is none that would put it first."""
    model = attnc.loads("width s ragged\nmodel m(x: [s]) -> [s] { return flip[s](x) }\n").model("m")
    assert "flip" not in model.source("torch").partition("def forward")[2]
    found = model.numpy()(np.array([[1.0, 2, 9], [3, 9, 9], [9, 9, 9]]), np.array([2, 1, 0]))
    np.testing.assert_array_equal(found, [[2, 1, 0], [3, 0, 0], [0, 0, 0]])


@pytest.mark.parametrize(
    ("function", "low", "high"),
    [  # where an input reads 1, in padding, most of these are undefined, or overflow
        ("softplus(A)", -2, 2),
        ("log1p(A - 3)", 2.5, 4),
        ("log1p(-A)", -2, 0),
        ("expm1(3000 - 1000 * A)", 3, 4),
        ("atanh(A)", -0.5, 0.5),
        ("atanh(A - 3)", 2.5, 3.5),
        ("logit(A)", 0.2, 0.8),
        ("logit(A - 2)", 2.2, 2.8),
        ("stop(A) * A", -2, 2),
        ("log1p(A) + broadcast[s](log1p(sum[s](A) * 0.01))", 0, 1),
    ],
)
def test_functions_are_finite_in_padding(ops: None, function: str, low: float, high: float) -> None:
    for result, last in (("[s, d]", function), ("[d]", f"sum[s](({function}) * x)")):
        as_if_alone(
            f"width s ragged\ndepth d = 3\nmodel m(x: [s, d]) -> {result} {{\n"
            f"    A = x + 0.0001 * linear.A[d -> d](x)\n    return {last}\n}}\n",
            low,
            high,
        )


def test_what_is_added_reads_padding_as_nothing(ops: Callable[..., None]) -> None:
    ops("total", Reduce(ADDED), "{0}.sum({1})", "{0}.sum({1})", like="sum", masked=False)
    as_if_alone("width s ragged\ndepth d = 3\nmodel m(x: [s, d]) -> [d] { return total[s](linear.A[d -> d](x)) }\n")


@pytest.mark.parametrize(
    ("reads", "like"),
    [
        (Reduce(None, indices=True), "argmax"),
        (Reduce(AVERAGED), "sum"),
        (Reduce(None), "sum"),
        (Normalise(), "l2norm"),
        (Normalise(centred=True, squares=ADDED), "l2norm"),
    ],
)
def test_what_is_not_known_to_leave_padding_out_is_refused(ops: Callable[..., None], reads: Reads, like: str) -> None:
    ops("odd", reads, like=like, masked=False)
    result = {"argmax": "s[]", "sum": "[]"}.get(like, "[s]")
    text = f"width s ragged\nmodel m(x: [s]) -> {result} {{ return odd[s](x) }}\n"
    assert attnc.loads(text.replace(" ragged", "")).model("m")
    with pytest.raises(attnc.AttnError, match="`odd` acts on the ragged width `s`, and how it reads padding is not"):
        attnc.loads(text)


def test_a_function_says_what_is_harmless() -> None:
    with pytest.raises(ValueError, match="needs a harmless number"):
        Function(above=0)


# -- states of scans -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("next_", "grows"),
    [
        ("squash(b)", False),
        ("squash(b) * h", False),
        ("(1 - squash(b)) * h + squash(b) * a", False),
        ("leaky(h)", False),
        ("leaky(z * h)", False),
        ("flip[d](h)", False),
        ("stop(h) * z", False),
        ("softplus(h)", True),
        ("expm1(h)", True),
        ("atanh(a)", True),
        ("cummax[d](b)", True),
        ("leaky(h) + r", True),
    ],
)
def test_states_in_padding(ops: Callable[..., None], next_: str, grows: bool) -> None:
    """Left alone where their bounds follow from the row, and held where they do not."""
    ops("squash", Pointwise(Function(least=0, greatest=1)), "torch.sigmoid({0})", "0", like="tanh")
    ops("leaky", Pointwise(Function(zero=True, straight=True)), "F.leaky_relu({0})", "0", like="tanh")
    assert held(spec(next_, c="tanh(c)")) is grows
    assert held(spec(f"{next_} + a", c="tanh(c)", y="tanh(h)", told="y")) is grows
