"""Dropout with probability 0 is its operand: shares that lose nothing stream into a kernel.

Whoever sets the probability otherwise has other kernels made: like sizes of depths, it is written into them.
"""

from __future__ import annotations

from ....dsl.base.records import replace
from ...graph.nodes import Apply, Graph, Node
from ...graph.values import Value
from ...sizes.axes import known
from ..tools.walk import Walk, with_names, with_operands


def undrop(graph: Graph) -> Graph:
    """The graph without dropout that is known to leave nothing out."""
    return Walk(lambda _, new: _undropped(new))(graph)


def _undropped(graph: Graph) -> Graph:
    same: dict[int, Value] = {}
    names: dict[int, str] = {}
    nodes: list[Node] = []
    for old in graph.nodes:
        node = with_operands(old, same)
        if not isinstance(node, Apply) or not _does_nothing(node):
            nodes.append(node)
            continue
        x, out = node.operands[0], node.out
        same[out.id] = x
        if x.name is None and out.name is not None:
            names.setdefault(x.id, out.name)
    if not same:
        return graph
    outputs = tuple(replace(output, value=same.get(output.value.id, output.value)) for output in graph.outputs)
    return replace(graph, nodes=tuple(with_names(node, names) for node in nodes), outputs=outputs)


def _does_nothing(node: Apply) -> bool:
    draws = node.traits.random and "p" in node.options and known(node.options["p"]) == 0
    return draws and node.operands[0].type == node.out.type
