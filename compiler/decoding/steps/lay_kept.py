"""What is made once and kept lies as the step's attention reads it, and is not turned round at each step.

The order of a type's axes says nothing in a spec; here it is the order in memory of what `prepare` stores and a step
recalls (../rewrites/simplify/arrange.py has what enters a repeat so).
"""

from __future__ import annotations

from dataclasses import replace

from ...graph.nodes import Apply, Graph, nested
from ...graph.values import Value
from ...rewrites.simplify.arrange import wanted
from ...rewrites.tools.walk import Walk

Key = tuple[Graph | None, str | None]  # whose weights the graph has that keeps it, and its name there


def lay_kept(prepare: Graph, step: Graph) -> tuple[Graph, Graph]:
    """Both with what is kept in the order of its first reader."""
    orders: dict[Key, tuple[int, ...]] = {}
    for graph in nested(step):
        for node in graph.nodes:
            if isinstance(node, Apply) and node.op == "recall" and graph.stepped is not None:
                axes, order = node.out.type.axes, wanted(graph, node.out)
                places = tuple(map(axes.index, order if order is not None else axes))
                orders.setdefault((graph.stepped.origin, node.name), places)

    def turned(_: Graph, graph: Graph) -> Graph:
        if graph.stepped is None:
            return graph
        own = graph.stepped.origin
        nodes = (
            replace(node, out=_in_order(node.out, orders[own, node.name]))
            if isinstance(node, Apply) and node.op in ("store", "recall") and (own, node.name) in orders
            else node
            for node in graph.nodes
        )
        return replace(graph, nodes=tuple(nodes))

    return Walk(turned)(prepare), Walk(turned)(step)


def _in_order(value: Value, places: tuple[int, ...]) -> Value:
    axes = tuple(value.type.axes[place] for place in places)
    return replace(value, type=replace(value.type, axes=axes))
