"""What is known of a value that the passes of a repeat carry: what holds in all of them."""

from __future__ import annotations

from ....dsl.base.records import replace
from ...graph.typed_value import TypedValue
from ...graph.values import Scalar, Type


def like(end: TypedValue, start: TypedValue) -> TypedValue:
    """What a pass gives, with the broadcast axes of what it takes."""
    kept = tuple(axis for axis in end.type.axes if end.has(axis) or axis in start.type.axes)
    more = tuple(axis for axis in start.type.axes if axis in start.type.broadcast_axes and axis not in kept)
    if kept == end.type.axes and not more:
        return end
    broadcast_axes = (end.type.broadcast_axes & set(kept)) | set(more)
    return replace(end, type=Type(end.element, (*kept, *more), broadcast_axes))


def join(a: TypedValue, b: TypedValue) -> TypedValue:
    """What is known of a carried value that may be either of two."""
    element = a.element
    if a.element is Scalar.INT and b.element is Scalar.REAL:
        element = Scalar.REAL
    broadcast_axes = frozenset(a.type.broadcast_axes & b.type.broadcast_axes)
    return replace(
        a,
        type=Type(element, a.type.axes, broadcast_axes),
        role=max(a.role, b.role),
        mark=a.mark if a.mark == b.mark else frozenset(),
        scaled=a.scaled if a.scaled == b.scaled else frozenset(),
        mark_unknown=a.mark_unknown and b.mark_unknown,
    )


def marked_as(wire: TypedValue, other: TypedValue) -> TypedValue:
    """A value with the marks of another, and the place where that one gets them."""
    return replace(wire, mark=other.mark, scaled=other.scaled, mark_unknown=other.mark_unknown, span=other.span)


def same(a: TypedValue, b: TypedValue) -> bool:
    return (a.type, a.role, a.mark, a.type.broadcast_axes) == (b.type, b.role, b.mark, b.type.broadcast_axes)
