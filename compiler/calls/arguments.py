"""The arguments of a call as the block sees them: in its own axes, the rest lifted."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from ...dsl import syntax as s
from ...dsl.source import Span
from ..graph.typed_value import TypedValue, fits
from ..graph.values import IndexInto, Role, Type
from ..problems.calls import ArgumentLacks, ArgumentNamesake, LiftsMentioned, OneAxisForTwo
from ..problems.elements import ArgumentElement, IndexTaker, WrongTable
from ..sizes.axes import Axis, Literal
from ..typing.environment import Environment
from ..typing.expressions.dispatch import expression
from ..typing.names import written_type
from ..typing.signature import Signature
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
                alone = self.checker.alone[self.block].environment
                default = expression(Environment.of(self.checker, alone.signature), formal.default)
                if default is not None:
                    given[formal.name.text] = (default, self.call.span)
        return given

    def _put_in(self, wire: TypedValue | None) -> bool:
        """A plain number or truth value stands in the body as it is, and is no input of it."""
        plain = wire is not None and isinstance(wire.static, Literal)
        return plain and not self.block.target

    def _inputs(
        self, environment: Signature, arguments: dict[str, tuple[TypedValue, Span]]
    ) -> list[tuple[s.Formal, TypedValue | None]] | None:
        """The arguments as the callee sees them: in its own axes, those of a formal that they lack as
        broadcast axes, the rest lifted.
        """
        probe = Environment.of(self.checker, environment)
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
            wanted = written_type(probe, formal.type)
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
        carries = wire.role is Role.DATA and wire.is_number and self.env.signature.roles_known
        # What the body around is lifted over, it does not know of: such an axis says nothing of a mix-up.
        seen = [axis for axis in extra if axis not in self.env.signature.lifted]
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
                wrong = WrongTable(span, wire.type, have.axis, target, IndexTaker.ARGUMENT, formal.name.text)
                return self.env.problems.refuse(wrong)
            wanted = replace(wanted, element=IndexInto(target))
        elif fits(have, want):
            return True
        return self.env.problems.refuse(ArgumentElement(span, self.called, formal, wire.type, wanted))

    def _one_axis_twice(self, axes: tuple[Axis, ...], to_actual: dict[int, Axis], formal: s.Formal) -> None:
        seen: dict[Axis, Axis] = {}
        for axis in axes:
            actual = to_actual[axis.id]
            if actual in seen:
                self._same_axis(seen[actual], axis, actual, formal.name.text, formal.span)
                return
            seen[actual] = axis

    def _same_axis(
        self, a: Axis, b: Axis, actual: Axis, name: str | None, place: Span | None, in_body: bool = False
    ) -> None:
        at, around = (self.call.brackets or self.call).span, self.env.surroundings
        names = a.name, b.name
        self.env.problems.add(OneAxisForTwo(at, self.called, names, actual, name, place, in_body, around))

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
        named = any(actual in extra for _, actual in self.actual)
        axes = tuple(actuals), tuple(missing), tuple(extra)
        self.env.problems.add(ArgumentLacks(span, self.called, formal, wire, *axes, turned, named))

    def _also_used(self, name: str, mine: Axis) -> list[tuple[Span, str]]:
        """The edit that names an axis in the `use` that brings the callee: this file's own declaration then wins."""
        module = self.env.module
        if mine.span is None or mine.span.source is not module.source:
            return []
        return module.also_used(self.call.callee.text, name)

    def _namesakes(self, theirs: Axis, mine: Axis, wire: TypedValue, span: Span) -> None:
        """The argument has an axis of the right name, but of another file. Said once for each call."""
        if self.foreign:
            return
        self.foreign = True
        place, name, file = self.call.callee.span, self.block.name, self.block.module.source.name
        use = tuple(self._also_used(theirs.name, mine))
        problem = ArgumentNamesake(place, self.called, name, file, theirs, mine, wire, span, use)
        self.env.problems.add(problem)

    def _lifts_mentioned(self, wire: TypedValue, span: Span, formal: s.Formal, axis: Axis, parameter: Axis) -> None:
        self.env.problems.add(LiftsMentioned(span, self.called, formal, wire, axis, parameter))


def _inside(wire: TypedValue, formal: s.Formal, wanted: Type, actuals: dict[Axis, Axis]) -> TypedValue:
    """An argument in the callee's axes; those of its formal that it lacks are broadcast axes."""
    extra = [axis for axis in wire.axes if axis not in actuals]
    broadcast_axes = frozenset(axis for actual, axis in actuals.items() if not wire.has(actual))
    mark = frozenset(actuals.get(axis, axis) for axis in wire.mark)
    type = Type(wanted.element, (*extra, *wanted.axes), broadcast_axes)
    return TypedValue(type, wire.role, formal.name.span, mark=mark, mark_unknown=wire.mark_unknown)
