"""How evenly work is spread over the devices of a mesh."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import dataclass, replace

from ...cost.bill import REALS
from ...cost.report import Cost
from ...cost.walk import CostWalk, Part
from ...graph.nodes import Apply, Constant, Graph, Node, ops_in
from ...rewrites.tools.walk import Walk
from ...sizes.axes import Arith, Literal, SizeOf, Static
from ..mesh import Mesh
from ..sends import OwnFirst

COUNTED = 16  # devices along such axes, at most: of more, as many from the first to the last


@dataclass(frozen=True)
class DeviceWork:
    """part:      the bill of the device that does most, its masks as they are there.
    behind:    the mesh axes along which devices do not all do as much: what a mask keeps for the items of each differs.
    imbalance: how many times as much as the mean that one does.
    """

    part: Part
    behind: tuple[str, ...] = ()
    imbalance: float = 1.0


def device_work(cost: Cost, mesh: Mesh) -> DeviceWork:
    """The work of the devices of a mesh. cost: of one of them, wherever it is.

    Where a device has a part of a sequence, a mask keeps what it keeps for the items of that part. Everything else that
    is split is split evenly, but for items that pick experts, of which nothing is known here.
    """
    own = [node for node in ops_in(cost.graph) if isinstance(node.traits, OwnFirst) and node.axes[0].is_width]
    along = sorted({m for node in own if isinstance(node.traits, OwnFirst) for m in node.traits.by})
    if not along:
        return DeviceWork(cost.part)

    def part(place: Mapping[int, int]) -> Part:
        walk = CostWalk(cost.values, REALS[cost.dtype])
        return walk.run(placed_at(cost.graph, place, mesh), cost.scope)[0]

    def work(part: Part) -> float:
        return float((part.work.kept + part.work.kept_back).at(cost.values))

    first = dict.fromkeys(along, 0)
    parts = [part(first)]
    ends = {m: {mesh.axes[m].size // 2, mesh.axes[m].size - 1} - {0} for m in along}
    uneven = [m for m in along if any(work(part({**first, m: at})) != work(parts[0]) for at in sorted(ends[m]))]
    every = list(itertools.product(*(range(mesh.axes[m].size) for m in uneven)))
    if len(every) > COUNTED:
        every = [every[n * (len(every) - 1) // (COUNTED - 1)] for n in range(COUNTED)]
    parts += [part({**first, **dict(zip(uneven, place, strict=True))}) for place in every[1:]]
    works = [work(each) for each in parts]
    most = max(range(len(parts)), key=works.__getitem__)
    mean = sum(works) / len(works)
    return DeviceWork(parts[most], tuple(mesh.axes[m].name for m in uneven), works[most] / mean if mean else 1.0)


def placed_at(graph: Graph, place: Mapping[int, int], mesh: Mesh) -> Graph:
    """The graph of the device at this place along axes of the mesh: it knows where its items begin."""

    def known(node: Node) -> Node:
        if (
            not isinstance(node, Apply)
            or not isinstance(node.traits, OwnFirst)
            or not place.keys() >= {*node.traits.by}
        ):
            return node
        number = 0
        for m in node.traits.by:
            number = number * mesh.axes[m].size + place[m]
        first: Static = Arith("*", (Literal(number), SizeOf(node.axes[0])))
        return Constant(first, node.out)

    return Walk(lambda _, new: replace(new, nodes=tuple(map(known, new.nodes))))(graph)
