"""Sizes and consts as they are written: read as formulas and worked out; what is no number, or no size, is reported."""

from __future__ import annotations

import math
from collections.abc import Callable

from ...dsl import syntax as s
from ...dsl.source import Span
from ..base.problems import Problem, Problems
from ..graph.typed_value import static_element
from ..graph.values import Scalar
from ..problems.plain import Plain, PlainProblem
from ..problems.sizes import Beyond, ListForNumber, NoItem, NoSize, NoSizeSet, NotWhole
from ..sizes.arithmetic import Inexact, divides_by_zero, inexact_division
from ..sizes.axes import Arith, ConstOf, Literal, Number, Static, Value, evaluate, is_list, items_of
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
        problems.add(Beyond.of(much, expr.span))
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
        problems.add(Plain.MIXED_LIST.at(expr.span))
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


def _refused(static: Static, span: Span, problems: Problems) -> bool:
    """Whether it is a list where a number is wanted; reported."""
    if not is_list(static):
        return False
    problems.add(ListForNumber(span))
    return True


def _static(expr: s.Expr, lookup: Lookup, problems: Problems, exact: bool) -> Static | None:
    match expr:
        case s.NumberLiteral(value) | s.Truth(value):
            return Literal(value)
        case s.Name(text, span):
            found = lookup(s.Ident(text, span))
            return None if found is None or _refused(found, span, problems) else found
        case s.SizeExpr(axis):
            found = lookup(axis)
            return found if found is None or not may_be_list(found) else Arith("length", (found,))
        case s.IndexExpr(s.Name() as name, brackets):
            return _item(expr.span, name, brackets, lookup, problems, exact)
        case s.ListExpr(_, span):
            problems.add(ListForNumber(span))
        case s.Unary(op, operand) if op == "-" or not exact:
            inner = _static(operand, lookup, problems, exact)
            return None if inner is None else Arith("neg" if op == "-" else op, (inner,))
        case s.Binary(op, left, right) if not exact or op in _BINARY:
            a, b = _static(left, lookup, problems, exact), _static(right, lookup, problems, exact)
            return None if a is None or b is None else Arith("//" if op == "/" and exact else op, (a, b))
        case s.CallExpr(callee, None, None) if callee.text in _FUNCTIONS:
            return _function(expr, lookup, problems, exact)
        case s.CallExpr(s.Ident(name), None, None, (argument,)) if name in NO_SIZES:
            problems.add(Plain.WRAPPED.at(expr.span, argument.value.span.text))
        case _:
            problems.add(Plain.NOT_STATIC.at(expr.span))
    return None


def _item(
    span: Span, name: s.Name, brackets: s.BracketList, lookup: Lookup, problems: Problems, exact: bool
) -> Static | None:
    """What is read of a list: `windows[i]`."""
    numbers, read = lookup(s.Ident(name.text, name.span)), read_of(brackets)
    if numbers is None:
        return None
    if not may_be_list(numbers):
        is_const = isinstance(numbers, ConstOf)
        problems.add((Plain.READ_CONST if is_const else Plain.READ_SIZE).at(span, name.text))
        return None
    if read is None:
        problems.add(Plain.READ_FORM.at(brackets.span, name.text))
        return None
    place = _static(read, lookup, problems, exact)
    return None if place is None else Arith("item", (place, numbers))


def _function(call: s.CallExpr, lookup: Lookup, problems: Problems, exact: bool) -> Static | None:
    """A function of numbers. Right inside `ceil` and `floor` a `/` may leave a remainder, and in a condition."""
    name, arguments = call.callee.text, call.arguments
    takes, meaning = _FUNCTIONS[name], OPERATIONS[name].meaning
    if len(arguments) != takes[1].count(",") + 1 or any(argument.name for argument in arguments):
        problems.add(Plain.FUNCTION_FORM.at(call.span, name, takes[0], takes[1]))
        return None
    inner_exact, chosen = exact and not isinstance(meaning, Rounded), arguments[isinstance(meaning, Choice) :]
    parts = [_static(argument.value, lookup, problems, inner_exact) for argument in chosen]
    if len(chosen) < len(arguments):
        parts.insert(0, _static(arguments[0].value, lookup, problems, False))
    known = tuple(part for part in parts if part is not None)
    return Arith(name, known) if len(known) == len(parts) else None


def refuse_own_size(problems: Problems, decl: s.AxisDecl) -> None:
    """Report a size that is written behind a copy: `depth value like key = 4`."""
    if decl.like is not None and decl.size is not None:
        problems.add(Plain.SIZE_OF_COPY.at(decl.size.span, decl.name.text, decl.like.text))


def may_be_list(static: Static) -> bool:
    """Whether it is a list, or a const parameter of which only a call says whether it is one."""
    match static:
        case ConstOf(const) if const.value is None:
            return const.like is None and not const.is_index
        case _:
            return is_list(static)


def checked_number(problems: Problems, formula: Static, span: Span) -> Number | None:
    """Evaluate; arithmetic that has no value is reported."""
    found = _worked_out(formula, span)
    if isinstance(found, Problem):
        problems.add(found)
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
    return isinstance(_worked_out(formula, None), Problem)


def _worked_out(formula: Static, span: Span | None) -> Number | PlainProblem | NoItem | None:
    if divides_by_zero(formula):
        return Plain.DIVIDES_BY_ZERO.at(span)
    try:
        value = evaluate(formula)
    except NoSuchItem as none:
        return NoItem(span, none.length, none.place)
    except OverflowError:
        value = math.inf
    except (ArithmeticError, ValueError, TypeError):
        value = math.nan
    if value in (math.inf, -math.inf) or (isinstance(value, int) and abs(value) >= 2**62):
        return Plain.TOO_LARGE.at(span)
    if isinstance(value, complex) or (isinstance(value, float) and math.isnan(value)):
        return Plain.UNDEFINED.at(span)
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
    declared = formula_span if formula_span != span else None
    left = inexact_safely(formula)
    if left:
        problems.add(NotWhole(span, name, left.dividend, left.divisor, declared, library))
        return None
    value = checked_number(problems, formula, span)
    if value is None:
        return None
    if not _is_size(value):
        problems.add(NoSize(span, name, whole_number(value), declared, isinstance(formula, Literal)))
        return None
    return int(value)


def size_set(problems: Problems, value: Value, name: s.Ident) -> int | None:
    """The size that is set from outside, if it is one; else reported and None."""
    if isinstance(value, tuple) or not _is_size(value):
        shown = value if isinstance(value, tuple) else whole_number(value)
        problems.add(NoSizeSet(name.span, name.text, shown))
        return None
    return int(value)


def _is_size(value: Number) -> bool:
    value = whole_number(value)
    return not isinstance(value, bool) and isinstance(value, int) and 1 <= value < 2**62


def inexact_safely(formula: Static) -> Inexact | None:
    try:
        return inexact_division(formula)
    except (ArithmeticError, ValueError, TypeError):
        return None


def whole_number(value: Number) -> Number:
    """A float that is whole, as an int."""
    return int(value) if isinstance(value, float) and value.is_integer() else value
