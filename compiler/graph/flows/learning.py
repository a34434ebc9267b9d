"""Which weights a gradient reaches."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ..core.flow import Answer, Flow, Here, Leaf
from ..core.index import Nest, Site, path_of
from ..nodes import Call, Graph, Node, reads, stops_gradient, weights_of
from ..values import is_real


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
        return frozenset(answer.found), answer.values

    def join(self, one: bool, other: bool) -> bool:
        return one or other

    def inside(self, node: Nest, here: Here[bool]) -> Site:
        """What its axes and consts stand for makes no difference."""
        return here.site

    def outward(self, node: Nest, number: int | None, found: tuple[str, ...]) -> tuple[str, ...]:
        prefix = path_of(node, number)
        return tuple(prefix + path for path in found) if prefix else found

    def unknown(self, node: Call, given: tuple[bool, ...], here: Here[bool]) -> Answer[bool, str]:
        return Answer(tuple(any(given) and is_real(value) for value in node.args))

    def through(self, node: Leaf, given: tuple[bool, ...], here: Here[bool]) -> Answer[bool, str]:
        if not given[0] or self.ends(node):
            return Answer((False,) * len(reads(node)))
        found = (weight.name for weight in weights_of(node) if not weight.frozen)
        return Answer(tuple(map(is_real, reads(node))), tuple(found))
