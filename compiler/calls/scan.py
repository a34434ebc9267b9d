"""`h, c = scan[seq] cell(x, h = 0, c = 0)`: a block called at each index of an axis in order.

A result named like an argument is that argument's next value, and what is passed for it is the value before the first
index. Other arguments that have the axis are given item by item, the rest as they are. Every result comes back with the
axis; there is one set of weights.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from ...dsl import syntax as s
from ...dsl.source import Span
from ..graph.nodes import Scan
from ..graph.typed_value import TypedValue, fits
from ..graph.values import Role, Scalar, Type, Value
from ..problems.calls import NothingCarried, NothingRuns, ScannedWhole, StateAlong, StateOfSizes, StateType
from ..sizes.axes import Axis, Literal, Static, axes_in, consts_in, known
from ..typing.environment import Environment, Specialisation
from ..typing.expressions.calls import visit_arguments
from ..typing.expressions.dispatch import expression
from ..typing.names import axis_named, written_type
from ..typing.signature import Signature
from .block import BlockCall


@dataclass
class ScanCall(BlockCall):
    """`as_written`: the arguments for all steps; the callee sees those of `_arranged`."""

    axis: Axis | None = None
    as_written: dict[str, tuple[TypedValue, Span]] | None = None

    def run(self) -> list[TypedValue | None] | None:
        assert self.call.scan is not None
        self.axis = axis_named(self.env, self.call.scan)
        if self.axis is None:
            visit_arguments(self.env, self.call)
            return None
        return super().run()

    @property
    def _states(self) -> dict[str, int]:
        """Arguments that are carried, each with the position of its result."""
        results = {result.name.text: index for index, result in enumerate(self.block.decl.results) if result.name}
        return {
            formal.name.text: results[formal.name.text]
            for formal in self.block.decl.formals
            if formal.name.text in results
        }

    def _arranged(
        self, bound: dict[str, Axis | Static], arguments: dict[str, tuple[TypedValue, Span]]
    ) -> dict[str, tuple[TypedValue, Span]] | None:
        """The arguments at one index: items of what runs along the axis, and states of a type that has settled."""
        assert self.axis is not None
        axis, env = self.axis, self.env
        if not self._states:
            env.problems.add(NothingCarried(self.call.span, self.use))
            return None
        given = self._with_first_values(arguments)
        if given is None or not self._goes_round(bound):
            return None
        self.as_written = arguments = given
        stepping = {name for name, (wire, _) in arguments.items() if name not in self._states and wire.has(axis)}
        if not stepping:
            env.problems.add(NothingRuns(self.call.span, self.use, axis))
            return None
        for name in self._states:
            wire, span = arguments[name]
            if wire.has(axis):
                env.problems.add(StateAlong(span, name, axis, wire.type))
                return None
        arranged = {
            name: (self._item(wire) if name in stepping else wire, span) for name, (wire, span) in arguments.items()
        }
        with env.problems.aside():
            while True:  # a round gives a state more axes or a higher role, of which there are only so many
                self.actual, self.const_actual = [], []
                environment = self._own_environment(bound)
                for name in self._states:
                    wire, span = arranged[name]
                    arranged[name] = self._state(environment, name, wire), span
                inputs = self._inputs(environment, arranged)
                if inputs is None:
                    break
                specialisation = self._specialisation(environment, inputs)
                if specialisation.graph is None:
                    break
                changed = False
                for name, position in self._states.items():
                    result = specialisation.results[position]
                    type = None if result is None else self._outward(result.type)
                    if result is not None and type is not None:
                        wire, span = arranged[name]
                        varies = (a for a in type.axes if a not in type.broadcast_axes and a not in wire.type.axes)
                        axes = (*varies, *wire.type.axes)
                        role = max(wire.role, result.role)
                        if axes != wire.type.axes or role != wire.role:
                            changed = True
                            arranged[name] = replace(wire, type=Type(wire.element, axes), role=role), span
                if not changed:
                    break
        self.actual, self.const_actual = [], []
        self.unlike = self.foreign = self.mixed = False  # said again, aloud
        return arranged

    def _goes_round(self, bound: dict[str, Axis | Static]) -> bool:
        """Whether the next value of each state has the type that the block takes; else reported."""
        good = True
        wrong: list[tuple[s.Formal, s.ResultDecl, Type, Type]] = []
        with self.env.problems.aside():
            self.actual, self.const_actual = [], []
            probe = Environment.of(self.checker, self._own_environment(bound))
            self.actual, self.const_actual = [], []
            for formal in self.block.decl.formals:
                if formal.name.text not in self._states:
                    continue
                result = self.block.decl.results[self._states[formal.name.text]]
                takes, gives = written_type(probe, formal.type), written_type(probe, result.type)
                if takes is None or gives is None:  # that was said where the block is declared
                    good = False
                elif {*takes.axes} != {*gives.axes} or not fits(gives.element, takes.element):
                    wrong.append((formal, result, takes, gives))
        for formal, result, takes, gives in wrong:
            self.env.problems.add(StateType(result.span, self.use, formal, takes, gives))
        return good and not wrong

    def _with_first_values(
        self, arguments: dict[str, tuple[TypedValue, Span]]
    ) -> dict[str, tuple[TypedValue, Span]] | None:
        """A state that is not given begins with its default. None after a report."""
        given = dict(arguments)
        for formal in self.block.decl.formals:
            name = formal.name.text
            if name in self._states and name not in given and formal.default is not None:
                alone = self.checker.alone[self.block].environment
                first = expression(Environment.of(self.checker, alone.signature), formal.default)
                static = None if first is None else first.static
                number = None if static is None or axes_in(static) or consts_in(static) else known(static)
                if first is None or number is None:
                    if first is not None:
                        self.env.problems.add(StateOfSizes(self.call.span, name))
                    return None
                given[name] = (replace(first, static=Literal(number)), self.call.span)
        return given

    def _item(self, wire: TypedValue) -> TypedValue:
        """One item along the axis."""
        axes = tuple(axis for axis in wire.type.axes if axis != self.axis)
        mark = frozenset() if self.axis in wire.mark else wire.mark
        return replace(
            wire, type=Type(wire.element, axes, wire.type.broadcast_axes), mark=mark, static=None, range=None
        )

    def _state(self, environment: Signature, name: str, wire: TypedValue) -> TypedValue:
        """A state has the type that the block declares for it, and the axes that lift its first value."""
        formal = next(f for f in self.block.decl.formals if f.name.text == name)
        wanted = written_type(Environment.of(self.checker, environment), formal.type)
        outward = None if wanted is None else self._outward(wanted)
        if outward is None or (set(wire.axes) - set(outward.axes) and set(outward.axes) - set(wire.axes)):
            return wire  # that it does not fit is said where arguments are checked
        axes = (*(axis for axis in wire.axes if axis not in outward.axes), *outward.axes)
        number = wire.element is Scalar.INT and wire.static is not None and outward.element is not Scalar.BOOL
        element = outward.element if number or fits(wire.element, outward.element) else wire.element
        role = max(wire.role, Role.TABLE)  # a number has no axes, and is no value that changes
        return replace(wire, type=Type(element, axes), role=role, static=None, range=None, mark=frozenset())

    def _promised(self, environment: Signature) -> list[TypedValue | None]:
        """Something is wrong: what the scan would give is not known."""
        return [None] * max(1, len(self.block.decl.results))

    def _emit(
        self,
        specialisation: Specialisation,
        environment: Signature,
        arguments: dict[str, tuple[TypedValue, Span]],
        name: str,
    ) -> list[TypedValue | None]:
        env, builder, graph, axis = self.env, self.env.builder, specialisation.graph, self.axis
        assert axis is not None
        assert graph is not None
        assert self.as_written is not None
        if any(axis == actual for formal, actual in self.actual if formal.id not in self.of_sizes):
            env.problems.add(ScannedWhole(self.call.span, self.use, axis))
            return [None] * len(graph.outputs)
        names = [formal.name.text for formal in self.block.decl.formals]
        entering = [name for name in names if name in arguments and not self._put_in(arguments[name][0])]
        args = tuple(builder.take(self.as_written[formal][0]) for formal in entering)
        states = tuple((entering.index(formal), position) for formal, position in self._states.items())
        steps = tuple(
            index
            for index, formal in enumerate(entering)
            if formal not in self._states and self.as_written[formal][0].has(axis)
        )
        values: list[Value] = []
        outs: list[TypedValue | None] = []
        carried = {position: arguments[formal][0].element for formal, position in self._states.items()}
        for position, (wire, output) in enumerate(zip(specialisation.results, graph.outputs, strict=True)):
            assert wire is not None
            lifted = tuple(a for a in wire.type.axes if a in graph.lifted)
            axes = (*lifted, *output.axes)
            type = self._outward(Type(wire.type.element, axes, wire.type.broadcast_axes & set(axes)))
            assert type is not None  # and no value of the body has the axis: it was given items
            here = len(lifted)
            type = Type(
                carried.get(position, type.element), (*type.axes[:here], axis, *type.axes[here:]), type.broadcast_axes
            )
            role = max(wire.role, *(arg.role for arg in args))
            value = builder.value(type, role, self.call.span)
            values.append(value)
            outs.append(TypedValue(type, Role(role), self.call.span, value, home=builder))
        builder.nodes.append(
            Scan(
                graph,
                name,
                axis,
                args,
                steps,
                states,
                tuple(values),
                tuple(self.actual),
                tuple(self.const_actual),
                self.call.span,
            )
        )
        self._own(name, graph)
        return outs
