"""Ops that contract, reduce or normalise: what stands in brackets is what they act on, all other axes lift (D3)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..graph.traits import (
    ADDED,
    ALL_TRUE,
    AVERAGED,
    LARGEST,
    LOG_ADDED,
    SMALLEST,
    SOME_TRUE,
    Combination,
    Normalise,
    OpCost,
    Reads,
    Reduce,
    Running,
)
from ..graph.typed_value import union
from ..graph.values import Element, IndexInto, Role, Scalar, Type
from ..problems.axes import AxisUse, UnmaskedAxis
from ..problems.elements import Wanted, WrongElement
from .marks import check_marks, check_scores
from .table import Brackets, Op, OpCall, Option, Precedence, Rule
from .use import lacks, numbers, one_axis

if TYPE_CHECKING:
    from ..graph.typed_value import TypedValue
    from ..sizes.axes import Axis


def dot(call: OpCall) -> TypedValue | None:
    """Multiply, aligned on shared axes, and sum over the axes in brackets (D7); check the marks (D6)."""
    ok = True
    several = len(call.operands) > 1
    for axis, span in zip(call.axes, call.axis_spans, strict=True):
        holders = [wire for wire in call.operands if wire.has(axis)]
        if len(holders) < (2 if several else 1):  # of a chain, `dot[k, l](a, b, c)`, each axis joins two
            places = zip(call.operands, call.spans, strict=True)
            wire, place = next((wire, place) for wire, place in places if not wire.has(axis))
            lacks(call, wire, axis, place, AxisUse.CONTRACTS_BOTH if several else AxisUse.CONTRACTS, span)
            ok = False
    for wire, place in zip(call.operands, call.spans, strict=True):
        if wire.is_bool or (isinstance(wire.element, IndexInto) and wire.role > Role.TABLE):
            call.fail(WrongElement(place, wire.type, Wanted.FACTORS))
            ok = False
    if not ok:
        return None
    check_marks(call)
    axes, broadcast_axes = _contracted(call)
    kept = tuple(axis for axis in axes if axis not in call.axes)
    return call.make(Type(Scalar.REAL, kept, broadcast_axes - set(call.axes)), product_of=tuple(call.axes))


def _contracted(call: OpCall) -> tuple[tuple[Axis, ...], frozenset[Axis]]:
    """The union in the order that a product is read in: the first operand's axes, then what the others add."""
    axes: dict[Axis, None] = {}
    for wire in call.operands:
        axes.update(dict.fromkeys(wire.type.axes))
    return tuple(axes), union(call.operands)[1]


def _present(call: OpCall) -> bool:
    """The operand has every axis that the op acts on, and the mask at least one.

    A number may take the axis from its mask: `sum[k](1 where m)` counts.
    """
    x = call.operands[0]
    for axis, span in zip(call.axes, call.axis_spans, strict=True):
        if x.role < Role.DATA and call.mask is not None and call.mask.has(axis):
            continue
        if not x.has(axis):
            lacks(call, x, axis, call.spans[0], AxisUse.ACTS, span)
            return False
    return masks(call)


def masks(call: OpCall) -> bool:
    """The mask, if there is one, says something of what the op acts on; else that is reported."""
    if call.mask is not None and call.mask.static is None and not any(call.mask.has(axis) for axis in call.axes):
        place = call.mask_span or call.span
        call.fail(UnmaskedAxis(place, call.shown, call.mask, tuple(call.axes), call.axis_spans[0]))
        return False
    return True


def masked_axes(call: OpCall) -> tuple[tuple[Axis, ...], frozenset[Axis]]:
    """The axes of an operand and its mask, and those along which neither varies."""
    x = call.operands[0]
    wires = [x] if call.mask is None else [x, call.mask]
    axes, broadcast_axes = union(wires)
    if call.mask is None or set(call.mask.type.axes) <= set(x.type.axes):
        axes = x.type.axes
    return axes, broadcast_axes


def _masked(call: OpCall, kept: tuple[Axis, ...], element: Element, **more: object) -> TypedValue | None:
    """The result's type: the mask's axes join the operand's."""
    axes, broadcast_axes = masked_axes(call)
    gone = set(call.axes) - set(kept)
    return call.make(Type(element, tuple(a for a in axes if a not in gone), broadcast_axes - gone), **more)  # type: ignore[arg-type]


