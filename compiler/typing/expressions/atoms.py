"""Expressions without parts: names, numbers, sizes; and what may not stand as an expression."""

from __future__ import annotations

import math

from ....dsl import syntax as s
from ....dsl.source import Span
from ...graph.typed_value import TypedValue
from ...ops import WRITABLE
from ...problems.forms import StrayWhere
from ...problems.names import NoValueNamed
from ...problems.plain import Plain
from ...problems.sizes import ListForNumber, SizeOfConst
from ...sizes.axes import Arith, Literal, SizeOf, is_list
from ..environment import Environment
from ..names import axis_named, is_const, listed, number
from .dispatch import expression, of_kind


@of_kind(s.NumberLiteral, s.Truth)
def literal(env: Environment, tree: s.NumberLiteral | s.Truth) -> TypedValue:
    return number(env, Literal(tree.value), tree.span)


@of_kind(s.ListExpr)
def list_of_numbers(env: Environment, tree: s.ListExpr) -> None:
    env.problems.add(ListForNumber(tree.span))


@of_kind(s.WhereExpr)
def where(env: Environment, tree: s.WhereExpr) -> None:
    """`x where m` is no value of its own: ops take it."""
    expression(env, tree.value)
    expression(env, tree.mask)
    env.problems.add(StrayWhere(tree.span))


@of_kind(s.SizeExpr)
def size(env: Environment, tree: s.SizeExpr) -> TypedValue | None:
    """`|seq|`, of an axis or a list."""
    name = tree.axis
    numbers = listed(env, s.Name(name.text, name.span))
    if numbers is not None:
        return number(env, Arith("length", (numbers,)), tree.span)
    if is_const(env, name.text):
        env.problems.add(SizeOfConst(tree.span, name.text))
        return None
    axis = axis_named(env, name)
    return None if axis is None else number(env, SizeOf(axis), tree.span)


@of_kind(s.Name)
def name(env: Environment, tree: s.Name) -> TypedValue | None:
    return variable(env, tree.text, tree.span)


def variable(env: Environment, text: str, span: Span) -> TypedValue | None:
    """What is bound to a name, an axis as its own index, or a number."""
    if text in env.variables:
        env.outcome.used.add(text)
        return env.variables[text]
    axis = env.axis(text)
    if axis is not None:
        return env.builder.positions(axis, span)
    const = Literal(math.pi) if text == "pi" and env.const(text) is None else env.const(text)
    if const is not None and is_list(const):
        env.problems.add(ListForNumber(span))
        return None
    if const is not None:
        return number(env, const, span)
    if env.signature.is_missing(text):
        return None
    if text in env.gone or text in env.untaken:
        there = env.gone.get(text) or env.untaken[text]
        env.problems.add((Plain.GONE_REPEAT if text in env.gone else Plain.GONE_BRANCH).at(span, text, there=there))
        return None
    known = (*env.variables, *env.candidate_axes(), *env.candidate_consts())
    is_called = text in WRITABLE or text in env.module.blocks
    env.problems.add(NoValueNamed(span, text, known, is_called))
    return None
