"""A graph made ready: regions lie in one graph each, with the masks and biases that are made of positions.

What it computes stays the same, but for rounding. Blocks without weights that hold a candidate, or make what is as
large as one (masks, biases), stand where they are called (`rewrites/simplify/inline`); tables that a caller makes are
made where they are used (`rewrites/streaming/sink`), and what a block with weights looks up for each pair is looked up
by who calls it (`rewrites/streaming/part`); contractions of several softmaxes are one of each
(`rewrites/streaming/spread`); dropout of nothing is left out (`rewrites/streaming/undrop`); what is made twice is made
once.
"""

from __future__ import annotations

from ..graph.nodes import Graph, children
from ..rewrites.simplify.inline import open_blocks
from ..rewrites.simplify.merge import merge
from ..rewrites.streaming.part import part
from ..rewrites.streaming.sink import sink
from ..rewrites.streaming.spread import spread
from ..rewrites.streaming.undrop import undrop
from .find import find
from .region import varies


def prepared(graph: Graph) -> Graph:
    """The graph in which `find` sees all that streams."""
    known: dict[int, tuple[Graph, bool]] = {}

    def has(one: Graph) -> bool:
        """Whether anything in it, or in what it calls, streams or might."""
        if id(one) not in known:
            found = find(one)
            inner = (child for node in one.nodes for child in children(node))
            known[id(one)] = one, bool(found.regions or found.refusals) or any(map(has, inner))
        return known[id(one)][1]

    def opens(block: Graph) -> bool:
        return has(block) or any(sum(axis.is_width for axis in varies(one.value)) > 1 for one in block.outputs)

    return merge(sink(spread(undrop(open_blocks(part(open_blocks(graph, opens)), opens))), has))
