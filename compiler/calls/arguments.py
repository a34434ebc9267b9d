"""The arguments of a call as the block sees them: in its own axes, the rest lifted."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from ...dsl import syntax as s
from ...dsl.source import Span
from ..base.idioms import compared
from ..base.names import either, indexed, listed
from ..graph.typed_value import TypedValue, fits, show, show_axes, show_type
from ..graph.values import IndexInto, Role, Scalar, Type
from ..sizes.axes import Axis, Literal
from ..typing.builder import Builder
from ..typing.copies import copies
from ..typing.environment import Environment
from ..typing.statements import Body
from .parameters import Parameters


@dataclass
class Arguments(Parameters):
    """What is wrong with several of them is reported once."""

    foreign: bool = False  # an argument has an axis of the right name, but of another file
    given_values: list[TypedValue] = field(default_factory=list)
    mixed: bool = False  # an argument has other axes than the call names: which of the two is meant is not known

    def _with_defaults(self, arguments: dict[str, tuple[TypedValue, Span]]) -> dict[str, tuple[TypedValue, Span]]:
        """An op of the user's own has no body to put a default in: it is given like any other argument."""
        given = dict(arguments)
        for formal in self.block.decl.formals if self.block.target else ():
            if formal.name.text not in given and formal.default is not None:
                default = Body(self.checker, self.checker.alone[self.block].environment, Builder(), {}).expr(
                    formal.default
                )
                if default is not None:
                    given[formal.name.text] = (default, self.call.span)
        return given

    def _put_in(self, wire: TypedValue | None) -> bool:
        """A plain number or truth value stands in the body as it is, and is no input of it."""
        plain = wire is not None and isinstance(wire.static, Literal)
        return plain and not self.block.target

    def _inputs(
        self, environment: Environment, arguments: dict[str, tuple[TypedValue, Span]]
    ) -> list[tuple[s.Formal, TypedValue | None]] | None:
        """The arguments as the callee sees them: in its own axes, those of a formal that they lack as
        broadcast axes, the rest lifted.
        """
        probe = Body(self.checker, environment, Builder(), {})
        to_actual = {formal.id: actual for formal, actual in self.actual}
        inputs: list[tuple[s.Formal, TypedValue | None]] = []
        lifted: dict[Axis, None] = {}
        good = True
        self.given_values = [wire for wire, _ in arguments.values()]
        for formal in self.block.decl.formals:
            if formal.name.text not in arguments:
                inputs.append((formal, None))
                continue
            wire, span = arguments[formal.name.text]
            wanted = probe.type(formal.type)
            if wanted is None:
                return None
            actuals = {to_actual[axis.id]: axis for axis in wanted.axes}
            if len(actuals) < len(wanted.axes):
                self._one_axis_twice(wanted.axes, to_actual, formal)
                return None
            lifted.update(dict.fromkeys(axis for axis in wire.axes if axis not in actuals))
            if not self._element(wire, wanted, formal, span, to_actual) or not self._axes(wire, span, formal, actuals):
                good = False
                continue
            put_in = self._put_in(wire)
            inside = replace(wire, span=formal.name.span) if put_in else _inside(wire, formal, wanted, actuals)
            inputs.append((formal, inside))
        environment.lifted = tuple(lifted)
        if not good:
            return None
        # Lifted axes come first, in one order for all arguments: the memory order of the callee.
        for position, (formal, entering) in enumerate(inputs):
            if entering is not None:
                own = [axis for axis in entering.type.axes if axis not in lifted]
                first = [axis for axis in lifted if axis in entering.type.axes]
                inputs[position] = (formal, replace(entering, type=replace(entering.type, axes=(*first, *own))))
        return inputs

    def _axes(self, wire: TypedValue, span: Span, formal: s.Formal, actuals: dict[Axis, Axis]) -> bool:
        """Whether an argument may lack the axes that it lacks (D7), and lift over those that it has in addition (D8).

        `actuals`: the axes of the caller that the formal's stand for, each with the formal's.
        """
        mentioned = {axis: formal for formal, axis in reversed(self.actual) if formal.id not in self.of_sizes}
        extra = [axis for axis in wire.axes if axis not in actuals]
        missing = [axis for axis in actuals if not wire.has(axis)]
        wrong = [axis for axis in extra if axis in mentioned]
        carries = wire.role is Role.DATA and wire.is_number and self.body.environment.roles_known
        # What the body around is lifted over, it does not know of: such an axis says nothing of a mix-up.
        seen = [axis for axis in extra if axis not in self.body.environment.lifted]
        if (
            any(a.name == b.name and a.family != b.family for a in seen for b in missing)
            or (missing and wrong)
            or (carries and any(axis.is_width for axis in missing))
            or (carries and any(a.name == b.name or a.family == b.family for a in seen for b in missing))
            or (carries and missing and seen and not wrong)
        ):
            self._lacks_axis(wire, span, formal, missing, extra, actuals)
            return False
        if wrong:
            self._lifts_mentioned(wire, span, formal, wrong[0], mentioned[wrong[0]])
            return False
        return True

    def _element(
        self, wire: TypedValue, wanted: Type, formal: s.Formal, span: Span, to_actual: dict[int, Axis]
    ) -> bool:
        have, want = wire.element, wanted.element
        if isinstance(want, IndexInto):
            target = to_actual[want.axis.id]
            if isinstance(have, IndexInto) and have.axis.family == target.family:
                return True
            if span is self.call.span:
                return True  # a default, of which it was seen that it lies within the axis
            if isinstance(have, IndexInto):
                self.body.report_wrong_table(
                    wire,
                    have.axis,
                    target,
                    f"`{formal.name.text}` takes indices into `{target.name}`, "
                    f"but these are indices into `{have.axis.name}`",
                    span,
                    "pass the indices that belong to this table",
                )
                return False
            shown = f"indices into `{target.name}`"
            help = f"`index[{target.name}]({span.text})` makes an index of an int" if have is Scalar.INT else ""
        elif fits(have, want):
            return True
        else:
            shown = f"{show_type(replace(wanted, axes=()))[:-2] or 'real'} elements"
            help = (
                compared(span.text)
                if want is Scalar.BOOL and not isinstance(have, IndexInto)
                else "`int(i)` makes a number of an index; `x > 0` makes a truth value of a number"
                if want is not Scalar.REAL or isinstance(have, IndexInto)
                else f"write `select({span.text}, 1, 0)` for 1 and 0"
            )
        self.body.problems.report(
            "E0304",
            f"`{formal.name.text}` of `{self.called}` takes {shown}, but this is {show(wire)}",
            span,
            related=[(formal.span, "declared here")],
            help=help or "pass the indices themselves, or find them: `argmax`, `topk`, `index[a](floor(x))`",
        )
        return False

    def _one_axis_twice(self, axes: tuple[Axis, ...], to_actual: dict[int, Axis], formal: s.Formal) -> None:
        seen: dict[Axis, Axis] = {}
        for axis in axes:
            actual = to_actual[axis.id]
            if actual in seen:
                self._same_axis(seen[actual], axis, actual, f"`{formal.name.text}`", formal.span)
                return
            seen[actual] = axis

    def _same_axis(self, a: Axis, b: Axis, actual: Axis, carrier: str, place: Span | None) -> None:
        known = copies(actual, self.body.environment)
        if known:
            help = (
                f"`{known[0]}` is a copy of it: rename, `x[{actual.name} as {known[0]}]`, and name it in the brackets"
            )
        else:
            declared = f"{actual.kind.value} other like {actual.name}"
            help = f"declare a copy, `{declared}`, and rename: `x[{actual.name} as other]`"
        self.body.problems.report(
            "E0404",
            f"`{a.name}` and `{b.name}` of `{self.called}` are both bound to `{actual.name}`, but "
            f"{carrier} carries both",
            self.call.brackets.span if self.call.brackets else self.call.span,
            related=[(place, "carries both"), (actual.span, f"`{actual.name}` is declared here")],
            help=help,
        )

    def _lacks_axis(
        self,
        wire: TypedValue,
        span: Span,
        formal: s.Formal,
        missing: list[Axis],
        extra: list[Axis],
        actuals: dict[Axis, Axis],
    ) -> None:
        """An argument without an axis that its formal has."""
        namesakes = [(a, b) for a in missing for b in extra if a.name == b.name and a.family != b.family]
        if namesakes:
            self._namesakes(*namesakes[0], wire, span)
            return
        # Where arguments or axes stand in another order, one message is enough for all that do.
        turned = bool(extra) and any(
            all(map(other.has, missing)) and not any(map(other.has, extra)) for other in self.given_values
        )
        if turned and self.mixed:
            return
        self.mixed = self.mixed or bool(extra)
        name = formal.name.text
        shown = show_axes(tuple(actuals))
        help, fix = "", []
        for axis in missing:
            for other in extra:
                if other.family == axis.family:
                    renamed = indexed(span.text, f"[{other.name} as {axis.name}]")
                    help = f"`{other.name}` and `{axis.name}` are copies of one axis: write `{renamed}`"
                    end = Span(span.source, span.end, span.end)
                    fix = [(span, renamed)] if renamed[0] == "(" else [(end, renamed[len(span.text) :])]
        if not help:
            widths = [axis for axis in missing if axis.is_width]
            if extra:
                help = (
                    f"is this the right value? it has {listed(a.name for a in extra)} instead of "
                    f"{listed(a.name for a in missing)}"
                    + ("; do the arguments, or the axes in brackets, stand in the right order?" if turned else "")
                )
                if turned and not widths and not any(actual in extra for _, actual in self.actual):
                    have, want = (listed(axis.name for axis in axes) for axes in (extra, missing))
                    spread = f"broadcast[{', '.join(axis.name for axis in missing)}]({span.text})"
                    help += f" if each {have} is meant with each {want}, write `{spread}`"
            elif widths:
                help = (
                    f"if the same value for every `{widths[0].name}` is meant, write "
                    f"`broadcast[{widths[0].name}]({span.text})`"
                )
                fix = [(span, f"broadcast[{widths[0].name}]({span.text})")]
        label = f"this is {show(wire)}"
        related = [(formal.span, f"`{name}` is declared here")]
        if wire.span.source is span.source and (wire.span.start, wire.span.end) != (span.start, span.end):
            related.append((wire.span, "it comes from here"))
        self.body.problems.report(
            "E0405",
            f"`{name}` of `{self.called}` should be {shown}, but this is {show(wire)}: no "
            f"{either(a.name for a in missing)}",
            span,
            label,
            related=related,
            help=help,
            fix=fix,
            deep=True,
        )

    def _also_used(self, name: str, mine: Axis) -> list[tuple[Span, str]]:
        """The edit that names an axis in the `use` that brings the callee: this file's own declaration then wins."""
        module = self.body.environment.module
        if mine.span is None or mine.span.source is not module.source:
            return []
        return module.also_used(self.call.callee.text, name)

    def _namesakes(self, theirs: Axis, mine: Axis, wire: TypedValue, span: Span) -> None:
        """The argument has an axis of the right name, but of another file. Said once for each call."""
        if self.foreign:
            return
        self.foreign = True
        place = self.call.callee.span
        where = self.block.module.source.name
        used = self.block.name if self.called == self.block.name else f"{self.block.name} as {self.called}"
        self.body.problems.report(
            "E0212",
            f"two axes named `{mine.name}` meet: `{self.called}` has one of {where}, its argument another",
            place,
            f"knows the `{theirs.name}` of {where}",
            related=[
                (span, f"this is {show(wire)}, with another `{mine.name}`"),
                (theirs.span, f"the `{theirs.name}` of `{self.called}`"),
                (mine.span, f"the `{mine.name}` of the argument"),
            ],
            help=f"name it in the `use`, and there is one for both: `use ...: {used}, {mine.name}`",
            fix=self._also_used(theirs.name, mine),
        )

    def _lifts_mentioned(self, wire: TypedValue, span: Span, formal: s.Formal, axis: Axis, parameter: Axis) -> None:
        self.body.problems.report(
            "E0406",
            f"`{formal.name.text}` of `{self.called}` carries `{axis.name}` too many: the block "
            f"uses that axis itself" + (f" (as `{parameter.name}`)" if parameter.name != axis.name else ""),
            span,
            f"this is {show(wire)}",
            related=[(formal.span, f"`{formal.name.text}` is declared here")],
            help="a call may not lift over an axis that the block mentions: rename it to a copy, "
            f"`x[{axis.name} as other]`, or pass what the argument asks for",
        )


def _inside(wire: TypedValue, formal: s.Formal, wanted: Type, actuals: dict[Axis, Axis]) -> TypedValue:
    """An argument in the callee's axes; those of its formal that it lacks are broadcast axes."""
    extra = [axis for axis in wire.axes if axis not in actuals]
    broadcast_axes = frozenset(axis for actual, axis in actuals.items() if not wire.has(actual))
    mark = frozenset(actuals.get(axis, axis) for axis in wire.mark)
    type = Type(wanted.element, (*extra, *wanted.axes), broadcast_axes)
    return TypedValue(type, wire.role, formal.name.span, mark=mark, mark_unknown=wire.mark_unknown)
