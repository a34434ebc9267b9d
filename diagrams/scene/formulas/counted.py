"""Whole numbers made of a padding mask alone, such as the places of what is real: one formula, drawn as one pill."""

from __future__ import annotations

from collections.abc import Sequence

from ....compiler.graph.nodes import Apply
from ....compiler.graph.traits import Pointwise, Running
from ....compiler.graph.values import Scalar
from ....compiler.sizes.axes import Axis
from ..tensors import Learned, Tensor
from .symbolic import Symbolic, leaf_of


def counted(node: Apply, items: Sequence[Tensor | Symbolic | Learned], axes: tuple[Axis, ...]) -> Symbolic | None:
    """The formula of such an op, over one axis; None where its numbers, or its operands, are others."""
    args = [leaf_of(item) if isinstance(item, Tensor) and item.boolean_input else item for item in items]
    if node.out.type.element is not Scalar.INT or node.mask is not None or node.options or len(axes) != 1:
        return None
    if not isinstance(node.traits.reads, Pointwise | Running) or node.traits.random:
        return None
    formulas = tuple(a for a in args if isinstance(a, Symbolic) and all(leaf.boolean_input for leaf in a.leaves))
    if len(formulas) < len(args) or not any(arg.leaves for arg in formulas):
        return None
    return Symbolic(node.op, formulas, made_by=node.traits, text=node.out.name or "", axes=axes)


def is_counted(item: object) -> bool:
    return isinstance(item, Symbolic) and item.data is None and not item.boolean and bool(item.leaves)
