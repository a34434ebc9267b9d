"""Ops that put items along an axis together, as ops that only sum them or take the largest: these can be split."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from ...graph.nodes import Apply, Constant, Parameter
from ...graph.traits import (
    ADDED,
    LARGEST,
    Gather,
    Lookup,
    Normalise,
    OpTraits,
    Pointwise,
    Product,
    Quotient,
    Reduce,
    Sum,
)
from ...graph.values import Role, Scalar, Type, Value
from ...ops import OPS, op_meaning, op_named, op_reading
from ...rewrites.kernels.halves import EXP
from ...sizes.axes import Literal, SizeOf, Static

PLUS, MINUS = op_meaning(Sum((1, 1))), op_meaning(Sum((1, -1)))
TIMES, DIVIDED = op_meaning(Product()), op_meaning(Quotient())
LOG = op_named("log")
STILL = next(op for op in OPS.values() if not op.gradient and not op.jumps and op.meaning == Sum((1,)))
SUM, MOST = op_reading(Reduce(ADDED, skips_zeros=True)), op_reading(Reduce(LARGEST))

New = Callable[[Value], Value]


def elementary(node: Apply, fresh: New) -> tuple[Apply | Constant | Parameter, ...]:
    """The same as several ops, the last of which makes the node's result; the node alone where it is one already."""
    write = _ElementarySteps(fresh, node)
    match node.traits.reads:
        case Normalise(weights=True, logarithm=logarithm) if node.mask is None:
            x = node.operands[0]
            most, total = write.exponentials(x)
            if logarithm:
                write.last(MINUS, write.apply(MINUS, x, most, like=x), write.apply(LOG, total, like=total))
            else:
                write.last(DIVIDED, write.powers, total)
        case Reduce(combination=combination) if combination is not None and combination.logs and node.mask is None:
            most, total = write.exponentials(node.operands[0])
            write.last(PLUS, write.apply(LOG, total, like=total), most)
        case Reduce(combination=combination) if combination is not None and combination.averages and node.mask is None:
            whole = write.reduce(SUM, node.operands[0])
            for axis in node.axes[:-1]:
                whole = write.apply(DIVIDED, whole, write.number(SizeOf(axis)), like=node.out)
            write.last(DIVIDED, whole, write.number(SizeOf(node.axes[-1])))
        case Reduce(logits=True):
            _cross_entropy(write, node)
        case Pointwise(Lookup()):
            (weight,) = node.weights
            axes = tuple(axis for dim in weight.dims for axis in dim)
            table = write.new(Type(Scalar.REAL, axes), Role.WEIGHT)
            write.nodes.append(Parameter(weight, table))
            gather = op_reading(Gather())
            made = node.operands[0].type.axes
            write.nodes.append(
                replace(node, traits=gather, operands=(table, node.operands[0]), weights=(), name=None, made=made)
            )
        case _:
            return (node,)
    return tuple(write.nodes)


def _cross_entropy(write: _ElementarySteps, node: Apply) -> None:
    """The logarithm of the sum of exponentials, less the logit of the item itself, and of all a little."""
    logits, ids = node.operands
    most, total = write.exponentials(logits)
    all_of_them = write.apply(PLUS, write.apply(LOG, total, like=total), most, like=total)
    own = write.new(node.out.type, node.out.role)
    made = tuple(axis for axis in ids.type.axes if axis not in logits.type.axes)
    write.nodes.append(Apply(op_reading(Gather()), (logits, ids), own, node.axes, made, span=node.span))
    smoothing = node.options["smoothing"]
    if smoothing in (Literal(0), Literal(0.0)):
        write.last(MINUS, all_of_them, own)
        return
    share = write.number(smoothing)
    mean = write.apply(DIVIDED, write.reduce(SUM, logits), write.number(SizeOf(node.axes[0])), like=total)
    own = write.apply(MINUS, own, write.apply(TIMES, share, own, like=own), like=own)
    left = write.apply(MINUS, all_of_them, own, like=node.out)
    write.last(MINUS, left, write.apply(TIMES, share, mean, like=mean))


class _ElementarySteps:
    """Nodes in place of one."""

    def __init__(self, fresh: New, node: Apply) -> None:
        self.fresh, self.node = fresh, node
        self.nodes: list[Apply | Constant | Parameter] = []

    def new(self, type: Type, role: Role) -> Value:
        return replace(self.fresh(self.node.out), type=type, role=role, name=None)

    def apply(self, op: OpTraits, *operands: Value, like: Value) -> Value:
        out = self.new(like.type, max(operand.role for operand in operands))
        self.nodes.append(Apply(op, operands, out, span=self.node.span))
        return out

    def last(self, op: OpTraits, *operands: Value) -> None:
        self.nodes.append(Apply(op, operands, self.node.out, span=self.node.span))

    def number(self, value: Static) -> Value:
        out = self.new(Type(Scalar.REAL, ()), Role.CONSTANT)
        self.nodes.append(Constant(value, out))
        return out

    def reduce(self, op: OpTraits, x: Value) -> Value:
        kept = tuple(axis for axis in x.type.axes if axis not in self.node.axes)
        out = self.new(Type(x.type.element, kept, x.type.broadcast_axes - {*self.node.axes}), x.role)
        self.nodes.append(Apply(op, (x,), out, self.node.axes, span=self.node.span))
        return out

    def exponentials(self, x: Value) -> tuple[Value, Value]:
        """The largest item, and the sum of the exponentials of all less that; `powers` has these."""
        most = self.reduce(MOST, self.apply(STILL, x, like=x))
        self.powers = self.apply(EXP, self.apply(MINUS, x, most, like=x), like=x)
        return most, self.reduce(SUM, self.powers)
