"""Which nodes make the same values: the same op, operands and options, neither random nor with a state of decoding."""

from __future__ import annotations

from ...graph.nodes import Apply, Call, Constant, Graph, Node, Positions


def spelling(node: Node) -> object | None:
    """What two nodes must have in common to make the same values; None for nodes that are never merged."""
    match node:
        case Constant(value, out):
            return ("constant", repr(value), out.type.element)
        case Positions(axis):
            return ("positions", axis)
        case Apply() if not (node.weights or node.name or draws(node) or node.traits.remembers):
            options = tuple(sorted((name, repr(value)) for name, value in node.options.items()))
            kind = node.out.type
            shape = (kind.element, frozenset(kind.axes), kind.broadcast_axes)
            return (node.op, node.operands, node.axes, node.made, node.each, node.mask, options, node.seen, shape)
        case Call() if pure(node.graph):
            return (node.graph, node.args, frozenset(node.axes), frozenset(node.consts))
        case _:
            return None


def draws(node: Apply) -> bool:
    """Whether it is random while a model is trained; fused attention, too, may drop weights at random."""
    return node.traits.random or "p" in node.options


def pure(graph: Graph) -> bool:
    """Whether a graph has no weights, and equal arguments always give equal results."""
    return not graph.target and all(
        isinstance(node, Constant | Positions)
        or (isinstance(node, Apply) and spelling(node) is not None)
        or (isinstance(node, Call) and pure(node.graph))
        for node in graph.nodes
    )
