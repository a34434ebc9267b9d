"""Which weights a gradient reaches."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

from ...sizes.axes import evaluate
from ..nodes import Apply, Call, Graph, Node, Parameter, Repeat, Scan, Weight, children, makes, reads, stops_gradient
from ..values import Scalar, is_real
from .zeros import NONE, Given, Zeros, below, factors, prefix_of

Reached = tuple[frozenset[str], frozenset[int]]
"""Of a graph: its weights that a gradient reaches, by their paths in it, and the numbers of such inputs."""


def learned(graph: Graph) -> frozenset[str]:
    """The paths of the weights that a gradient of some result reaches: not of those that are frozen, nor of those whose
    values are only ranked or compared, such as a router's that only says which experts are picked.
    """
    return Learning(stops_gradient).whole(graph)[0]


class Learning:
    """Graphs backward, each once for each choice of its results that are used.

    ends: whether no gradient goes through a node to its operands.

    `zeros` are paths of weights that are 0, with `*` for the number of a pass; what is multiplied by them has no
    gradient. Passes whose number a caller gives are taken to be two.
    """

    def __init__(self, ends: Callable[[Node], bool]) -> None:
        self.ends = ends
        self.zeros = Zeros()
        self.done: dict[tuple[int, tuple[bool, ...], frozenset[str], Given], Reached] = {}

    def whole(self, graph: Graph, zeros: frozenset[str] = NONE) -> Reached:
        """Of all results."""
        return self.of(graph, (True,) * len(graph.outputs), zeros, (None,) * len(graph.inputs))

    def of(self, graph: Graph, used: Sequence[bool], zeros: frozenset[str], given: Given) -> Reached:
        """given: of each input the path of a weight that makes it 0, or None."""
        key = id(graph), tuple(used), zeros, given
        if key not in self.done:
            self.done[key] = self._of(graph, used, zeros, given)
        return self.done[key]

    def _of(self, graph: Graph, used: Sequence[bool], zeros: frozenset[str], given: Given) -> Reached:
        null = self.zeros.of(graph, zeros, given)
        alive = {o.value.id for o, wanted in zip(graph.outputs, used, strict=True) if wanted and is_real(o.value)}
        found: set[str] = set()
        for node in reversed(graph.nodes):
            wanted = [out.id in alive for out in makes(node)]
            if True not in wanted or self.ends(node):
                continue
            if isinstance(node, Apply) and not null and not zeros:  # what most nodes are
                found.update(weight.name for weight in node.weights if not weight.frozen)
                alive.update(value.id for value in reads(node) if value.type.element is Scalar.REAL)
                continue
            if isinstance(node, Repeat):
                weights, numbers = self._passes(node, wanted, zeros, null)
            elif isinstance(node, Call) and not node.graph.target:
                inside = tuple(null.get(value.id) for value in node.args)
                inner, numbers = self.of(node.graph, wanted, below(zeros, node.name), inside)
                weights = frozenset(_below(node.name, inner))
            elif isinstance(node, Apply | Parameter):
                weights, numbers = _through(node, zeros, null)
            else:  # of a scan, and of an op of the user's own, all may be
                every = [self.whole(child)[0] for child in children(node)]
                name = node.name if isinstance(node, Call | Scan) else ""
                weights = frozenset(path for each in every for path in _below(name, each))
                numbers = frozenset(range(len(reads(node))))
            found |= weights
            alive |= {value.id for n, value in enumerate(reads(node)) if n in numbers and is_real(value)}
        return frozenset(found), frozenset(n for n, entry in enumerate(graph.inputs) if entry.value.id in alive)

    def _passes(self, node: Repeat, wanted: Sequence[bool], zeros: frozenset[str], null: dict[int, str]) -> Reached:
        """The last pass first: what it reads of the pass before is used there."""
        count = evaluate(node.count)
        weights: set[str] = set()
        numbers: set[int] = set()
        given = self.zeros.of_passes(node, zeros, null)
        inside = below(zeros, prefix_of(node))
        for number in reversed(range(count if isinstance(count, int) else 2)):
            found, inputs = self.of(node.bodies[node.runs(number)], wanted, inside, given)
            weights.update(
                (node.prefix + path for path in found) if node.shared else _below(f"{node.name}.{number}", found)
            )
            numbers |= {n for n in inputs if n >= node.carried}
            wanted = [n in inputs for n in range(node.carried)]
        return frozenset(weights), frozenset(numbers.union(n for n, each in enumerate(wanted) if each))


def _through(node: Apply | Parameter, zeros: frozenset[str], null: dict[int, str]) -> Reached:
    """The weights of an op that have a gradient, and the operands that get one: of a product none of whose other
    factors is 0.
    """
    if isinstance(node, Parameter):
        return _learning((node.weight,)), NONE_READ
    weights, numbers = _learning(node.weights), frozenset(range(len(reads(node))))
    if null or zeros:
        product = factors(node)
        empty = [_is_null(factor, zeros, null) for factor in product]
        for place, factor in enumerate(product):
            if sum(empty) > empty[place]:
                if isinstance(factor, Weight):
                    weights -= {factor.name}
                else:
                    numbers -= {place}
    return weights, numbers


NONE_READ: frozenset[int] = frozenset()


def _is_null(factor: object, zeros: frozenset[str], null: dict[int, str]) -> bool:
    return factor.name in zeros if isinstance(factor, Weight) else getattr(factor, "id", None) in null


def _learning(weights: Iterable[Weight]) -> frozenset[str]:
    return frozenset(weight.name for weight in weights if not weight.frozen)


def _below(name: str, paths: frozenset[str]) -> Iterator[str]:
    return (f"{name}.{path}" if name else path for path in paths)
