"""An op called by its name: its arguments sorted, its brackets resolved, its rule applied."""

from __future__ import annotations

from collections.abc import Iterable

from ....dsl import syntax as s
from ....dsl.base.records import replace
from ....dsl.source import Span
from ...base.idioms import MASK_WORDS
from ...graph.traits import Choice, Pointwise
from ...graph.typed_value import TypedValue
from ...graph.values import Type
from ...ops import OPS, Brackets, Op
from ...ops.table import OpCall
from ...ops.use import truth
from ...problems.elements import Wanted, WrongElement
from ...problems.forms import ArgumentMissing, NoLabel, NoSuchArgument, StrayWhere
from ...problems.names import NamelessOp
from ...problems.plain import Plain
from ...sizes.axes import Axis, Literal, Static, opposite
from ...sizes.limits import OPERANDS, Limit, TooMuch
from ..application import op_use
from ..environment import Environment
from ..names import may_own
from .brackets import axes_apart, resolve_brackets
from .dispatch import expression
from .inits import init
from .options import option

_Slots = dict[str, tuple[TypedValue, Span]]


def op_call(env: Environment, call: s.CallExpr, op: Op, binding: str | None) -> TypedValue | None:
    """What the op gives; `binding` may name its weights."""
    shown = call.callee.text
    bracket_span = call.brackets.span if call.brackets else call.callee.span
    made = op_use(env, op, shown, call.span, bracket_span)
    plain, apart = axes_apart(env, call, op)
    good = _arguments(env, plain, made)
    nameless = op.learned and call.label is None and binding in (None, "_")
    label = env.block.labels[call.callee.span] if nameless else ""
    good = resolve_brackets(env, call, made, apart, label) and good
    if not good:
        # A report that the brackets lack an arrow shows the label, too.
        formed = call.brackets is not None and call.brackets.result is not None
        if op.learned and op.brackets is Brackets.MAP and formed:
            _learned_name(env, call, made, binding)
        return None
    if call.label is not None and not op.learned:
        env.problems.add(NoLabel(call.label.span, call))
        return None
    if op.learned and not _learned_name(env, call, made, binding):
        return None
    born = [axis for axis in made.made if axis not in made.axes] if op.brackets is not Brackets.INTO else []
    made.operands = [without(wire, born) for wire in made.operands]
    made.operands = [_spread(env, wire, made.axes) for wire in made.operands]
    mask = made.mask
    if mask is not None and mask.static is None and not any(map(mask.has, made.axes)):
        made.mask = _spread(env, mask, made.axes)
    return op.rule(made)


def _spread(env: Environment, wire: TypedValue, axes: Iterable[Axis]) -> TypedValue:
    """A number that stands for an argument, given those of the argument's axes that an op acts on."""
    needed = [axis for axis in axes if axis in wire.spread and not wire.has(axis)]
    if not needed:
        return wire
    op = OPS["broadcast"]
    call = op_use(env, op, op.name, wire.span, wire.span, [wire], [wire.span])
    call.made, call.made_spans = needed, [wire.span] * len(needed)
    return call.op.rule(call) or wire


def _learned_name(env: Environment, call: s.CallExpr, made: OpCall, binding: str | None) -> bool:
    """Whether what has weights has a name, which they get (D11)."""
    op = made.op
    if op.optional and not any(truth(made, option) for option in op.optional):
        return True
    if call.label is not None:
        made.name = call.label.text
        return may_own(env, made.name, call.label.span)
    if binding is not None and binding != "_":
        made.name = binding
        return may_own(env, binding, call.span)
    return env.problems.refuse(NamelessOp(call.callee.span, op.name, env.block.labels[call.callee.span]))


def _arguments(env: Environment, call: s.CallExpr, made: OpCall) -> bool:
    """Sort the arguments into operands and options; whether all are right."""
    op = made.op
    if len(call.arguments) > OPERANDS:
        raise TooMuch(Limit.OPERANDS, OPERANDS, span=call.callee.span)
    in_order = iter([*op.operands, *(each.name for each in op.options[: 0 if op.variadic else op.positional])])
    slots: _Slots = {}
    more: list[tuple[TypedValue, Span]] = []
    given: set[str] = set()
    good = True
    for argument in call.arguments:
        name = argument.name.text if argument.name is not None else next(in_order, None)
        if argument.name is not None and name not in op.arguments:
            _no_such_argument(env, call, argument, made)
            good = False
        elif name in given:
            good = env.problems.refuse(Plain.GIVEN_TWICE.at(argument.span, name))
        else:
            if name is not None:
                given.add(name)
            good = _argument(env, call, made, argument, name, slots, more) and good
    good = _complete(env, call, made, given, good)
    operands = [*(slots[name] for name in op.operands if name in slots), *more]
    made.operands, made.spans = [wire for wire, _ in operands], [span for _, span in operands]
    return good


