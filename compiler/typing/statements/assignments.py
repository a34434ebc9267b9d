"""What statements bind and return, and the types that are written for it."""

from __future__ import annotations

from typing import Any

from ....dsl import syntax as s
from ....dsl.base.records import replace
from ...graph.typed_value import TypedValue
from ...problems.names import Bearer, NameTaken
from ...problems.plain import Plain
from ...problems.results import Unpacked
from ..environment import Environment
from ..expressions.atoms import variable
from ..expressions.calls import called
from ..expressions.dispatch import expression
from ..names import written_type
from .dispatch import of_kind
from .expected import expected


def bind(env: Environment, name: s.Ident, wire: TypedValue | None) -> Environment:
    """Give a variable its value."""
    text = name.text
    if text == "_":
        return env
    bearer = env.bearer(text)
    if bearer is not None:
        kind, declared = bearer
        env.problems.add(NameTaken(name.span, text, Bearer.VARIABLE, kind, declared))
        return env.bound(text, None)
    if wire is not None:
        wire = replace(_named(env, wire, text), span=name.span)
    env.noted(name.span, wire)
    env.outcome.assigned.setdefault(text, name.span)
    env = env.but(gone={each: env.gone[each] for each in env.gone if each != text}) if text in env.gone else env
    return env.bound(text, wire)


def _named(env: Environment, wire: TypedValue, text: str) -> TypedValue:
    """A value of this graph that has no name gets the one it has in the spec, in the node that makes it, too."""
    value, nodes = wire.value, env.builder.nodes
    if value is None or value.name is not None or wire.home is not env.builder:
        return wire
    named = replace(value, name=text)
    for index in range(len(nodes) - 1, -1, -1):
        node: Any = nodes[index]
        outs = node.outs if hasattr(node, "outs") else (node.out,)
        if any(out is value for out in outs):
            several = hasattr(node, "outs")
            outs = tuple(named if out is value else out for out in outs)
            nodes[index] = replace(node, outs=outs) if several else replace(node, out=named)
            return replace(wire, value=named)
    return wire


@of_kind(s.Assign)
def assign(env: Environment, statement: s.Assign) -> Environment:
    """`x = ...`, `x: [a] = ...`, `x, y = ...`."""
    if len(statement.targets) > 1:
        return _unpack(env, statement)
    target = statement.targets[0]
    wire = expression(env, statement.value, binding=target.text)
    wanted = None if statement.type is None else written_type(env, statement.type)
    good = True
    if statement.type is not None and wire is not None and wanted is not None:
        good = expected(env, wire, wanted, statement.value.span, statement.type.span, target.text)
    return bind(env, target, wire if good else None)  # one mistake, reported once


def _unpack(env: Environment, statement: s.Assign) -> Environment:
    wires, targets = _several(env, statement.value), statement.targets
    if wires is not None and len(wires) != len(targets):
        wire = wires[0] if len(wires) == 1 else None
        axis = None if wire is None else next((axis for axis in wire.axes if axis.extent == len(targets)), None)
        place = targets[0].span.to(targets[-1].span)
        env.problems.add(Unpacked(place, len(targets), len(wires), statement.value.span, axis))
        wires = None
    _crossed(env, statement)
    for index, target in enumerate(targets):
        env = bind(env, target, wires[index] if wires else None)
    return env


def _crossed(env: Environment, statement: s.Assign) -> None:
    """Warn of a name that another result of the block has: names on the left take results by position."""
    call = statement.value
    if not isinstance(call, s.CallExpr):
        return
    share = env.shares.get(call.callee.text)
    block = env.module.blocks.get(share.block.text if share else call.callee.text)
    names = [result.name.text if result.name else "" for result in block.decl.results] if block else []
    for place, target in enumerate(statement.targets[: len(names)]):
        if target.text in names and names[place] not in ("", target.text):
            callee = call.callee.text
            env.problems.add(Plain.CROSSED_RESULTS.at(target.span, target.text, names[place], callee, ", ".join(names)))
            return


def _several(env: Environment, expr: s.Expr) -> list[TypedValue | None] | None:
    """All that an expression gives: calls of blocks may have several results."""
    found = called(env, expr) if isinstance(expr, s.CallExpr) else expression(env, expr)
    return found if found is None or isinstance(found, list) else [found]


@of_kind(s.Return)
def returned(env: Environment, statement: s.Return) -> Environment:
    """What is returned is compared with what is promised once the whole body is elaborated."""
    if len(statement.values) == 1:
        found = _several(env, statement.values[0])
        wires = found or [None] * max(1, len(env.block.decl.results))
    else:
        wires = [expression(env, value) for value in statement.values]
    env.outcome.returned.append((statement, wires))
    return env


@of_kind(s.Expect)
def expect(env: Environment, statement: s.Expect) -> Environment:
    """`expect x: [a]`: a type that a variable must have here."""
    name, written = statement.name, statement.type
    wire, wanted = variable(env, name.text, name.span), written_type(env, written)
    if wire is not None and wanted is not None:
        expected(env, wire, wanted, name.span, written.span, name.text)
    return env
