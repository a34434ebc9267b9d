"""Sizes and consts as they are written: read as formulas and worked out; what is no number, or no size, is reported."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from ...dsl import syntax as s
from ...dsl.source import Span
from ..base import rewritten
from ..base.session import Reporter, Session
from ..sizes.arithmetic import Inexact, divides_by_zero, inexact_division
from ..sizes.axes import Arith, Axis, Literal, Number, Static, evaluate
from ..sizes.functions import OPERATIONS, Extreme, Rounded
from ..sizes.limits import TooMuch

Lookup = Callable[[s.Ident], Static | None]

_BINARY = frozenset({"+", "-", "*", "/", "%", "^"})
NO_SIZES = ("range", "len")
"""What other languages write around a number of passes, or around an axis."""
_FUNCTIONS = {  # name -> how many numbers it takes
    name: 2 if isinstance(operation.meaning, Extreme) else 1 for name, operation in OPERATIONS.items() if operation.size
}


def size_static(expr: s.Expr, lookup: Lookup, session: Reporter, *, exact: bool = True) -> Static | None:
    """An expression in a declaration, where an axis's name is its size. None after a reported mistake.

    exact: `/` must leave no remainder (sizes), except right inside `ceil` and `floor`.
    """
    try:
        return _static(expr, lookup, session, exact)
    except TooMuch as much:
        made = much.at(expr.span)
        session.report(made.code, made.message, made.span, help=made.help)
        return None


def _static(expr: s.Expr, lookup: Lookup, session: Reporter, exact: bool) -> Static | None:

    def again(part: s.Expr, exact: bool = exact) -> Static | None:
        return _static(part, lookup, session, exact)

    match expr:
        case s.NumberLiteral(value) | s.Truth(value):
            return Literal(value)
        case s.Name(text, span):
            return lookup(s.Ident(text, span))
        case s.SizeExpr(axis):
            return lookup(axis)
        case s.Unary(op, operand) if op == "-" or not exact:
            inner = again(operand)
            return None if inner is None else Arith("neg" if op == "-" else op, (inner,))
        case s.Binary(op, left, right) if not exact or op in _BINARY:
            a, b = again(left), again(right)
            if a is None or b is None:
                return None
            return Arith("//" if op == "/" and exact else op, (a, b))
        case s.CallExpr(callee, None, None, arguments) if callee.text in _FUNCTIONS:
            if len(arguments) != _FUNCTIONS[callee.text] or any(argument.name for argument in arguments):
                two = _FUNCTIONS[callee.text] == 2
                session.report(
                    "E0207",
                    f"`{callee.text}` takes {'two numbers' if two else 'one number'}",
                    expr.span,
                    help=f"its form is `{callee.text}({'a, b' if two else 'a'})`",
                )
                return None
            inner_exact = exact and not isinstance(OPERATIONS[callee.text].meaning, Rounded)
            parts = [again(argument.value, inner_exact) for argument in arguments]
            if any(part is None for part in parts):
                return None
            return Arith(callee.text, tuple(part for part in parts if part is not None))
        case s.CallExpr(s.Ident(name), None, None, (argument,)) if name in NO_SIZES:
            alone = f"write `{argument.value.span.text}` alone"
            session.report("E0207", "this is no number known at build time", expr.span, help=alone)
            return None
        case _:
            session.report(
                "E0207",
                "this is no number known at build time",
                expr.span,
                help="a size or const is made of numbers, sizes and consts with + - * / % ^, ceil(a "
                "/ b) and floor(a / b)",
            )
            return None


def refuse_own_size(reporter: Reporter, decl: s.AxisDecl) -> None:
    """Report a size that is written behind a copy: `depth value like key = 4`."""
    if decl.like is not None and decl.size is not None:
        refuse_size(reporter, decl.size.span, decl.name.text, decl.like.text)


def refuse_size(reporter: Reporter, size: Span, name: str, original: str) -> None:
    reporter.report(
        "E0207",
        f"`{name}` is a copy of `{original}`, and has no size of its own",
        size,
        help=f"leave out the size, or `like {original}`",
    )


def refuse_depth(reporter: Reporter, name: str, width: Axis | None, span: Span) -> None:
    """Report a depth whose size only a run knows (D1): it depends on this width, or on a const that a run gives."""
    on = f"on the width `{width.name}`" if width is not None else "on what only a run knows"
    fixed = f", or fix the width: {rewritten.sized(width, '=', 128)}" if width is not None else ""
    reporter.report(
        "E0207",
        f"the size of the depth `{name}` depends {on}, but must be known at build time",
        span,
        help=f"make `{name}` a width{fixed}",
    )


def refuse_setting(session: Session, name: str, original: str, span: Span | None = None) -> None:
    """Report a size that is set for a copy: from outside, or by a config, at `span`."""
    session.report(
        "E0601", f"`{name}` is a copy of `{original}`, and has no size of its own", span, help=f"set `{original}`"
    )


def checked_number(session: Reporter, formula: Static, span: Span) -> Number | None:
    """Evaluate; arithmetic that has no value is reported."""
    found = _worked_out(formula)
    if isinstance(found, _NoValue):
        session.report("E0207", found.message, span, help=found.help)
        return None
    return found


def has_no_value(formula: Static) -> bool:
    """Whether it is arithmetic without a value, whatever the unknown sizes are."""
    return isinstance(_worked_out(formula), _NoValue)


@dataclass(frozen=True, slots=True)
class _NoValue:
    message: str
    help: str


def _worked_out(formula: Static) -> Number | _NoValue | None:
    if divides_by_zero(formula):
        return _NoValue("this divides by zero", "divide by 1 or more")
    try:
        value = evaluate(formula)
    except OverflowError:
        value = math.inf
    except (ArithmeticError, ValueError, TypeError):
        value = math.nan
    if value in (math.inf, -math.inf) or (isinstance(value, int) and abs(value) >= 2**62):
        return _NoValue("this number is too large", "whole numbers stay below 2 ^ 62")
    if isinstance(value, complex) or (isinstance(value, float) and math.isnan(value)):
        return _NoValue("this has no value", "change the numbers that it is made of")
    return value


def checked_size(
    session: Reporter,
    formula: Static,
    span: Span,
    name: str,
    *,
    formula_span: Span | None = None,
    library: bool = False,
) -> int | None:
    """The value of a size where it is known: a whole number of 1 or more, divisions exact; else reported and None.

    `span` is the place to point at, `formula_span` where the formula stands, if that is elsewhere; `library`: it is
    not the reader's to change.
    """
    formula_span = formula_span or span
    related = [(formula_span, f"`{name}` is declared here")] if formula_span != span else []
    left = inexact_safely(formula)
    if left:
        session.report(
            "E0206",
            f"`{name}`: {left.dividend} / {left.divisor} leaves a remainder of {left.dividend % left.divisor}",
            span,
            f"{left.dividend} does not divide by {left.divisor}",
            related=related,
            help="choose sizes that divide"
            + (
                ""
                if related or library
                else f", or say which way to round: `ceil({span.text})` or `floor({span.text})`"
            ),
        )
        return None
    value = checked_number(session, formula, span)
    if value is None:
        return None
    wrong = _no_size(name, value)
    if wrong:
        help = "write a whole number" if isinstance(formula, Literal) else "change the sizes that it is made of"
        session.report("E0207", wrong, span, related=related, help=help)
        return None
    return int(value)


def size_set(session: Reporter, value: Number, name: s.Ident) -> int | None:
    """The size that is set from outside, if it is one; else reported and None."""
    wrong = _no_size(name.text, value)
    if wrong:
        help = "set a whole number of 1 or more"
        session.report("E0207", wrong, name.span, notes=["it is set from outside"], help=help)
        return None
    return int(value)


def _no_size(name: str, value: Number) -> str:
    """Why a number is no size; "" if it is one."""
    value = whole_number(value)
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        return f"the size of `{name}` is {value}, but a size is a whole number of 1 or more"
    return f"the size of `{name}` is {value}, but a size is less than 2 ^ 62" if value >= 2**62 else ""


def inexact_safely(formula: Static) -> Inexact | None:
    try:
        return inexact_division(formula)
    except (ArithmeticError, ValueError, TypeError):
        return None


def whole_number(value: Number) -> Number:
    """A float that is whole, as an int."""
    return int(value) if isinstance(value, float) and value.is_integer() else value
