"""Ops of rows made here: what is written of them follows from the row, and from one function in each `ops.py`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import attnc
from attnc.backends.emit.body import CodeBody
from attnc.backends.emit.operands import dims, neutral
from attnc.backends.numpy import ops as numpy_ops
from attnc.backends.text.expressions import SUM, TERM, UNARY, Code, called, filled_in, folded
from attnc.backends.text.values import CannotEmit, Val, is_table, kind_of
from attnc.backends.torch import ops as torch_ops
from attnc.compiler.graph.nodes import Apply
from attnc.compiler.graph.traits import (
    LARGEST,
    LOG_ADDED,
    SMALLEST,
    Arrange,
    Combination,
    Function,
    IndexMap,
    LogSum,
    Pointwise,
    Reduce,
    Running,
    Sum,
)
from attnc.compiler.graph.typed_value import TypedValue, union
from attnc.compiler.graph.values import IndexInto, Scalar, Type
from attnc.compiler.ops import OPS, Op
from attnc.compiler.ops.table import OpCall

torch = pytest.importorskip("torch")
AXIS = "width seq\ndepth d = 3\n"


@pytest.fixture
def row(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Puts a row into the table, and a function of it into that of each backend where there is one."""

    def put(op: Op, *texts: str) -> None:
        monkeypatch.setitem(OPS, op.name, op)
        for table, text in zip((torch_ops.OPS, numpy_ops.OPS), texts, strict=False):
            monkeypatch.setitem(table, op.name, along(text))

    return put


def along(text: str) -> Any:
    """What an op that keeps the axis in brackets is written like."""

    def emit(body: CodeBody, node: Apply, vals: list[Val], mask: Val | None) -> Val:
        x = body.real(vals[0], is_table(node.out)) if kind_of(node.out) is Scalar.REAL else vals[0]
        x = body.full(x, node.axes)
        code = filled_in(text, [x.code, Code(dims(x, node.axes))])
        return body.combine([x], code, x.axes, node.out)

    return emit


def results(text: str, **inputs: Any) -> tuple[Any, Any]:
    """The model's, in NumPy and in PyTorch, float64."""
    model = attnc.loads(AXIS + text).model("f")
    net = model.torch(dtype=torch.float64)
    return model.numpy(dtype="float64")(**inputs), net(**{name: torch.from_numpy(x) for name, x in inputs.items()})


def agree(text: str, right: Any, **inputs: Any) -> None:
    plain, deep = results(text, **inputs)
    np.testing.assert_allclose(plain, right, rtol=1e-12)
    np.testing.assert_allclose(deep.detach().numpy(), right, rtol=1e-12)


def made(op: str, name: str, **changes: Any) -> Op:
    own = {"number": "", "python": "", "careful": "", "rule": as_the_operands}
    return replace(OPS[op], name=name, **(own | changes))


def as_the_operands(call: OpCall) -> TypedValue | None:
    """The type rule of them all: the axes of the operands together, and reals if there are any."""
    axes, broadcast_axes = union(call.operands)
    elements = [operand.element for operand in call.operands]
    whole = Scalar.INT if isinstance(elements[0], IndexInto) else elements[0]
    return call.make(Type(Scalar.REAL if Scalar.REAL in elements else whole, axes, broadcast_axes))


X = np.random.default_rng(0).normal(size=(2, 4, 3))


def test_of_two_operands(row: Callable[..., None]) -> None:
    """By templates alone: some are numbers, which PyTorch's functions do not take; more operands than two."""
    templates = {"torch": "torch.logaddexp({0}, {1})", "numpy": "np.logaddexp({0}, {1})"}
    row(made("abs", "plus", operands=("x", "y"), variadic=True, reads=Pointwise(LogSum()), **templates))
    y = X[..., ::-1].copy()
    two, many = np.logaddexp(X, 0.1), np.logaddexp(np.logaddexp(X, y), 0.1)
    text = "model f(x: [seq, d], y: [seq, d]) -> [seq, d] {{\n    return {}\n}}\n"
    agree(text.format("plus(x, 0.1) * y"), two * y, x=X, y=y)
    agree(text.format("plus(0.1, x) * y"), two * y, x=X, y=y)
    agree(text.format("plus(x, y, 0.1)"), many, x=X, y=y)
    agree(text.format("x * y * plus(0.5, 0.1)"), X * y * np.logaddexp(0.5, 0.1), x=X, y=y)
    model = attnc.loads(AXIS + text.format("plus(x, 0.1) * y")).model("f")
    assert model.numpy()(x=X.astype("f"), y=y.astype("f")).dtype == np.float32
    half = torch.from_numpy(X).half()
    assert model.torch()(x=half, y=half).dtype == torch.float16


def test_a_function(row: Callable[..., None]) -> None:
    reads = Pointwise(Function(zero=True, above=-1, harmless=0, rising=True))
    row(made("log", "log1p", reads=reads, torch="torch.log1p({0})", numpy="np.log1p({0})"))
    text = "model f(x: [seq, d]) -> [seq, d] {\n    return log1p(x * x + 1) * log1p(1 / |d|)\n}\n"
    agree(text, np.log1p(X * X + 1) * np.log1p(1 / 3), x=X)


def test_the_operand_without_a_gradient(row: Callable[..., None]) -> None:
    unchanged = {"reads": Pointwise(Sum((1,))), "gradient": False, "jumps": False}
    row(made("abs", "stop", torch="{0}.detach()", numpy="{0}", **unchanged))
    text = "model f(x: [seq, d]) -> [seq, d] {\n    return 2 * stop(x + 1) + x * stop(|d| / 2)\n}\n"
    agree(text, 2 * (X + 1) + X * 1.5, x=X)
    x = torch.from_numpy(X).requires_grad_()
    attnc.loads(AXIS + text).model("f").torch(dtype=torch.float64)(x).sum().backward()
    assert (x.grad == 1.5).all()


