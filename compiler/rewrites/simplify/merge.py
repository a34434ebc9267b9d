"""What a body makes twice is made once: nodes alike in op, operands and options, and calls of blocks without weights.

Of two names in the spec the first stays in the code. What it does not do: touch weights, anything random, or what
decoding keeps in its cache.
"""

from __future__ import annotations

from dataclasses import replace

from ...graph.nodes import Graph, Node, makes
from ...graph.values import Value
from ..tools.same import spelling
from ..tools.walk import Walk, with_names, with_operands


def merge(graph: Graph) -> Graph:
    """The graph with equal nodes of each body made one."""
    return Walk(lambda _, new: _merged(new))(graph)


def _merged(graph: Graph) -> Graph:
    first: dict[object, tuple[Value, ...]] = {}
    same: dict[int, Value] = {}  # of a value that goes: the one that stands for it
    names: dict[int, str] = {}
    nodes: list[Node] = []
    for old in graph.nodes:
        node = with_operands(old, same)
        key, outs = spelling(node), makes(node)
        kept = outs if key is None else first.setdefault(key, outs)
        if kept is outs:
            nodes.append(node)
            continue
        for value, out in zip(kept, outs, strict=True):
            same[out.id] = value
            if value.name is None and out.name is not None:
                names.setdefault(value.id, out.name)
    if not same:
        return graph
    outputs = tuple(replace(output, value=same.get(output.value.id, output.value)) for output in graph.outputs)
    return replace(graph, nodes=tuple(with_names(node, names) for node in nodes), outputs=outputs)
