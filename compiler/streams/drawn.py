"""The graph of a model with each of its streaming regions as a block of its own: for figures."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from ...dsl.base.records import replace
from ..graph.core.index import index_of
from ..graph.nodes import Apply, Call, Constant, Graph, Input, Output, Positions, makes
from ..rewrites.simplify.dead import alive
from ..rewrites.tools.order import in_order
from ..rewrites.tools.walk import Walk
from ..sizes.axes import Axis, ConstOf, Static, axes_in, consts_in
from .region import StreamingRegion
from .report import RegionCost, StreamReport, refusal_text, too_large


class NothingStreams(ValueError):
    """There is nothing to draw; the message says why."""


@dataclass(frozen=True)
class DrawnLoop:
    """A region as figures show it, in the axes of its graph.

    streamed: the axis that the loop runs along.
    tiles:    how many items of an axis are on the chip at once, of that one and of those that partition; empty where
              calls of one graph have unlike tiles.
    kept:     the names of its state; what several folds have is numbered: m_1, m_2.
    says:     what stands behind the streamed axis: "streams, 64 at a time".
    looked:   of inputs, by the ids of their values, those that items are looked up in: they stay where they are.
    """

    streamed: Axis
    tiles: Mapping[Axis, int]
    kept: tuple[str, ...]
    looked: frozenset[int]
    says: str


@dataclass(frozen=True)
class DrawnStreams:
    """loops: what is told of each graph of kind "loop" in `graph`."""

    graph: Graph
    loops: Mapping[Graph, DrawnLoop]
    device: str


def with_loops(found: StreamReport) -> DrawnStreams:
    """The prepared graph, its regions as calls of graphs of kind "loop". Raises NothingStreams, which says why.

    A region of which no tiles fit the device stays as it is. What one does after its loop stays in the graph around it,
    as in the bytes that a report counts.
    """
    fit = [one for one in found.regions if one.traffic is not None]
    if not fit:
        why = [refusal_text(refusal) for _, refusal in found.refusals]
        why += [f"no tiles fit {found.device.name}: {too_large(one.region)}" for one in found.regions]
        lines = dict.fromkeys(why or ["nothing that is reduced over a width is larger than what it is made of"])
        raise NothingStreams(
            f"nothing of {found.cost.name} streams, so there are no levels of memory to draw"
            + "".join(f"\n  {line}" for line in lines)
        )
    regions: dict[int, dict[int, list[RegionCost]]] = {}
    for one in fit:
        at = regions.setdefault(id(one.place.graph), {})
        at.setdefault(id(one.region.folds[0].node), []).append(one)
    loops: dict[Graph, DrawnLoop] = {}

    def enclosed(old: Graph, new: Graph) -> Graph:
        for alike in regions.get(id(old), {}).values():
            region = alike[0].region
            inner = _block(new, region)
            loops[inner] = _loop(alike)
            new = _calling(new, inner, region)
        return new

    return DrawnStreams(Walk(enclosed)(found.graph), loops, found.device.name)


def _loop(alike: list[RegionCost]) -> DrawnLoop:
    """Of one region, wherever its graph is called."""
    region, known = alike[0].region, [one.traffic for one in alike if one.traffic is not None]
    says, tiles = "streams", dict[Axis, int]()
    if len({(it.tile, it.step) for it in known}) == 1:
        says += f", {known[0].step} at a time"
        if region.stored:
            says += ", in two walks"
        tiles = {axis: known[0].tile if axis == region.rows else 1 for axis in region.partitioned}
        tiles[region.streamed] = known[0].step
    return DrawnLoop(
        region.streamed,
        tiles,
        _numbered([number.name for fold in region.folds for number in fold.rule.state]),
        frozenset(item.value.id for item in region.inputs if item.lookup),
        says,
    )


def _numbered(names: list[str]) -> tuple[str, ...]:
    of, seen = Counter(names), Counter[str]()
    found = []
    for name in names:
        seen[name] += 1
        found.append(f"{name}_{seen[name]}" if of[name] > 1 else name)
    return tuple(found)


def _block(graph: Graph, region: StreamingRegion) -> Graph:
    nodes = in_order((*region.before, *region.inside))
    inside = {id(node) for node in region.inside}
    index, folds = index_of(graph), [fold.node.out for fold in region.folds]
    results = [
        out for out in folds if out.id in index.returned or any(id(node) not in inside for node in index.takers(out))
    ]
    kept = {id(node) for node in nodes}
    inputs = [item.value for item in region.inputs if any(id(node) in kept for node in index.takers(item.value))]
    axes = dict.fromkeys(axis for value in inputs for axis in value.type.axes)
    statics: list[Static] = []
    for node in nodes:
        axes |= dict.fromkeys(axis for out in makes(node) for axis in out.type.axes)
        match node:
            case Constant(value):
                statics.append(value)
            case Positions(axis):
                axes.setdefault(axis)
            case Apply():
                axes |= dict.fromkeys((*node.axes, *node.made))
                statics += node.options.values()
            case _:
                raise AssertionError(f"{type(node).__name__} does not stream")
    axes |= dict.fromkeys(axis for static in statics for axis in axes_in(static))
    consts = dict.fromkeys(const for static in statics for const in consts_in(static))
    return Graph(
        f"over_{region.streamed.name}", "loop", tuple(axes), len(axes), tuple(consts), (),
        tuple(Input(value.name or f"x{at}", value) for at, value in enumerate(inputs)), tuple(nodes),
        tuple(Output(value.name, value, value.type.axes) for value in results),
        display=f"loop over {region.streamed.name}",
    )  # fmt: skip


def _calling(graph: Graph, inner: Graph, region: StreamingRegion) -> Graph:
    args, outs = (tuple(entry.value for entry in some) for some in (inner.inputs, inner.outputs))
    axes, consts = tuple((axis, axis) for axis in inner.axes), tuple((const, ConstOf(const)) for const in inner.consts)
    call = Call(inner, "", args, outs, axes, consts, region.folds[0].node.span)
    gone = {out.id for out in outs}
    kept = [node for node in graph.nodes if not any(out.id in gone for out in makes(node))]
    return alive(replace(graph, nodes=tuple(in_order([*kept, call]))))
