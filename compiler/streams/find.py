"""Finds the streaming regions of one graph, and what keeps others from streaming.

For each width: its *wide* values are those that vary along it and are larger than all that they are made of, such as
scores. A reduction over the width of a wide value is a candidate. From there back, all wide values must be pointwise
along the width; forward, they must end in folds. Whatever breaks that is the op in the way. Candidates that share a
wide value are one region. Nested graphs are opaque: what they make is read from memory (`opened` of open.py brings
blocks without weights in first).
"""

from __future__ import annotations

from ..graph.nodes import Apply, Graph
from .along import Along, multiplies, reduced
from .region import Refusal, StreamingRegion, Streams, is_table, varies
from .tile import InTheWay, RegionBuilder


def find(graph: Graph) -> Streams:
    """The streaming regions of a graph, in the order of their first folds, and what does not stream."""
    widths = dict.fromkeys(axis for node in graph.nodes for axis in reduced(node) if axis.is_width)
    found = [_region(along, seeds) for axis in widths for along in [Along(graph, axis)] for seeds in along.groups()]
    order = {id(node): place for place, node in enumerate(graph.nodes)}
    regions = [one for one in found if isinstance(one, StreamingRegion) and _saves(one)]
    kept = [one for one in regions if not any(_within(one, other) for other in regions if other is not one)]
    kept.sort(key=lambda region: order[id(region.folds[0].node)])
    return Streams(tuple(kept), tuple(one for one in found if isinstance(one, Refusal)))


def _region(along: Along, seeds: list[Apply]) -> StreamingRegion | Refusal:
    """The region of these reductions, or what is in the way."""
    try:
        return RegionBuilder(along, seeds).region()
    except InTheWay as way:
        return Refusal(along.axis, way.node, way.why, tuple(seeds))


def _saves(region: StreamingRegion) -> bool:
    """Whether something of it is larger than what it reads: a product of keys and queries is, for one."""
    folds = {id(fold.node) for fold in region.folds}
    made = [node.out for node in region.inside if isinstance(node, Apply) and id(node) not in folds]
    large = [value for value in made if not is_table(value)]
    moving = [{*item.axes} for item in region.inputs if item.moves and not item.lookup]
    product = any(multiplies(node) for node in region.inside if id(node) not in folds)
    return product or any(all(not {*varies(value)} <= axes for axes in moving) for value in large)


def _within(region: StreamingRegion, other: StreamingRegion) -> bool:
    """Whether another region does it for each of its tiles, so that it needs no loop of its own."""
    mine, others = ({id(node) for node in one.inside} for one in (region, other))
    return id(region.folds[0].node) in others and id(other.folds[0].node) not in mine
