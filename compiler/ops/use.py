"""What a type rule sees of one use of an op, and the ways in which it answers. See `typing.application`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from ...dsl.source import Span
from ..base.problems import Problem, Problems
from ..graph.nodes import Init, Weight
from ..graph.traits import Reads
from ..graph.typed_value import Range, TypedValue
from ..graph.values import Role, Type
from ..problems.axes import AxisUse
from ..problems.surroundings import Surroundings
from ..sizes.axes import Axis, Static

Validator = Callable[[Problems, tuple[Static, ...], Span], object]
"""Reports what is wrong with numbers at a place."""


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

    # -- questions: each reports what is wrong

    @property
    def taken(self) -> bool: ...

    def in_each_pass(self, validator: Validator, span: Span, *statics: Static) -> bool:
        """Whether nothing is wrong with these numbers, as far as they are known. What depends on the number of a pass
        is validated in each pass too.
        """

    def outside(self, e: TypedValue, axis: Axis, span: Span) -> bool:
        """Whether an index is surely no index of the axis; reported. What may be none is checked at run time."""

    def truth(self, option: str) -> bool:
        """An option that is a truth value."""

    def truth_value(self, wire: TypedValue) -> bool:
        """Whether it is a truth value, or a const parameter that may be one: only a call decides."""

    def numbers(self) -> bool:
        """Whether the operand is made of numbers, not of truth values or indices; else that is reported."""

    def one_axis(self) -> bool:
        """Whether it acts on one axis."""

    def twice(self, axis: Axis, span: Span) -> TypedValue | None:
        """The op makes an axis that its operand has, and keeps."""

    def lacks(self, wire: TypedValue, axis: Axis, operand: Span, use: AxisUse, place: Span) -> TypedValue | None:
        """The operand has no such axis, which stands at `place`."""

    def families(self, a: Axis, b: Axis) -> TypedValue | None:
        """Two indices that do not compare (D5)."""

    def wrong_table(self, ids: TypedValue, vocab: Axis, span: Span) -> TypedValue | None:
        """These are indices into another axis than the table is over."""

    def may_broadcast(self, ignore: frozenset[Axis] = frozenset(), always: bool = False, outer: bool = False) -> bool:
        """D7: of two operands that both carry data, one may lack a depth of the other, never a width.

        outer: each may, as in an outer product: that is what a `dot` makes of axes that its operands do not share. An
        outer sum must be written with `broadcast`.
        """

    def check_marks(self) -> None:
        """D6: a `dot` that averages must average over the axes along which its weights sum to one, all of them."""

    def check_scores(self) -> None:
        """Warn of weights where scores belong: the softmax of a softmax is nearly flat, and so are its gradients."""

    def check_scale(self, a: TypedValue, b: TypedValue) -> None:
        """Warn of scores scaled by the root of a size that is not what they are summed over."""

    def compares_itself(self, axis: Axis) -> None:
        """Warn of an index compared with itself."""

    def remember_split(self, axis: Axis, parts: tuple[Axis, ...]) -> None:
        """What an axis was split into, for the merges of it."""

    def check_merge(self) -> None:
        """Axes split from one axis go back to it only in the order of the split."""

    def lacks_size(self, axis: Axis) -> bool:
        """Whether it is a width whose size only a run knows."""
