"""What is known of the values of a graph, followed through calls and repeats: a small abstract interpretation.

What is known of a value is a record of the reader's own, hashable; None says that nothing is. A graph is read once for
each list of what is known of its inputs.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Generic, TypeVar

from ...graph.nodes import Call, Graph, Node, Repeat, Scan, makes
from ...sizes.axes import Axis

K = TypeVar("K")
Known = dict[int, K]  # by the ids of values


class Flow(Generic[K]):
    """Reads a graph and all that it calls, in order.

    home:  the graph that is read.
    names: the axes of the first caller that its own stand for, several of them maybe for one: what is known of a value
           is said in these.
    """

    def __init__(self) -> None:
        self.home: Graph
        self.names: Mapping[Axis, Axis] = {}
        self._results: dict[tuple[Graph, tuple[Axis, ...], tuple[K | None, ...]], tuple[K | None, ...]] = {}

    def one(self, node: Node, known: Known[K]) -> K | None:
        """What is known of what a node makes: of any but calls, repeats and scans."""
        raise NotImplementedError

    def entering(self, given: tuple[K | None, ...]) -> Sequence[K | None]:
        """What is known of the graph's inputs, where this is known of what it is given."""
        return given

    def passed(self, node: Call | Repeat | Scan, known: Known[K]) -> list[K | None]:
        """What is known of what a node is given."""
        return [known.get(value.id) for value in node.args]

    def named(self, axes: Iterable[Axis]) -> tuple[Axis, ...]:
        """The caller's axes for these."""
        return tuple(self.names.get(axis, axis) for axis in axes)

    def read(self, graph: Graph, given: Sequence[K | None] = ()) -> tuple[K | None, ...]:
        """What is known of a graph's results."""
        given = tuple(given or (None,) * len(graph.inputs))
        key = (graph, tuple(self.names.values()), given)
        results = self._results.get(key)
        if results is not None:
            return results
        self.home, around = graph, getattr(self, "home", graph)
        known: Known[K] = {}
        for entry, of in zip(graph.inputs, self.entering(given), strict=True):
            if of is not None:
                known[entry.value.id] = of
        for node in graph.nodes:
            if isinstance(node, Call | Repeat | Scan):
                for value, of in zip(makes(node), self._within(node, known), strict=True):
                    if of is not None:
                        known[value.id] = of
            elif (of := self.one(node, known)) is not None:
                known[node.out.id] = of
        self._results[key] = results = tuple(known.get(output.value.id) for output in graph.outputs)
        self.home = around
        return results

    def _within(self, node: Call | Repeat | Scan, known: Known[K]) -> Sequence[K | None]:
        given = self.passed(node, known)
        match node:
            case Call(graph=inner):
                return self._called(node, given)
            case Scan(graph=inner):
                self._called(node, [None] * len(inner.inputs))
                return [None] * len(node.outs)
            case Repeat(bodies=bodies, carried=carried):
                found = [self.read(body, given)[:carried] for body in bodies]
                kept = [
                    of if all(one[place] == of for one in found) else None for place, of in enumerate(given[:carried])
                ]
                if kept != given[:carried]:
                    for body in bodies:
                        self.read(body, kept + given[carried:])
                return kept

    def _called(self, node: Call | Scan, given: list[K | None]) -> tuple[K | None, ...]:
        around = self.names
        self.names = {axis: around[axis] for axis in node.graph.lifted if axis in around}
        self.names |= {own: around.get(outer, outer) for own, outer in node.axes}
        results = self.read(node.graph, given)
        self.names = around
        return results
