"""What is written as a name, a number or a type, looked up in an environment; what is not there is reported."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from ...dsl import syntax as s
from ...dsl.source import Span
from ..base.names import is_reserved
from ..graph.typed_value import Range, TypedValue, static_element
from ..graph.values import IndexInto, Role, Scalar, Type
from ..names.modules import ELEMENTS
from ..names.written_sizes import checked_number, const_static, has_no_value, may_be_list, size_static
from ..problems.axes import TypedTwice
from ..problems.elements import KindOfElement
from ..problems.forms import NumberForAxis
from ..problems.names import NoAxisNamed, Other, ReservedName
from ..problems.plain import Plain
from ..sizes.axes import Arith, Axis, ConstOf, Kind, SizeOf, Static, items_of, undetermined
from .environment import Environment


def number(env: Environment, value: Static, span: Span) -> TypedValue:
    """A number known at build time, or a size."""
    kind = static_element(value)
    value = worth(env, value, span)
    exactly = Range(value, value, True) if kind is Scalar.INT else None
    return TypedValue(Type(kind, ()), Role.CONSTANT, span, static=value, range=exactly)


def worth(env: Environment, value: Static, span: Span) -> Static:
    """The formula. Where it has no value, that is reported, and an unknown number stands for it from there on."""
    if (items := items_of(value)) is not None:
        return value if isinstance(value, ConstOf) else Arith("list", tuple(worth(env, item, span) for item in items))
    found = checked_number(env.of_sizes, value, span)
    nothing = found is None and env.taken and has_no_value(value)
    return ConstOf(env.checker.session.const(span.text, None)) if nothing else value


def size_in_this_pass(env: Environment, kind: Kind, size: Static) -> Static:
    """The size of an axis in the pass at hand. Where the passes of a repeat differ in a depth, each has a body of
    its own, for weights may run along it.
    """
    if kind is Kind.WIDTH or not undetermined(size) or (env.builder.parent is not None and not env.decided):
        return size
    size = env.in_this_pass(size)
    env.outcome.decide(size, undetermined(size))
    return size


def listed(env: Environment, expr: s.Expr) -> Static | None:
    """The list that an expression names, or the const parameter of which only a call says whether it is one."""
    if not isinstance(expr, s.Name) or expr.text in env.variables or env.axis(expr.text) is not None:
        return None
    const = env.const(expr.text)
    return const if const is not None and may_be_list(const) else None


def is_const(env: Environment, name: str) -> bool:
    return env.axis(name) is None and env.const(name) is not None


def axis_named(env: Environment, name: s.Ident, declared: str = "") -> Axis | None:
    """The axis of that name, or None after a report.

    declared: how to declare it if there is none, with `{}` for the name.
    """
    axis = env.axis(name.text)
    if axis is not None:
        return axis
    if env.signature.is_missing(name.text):
        return None
    if name.text[0].isdigit():
        env.problems.add(NumberForAxis(name.span))
        return None
    other = Other.NOTHING
    if name.text in env.variables:
        other = Other.VARIABLE
    elif env.const(name.text) is not None:
        other = Other.CONST
    elif name.text in env.block.mentions.declared:
        other = Other.DECLARED_BELOW
    known, in_file = tuple(env.candidate_axes()), name.text in env.module.axes
    numbered = env.axis(re.sub(r"_?\d+\Z", "", name.text))
    env.problems.add(NoAxisNamed(name.span, name.text, other, known, in_file, numbered, declared))
    return None


def axes_named(env: Environment, names: Iterable[s.Ident], declared: str = "") -> list[Axis] | None:
    """The axes of these names, or None after reports; `declared` as for one."""
    found = [axis_named(env, name, declared) for name in names]
    return None if any(axis is None for axis in found) else [axis for axis in found if axis is not None]


def written_size(env: Environment, expr: s.Expr) -> Static | None:
    """A size as a declaration has it; None after a report."""
    return size_static(expr, lambda name: _static(env, name), env.problems)


def written_const(env: Environment, expr: s.Expr) -> Static | None:
    """What a const is given; None after a report."""
    return const_static(expr, lambda name: _static(env, name), env.problems)


def _static(env: Environment, name: s.Ident) -> Static | None:
    """A name in a declaration: an axis is its size, and one that depends on the pass of a repeat is its formula."""
    axis = env.axis(name.text)
    if axis is not None:
        return axis.size if axis.extent is None and axis.size is not None and undetermined(axis.size) else SizeOf(axis)
    const = env.const(name.text)
    if const is not None:
        return const
    wire = env.variables.get(name.text)
    if wire is not None and wire.static is not None:
        return wire.static
    if not env.signature.is_missing(name.text) and not (name.text in env.variables and wire is None):
        if wire is None:
            known = (*env.candidate_axes(), *env.candidate_consts())
            env.problems.add(Plain.NO_SIZE_NAMED.at(name.span, name.text, known=known))
        else:
            env.problems.add(Plain.NOT_STATIC_NAME.at(name.span, name.text, wire.type))
    return None


def written_type(env: Environment, written: s.TypeExpr) -> Type | None:
    """The type as written, its axes in that order."""
    axes: dict[Axis, s.Ident] = {}
    good = True
    for name in written.axes:
        axis = axis_named(env, name)
        if axis is None:
            good = False
        elif axis in axes:
            env.problems.add(TypedTwice(name.span, axis, axes[axis].span, env.surroundings))
            good = False
        else:
            axes[axis] = name
    element: Any = Scalar.REAL
    if written.element is not None:
        text = written.element.text
        if text in ELEMENTS:
            element = Scalar(text)
        else:
            into = env.axis(text)
            if into is None:
                if not env.signature.is_missing(text):
                    env.problems.add(KindOfElement(written.element.span, text, tuple(env.candidate_axes())))
                return None
            element = IndexInto(into)
    return Type(element, tuple(axes)) if good else None


def namesakes(env: Environment, type: Type) -> tuple[Axis, Axis] | None:
    """Two axes of the type that only look alike: one name, but of two files (D13). Lifted axes are the callers'."""
    seen: dict[str, Axis] = {}
    for axis in type.axes:
        if axis in env.signature.lifted:
            continue
        if axis.name in seen:
            return seen[axis.name], axis
        seen[axis.name] = axis
    return None


def may_own(env: Environment, name: str, span: Span) -> bool:
    """Whether weights may be named so (D11)."""
    return not is_reserved(name) or env.problems.refuse(ReservedName(span, name))
