"""Items looked up where each device has some of them: each looks up those that it has, and 0 in place of others."""

from __future__ import annotations

from dataclasses import replace

from ...graph.nodes import Apply, Constant
from ...graph.traits import Anything, Choice, Compared, Conjunction, OpTraits, Product, Sum
from ...graph.values import Role, Scalar, Type, Value
from ...ops import op_meaning
from ...sizes.axes import Axis, Literal, SizeOf
from ..sends import OwnPlace
from .growing import GrowingGraph


def looked_up(here: GrowingGraph, node: Apply, axis: Axis, m: int) -> tuple[Apply, Value]:
    """A lookup in the items, `axis`, that the device has along a mesh axis, and whether an index is of one of these."""
    table, ids = node.operands
    safe, inside = inside_part(here, ids, axis, m)
    return replace(node, operands=(table, safe)), inside


def inside_part(here: GrowingGraph, ids: Value, axis: Axis, m: int) -> tuple[Value, Value]:
    """Indices among the items, `axis`, that the device has along a mesh axis, 0 for others; and which are of these."""
    number = Type(Scalar.INT, ())
    kind, truth = replace(ids.type, element=Scalar.INT), replace(ids.type, element=Scalar.BOOL)

    def made(op: OpTraits, type: Type, role: Role, *operands: Value, **options: Literal) -> Value:
        out = replace(here.fresh(ids), type=type, role=role, name=None)
        here.nodes.append(Apply(op, operands, out, options=options, span=ids.span))
        return out

    size = replace(here.fresh(ids), type=number, role=Role.CONSTANT, name=None)
    here.nodes.append(Constant(SizeOf(axis), size))
    own = OwnPlace("own_place", reads=Anything(), along=here.places.mesh.axes[m].name)
    place = made(own, number, Role.TABLE, mesh=Literal(m))  # told from that along another
    first = made(op_meaning(Product()), number, Role.TABLE, place, size)
    at = made(op_meaning(Sum((1, -1))), kind, ids.role, ids, first)
    zero = _zero(here, ids)
    after = made(op_meaning(Compared(">=")), truth, ids.role, at, zero)
    before = made(op_meaning(Compared("<")), truth, ids.role, at, size)
    inside = made(op_meaning(Conjunction()), truth, ids.role, after, before)
    return made(op_meaning(Choice()), kind, ids.role, inside, at, zero), inside


def zero_elsewhere(here: GrowingGraph, inside: Value, value: Value, out: Value) -> Value:
    """What was looked up, and 0 where the index is of an item of another device, as `out`."""
    here.nodes.append(Apply(op_meaning(Choice()), (inside, value, _zero(here, out)), out, span=out.span))
    return out


def is_true(here: GrowingGraph, value: Value, out: Value) -> Value:
    """Truths that were summed as numbers, as `out`."""
    here.nodes.append(Apply(op_meaning(Compared(">")), (value, _zero(here, out)), out, span=out.span))
    return out


def _zero(here: GrowingGraph, like: Value) -> Value:
    zero = replace(here.fresh(like), type=Type(Scalar.INT, ()), role=Role.CONSTANT, name=None)
    here.nodes.append(Constant(Literal(0), zero))
    return zero
