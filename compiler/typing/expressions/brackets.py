"""What stands in an op's brackets, resolved; and arguments that, as in other libraries, stand for it."""

from __future__ import annotations

from functools import partial

from ....dsl import syntax as s
from ....dsl.base.records import replace
from ...base.idioms import AXIS_WORDS
from ...graph.traits import Arrange, IndexMap
from ...ops import Brackets, Op
from ...ops.table import OpCall
from ...problems.forms import (
    AxesDoubled,
    AxisByNumber,
    BracketsHold,
    NoArrow,
    NoBrackets,
    OpUse,
    Stray,
    StrayBrackets,
)
from ...problems.plain import Plain
from ...sizes.axes import Axis
from ..environment import Environment
from ..names import axes_named


def axes_apart(env: Environment, call: s.CallExpr, op: Op) -> tuple[s.CallExpr, tuple[s.Argument, ...]]:
    """The call without the arguments that say, as in other libraries, which axes it acts on; and these."""
    if op.brackets is Brackets.NONE:
        return call, ()
    operands = 2 if op.variadic else len(op.operands)
    apart, place = [], 0
    for argument in call.arguments:
        value = argument.value.operand if isinstance(argument.value, s.Unary) else argument.value
        if argument.name is not None:
            said = argument.name.text in AXIS_WORDS
        else:
            is_name = isinstance(value, s.Name) and value.text not in env.variables
            said = is_name and place >= operands and env.axis(value.span.text) is not None
            after = not op.variadic and place >= operands + op.positional
            lacking = call.brackets is None or (op.brackets is Brackets.MAP and call.brackets.result is None)
            said = (said or (isinstance(value, s.NumberLiteral) and after)) and lacking
            place += 1
        if said:
            apart.append(argument)
    if not apart:
        return call, ()
    return replace(call, arguments=tuple(each for each in call.arguments if each not in apart)), tuple(apart)


def _use(env: Environment, call: s.CallExpr, made: OpCall, apart: tuple[s.Argument, ...], label: str) -> OpUse:
    operands, spans = tuple(made.operands), tuple(made.spans)
    variables, open = frozenset(env.variables), frozenset(env.signature.open)
    return OpUse(made.op.name, made.shown, call, operands, spans, apart, label, variables, open, env.surroundings)


def resolve_brackets(
    env: Environment, call: s.CallExpr, made: OpCall, apart: tuple[s.Argument, ...], label: str
) -> bool:
    """Put the axes that stand in brackets into `made`; whether their form is right.

    apart: arguments that seem to say it. label: how weights could be named, if they are not.
    """
    brackets, op = call.brackets, made.op
    if brackets is None and op.brackets is Brackets.NONE:
        return True
    problems, use = env.problems, partial(_use, env, call, made, apart, label)
    if brackets is None:
        return problems.refuse(NoBrackets(apart[0].span if apart else call.callee.span, use()))
    names = [item.name for item in brackets.items]
    if op.brackets is Brackets.NONE:
        droppable = all(env.axis(name.text) for name in names)
        return problems.refuse(StrayBrackets(brackets.span, Stray.ALL, made.shown, call, droppable))
    for item in brackets.items:
        if item.rename is not None or item.value is not None:
            return problems.refuse(BracketsHold(item.span, item, made.shown, item.name.text in op.arguments))
    if op.brackets is Brackets.ACTS and all(name.text[0].isdigit() for name in names):
        return problems.refuse(AxisByNumber(brackets.items[0].span, use()))
    axes, each = axes_named(env, names), axes_named(env, brackets.each)
    result = axes_named(env, brackets.result, _whole(op, axes)) if brackets.result is not None else []
    if axes is None or each is None or result is None:
        return False
    if op.brackets is Brackets.MAP and brackets.result is None:
        return problems.refuse(NoArrow(brackets.span, use(), tuple(axes)))
    if op.brackets is not Brackets.MAP and brackets.result is not None:
        return problems.refuse(StrayBrackets(brackets.span, Stray.ARROW, made.shown, call))
    if apart:
        return problems.refuse(AxesDoubled(apart[0].span, use()))
    if brackets.each and not op.each:
        return problems.refuse(StrayBrackets(brackets.each[0].span, Stray.COLON, made.shown, call))
    _put(made, brackets, axes, each, result)
    # Brackets that name one axis of each operand may name one twice.
    return op.reads == Arrange(IndexMap.PARTS) or _each_once(env, made)


def _put(made: OpCall, brackets: s.BracketList, axes: list[Axis], each: list[Axis], result: list[Axis]) -> None:
    spans = [item.name.span for item in brackets.items]
    if made.op.brackets in (Brackets.MADE, Brackets.INTO):
        made.made, made.made_spans = axes, spans
    else:
        made.axes, made.axis_spans = axes, spans
        made.made, made.made_spans = result, [name.span for name in brackets.result or ()]
    made.each, made.each_spans = each, [name.span for name in brackets.each]


def _each_once(env: Environment, made: OpCall) -> bool:
    for group, places in ((made.axes, made.axis_spans), (made.made, made.made_spans)):
        for position, (axis, place) in enumerate(zip(group, places, strict=True)):
            if axis in (*made.each, *group[:position]):
                return env.problems.refuse(Plain.NAMED_TWICE.at(place, axis))
    return True


def _whole(op: Op, axes: list[Axis] | None) -> str:
    """How to declare the axis that these are joined to: `depth {} = heads * hidden`."""
    match op.reads:
        case Arrange(IndexMap.NUMBER):
            sign = " * "
        case Arrange(IndexMap.PARTS):
            sign = " + "
        case _:
            return ""
    if not axes:
        return ""
    kind = "width" if any(axis.is_width for axis in axes) else "depth"
    return f"{kind} {{}} = {sign.join(axis.name for axis in axes)}"
