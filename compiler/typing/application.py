"""One use of an op: what its type rule reads, and the ways in which a rule answers."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from itertools import combinations

from ...dsl.source import Span
from ..base.names import either, indexed, listed
from ..base.problems import Problems
from ..graph.nodes import Apply, Init, Weight
from ..graph.traits import Arrange, Compared, Function, Gather, IndexMap, Normalise, Pointwise, Quotient, Sum
from ..graph.typed_value import Range, TypedValue, show
from ..graph.values import IndexInto, Role, Scalar, Type
from ..hints import missing_axis, unlike
from ..ops import Op
from ..ops.use import Validator
from ..sizes.arithmetic import at_most
from ..sizes.axes import Arith, Axis, Literal, SizeOf, Static, evaluate, known, undetermined
from ..sizes.functions import has_all_numbers
from .builder import Builder
from .copies import copies
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

    def fail(
        self,
        code: str,
        message: str,
        span: Span,
        label: str = "",
        *,
        related: Iterable[tuple[Span | None, str]] = (),
        notes: Iterable[str] = (),
        help: str = "",
        fix: Iterable[tuple[Span, str]] = (),
    ) -> TypedValue | None:
        """Report a mistake; the answer is that there is no result."""
        self.body.problems.report(code, message, span, label, related=related, notes=notes, help=help, fix=fix)
        return None

    def warn(
        self,
        code: str,
        message: str,
        span: Span,
        label: str = "",
        *,
        related: Iterable[tuple[Span | None, str]] = (),
        help: str = "",
        fix: Iterable[tuple[Span, str]] = (),
    ) -> None:
        """Report what is not wrong, but most likely not meant."""
        self.body.problems.report(code, message, span, label, related=related, help=help, fix=fix)

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
            places = [(span, f"this is {show(wire)}") for wire, span in zip(self.operands, self.spans, strict=True)]
            self.body.report_namesakes(*meeting, self.span, places)
            return None
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
            what = f"is not less than |{axis.name}|" + (f" = {axis.extent}" if axis.extent else "")
            value = known(low if below else high)
            i = span.text if place == span else "i"
            clamp = f"; clamp it: `{f'max({i}, 0)' if below else f'min({i}, |{axis.name}| - 1)'}`" if clamped else ""
            problems.report(
                "E0311",
                f"this index into `{axis.name}` {'is negative' if below else what}"
                + (f": it gets to {value}" if value is not None else ""),
                place,
                related=[(axis.span, f"`{axis.name}` is declared here")],
                help=f"indices into `{axis.name}` run from 0 to |{axis.name}| - 1{clamp}",
            )

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
        if wire.is_bool:
            self.fail(
                "E0304",
                f"`{self.shown}` needs numbers, but this is {show(wire)}",
                span,
                help="write `select(m, 1, 0)` for 1 and 0",
            )
            return False
        if isinstance(wire.element, IndexInto) and wire.role > Role.TABLE:
            self.fail(
                "E0304",
                f"`{self.shown}` needs numbers, but this is {show(wire)}: indices into `{wire.element.axis.name}`",
                span,
                help=f"look them up, `E[{wire.element.axis.name} = {span.text}]` or `embed`; "
                f"`int({span.text})` is the plain number",
            )
            return False
        return True

    def one_axis(self) -> bool:
        if len(self.axes) == 1:
            return True
        self.fail(
            "E0318",
            f"`{self.shown}` acts on one axis, but {len(self.axes)} stand here",
            self.bracket_span,
            help=f"keep one of {listed(axis.name for axis in self.axes)}",
        )
        return False

    def twice(self, axis: Axis, span: Span) -> TypedValue | None:
        """The op makes an axis that its operand has, and keeps."""
        copy = self.copy_of(axis)
        first = "" if copy else f"declare it, `{axis.kind.value} other like {axis.name}`, and "
        return self.fail(
            "E0302",
            f"the result would have `{axis.name}` twice",
            span,
            f"the operand keeps its `{axis.name}`",
            help=f"one of the two is a copy: {first}rename, `x[{axis.name} as {copy or 'other'}]`",
        )

    def copy_of(self, axis: Axis) -> str | None:
        """The name of the copy of an axis that there is."""
        return next(iter(copies(axis, self.body.environment)), None)

    def lacks(
        self, wire: TypedValue, axis: Axis, operand_span: Span, message: str, axis_span: Span
    ) -> TypedValue | None:
        """The operand has no such axis: say what it has, and which copy of the axis was likely meant."""
        copies = [other for other in wire.axes if other.family == axis.family]
        same_name = [other for other in wire.axes if other.name == axis.name]
        help = ""
        fix: list[tuple[Span, str]] = []
        if same_name:
            self.body.report_namesakes(
                axis, same_name[0], axis_span, [(operand_span, f"this has another `{axis.name}`")]
            )
            return None
        if copies and wire.product_of:
            help = (
                f"it has `{copies[0].name}`, of which `{axis.name}` is a copy: "
                f"was one operand of this `dot` to be renamed, `x[{copies[0].name} as {axis.name}]`?"
            )
        elif copies and any(other.has(axis) for other in self.operands):
            change = f"[{copies[0].name} as {axis.name}]"
            renamed = indexed(operand_span.text, change)
            help = f"it has `{copies[0].name}`, a copy of `{axis.name}`: rename it, `{renamed}`"
            if operand_span.text.isidentifier():
                fix = [(Span(operand_span.source, operand_span.end, operand_span.end), change)]
        elif copies and copies[0] in self.axes:
            help = f"it has `{copies[0].name}` alone of the two copies: leave `{axis.name}` out"
        elif copies:
            help = (
                f"it has `{copies[0].name}`, a copy of `{axis.name}`: write `{copies[0].name}` "
                f"here, or rename: `x[{copies[0].name} as {axis.name}]`"
            )
            fix = [(axis_span, copies[0].name)]
        elif isinstance(wire.element, IndexInto) and wire.element.axis.family == axis.family:
            name = axis.name
            help = f"these are indices into `{name}`: look them up, `E[{name} = ids]` or `embed[{name} -> ...](ids)`"
        elif (same := next((other for other in wire.axes if axis.size == SizeOf(other)), None)) is not None:
            help = (
                f"`{axis.name}` is as long as `{same.name}`, but another axis: if it is to be a copy, declare it, "
                f"`{axis.kind.value} {axis.name} like {same.name}`, and rename: `x[{same.name} as {axis.name}]`"
            )
        elif wire.axes or wire.value is not None:
            explanation = missing_axis.explain(wire, [axis], self.body.environment)
            has = f"it has {listed(other.name for other in wire.axes)}" if wire.axes else ""
            help = (
                explanation
                if len(explanation) > len(has) and "copies" in explanation
                else "; ".join(filter(None, (has, explanation)))
            )
        if not help and not wire.axes and wire.is_number:
            help = f"it is one number: `broadcast[{axis.name}]({operand_span.text})` has it at each `{axis.name}`"
        related = [(operand_span, f"this is {show(wire)}")]
        if wire.span != operand_span:
            related.append((wire.span, "it comes from here"))
        return self.fail(
            "E0301", message, axis_span, f"no `{axis.name}` in {show(wire)}", related=related, help=help, fix=fix
        )

    def families(self, a: Axis, b: Axis) -> TypedValue | None:
        """Two indices that do not compare (D5)."""
        first, second = sorted((a, b), key=lambda axis: axis.span.start if axis.span else 0)
        forgets = f"`int({a.name})` forgets the axis on purpose"
        fixed = [axis for axis in (a, b) if not axis.is_width or axis.extent is not None]
        if len(fixed) == 1:  # most likely a position was compared with a size
            help = f"if the size of `{fixed[0].name}` is meant, write `|{fixed[0].name}|`; {forgets}"
        elif second.is_width and isinstance(second.size, Arith):
            help = f"`{second.name}` has a size of its own, so it is no copy: write `int(...)` on both sides; {forgets}"
        else:
            help = unlike.compared(a, b, self.body.environment, self.span.text)
        return self.fail(
            "E0306",
            f"`{a.name}` and `{b.name}` are not copies of one axis: their indices do not compare",
            self.span,
            related=[(a.span, f"`{a.name}` is declared here"), (b.span, f"`{b.name}` is declared here")],
            help=help,
            fix=_equal_as_copy(first, second),
        )

    def wrong_table(self, ids: TypedValue, vocab: Axis, span: Span) -> TypedValue | None:
        assert isinstance(ids.element, IndexInto)
        other = ids.element.axis
        help = f"use a table over `{other.name}`, or correct the type of the indices to `{vocab.name}[..]`"
        named = span.text.isidentifier() and self.body.environment.axis(span.text) is None
        if isinstance(self.op.reads, Gather) and not named:  # it is computed: there is no written type to correct
            help = f"`int({span.text})` forgets the axis on purpose: an int picks from any"
        self.body.report_wrong_table(
            ids,
            other,
            vocab,
            f"these are indices into `{other.name}`, but the table is over `{vocab.name}`",
            span,
            help,
        )
        return None

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
        environment = self.body.environment
        # Only the call can give an axis that the block is lifted over, or that an argument lacks and its formal has.
        here = [
            each
            for each in (first, second)
            if not any(a in environment.lifted or a in each[0].type.axes for a in each[2])
        ]
        _, span, lacks = here[0] if here else first
        spread = span.text if here else self._argument(span, lacks)
        write = f"{'write' if here else 'pass'} `broadcast[{', '.join(axis.name for axis in lacks)}]({spread})`"
        ours, theirs = listed(axis.name for axis in y_lacks), listed(axis.name for axis in x_lacks)
        copy = next(((a, b) for a in x_lacks for b in y_lacks if a.family == b.family), None)
        if copy is not None and here:
            of_y, of_x = copy
            if of_y.id == of_y.family:  # the original
                renaming = indexed(x_span.text, f"[{of_x.name} as {of_y.name}]")
            else:
                renaming = indexed(y_span.text, f"[{of_y.name} as {of_x.name}]")
            help = f"{theirs} is a copy of {ours}: rename, `{renaming}`; or, for each pair of the two, {write}"
        else:
            help = f"if each {ours} is meant with each {theirs}, {write}"
        environment.problems.report(
            "E0305",
            f"`{self.shown}` would pair each {ours} with each {theirs}: neither operand has both",
            self.span,
            related=[
                (x_span, f"this is {show(x)}: no {either(axis.name for axis in x_lacks)}"),
                (y_span, f"this is {show(y)}: no {either(axis.name for axis in y_lacks)}"),
            ],
            help=help,
            deep=bool(here),
        )
        return False

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
        foreign = [a for a in wire.axes if a.is_width and not other.has(a) and a.family != axis.family]
        copies = [a for a in wire.axes if a.family == axis.family and not other.has(a)]
        shared = (
            []
            if missing_axis.reduced(wire, axis)
            else [a for a in wire.axes if a.family == axis.family and other.has(a)]
        )
        names = [axis.name] if shared else [a.name for a in lacking if a not in self.body.environment.lifted]
        spread = f"broadcast[{', '.join(names)}]({span.text})"
        if copies:
            help = (
                f"`{copies[0].name}` is another copy of `{axis.name}`: rename it, `x[{copies[0].name} as {axis.name}]`"
                f"; or, for each pair of the two, write `broadcast[{axis.name}]({span.text})` "
                f"and `broadcast[{copies[0].name}]({other_span.text})`"
            )
        elif foreign:
            help = f"is this the right stream? it runs along `{foreign[0].name}`, not along `{axis.name}`"
        elif axis in self.body.environment.lifted:
            help = (
                f"if the same value for every `{axis.name}` is meant, pass `broadcast[{axis.name}](...)` to the block"
            )
        else:
            help = f"if the same value for every {listed(names)} is meant, write `{spread}`"
            if shared:
                renamed = indexed(span.text, f"[{shared[0].name} as {axis.name}]")
                help += f"; if that of each `{axis.name}`, `{renamed}`"
        fix = [] if copies or shared or foreign or axis in self.body.environment.lifted else [(span, spread)]
        self.body.problems.report(
            "E0305",
            f"`{self.shown}` would spread {show(wire)} over every item of the width `{axis.name}`",
            self.span,
            related=[(span, f"this is {show(wire)}: no `{axis.name}`"), (other_span, f"this is {show(other)}")],
            help=help,
            fix=fix,
            deep=True,
        )
        return False

    def check_marks(self) -> None:
        """D6: a `dot` that averages must average over the axes along which its weights sum to one, all of them."""
        contracted = set(self.axes)
        for position, wire in enumerate(self.operands):
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
                self._averages_elsewhere(position)
            elif wire.scaled and not wire.scaled & contracted and not inside:
                self._averages_scaled(position)
            elif wire.mark <= contracted:
                covered = wire.mark.union(*(other.mark for other in others if other.mark <= contracted))
                wider = [axis for axis in self.axes if axis.is_width and wire.has(axis) and axis not in covered]
                if wire.mark and wider:
                    self._averages_wider(position, wider)

    def _averages_elsewhere(self, position: int) -> None:
        wire = self.operands[position]
        together = " together" if len(wire.mark) > 1 else ""
        over, by = _over(wire.mark), listed(axis.name for axis in self.axes)
        made = _normalised_at(wire)
        fix: list[tuple[Span, str]] = []
        if made is not None and _named(made) == over and all(wire.has(axis) for axis in self.axes):
            fix = [(made, ", ".join(axis.name for axis in self.axes))]
        self._wrong_average(
            position,
            "E0307",
            f"sums to one over {over}{together}, but this `dot` averages over {by}{' alone' if together else ''}",
            "normalise over the axis you average over; if it is meant, say `raw(...)`",
            fix,
        )

    def _averages_scaled(self, position: int) -> None:
        """Weights times a number carry no mark (D6), but to average over another axis is as likely a slip."""
        over, by = _over(self.operands[position].scaled), listed(axis.name for axis in self.axes)
        self._wrong_average(
            position,
            "W0508",
            f"is weights over {over}, times a number, but this `dot` averages over {by}",
            "normalise over the axis you average over; if it is meant, say `raw(...)`",
        )

    def _averages_wider(self, position: int, wider: list[Axis]) -> None:
        """A sum over one width of averages over another is no average. Over a depth it is usual: heads are added."""
        wire = self.operands[position]
        more = listed(axis.name for axis in wider)
        both = ", ".join(axis.name for axis in self.axes if axis in wire.mark or axis in wider)
        self._wrong_average(
            position,
            "W0508",
            f"sums to one over {_over(wire.mark)} for each {more}, but this `dot` averages over {more} too",
            f"normalise over all that you average over, `softmax[{both}]`; if the sum over {more} is meant, "
            "say `raw(...)`",
        )

    def _wrong_average(
        self, position: int, code: str, what: str, help: str, fix: Iterable[tuple[Span, str]] = ()
    ) -> None:
        by = listed(axis.name for axis in self.axes)
        shown, origin = self._weights(position)
        self.body.problems.report(
            code,
            f"{shown} {what}",
            self.axis_spans[0].to(self.axis_spans[-1]) if self.axis_spans else self.span,
            f"averaged over {by} here",
            related=[origin],
            help=help,
            fix=fix,
            deep=True,
        )

    def _weights(self, position: int) -> tuple[str, tuple[Span, str]]:
        """What an operand that is weights is called, and where it became that."""
        wire, place = self.operands[position], self.spans[position]
        made = _normalised_at(wire)
        over = _over(wire.mark or wire.scaled)
        origin = (made, f"normalised over {_named(made)} here") if made else (wire.span, f"weights over {over}")
        return f"`{place.text}`" if place.text.isidentifier() else "this operand", origin

    def check_scores(self) -> None:
        """Warn of weights where scores belong: the softmax of a softmax is nearly flat, and so are its gradients."""
        wire = self.operands[0]
        if not wire.mark & set(self.axes):
            return
        shown, origin = self._weights(0)
        self.body.problems.report(
            "W0511",
            f"{shown} sums to one over {_over(wire.mark)} already, and `{self.op.name}` normalises its operand",
            self.spans[0],
            f"`{self.op.name}` takes scores",
            related=[origin],
            help="give it the scores from before the softmax; if it is meant, say `raw(...)`",
            deep=True,
        )

    def check_scale(self, a: TypedValue, b: TypedValue) -> None:
        """Warn of scores scaled by the root of a size that is not what they are summed over."""
        if not a.product_of or b.static is None:
            return
        power = 0.5 if self.op.reads == Pointwise(Quotient()) else -0.5
        match b.static:
            case Arith(root, (SizeOf(axis),), meaning=Function(power=p)) if p == power and a.product_of != (axis,):
                names = listed(x.name for x in a.product_of)
                size = " * ".join(f"|{x.name}|" for x in a.product_of)
                self.body.problems.report(
                    "W0504",
                    f"this scales by the size of `{axis.name}`, but the products are summed over {names}",
                    self.spans[1],
                    related=[(a.span, f"summed over {names} here")],
                    help=f"the usual scale is {root}({size})",
                    fix=[(self.spans[1], f"{root}({size})")] if self.spans[1].text.startswith(root) else [],
                )

    def compares_itself(self, axis: Axis) -> None:
        """Warn of an index compared with itself."""
        match self.op.reads:
            case Pointwise(Compared("<=" | ">=" | "==")):
                always = "always"
            case _:
                always = "never"
        copies = [
            other for other in self.body.environment.names.values() if other.family == axis.family and other != axis
        ]
        other = copies[0].name if copies else "other"
        later = copies[0].id > axis.id if copies else True  # keys are the later copy, and stand on the left
        pair = (other, axis.name) if later else (axis.name, other)
        declare = "" if copies else f"declare a copy, `{axis.kind.value} other like {axis.name}`, and "
        self.body.problems.report(
            "W0506",
            f"`{axis.name}` is compared with itself, so this {always} holds",
            self.span,
            related=[(axis.span, f"`{axis.name}` is declared here")],
            help=f"{declare or ''}compare two copies of the axis, `{pair[0]} {self.op.name} {pair[1]}`",
        )

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
        order = ", ".join(axis.name for axis in parts)
        written = ", ".join(axis.name for axis in self.axes)
        first, last = self.axis_spans[0], self.axis_spans[-1]
        self.fail(
            "E0317",
            f"`{made.name}` was split into [{order}], but is merged back from [{written}]: that shuffles its items",
            first.to(last),
            related=[(span, f"split into [{order}] here")],
            help=f"write `merge[{order} -> {made.name}]`; a wanted shuffle names another axis",
            fix=[(first.to(last), order)],
        )


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


def _equal_as_copy(first: Axis, second: Axis) -> list[tuple[Span, str]]:
    """The edit that makes a copy of an axis that is declared with the size of another: `width past = seq`."""
    if second.span is None or second.size != SizeOf(first):
        return []
    text, end = second.span.source.text, second.span.end
    found = re.match(rf"[ \t]*(=)[ \t]*{first.name}[ \t]*(?=[,#\n]|\Z)", text[end:])
    return [(Span(second.span.source, end + found.start(1), end + found.end(1)), "like")] if found else []


def _normalised_at(wire: TypedValue) -> Span | None:
    """Where the axes stand in the brackets of the softmax that gave a value its mark."""
    builder, value = wire.home, wire.value
    while isinstance(builder, Builder) and value is not None:
        node = next((n for n in builder.nodes if isinstance(n, Apply) and n.out.id == value.id), None)
        if node is None:
            return None
        if node.traits.reads == Normalise(weights=True) and node.span is not None:
            start, text = node.span.start, node.span.text
            return Span(node.span.source, start + text.index("[") + 1, start + text.index("]"))
        value = node.operands[0]
    return None


def _named(brackets: Span) -> str:
    """The axes of brackets, as they are written."""
    return listed(name.strip() for name in brackets.text.split(","))


def _over(mark: frozenset[Axis]) -> str:
    """The axes of a mark, in words."""
    return listed(axis.name for axis in sorted(mark, key=lambda axis: axis.id))
