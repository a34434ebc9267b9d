"""How many rows the experts of a device are given."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from ...cost.polynomials.polynomial import ZERO, Poly
from ...cost.work import BATCH_SIZE, Meter
from ...graph.nodes import Apply, Call, Graph, Repeat
from ...graph.values import IndexInto
from ...ops.internal import DISPATCH
from ...sizes.axes import Axis
from ..sends import SHARE, Collective


@dataclass(frozen=True, slots=True)
class ExpertLoad:
    """The rows that the experts of a device are given in one pass.

    path:   of the block that they are in. even: if all devices are given as many. most: if all items pick its experts.
    counts: the bytes that a device gives so that all know how many there are.
    """

    path: str
    even: Poly
    most: Poly
    counts: Poly


def loads(graph: Graph, meter: Meter, devices: Sequence[int], path: str = "") -> Iterator[ExpertLoad]:
    """Of a counted graph, each block once. devices: how many each axis of the mesh has."""
    for node in graph.nodes:
        match node:
            case Apply(traits=traits) if traits is DISPATCH and SHARE in node.options:
                yield _load(graph, node, meter, devices, path)
            case Call():
                inner = replace(meter, scope=meter.scope.inside(node))
                yield from loads(node.graph, inner, devices, f"{path}.{node.name}".strip("."))
            case Repeat():
                for body in node.bodies:
                    yield from loads(body, meter, devices, f"{path}.{node.name}".strip("."))
            case _:
                pass


def _load(graph: Graph, node: Apply, meter: Meter, devices: Sequence[int], path: str) -> ExpertLoad:
    plan, items, counts = node.out, meter.scope.product(node.axes) * BATCH_SIZE, ZERO
    for one in graph.nodes:  # rows of other devices
        if isinstance(one, Apply) and isinstance(one.traits, Collective) and one.operands[0].id == plan.id:
            counts = counts + meter.bytes(one.operands[0])
            plan, items = one.out, items * devices[one.traits.mesh]
    rows: Axis = node.out.type.axes[0]
    assert isinstance(plan.type.element, IndexInto)
    experts, picks = meter.scope.size(plan.type.element.axis), meter.scope.product(node.made)
    most = min(experts, picks, key=lambda each: each.at(meter.values))  # no item picks an expert twice
    return ExpertLoad(path, meter.scope.size(rows) * BATCH_SIZE, items * most, counts)
