"""What is made once and kept lies as the step's attention reads it, and is not turned round at each step.

The order of a type's axes says nothing in a spec; here it is the order in memory of what `prepare` stores and a step
recalls (../rewrites/simplify/arrange.py has what enters a repeat so).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from ...graph.nodes import Apply, Call, Graph, Node, Repeat, nested
from ...graph.values import Value
from ...rewrites.simplify.arrange import wanted

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
    return _turned(prepare, orders, {}), _turned(step, orders, {})


def _turned(graph: Graph, orders: Mapping[Key, tuple[int, ...]], done: dict[int, Graph]) -> Graph:
    """Equal calls hold the same graph, before and after."""
    if graph.stepped is None:
        return graph
    if id(graph) not in done:
        origin = graph.stepped.origin
        nodes: list[Node] = []
        for node in graph.nodes:
            match node:
                case Apply(op="store" | "recall", out=out) if (origin, node.name) in orders:
                    nodes.append(replace(node, out=_in_order(out, orders[origin, node.name])))
                case Call():
                    nodes.append(replace(node, graph=_turned(node.graph, orders, done)))
                case Repeat():
                    bodies = tuple(_turned(body, orders, done) for body in node.bodies)
                    nodes.append(replace(node, bodies=bodies))
                case _:
                    nodes.append(node)
        done[id(graph)] = replace(graph, nodes=tuple(nodes))
    return done[id(graph)]


def _in_order(value: Value, places: tuple[int, ...]) -> Value:
    axes = tuple(value.type.axes[place] for place in places)
    return replace(value, type=replace(value.type, axes=axes))
