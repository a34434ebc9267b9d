"""What an op takes for granted of the extents of its axes: proved when the code is made, else checked when it runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ..compiler.axes import Axis
from ..compiler.graph import Apply
from ..compiler.sizes import at_most, difference, substitute
from ..compiler.static import Arith, Literal, SizeOf, Static

Claim = tuple[Static, str, Static]  # left, "==" or "<=", right


def claim_of(node: Apply) -> Claim | None:
    """What must hold for the op to have the result that the checker says it has."""
    match node.op:
        case "split":
            return SizeOf(node.axes[0]), "==", _joined("*", node.made)
        case "merge":
            return SizeOf(node.made[0]), "==", _joined("*", node.axes)
        case "concat":
            return SizeOf(node.made[0]), "==", _joined("+", node.axes)
        case "topk":
            return SizeOf(node.made[0]), "<=", SizeOf(node.axes[0])
        case "pad":
            short, left = SizeOf(node.axes[0]), node.options["left"]
            return short if left == Literal(0) else Arith("+", (short, left)), "<=", SizeOf(node.made[0])
        case _:
            return None


def _joined(op: str, axes: Sequence[Axis]) -> Static:
    whole: Static = SizeOf(axes[0])
    for axis in axes[1:]:
        whole = Arith(op, (whole, SizeOf(axis)))
    return whole


def holds(claim: Claim, axes: Mapping[Axis, Axis]) -> bool:
    """Whether it surely holds where a class is used with these axes in place of its own."""
    left, relation, right = claim
    own = {axis.id: other for axis, other in axes.items()}
    left, right = substitute(left, own, {}), substitute(right, own, {})
    gap = difference(left, right)
    if relation == "==" or not gap:
        return not gap
    # `at_most` takes it that there are items; of none the gap is what does not hang on a size.
    return at_most(left, right) and gap.get((), 0) <= 0
