"""Rewriting nested graphs: children first, each graph object once, so that equal calls keep sharing one graph."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from itertools import count

from ....dsl.base.records import replace
from ...graph import term as terms
from ...graph.nodes import NESTS, Apply, Call, Graph, Node, Repeat, Scan, makes, reads, values_of
from ...graph.term import Leaf, Predicate, leaves
from ...graph.values import Value


def with_results(node: Node, outs: tuple[Value, ...]) -> Node:
    """The node with other results."""
    match node:
        case Call() | Repeat() | Scan():
            return replace(node, outs=outs)
        case _:
            return replace(node, out=outs[0])


def with_operands(node: Node, change: Mapping[int, Value]) -> Node:
    """The node with the operands of these ids replaced."""
    if not any(value.id in change for value in reads(node)):
        return node

    def now(value: Value) -> Value:
        return change.get(value.id, value)

    if not isinstance(node, Apply):
        assert isinstance(node, NESTS)  # nothing else reads
        return replace(node, args=tuple(map(now, node.args)))
    operands = tuple(map(now, node.operands))
    if node.seen is None:
        return replace(node, operands=operands, mask=None if node.mask is None else now(node.mask))
    term = terms.change(
        node.seen.term, lambda part: replace(part, value=now(part.value)) if isinstance(part, Leaf) else part
    )
    assert term is not None
    own = operands[: len(operands) - len(leaves(node.seen.term))]
    return with_predicate(replace(node, operands=own), replace(node.seen, term=term))


def with_predicate(node: Apply, seen: Predicate) -> Apply:
    """Attention under a mask of positions: what that reads comes behind the op's own operands, each value once."""
    return replace(node, operands=(*node.operands, *(leaf.value for leaf in leaves(seen.term))), mask=None, seen=seen)


def with_names(node: Node, names: Mapping[int, str | None]) -> Node:
    """The node with its results renamed, by their ids."""
    if not any(out.id in names for out in makes(node)):
        return node
    return with_results(node, tuple(replace(out, name=names.get(out.id, out.name)) for out in makes(node)))


def with_nodes(graph: Graph, nodes: Iterable[Node]) -> Graph:
    """The graph with these nodes; itself, if they are its own."""
    nodes = tuple(nodes)
    same = len(nodes) == len(graph.nodes) and all(a is b for a, b in zip(nodes, graph.nodes, strict=True))
    return graph if same else replace(graph, nodes=nodes)


class Fresh:
    """New values of one graph."""

    def __init__(self, graph: Graph) -> None:
        self._ids = count(1 + max((value.id for value in values_of(graph)), default=0))

    def __call__(self, value: Value) -> Value:
        """A new value that is otherwise like this one."""
        return replace(value, id=next(self._ids))


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
            self._keep.append(graph)
            self.replaced[id(graph)] = self._step(graph, with_nodes(graph, nodes))
        return self.replaced[id(graph)]
