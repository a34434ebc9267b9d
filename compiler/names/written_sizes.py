"""Sizes and consts as they are written: read as formulas and worked out; what is no number, or no size, is reported."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from ...dsl import syntax as s
from ...dsl.source import Span
from ..base import rewritten
from ..base.problems import Problems
from ..graph.typed_value import static_element
from ..graph.values import Scalar
from ..sizes.arithmetic import Inexact, divides_by_zero, inexact_division
from ..sizes.axes import Arith, Axis, ConstOf, Literal, Number, Static, Value, evaluate, is_list, items_of
from ..sizes.functions import OPERATIONS, Choice, Extreme, NoSuchItem, Rounded
from ..sizes.limits import TooMuch

Lookup = Callable[[s.Ident], Static | None]

_BINARY = frozenset({"+", "-", "*", "/", "%", "^"})
NO_SIZES = ("range", "len")
"""What other languages write around a number of passes, or around an axis."""
_FORMS: dict[type, tuple[str, str]] = {Extreme: ("two numbers", "a, b"), Choice: ("a truth value and two", "c, a, b")}
_FUNCTIONS = {  # name -> what it takes, and its form
    name: _FORMS.get(type(operation.meaning), ("one number", "a"))
    for name, operation in OPERATIONS.items()
    if operation.size
}


def size_static(expr: s.Expr, lookup: Lookup, problems: Problems, *, exact: bool = True) -> Static | None:
    """An expression in a declaration, where an axis's name is its size. None after a reported mistake.

    exact: `/` must leave no remainder (sizes), except right inside `ceil` and `floor`.
    """
    try:
        found = _static(expr, lookup, problems, exact)
    except TooMuch as much:
        problems.add(much.at(expr.span))
        return None
    return None if found is None or _refused(found, expr.span, problems) else found


def const_static(expr: s.Expr, lookup: Lookup, problems: Problems) -> Static | None:
    """What a const is given: an expression as in `size_static`, whose `/` may leave a remainder, or a list of them."""
    if isinstance(expr, s.Name):  # it may be another list
        return lookup(s.Ident(expr.text, expr.span))
    if not isinstance(expr, s.ListExpr):
        return size_static(expr, lookup, problems, exact=False)
    items = [size_static(item, lookup, problems, exact=False) for item in expr.items]
    known = [item for item in items if item is not None]
    kinds = {static_element(item) for item in known}
    if len(known) < len(items):
        return None
    if Scalar.BOOL in kinds and len(kinds) > 1:
        problems.report(
            "E0222",
            "this list holds truth values and numbers",
            expr.span,
            help="write numbers alone, or `true` and `false` alone",
        )
        return None
    if Scalar.REAL in kinds:  # one kind for all: reading any of them is then of that kind
        known = [Literal(float(item.value)) if isinstance(item, Literal) else item for item in known]
    return Arith("list", tuple(known))


def read_of(brackets: s.BracketList) -> s.Expr | None:
    """What stands in the brackets behind a list, if it may say which number is read."""
    if len(brackets.items) != 1 or brackets.each or brackets.result is not None:
        return None
    (item,) = brackets.items
    if item.rename is not None or item.value is not None:
        return None
    if item.name.text[0].isdigit():
        whole = item.name.text.isdigit()
        return s.NumberLiteral(int(item.name.text) if whole else float(item.name.text), item.span)
    return item.at or s.Name(item.name.text, item.name.span)


def refuse_read(problems: Problems, name: str, brackets: s.BracketList) -> None:
    """Report brackets behind a list that do not say which number is read."""
    problems.report(
        "E0222",
        f"`{name}` is a list: its brackets say which one of its numbers is read",
        brackets.span,
        help=f"write `{name}[i]`, with the number of a pass, a const or a number for `i`",
    )


def refuse_number(problems: Problems, name: str, span: Span, const: bool = True) -> None:
    """Report a number where a list is wanted; const: it is one, and no size of an axis."""
    problems.report(
        "E0222",
        f"`{name}` is one number, not a list: nothing is read off it",
        span,
        help=f"write `{name}` alone" + (f", or make it a list, `const {name} = [...]`" if const else ""),
    )


def _refused(static: Static, span: Span, problems: Problems) -> bool:
    """Whether it is a list where a number is wanted; reported."""
    if not is_list(static):
        return False
    refuse_list(problems, span)
    return True


def refuse_list(problems: Problems, span: Span) -> None:
    """Report a list where one number is wanted."""
    named = span.text.isidentifier()
    problems.report(
        "E0222",
        f"`{span.text}` is a list of numbers, but one number is wanted here"
        if named
        else "a list of numbers stands only where a const gets its value",
        span,
        help=f"read one of them, `{span.text}[i]`; `|{span.text}|` is how many there are"
        if named
        else "declare it, `const numbers = [...]`, and read one of them, `numbers[i]`",
    )


def _static(expr: s.Expr, lookup: Lookup, problems: Problems, exact: bool) -> Static | None:

    def again(part: s.Expr, exact: bool = exact) -> Static | None:
        return _static(part, lookup, problems, exact)

    match expr:
        case s.NumberLiteral(value) | s.Truth(value):
            return Literal(value)
        case s.Name(text, span):
            found = lookup(s.Ident(text, span))
            return None if found is None or _refused(found, span, problems) else found
        case s.SizeExpr(axis):
            found = lookup(axis)
            return found if found is None or not may_be_list(found) else Arith("length", (found,))
        case s.IndexExpr(s.Name(text, span), brackets):
            numbers, read = lookup(s.Ident(text, span)), read_of(brackets)
            if numbers is None:
                return None
            if not may_be_list(numbers):
                refuse_number(problems, text, expr.span, isinstance(numbers, ConstOf))
                return None
            if read is None:
                refuse_read(problems, text, brackets)
                return None
            place = again(read)
            return None if place is None else Arith("item", (place, numbers))
        case s.ListExpr(_, span):
            refuse_list(problems, span)
            return None
        case s.Unary(op, operand) if op == "-" or not exact:
            inner = again(operand)
            return None if inner is None else Arith("neg" if op == "-" else op, (inner,))
        case s.Binary(op, left, right) if not exact or op in _BINARY:
            a, b = again(left), again(right)
            if a is None or b is None:
                return None
            return Arith("//" if op == "/" and exact else op, (a, b))
        case s.CallExpr(callee, None, None, arguments) if callee.text in _FUNCTIONS:
            takes, form = _FUNCTIONS[callee.text]
            if len(arguments) != form.count(",") + 1 or any(argument.name for argument in arguments):
                problems.report(
                    "E0207",
                    f"`{callee.text}` takes {takes}",
                    expr.span,
                    help=f"its form is `{callee.text}({form})`",
                )
                return None
            meaning = OPERATIONS[callee.text].meaning
            inner_exact = exact and not isinstance(meaning, Rounded)
            parts = [again(argument.value, inner_exact) for argument in arguments[isinstance(meaning, Choice) :]]
            if isinstance(meaning, Choice):
                parts.insert(0, again(arguments[0].value, False))
            if any(part is None for part in parts):
                return None
            return Arith(callee.text, tuple(part for part in parts if part is not None))
        case s.CallExpr(s.Ident(name), None, None, (argument,)) if name in NO_SIZES:
            alone = f"write `{argument.value.span.text}` alone"
            problems.report("E0207", "this is no number known at build time", expr.span, help=alone)
            return None
        case _:
            problems.report(
                "E0207",
                "this is no number known at build time",
                expr.span,
                help="a size or const is made of numbers, sizes and consts with + - * / % ^, ceil(a "
                "/ b) and floor(a / b)",
            )
            return None


def refuse_own_size(problems: Problems, decl: s.AxisDecl) -> None:
    """Report a size that is written behind a copy: `depth value like key = 4`."""
    if decl.like is not None and decl.size is not None:
        refuse_size(problems, decl.size.span, decl.name.text, decl.like.text)


def refuse_size(problems: Problems, size: Span, name: str, original: str) -> None:
    problems.report(
        "E0207",
        f"`{name}` is a copy of `{original}`, and has no size of its own",
        size,
        help=f"leave out the size, or `like {original}`",
    )


def refuse_depth(problems: Problems, name: str, width: Axis | None, span: Span) -> None:
    """Report a depth whose size only a run knows (D1): it depends on this width, or on a const that a run gives."""
    on = f"on the width `{width.name}`" if width is not None else "on what only a run knows"
    fixed = f", or fix the width: {rewritten.sized(width, '=', 128)}" if width is not None else ""
    problems.report(
        "E0207",
        f"the size of the depth `{name}` depends {on}, but must be known at build time",
        span,
        help=f"make `{name}` a width{fixed}",
    )


def refuse_setting(problems: Problems, name: str, original: str, span: Span | None = None) -> None:
    """Report a size that is set for a copy: from outside, or by a config, at `span`."""
    problems.report(
        "E0601", f"`{name}` is a copy of `{original}`, and has no size of its own", span, help=f"set `{original}`"
    )


def may_be_list(static: Static) -> bool:
    """Whether it is a list, or a const parameter of which only a call says whether it is one."""
    match static:
        case ConstOf(const) if const.value is None:
            return const.like is None and not const.is_index
        case _:
            return is_list(static)


def checked_number(problems: Problems, formula: Static, span: Span) -> Number | None:
    """Evaluate; arithmetic that has no value is reported."""
    found = _worked_out(formula)
    if isinstance(found, _NoValue):
        problems.report(found.code, found.message, span, help=found.help)
        return None
    return found


def checked_value(problems: Problems, formula: Static, span: Span) -> Value | None:
    """As `checked_number`, of a list too."""
    items = items_of(formula)
    if items is None:
        return checked_number(problems, formula, span)
    values = [checked_number(problems, item, span) for item in items]
    found = tuple(value for value in values if value is not None)
    if len(found) < len(values):
        return None
    return tuple(map(float, found)) if any(isinstance(value, float) for value in found) else found


def has_no_value(formula: Static) -> bool:
    """Whether it is arithmetic without a value, whatever the unknown sizes are."""
    return isinstance(_worked_out(formula), _NoValue)


@dataclass(frozen=True, slots=True)
class _NoValue:
    message: str
    help: str
    code: str = "E0207"


def _worked_out(formula: Static) -> Number | _NoValue | None:
    if divides_by_zero(formula):
        return _NoValue("this divides by zero", "divide by 1 or more")
    try:
        value = evaluate(formula)
    except NoSuchItem as none:
        last = none.length - 1
        return _NoValue(
            f"this list has {none.length} number{'s' if last else ''}, and none at {_shown(none.place)}",
            f"its numbers stand at 0{f' to {last}' if last else ''}: make the list longer, or read one that there is",
            "E0222",
        )
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
    problems: Problems,
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
        problems.report(
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
    value = checked_number(problems, formula, span)
    if value is None:
        return None
    wrong = _no_size(name, value)
    if wrong:
        help = "write a whole number" if isinstance(formula, Literal) else "change the sizes that it is made of"
        problems.report("E0207", wrong, span, related=related, help=help)
        return None
    return int(value)


def size_set(problems: Problems, value: Value, name: s.Ident) -> int | None:
    """The size that is set from outside, if it is one; else reported and None."""
    wrong = "" if isinstance(value, tuple) else _no_size(name.text, value)
    if isinstance(value, tuple):
        wrong = f"the size of `{name.text}` is set to a list, but a size is one number"
    if wrong or isinstance(value, tuple):
        help = "set a whole number of 1 or more"
        problems.report("E0207", wrong, name.span, notes=["it is set from outside"], help=help)
        return None
    return int(value)


def _no_size(name: str, value: Number) -> str:
    """Why a number is no size; "" if it is one."""
    value = whole_number(value)
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        return f"the size of `{name}` is {value}, but a size is a whole number of 1 or more"
    return f"the size of `{name}` is {value}, but a size is less than 2 ^ 62" if value >= 2**62 else ""


def _shown(number: Number) -> str:
    return f"{number:g}" if isinstance(number, float) else str(number).lower()


def inexact_safely(formula: Static) -> Inexact | None:
    try:
        return inexact_division(formula)
    except (ArithmeticError, ValueError, TypeError):
        return None


def whole_number(value: Number) -> Number:
    """A float that is whole, as an int."""
    return int(value) if isinstance(value, float) and value.is_integer() else value
