"""What gradients still reach as long as some weights are 0: a factor that is 0 keeps them from all others."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from ....dsl.base.records import record
from ....dsl.source import Span
from ..core.flow import Answer, Flow, Here, Leaf
from ..core.index import Nest, Site, below, path_of
from ..nodes import Apply, Call, Graph, Node, Scan, weights_of
from ..traits import Arrange, Combination, Function, Gather, Pointwise, Product, Quotient, Reduce, Sum
from ..values import is_real

UP = "../"  # before the path of a weight: it is one of the graph around
Null = str | None
"""The path of a weight that makes a value 0, if one does."""


class ZeroProduct(NamedTuple):
    """A product that is 0. by: the weights that make factors so; zeros: how many factors are."""

    span: Span | None
    by: tuple[str, ...]
    zeros: int


@record
class Moved:
    """null: whether a value is 0, and by which weight. by: the paths of the weights that move it."""

    null: Null = None
    by: frozenset[str] = frozenset()


@record
class WithZeros(Site):
    """A graph while some of its weights are 0: their paths, with `*` for the number of a pass."""

    zeros: frozenset[str] = frozenset()


class Moving(Flow[Moved, ZeroProduct]):
    """Forward. Of what is not known it says that it is not 0. Found: products of which a factor is.

    ends: whether no gradient goes through a node to its operands.
    """

    nothing = Moved()
    each_pass = True

    def __init__(self, ends: Callable[[Node], bool]) -> None:
        super().__init__()
        self.ends = ends

    def whole(self, graph: Graph, zeros: frozenset[str]) -> tuple[frozenset[str], tuple[ZeroProduct, ...]]:
        """The paths of the weights that gradients of its results reach, and the products that are 0."""
        answer = self.of(graph, (self.nothing,) * len(graph.inputs), WithZeros(zeros=zeros))
        real = (one.by for one, output in zip(answer.values, graph.outputs, strict=True) if is_real(output.value))
        return frozenset[str]().union(*real), answer.found

    def join(self, one: Moved, other: Moved) -> Moved:
        return Moved(None if other.null is None else one.null, one.by | other.by)

    def inside(self, node: Nest, here: Here[Moved], number: int | None = None) -> Site:
        return WithZeros(zeros=below(_zeros(here), path_of(node)))

    def entering(self, node: Nest, given: tuple[Moved, ...], here: Here[Moved], inner: Graph) -> tuple[Moved, ...]:
        return tuple(_renamed(node, one, lambda path: UP + path) for one in given)

    def leaving(self, node: Nest, made: tuple[Moved, ...], here: Here[Moved], inner: Graph) -> tuple[Moved, ...]:
        prefix = path_of(node)
        return tuple(
            _renamed(node, one, lambda path: path[len(UP) :] if path.startswith(UP) else prefix + path) for one in made
        )

    def unknown(self, node: Call, given: tuple[Moved, ...], here: Here[Moved]) -> Answer[Moved, ZeroProduct]:
        by = frozenset[str]().union(*(one.by for one in given))
        return Answer(tuple(Moved(by=by) if is_real(out) else self.nothing for out in node.outs))

    def through(self, node: Leaf, given: tuple[Moved, ...], here: Here[Moved]) -> Answer[Moved, ZeroProduct]:
        if not is_real(node.out):
            return Answer((self.nothing,))
        zeros = _zeros(here)
        own = tuple(
            Moved(one.name if one.name in zeros else None, frozenset(() if one.frozen else {one.name}))
            for one in weights_of(node)
        )
        if not isinstance(node, Apply):
            return Answer(own or (self.nothing,))
        operands, mask = given[: len(node.operands)], given[len(node.operands) :]
        empty = [one.null for one in _factors(node, operands, own)]
        number = sum(path is not None for path in empty)
        by = [
            one.by
            for place, one in enumerate((*operands, *own, *mask))
            if place >= len(empty) or number == (empty[place] is not None)  # no other factor is 0
        ]
        made = Moved(_null(node, operands, own, empty), frozenset[str]().union(*(() if self.ends(node) else by)))
        names = dict.fromkeys(path.replace(UP, "") for path in empty if path is not None)
        return Answer((made,), (ZeroProduct(node.span, tuple(names), number),) if number else ())


def _zeros(here: Here[Moved]) -> frozenset[str]:
    return here.site.zeros if isinstance(here.site, WithZeros) else frozenset()


def _renamed(node: Nest, one: Moved, path: Callable[[str], str]) -> Moved:
    """In a scan, nothing is known to be 0."""
    null = None if one.null is None or isinstance(node, Scan) else path(one.null)
    return Moved(null, frozenset(map(path, one.by)))


def _factors(node: Apply, operands: tuple[Moved, ...], weights: tuple[Moved, ...]) -> tuple[Moved, ...]:
    """What an op multiplies; () where it is no product."""
    match node.traits.reads:
        case Pointwise(Product()):
            return operands
        case Reduce(Combination(adds=True), multiplies=True):
            return (*operands, *weights[:1])
        case _:
            return ()


def _null(node: Apply, operands: tuple[Moved, ...], weights: tuple[Moved, ...], factors: Sequence[Null]) -> Null:
    """The path of a weight that makes the result 0."""
    if factors:
        biased = any(bias.null is None for bias in weights[1:])
        return None if biased else next((path for path in factors if path is not None), None)
    if weights:
        return None
    match node.traits.reads:
        case Pointwise(Sum()) | Arrange() | Reduce(Combination(adds=True)):
            needed = operands
        case Pointwise(Quotient(whole=False) | Function(zero=True)) | Gather():
            needed = operands[:1]
        case _:
            return None
    paths = [one.null for one in needed]
    return paths[0] if paths and all(path is not None for path in paths) else None
