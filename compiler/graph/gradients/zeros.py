"""What is 0 in a graph as long as some weights are: values, each with the path of a weight that makes it so."""

from __future__ import annotations

from ..nodes import Apply, Call, Graph, Node, Parameter, Repeat, Weight
from ..traits import Arrange, Combination, Function, Gather, Pointwise, Product, Quotient, Reduce, Sum
from ..values import Value, is_real

NONE: frozenset[str] = frozenset()
Given = tuple[str | None, ...]


def below(paths: frozenset[str], prefix: str) -> frozenset[str]:
    """Those of the paths that begin with a name, without it."""
    if not prefix or not paths:
        return paths
    return frozenset(path[len(prefix) + 1 :] for path in paths if path.startswith(f"{prefix}."))


def body_prefix(node: Repeat) -> str:
    """What stands before the names of weights in the bodies of a repeat, with `*` for the number of the pass."""
    return node.prefix.removesuffix(".") if node.shared else f"{node.name}.*"


def factors(node: Apply) -> tuple[Value | Weight, ...]:
    """What an op multiplies, operands first; () where it is no product."""
    match node.traits.reads:
        case Pointwise(Product()):
            return node.operands
        case Reduce(Combination(adds=True), multiplies=True):
            return (*node.operands, *node.weights[:1])
        case _:
            return ()


class Zeros:
    """Graphs forward, each once for what is 0 in it. Of what is not known it says that it is not 0."""

    def __init__(self) -> None:
        self.done: dict[tuple[int, frozenset[str], Given], dict[int, str]] = {}

    def of(self, graph: Graph, zeros: frozenset[str], given: Given) -> dict[int, str]:
        """The ids of the values that are 0, each with the path of a weight that makes it so.

        zeros: the paths of weights that are; given: of each input such a path, or None.
        """
        if not zeros and not any(given):
            return {}
        key = id(graph), zeros, given
        if key not in self.done:
            null = {entry.value.id: path for entry, path in zip(graph.inputs, given, strict=True) if path is not None}
            self.done[key] = null
            for node in graph.nodes:
                self._node(node, zeros, null)
        return self.done[key]

    def rounds(self, node: Repeat, zeros: frozenset[str], null: dict[int, str]) -> Given:
        """What of the inputs of a repeat's bodies is 0 in every pass."""
        given = tuple(null.get(value.id) for value in node.args)
        inside = below(zeros, body_prefix(node))
        while any(given):
            kept = list(given)
            for body in node.bodies:
                found = self.of(body, inside, given)
                for n, output in enumerate(body.outputs):
                    if output.value.id not in found:
                        kept[n] = None
            if tuple(kept) == given:
                break
            given = tuple(kept)
        return given

    def _node(self, node: Node, zeros: frozenset[str], null: dict[int, str]) -> None:
        match node:
            case Parameter(weight=weight, out=out) if weight.name in zeros:
                null[out.id] = weight.name
            case Apply() if is_real(node.out) and (path := _makes_zero(node, zeros, null)) is not None:
                null[node.out.id] = path
            case Call(graph=graph) if not graph.target:
                given = tuple(null.get(value.id) for value in node.args)
                found = self.of(graph, below(zeros, node.name), given)
                for output, out in zip(graph.outputs, node.outs, strict=True):
                    if output.value.id in found:
                        path = found[output.value.id]
                        own = path not in given and node.name
                        null[out.id] = f"{node.name}.{path}" if own else path
            case Repeat():
                given = self.rounds(node, zeros, null)
                found_in = [self.of(body, below(zeros, body_prefix(node)), given) for body in node.bodies]
                for n, out in enumerate(node.outs):
                    if given[n] is not None and all(
                        body.outputs[n].value.id in found for body, found in zip(node.bodies, found_in, strict=True)
                    ):
                        null[out.id] = given[n] or ""


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
