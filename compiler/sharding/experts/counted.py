"""The graph of one device with rows as an axis: what is done for them, and sent of them, can be counted then.

How many rows a device is given is not known before it runs. They are counted as many as there are if the load is even:
then each device is given as many as it has itself.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import count

from ...graph.nodes import Apply, Graph, Node
from ...graph.traits import ADDED, Reduce
from ...graph.values import IndexInto, Role, Scalar, Type, Value
from ...ops import op_reading
from ...ops.internal import BACK, DISPATCH, GROUPED, WEIGHED
from ...rewrites.tools.walk import Walk
from ...sizes.axes import Arith, Axis, Kind, Literal, SizeOf, Static
from ...sizes.ids import ROWS
from ..sends import SHARE, Collective, SendKind

_IDS = count(ROWS)
PRODUCTS = op_reading(Reduce(ADDED, multiplies=True, skips_zeros=True))


def counted(graph: Graph) -> Graph:
    """The graph with an axis of rows; the very graph where there are none."""
    return Walk(lambda _, new: _counted(new))(graph)


def _counted(graph: Graph) -> Graph:
    rows: dict[int, Axis] = {}
    nodes: list[Node] = []
    for node in graph.nodes:
        if not isinstance(node, Apply):
            nodes.append(node)
        elif node.traits is DISPATCH:
            rows[node.out.id] = axis_of_rows(node)
            nodes.append(replace(node, out=_with(node.out, rows[node.out.id])))
        else:
            nodes.append(_over(node, rows))
    return replace(graph, nodes=tuple(nodes)) if rows else graph


def axis_of_rows(dispatch: Apply) -> Axis:
    """One with as many items as a device has rows of an item of the batch, if the load is even."""
    size: Static = Literal(1)
    for axis in (*dispatch.axes, *dispatch.made):
        size = Arith("*", (size, SizeOf(axis)))
    share = dispatch.options.get(SHARE, Literal(1))
    if share != Literal(1):
        size = Arith("//", (size, share))
    id = next(_IDS)
    return Axis(id, "rows", Kind.WIDTH, "rows", None, size, None, id, dispatch.span)


def _over(node: Apply, rows: dict[int, Axis]) -> Apply:
    """A node of rows, along that axis."""
    axis = next((rows[value.id] for value in node.operands if value.id in rows), None)
    if axis is None:
        return node
    operands = tuple(_with(value, axis) if value.id in rows else value for value in node.operands)
    if isinstance(node.traits, Collective) and node.traits.kind is SendKind.COUNTS:
        (plan,) = node.operands
        assert isinstance(plan.type.element, IndexInto)
        rows[node.out.id] = axis
        sent = replace(plan, type=Type(Scalar.INT, (plan.type.element.axis,)), role=Role.TABLE)
        return replace(node, operands=(sent,), out=_with(node.out, axis))
    if node.traits is BACK or node.traits is WEIGHED:
        return replace(node, operands=operands)
    rows[node.out.id] = axis
    if node.traits is GROUPED:
        x, weight = operands[0], operands[2]
        own = tuple(one for one in weight.type.axes if one not in node.each)
        of_row = replace(weight, type=replace(weight.type, axes=own))
        return replace(node, traits=PRODUCTS, operands=(x, of_row), out=_with(node.out, axis), made=(), each=())
    return replace(node, operands=operands, out=_with(node.out, axis), each=())


def _with(value: Value, axis: Axis) -> Value:
    return replace(value, type=replace(value.type, axes=(axis, *value.type.axes)))
