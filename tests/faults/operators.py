"""Faults that a tired programmer makes, put into a module one at a time: the syntax tree with one node changed."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

_COMPARE: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.In: ast.NotIn, ast.NotIn: ast.In, ast.Is: ast.IsNot, ast.IsNot: ast.Is,
}  # fmt: skip
_BINARY: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.BitOr: ast.BitAnd, ast.BitAnd: ast.BitOr,
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Fault:
    """What is to be changed, and where: the change `choice` of the node `number` of the walk over the tree."""

    what: str
    line: int
    number: int
    choice: int


def faults(text: str) -> Iterator[Fault]:
    """Every fault of a module."""
    tree = ast.parse(text)
    quiet = _quiet(tree)
    for number, node in enumerate(ast.walk(tree)):
        if number not in quiet:
            for choice, (what, _) in enumerate(_changes(node)):
                yield Fault(what, getattr(node, "lineno", 0), number, choice)


def with_fault(text: str, fault: Fault) -> str:
    """The text of the module with the fault in it."""
    tree = ast.parse(text)
    node = next(node for number, node in enumerate(ast.walk(tree)) if number == fault.number)
    _, change = list(_changes(node))[fault.choice]
    change(node)
    return ast.unparse(ast.fix_missing_locations(tree))


def _quiet(tree: ast.Module) -> set[int]:
    """What no run sees: annotations, docstrings, assertions, what is imported for types alone."""
    hidden: set[int] = set()
    for node in ast.walk(tree):
        parts: list[ast.AST | None] = []
        if isinstance(node, ast.FunctionDef):
            parts = [node.returns, *(arg.annotation for arg in (*node.args.args, *node.args.kwonlyargs))]
        elif isinstance(node, ast.AnnAssign):
            parts = [node.annotation]
        elif isinstance(node, ast.Assert) or (isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"):
            parts = [node]
        for part in parts:
            hidden |= {id(inner) for inner in ast.walk(part)} if part is not None else set()
    return {number for number, node in enumerate(ast.walk(tree)) if id(node) in hidden}


def _changes(node: ast.AST) -> Iterator[tuple[str, Callable[[Any], object]]]:
    match node:
        case ast.Compare(ops=[op]) if type(op) in _COMPARE:
            other = _COMPARE[type(op)]
            yield f"{type(op).__name__} for {other.__name__}", lambda n: n.ops.__setitem__(0, other())
        case ast.BoolOp(op=op):
            other_op = ast.Or if isinstance(op, ast.And) else ast.And
            yield "and for or", lambda n: setattr(n, "op", other_op())
        case ast.BinOp(op=op) if type(op) in _BINARY:
            swapped = _BINARY[type(op)]
            yield f"{type(op).__name__} for {swapped.__name__}", lambda n: setattr(n, "op", swapped())
        case ast.UnaryOp(op=ast.Not()):
            yield "a not lost", lambda n: setattr(n, "operand", ast.UnaryOp(ast.Not(), n.operand))
        case ast.If():
            yield "a condition always true", lambda n: setattr(n, "test", ast.Constant(True))
            yield "a condition always false", lambda n: setattr(n, "test", ast.Constant(False))
        case ast.Constant(value=bool() as value):
            yield "a truth value turned round", lambda n: setattr(n, "value", not value)
        case ast.Constant(value=int() as value):
            yield "a number one off", lambda n: setattr(n, "value", value + 1)
        case ast.Return(value=ast.expr()):
            yield "nothing returned", lambda n: setattr(n, "value", ast.Constant(None))
        case ast.Expr(value=ast.Call()):
            yield "a call left out", lambda n: setattr(n, "value", ast.Constant(None))
        case _:
            return
