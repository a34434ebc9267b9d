"""How the operands of fused attention lie where it is done."""

from __future__ import annotations

from ...graph.nodes import Apply
from ...graph.values import Value
from ...sizes.axes import Axis


def operand_axes(node: Apply) -> list[tuple[Value, tuple[Axis, Axis]]]:
    """What fused attention reads, each with the two axes that come last where it is laid out for that."""
    (d, k), (q, v) = node.axes, node.made
    own = [(q, d), (k, d), (k, v)] + [(q, k)] * (len(node.operands) - 3)
    beside = [] if node.mask is None else [(node.mask, (q, k))]
    return [*zip(node.operands, own, strict=True), *beside]
