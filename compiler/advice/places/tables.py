"""Numbers of places in a graph, where they meet data."""

from __future__ import annotations

from collections.abc import Callable

from ...graph.nodes import Apply, Call, Graph, Repeat, children, ops_in
from ...graph.values import Role, Value, is_real
from ...sizes.axes import Axis


def widths(value: Value) -> list[Axis]:
    """The widths along which a value varies."""
    return [axis for axis in value.type.varying if axis.is_width]


def by_place(value: Value) -> bool:
    """Whether it is real numbers that places alone say."""
    return value.role is Role.TABLE and is_real(value) and any(axis.is_width for axis in value.type.axes)


def meets_places(graph: Graph, so: Callable[[Apply], bool]) -> bool:
    """Whether an op of a graph, or of what it calls, makes something of data, weights and numbers of places, `so`."""
    return any(node.out.role > Role.TABLE and so(node) for node in ops_in(graph))


def is_written(node: Call | Repeat) -> bool:
    """Whether it runs graphs, not an op of the user's own."""
    return all(not inner.target for inner in children(node))
