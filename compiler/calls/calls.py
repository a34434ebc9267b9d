"""The checker, following calls: each is a specialisation of its block, and a node of the caller's graph."""

from __future__ import annotations

from ...dsl import syntax as s
from ...dsl.base.records import mutable
from ...dsl.diagnostic import Severity
from ..graph.nodes import Call, Graph, Repeat, Scan, values_of
from ..graph.typed_value import TypedValue
from ..graph.values import Role, Value
from ..names.modules import BlockDef
from ..problems.plain import Plain
from ..sizes.axes import Axis
from ..sizes.limits import BODIES, CALLS_DEEP, Limit, TooMuch
from ..typing.environment import Environment, Specialisation
from ..typing.expressions.calls import visit_arguments
from ..typing.names import axis_named, written_type
from .alone import check_alone
from .arguments import inputs_of, one_axis_for_two, with_defaults
from .binding import CallSite, bind_arguments, bind_parameters, weights_path
from .checker import Checker
from .nodes import call_node, one_set_made, scan_node
from .parameters import Substitution, substitution
from .scan import items_and_states, states_of
from .specialise import pass_on, relay, specialised

Results = list[TypedValue | None]
_DECIDED_AT_CALLS = frozenset({"E0307"})  # what is decided where a block is called, not where it is declared


@mutable
class Calls(Checker):
    """A checker of blocks that applies them where they are called."""

    def check_alone(self, block: BlockDef, stack: tuple[BlockDef, ...] = ()) -> Specialisation:
        if block not in self.alone:
            self.alone[block] = check_alone(self, block, stack)
        return self.alone[block]

    def call_block(
        self, env: Environment, block: BlockDef, call: s.CallExpr, shared: str | None = None
    ) -> Results | None:
        axis = None if call.scan is None else axis_named(env, call.scan)
        site = CallSite(self, env, block, call, shared, axis)
        if call.scan is not None and axis is None:
            visit_arguments(env, call)
            return None
        if block in env.stack:
            visit_arguments(env, call)
            chain = [each.name for each in env.stack[env.stack.index(block) :]] + [block.name]
            env.problems.add(Plain.CALLS_ITSELF.at(call.span, site.called, " -> ".join(chain)))
            return None
        return _called(site)


def _called(site: CallSite) -> Results | None:
    """From names to the node in the caller's graph; None after a report."""
    name = weights_path(site)
    site.checker.check_alone(site.block, site.env.stack)
    bound, misplaced = bind_parameters(site)
    whole = bind_arguments(site, misplaced)
    if bound is None or whole is None or name is None:
        return None
    arguments = whole
    if site.axis is not None:
        scanned = items_and_states(site, site.axis, bound, whole)
        if scanned is None:
            return None
        arguments, whole = scanned
    arguments = with_defaults(site, arguments)
    whole = {**arguments, **whole}
    sub = substitution(site, bound)
    if sub.invalid:
        return site.nothing
    inputs = inputs_of(site, sub, arguments)
    if inputs.foreign or inputs.mixed:
        return site.nothing
    if not inputs.good or sub.unlike or site.block in site.checker.given_up:
        return _promised(site, sub)
    _refuse_too_much(site)
    made, sub = specialised(site, sub, inputs.entering)
    if not _sound(site, sub, made):
        return _promised(site, sub)
    graph = made.graph
    if graph is None or not _axes_distinct(site, sub, graph) or not one_set_made(site, graph):
        return None
    if site.axis is None:
        return call_node(site, sub, made, graph, arguments, name)
    return scan_node(site, sub, made, graph, arguments, whole, states_of(site), site.axis, name)


def _refuse_too_much(site: CallSite) -> None:
    if len(site.env.stack) > CALLS_DEEP:
        raise TooMuch(Limit.CALLS_DEEP, CALLS_DEEP)
    if len(site.checker.specialisations) > BODIES:
        raise TooMuch(Limit.BODIES, BODIES)


def _sound(site: CallSite, sub: Substitution, made: Specialisation) -> bool:
    """Whether the body is right; what is wrong in it for this call alone is reported."""
    alone, outcome = site.checker.alone[site.block], made.environment.outcome
    # What a const of the call decides is open while the block is on its own.
    if _is_wrong(alone) or (alone.graph is None and not alone.environment.outcome.undecided):
        relay(site, sub, made, only=None if site.of_the_library else _DECIDED_AT_CALLS)
        return False
    site.env.outcome.hangs_on(outcome)
    pass_on(site, sub, outcome.formulas)
    relay(site, sub, made)
    return made.graph is not None and not _is_wrong(made)


def _is_wrong(made: Specialisation) -> bool:
    return any(problem.severity is Severity.ERROR for problem in made.environment.problems.found)


def _promised(site: CallSite, sub: Substitution) -> Results:
    """Something is wrong inside: go on with what the block promises, so that the rest is checked. What a scan would
    give is not known, nor which results would carry lifted axes.
    """
    if site.axis is not None or sub.signature.lifted or not site.block.decl.results:
        return site.nothing
    probe, builder, span = Environment.of(site.checker, sub.signature), site.env.builder, site.call.span
    out: Results = []
    for result in site.block.decl.results:
        type = written_type(probe, result.type)
        mapped = None if type is None else sub.outward(type)
        if mapped is None:
            out.append(None)
            continue
        value = builder.value(mapped, Role.DATA, span)
        out.append(TypedValue(mapped, Role.DATA, span, value, mark_unknown=True, home=builder))
    return out


def _axes_distinct(site: CallSite, sub: Substitution, graph: Graph) -> bool:
    """Two parameters bound to one axis: no value of the body may carry both (D8)."""
    groups: dict[Axis, list[Axis]] = {}
    for formal, actual in sub.axes:
        groups.setdefault(actual, []).append(formal)
    for actual, formals in groups.items():
        found = _carries_two(graph, formals) if len(formals) > 1 else None
        if found is not None:
            value, a, b = found
            return one_axis_for_two(site, (a, b), actual, value.name, value.span, inside=True)
    return True


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
