"""One use of an op: what its type rule reads, and the ways in which a rule answers."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from itertools import combinations

from ...dsl.source import Span
from ..base.problems import Problem, Problems
from ..graph.nodes import Apply, Init, Weight
from ..graph.traits import Arrange, Function, Gather, IndexMap, Pointwise, Quotient, Sum
from ..graph.typed_value import Range, TypedValue
from ..graph.values import IndexInto, Role, Scalar, Type
from ..ops import Op
from ..ops.use import Validator
from ..problems.axes import AxisTwice, AxisUse, Namesakes, NoAxis, OuterPair, WidthSpread
from ..problems.elements import (
    ComparedWithItself,
    IndexOutside,
    IndexTaker,
    NotCompared,
    Wanted,
    WrongElement,
    WrongTable,
)
from ..problems.forms import OneAxis
from ..problems.marks import (
    AveragedElsewhere,
    AveragedScaled,
    AveragedWider,
    MergedInOtherOrder,
    NormalisedTwice,
    ScaledByAnother,
)
from ..problems.surroundings import Surroundings
from ..sizes.arithmetic import at_most
from ..sizes.axes import Arith, Axis, Literal, SizeOf, Static, evaluate, known, undetermined
from ..sizes.functions import has_all_numbers
from .scope import Scope
from .specialisation import Formula, validate_number

_Lacking = tuple[TypedValue, Span, list[Axis]]  # an operand, its place, and the axes of another that it lacks


@dataclass
class OpApplication:
    """axes, made, each: the brackets, resolved, with the span of each; options: given or default; name: of a
    learned op.
    """

    body: Scope
    op: Op
    shown: str  # the op as the user wrote it
    span: Span
    bracket_span: Span
    operands: list[TypedValue]
    spans: list[Span]
    axes: list[Axis] = field(default_factory=list)
    axis_spans: list[Span] = field(default_factory=list)
    made: list[Axis] = field(default_factory=list)
    made_spans: list[Span] = field(default_factory=list)
    each: list[Axis] = field(default_factory=list)
    each_spans: list[Span] = field(default_factory=list)
    mask: TypedValue | None = None
    mask_span: Span | None = None
    options: dict[str, Static] = field(default_factory=dict)
    init: Init | None = None
    name: str | None = None

    # -- answers -------------------------------------------------------------------------------------------------

    def fail(self, problem: Problem) -> TypedValue | None:
        """Report a mistake; the answer is that there is no result."""
        self.problems.add(problem)
        return None

    @property
    def problems(self) -> Problems:
        """Where what is not wrong, but most likely not meant, is reported."""
        return self.body.problems

    @property
    def surroundings(self) -> Surroundings:
        """What is known of axes here."""
        return self.body.environment.surroundings

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
        statics = [wire.static for wire in self.operands]
        if self.op.number and all(static is not None for static in statics):
            number = Arith(self.op.number, tuple(s for s in statics if s is not None))
            if not has_all_numbers(number.meaning) and (undetermined(number) or not self.taken):
                self.body.formulas.append(Formula((number,), self.span, validate_number))
            return replace(self.body.static(number, self.span), spread=self._spread())
        wires = [*self.operands, *([self.mask] if self.mask else [])]
        meeting = self.body.namesakes(type)
        if meeting is not None:
            return self.fail(Namesakes(self.span, *meeting, tuple(zip(self.spans, self.operands, strict=True))))
        role = max(role, *(wire.role for wire in wires)) if wires else role
        if type.axes:  # a constant has no axes: a number that gets some is a table
            role = max(role, Role.TABLE)
        builder = self.body.builder
        operands = tuple(builder.take(wire) for wire in self.operands)
        mask = builder.take(self.mask) if self.mask else None
        out = builder.value(type, role, self.span)
        builder.nodes.append(
            Apply(
                self.op,
                operands,
                out,
                tuple(self.axes),
                tuple(self.made),
                tuple(self.each),
                mask,
                dict(self.options),
                self.name if weights else None,
                weights,
                self.span,
            )
        )
        if weights and self.name:
            builder.own(self.name, self.span, self.body.problems)
        item_by_item = isinstance(self.op.reads, Pointwise) and not self.op.random and not self.made
        return TypedValue(
            type,
            role,
            self.span,
            out,
            mark,
            None,
            range,
            mark_unknown=self.operands[0].mark_unknown and _same_items(self.op, type),
            product_of=product_of,
            home=builder,
            spread=self._spread() - set(type.axes) if item_by_item else frozenset(),
        )

    def _spread(self) -> frozenset[Axis]:
        return frozenset(axis for wire in self.operands for axis in wire.spread)

    # -- questions that several rules ask ------------------------------------------------------------------------

    def in_each_pass(self, validator: Validator, span: Span, *statics: Static) -> bool:
        """Whether nothing is wrong with these numbers, as far as they are known. What depends on the number of a pass
        is validated in each pass too.
        """
        environment = self.body.environment
        before = len(environment.problems.found)
        validator(environment.of_sizes, statics, span)
        formula = Formula(statics, span, validator)
        good = len(environment.problems.found) == before
        if good and (formula.undetermined or not environment.taken):
            self.body.formulas.append(formula)
        return good

    def outside(self, e: TypedValue, axis: Axis, span: Span) -> bool:
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
        return not self.in_each_pass(validate, span, e.range.low, e.range.high, size)

    @property
    def taken(self) -> bool:
        """Whether sizes must fit: not in a branch that is not taken."""
        return self.body.environment.taken

    def lacks_size(self, axis: Axis) -> bool:
        """Whether it is a width whose size only a run knows."""
        return axis.is_width and axis.extent is None and axis.id not in self.body.environment.open

    def truth(self, option: str) -> bool:
        return bool(evaluate(self.options[option]))

    def truth_value(self, wire: TypedValue) -> bool:
        """Whether it is a truth value, or a const parameter that may be one: only a call decides."""
        return wire.is_bool or self.body.environment.is_open(wire.static)

    def numbers(self) -> bool:
        """Whether the operand is made of numbers, not of truth values or indices; else that is reported."""
        wire, span = self.operands[0], self.spans[0]
        if wire.is_bool or (isinstance(wire.element, IndexInto) and wire.role > Role.TABLE):
            self.fail(WrongElement(span, wire.type, Wanted.NUMBERS, self.shown))
            return False
        return True

    def one_axis(self) -> bool:
        if len(self.axes) == 1:
            return True
        self.fail(OneAxis(self.bracket_span, self.shown, tuple(self.axes)))
        return False

    def twice(self, axis: Axis, span: Span) -> TypedValue | None:
        """The op makes an axis that its operand has, and keeps."""
        return self.fail(AxisTwice(span, axis, self.surroundings))

    def lacks(
        self, wire: TypedValue, axis: Axis, operand: Span, use: AxisUse, place: Span, renamed: str = ""
    ) -> TypedValue | None:
        """The operand has no such axis, which stands at `place`; one of its name may be of another file."""
        namesake = next((other for other in wire.axes if other.name == axis.name), None)
        if namesake is not None:
            return self.fail(Namesakes(place, axis, namesake, ((operand, None),)))
        operands, axes = tuple(self.operands), tuple(self.axes)
        return self.fail(
            NoAxis(place, wire, axis, operand, use, self.shown, operands, axes, self.surroundings, renamed)
        )

    def families(self, a: Axis, b: Axis) -> TypedValue | None:
        """Two indices that do not compare (D5)."""
        return self.fail(NotCompared(self.span, a, b, self.surroundings))

    def wrong_table(self, ids: TypedValue, vocab: Axis, span: Span) -> TypedValue | None:
        assert isinstance(ids.element, IndexInto)
        named = span.text.isidentifier() and self.body.environment.axis(span.text) is None
        table = IndexTaker.PICKS if isinstance(self.op.reads, Gather) and not named else IndexTaker.OP
        return self.fail(WrongTable(span, ids.type, ids.element.axis, vocab, table))

    def may_broadcast(self, ignore: frozenset[Axis] = frozenset(), always: bool = False, outer: bool = False) -> bool:
        """D7: of two operands that both carry data, one may lack a depth of the other, never a width.

        outer: each may, as in an outer product: that is what a `dot` makes of axes that its operands do not share. An
        outer sum must be written with `broadcast`.
        """
        if not self.body.environment.roles_known:
            return True
        carrying = [
            (wire, span)
            for wire, span in zip(self.operands, self.spans, strict=True)
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
                    return self._another_width(wire, span, other, other_span, axis, lacking)
        whole = {axis for wire, _ in carrying for axis in wire.axes if axis not in ignore}
        if outer or any(
            all(map(wire.has, whole)) for wire, _ in carrying
        ):  # one has all axes: no pair of the others is met
            return True
        for (x, x_span), (y, y_span) in combinations(carrying, 2):
            x_lacks = [axis for axis in y.axes if axis in whole and not x.has(axis)]
            y_lacks = [axis for axis in x.axes if axis in whole and not y.has(axis)]
            if x_lacks and y_lacks:
                return self._outer((x, x_span, x_lacks), (y, y_span, y_lacks))
        return True

    def _outer(self, first: _Lacking, second: _Lacking) -> bool:
        """Each of two operands lacks a depth of the other: an outer product or sum, which must be written as one."""
        (x, x_span, x_lacks), (y, y_span, y_lacks) = first, second
        lifted = self.body.environment.lifted
        # Only the call can give an axis that the block is lifted over, or that an argument lacks and its formal has.
        here = [
            number
            for number, (wire, _, axes) in enumerate((first, second))
            if not any(axis in lifted or axis in wire.type.axes for axis in axes)
        ]
        spread = here[0] if here else 0
        argument = "" if here else self._argument(x_span, x_lacks)
        lacks, places = (tuple(x_lacks), tuple(y_lacks)), (x_span, y_span)
        return self.problems.refuse(
            OuterPair(self.span, self.shown, (x, y), places, lacks, spread, bool(here), argument)
        )

    def _argument(self, span: Span, lacks: list[Axis]) -> str:
        """The argument of the block that an operand is made of, and that lacks these axes as it does."""
        formals = {formal.name.text for formal in self.body.environment.block.decl.formals}
        for name in re.findall(r"\w+", span.text):
            wire = self.body.variables.get(name)
            if name in formals and wire is not None and not any(map(wire.has, lacks)):
                return str(name)
        return "..."

    def _another_width(
        self, wire: TypedValue, span: Span, other: TypedValue, other_span: Span, axis: Axis, lacking: list[Axis]
    ) -> bool:
        """lacking: the widths of the other operand that it lacks."""
        around = self.surroundings
        places = span, other, other_span
        return self.problems.refuse(WidthSpread(self.span, self.shown, wire, *places, axis, tuple(lacking), around))

    def check_marks(self) -> None:
        """D6: a `dot` that averages must average over the axes along which its weights sum to one, all of them."""
        contracted, axes = set(self.axes), tuple(self.axes)
        place = self.axis_spans[0].to(self.axis_spans[-1]) if self.axis_spans else self.span
        for position, (wire, span) in enumerate(zip(self.operands, self.spans, strict=True)):
            others = [other for index, other in enumerate(self.operands) if index != position]
            if not others or all(other.role <= Role.WEIGHT for other in others):
                continue
            inside = any(other.mark and other.mark <= contracted for other in others)
            if (
                wire.mark
                and not wire.mark <= contracted
                and not inside
                and not any(other.mark_unknown for other in others)
            ):
                self.fail(AveragedElsewhere(place, wire, span, axes))
            elif wire.scaled and not wire.scaled & contracted and not inside:
                self.fail(AveragedScaled(place, wire, span, axes))
            elif wire.mark <= contracted:
                covered = wire.mark.union(*(other.mark for other in others if other.mark <= contracted))
                wider = [axis for axis in self.axes if axis.is_width and wire.has(axis) and axis not in covered]
                if wire.mark and wider:
                    self.fail(AveragedWider(place, wire, span, axes, tuple(wider)))

    def check_scores(self) -> None:
        """Warn of weights where scores belong: the softmax of a softmax is nearly flat, and so are its gradients."""
        wire = self.operands[0]
        if not wire.mark & set(self.axes):
            return
        self.fail(NormalisedTwice(self.spans[0], wire, self.op.name))

    def check_scale(self, a: TypedValue, b: TypedValue) -> None:
        """Warn of scores scaled by the root of a size that is not what they are summed over."""
        if not a.product_of or b.static is None:
            return
        power = 0.5 if self.op.reads == Pointwise(Quotient()) else -0.5
        match b.static:
            case Arith(root, (SizeOf(axis),), meaning=Function(power=p)) if p == power and a.product_of != (axis,):
                self.fail(ScaledByAnother(self.spans[1], a, axis, root))

    def compares_itself(self, axis: Axis) -> None:
        """Warn of an index compared with itself."""
        self.fail(ComparedWithItself(self.span, axis, self.op.name, self.op.reads, self.surroundings))

    def remember_split(self, axis: Axis, parts: tuple[Axis, ...]) -> None:
        key = (axis.id, frozenset(a.id for a in parts))
        self.body.splits[key] = (*self.body.splits.get(key, ()), (parts, self.span))

    def check_merge(self) -> None:
        """Axes split from one axis go back to it only in the order of the split."""
        made = self.made[0]
        found = self.body.splits.get((made.id, frozenset(axis.id for axis in self.axes)), ())
        if not found or any(parts == tuple(self.axes) for parts, _ in found):
            return
        parts, span = found[-1]
        place = self.axis_spans[0].to(self.axis_spans[-1])
        self.fail(MergedInOtherOrder(place, made, parts, tuple(self.axes), span))


def _same_items(op: Op, type: Type) -> bool:
    """Whether all items of a result of this type are items of the operand: if those are weights, these are."""
    match op.reads:
        case Arrange(IndexMap.PARTS | IndexMap.SHIFTED):
            return False
        case Arrange():
            return True
        case Pointwise(Sum((1,))):
            return type.element is Scalar.REAL
        case _:
            return False
