"""A block called: a specialisation of it found or made, and a node of the caller's graph."""

from __future__ import annotations

from collections.abc import Iterable

from ...dsl.diagnostic import Severity
from ...dsl.source import Span
from ..base.problems import Problem
from ..graph.equality import first_difference, models
from ..graph.nodes import Call, Graph, Repeat, Scan, owns, values_of
from ..graph.typed_value import TypedValue
from ..graph.values import IndexInto, Role, Type, Value
from ..problems.axes import Namesakes
from ..problems.calls import CallsItself
from ..problems.results import SetPerPass, SharedDifferently, ShareFromOutside
from ..sizes.axes import Axis, Static
from ..sizes.limits import BODIES, CALLS_DEEP, TooMuch
from ..typing.environment import Environment, Specialisation
from ..typing.expressions.calls import visit_arguments
from ..typing.names import may_own, namesakes, written_type
from ..typing.sharing import own, own_model, ways
from ..typing.signature import Signature
from .specialise import SpecialisedCall

_DECIDED_AT_CALLS = frozenset({"E0307"})  # what is decided where a block is called, not where it is declared


class BlockCall(SpecialisedCall):
    """One call, from its names to the node in the caller's graph."""

    def run(self) -> list[TypedValue | None] | None:
        checker, env, block, call = self.checker, self.env, self.block, self.call
        if block in env.stack:
            visit_arguments(env, call)
            chain = [b.name for b in env.stack[env.stack.index(block) :]] + [block.name]
            env.problems.add(CallsItself(call.span, self.called, tuple(chain)))
            return None
        name = self._name()
        alone = checker.check_alone(block, env.stack)
        bound = self._bind_parameters()
        arguments = self._bind_arguments()
        if bound is None or arguments is None or name is None:
            return None
        arranged = self._arranged(bound, arguments)
        if arranged is None:
            return None
        arguments = self._with_defaults(arranged)
        broken = _is_wrong(alone.environment.problems.found)
        broken = broken or (
            alone.graph is None and not alone.environment.outcome.undecided
        )  # what a const of the call decides is open yet
        environment = self._own_environment(bound)
        if self.invalid_default:
            return [None] * max(1, len(block.decl.results))
        inputs = self._inputs(environment, arguments)
        if self.foreign or self.mixed:
            return [None] * max(1, len(block.decl.results))
        if inputs is None or self.unlike:
            return self._promised(environment)
        if block in checker.given_up:
            return self._promised(environment)
        if len(env.stack) > CALLS_DEEP:
            raise TooMuch(f"blocks call each other more than {CALLS_DEEP} deep", "call fewer blocks in one another")
        if len(checker.specialisations) > BODIES:
            raise TooMuch(
                f"the blocks called here stand for more than {BODIES} bodies, each for other sizes or arguments",
                "give fewer different parameters; what is the same each time is one body",
            )
        specialisation = self._specialisation(environment, inputs)
        if broken:
            self._relay(specialisation, only=None if self._of_the_library() else _DECIDED_AT_CALLS)
            return self._promised(specialisation.environment.signature)
        outcome = specialisation.environment.outcome
        env.outcome.hangs_on(outcome)
        self._pass_on(outcome.formulas)
        self._relay(specialisation)
        environment = specialisation.environment.signature
        if specialisation.graph is None or _is_wrong(specialisation.environment.problems.found):
            return self._promised(environment)
        if not self._axes_distinct(specialisation, environment) or not self._one_set_made(specialisation.graph):
            return None
        return self._emit(specialisation, environment, arguments, name)

    def _of_the_library(self) -> bool:
        """Whether the block is not to be changed by who calls it: what is wrong in it follows from sizes that the file
        of the call has chosen for it.
        """
        return self.block.module.library and not self.env.module.library

    def _arranged(
        self, bound: dict[str, Axis | Static], arguments: dict[str, tuple[TypedValue, Span]]
    ) -> dict[str, tuple[TypedValue, Span]] | None:
        """The arguments as the callee takes them; a scan passes single items."""
        return arguments

    def _promised(self, environment: Signature) -> list[TypedValue | None]:
        """Something is wrong inside: go on with what the block promises, so that the rest is checked."""
        if environment.lifted:  # which results would carry them depends on the body
            return [None] * max(1, len(self.block.decl.results))
        probe = Environment.of(self.checker, environment)
        out: list[TypedValue | None] = []
        for result in self.block.decl.results:
            type = written_type(probe, result.type)
            if type is None:
                out.append(None)
                continue
            mapped = self._outward(type)
            if mapped is None:
                out.append(None)
                continue
            builder = self.env.builder
            out.append(
                TypedValue(
                    mapped,
                    Role.DATA,
                    self.call.span,
                    builder.value(mapped, Role.DATA, self.call.span),
                    mark_unknown=True,
                    home=builder,
                )
            )
        return out or [None]

    def _outward(self, type: Type) -> Type | None:
        """A type of the callee in the caller's axes."""
        to_actual = {formal.id: actual for formal, actual in self.actual}
        axes = tuple(to_actual.get(axis.id, axis) for axis in type.axes)
        if len(set(axes)) < len(axes):
            return None
        element = type.element
        if isinstance(element, IndexInto):
            element = IndexInto(to_actual.get(element.axis.id, element.axis))
        return Type(element, axes, frozenset(to_actual.get(axis.id, axis) for axis in type.broadcast_axes))

    def _axes_distinct(self, specialisation: Specialisation, environment: Signature) -> bool:
        """Two parameters bound to one axis: no value of the body may carry both (D8)."""
        groups: dict[Axis, list[Axis]] = {}
        for formal, actual in self.actual:
            groups.setdefault(actual, []).append(formal)
        for actual, formals in groups.items():
            if len(formals) < 2:
                continue
            assert specialisation.graph is not None
            found = _carries_two(specialisation.graph, formals)
            if found is not None:
                value, a, b = found
                self._same_axis(a, b, actual, value.name, value.span, in_body=True)
                return False
        return True

    def _one_set_made(self, graph: Graph) -> bool:
        """Calls of a shared block have one set of weights, so all of them need it in one shape."""
        if self.shared is None or not owns(graph, self.checker.owners):
            return True
        shared = self.env.shares[self.shared]
        first, there = shared.first = shared.first or (graph, self.call.span)
        difference = None if first is graph else first_difference(first, graph, self.checker.owners)
        if difference is None:
            return True
        problem = SharedDifferently(self.call.span, difference, self.shared, there, self.called)
        return self.env.problems.refuse(problem)

    def _emit(
        self,
        specialisation: Specialisation,
        environment: Signature,
        arguments: dict[str, tuple[TypedValue, Span]],
        name: str,
    ) -> list[TypedValue | None]:
        env, builder, graph = self.env, self.env.builder, specialisation.graph
        assert graph is not None
        names = [f.name.text for f in self.block.decl.formals if f.name.text in arguments]
        given = [(name, arguments[name][0]) for name in names]
        args = [builder.take(wire) for name, wire in given if not self._put_in(wire)]
        to_actual = {formal.id: actual for formal, actual in self.actual}
        outs: list[TypedValue | None] = []
        values: list[Value] = []
        for wire, output in zip(specialisation.results, graph.outputs, strict=True):
            assert wire is not None
            lifted = tuple(axis for axis in wire.type.axes if axis in graph.lifted)
            axes = (*lifted, *output.axes)  # without broadcast axes that the result's type lacks
            type = self._outward(Type(wire.type.element, axes, wire.type.broadcast_axes & set(axes)))
            assert type is not None  # two parameters for one axis are apart in all values of the body
            meeting = namesakes(env, type)
            if meeting is not None:
                env.problems.add(Namesakes(self.call.span, *meeting))
                return [None] * len(graph.outputs)
            value = builder.value(type, wire.role, self.call.span)
            values.append(value)
            mark = frozenset(to_actual.get(axis.id, axis) for axis in wire.mark)
            outs.append(
                TypedValue(type, wire.role, self.call.span, value, mark, mark_unknown=wire.mark_unknown, home=builder)
            )
        builder.nodes.append(
            Call(graph, name, tuple(args), tuple(values), tuple(self.actual), tuple(self.const_actual), self.call.span)
        )
        self._own(name, graph)
        return outs

    def _own(self, name: str, graph: Graph) -> None:
        """Keep the name that the call's weights go by, which must be free (D11)."""
        env = self.env
        span = (self.call.label or self.call.callee).span
        if not owns(graph, self.checker.owners):
            return
        if self.shared in env.outside:
            self._share_within()
        elif self.shared is not None and self.shared in env.around:
            env.outcome.lent.add(self.shared)
        elif env.numbered:
            self._one_set(graph)
        if self.block.is_model:
            all(own_model(env, model, span) for model in models(graph))
        elif self.shared is None:
            may_own(env, name, span)
            own(env, name, span)

    def _share_within(self) -> None:
        """Report a share whose weights the passes of a repeat would have beside those of its own place (D11)."""
        env, name = self.env, self.shared
        assert name is not None
        self.env.problems.add(ShareFromOutside(self.call.span, name, self.called, env.shares[name].name.span))

    def _one_set(self, graph: Graph) -> None:
        """Report a model that each pass of a repeat would give weights of its own (D11)."""
        direct = self.block.is_model
        model = graph if direct else next((way.model for way in ways(graph, self.checker).values()), None)
        if model is None:
            return
        self.env.problems.add(SetPerPass(self.call.span, model.name, model.span, "" if direct else self.called))


def _is_wrong(problems: Iterable[Problem]) -> bool:
    return any(problem.severity is Severity.ERROR for problem in problems)


def _carries_two(graph: Graph, formals: list[Axis]) -> tuple[Value, Axis, Axis] | None:
    """A value of the graph, or of what it calls, that carries two of these axes; a number may, as a result of it."""
    results = [(output.value, output.axes) for output in graph.outputs]
    for value, axes in (*((value, value.type.axes) for value in values_of(graph)), *results):
        held = [axis for axis in formals if axis in axes]
        if len(held) > 1:
            return value, held[0], held[1]
    for node in graph.nodes:
        if isinstance(node, Call | Scan):
            inner = [formal for formal, actual in node.axes if actual in formals]
            inner += [axis for axis in formals if axis in node.graph.lifted]
            found = _carries_two(node.graph, inner) if len(inner) > 1 else None
            if found is not None:
                back = {f.id: a for f, a in node.axes}
                a, b = back.get(found[1].id, found[1]), back.get(found[2].id, found[2])
                if a != b:
                    return found[0], a, b
        elif isinstance(node, Repeat):
            for one in node.bodies:
                found = _carries_two(one, formals)
                if found is not None:
                    return found
    return None
