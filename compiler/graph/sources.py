"""Which inputs of a graph its results depend on."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from .nodes import Call, Graph, Node, Repeat, Scan, makes, reads

Sources = frozenset[int]  # places of inputs


def sources(graph: Graph, known: dict[Graph, tuple[Sources, ...]] | None = None) -> tuple[Sources, ...]:
    """For each result of a graph, the places of the inputs that it depends on.

    known: answers kept from one question to the next.
    """
    known = {} if known is None else known
    if graph not in known:
        of = {item.value.id: frozenset({place}) for place, item in enumerate(graph.inputs)}
        for node in graph.nodes:
            given = [of[value.id] for value in reads(node)]
            made = [frozenset[int]().union(*(given[place] for place in found)) for found in _within(node, known)]
            of.update(zip((value.id for value in makes(node)), made, strict=True))
        everything = frozenset(range(len(graph.inputs)))
        known[graph] = tuple(of.get(output.value.id, everything) for output in graph.outputs)  # an op of the user's own
    return known[graph]


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


def _within(node: Node, known: dict[Graph, tuple[Sources, ...]]) -> tuple[Sources, ...]:
    """For each value that a node makes, the places among what it reads."""
    match node:
        case Call(graph):
            return sources(graph, known)
        case Repeat(bodies=bodies, carried=carried):
            return over_passes([sources(body, known) for body in bodies], carried)
        case Scan(graph, states=states):
            return over_steps(sources(graph, known), dict(states))
        case _:
            return tuple(frozenset(range(len(reads(node)))) for _ in makes(node))
