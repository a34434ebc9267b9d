"""Ops with a rule of their own on ragged widths (`widths.py`): how each reads padding as nothing.

Ops that take a mask need none: they get one.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from ...base.names import listed
from ...graph.nodes import Apply
from ...graph.values import Role, Scalar, Type, Value
from ...ops import OPS
from ...sizes.axes import Axis, Literal, known
from .infinite import DIVIDES
from .lengths import Lengths

LARGE = 3.0e38  # beyond any number of a model, and finite in float32


def _reads_zero(body: Lengths, node: Apply, acts: list[Axis]) -> None:
    """Padding counts as 0 in every operand."""
    if node.op == "l2norm" and known(node.options["eps"]) == 0:  # inputs read 1 there, and 1 - 1 has no direction
        node = replace(node, operands=(body.settled(node.operands[0], 1),))
    body.nodes.append(replace(node, operands=tuple(body.cleared(value, acts) for value in node.operands)))
    if node.op == "l2norm" and acts:
        body.zero[node.out.id] = set(acts)


def _keeps_zero(body: Lengths, node: Apply, acts: list[Axis]) -> None:
    """A product is 0 in padding if one factor is, and none is infinite there: times that it is no number."""
    body.nodes.append(node)

    def finite(value: Value, axis: Axis) -> bool:
        known = body.zero.get(value.id, set()) | body.one.get(value.id, set())
        return axis in known or value.role is Role.CONSTANT

    body.zero[node.out.id] = {
        axis
        for value in node.operands
        for axis in body.zero.get(value.id, ())
        if all(finite(other, axis) for other in node.operands)
    }


def _defined(body: Lengths, node: Apply, acts: list[Axis]) -> None:
    """Where a quotient, a logarithm, a root or a power could be undefined, padding reads 1.

    Nothing masks it before others read it, and neither 0 times infinity nor its gradient is 0. A remainder by the
    length of an example without items is no number either.
    """
    place = DIVIDES[node.op]
    x = node.operands[place]
    if x.id in body.sizes:
        x = body.or_one(x) if node.op == "%" else x
    elif x.role is Role.DATA or (x.role is Role.TABLE and body.steps):  # the state of a scan may be a table
        x = body.settled(x, 1)
    else:
        x = body.cleared(x, x.type.axes, 1)
    body.nodes.append(replace(node, operands=(*node.operands[:place], x, *node.operands[place + 1 :])))


def _exponential(body: Lengths, node: Apply, acts: list[Axis]) -> None:
    """An exponential of positions alone may overflow beyond an example's own items: there its operand reads 1."""
    if node.out.role is Role.DATA:
        body.nodes.append(node)
        return
    x = node.operands[0]
    body.nodes.append(replace(node, operands=(body.cleared(x, x.type.axes, 1),)))


def _renamed(body: Lengths, node: Apply, acts: list[Axis]) -> None:
    body.nodes.append(node)
    names = dict(zip(node.axes, node.made, strict=False))
    body.zero[node.out.id] = {names.get(axis, axis) for axis in body.zero.get(node.operands[0].id, ())}


def _norm(body: Lengths, node: Apply, acts: list[Axis]) -> None:
    """layernorm and rmsnorm along a ragged width have no weights: they are their formula, with masked means."""
    if not acts:
        body.nodes.append(node)
        return
    x, valid = node.operands[0], body.valid(acts)
    gone = set(node.axes)
    small = Type(Scalar.REAL, tuple(axis for axis in x.type.axes if axis not in gone), x.type.thin - gone)
    if node.op == "layernorm":
        mean = body.apply("mean", (x,), small, axes=node.axes, mask=valid)
        x = body.apply("-", (x, mean), x.type)
    square = body.apply("*", (x, x), x.type)
    mean = body.apply("mean", (square,), small, axes=node.axes, mask=valid)
    shifted = body.apply("+", (mean, body.constant(node.options["eps"])), small)
    scale = body.apply("rsqrt", (shifted,), small)
    body.nodes.append(Apply(OPS["*"], (x, scale), node.out, span=node.span))


def _ranked(body: Lengths, node: Apply, acts: list[Axis]) -> None:
    """Padding comes last, whichever way the order runs: as large, or as small, as any item, and behind its equals."""
    x = node.operands[0]
    valid = body.valid(acts)
    if valid is not None:
        last = node.op == "argsort" and known(node.options["descending"]) is not True
        gone = set(node.axes)
        type = Type(x.type.element, tuple(axis for axis in x.type.axes if axis not in gone), x.type.thin - gone)
        end = body.apply("max" if last else "min", (x,), type, axes=node.axes, mask=valid)
        x = body.apply("select", (valid, x, end), x.type)
    body.nodes.append(replace(node, operands=(x,)))


def _running(body: Lengths, node: Apply, acts: list[Axis]) -> None:
    """Padding comes last, and no item reads what follows it."""
    body.nodes.append(node)


