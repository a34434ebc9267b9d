"""The statements of a block elaborated, what they return compared with what it promises, and its graph."""

from __future__ import annotations

from ...dsl import syntax as s
from ...dsl.base.records import replace
from ...dsl.source import Span
from ..base.mentions import walk
from ..graph.nodes import Graph, Output
from ..graph.typed_value import TypedValue
from ..graph.values import Role, Type
from ..problems.plain import Plain
from ..problems.results import NothingPromised, OtherCount
from ..typing.builder import Builder
from ..typing.environment import Environment, Specialisation
from ..typing.names import written_type
from ..typing.outcome import Outcome
from ..typing.sharing import check_one_set
from ..typing.statements.dispatch import run
from ..typing.statements.expected import expected


def elaborate(env: Environment, rank: int | None = None) -> Specialisation:
    """A block in an environment that has its arguments. rank: where a reader meets it."""
    block = env.block
    if block.target:
        results: list[TypedValue | None] = _external(env)
    else:
        env = run(env, block.decl.body)
        check_one_set(env)
        _unused(env)
        results = _results(env)
    whole = [wire for wire in results if wire is not None]
    graph = _graph(env, whole, rank) if results and len(whole) == len(results) else None
    # The values within are needed no longer, and a large program has many.
    found = env.outcome
    kept = Outcome(found.decisions, found.undecided, found.formulas, found.own_axes)
    return Specialisation(env.but(variables={}, builder=Builder(), outcome=kept), graph, results)


def _results(env: Environment) -> list[TypedValue | None]:
    """What is returned, compared with what is promised; none after a report that it is not as many."""
    decl, returned = env.block.decl, env.outcome.returned
    if not returned:
        if not any(isinstance(node, s.Return) for node in walk(decl.body)):
            env.problems.add(Plain.NOTHING_RETURNED.at(decl.head, decl.name.text))
        return []
    statement, wires = returned[0]
    for again, _ in returned[1:]:
        env.problems.add(Plain.RETURNED_AGAIN.at(again.span, there=statement.span))
    results = decl.results
    if not results:
        if env.block.is_model:
            types = tuple(wire.type for wire in wires if wire is not None)
            env.problems.add(NothingPromised(decl.head, decl.name.text, types))
        return wires
    if len(wires) != len(results):
        promised, counts = results[0].span.to(results[-1].span), (len(wires), len(results))
        env.problems.add(OtherCount(statement.span, decl.name.text, statement, *counts, promised))
        return []
    places = [value.span for value in statement.values]
    if len(places) != len(results):
        places = [statement.span] * len(results)
    return [_result(env, *each) for each in zip(wires, results, places, strict=True)]


def _result(env: Environment, wire: TypedValue | None, result: s.ResultDecl, place: Span) -> TypedValue | None:
    wanted = written_type(env, result.type)
    if wire is None or wanted is None:
        return None
    name = result.name or env.block.decl.name
    good = expected(env, wire, wanted, place, result.type.span, name.text, result.name is None)
    lacks = [axis for axis in wanted.axes if axis not in wire.type.axes]
    if good and lacks:
        broadcast_axes = wire.type.broadcast_axes | set(lacks)
        wire = replace(wire, type=Type(wire.element, (*wire.type.axes, *lacks), broadcast_axes))
    local = [axis for axis in wanted.axes if axis in env.outcome.own_axes]
    if local:
        env.problems.add(Plain.LOCAL_AXIS.at(result.type.span, local[0]))
    return wire if good else None


def _external(env: Environment) -> list[TypedValue | None]:
    """What an op of the user's own gives: what it promises, for each index of the lifted axes."""
    builder = env.builder
    role = max([entry.value.role for entry in builder.inputs], default=Role.TABLE)
    wires: list[TypedValue | None] = []
    for result in env.block.decl.results:
        wanted = written_type(env, result.type)
        if wanted is None:
            wires.append(None)
            continue
        type = replace(wanted, axes=(*env.signature.lifted, *wanted.axes))
        wires.append(TypedValue(type, role, result.span, builder.value(type, role, result.span), home=builder))
    return wires


def _unused(env: Environment) -> None:
    """Warn of what is bound and not used; of a block with mistakes, what would use it may be what is wrong."""
    if env.problems.errors or not env.outcome.returned:
        return
    for name, span in env.outcome.assigned.items():
        known = env.variables.get(name) is not None or name in env.gone
        if known and name not in env.outcome.used and not name.startswith("_"):
            env.problems.add((Plain.UNUSED_IN_REPEAT if name in env.gone else Plain.UNUSED).at(span, name))


def _graph(env: Environment, results: list[TypedValue], rank: int | None) -> Graph:
    block, signature, builder = env.block, env.signature, env.builder
    outputs = []
    for position, wire in enumerate(results):
        result = block.decl.results[position] if block.decl.results else None
        with env.problems.aside():
            wanted = written_type(env, result.type) if result else None
        axes = wanted.axes if wanted else tuple(axis for axis in wire.type.axes if axis not in signature.lifted)
        name = result.name.text if result is not None and result.name is not None else None
        claimed = result.causal if result is not None and result.trusted is not None else ()
        trusted = tuple(axis for each in claimed if (axis := env.axis(each.text)) is not None)
        outputs.append(Output(name, builder.take(wire), axes, trusted=trusted))
    return Graph(
        block.name,
        "op" if block.target else block.decl.keyword,
        (*signature.params, *env.outcome.own_axes),
        len(signature.params),
        tuple(signature.const_params),
        signature.lifted,
        tuple(builder.inputs),
        tuple(builder.nodes),
        tuple(outputs),
        block.decl.doc,
        block.decl.head,
        block.target,
        display=block.display,
        rank=rank,
    )
