"""Finds the streaming regions of one graph, and what keeps others from streaming.

For each width: its *wide* values are those that vary along it and are larger than all that they are made of, such as
scores. A reduction over the width of a wide value is a candidate. From there back, all wide values must be pointwise
along the width; forward, they must end in folds. Whatever breaks that is the op in the way. Candidates that share a
wide value are one region. Nested graphs are opaque: what they make is read from memory (`prepared` of prepare.py brings
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
    found: list[tuple[RegionBuilder, StreamingRegion]] = []
    refusals: list[Refusal] = []
    for along in (Along(graph, axis) for axis in widths):
        for seeds in along.groups():
            try:
                builder = RegionBuilder(along, seeds)
                found.append((builder, builder.region()))
            except InTheWay as way:
                refusals.append(Refusal(along.axis, way.node, way.why, tuple(seeds)))
    found = [one for one in found if _saves(one[1])]
    kept = [
        one
        for place, one in enumerate(found)
        if not any(_within(one[1], other[1], at < place) for at, other in enumerate(found) if at != place)
    ]
    order = {id(node): place for place, node in enumerate(graph.nodes)}
    regions: list[StreamingRegion] = []
    claimed: set[int] = set()
    for builder, _ in sorted(kept, key=lambda one: -order[id(one[1].folds[-1].node)]):
        regions.append(builder.region(claimed))  # the last one first: what joins two regions is done after it
        claimed |= {id(node) for node in regions[-1].after}
    done = {id(fold.node) for region in regions for fold in region.folds}
    regions.sort(key=lambda region: order[id(region.folds[0].node)])
    return Streams(tuple(regions), tuple(one for one in refusals if not done >= {id(fold) for fold in one.folds}))


def _saves(region: StreamingRegion) -> bool:
    """Whether something of it is larger than what it reads: a product of keys and queries is, for one."""
    folds = {id(fold.node) for fold in region.folds}
    made = [node.out for node in region.inside if isinstance(node, Apply) and id(node) not in folds]
    large = [value for value in made if not is_table(value)]
    moving = [{*item.axes} for item in region.inputs if item.moves and not item.lookup]
    product = any(multiplies(node) for node in region.inside if id(node) not in folds)
    return product or any(all(not {*varies(value)} <= axes for axes in moving) for value in large)


def _within(region: StreamingRegion, other: StreamingRegion, first: bool) -> bool:
    """Whether another region does it, so that it needs no loop of its own: for each of its tiles, or along another
    axis that both reduce, and is `first`.
    """
    mine, others = ({id(node) for node in one.inside} for one in (region, other))
    if id(region.folds[0].node) not in others:
        return False
    return first if id(other.folds[0].node) in mine else True
