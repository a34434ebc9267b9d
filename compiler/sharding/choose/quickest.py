"""Which depths a mesh axis splits best: those that make a step shortest, memory counted."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Set
from dataclasses import replace

from ...cost.bill import sized
from ...cost.polynomials.polynomial import Poly
from ...cost.work import BATCH as ONE_BATCH
from ...cost.work import Meter
from ...graph.inventory import inventory
from ...graph.nodes import Apply, Call, Graph, Node, Repeat
from ...graph.traits import Reduce
from ...sizes.axes import Axis, Number
from ..collectives import passes, sendings
from ..experts.counted import counted
from ..mesh import Indivisible, Mesh, mesh_of
from ..spread import spread
from .roles import free_depths

FLOPS, BYTES = 4e14, 1.5e11  # of a device in a second: what it computes, what it sends to its neighbours
HELD = 18  # bytes for each weight, its gradient and its state: holding them counts as sending them does
BETTER = 0.995  # what one more axis must come to
WIDTH = 8192  # of a free width: what is sent of scores grows with its square, so that none is taken for a short one


def best_splits(graph: Graph, size: int, taken: Set[str], sizes: Mapping[str, Number] | None = None) -> list[str]:
    """The depths whose split over so many devices makes a step shortest, one after another: each must make it shorter.
    taken: axes that others split. sizes: of the model; free widths without are at their bounds, else at `WIDTH`.
    """
    free = {axis.name: WIDTH for axis in sized(graph, sizes)[2] if axis.bound is None}
    scope, values, _ = sized(graph, {**free, **(sizes or {})})
    meter = Meter(scope, 2, {**values, ONE_BATCH: 1})
    left = [*free_depths(graph, taken)]
    chosen: list[str] = []
    best = _seconds(graph, mesh_of({"model": size}, {}), meter)
    assert best is not None
    while left:
        tried = {name: _seconds(graph, mesh_of({"model": size}, {"model": (*chosen, name)}), meter) for name in left}
        able = {name: time for name, time in tried.items() if time is not None}
        if not able:
            break
        name = min(able, key=lambda one: able[one])
        if chosen and able[name] > BETTER * best:
            break  # one is split, whatever it brings: somebody asked for it
        left = [each for each in left if each != name and able.get(each, best) < best]  # what helps no more never does
        best = able[name]
        chosen.append(name)
    return chosen


def _seconds(graph: Graph, mesh: Mesh, meter: Meter) -> float | None:
    """What a step of training takes one device, roughly; None where an axis does not divide."""
    try:
        local = counted(spread(graph, mesh).graph)
    except Indivisible:
        return None
    sent = sum(weight.size for weight in inventory(local).values()) * HELD
    for one in sendings(local, meter, mesh):
        sent += one.times * one.means.sent(int(one.given.at(meter.values)), mesh.axes[one.mesh].size)
    return 6 * multiplied(local.nodes, meter, 1) / FLOPS + sent / BYTES


def multiplied(nodes: Iterable[Node], meter: Meter, times: int) -> float:
    """The multiply-adds of all contractions."""
    found = 0.0
    for node in nodes:
        match node:
            case Apply(traits=traits) if isinstance(traits.reads, Reduce) and traits.reads.multiplies:
                axes: dict[Axis, None] = {}
                for value in (*node.operands, node.out):
                    axes.update(dict.fromkeys(value.type.axes))
                axes.update(dict.fromkeys(node.axes))
                found += times * float(meter.scope.product(axes).at(meter.values))
            case Call():
                found += multiplied(node.graph.nodes, replace(meter, scope=meter.scope.inside(node)), times)
            case Repeat():
                for body, index, runs in passes(node):
                    turn = replace(meter, scope=meter.scope.turn(node.index, Poly.of(index)))
                    found += multiplied(body.nodes, turn, times * runs)
            case _:
                pass
    return found
