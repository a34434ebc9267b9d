"""Along which axes an op can be split: from how it reads its operands."""

from __future__ import annotations

from ...graph.nodes import Apply
from ...graph.traits import Arrange, Combination, Gather, IndexMap, Lookup, Normalise, Pointwise, Reduce
from ...sizes.axes import Axis
from ..placement import Claims


def splittable(node: Apply, axis: Axis, mesh: int, claims: Claims) -> bool:
    """Whether each device can do its part of the items along this axis, but for what is put together behind it."""
    reads = node.traits.reads
    if isinstance(reads, Arrange) and (axis in node.axes or axis in node.made):
        return moves_with(node, reads.map, axis, mesh, claims)
    if axis not in node.axes:
        return axis not in node.made or not isinstance(reads, Reduce) or not reads.indices
    match reads:
        case Gather():
            return node.mask is None and axis not in node.out.type.axes  # there, it is that of the indices
        case Reduce(combination=Combination(adds=True, averages=False)) | Pointwise(Lookup()):
            return True
        case Reduce(combination=Combination(averages=True)):
            return node.mask is None or all(axis in node.mask.type.axes for axis in node.axes)
        case Reduce(combination=Combination()) | Normalise(weights=True):
            return True
        case Reduce(logits=True) | Normalise(squares=Combination()):
            return node.mask is None
        case _:
            return False


def moves_with(node: Apply, map: IndexMap, axis: Axis, mesh: int, claims: Claims) -> bool:
    """Whether items that lie together along `axis` before an arrangement lie together behind it, on the same device."""
    match map:
        case IndexMap.SAME | IndexMap.DIGITS | IndexMap.NUMBER:  # parts of a number are runs of its leading digit
            pair = {*node.axes[:1], *node.made[:1]}
        case IndexMap.NEW:
            return True
        case _:
            return False
    return axis in pair and all(any(claim.mesh == mesh for claim in claims.get(each, ())) for each in pair)


def partner(node: Apply, axis: Axis) -> Axis:
    """The axis of the result whose parts are the parts of that of the operand."""
    if isinstance(node.traits.reads, Arrange) and axis in node.axes and node.made:
        return node.made[0]
    return axis
