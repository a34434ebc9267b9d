"""What enters a repeat lies as the blocks in it want it, so that it is transposed once and not in each pass.

The order of a type's axes says nothing in a spec; in code it is the order in memory of what a body takes. What it does
not do: touch what blocks and models declare, or what goes round.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from ...graph.nodes import Apply, Call, Graph, Input, Repeat
from ...graph.traits import Arrange, IndexMap, OpTraits
from ...graph.values import Value
from ...sizes.axes import Axis
from ..tools.operands import operand_axes
from ..tools.walk import Walk, with_nodes


def arrange(graph: Graph) -> Graph:
    """The graph with the axes of such inputs in the order of their first reader."""
    return Walk(lambda _, new: _arranged(new))(graph)


def _arranged(graph: Graph) -> Graph:
    return with_nodes(graph, (_repeat(node) if isinstance(node, Repeat) else node for node in graph.nodes))


def _repeat(node: Repeat) -> Repeat:
    orders = {
        place: order
        for place in range(node.carried, len(node.args))
        if (order := _order(node.bodies, place)) not in (None, node.bodies[0].inputs[place].value.type.axes)
    }
    if not orders:
        return node
    return replace(node, bodies=tuple(_body(body, orders) for body in node.bodies))


def _order(bodies: Sequence[Graph], place: int) -> tuple[Axis, ...] | None:
    """The order of axes in which the first body that passes this input on needs it; all have the same axes."""
    found = (wanted(body, body.inputs[place].value) for body in bodies)
    return next((order for order in found if order is not None), None)


def _body(body: Graph, orders: Mapping[int, Sequence[Axis] | None]) -> Graph:
    inputs = tuple(_ordered(item, orders.get(place)) for place, item in enumerate(body.inputs))
    return replace(body, inputs=inputs)


def _ordered(item: Input, order: Sequence[Axis] | None) -> Input:
    if order is None:
        return item
    return replace(item, value=replace(item.value, type=replace(item.value.type, axes=tuple(order))))


def _behind(value: Value, formal: tuple[Axis, ...]) -> tuple[Axis, ...] | None:
    """The axes of a value, those that its reader asks for last; None where it asks for one, or none."""
    found = tuple(axis for axis in formal if axis in value.type.axes)
    rest = tuple(axis for axis in value.type.axes if axis not in formal)
    return (*rest, *found) if len(found) > 1 else None


def wanted(graph: Graph, value: Value) -> tuple[Axis, ...] | None:
    """The order of axes in which the first block, repeat or attention takes the value, perhaps renamed; None if none
    does.
    """
    for node in graph.nodes:
        match node:
            case Call() | Repeat():
                outward = dict(node.axes) if isinstance(node, Call) else {}
                inner = node.graph if isinstance(node, Call) else node.bodies[0]
                for item, arg in zip(inner.inputs, node.args, strict=True):
                    if arg.id == value.id:
                        return _behind(value, tuple(outward.get(axis, axis) for axis in item.value.type.axes))
            case Apply(op="attention"):
                for operand, own in operand_axes(node):
                    if operand.id == value.id:
                        return _behind(value, own)
            case Apply(OpTraits(reads=Arrange(IndexMap.SAME))) if node.operands[0].id == value.id:
                back = dict(zip(node.made, node.axes, strict=True))
                order = wanted(graph, node.out)
                return None if order is None else tuple(back.get(axis, axis) for axis in order)
            case _:
                pass
    return None
