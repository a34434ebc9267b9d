"""The specialisation that a call stands for, found or made; what is wrong in it is reported at the call."""

from __future__ import annotations

from dataclasses import replace

from ...dsl import syntax as s
from ...dsl.diagnostic import Severity
from ..graph.typed_value import TypedValue
from ..graph.values import IndexInto
from ..ops import OPS
from ..problems.relayed import AtCall, CalledFrom
from ..sizes.axes import Axis, Number, known
from ..typing.application import OpApplication
from ..typing.environment import Environment, Specialisation
from ..typing.expressions.dispatch import expression
from ..typing.names import written_type
from ..typing.outcome import Formula
from ..typing.signature import Signature
from .arguments import Arguments
from .elaborate import elaborate


class SpecialisedCall(Arguments):
    """Calls that are alike in sizes, copies and kinds of arguments share one env."""

    def _specialisation(
        self, environment: Signature, inputs: list[tuple[s.Formal, TypedValue | None]]
    ) -> Specialisation:
        checker, block, numbers = self.checker, self.block, self._numbers()
        key = (self._key(environment, inputs), tuple(repr(numbers.get(const.id)) for const in environment.const_params))
        if key in checker.specialisations:
            specialisation = checker.specialisations[key]
            self._onto(specialisation.environment.signature)
            return specialisation
        inside = Environment.of(checker, environment)
        inside = replace(inside, taken=self.env.taken, numbers=numbers, stack=(*self.env.stack, block))
        for formal, wire in inputs:
            if wire is None:
                wire = _everywhere(inside, _default(inside, formal), formal)
            elif wire.static is not None:
                wire = _everywhere(inside, wire, formal)
            else:
                place = formal.name.span.to(formal.type.span)
                made = inside.builder.input(formal.name.text, wire.type, wire.role, place)
                wire = replace(made, mark=wire.mark, mark_unknown=wire.mark_unknown)
            inside = inside.bound(formal.name.text, wire)
        checker.specialisations[key] = elaborate(inside, checker.ranks.get(block))
        return checker.specialisations[key]

    def _pass_on(self, formulas: list[Formula]) -> None:
        """A formula over a const that the call sets to the number of a pass is validated where the passes are."""
        axes = {formal.id: axis for formal, axis in self.actual}
        consts = {formal.id: static for formal, static in self.const_actual}
        for formula in formulas:
            given = formula.with_values(axes, consts)
            if given.undetermined:
                self.env.outcome.formulas.append(replace(given, call=self.call.span))

    def _numbers(self) -> dict[int, Number]:
        """The consts that depend on the pass of a repeat around the call, each with its number in that pass."""
        if not self.env.numbers:
            return {}
        found = ((formal, known(self.env.in_this_pass(static))) for formal, static in self.const_actual)
        return {formal.id: number for formal, number in found if formal.value is None and number is not None}

    def _onto(self, environment: Signature) -> None:
        """The parameters of a kept specialisation, in place of the fresh ones."""
        self.actual = [(mine, actual) for mine, (_, actual) in zip(environment.params, self.actual, strict=True)]
        self.const_actual = [
            (mine, static) for mine, (_, static) in zip(environment.const_params, self.const_actual, strict=True)
        ]

    def _key(self, environment: Signature, inputs: list[tuple[s.Formal, TypedValue | None]]) -> object:
        """Calls of equal keys have one body: same sizes, same copies among the parameters, arguments of the
        same kind.
        """
        place = {axis.id: index for index, axis in enumerate(environment.params)}
        families: dict[int, int] = {}
        axes = tuple(
            (
                axis.extent,
                axis.bound,
                axis.size is not None,
                axis.id in environment.open,
                families.setdefault(axis.family, len(families)),
            )
            for axis in environment.params
        )
        lifted = tuple(axis.id for axis in environment.lifted)

        def at(axis: Axis) -> tuple[str, int]:
            return ("p", place[axis.id]) if axis.id in place else ("l", axis.id)

        arguments: list[object] = []
        for _, wire in inputs:
            if wire is None:
                arguments.append(None)
                continue
            if wire.static is not None:
                arguments.append(repr(wire.static))  # 1 is not 1.0, nor true
                continue
            element = at(wire.element.axis) if isinstance(wire.element, IndexInto) else wire.element.value
            arguments.append(
                (
                    element,
                    tuple(at(axis) for axis in wire.type.axes),
                    tuple(sorted(at(axis) for axis in wire.type.broadcast_axes)),
                    wire.role,
                    tuple(sorted(at(axis) for axis in wire.mark)),
                    wire.mark_unknown,
                )
            )
        consts = tuple(
            (repr(const.value), repr(const.like), const in environment.running) for const in environment.const_params
        )
        return (id(self.block), environment.roles_known, self.env.taken, axes, consts, lifted, tuple(arguments))

    def _relay(self, specialisation: Specialisation, only: frozenset[str] | None = None) -> None:
        """Mistakes of this specialisation that the block does not make on its own: shown at the call.

        only: of a block with mistakes of its own, the codes of those that do not follow from them.
        """
        problems, ours = self.env.problems, self.env.module.library or not self.block.module.library
        known = {problem.place for problem in self.checker.session.problems.found}
        if ours:
            known |= {problem.place for problem in self.checker.alone[self.block].environment.problems.found}
        for problem in specialisation.environment.problems.found:
            silent = problem.severity is Severity.WARNING and not problem.deep
            if silent or problem.place in known or (only is not None and problem.code not in only):
                continue
            if problem.deep and ours:
                problems.found.append(CalledFrom(problem.span, problem, self.call.span))
            else:
                problems.found.append(AtCall(self.call.span, problem, self.block.decl, self.call, tuple(self.actual)))


def _default(env: Environment, formal: s.Formal) -> TypedValue | None:
    """What stands in for an argument that is not given; a number for an index is one."""
    assert formal.default is not None
    wire, wanted = expression(env, formal.default), written_type(env, formal.type)
    if wire is None or wanted is None or not isinstance(wanted.element, IndexInto):
        return wire
    op = OPS["index"]
    return op.rule(
        OpApplication(env, op, op.name, wire.span, wire.span, [wire], [wire.span], made=[wanted.element.axis])
    )


def _everywhere(env: Environment, wire: TypedValue | None, formal: s.Formal) -> TypedValue | None:
    """A number passed for an argument is the same along all axes of the formal."""
    wanted = written_type(env, formal.type)
    if wire is None or wire.static is None or wanted is None:
        return wire
    return replace(wire, spread=frozenset(wanted.axes))
