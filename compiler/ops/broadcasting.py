"""D7: of two operands that both carry data, one may lack a depth of the other, never a width."""

from __future__ import annotations

import re
from itertools import combinations

from ...dsl.source import Span
from ..graph.typed_value import TypedValue
from ..graph.values import Role
from ..problems.axes import OuterPair, WidthSpread
from ..sizes.axes import Axis
from .table import OpCall

_Lacking = tuple[TypedValue, Span, list[Axis]]  # an operand, its place, and the axes of another that it lacks


def may_broadcast(
    call: OpCall, ignore: frozenset[Axis] = frozenset(), always: bool = False, outer: bool = False
) -> bool:
    """D7: of two operands that both carry data, one may lack a depth of the other, never a width.

    outer: each may, as in an outer product: that is what a `dot` makes of axes that its operands do not share. An
    outer sum must be written with `broadcast`.
    """
    if not call.at.roles_known:
        return True
    carrying = [
        (wire, span)
        for wire, span in zip(call.operands, call.spans, strict=True)
        if wire.role is Role.DATA and (wire.is_number or always)
    ]
    widths: dict[Axis, tuple[TypedValue, Span]] = {}  # each with the first operand that has it
    for wire, span in carrying:
        for axis in wire.axes:
            if axis.is_width and axis not in ignore:
                widths.setdefault(axis, (wire, span))
    for wire, span in carrying:
        for axis, (other, other_span) in widths.items():
            if not wire.has(axis):
                lacking = [a for a in other.axes if a in widths and not wire.has(a)]
                return _another_width(call, wire, span, other, other_span, axis, lacking)
    whole = {axis for wire, _ in carrying for axis in wire.axes if axis not in ignore}
    if outer or any(
        all(map(wire.has, whole)) for wire, _ in carrying
    ):  # one has all axes: no pair of the others is met
        return True
    for (x, x_span), (y, y_span) in combinations(carrying, 2):
        x_lacks = [axis for axis in y.axes if axis in whole and not x.has(axis)]
        y_lacks = [axis for axis in x.axes if axis in whole and not y.has(axis)]
        if x_lacks and y_lacks:
            return _outer(call, (x, x_span, x_lacks), (y, y_span, y_lacks))
    return True


def _outer(call: OpCall, first: _Lacking, second: _Lacking) -> bool:
    """Each of two operands lacks a depth of the other: an outer product or sum, which must be written as one."""
    (x, x_span, x_lacks), (y, y_span, y_lacks) = first, second
    lifted = call.at.surroundings.lifted
    # Only the call can give an axis that the block is lifted over, or that an argument lacks and its formal has.
    here = [
        number
        for number, (wire, _, axes) in enumerate((first, second))
        if not any(axis in lifted or axis in wire.type.axes for axis in axes)
    ]
    spread = here[0] if here else 0
    argument = "" if here else _argument(call, x_span, x_lacks)
    lacks, places = (tuple(x_lacks), tuple(y_lacks)), (x_span, y_span)
    return call.at.refuse_by_role(OuterPair(call.span, call.shown, (x, y), places, lacks, spread, bool(here), argument))


def _argument(call: OpCall, span: Span, lacks: list[Axis]) -> str:
    """The argument of the block that an operand is made of, and that lacks these axes as it does."""
    formals = {formal.name.text for formal in call.at.surroundings.block.formals}
    for name in re.findall(r"\w+", span.text):
        wire = call.at.variables.get(name)
        if name in formals and wire is not None and not any(map(wire.has, lacks)):
            return str(name)
    return "..."


def _another_width(
    call: OpCall, wire: TypedValue, span: Span, other: TypedValue, other_span: Span, axis: Axis, lacking: list[Axis]
) -> bool:
    """lacking: the widths of the other operand that it lacks."""
    around = call.at.surroundings
    places = span, other, other_span
    return call.at.refuse_by_role(WidthSpread(call.span, call.shown, wire, *places, axis, tuple(lacking), around))
