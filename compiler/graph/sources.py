"""Which inputs of a graph its results depend on."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from .core.flow import Answer, Flow, Here, Leaf
from .nodes import Graph

Sources = frozenset[int]  # places of inputs


class Dependence(Flow[Sources, object]):
    """Forward: of each value the places of the inputs that it depends on, be it that a repeat has no pass, or many."""

    nothing: Sources = frozenset()
    last_pass = False

    def join(self, one: Sources, other: Sources) -> Sources:
        return one | other

    def through(self, node: Leaf, given: tuple[Sources, ...], here: Here[Sources]) -> Answer[Sources, object]:
        return Answer((self.nothing.union(*given),))

    def of_results(self, graph: Graph) -> tuple[Sources, ...]:
        """For each result of a graph."""
        return self.of(graph, [frozenset({place}) for place in range(len(graph.inputs))]).values


def over_steps(of: tuple[Sources, ...], states: Mapping[int, int]) -> tuple[Sources, ...]:
    """The same of a scan, for what its block's results depend on: `states` says of an argument which result is its
    next value.
    """
    found = list(of)
    while True:
        more = [one.union(*(found[states[place]] for place in one if place in states)) for one in found]
        if more == found:
            return tuple(found)
        found = more


def over_passes(bodies: Iterable[tuple[Sources, ...]], carried: int) -> tuple[Sources, ...]:
    """The same of a repeat, for what the results of its bodies depend on: whichever of them ran before, or none."""
    own = (frozenset({place}) for place in range(carried))
    of = tuple(one.union(*found) for one, *found in zip(own, *bodies, strict=True))
    return over_steps(of, {place: place for place in range(carried)})
