"""A spec with the operands of all that is commutative exchanged: another text of the same program."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from typing import Any

from attnc.dsl.parse import parse
from attnc.dsl.source import Source, Span
from attnc.dsl.syntax import AxisDecl, Binary, BlockDecl, CallExpr, Expr, Generic, WhereExpr

MIRRORED = {"+": "+", "*": "*", "and": "and", "or": "or", "==": "==", "!=": "!=",
            "<": ">", "<=": ">=", ">": "<", ">=": "<="}  # fmt: skip


def turned(text: str) -> str:
    """The text with each sum, product, comparison, conjunction, `dot`, `max`, `min`, `concat` of depths and `select` of
    its blocks turned round.
    """
    file, problems = parse(Source("text", text))
    assert not problems
    nodes = [*_within(file.items)]
    widths = {each.name.text for each in nodes if isinstance(each, AxisDecl | Generic) and each.kind == "width"}
    for block in reversed([each for each in nodes if isinstance(each, BlockDecl)]):
        for statement in reversed(block.body):
            text = text[: statement.span.start] + _turned(statement, widths) + text[statement.span.end :]
    return text


def _within(node: Any) -> Iterator[Any]:
    if isinstance(node, tuple):
        for part in node:
            yield from _within(part)
    elif is_dataclass(node) and not isinstance(node, Span):
        yield node
        yield from _inner(node)


def _inner(node: Any) -> Iterator[Any]:
    for field in fields(node):
        yield from _within(getattr(node, field.name))


def _start(node: Any) -> int:
    """Where it begins in the text: with what a pipe gives it."""
    given = node.arguments[:1] if isinstance(node, CallExpr) else ()
    return min(each.span.start for each in (node, *given))


def _turned(node: Any, widths: set[str]) -> str:
    """The text of a node, with all in it turned."""
    whole, start = node.span.source.text, _start(node)
    match node:
        case Binary(op=op, left=left, right=right) if op in MIRRORED:
            return f"(({_turned(right, widths)}) {MIRRORED[op]} ({_turned(left, widths)}))"
        case CallExpr(arguments=arguments) if start == node.span.start and not any(each.name for each in arguments):
            given = [_turned(each.value, widths) for each in arguments]
            head = whole[start : arguments[0].span.start] if arguments else ""
            match node.callee.text, given:
                case "select", [test, yes, no]:
                    return f"select(not ({test}), {no}, {yes})"
                case "dot" | "min" | "max", [one, other] if not any(
                    isinstance(each.value, WhereExpr) for each in arguments
                ):
                    return f"{head}{other}, {one})"
                case "concat", [one, other] if not {*_names(node)} & widths:
                    (a, b), (c,) = (each.name.text for each in node.brackets.items), node.brackets.result
                    return f"concat[{b}, {a} -> {c.text}]({other}, {one})"
    text = ""
    for part in _outermost(node):
        text += whole[start : _start(part)] + _turned(part, widths)
        start = part.span.end
    return text + whole[start : node.span.end]


def _names(node: CallExpr) -> Iterator[str]:
    if node.brackets is not None:
        yield from (each.name.text for each in node.brackets.items)
        yield from (each.text for each in node.brackets.result or ())


def _outermost(node: Any) -> list[Any]:
    """The expressions in a node that stand in no other, in the order of the text."""
    found: list[Any] = []
    for each in sorted(
        _inner(node), key=lambda part: (_start(part), -part.span.end) if isinstance(part, Expr) else (0, 0)
    ):
        if isinstance(each, Expr) and (not found or _start(each) >= found[-1].span.end):
            found.append(each)
    return found
