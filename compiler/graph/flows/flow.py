"""What is known of the values of a graph, followed through calls and repeats: a small abstract interpretation.

What is known of a value is a record of the reader's own, hashable; None says that nothing is. A graph is read once for
each list of what is known of its inputs.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable, Sequence
from typing import Generic, TypeVar

from ...sizes.axes import known as number_of
from ..nodes import Call, Graph, Node, Repeat, Scan

K = TypeVar("K", bound=Hashable)
C = TypeVar("C", bound=Hashable)
Known = dict[int, K]  # by the ids of values
_NESTS = (Call, Repeat, Scan)


class Forward(ABC, Generic[K, C]):
    """Reads a graph and all that it calls, in order.

    home: the graph that is read.
    here: what else decides what is known in it, such as whose axes its own stand for.
    """

    home: Graph

    def __init__(self, here: C) -> None:
        self.here = here
        self._read: dict[tuple[Graph, C, tuple[K | None, ...]], Known[K]] = {}

    @abstractmethod
    def one(self, node: Node, known: Known[K]) -> K | None:
        """What is known of what a node makes: of any but calls, repeats and scans."""

    @abstractmethod
    def inside(self, node: Call | Repeat | Scan) -> C:
        """`here`, in what a node runs."""

    def entering(self, given: tuple[K | None, ...]) -> Sequence[K | None]:
        """What is known of the graph's inputs, where this is known of what it is given."""
        return given

    def passed(self, node: Call | Repeat | Scan, known: Known[K]) -> tuple[K | None, ...]:
        """What is known of what a node is given."""
        return tuple(known.get(value.id) for value in node.args)

    def left(
        self, node: Call | Repeat, given: tuple[K | None, ...], results: tuple[K | None, ...]
    ) -> Sequence[K | None]:
        """What is known of what a node makes, where this is known of the results inside."""
        return results

    def holds(self, before: K, after: K | None) -> bool:
        """Whether what is known of a value before a pass is still so behind it."""
        return before == after

    def known(self, graph: Graph, given: Sequence[K | None] = ()) -> Known[K]:
        """What is known of a graph's values."""
        given = tuple(given or (None,) * len(graph.inputs))
        key = graph, self.here, given
        if key not in self._read:
            self.home, around = graph, getattr(self, "home", graph)
            entries = zip(graph.inputs, self.entering(given), strict=True)
            found = self._read[key] = {entry.value.id: of for entry, of in entries if of is not None}
            for node in graph.nodes:
                if isinstance(node, _NESTS):
                    made = zip(node.outs, self._within(node, found), strict=True)
                    found.update((value.id, of) for value, of in made if of is not None)
                elif (one := self.one(node, found)) is not None:
                    found[node.out.id] = one
            self.home = around
        return self._read[key]

    def rounds(self, node: Repeat, given: tuple[K | None, ...]) -> tuple[K | None, ...]:
        """What is known of the inputs of a repeat's bodies in every pass."""
        while True:
            results = [self._run(node, body, given) for body in node.bodies]
            kept = tuple(
                of if of is not None and all(self.holds(of, one[place]) for one in results) else None
                for place, of in enumerate(given[: node.carried])
            )
            if kept == given[: node.carried]:
                return given
            given = kept + given[node.carried :]

    def _within(self, node: Call | Repeat | Scan, known: Known[K]) -> Sequence[K | None]:
        given = self.passed(node, known)
        match node:
            case Call(graph=graph):
                return self.left(node, given, self._run(node, graph, given))
            case Scan(graph=graph):
                self._run(node, graph, (None,) * len(graph.inputs))
                return (None,) * len(node.outs)
            case Repeat():
                given = self.rounds(node, given)
                count = number_of(node.count)
                if not isinstance(count, int) or count < 1:
                    return given[: node.carried]
                return self.left(node, given, self._run(node, node.bodies[node.runs(count - 1)], given))

    def _run(self, node: Call | Repeat | Scan, graph: Graph, given: tuple[K | None, ...]) -> tuple[K | None, ...]:
        around, self.here = self.here, self.inside(node)
        known = self.known(graph, given)
        self.here = around
        return tuple(known.get(output.value.id) for output in graph.outputs)
