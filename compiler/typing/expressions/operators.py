"""Ops written as signs, before a value or between two."""

from __future__ import annotations

from ....dsl import syntax as s
from ....dsl.source import Span
from ...graph.traits import Conjunction, Disjunction, Pointwise
from ...graph.typed_value import TypedValue
from ...ops import Notation, Op, written
from ...sizes.axes import Static, opposite
from ..application import op_use
from ..environment import Environment
from .dispatch import expression, of_kind


@of_kind(s.Unary)
def unary(env: Environment, tree: s.Unary) -> TypedValue | None:
    wire = expression(env, tree.operand)
    return None if wire is None else _apply(env, Notation.PREFIX, tree.op, tree.span, [wire], [tree.operand.span])


@of_kind(s.Binary)
def binary(env: Environment, tree: s.Binary) -> TypedValue | None:
    """A chain `a + b + c ...` is walked, not recursed into: it may be long."""
    spine: list[s.Binary] = []
    left: s.Expr = tree
    while isinstance(left, s.Binary):
        spine.append(left)
        left = left.left
    wire = expression(env, left)
    for node in reversed(spine):
        with env.only_if(_needed(op_written(Notation.INFIX, node.op), wire)) as given:
            right = expression(given, node.right)
        if wire is None or right is None:
            wire = None
            continue
        wire = _apply(env, Notation.INFIX, node.op, node.span, [wire, right], [node.left.span, node.right.span])
    return wire


def _apply(
    env: Environment, notation: Notation, word: str, span: Span, operands: list[TypedValue], spans: list[Span]
) -> TypedValue | None:
    """An op without brackets or options."""
    call = op_use(env, op_written(notation, word), word, span, span, operands, spans)
    value = call.op.rule(call)
    return value if env.facts is None else env.noted(span, value)


def op_written(notation: Notation, word: str) -> Op:
    """The op that a form of the grammar stands for."""
    op = written(notation, word)
    assert op is not None, (notation, word)
    return op


def _needed(op: Op, first: TypedValue | None) -> Static | None:
    """What must hold for the second side of `and` and `or` to matter, where the first is known at build time."""
    if first is None or first.static is None or not first.is_bool:
        return None
    match op.reads:
        case Pointwise(Conjunction()):
            return first.static
        case Pointwise(Disjunction()):
            return opposite(first.static)
        case _:
            return None
