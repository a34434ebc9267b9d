"""How a weight begins: `normal(0.02)`, `zeros`, ..."""

from __future__ import annotations

from ....dsl import syntax as s
from ...graph.nodes import Init
from ...names.written_sizes import checked_number
from ...ops import INITS
from ...problems.forms import InitName
from ...problems.plain import Plain
from ...sizes.axes import undetermined
from ..environment import Environment
from .dispatch import expression


def init(env: Environment, expr: s.Expr) -> Init | None:
    """`normal(0.02)`, `zeros`, ..."""
    match expr:
        case s.Name(text, span):
            expr = s.CallExpr(s.Ident(text, span), None, None, (), span)
        case s.CallExpr(label=None, brackets=None):
            pass
        case _:
            env.problems.add(Plain.NO_INIT.at(expr.span, tuple(INITS)))
            return None
    callee, arguments = expr.callee, expr.arguments
    if callee.text not in INITS:
        env.problems.add(InitName(callee.span, callee.text))
        return None
    if len(arguments) != INITS[callee.text] or any(a.name for a in arguments):
        env.problems.add(Plain.INIT_ARGUMENTS.at(expr.span, callee.text, "one" if INITS[callee.text] else "no"))
        return None
    numbers = [_number(env, argument, callee.text) for argument in arguments]
    known = tuple(number for number in numbers if number is not None)
    return Init(callee.text, known) if len(known) == len(numbers) else None


def _number(env: Environment, argument: s.Argument, kind: str) -> float | None:
    wire = expression(env, argument.value)
    if wire is None:
        return None
    static = wire.static
    value = None if static is None else checked_number(env.of_sizes, static, argument.span)
    if static is not None and (not env.taken or (value is None and env.signature.left_to_calls(static))):
        value = 1.0  # stands for it while the block is checked on its own, and in a branch that is not taken
    if not isinstance(value, int | float) or isinstance(value, bool):
        in_a_pass = static is not None and undetermined(static) and not env.signature.only_at_run_time(static)
        env.problems.add((Plain.INIT_IN_PASS if in_a_pass else Plain.INIT_NUMBER).at(argument.span))
        return None
    if value < 0 and kind != "constant":
        env.problems.add(Plain.INIT_NEGATIVE.at(argument.span, kind, value))
        return None
    return float(value)
