"""Nodes that nothing reads go. What has weights stays: a weight is part of a model whether it is read or not."""

from __future__ import annotations

from collections.abc import Collection

from ....dsl.base.records import replace
from ...graph.nodes import Apply, Call, Constant, Graph, Positions, reads


def alive(graph: Graph, kept_anyway: Collection[int] = ()) -> Graph:
    """The graph without nodes whose results nothing reads, but for the values with these ids; nested graphs are left as
    they are.
    """
    read = {output.value.id for output in graph.outputs}.union(kept_anyway)
    kept = []
    for node in reversed(graph.nodes):
        match node:
            case Constant(out=out) | Positions(out=out):
                used = out.id in read
            case Apply(out=out):
                used = out.id in read or bool(node.weights) or node.traits.acts
            case Call(outs=outs):
                used = any(out.id in read for out in outs) or not _pure(node.graph)
            case _:
                used = True
        if used:
            kept.append(node)
            read |= {value.id for value in reads(node)}
    return graph if len(kept) == len(graph.nodes) else replace(graph, nodes=tuple(reversed(kept)))


def _pure(graph: Graph) -> bool:
    """Whether a graph is made of positions, numbers and ops without weights alone."""
    return not graph.target and all(
        isinstance(node, Constant | Positions)
        or (isinstance(node, Apply) and not node.weights and not node.traits.acts)
        or (isinstance(node, Call) and _pure(node.graph))
        for node in graph.nodes
    )
