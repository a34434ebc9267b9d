"""An expression becomes a typed value, and nodes of the graph: by its kind.

A mistake is reported where it stands, and the expression it is in gets no value (`None`), which provokes no second
error: whatever reads it is passed over in silence.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from ....dsl import syntax as s
from ...graph.typed_value import TypedValue
from ..environment import Environment

Elaborates = TypeVar("Elaborates", bound=Callable[..., TypedValue | None])
_KINDS: dict[type, Callable[..., TypedValue | None]] = {}


def of_kind(*kinds: type) -> Callable[[Elaborates], Elaborates]:
    """The function elaborates expressions of these classes of the syntax tree."""

    def put(function: Elaborates) -> Elaborates:
        _KINDS.update(dict.fromkeys(kinds, function))
        return function

    return put


def expression(env: Environment, tree: s.Expr, binding: str | None = None) -> TypedValue | None:
    """The value of an expression; `binding` is the name that it gets as a whole, which may name weights."""
    env.checker.spend(tree.span)
    kind = _KINDS[type(tree)]
    named = binding is not None and isinstance(tree, s.CallExpr)
    value = kind(env, tree, binding) if named else kind(env, tree)
    return value if env.facts is None else env.noted(tree.span, value)
