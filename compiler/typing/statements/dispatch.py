"""Statements, one after the other: each gives the environment of the next."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from ....dsl import syntax as s
from ...problems.plain import Plain
from ..environment import Environment

Elaborates = TypeVar("Elaborates", bound=Callable[..., Environment])
_KINDS: dict[type, Callable[..., Environment]] = {}


def of_kind(kind: type) -> Callable[[Elaborates], Elaborates]:
    """The function elaborates statements of this class of the syntax tree."""

    def put(function: Elaborates) -> Elaborates:
        _KINDS[kind] = function
        return function

    return put


def statement(env: Environment, tree: s.Statement) -> Environment:
    """What is known after a statement; nodes and mistakes go where the environment says."""
    env.signature.at = tree.span
    return _KINDS[type(tree)](env, tree)


def run(env: Environment, statements: Sequence[s.Statement]) -> Environment:
    """Elaborate statements, in order."""
    for tree in statements:
        if env.outcome.returned and not isinstance(tree, s.Return):
            env.problems.add(Plain.BEHIND_RETURN.at(tree.span))
            break
        env = statement(env, tree)
    return env
