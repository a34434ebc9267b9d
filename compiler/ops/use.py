"""What a type rule sees of one use of an op, the ways in which it answers, and questions that several rules ask."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Protocol

from ...dsl.source import Span
from ..base.problems import Problem, Problems
from ..graph.nodes import Init, Weight
from ..graph.traits import Gather, Reads
from ..graph.typed_value import Range, TypedValue
from ..graph.values import IndexInto, Role, Type
from ..problems.axes import AxisTwice, AxisUse, Namesakes, NoAxis, Surroundings
from ..problems.elements import IndexOutside, IndexTaker, Wanted, WrongElement, WrongTable
from ..problems.forms import OneAxis
from ..sizes.arithmetic import at_most
from ..sizes.axes import Axis, Literal, SizeOf, Static, evaluate, known

Validator = Callable[[Problems, tuple[Static, ...], Span], object]
"""Reports what is wrong with numbers at a place."""

Splits = dict[tuple[int, frozenset[int]], tuple[tuple[tuple[Axis, ...], Span], ...]]
"""By an axis and the set of axes that it was split into: the orders that were written, and where."""


class Row(Protocol):
    """What a rule asks of its own row: several rows may have one rule."""

    @property
    def name(self) -> str:
        """Of the op."""

    @property
    def usage(self) -> str:
        """How it is written."""

    @property
    def number(self) -> str:
        """What it is of numbers known at build time."""

    @property
    def reads(self) -> Reads:
        """How it reads its operands, and what it makes of them."""


class OpCall(Protocol):
    """One use of an op, its operands typed.

    shown:      the op as the user wrote it.
    axes, made, each: the brackets, resolved: what it acts on, what it makes, what stands before a colon.
    spans, axis_spans, made_spans, each_spans: where each operand and each axis stands; bracket_span: all brackets.
    mask:       of `x where m`.
    options:    static keyword arguments, given or default.
    init, name: of an op that owns weights.
    """

    shown: str
    span: Span
    bracket_span: Span
    operands: list[TypedValue]
    spans: list[Span]
    axes: list[Axis]
    axis_spans: list[Span]
    made: list[Axis]
    made_spans: list[Span]
    each: list[Axis]
    each_spans: list[Span]
    mask: TypedValue | None
    mask_span: Span | None
    options: dict[str, Static]
    init: Init | None
    name: str | None

    @property
    def op(self) -> Row:
        """Its row."""

    # -- answers

    def make(
        self,
        type: Type,
        *,
        role: Role = Role.CONSTANT,
        mark: frozenset[Axis] = frozenset(),
        range: Range | None = None,
        weights: tuple[Weight, ...] = (),
        product_of: tuple[Axis, ...] = (),
    ) -> TypedValue | None:
        """The result: a node of the graph, or static arithmetic where all operands are static."""

    def fail(self, problem: Problem) -> TypedValue | None:
        """Report a mistake; the answer is that there is no result."""

    @property
    def problems(self) -> Problems:
        """Where what is not wrong, but most likely not meant, is reported."""

    @property
    def surroundings(self) -> Surroundings:
        """What is known of axes here."""

    # -- the place where it stands

    @property
    def taken(self) -> bool:
        """Whether sizes must fit: not in a branch that is not taken."""

    @property
    def roles_known(self) -> bool:
        """Whether it is known which values carry data: else only a call decides what may broadcast (D7)."""

    @property
    def variables(self) -> Mapping[str, TypedValue | None]:
        """What is bound here."""

    @property
    def splits(self) -> Splits:
        """What was split so far."""

    def is_open(self, static: Static | None) -> bool:
        """Whether it is a const parameter without a value: each call says whether it is a number or a truth value."""

    def lacks_size(self, axis: Axis) -> bool:
        """Whether it is a width whose size only a run knows."""

    def in_each_pass(self, validator: Validator, span: Span, *statics: Static) -> bool:
        """Whether nothing is wrong with these numbers, as far as they are known. What depends on the number of a pass
        is validated in each pass too.
        """


# -- questions that several rules ask: each reports what is wrong ------------------------------------------------------


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
    return not call.in_each_pass(validate, span, e.range.low, e.range.high, size)


def truth(call: OpCall, option: str) -> bool:
    return bool(evaluate(call.options[option]))


def truth_value(call: OpCall, wire: TypedValue) -> bool:
    """Whether it is a truth value, or a const parameter that may be one: only a call decides."""
    return wire.is_bool or call.is_open(wire.static)


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
    return call.fail(AxisTwice(span, axis, call.surroundings))


def lacks(
    call: OpCall, wire: TypedValue, axis: Axis, operand: Span, use: AxisUse, place: Span, renamed: str = ""
) -> TypedValue | None:
    """The operand has no such axis, which stands at `place`; one of its name may be of another file."""
    namesake = next((other for other in wire.axes if other.name == axis.name), None)
    if namesake is not None:
        return call.fail(Namesakes(place, axis, namesake, ((operand, None),)))
    operands, axes = tuple(call.operands), tuple(call.axes)
    return call.fail(NoAxis(place, wire, axis, operand, use, call.shown, operands, axes, call.surroundings, renamed))


def wrong_table(call: OpCall, ids: TypedValue, vocab: Axis, span: Span) -> TypedValue | None:
    assert isinstance(ids.element, IndexInto)
    named = span.text.isidentifier() and span.text not in call.surroundings.names
    table = IndexTaker.PICKS if isinstance(call.op.reads, Gather) and not named else IndexTaker.OP
    return call.fail(WrongTable(span, ids.type, ids.element.axis, vocab, table))
