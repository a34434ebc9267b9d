"""Items looked up where each device has some of them: each looks up those that it has, and 0 in place of others."""

from __future__ import annotations

from dataclasses import replace

from ...graph.nodes import Apply, Constant
from ...graph.traits import Anything, Choice, Compared, Conjunction, OpTraits, Product, Sum
from ...graph.values import Role, Scalar, Type, Value
from ...ops import op_meaning
from ...sizes.axes import Literal, SizeOf
from ..sends import OwnPlace
from .growing import GrowingGraph


def looked_up(here: GrowingGraph, node: Apply, m: int) -> tuple[Apply, Value]:
    """A lookup in the items that the device has along a mesh axis, and whether an index is of one of these."""
    table, ids = node.operands
    (axis,) = node.axes
    number = Type(Scalar.INT, ())
    kind, truth = replace(ids.type, element=Scalar.INT), replace(ids.type, element=Scalar.BOOL)

    def made(op: OpTraits, type: Type, role: Role, *operands: Value) -> Value:
        out = replace(here.fresh(ids), type=type, role=role, name=None)
        here.nodes.append(Apply(op, operands, out, span=node.span))
        return out

    size = replace(here.fresh(ids), type=number, role=Role.CONSTANT, name=None)
    here.nodes.append(Constant(SizeOf(axis), size))
    own = OwnPlace("own_place", reads=Anything(), along=here.places.mesh.axes[m].name)
    place = made(own, number, Role.TABLE)
    first = made(op_meaning(Product()), number, Role.TABLE, place, size)
    at = made(op_meaning(Sum((1, -1))), kind, ids.role, ids, first)
    zero = replace(here.fresh(ids), type=number, role=Role.CONSTANT, name=None)
    here.nodes.append(Constant(Literal(0), zero))
    after = made(op_meaning(Compared(">=")), truth, ids.role, at, zero)
    before = made(op_meaning(Compared("<")), truth, ids.role, at, size)
    inside = made(op_meaning(Conjunction()), truth, ids.role, after, before)
    safe = made(op_meaning(Choice()), kind, ids.role, inside, at, zero)
    return replace(node, operands=(table, safe)), inside


def zero_elsewhere(here: GrowingGraph, inside: Value, value: Value, out: Value) -> Value:
    """What was looked up, and 0 where the index is of an item of another device, as `out`."""
    zero = replace(here.fresh(out), type=Type(Scalar.INT, ()), role=Role.CONSTANT, name=None)
    here.nodes.append(Constant(Literal(0), zero))
    here.nodes.append(Apply(op_meaning(Choice()), (inside, value, zero), out, span=out.span))
    return out
