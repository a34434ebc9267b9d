"""Rewriting nested graphs: children first, each graph object once, so that equal calls keep sharing one graph."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from ..graph import Apply, Call, Graph, Node, Repeat, Scan, Value


def reads(node: Node) -> tuple[Value, ...]:
    """The values that a node reads, its mask included."""
    match node:
        case Apply():
            return node.operands if node.mask is None else (*node.operands, node.mask)
        case Call() | Repeat() | Scan():
            return node.args
        case _:
            return ()


class Walk:
    """Applies `step` to every graph, innermost first. `replaced[id(old)]` is the new graph; old ones are kept alive."""

    def __init__(self, step: Callable[[Graph, Graph], Graph]) -> None:
        """step: from the old graph, and the same with its children rewritten, the new one."""
        self._step = step
        self.replaced: dict[int, Graph] = {}
        self._keep: list[Graph] = []

    def __call__(self, graph: Graph) -> Graph:
        if id(graph) not in self.replaced:
            nodes: list[Node] = []
            for node in graph.nodes:
                match node:
                    case Call() | Scan():
                        child = self(node.graph)
                        nodes.append(node if child is node.graph else replace(node, graph=child))
                    case Repeat():
                        bodies = tuple(self(body) for body in node.bodies)
                        same = all(a is b for a, b in zip(bodies, node.bodies, strict=True))
                        nodes.append(node if same else replace(node, bodies=bodies))
                    case _:
                        nodes.append(node)
            same = all(a is b for a, b in zip(nodes, graph.nodes, strict=True))
            self._keep.append(graph)
            self.replaced[id(graph)] = self._step(graph, graph if same else replace(graph, nodes=tuple(nodes)))
        return self.replaced[id(graph)]
