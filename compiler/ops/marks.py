"""D6: values that sum to one along axes, the weights of an average, and what is done with them."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from ..graph.traits import Function, Pointwise, Quotient
from ..graph.typed_value import TypedValue
from ..graph.values import Role
from ..problems.marks import AveragedElsewhere, AveragedScaled, AveragedWider, NormalisedTwice, ScaledByAnother
from ..sizes.axes import Arith, Axis, SizeOf, axes_in
from .table import OpCall


def check_marks(call: OpCall) -> None:
    """D6: a `dot` that averages must average over the axes along which its weights sum to one, all of them."""
    contracted, axes = set(call.axes), tuple(call.axes)
    place = call.axis_spans[0].to(call.axis_spans[-1]) if call.axis_spans else call.span
    for position, (wire, span) in enumerate(zip(call.operands, call.spans, strict=True)):
        others = [other for index, other in enumerate(call.operands) if index != position]
        if not others or all(other.role <= Role.WEIGHT for other in others):
            continue
        inside = any(other.mark and other.mark <= contracted for other in others)
        if wire.mark and not wire.mark <= contracted and not inside and not any(other.mark_unknown for other in others):
            call.fail(AveragedElsewhere(place, wire, span, axes))
        elif wire.scaled and not wire.scaled & contracted and not inside:
            call.fail(AveragedScaled(place, wire, span, axes))
        elif wire.mark <= contracted:
            covered = wire.mark.union(*(other.mark for other in others if other.mark <= contracted))
            wider = [axis for axis in call.axes if axis.is_width and wire.has(axis) and axis not in covered]
            if wire.mark and wider:
                call.fail(AveragedWider(place, wire, span, axes, tuple(wider)))


def check_scores(call: OpCall) -> None:
    """Warn of weights where scores belong: the softmax of a softmax is nearly flat, and so are its gradients."""
    wire = call.operands[0]
    if not wire.mark & set(call.axes):
        return
    call.fail(NormalisedTwice(call.spans[0], wire, call.op.name))


def check_scale(call: OpCall, a: TypedValue, b: TypedValue) -> None:
    """Warn of scores scaled by the root of a size that is not what they are summed over."""
    if not a.product_of or b.static is None:
        return
    power = 0.5 if call.op.reads == Pointwise(Quotient()) else -0.5
    match b.static:
        case Arith(root, (SizeOf(axis),), meaning=Function(power=p)) if p == power and a.product_of != (axis,):
            if not _make(a.product_of, axis):
                call.fail(ScaledByAnother(call.spans[1], a, axis, root))


def _make(parts: Sequence[Axis], whole: Axis) -> bool:
    """Whether an axis was cut into these: one is sized by it, and together they are as many."""
    sizes = [part.extent for part in parts]
    cut = any(part.size is not None and whole in axes_in(part.size) for part in parts)
    return cut and None not in sizes and prod(size for size in sizes if size is not None) == whole.extent
