"""Which of the numbers that a model draws at random each stage draws, counted in the order in which it draws them."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from ...graph.nodes import Apply, Call, Node, Repeat, Scan
from ...rewrites.tools.same import draws
from ...sizes.axes import Literal
from .row import DealtNode, NodeRow, passes_of

_ZERO = Literal(0), Literal(0.0)


def drawn(row: NodeRow, done: Collection[DealtNode]) -> tuple[tuple[int, ...], int] | None:
    """The numbers of the draws of these nodes, and how many there are in the whole model; None: nobody knows, for a
    scan draws for each of its items.
    """
    numbers, every = list[int](), 0
    for one in row.nodes:
        nodes: Sequence[Node] = (one.node,)
        if one.number is not None and isinstance(one.node, Repeat):
            nodes = one.node.bodies[one.node.runs(one.number)].nodes
        count = _count(nodes)
        if count is None:
            return None
        if one in done:
            numbers += range(every, every + count)
        every += count
    return tuple(numbers), every


def _count(nodes: Sequence[Node]) -> int | None:
    total = 0
    for node in nodes:
        inner: int | None = 0
        match node:
            case Apply() if draws(node):
                inner = int(node.options["p"] not in _ZERO)
            case Call(graph=graph):
                inner = 0 if graph.target else _count(graph.nodes)
            case Repeat():
                passes = [_count(node.bodies[node.runs(number)].nodes) for number in range(passes_of(node))]
                inner = None if None in passes else sum(each or 0 for each in passes)
            case Scan(graph=graph):
                inner = _count(graph.nodes) or 0
                inner = None if inner else 0
            case _:
                pass
        if inner is None:
            return None
        total += inner
    return total
