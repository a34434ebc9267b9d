"""Options of an op: numbers and truth values that are known at build time."""

from __future__ import annotations

from ....dsl import syntax as s
from ....dsl.source import Span
from ...base.mentions import walk
from ...base.problems import Problems
from ...graph.typed_value import TypedValue
from ...graph.values import Scalar
from ...names.written_sizes import checked_number
from ...ops import Option
from ...ops.table import OpCall
from ...problems.forms import NoNumber, OptionValue
from ...problems.plain import Plain
from ...sizes.axes import Literal, Static, known
from ..environment import Environment


def option(env: Environment, made: OpCall, option: Option, wire: TypedValue, argument: s.Argument) -> bool:
    """Set an option; whether it may have this value."""
    if wire.static is None:
        names = [node for node in walk(argument.value) if isinstance(node, s.Name) and env.axis(node.text)]
        return env.problems.refuse(NoNumber(argument.span, wire.type, option.name, option.doc, tuple(names)))
    truth = isinstance(option.default, bool)
    if isinstance(option.default, bool) and env.signature.is_open(wire.static):
        made.options[option.name] = Literal(option.default)
        return True
    value = checked_number(env.of_sizes, wire.static, argument.span)
    if truth != (wire.element is Scalar.BOOL):
        wrong = (Plain.OPTION_TRUTH if truth else Plain.OPTION_NUMBER).at(argument.span, option.name, option.doc)
        return env.problems.refuse(wrong)

    def validate(problems: Problems, numbers: tuple[Static, ...], place: Span) -> None:
        value = known(numbers[0])
        complaint = None if value is None else option.check(value)
        if complaint and value is not None:
            problems.add(OptionValue(place, option.name, option.doc, value, complaint))

    complaint = option.check(value) if value is not None and env.taken else None
    if complaint and isinstance(value, float) and value.is_integer() and option.check(int(value)) is None:
        at, whole = argument.span, argument.value.span
        return env.problems.refuse(OptionValue(at, option.name, option.doc, value, complaint, whole))
    if not env.in_each_pass(validate, argument.span, wire.static):
        return False
    if isinstance(option.default, bool) and value is None:
        if env.signature.known_at_calls(wire.static):
            made.options[option.name] = Literal(option.default)
            return True
        return env.problems.refuse(Plain.OPTION_UNKNOWN.at(argument.span, option.name, option.doc))
    made.options[option.name] = wire.static
    return True
