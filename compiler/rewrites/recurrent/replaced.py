"""Calls of blocks in the place of scans: a scan becomes a call that does the same for all items."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from ...graph.nodes import Call, Graph, Scan
from ...sizes.axes import Static
from ..tools.walk import Walk, with_nodes
from .widen import fits, outs_read, starting_numbers

Numbers = Mapping[int, Static]
"""Of states of a scan that begin as a number, which that is: by the place of the input."""


def with_calls(
    graph: Graph,
    held: Callable[[Scan, Numbers], Numbers | None],
    block: Callable[[Scan, Numbers, tuple[int, ...]], Graph | None],
    then: Callable[[Graph], Graph] = lambda graph: graph,
) -> Graph:
    """The graph with calls in the place of scans, here and in all that it calls; of equal scans the block is one.

    held:  the numbers that the block has itself, of those with which states begin, so that the call does not give them;
           None where the scan stays.
    block: what is called, which gives the results that are read; None where the scan stays.
    then:  what is done with a graph that has such calls now.
    """
    made: dict[object, Graph | None] = {}

    def called(graph: Graph, scan: Scan) -> Call | None:
        if not fits(graph, scan) or (numbers := held(scan, starting_numbers(graph, scan))) is None:
            return None
        outs = outs_read(graph, scan)
        orders = tuple(scan.args[place].type.axes for place in scan.steps)
        key = scan.graph, scan.axis, scan.steps, scan.states, scan.axes, tuple(numbers.items()), outs, orders
        if key not in made:
            made[key] = block(scan, numbers, outs)
        found = made[key]
        if found is None:
            return None
        args = tuple(arg for place, arg in enumerate(scan.args) if place not in numbers)
        axes = (*scan.axes, (scan.axis, scan.axis))
        return Call(found, scan.name, args, tuple(scan.outs[place] for place in outs), axes, scan.consts, scan.span)

    def step(_: Graph, new: Graph) -> Graph:
        changed = with_nodes(new, ((isinstance(node, Scan) and called(new, node)) or node for node in new.nodes))
        return new if changed is new else then(changed)

    return Walk(step)(graph)
