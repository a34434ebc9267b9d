"""Which weights a gradient reaches."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from ...cost.work import is_real, stops_gradient
from ...graph.nodes import Apply, Call, Graph, Node, Parameter, Repeat, Scan, Weight, children, makes, reads
from ...sizes.axes import evaluate

Reached = tuple[frozenset[str], frozenset[int]]
"""Of a graph: its weights that a gradient reaches, by their paths in it, and the numbers of such inputs."""


def learned(graph: Graph) -> frozenset[str]:
    """The paths of the weights that a gradient of some result reaches: not of those that are frozen, nor of those whose
    values are only ranked or compared, such as a router's that only says which experts are picked.
    """
    return _Learning().of(graph, (True,) * len(graph.outputs))[0]


@dataclass
class _Learning:
    """Graphs backward, each once for each choice of its results that are used."""

    done: dict[tuple[int, tuple[bool, ...]], Reached] = field(default_factory=dict)

    def of(self, graph: Graph, used: Sequence[bool]) -> Reached:
        key = id(graph), tuple(used)
        if key not in self.done:
            self.done[key] = self._of(graph, used)
        return self.done[key]

    def _of(self, graph: Graph, used: Sequence[bool]) -> Reached:
        alive = {o.value.id for o, wanted in zip(graph.outputs, used, strict=True) if wanted and is_real(o.value)}
        found: set[str] = set()
        for node in reversed(graph.nodes):
            wanted = [out.id in alive for out in makes(node)]
            if not any(wanted) or stops_gradient(node):
                continue
            if isinstance(node, Repeat):
                weights, numbers = self._passes(node, wanted)
            elif isinstance(node, Call) and not node.graph.target:
                inner, numbers = self.of(node.graph, wanted)
                weights = frozenset(_below(node.name, inner))
            else:  # of a scan, and of an op of the user's own, all may be
                every = [self.of(child, (True,) * len(child.outputs))[0] for child in children(node)]
                name = node.name if isinstance(node, Call | Scan) else ""
                weights = frozenset(path for each in every for path in _below(name, each))
                weights |= {weight.name for weight in _own(node) if not weight.frozen}
                numbers = frozenset(range(len(reads(node))))
            found |= weights
            alive |= {value.id for n, value in enumerate(reads(node)) if n in numbers and is_real(value)}
        return frozenset(found), frozenset(n for n, entry in enumerate(graph.inputs) if entry.value.id in alive)

    def _passes(self, node: Repeat, wanted: Sequence[bool]) -> Reached:
        """The last pass first: what it reads of the pass before is used there."""
        count = evaluate(node.count)
        assert isinstance(count, int)
        weights: set[str] = set()
        numbers: set[int] = set()
        for number in reversed(range(count)):
            found, inputs = self.of(node.bodies[node.runs(number)], wanted)
            weights.update(
                (node.prefix + path for path in found) if node.shared else _below(f"{node.name}.{number}", found)
            )
            numbers |= {n for n in inputs if n >= node.carried}
            wanted = [n in inputs for n in range(node.carried)]
        return frozenset(weights), frozenset(numbers.union(n for n, each in enumerate(wanted) if each))


def _below(name: str, paths: frozenset[str]) -> Iterator[str]:
    return (f"{name}.{path}" if name else path for path in paths)


def _own(node: Node) -> tuple[Weight, ...]:
    match node:
        case Apply():
            return node.weights
        case Parameter():
            return (node.weight,)
        case _:
            return ()
