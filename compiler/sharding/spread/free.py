"""Free values: what does not depend on weights is made anew, whole or a part, where it is needed; nothing is sent."""

from __future__ import annotations

from dataclasses import replace

from ...graph.nodes import Apply, Constant, Positions, reads
from ...graph.traits import Anything, Arrange, IndexMap, Pointwise, Sum
from ...graph.values import IndexInto, Role, Scalar, Type, Value
from ...ops import op_meaning
from ...sizes.axes import Axis
from ..placement import BATCH_AXIS, Placement, loops
from ..sends import OwnFirst
from .growing import GrowingGraph
from .moving import moved
from .splits import splittable


def is_free(here: GrowingGraph, node: Apply) -> bool:
    """Whether a node makes a free value."""
    plain = isinstance(node.traits.reads, Pointwise | Arrange) and not node.traits.random and not node.weights
    return plain and all(value.id in here.free for value in reads(node))


def set_free(here: GrowingGraph, node: Apply | Positions | Constant) -> None:
    """Make its value when it is needed."""
    here.free[node.out.id] = {}
    here.makers[node.out.id] = node


def made(here: GrowingGraph, value: Value, need: Placement) -> Value:
    """A free value, made where it is needed."""
    known = here.free[value.id]
    if need in known:
        return known[need]
    match here.makers.get(value.id):
        case Apply() as node:
            place = tuple(axis if axis and _follows(here, node, axis, m) else None for m, axis in enumerate(need))
            operands = [made(here, each, _before(here, node, each, place)) for each in reads(node)]
            before = tuple(_source(node, axis) for axis in place)
            out = here.new(value, place)
            here.nodes.append(
                replace(
                    node,
                    operands=tuple(operands[: len(node.operands)]),
                    mask=operands[-1] if node.mask is not None else None,
                    axes=here.places.local(node.axes, before),
                    made=here.places.local(node.made, place),
                    out=out,
                )
            )
        case Positions() as node if node.axis in need:
            place = tuple(axis if axis == node.axis else None for axis in need)
            out = _positions_of_part(here, node, place)
        case Positions() | Constant() as node:  # the same in all of the batch
            place, out = tuple(axis if axis == BATCH_AXIS else None for axis in need), value
            here.nodes.append(node)
        case _:
            place, out = next(iter(known.items()))
    known[place] = out
    known[need] = moved(here, value, out, place, need)
    return known[need]


def _positions_of_part(here: GrowingGraph, node: Positions, place: Placement) -> Value:
    """Positions along an axis of which the device has a part: those of the part, and where it begins."""
    mesh = here.places.mesh.axes
    by = tuple(m for m, axis in enumerate(place) if axis is not None)
    (part,) = here.places.local((node.axis,), place)
    first = replace(node.out, id=here.fresh(node.out).id, type=Type(Scalar.INT, ()), role=Role.CONSTANT, name="first")
    own = OwnFirst("own_first", reads=Anything(), by=by, along=tuple((mesh[m].name, mesh[m].size) for m in by))
    within = replace(here.fresh(node.out), type=Type(IndexInto(part), (part,)), name=None)
    out = here.new(node.out, place)
    here.nodes.append(Apply(own, (), first, axes=(part,)))
    here.nodes.append(Positions(part, within))
    here.nodes.append(Apply(op_meaning(Sum((1, 1))), (within, first), out, span=out.span))
    return out


def _follows(here: GrowingGraph, node: Apply, axis: Axis, m: int) -> bool:
    """Whether a part of the result along the axis is made of parts of the operands."""
    if isinstance(node.traits.reads, Arrange) and axis in node.made:
        return node.traits.reads.map is IndexMap.SAME or node.traits.reads.map is IndexMap.NEW
    return axis not in node.axes and splittable(node, axis, m, here.places.claims)


def _source(node: Apply, axis: Axis | None) -> Axis | None:
    """The axis of the operand whose parts those along `axis` of the result are."""
    if axis in node.made and isinstance(node.traits.reads, Arrange) and node.axes:
        return node.axes[0]
    return axis


def _before(here: GrowingGraph, node: Apply, operand: Value, work: Placement) -> Placement:
    """Where an operand is needed for a result that is made as `work`."""
    have = loops(operand)
    sources = (_source(node, axis) for axis in work)
    found = tuple(axis if axis in have else None for axis in sources)
    batch = here.places.batched(operand)
    return tuple(b if a is None and work[m] == b else a for m, (a, b) in enumerate(zip(found, batch, strict=True)))
