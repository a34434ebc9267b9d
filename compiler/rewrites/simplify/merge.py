"""What a body makes twice is made once: nodes alike in op, operands and options, and calls of blocks without weights.

Of two names in the spec the first stays in the code. What it does not do: touch weights, anything random, or what
decoding keeps in its cache.
"""

from __future__ import annotations

from dataclasses import replace

from ...graph.nodes import Apply, Call, Constant, Graph, Node, Positions, makes
from ...graph.values import Value
from ..tools.walk import Walk, reading, retitled

RANDOM = ("dropout",)
STATEFUL = ("remember", "store", "recall", "resume", "leave")  # of decoding (compiler/decode)


def merge(graph: Graph) -> Graph:
    """The graph with equal nodes of each body made one."""
    return Walk(lambda _, new: _merged(new))(graph)


def spelling(node: Node) -> object | None:
    """What two nodes must have in common to make the same; None for nodes that are not merged."""
    match node:
        case Constant(value, out):
            return ("constant", repr(value), out.type.element)
        case Positions(axis):
            return ("positions", axis)
        case Apply() if not (node.weights or node.name or node.op in (*RANDOM, *STATEFUL) or "p" in node.options):
            options = tuple(sorted((name, repr(value)) for name, value in node.options.items()))
            kind = node.out.type
            shape = (kind.element, frozenset(kind.axes), kind.thin)
            return (node.op, node.operands, node.axes, node.made, node.each, node.mask, options, node.seen, shape)
        case Call() if pure(node.graph):
            return (node.graph, node.args, frozenset(node.axes), frozenset(node.consts))
        case _:
            return None


def pure(graph: Graph) -> bool:
    """Whether a graph gives the same whenever it is given the same, and has no weights."""
    return not graph.target and all(
        isinstance(node, Constant | Positions)
        or (isinstance(node, Apply) and spelling(node) is not None)
        or (isinstance(node, Call) and pure(node.graph))
        for node in graph.nodes
    )


def _merged(graph: Graph) -> Graph:
    first: dict[object, tuple[Value, ...]] = {}
    same: dict[int, Value] = {}  # of a value that goes: the one that stands for it
    names: dict[int, str] = {}
    nodes: list[Node] = []
    for old in graph.nodes:
        node = reading(old, same)
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
    return replace(graph, nodes=tuple(retitled(node, names) for node in nodes), outputs=outputs)