def reduce(call: OpCall) -> TypedValue | None:
    """sum, mean, max, min, logsumexp: the axes in brackets go."""
    x = call.operands[0]
    if not numbers(call) or not _present(call):
        return None
    return _masked(call, (), _combined(call.op.reads, x.element))


def running(call: OpCall) -> TypedValue | None:
    """cumsum and its like: the axis stays. What picks an item keeps its kind."""
    if not numbers(call) or not one_axis(call) or not _present(call):
        return None
    x = call.operands[0]
    return call.make(Type(_combined(call.op.reads, x.element), x.type.axes, x.type.broadcast_axes))


def _combined(reads: Reads, element: Element) -> Element:
    """What items of this kind become: one that is picked is as it was, and whole numbers have a whole sum."""
    combination = reads.combination if isinstance(reads, Reduce | Running) else None
    match combination:
        case Combination(largest=bool()):
            return element
        case Combination(adds=True, averages=False) if element is Scalar.INT:
            return Scalar.INT
        case _:
            return Scalar.REAL


def quantify(call: OpCall) -> TypedValue | None:
    """any, all: truth values over the axes in brackets."""
    x = call.operands[0]
    if not x.is_bool:
        return call.fail(WrongElement(call.spans[0], x.type, Wanted.TRUTH, call.shown))
    return _masked(call, (), Scalar.BOOL) if _present(call) else None


def argmax(call: OpCall) -> TypedValue | None:
    """The index of the largest: an index into the axis in brackets."""
    if not numbers(call) or not one_axis(call) or not _present(call):
        return None
    return _masked(call, (), IndexInto(call.axes[0]))


def normalise(call: OpCall) -> TypedValue | None:
    """softmax sums to one over its axes and carries that mark (D6); log_softmax and l2norm keep the axes."""
    if not numbers(call) or not _present(call):
        return None
    if isinstance(call.op.reads, Normalise) and call.op.reads.weights:
        check_scores(call)
    mark = frozenset(call.axes) if call.op.reads == Normalise(weights=True) else frozenset()
    return _masked(call, tuple(call.axes), Scalar.REAL, mark=mark)


def _row(
    name: str,
    reads: Reads,
    group: str,
    usage: str,
    doc: str,
    example: str,
    wrong: str,
    rule: Rule,
    **more: Any,
) -> Op:
    return Op(name, group, usage, doc, example, wrong, rule, brackets=Brackets.ACTS, reads=reads, **more)


def _reduction(
    name: str,
    reads: Reads,
    doc: str,
    rule: Rule = reduce,
    kind: str = "",
    result: str = "[q]",
    masked: bool = True,
    cost: OpCost = OpCost(reads=True),  # noqa: B008 (a frozen row)
    **more: Any,
) -> Op:
    example = f"width q, k\nblock f(x: {kind}[q, k]) -> {result} {{\n    return {name}[k](x)\n}}\n"
    wrong = f"width q, k\nblock f(x: [q]) -> [q] {{\n    return {name}[k](x)\n}}\n"
    return _row(name, reads, "reduce", f"{name}[k](x)", doc, example, wrong, rule, masked=masked, cost=cost, **more)


