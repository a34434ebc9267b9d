"""Ops that put items along an axis together, as ops that only sum them or take the largest: these can be split."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

from ...graph.nodes import Apply, Constant, Parameter
from ...graph.traits import (
    ADDED,
    LARGEST,
    Choice,
    Combination,
    Compared,
    Extreme,
    Function,
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
CHOICE, LARGER = op_meaning(Choice()), op_meaning(Extreme(True))
ABOVE, SAME = op_meaning(Compared(">")), op_meaning(Compared("=="))
LOG, OVER_ROOT = op_named("log"), op_meaning(Function(least=0, above=0, harmless=1, power=-0.5))
STILL = next(op for op in OPS.values() if not op.gradient and not op.jumps and op.meaning == Sum((1,)))
SUM, MOST = op_reading(Reduce(ADDED, skips_zeros=True)), op_reading(Reduce(LARGEST))

New = Callable[[Value], Value]


def elementary(node: Apply, fresh: New, graded: bool) -> tuple[Apply | Constant | Parameter, ...]:
    """The same as several ops, the last of which makes the node's result; the node alone where it is one already.

    graded: whether its result has a gradient.
    """
    write = _ElementarySteps(fresh, node)
    match node.traits.reads:
        case Normalise(weights=True, logarithm=logarithm):
            items = write.exponentials(node.operands[0])
            if logarithm:
                write.last(MINUS, write.or_none(items.below), write.apply(LOG, items.total, like=items.total))
            else:
                write.last(DIVIDED, items.powers, items.total)
        case Normalise(squares=Combination()) as norm if node.mask is None:
            _norm(write, node, norm)
        case Reduce(combination=Combination(logs=True)):
            items = write.exponentials(node.operands[0])
            write.last(PLUS, write.apply(LOG, items.total, like=items.total), items.most)
        case Reduce(combination=Combination(averages=True)):
            _mean(write, node)
        case Reduce(combination=Combination(largest=bool())) if graded and node.out.type.element is Scalar.REAL:
            _largest(write, node)
        case Reduce(logits=True):
            _cross_entropy(write, node)
        case Pointwise(Lookup()):
            gather = op_reading(Gather())
            (table,) = write.learned()
            made = node.operands[0].type.axes
            write.nodes.append(
                replace(node, traits=gather, operands=(table, node.operands[0]), weights=(), name=None, made=made)
            )
        case _:
            return (node,)
    return tuple(write.nodes)


def _mean(write: _ElementarySteps, node: Apply) -> None:
    """A sum over how many items there are; of those that a mask keeps, 0 where it keeps none."""
    if node.mask is None:
        whole = write.reduce(SUM, node.operands[0])
        for axis in node.axes[:-1]:
            whole = write.apply(DIVIDED, whole, write.number(SizeOf(axis)), like=node.out)
        write.last(DIVIDED, whole, write.number(SizeOf(node.axes[-1])))
        return
    zero, one = write.number(Literal(0.0)), write.number(Literal(1.0))
    kept = write.reduce(SUM, write.masked(node.operands[0], zero))
    count = write.reduce(SUM, write.apply(CHOICE, node.mask, one, zero, like=write.real(node.mask)))
    write.last(DIVIDED, kept, write.not_zero(count))


def _largest(write: _ElementarySteps, node: Apply) -> None:
    """The mean of those items that are it, to which its gradient goes; as it is where there are none."""
    x = node.operands[0]
    zero, one = write.number(Literal(0.0)), write.number(Literal(1.0))
    most = write.reduce(node.traits, write.apply(STILL, x, like=x), node.mask)
    like = write.masked_type(x)
    chosen = write.apply(SAME, x, most, like=replace(like, type=replace(like.type, element=Scalar.BOOL)))
    count = write.reduce(SUM, write.masked(write.apply(CHOICE, chosen, one, zero, like=like), zero))
    total = write.reduce(SUM, write.masked(write.apply(CHOICE, chosen, x, zero, like=like), zero))
    mean = write.apply(DIVIDED, total, write.not_zero(count), like=node.out)
    some = write.apply(ABOVE, count, zero, like=replace(count, type=replace(count.type, element=Scalar.BOOL)))
    write.last(CHOICE, some, mean, most)


def _norm(write: _ElementarySteps, node: Apply, norm: Normalise) -> None:
    """x, less its mean where that is so, over the root of the sum or the mean of its squares."""
    x, eps = node.operands[0], write.number(node.options["eps"])
    if norm.centred:
        x = write.apply(MINUS, x, write.mean(x), like=x)
    assert norm.squares is not None
    squares = write.apply(TIMES, x, x, like=x)
    if norm.squares.averages:
        size = write.mean(squares)
        size = write.apply(PLUS, size, eps, like=size)
    else:  # the length is at least eps
        size = write.reduce(SUM, squares)
        size = write.apply(LARGER, size, write.apply(TIMES, eps, eps, like=eps), like=size)
    by = [write.apply(OVER_ROOT, size, like=size)]
    learned = dict(zip((weight.name.rsplit(".", 1)[-1] for weight in node.weights), write.learned(), strict=True))
    steps = [(TIMES, value) for value in (*by, *(v for name, v in learned.items() if name != "bias"))]
    steps += [(PLUS, value) for name, value in learned.items() if name == "bias"]
    for op, value in steps[:-1]:
        x = write.apply(op, x, value, like=node.out)
    write.last(steps[-1][0], x, steps[-1][1])


def _cross_entropy(write: _ElementarySteps, node: Apply) -> None:
    """The logarithm of the sum of exponentials, less the logit of the item itself, and of all a little."""
    logits, ids = node.operands
    _, most, _, total = write.exponentials(logits)
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


class Exponentials(NamedTuple):
    """All items less the largest, that one, the exponentials of the first, and their sum."""

    below: Value
    most: Value
    powers: Value
    total: Value


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

    def reduce(self, op: OpTraits, x: Value, mask: Value | None = None) -> Value:
        like = x if mask is None else self.masked_type(x)
        kept = tuple(axis for axis in like.type.axes if axis not in self.node.axes)
        role = x.role if mask is None else max(x.role, mask.role)
        out = self.new(Type(x.type.element, kept, like.type.broadcast_axes - {*self.node.axes}), role)
        self.nodes.append(Apply(op, (x,), out, self.node.axes, mask=mask, span=self.node.span))
        return out

    def mean(self, x: Value) -> Value:
        found = self.reduce(SUM, x)
        for axis in self.node.axes:
            found = self.apply(DIVIDED, found, self.number(SizeOf(axis)), like=found)
        return found

    def learned(self) -> list[Value]:
        """The node's weights as values."""
        found = []
        for weight in self.node.weights:
            found.append(self.new(Type(Scalar.REAL, tuple(axis for dim in weight.dims for axis in dim)), Role.WEIGHT))
            self.nodes.append(Parameter(weight, found[-1]))
        return found

    def real(self, x: Value) -> Value:
        """What a real that is like this one is like."""
        return replace(x, type=replace(x.type, element=Scalar.REAL))

    def masked_type(self, x: Value) -> Value:
        """What x where the node's mask is true is like."""
        mask = self.node.mask
        if mask is None:
            return x
        more = tuple(axis for axis in mask.type.axes if axis not in x.type.axes)
        varies = {axis for v in (x, mask) for axis in v.type.axes if axis not in v.type.broadcast_axes}
        axes = (*x.type.axes, *more)
        return replace(x, type=Type(Scalar.REAL, axes, frozenset(axes) - varies))

    def masked(self, x: Value, other: Value) -> Value:
        """x, and something else where the node's mask leaves it out."""
        mask = self.node.mask
        return x if mask is None else self.apply(CHOICE, mask, x, other, like=self.masked_type(x))

    def not_zero(self, x: Value) -> Value:
        """x, and 1 where it is 0."""
        some = self.apply(
            ABOVE, x, self.number(Literal(0.0)), like=replace(x, type=replace(x.type, element=Scalar.BOOL))
        )
        return self.apply(CHOICE, some, x, self.number(Literal(1.0)), like=x)

    def or_none(self, x: Value) -> Value:
        """x, and minus infinity where the node's mask leaves it out."""
        if self.node.mask is None:
            return x
        zero, one = self.number(Literal(0.0)), self.number(Literal(1.0))
        kept = self.apply(CHOICE, self.node.mask, one, zero, like=self.real(self.node.mask))
        return self.apply(PLUS, x, self.apply(LOG, kept, like=kept), like=x)

    def exponentials(self, x: Value) -> Exponentials:
        """What a mask leaves out counts as 0, in each. Where it leaves nothing, the largest is minus infinity, and the
        sum is said to be 1.
        """
        zero = self.number(Literal(0.0)) if self.node.mask is not None else x
        most = self.reduce(MOST, self.apply(STILL, x, like=x), self.node.mask)
        below = self.masked(self.apply(MINUS, x, most, like=self.masked_type(x)), zero)
        powers = self.masked(self.apply(EXP, below, like=below), zero)
        total = self.reduce(SUM, powers)
        return Exponentials(below, most, powers, total if self.node.mask is None else self.not_zero(total))
