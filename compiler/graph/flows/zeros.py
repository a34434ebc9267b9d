"""What is 0 in a graph as long as some weights are: values, each with the path of a weight that makes it so."""

from __future__ import annotations

from collections.abc import Sequence

from ..nodes import Apply, Call, Graph, Node, Parameter, Repeat, Scan, Weight
from ..traits import Arrange, Combination, Function, Gather, Pointwise, Product, Quotient, Reduce, Sum
from ..values import Value, is_real
from .flow import Forward

NONE: frozenset[str] = frozenset()
Given = tuple[str | None, ...]


def below(paths: frozenset[str], prefix: str) -> frozenset[str]:
    """Those of the paths that begin with a name, without it."""
    if not prefix or not paths:
        return paths
    return frozenset(path[len(prefix) + 1 :] for path in paths if path.startswith(f"{prefix}."))


def prefix_of(node: Node) -> str:
    """What stands before the names of weights in what a node runs, with `*` for the number of a pass; "" if nothing."""
    match node:
        case Repeat():
            return node.prefix.removesuffix(".") if node.shared else f"{node.name}.*"
        case Call() | Scan():
            return node.name
        case _:
            return ""


def factors(node: Apply) -> tuple[Value | Weight, ...]:
    """What an op multiplies, operands first; () where it is no product."""
    match node.traits.reads:
        case Pointwise(Product()):
            return node.operands
        case Reduce(Combination(adds=True), multiplies=True):
            return (*node.operands, *node.weights[:1])
        case _:
            return ()


class Zeros(Forward[str, frozenset[str]]):
    """Graphs forward: of each value that is 0 the path of a weight that makes it so. `here` has the paths of those that
    are. Of what is not known it says that it is not 0.
    """

    def __init__(self) -> None:
        super().__init__(NONE)

    def of(self, graph: Graph, zeros: frozenset[str], given: Given) -> dict[int, str]:
        """The ids of the values that are 0, each with the path of a weight that makes it so.

        zeros: the paths of weights that are; given: of each input such a path, or None.
        """
        self.here = zeros
        return self.known(graph, given)

    def of_passes(self, node: Repeat, zeros: frozenset[str], null: dict[int, str]) -> Given:
        """What of the inputs of a repeat's bodies is 0 in every pass."""
        self.here = zeros
        return self.rounds(node, self.passed(node, null))

    def known(self, graph: Graph, given: Sequence[str | None] = ()) -> dict[int, str]:
        return super().known(graph, given) if self.here or any(given) else {}

    def inside(self, node: Call | Repeat | Scan) -> frozenset[str]:
        return below(self.here, prefix_of(node))

    def holds(self, before: str, after: str | None) -> bool:
        return after is not None

    def left(self, node: Call | Repeat, given: Given, results: Given) -> Given:
        prefix = prefix_of(node)
        return tuple(f"{prefix}.{path}" if path and path not in given and prefix else path for path in results)

    def one(self, node: Node, known: dict[int, str]) -> str | None:
        match node:
            case Parameter(weight=weight) if weight.name in self.here:
                return weight.name
            case Apply() if is_real(node.out):
                return _makes_zero(node, self.here, known)
            case _:
                return None


def _makes_zero(node: Apply, zeros: frozenset[str], null: dict[int, str]) -> str | None:
    """The path of a weight that makes the result 0."""
    own = {weight.name for weight in node.weights} & zeros
    product = factors(node)
    if product:
        if any(bias.name not in zeros for bias in node.weights[1:]):
            return None
        names = [factor.name if factor.name in own else None for factor in product if isinstance(factor, Weight)]
        return next((path for path in (*(null.get(v.id) for v in node.operands), *names) if path is not None), None)
    if node.weights:
        return None
    match node.traits.reads:
        case Pointwise(Sum()) | Arrange() | Reduce(Combination(adds=True)):
            needed = node.operands
        case Pointwise(Quotient(whole=False) | Function(zero=True)) | Gather():
            needed = node.operands[:1]
        case _:
            return None
    paths = [null.get(value.id) for value in needed]
    return paths[0] if paths and all(path is not None for path in paths) else None