ROWS: tuple[Op, ...] = (
    _row(
        "dot",
        Reduce(ADDED, multiplies=True, skips_zeros=True),
        "contract",
        "dot[d](Q, K)",
        "Multiply and sum over the axes in brackets; other axes that operands share are aligned, the rest is outer.",
        "width q, k\ndepth d = 8\nblock f(Q: [q, d], K: [k, d]) -> [q, k] {\n    return dot[d](Q, K)\n}\n",
        "width q, k\ndepth d = 8, e = 8\nblock f(Q: [q, d], K: [k, e]) -> [q, k] {\n    return dot[d](Q, K)\n}\n",
        dot,
        operands=("x",),
        variadic=True,
        cost=OpCost(work=0, saves=("other",)),
    ),
    _reduction(
        "sum",
        Reduce(ADDED, skips_zeros=True),
        "Sum over the axes in brackets. Over nothing at all: 0.",
        latex=r"\sum",
        binds=Precedence.ODOT,
    ),
    _reduction(
        "mean",
        Reduce(AVERAGED),
        "Mean over the axes in brackets (of what the mask keeps). Over nothing at all: 0.",
        cost=OpCost(reads=True, saves=("count",)),
    ),
    _reduction(
        "max",
        Reduce(LARGEST),
        "The largest over the axes in brackets. Over nothing at all: minus infinity (int: the least).",
        cost=OpCost(reads=True, saves=("x", "result")),
    ),
    _reduction(
        "min",
        Reduce(SMALLEST),
        "The smallest over the axes in brackets. Over nothing at all: infinity (int: the greatest).",
        cost=OpCost(reads=True, saves=("x", "result")),
    ),
    _reduction(
        "logsumexp",
        Reduce(LOG_ADDED),
        "log of the sum of exp over the axes in brackets, without overflow. Over nothing at all: minus infinity.",
        cost=OpCost(4, reads=True, saves=("x", "result")),
        drawn="lse",
    ),
    _reduction(
        "any",
        Reduce(SOME_TRUE, skips_zeros=True),
        "Whether any holds over the axes in brackets.",
        quantify,
        "bool",
        "bool[q]",
    ),
    _reduction("all", Reduce(ALL_TRUE), "Whether all hold over the axes in brackets.", quantify, "bool", "bool[q]"),
    _reduction(
        "argmax",
        Reduce(None, indices=True, largest_first=True),
        "The index of the largest, of equals the first: an index into the axis in brackets. Over nothing at all: a "
        "pick of nothing.",
        argmax,
        result="k[q]",
        jumps=True,
    ),
    _reduction("cumsum", Running(ADDED), "Running sum along one axis.", running, result="[q, k]", masked=False),
    _reduction(
        "cummax",
        Running(LARGEST),
        "Running maximum along one axis.",
        running,
        result="[q, k]",
        masked=False,
        cost=OpCost(reads=True, saves=("x",), makes_indices=True),
        since="0.2",
    ),
    _reduction(
        "logcumsumexp",
        Running(LOG_ADDED),
        "log of the running sum of exp along one axis, without overflow. Where all so far is minus "
        "infinity, its gradient in PyTorch is NaN.",
        running,
        result="[q, k]",
        masked=False,
        cost=OpCost(4, reads=True, saves=("x", "result")),
        since="0.2",
    ),
    _row(
        "softmax",
        Normalise(weights=True),
        "normalise",
        "softmax[k](s where m)",
        "exp(s), scaled to sum to one over the axes in brackets; what the mask leaves out weighs exactly 0.",
        "width q, k\nblock f(s: [q, k], m: bool[q, k]) -> [q, k] {\n    return softmax[k](s where m)\n}\n",
        "width q, k\nblock f(s: [q, k], m: bool[q, k]) -> [q, k] {\n    return softmax(s where m)\n}\n",
        normalise,
        result="weights",
        masked=True,
        cost=OpCost(5, saves=("result",), spare=2),
    ),
    _row(
        "log_softmax",
        Normalise(weights=True, logarithm=True),
        "normalise",
        "log_softmax[k](s)",
        "The logarithm of softmax, without overflow.",
        "width q, k\nblock f(s: [q, k]) -> [q, k] {\n    return log_softmax[k](s)\n}\n",
        "width q, k\nblock f(s: [q, k]) -> [q, k] {\n    return log_softmax(s)\n}\n",
        normalise,
        masked=True,
        cost=OpCost(5, saves=("result",), spare=2),
        latex="logsoftmax",
    ),
    _row(
        "l2norm",
        Normalise(squares=ADDED, skips_zeros=True),
        "normalise",
        "l2norm[d](x)",
        "x divided by its Euclidean length over the axes in brackets.",
        "width q\ndepth d = 8\nblock f(x: [q, d]) -> [q, d] {\n    return l2norm[d](x)\n}\n",
        "width q\ndepth d = 8, e = 8\nblock f(x: [q, e]) -> [q, e] {\n    return l2norm[d](x)\n}\n",
        normalise,
        options=(
            Option(
                "eps", 1e-12, "the length is at least this", lambda v: None if v >= 0 else "it must not be negative"
            ),
        ),
        cost=OpCost(4, saves=("x",)),
        drawn="ℓ²",
        latex="L2Norm",
    ),
)
