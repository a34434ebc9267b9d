"""Reals made of whole numbers, truth values and sizes alone are exact, until they meet weights or real data.

An axis's own index is exact, and so is a whole number that comes from data (`pos: int[seq]`), whatever the type of the
model: bfloat16 holds no odd number beyond 256. What is computed of such numbers alone is marked here (`Value.exact`),
and the backends compute it in float64. A block that is called with exact numbers and with others gets a body for each.

Not marked: a choice among numbers (`select(m, 0, -1e9)`) that meets nothing but real data, for it is as exact in their
type. What it does not do: look into ops of the user's own, which take and give reals of the model's type.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from ...graph.nodes import NESTS, Apply, Call, Graph, Node, Repeat, Scan, makes, reads
from ...graph.traits import Choice
from ...graph.values import Role, Scalar, Value
from ..tools.walk import with_operands, with_results

Places = frozenset[int]


def mark_exact(graph: Graph) -> Graph:
    """The graph with the values marked that are exact although they carry data."""
    return _Marker().graph(graph, frozenset())[0]


class _Marker:
    """Each body once for each set of its inputs that are exact."""

    def __init__(self) -> None:
        self._done: dict[tuple[int, Places], tuple[Graph, Places]] = {}
        self._keep: list[Graph] = []

    def graph(self, graph: Graph, given: Places) -> tuple[Graph, Places]:
        """The graph where the inputs at these places are exact, and the places of the results that then are."""
        given = frozenset(place for place in given if _may_be(graph.inputs[place].value))
        key = (id(graph), given)
        if key not in self._done:
            self._keep.append(graph)
            self._done[key] = self._mark(graph, given)
        return self._done[key]

    def _mark(self, graph: Graph, given: Places) -> tuple[Graph, Places]:
        if graph.target:
            return graph, frozenset()
        found = {graph.inputs[place].value.id for place in given}
        nodes: list[Node] = []
        for node in graph.nodes:
            node = self._inside(node, found)
            nodes.append(node)
            known = isinstance(node, Apply) and not node.weights and all(_is_exact(v, found) for v in node.operands)
            if isinstance(node, Apply) and known and _may_be(node.out):
                found.add(node.out.id)
        found -= _idle(graph, nodes, found)
        places = frozenset(place for place, one in enumerate(graph.outputs) if _is_exact(one.value, found))
        if not found and all(a is b for a, b in zip(nodes, graph.nodes, strict=True)):
            return graph, places
        change = {value.id: replace(value, exact=True) for value in _values(graph) if value.id in found}
        marked = replace(
            graph,
            inputs=tuple(replace(item, value=change.get(item.value.id, item.value)) for item in graph.inputs),
            nodes=tuple(_changed(node, change) for node in nodes),
            outputs=tuple(replace(one, value=change.get(one.value.id, one.value)) for one in graph.outputs),
        )
        return marked, places

    def _inside(self, node: Node, found: set[int]) -> Node:
        """The node with the graphs in it marked; which of its results are exact is added to `found`."""
        if isinstance(node, Apply) or not isinstance(node, NESTS):
            return node
        given = frozenset(place for place, value in enumerate(node.args) if _is_exact(value, found))
        match node:
            case Call():
                child, places = self.graph(node.graph, given)
                node = node if child is node.graph else replace(node, graph=child)
            case Scan():
                while True:  # a state is exact if what goes in first is, and then each next value
                    child, places = self.graph(node.graph, given)
                    lost = {at for at, result in node.states if at in given and result not in places}
                    if not lost:
                        break
                    given -= lost
                places -= {result for at, result in node.states if at not in given}
                node = node if child is node.graph else replace(node, graph=child)
            case Repeat():
                while True:
                    bodies, ends = zip(*(self.graph(body, given) for body in node.bodies), strict=True)
                    places = frozenset(range(node.carried)).intersection(given, *ends)
                    lost = {at for at in given if at < node.carried and at not in places}
                    if not lost:
                        break
                    given -= lost
                same = all(a is b for a, b in zip(bodies, node.bodies, strict=True))
                node = node if same else replace(node, bodies=bodies)
        found |= {node.outs[place].id for place in places if _may_be(node.outs[place])}
        return node


def _may_be(value: Value) -> bool:
    """Whether a value has to be marked exact: tables are float64 without a mark."""
    return value.type.element is Scalar.REAL and value.role > Role.TABLE


def _is_exact(value: Value, found: set[int]) -> bool:
    return not _may_be(value) or value.id in found


def _idle(graph: Graph, nodes: Sequence[Node], found: set[int]) -> set[int]:
    """Choices among numbers that meet nothing but real data."""
    busy = {one.value.id for one in graph.outputs}
    chosen: set[int] = set()
    for node in nodes:
        chooses = isinstance(node, Apply) and node.traits.meaning == Choice() and node.out.id in found
        if chooses and all(value.role is Role.CONSTANT or value.id in chosen for value in reads(node)[1:]):
            chosen |= {out.id for out in makes(node)}
    idle: set[int] = set()
    for node in reversed(nodes):
        outs = {out.id for out in makes(node)}
        if outs & (chosen - busy):
            idle |= outs
        elif not (isinstance(node, Apply) and _may_be(node.out) and node.out.id not in found):
            busy |= {value.id for value in reads(node)}
    return idle


def _values(graph: Graph) -> list[Value]:
    return [item.value for item in graph.inputs] + [out for node in graph.nodes for out in makes(node)]


def _changed(node: Node, change: Mapping[int, Value]) -> Node:
    node = with_operands(node, change)
    outs = makes(node)
    return (
        with_results(node, tuple(change.get(out.id, out) for out in outs))
        if any(o.id in change for o in outs)
        else node
    )