def _pad(body: Lengths, node: Apply, acts: list[Axis]) -> None:
    """What was padding in the shorter axis is `value` in the longer one, like all outside of it."""
    fill = node.options.get("value", Literal(0))
    body.nodes.append(replace(node, operands=(body.cleared(node.operands[0], acts, fill),)))


def _gather(body: Lengths, node: Apply, acts: list[Axis]) -> None:
    x, e = node.operands
    body.nodes.append(replace(node, operands=(x, body.within(e, node.axes[0]))))


def _index(body: Lengths, node: Apply, acts: list[Axis]) -> None:
    """A number taken for an index of what stands behind the arrow."""
    index = body.within(node.operands[0], node.made[0])
    body.nodes.append(replace(node, operands=(index,)))
    body.zero[node.out.id] = body.zero.get(index.id, set())


def _embed(body: Lengths, node: Apply, acts: list[Axis]) -> None:
    body.nodes.append(replace(node, operands=(body.within(node.operands[0], node.axes[0]),)))


def _concat(body: Lengths, node: Apply, acts: list[Axis]) -> None:
    early = next((axis for axis in node.axes[:-1] if body.is_ragged(axis)), None)
    if early is not None:
        body.refuse(
            f"`concat` would leave the padding of the ragged width `{early.name}` inside `{node.made[0].name}`",
            node.span,
            _one_ragged(body, node, f"put what has `{early.name}` last"),
        )
    elif acts and not body.is_ragged(node.made[0]):
        _underived(body, node, node.made[0])
    body.nodes.append(node)


def _split(body: Lengths, node: Apply, acts: list[Axis]) -> None:
    if acts and not body.is_ragged(node.made[0]):
        _underived(body, node, node.made[0])
    body.nodes.append(node)


def _merge(body: Lengths, node: Apply, acts: list[Axis]) -> None:
    late = next((axis for axis in node.axes[1:] if body.is_ragged(axis)), None)
    if late is not None:
        body.refuse(
            f"`merge` would leave the padding of the ragged width `{late.name}` inside `{node.made[0].name}`",
            node.span,
            _one_ragged(body, node, f"put `{late.name}` first"),
        )
    elif acts and not body.is_ragged(node.made[0]):
        _underived(body, node, node.made[0])
    body.nodes.append(node)


def _one_ragged(body: Lengths, node: Apply, order: str) -> str:
    """The order that leaves padding at the end, if there is one: of two ragged widths one is always inside."""
    ragged = [axis for axis in node.axes if body.is_ragged(axis)]
    if len(ragged) < 2:
        return order
    names = list(dict.fromkeys(axis.name for axis in ragged))
    if node.op == "concat":
        return "only the last part may be ragged: keep the parts apart, or give the others one length for all examples"
    apart = f"ops act on several axes, `sum[{', '.join(names)}](x)`"
    return f"of several ragged widths one is always inside: keep {listed(names)} apart, as {apart}"


def _underived(body: Lengths, node: Apply, made: Axis) -> None:
    ragged = next(axis for axis in node.axes if body.is_ragged(axis))
    body.refuse(
        f"`{node.op}` makes `{made.name}` of the ragged width `{ragged.name}`, but its size does not follow from it",
        node.span,
        f"derive it, so that each example has its own: `width {made.name} = ...` over `{ragged.name}`",
    )


def _cross_entropy(body: Lengths, node: Apply, acts: list[Axis]) -> None:
    """Classes that are padding have no probability."""
    if acts and node.options.get("smoothing", Literal(0.0)) != Literal(0.0):
        body.refuse(
            f"`cross_entropy` smooths over the ragged width `{acts[0].name}`, its padding included",
            node.span,
            "leave `smoothing` out",
        )
    logits, ids = node.operands
    clean = body.cleared(logits, acts, -LARGE)
    body.nodes.append(replace(node, operands=(clean, body.within(ids, node.axes[0]))))


_Rule = Callable[[Lengths, Apply, list[Axis]], None]
RULES: dict[str, _Rule] = {
    "dot": _reads_zero,
    "linear": _reads_zero,
    "window": _reads_zero,
    "l2norm": _reads_zero,
    "dropout": _keeps_zero,
    "*": _keeps_zero,
    "/": _defined,
    "%": _defined,
    "^": _defined,
    "exp": _exponential,
    "log": _defined,
    "sqrt": _defined,
    "rsqrt": _defined,
    "rename": _renamed,
    "layernorm": _norm,
    "rmsnorm": _norm,
    "cumsum": _running,
    "argsort": _ranked,
    "topk": _ranked,
    "pad": _pad,
    "gather": _gather,
    "index": _index,
    "embed": _embed,
    "concat": _concat,
    "split": _split,
    "merge": _merge,
    "cross_entropy": _cross_entropy,
}
