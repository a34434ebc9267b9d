"""Questions that several type rules ask of one use of an op: each reports what is wrong."""

from __future__ import annotations

from ...dsl.source import Span
from ..base.problems import Problems
from ..graph.traits import Gather
from ..graph.typed_value import TypedValue
from ..graph.values import IndexInto, Role
from ..problems.axes import AxisTwice, AxisUse, Namesakes, NoAxis
from ..problems.elements import IndexOutside, IndexTaker, Wanted, WrongElement, WrongTable
from ..problems.forms import OneAxis
from ..sizes.arithmetic import at_most
from ..sizes.axes import Axis, Literal, SizeOf, Static, evaluate, known
from .table import OpCall


def outside(call: OpCall, e: TypedValue, axis: Axis, span: Span) -> bool:
    """Whether an index is surely no index of the axis; reported. What may be none is checked at run time."""
    if e.range is None:
        return False
    tight, clamped = e.range.tight, e.static is None

    def validate(problems: Problems, ends: tuple[Static, ...], place: Span) -> None:
        low, high, size = ends
        below = at_most(low if tight else high, Literal(-1))
        if not below and not at_most(size, high if tight else low):
            return
        written = span.text if place == span else "i"
        problems.add(IndexOutside(place, axis, below, known(low if below else high), written, clamped))

    size = SizeOf(axis) if axis.size is None or axis.extent is not None else axis.size
    return not call.at.in_each_pass(validate, span, e.range.low, e.range.high, size)


def truth(call: OpCall, option: str) -> bool:
    return bool(evaluate(call.options[option]))


def truth_value(call: OpCall, wire: TypedValue) -> bool:
    """Whether it is a truth value, or a const parameter that may be one: only a call decides."""
    return wire.is_bool or call.at.is_open(wire.static)


def numbers(call: OpCall) -> bool:
    """Whether the operand is made of numbers, not of truth values or indices; else that is reported."""
    wire, span = call.operands[0], call.spans[0]
    if wire.is_bool or (isinstance(wire.element, IndexInto) and wire.role > Role.TABLE):
        call.fail(WrongElement(span, wire.type, Wanted.NUMBERS, call.shown))
        return False
    return True


def one_axis(call: OpCall) -> bool:
    if len(call.axes) == 1:
        return True
    call.fail(OneAxis(call.bracket_span, call.shown, tuple(call.axes)))
    return False


def twice(call: OpCall, axis: Axis, span: Span) -> TypedValue | None:
    """The op makes an axis that its operand has, and keeps."""
    return call.fail(AxisTwice(span, axis, call.at.surroundings))


def lacks(
    call: OpCall, wire: TypedValue, axis: Axis, operand: Span, use: AxisUse, place: Span, renamed: str = ""
) -> TypedValue | None:
    """The operand has no such axis, which stands at `place`; one of its name may be of another file."""
    namesake = next((other for other in wire.axes if other.name == axis.name), None)
    if namesake is not None:
        return call.fail(Namesakes(place, axis, namesake, ((operand, None),)))
    operands, axes = tuple(call.operands), tuple(call.axes)
    return call.fail(NoAxis(place, wire, axis, operand, use, call.shown, operands, axes, call.at.surroundings, renamed))


def wrong_table(call: OpCall, ids: TypedValue, vocab: Axis, span: Span) -> TypedValue | None:
    assert isinstance(ids.element, IndexInto)
    named = span.text.isidentifier() and span.text not in call.at.surroundings.names
    table = IndexTaker.PICKS if isinstance(call.op.reads, Gather) and not named else IndexTaker.OP
    return call.fail(WrongTable(span, ids.type, ids.element.axis, vocab, table))
