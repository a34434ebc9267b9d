"""A choice by the index of an axis of two items, `select(two == 0, x, y)`, becomes `stack`: x and y side by side.

So the halves of a rotation are put together without a mask. `Apply("stack", (x, y), made=(two,))`. What it does not do:
touch choices between numbers, or between values that have the axis already.
"""

from __future__ import annotations

from dataclasses import replace

from ...graph.core.index import Index, index_of
from ...graph.nodes import Apply, Constant, Graph, Node, Positions
from ...graph.traits import Choice, Compared, OpTraits, Pointwise
from ...graph.values import Role, Value
from ...ops import op_named
from ...sizes.axes import Axis, known
from ..simplify.dead import alive
from ..tools.walk import Walk


def stack(graph: Graph) -> Graph:
    """The graph with such choices stacked."""
    return Walk(lambda _, new: _stacked(new))(graph)


def _stacked(graph: Graph) -> Graph:
    index = index_of(graph)
    nodes: list[Node] = []
    for node in graph.nodes:
        match node:
            case Apply(OpTraits(reads=Pointwise(Choice()))) if (found := _choice(node, index)) is not None:
                axis, pair = found
                nodes.append(replace(node, traits=op_named("stack"), operands=pair, made=(axis,)))
            case _:
                nodes.append(node)
    same = all(a is b for a, b in zip(nodes, graph.nodes, strict=True))
    return graph if same else alive(replace(graph, nodes=tuple(nodes)))


def _choice(node: Apply, index: Index) -> tuple[Axis, tuple[Value, Value]] | None:
    """The axis, and what stands at its first and second place."""
    condition, x, y = node.operands
    test = index.maker(condition)
    match test:
        case Apply(OpTraits(reads=Pointwise(Compared("==" | "!=" as sign)))):
            pass
        case _:
            return None
    for one, other in (test.operands, test.operands[::-1]):
        place, number = index.maker(one), index.maker(other)
        if not isinstance(place, Positions) or not isinstance(number, Constant) or place.axis.extent != 2:
            continue
        at = known(number.value)
        if at not in (0, 1) or any(value.role is Role.CONSTANT or place.axis in value.type.axes for value in (x, y)):
            continue
        return place.axis, (x, y) if (at == 0) == (sign == "==") else (y, x)
    return None
