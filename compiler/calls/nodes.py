"""The node that a call is in the caller's graph, and the names that its weights go by (D11)."""

from __future__ import annotations

from ...dsl.source import Span
from ..graph.equality import first_difference, models
from ..graph.nodes import Call, Graph, Scan, owns
from ..graph.typed_value import TypedValue
from ..graph.values import Type
from ..problems.axes import Namesakes
from ..problems.plain import Plain
from ..problems.results import SharedDifferently
from ..sizes.axes import Axis
from ..typing.environment import Specialisation
from ..typing.names import may_own, namesakes
from ..typing.sharing import own, own_model, ways
from .arguments import is_put_in
from .binding import Arguments, CallSite
from .parameters import Substitution


def call_node(
    site: CallSite, sub: Substitution, made: Specialisation, graph: Graph, arguments: Arguments, name: str
) -> list[TypedValue | None]:
    """A block called once: its results in the caller's axes."""
    builder, span = site.env.builder, site.call.span
    args = tuple(builder.take(arguments[formal][0]) for formal in _entering(site, arguments))
    to_actual = {formal.id: actual for formal, actual in sub.axes}
    outs: list[TypedValue] = []
    for wire, type, _ in _results(sub, made, graph):
        meeting = namesakes(site.env, type)
        if meeting is not None:
            site.env.problems.add(Namesakes(span, *meeting))
            return site.nothing
        value = builder.value(type, wire.role, span)
        mark = frozenset(to_actual.get(axis.id, axis) for axis in wire.mark)
        outs.append(TypedValue(type, wire.role, span, value, mark, mark_unknown=wire.mark_unknown, home=builder))
    values = tuple(out.value for out in outs if out.value is not None)
    builder.nodes.append(Call(graph, name, args, values, tuple(sub.axes), tuple(sub.consts), span))
    _own(site, name, graph)
    return [*outs]


def scan_node(
    site: CallSite,
    sub: Substitution,
    made: Specialisation,
    graph: Graph,
    arguments: Arguments,
    whole: Arguments,
    states: dict[str, int],
    axis: Axis,
    name: str,
) -> list[TypedValue | None]:
    """A block called at each index of the axis; `whole` are the arguments for all of them."""
    builder, span = site.env.builder, site.call.span
    if any(axis == actual for formal, actual in sub.axes if formal.id not in sub.of_sizes):
        site.env.problems.add(Plain.SCANNED_WHOLE.at(span, site.called, axis))
        return site.nothing
    entering = _entering(site, arguments)
    args = tuple(builder.take(whole[formal][0]) for formal in entering)
    steps = tuple(i for i, formal in enumerate(entering) if formal not in states and whole[formal][0].has(axis))
    carried = {position: arguments[formal][0].element for formal, position in states.items()}
    outs: list[TypedValue] = []
    for position, (wire, type, here) in enumerate(_results(sub, made, graph)):
        element, axes = carried.get(position, type.element), (*type.axes[:here], axis, *type.axes[here:])
        type = Type(element, axes, type.broadcast_axes)
        role = max(wire.role, *(arg.role for arg in args))
        outs.append(TypedValue(type, role, span, builder.value(type, role, span), home=builder))
    builder.nodes.append(
        Scan(
            graph,
            name,
            axis,
            args,
            steps,
            tuple((entering.index(formal), position) for formal, position in states.items()),
            tuple(out.value for out in outs if out.value is not None),
            tuple(sub.axes),
            tuple(sub.consts),
            span,
        )
    )
    _own(site, name, graph)
    return [*outs]


def _entering(site: CallSite, arguments: Arguments) -> list[str]:
    """The names of what is an input of the body."""
    names = [formal.name.text for formal in site.block.decl.formals]
    return [name for name in names if name in arguments and not is_put_in(site, arguments[name][0])]


def _results(sub: Substitution, made: Specialisation, graph: Graph) -> list[tuple[TypedValue, Type, int]]:
    """The results of the body, each with its type in the caller's axes, and how many of these are lifted."""
    found = []
    for wire, output in zip(made.results, graph.outputs, strict=True):
        assert wire is not None
        lifted = tuple(axis for axis in wire.type.axes if axis in graph.lifted)
        axes = (*lifted, *output.axes)  # without broadcast axes that the result's type lacks
        type = sub.outward(Type(wire.type.element, axes, wire.type.broadcast_axes & set(axes)))
        assert type is not None  # two parameters for one axis are apart in all values of the body
        found.append((wire, type, len(lifted)))
    return found


def one_set_made(site: CallSite, graph: Graph) -> bool:
    """Calls of a shared block have one set of weights, so all of them need it in one shape."""
    if site.shared is None or not owns(graph, site.checker.owners):
        return True
    shared, span = site.env.shares[site.shared], site.call.span
    first, there = shared.first = shared.first or (graph, span)
    difference = None if first is graph else first_difference(first, graph, site.checker.owners)
    if difference is None:
        return True
    return site.env.problems.refuse(SharedDifferently(span, difference, site.shared, there, site.called))


def _own(site: CallSite, name: str, graph: Graph) -> None:
    """Keep the name that the call's weights go by, which must be free (D11)."""
    env, shared = site.env, site.shared
    if not owns(graph, site.checker.owners):
        return
    span: Span = (site.call.label or site.call.callee).span
    if shared is not None and shared in env.outside:  # passes would have its weights beside those of its own place
        env.problems.add(
            Plain.SHARE_FROM_OUTSIDE.at(site.call.span, shared, site.called, there=env.shares[shared].name.span)
        )
    elif shared is not None and shared in env.around:
        env.outcome.lent.add(shared)
    elif env.numbered:
        _one_set(site, graph)
    if site.block.is_model:
        all(own_model(env, model, span) for model in models(graph))
    elif shared is None:
        may_own(env, name, span)
        own(env, name, span)


def _one_set(site: CallSite, graph: Graph) -> None:
    """Report a model that each pass of a repeat would give weights of its own (D11)."""
    direct = site.block.is_model
    model = graph if direct else next((way.model for way in ways(graph, site.checker).values()), None)
    if model is not None:
        at, there = site.call.span, model.span
        own = Plain.SET_PER_PASS.at(at, model.name, there=there)
        site.env.problems.add(own if direct else Plain.SET_PER_PASS_CALLED.at(at, model.name, site.called, there=there))