def test_integers_stay_within_their_bounds(row: Callable[..., None]) -> None:
    """An index that an op leaves as it is, moves or picks is one still, and is not checked when the model runs."""
    row(made("abs", "stop", reads=Pointwise(Sum((1,))), gradient=False, torch="{0}.detach()", numpy="{0}"))
    row(made("cumsum", "turned", reads=Arrange(IndexMap.MIRRORED)), "{0}.flip({1})", "np.flip({0}, {1})")
    row(made("cumsum", "most", reads=Running(LARGEST)), "{0}.cummax({1}).values", "np.maximum.accumulate({0}, {1})")
    row(made("cumsum", "total"), "{0}.cumsum({1})", "np.cumsum({0}, {1})")
    text = "model f(x: [seq, d]) -> [seq, d] {{\n    return x[seq = index[seq]({}(int(|seq| - 1 - seq)))]\n}}\n"
    for name, places, known in (
        ("stop", [3, 2, 1, 0], True),
        ("turned[seq]", [0, 1, 2, 3], True),
        ("most[seq]", [3, 3, 3, 3], True),
        ("total[seq]", [], False),
    ):
        model = attnc.loads(AXIS + text.format(name)).model("f")
        for source in (model.source("torch"), model.source("numpy")):
            assert ("check_index" not in source) is known
        if known:
            agree(text.format(name), X[:, places], x=X)
        else:
            with pytest.raises(IndexError, match=r"[35] is no index"):
                model.numpy()(x=X)


@pytest.mark.parametrize(
    ("reads", "texts", "right"),
    [
        (Arrange(IndexMap.MIRRORED), ("{0}.flip({1})", "np.flip({0}, {1})"), lambda x: x[:, ::-1]),
        (
            Running(LARGEST),
            ("{0}.cummax({1}).values", "np.maximum.accumulate({0}, {1})"),
            lambda x: np.maximum.accumulate(x, 1),
        ),
        (
            Running(LOG_ADDED),
            ("{0}.logcumsumexp({1})", "np.logaddexp.accumulate({0}, {1})"),
            lambda x: np.logaddexp.accumulate(x, 1),
        ),
    ],
    ids=["flip", "cummax", "logcumsumexp"],
)
def test_the_axis_stays(
    reads: Any, texts: tuple[str, str], right: Callable[[Any], Any], row: Callable[..., None]
) -> None:
    """One function for each backend is enough: for numbers, tables, what lacks an axis, any batch, each type."""
    row(made("cumsum", "along", reads=reads), *texts)
    text = "model f(x: [seq, d]) -> [seq, d] {{\n    return {}\n}}\n"
    agree(text.format("along[seq](x)"), right(X), x=X)
    table = right(np.broadcast_to(np.arange(4.0)[:, None] / 3, (1, 4, 3)))
    agree(text.format("x * along[seq](seq / 3)"), X * table, x=X)
    agree(text.format("x * along[seq](broadcast[seq](0.5))"), X * right(np.full((1, 4, 3), 0.5)), x=X)
    model = attnc.loads(AXIS + text.format("along[seq](x)")).model("f")
    x = torch.from_numpy(X).requires_grad_()
    assert torch.autograd.gradcheck(model.torch(dtype=torch.float64), (x,))
    assert model.numpy()(x=X.astype("f")).dtype == np.float32
    half = model.torch()(x=torch.from_numpy(X).bfloat16())
    assert half.dtype == torch.bfloat16
    np.testing.assert_allclose(half.float().numpy(), right(X), rtol=0.05, atol=0.05)


def test_what_a_mask_leaves_out() -> None:
    (node,) = (node for node in attnc.loads(OPS["max"].example).block("f").graph.nodes if isinstance(node, Apply))

    def counts(reads: Any) -> str:
        return neutral(replace(node, traits=replace(OPS["max"], reads=reads))).text

    assert counts(Reduce(LARGEST)) == counts(Reduce(LOG_ADDED)) == "-math.inf"
    assert counts(Reduce(SMALLEST)) == "math.inf"
    assert counts(Reduce(Combination(0.0, adds=True))) == "0"
    assert counts(Reduce(Combination(1.0))) == "1.0"
    for unknown in (Reduce(None), Reduce(Combination(None))):
        with pytest.raises(CannotEmit, match=r"^`max` has no number that what its mask leaves out could be$"):
            counts(unknown)


def test_templates() -> None:
    total, product, name = Code("a + b", SUM), Code("a * b", TERM), Code("a")
    assert filled_in("f({0}, {1})", [total, product]) == Code("f(a + b, a * b)")
    assert filled_in("{0}.f({1}, key={0})", [total, total]) == Code("(a + b).f(a + b, key=(a + b))")
    assert filled_in("{0} / f({1})", [total, total]) == Code("(a + b) / f(a + b)", TERM)
    assert filled_in("-{0}", [name]) == Code("-a", UNARY)
    assert filled_in("{0} < {1}", [name, total]).at(SUM) == Code("(a < (a + b))")
    assert filled_in("{0}", [total]) == total
    assert folded("f({0}, {1})", [name, total, product]) == Code("f(f(a, a + b), a * b)")
    assert folded("f({0}, {1})", [name] * 120).text.count("(") == 119
    assert called("g(np.f({0}), h({1}))") == ("g", "h")