def _argument(
    env: Environment,
    call: s.CallExpr,
    made: OpCall,
    argument: s.Argument,
    name: str | None,
    slots: _Slots,
    more: list[tuple[TypedValue, Span]],
) -> bool:
    """Put an argument where it belongs: into `slots` by its name, or behind them; whether it is right."""
    op, written = made.op, argument.value
    if name == "init":
        made.init = init(env, written)
        return made.init is not None
    with env.only_if(_chosen(op, slots, name)) as there:
        wire, mask = _operand(there, argument, made)
    good = mask is not None or not isinstance(written, s.WhereExpr)
    if isinstance(written, s.WhereExpr) and mask is not None:
        if wire is not None:
            wire = replace(wire, spread=wire.spread | mask.spread)  # a number may take the axis from its mask
        if not isinstance(mask.static, Literal) or mask.static.value is not True:  # `where true` masks nothing
            made.mask, made.mask_span = mask, written.mask.span
    if wire is None:
        return False
    known = None if name in op.operands else next((each for each in op.options if each.name == name), None)
    if known is not None:
        return option(env, made, known, wire, argument) and good
    if name is not None:
        slots[name] = wire, (written.value if isinstance(written, s.WhereExpr) else written).span
        return good
    if not op.variadic:
        _no_such_argument(env, call, argument, made, wire)
        return False
    more.append((wire, written.span))
    return good


def _operand(env: Environment, argument: s.Argument, made: OpCall) -> tuple[TypedValue | None, TypedValue | None]:
    """The operand, and its mask if it is `x where m`."""
    if not isinstance(argument.value, s.WhereExpr):
        return expression(env, argument.value), None
    where = argument.value
    wire, mask = expression(env, where.value), expression(env, where.mask)
    if not made.op.masked:
        env.problems.add(StrayWhere(where.span, made.shown))
        return wire, None
    if mask is not None and not mask.is_bool:
        env.problems.add(WrongElement(where.mask.span, mask.type, Wanted.MASK, written=where.mask))
        mask = None
    return wire, mask


def _no_such_argument(
    env: Environment, call: s.CallExpr, argument: s.Argument, made: OpCall, extra: TypedValue | None = None
) -> None:
    """extra: the value of an argument without a name, which is one too many."""
    op, name = made.op, argument.name.text if argument.name is not None else None
    called = name in MASK_WORDS and name not in op.arguments
    mask = expression(env, argument.value) if called and op.masked else extra
    have, known = None if mask is None else mask.type, name in env.variables
    known = known or (name is not None and env.axis(name) is not None)
    env.problems.add(NoSuchArgument(argument.span, op.name, made.shown, call, argument, have, known))


def _complete(env: Environment, call: s.CallExpr, made: OpCall, given: set[str], good: bool) -> bool:
    """Fill in the defaults of options. One that must be given and is missing is reported if all else was `good`."""
    missing = [name for name in made.op.operands if name not in given]
    if missing and good:
        good = env.problems.refuse(ArgumentMissing(call.span, made.shown, tuple(missing), call))
    for each in made.op.options:
        if each.name in made.options or each.name in given:
            continue
        if each.default is not None:
            made.options[each.name] = Literal(each.default)
            continue
        if good:
            env.problems.add(ArgumentMissing(call.span, made.shown, (each.name,), call, each.doc))
        good = False
    return good


def _chosen(op: Op, slots: _Slots, name: str | None) -> Static | None:
    """What must hold for an operand of a choice to matter, where what it is chosen by is known at build time."""
    if op.reads != Pointwise(Choice()) or name not in op.operands or op.operands[0] not in slots:
        return None
    condition = slots[op.operands[0]][0].static
    return condition if condition is None or name == op.operands[1] else opposite(condition)


def without(wire: TypedValue, axes: Iterable[Axis]) -> TypedValue:
    """The value without those broadcast axes that an op is about to make."""
    broadcast_axes = wire.type.broadcast_axes & set(axes)
    if not broadcast_axes:
        return wire
    kept = tuple(axis for axis in wire.type.axes if axis not in broadcast_axes)
    return replace(wire, type=Type(wire.element, kept, wire.type.broadcast_axes - broadcast_axes))
