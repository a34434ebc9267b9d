"""Which weights a gradient reaches."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache

from ..core.flow import Answer, Flow, Here, Leaf
from ..core.index import Nest, Site, path_of
from ..nodes import Apply, Call, Graph, Node, Parameter, Weight, reads, stops_gradient
from ..values import Scalar, is_real


def learned(graph: Graph) -> frozenset[str]:
    """The paths of the weights that a gradient of some result reaches: not of those that are frozen, nor of those whose
    values are only ranked or compared, such as a router's that only says which experts are picked.
    """
    return Learning(stops_gradient).whole(graph)[0]


class Learning(Flow[bool, str]):
    """Backward: of each value whether a gradient comes to it. Found: the paths of the weights that one reaches.

    ends: whether no gradient goes through a node to its operands.
    """

    nothing = False
    backward = True
    each_pass = True

    def __init__(self, ends: Callable[[Node], bool]) -> None:
        super().__init__()
        self.ends = ends

    def whole(self, graph: Graph) -> tuple[frozenset[str], tuple[bool, ...]]:
        """The paths of the weights that gradients of its results reach, and whether they reach each of its inputs."""
        return self.from_results(graph, (True,) * len(graph.outputs))

    def from_results(self, graph: Graph, used: Sequence[bool]) -> tuple[frozenset[str], tuple[bool, ...]]:
        """The same where only some of the results are used."""
        real = [wanted and is_real(output.value) for output, wanted in zip(graph.outputs, used, strict=True)]
        answer = self.of(graph, real)
        reached = (used and is_real(entry.value) for used, entry in zip(answer.values, graph.inputs, strict=True))
        return frozenset(answer.found), tuple(reached)

    def join(self, one: bool, other: bool) -> bool:
        return one or other

    def inside(self, node: Nest, here: Here[bool], number: int | None = None) -> Site:
        """What its axes and consts stand for makes no difference."""
        return here.site

    def outward(self, node: Nest, number: int | None, found: tuple[str, ...]) -> tuple[str, ...]:
        prefix = path_of(node, number)
        return tuple(prefix + path for path in found) if prefix else found

    def unknown(self, node: Call, given: tuple[bool, ...], here: Here[bool]) -> Answer[bool, str]:
        return _everything(len(node.args), True in given)

    def through(self, node: Leaf, given: tuple[bool, ...], here: Here[bool]) -> Answer[bool, str]:
        reached = given[0] and node.out.type.element is Scalar.REAL and not self.ends(node)
        if isinstance(node, Apply):
            answer = _everything(len(reads(node)), reached)
            return Answer(answer.values, _learning(node.weights)) if reached and node.weights else answer
        return Answer((), _learning((node.weight,))) if reached and isinstance(node, Parameter) else _everything(0)


@cache
def _everything(number: int, reached: bool = False) -> Answer[bool, str]:
    """What is no real is taken to be reached, too: it makes no real through which a gradient comes to it."""
    return Answer((reached,) * number)


def _learning(weights: tuple[Weight, ...]) -> tuple[str, ...]:
    return tuple(weight.name for weight in weights if not weight.frozen)
