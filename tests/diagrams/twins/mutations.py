"""Small changes of a block's text, each of which makes another program of it, by the kind of what is changed."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import fields, is_dataclass
from functools import cache
from itertools import combinations, pairwise
from typing import Any

from attnc.compiler.ops import OPS
from attnc.dsl.parse import parse
from attnc.dsl.source import Source, Span
from attnc.dsl.syntax import (
    AxisDecl,
    Binary,
    BlockDecl,
    CallExpr,
    ConstDecl,
    Expr,
    File,
    Formal,
    Ident,
    IndexExpr,
    Name,
    NumberLiteral,
    ParamDecl,
    RepeatStatement,
    Return,
    Share,
    Truth,
    Unary,
    WhereExpr,
)
from tests.soundness.alter import bracketed, put, within

Change = tuple[str, str]  # the kind, and the text of the whole file
Made = Iterator[tuple[Any, ...]]  # a change, and the node that it changes where its place counts
COMPARISONS = {"<": "<=", "<=": "<", ">": ">=", ">=": ">", "==": "!=", "!=": "=="}
ORDERED = ("-", "/", "^", "%")
FUNCTIONS = ("relu", "gelu", "tanh", "sigmoid", "silu", "exp", "sin", "cos", "abs")
NORMS = ("layernorm", "rmsnorm")
REDUCED = ("sum", "mean", "max", "min", "logsumexp", "softmax", "log_softmax", "cumsum", "dot", "l2norm")


@cache
def blocks(text: str) -> list[BlockDecl]:
    file, problems = parse(Source("text", text))
    return [] if problems else [item for item in file.items if isinstance(item, BlockDecl)]


def alone(text: str, name: str) -> str:
    """The file with no other blocks than this one and those that it calls."""
    every = {block.name.text: block for block in blocks(text)}
    needed = [name]
    for one in needed:  # grows as it goes
        mentioned = {node.text for node in within(every[one]) if isinstance(node, Ident)}
        needed += [other for other in every if other in mentioned and other not in needed]
    for block in sorted(every.values(), key=lambda block: -block.span.start):
        if block.name.text not in needed:
            text = put(text, block.span, "")
    return text


def changes(text: str, name: str) -> list[Change]:
    """Every change of the block of this name. Many are no right program."""
    file, _ = parse(Source("text", text))
    block = next(item for item in file.items if isinstance(item, BlockDecl) and item.name.text == name)
    places = _places(block, file)
    found = []
    for make in MAKERS:
        for kind, new, *node in make(text, block, file):
            place = places.get(id(node[0]), "") if node else ""
            found.append((f"{kind} {place}".strip(), new))
    return found


def _places(block: BlockDecl, file: File) -> dict[int, str]:
    """Of each node (by id), where it stands."""
    known = {_name(item) for item in file.items if isinstance(item, AxisDecl | ConstDecl)} | {*_axes(block, file)}
    known |= {generic.name.text for generic in block.generics}
    return {id(node): _place(node, around, known) for node, around in _within(block.body, ())}


def _name(item: Any) -> str:
    return str(item.name.text)


def _place(node: Any, around: Sequence[Any], known: set[str]) -> str:
    """What kind of expression it stands in, as far as figures show these in ways of their own."""
    for outer in around:
        if isinstance(outer, IndexExpr) or (isinstance(outer, CallExpr) and outer.callee.text == "index"):
            return "in an index"
    for outer, inner in pairwise((*around, node)):
        if isinstance(outer, WhereExpr) and inner is outer.mask:
            return "in a mask"
        if isinstance(outer, Binary) and outer.op in (*COMPARISONS, "and", "or"):
            return "in a mask"
    for outer in (*around, node):
        names = {part.text for part in within(outer) if isinstance(part, Name)}
        if isinstance(outer, Binary | Unary | CallExpr) and names and names <= known:
            return "in a formula"
    return ""


def _axes(block: BlockDecl, file: File) -> list[str]:
    own = [g.name.text for g in block.generics if g.kind != "const"]
    own += [node.name.text for node in within(block.body) if isinstance(node, AxisDecl)]
    used = {node.text for node in within(block) if isinstance(node, Ident)}
    return own + [i.name.text for i in file.items if isinstance(i, AxisDecl) and i.name.text in used]


def _called(block: BlockDecl) -> Iterator[CallExpr]:
    return (node for node in within(block.body) if isinstance(node, CallExpr))


def _listed(names: Sequence[Any]) -> str:
    return ", ".join(name if isinstance(name, str) else name.span.text for name in names)


def _brackets(each: Sequence[Any], items: Sequence[Any], result: Sequence[Any] | None) -> str:
    first = f"{_listed(each)}: " if each else ""
    return f"[{first}{_listed(items)}" + (f" -> {_listed(result)}]" if result is not None else "]")


def weights_per(text: str, block: BlockDecl, file: File) -> Made:
    """`linear[m -> v]` against `linear[h: m -> v]`."""
    for call in _called(block):
        if call.callee.text != "linear" or call.brackets is None:
            continue
        at = call.brackets
        if at.each:
            yield "weights per head", put(text, at.span, _brackets((), at.items, at.result))
        for axis in _axes(block, file):
            if axis not in [*(i.name.text for i in at.items), *(i.text for i in at.result or ()), *map(_text, at.each)]:
                yield "weights per head", put(text, at.span, _brackets((*at.each, axis), at.items, at.result))


def _text(ident: Ident) -> str:
    return ident.text


def biases(text: str, block: BlockDecl, file: File) -> Made:
    for call in _called(block):
        if call.callee.text == "linear":
            yield "bias of linear", _toggled(text, call, "bias")
        if call.callee.text in NORMS:
            for option in ("bias", "scale") if call.callee.text == "layernorm" else ("scale",):
                yield "norm with or without", _toggled(text, call, option)
            other = NORMS[1 - NORMS.index(call.callee.text)]
            yield "kind of norm", put(text, call.callee.span, other)


def _toggled(text: str, call: CallExpr, option: str) -> str:
    for argument in call.arguments:
        if argument.name is not None and argument.name.text == option:
            if isinstance(argument.value, Truth):
                return put(text, argument.value.span, "false" if argument.value.value else "true")
            return put(text, argument.value.span, "false")
    end = call.span.end - 1
    return f"{text[:end]}, {option} = false{text[end:]}"


def operands(text: str, block: BlockDecl, file: File) -> Made:
    for node in within(block.body):
        if isinstance(node, Binary) and node.op in ORDERED:
            yield f"operands of {node.op}", _swapped(text, node.left, node.right), node
        if isinstance(node, Unary) and node.op == "-":
            yield "sign", put(text, node.span, bracketed(node.operand)), node
        if isinstance(node, CallExpr) and node.callee.text == "select" and len(node.arguments) == 3:
            _, a, b = (argument.value for argument in node.arguments)
            yield "operands of select", _swapped(text, a, b), node


def _swapped(text: str, a: Expr, b: Expr) -> str:
    first, second = sorted((a, b), key=lambda e: e.span.start)
    if first.span.end > second.span.start:
        return text
    return put(put(text, second.span, bracketed(first)), first.span, bracketed(second))


def signs(text: str, block: BlockDecl, file: File) -> Made:
    for node in within(block.body):
        if isinstance(node, Binary) and node.op in COMPARISONS:
            yield "comparison", put(text, node.op_span, COMPARISONS[node.op])
            yield "sides of a comparison", _swapped(text, node.left, node.right)
        if isinstance(node, Binary) and node.op in ("and", "or"):
            yield "and, or", put(text, node.op_span, "or" if node.op == "and" else "and")
            yield "part of a mask", put(text, node.span, bracketed(node.left))
        if isinstance(node, Binary) and node.op in ("+", "*"):
            yield "sum or product", put(text, node.op_span, "*" if node.op == "+" else "+"), node
        if isinstance(node, Unary) and node.op == "not":
            yield "complement", put(text, node.span, bracketed(node.operand))
        if isinstance(node, WhereExpr):
            yield "complement", put(text, node.mask.span, f"not ({node.mask.span.text})")
            yield "mask or none", put(text, node.span, bracketed(node.value))


def numbers(text: str, block: BlockDecl, file: File) -> Made:
    for node, around in _within(block.body, ()):
        if isinstance(node, NumberLiteral):
            names = [a.name.text for a in around if type(a).__name__ == "Argument" and a.name is not None]
            if {"eps", "p", "init"} & set(names) or any(isinstance(a, AxisDecl | ParamDecl) for a in around):
                continue
            kind = "constant"
            if names:
                kind = "option"
            elif any(isinstance(a, RepeatStatement) and a.count is node for a in around):
                kind = "times of a repeat"
            changed = node.value + 1 if isinstance(node.value, int) else node.value * 2
            yield kind, put(text, node.span, str(changed)), node
        if isinstance(node, CallExpr) and node.callee.text in FUNCTIONS:
            other = FUNCTIONS[(FUNCTIONS.index(node.callee.text) + 1) % len(FUNCTIONS)]
            yield "function", put(text, node.callee.span, other), node
        if isinstance(node, RepeatStatement):
            head = node.head.text
            shared = head.replace(" shared", "") if " shared" in head else f"{head.rstrip()} shared "
            yield "shared passes", put(text, node.head, shared)


def _within(node: Any, around: tuple[Any, ...]) -> Iterator[tuple[Any, tuple[Any, ...]]]:
    if isinstance(node, tuple):
        for part in node:
            yield from _within(part, around)
    elif is_dataclass(node) and not isinstance(node, Span):
        yield node, around
        for field in fields(node):
            yield from _within(getattr(node, field.name), (*around, node))


def orders(text: str, block: BlockDecl, file: File) -> Made:
    for call in _called(block):
        at = call.brackets
        if at is None or at.result is None:
            continue
        if call.callee.text == "split" and len(at.result) > 1:
            yield "order of split", put(text, at.span, _brackets(at.each, at.items, at.result[::-1]))
        if call.callee.text == "merge" and len(at.items) > 1:
            yield "order of merge", put(text, at.span, _brackets(at.each, at.items[::-1], at.result))
        if call.callee.text == "concat":
            values = [argument.span for argument in call.arguments if argument.name is None]
            swapped = text
            for span, new in zip(reversed(values), values, strict=True):
                swapped = put(swapped, span, new.text)
            yield "order of concat", put(swapped, at.span, _brackets(at.each, at.items[::-1], at.result))


def axes(text: str, block: BlockDecl, file: File) -> Made:
    for call in _called(block):
        at = call.brackets
        if at is None or call.callee.text not in REDUCED:
            continue
        for item in at.items:
            for axis in _axes(block, file):
                if axis not in [other.name.text for other in at.items]:
                    yield f"axis of {call.callee.text}", put(text, item.span, axis)


def indices(text: str, block: BlockDecl, file: File) -> Made:
    for node in within(block.body):
        inner: list[Any] = []
        if isinstance(node, IndexExpr):
            inner = [item.value for item in node.brackets.items if item.value is not None]
        if isinstance(node, CallExpr) and node.callee.text == "index":
            inner = [argument.value for argument in node.arguments]
        for value in inner:
            for part in within(value):
                if isinstance(part, Binary) and part.op in ("+", "-"):
                    yield "index expression", put(text, part.op_span, "-" if part.op == "+" else "+")
                    yield "index expression", put(text, part.span, bracketed(part.left))


def ports(text: str, block: BlockDecl, file: File) -> Made:
    shares = {node.name.text: node.block.text for node in within(block.body) if isinstance(node, Share)}
    for call in _called(block):
        name = call.callee.text
        if name in shares:
            yield "tied weights", put(text, call.callee.span, f"{shares[name]}.another")
        if name in OPS:
            continue
        for a, b in combinations(call.arguments, 2):
            yield "ports of a call", _swapped(text, a.value, b.value)
        items = call.brackets.items if call.brackets is not None else ()
        for item in items:
            for axis in _axes(block, file):
                if item.value is None and axis != item.name.text:
                    yield "axes of a call", put(text, item.span, axis)


def wiring(text: str, block: BlockDecl, file: File) -> Made:
    """Another value in the place of one: another residual, another weight."""
    params = {node.name.text for node in within(block.body) if isinstance(node, ParamDecl)}
    variables = {node.name.text for node in within(block) if isinstance(node, Formal)} | params
    for node in within(block.body):
        variables |= {target.text for target in getattr(node, "targets", ())}
    for node in within(block.body):
        if isinstance(node, Name) and node.text in variables:
            for other in sorted(variables - {node.text}):
                tied = {node.text, other} <= params
                yield "tied weights" if tied else "which value", put(text, node.span, other)
        if isinstance(node, Return):
            for a, b in combinations(node.values, 2):
                yield "order of results", _swapped(text, a, b)


MAKERS: tuple[Callable[[str, BlockDecl, File], Made], ...] = (
    weights_per, biases, operands, signs, numbers, orders, axes, indices, ports, wiring,
)  # fmt: skip


# -- what must not change the figure ---------------------------------------------------------------------------------


def unchanged(text: str, name: str) -> list[Change]:
    """Changes of the block of this name that leave it the same program: exchanged operands of a sum or product, and
    statements, and axes of the file, that do not hang on one another in another order."""
    file, _ = parse(Source("text", text))
    block = next(item for item in file.items if isinstance(item, BlockDecl) and item.name.text == name)
    places = _places(block, file)
    found = []
    for node in within(block.body):
        if isinstance(node, Binary) and node.op in ("+", "*", "and", "or"):
            kind = f"operands of {node.op} {places[id(node)]}".strip()
            found.append((kind, _swapped(text, node.left, node.right)))
        if isinstance(node, CallExpr) and node.callee.text == "dot" and len(node.arguments) == 2:
            found.append(("operands of dot", _swapped(text, *(a.value for a in node.arguments))))
    for one, two in zip(block.body, block.body[1:], strict=False):
        made = {target.text for target in getattr(one, "targets", ())}
        made_then = {target.text for target in getattr(two, "targets", ())}
        read = {n.text for n in within(two) if isinstance(n, Name | Ident)}
        read_before = {n.text for n in within(one) if isinstance(n, Name | Ident)}
        if made and made_then and not made & read and not made_then & read_before:
            swapped = put(put(text, two.span, one.span.text), one.span, two.span.text)
            found.append(("order of statements", swapped))
    used = {node.text for node in within(block) if isinstance(node, Ident)}
    declared = [item for item in file.items if isinstance(item, AxisDecl) and item.name.text in used]
    for first, second in pairwise(declared):
        mentioned = {node.text for node in within(second) if isinstance(node, Name | Ident)}
        if first.kind == second.kind and first.name.text not in mentioned:
            swapped = put(put(text, second.span, first.span.text), first.span, second.span.text)
            found.append(("order of declarations", swapped))
    return found


def chosen(candidates: Sequence[Change], most: int, rng: random.Random) -> list[Change]:
    """So many, of as many kinds as may be."""
    by_kind: dict[str, list[Change]] = {}
    for change in candidates:
        by_kind.setdefault(change[0], []).append(change)
    for own in by_kind.values():
        rng.shuffle(own)
    out: list[Change] = []
    while by_kind and len(out) < most:
        for kind in sorted(by_kind):
            out.append(by_kind[kind].pop())
            if not by_kind[kind]:
                del by_kind[kind]
    return out[:most]


__all__ = ["alone", "blocks", "changes", "chosen", "unchanged"]
