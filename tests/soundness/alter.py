"""Texts with something small exchanged, as a pen or a merge does it: many are wrong, some say something else."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterator
from dataclasses import fields, is_dataclass
from itertools import pairwise
from typing import Any

from attnc.compiler.ops import OPS
from attnc.dsl.parse import parse
from attnc.dsl.source import Source, Span
from attnc.dsl.syntax import (
    Argument,
    Assign,
    Binary,
    BracketItem,
    BracketList,
    CallExpr,
    Formal,
    Generic,
    Ident,
    IndexExpr,
    Name,
    NumberLiteral,
    ResultDecl,
    SizeExpr,
    Truth,
    TypeExpr,
    Unary,
    WhereExpr,
)

EXPRESSIONS = (Binary, CallExpr, IndexExpr, Name, NumberLiteral, SizeExpr, Truth, Unary, WhereExpr)
KINDS = (
    EXPRESSIONS,
    EXPRESSIONS,
    Ident,
    Ident,
    Ident,
    BracketList,
    BracketItem,
    TypeExpr,
    Argument,
    Formal,
    Generic,
    ResultDecl,
    Assign,
)
CALLED = sorted(name for name in OPS if name.isidentifier())
SIGNS = ({"+", "-", "*", "/", "^", "%"}, {"<", "<=", ">", ">=", "==", "!="}, {"and", "or"})
SIGN_LIST = [sign for kind in SIGNS for sign in sorted(kind)]
NUMBERS = ("0", "1", "2", "3", "7", "0.5", "-1")


def altered(text: str, rng: random.Random) -> str:
    """The text with one to three changes. A text that does not parse stays as it is."""
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        file, problems = parse(Source("text", text))
        if problems:
            break
        nodes = [node for item in file.items for node in within(item)]
        for _ in range(10):
            new = rng.choice(CHANGES)(text, nodes, rng)
            if new != text:
                break
        text = new
    return text


def within(node: Any) -> Iterator[Any]:
    """What a node is made of, itself first."""
    if isinstance(node, tuple):
        for part in node:
            yield from within(part)
    elif is_dataclass(node) and not isinstance(node, Span):
        yield node
        for field in fields(node):
            yield from within(getattr(node, field.name))


def of(nodes: list[Any], kind: Any) -> list[Any]:
    return [node for node in nodes if isinstance(node, kind)]


def put(text: str, at: Span, new: str) -> str:
    return text[: at.start] + new + text[at.end :]


def exchanged(text: str, nodes: list[Any], rng: random.Random) -> str:
    """A part becomes another of its kind, which may be of another place."""
    some = of(nodes, rng.choice(KINDS))
    if not some:
        return text
    place, other = rng.choice(some), rng.choice(some)
    return put(text, place.span, bracketed(other) if isinstance(place, EXPRESSIONS) else other.span.text)


def bracketed(node: Any) -> str:
    return f"({node.span.text})" if isinstance(node, Binary | WhereExpr | Unary) else str(node.span.text)


def swapped(text: str, nodes: list[Any], rng: random.Random) -> str:
    """Two of a kind that stand near one another."""
    some = sorted(of(nodes, rng.choice(KINDS)), key=lambda node: node.span.start)
    pairs = [(a.span, b.span) for a, b in pairwise(some) if a.span.end <= b.span.start]
    if not pairs:
        return text
    one, two = rng.choice(pairs)
    return put(put(text, two, one.text), one, two.text)


def another_number(text: str, nodes: list[Any], rng: random.Random) -> str:
    numbers = of(nodes, NumberLiteral)
    if not numbers:
        return text
    place = rng.choice(numbers)
    near = [str(place.value + step) for step in (-1, 1) if isinstance(place.value, int)]
    return put(text, place.span, rng.choice([*NUMBERS, *near]))


def number_for_expression(text: str, nodes: list[Any], rng: random.Random) -> str:
    some = of(nodes, EXPRESSIONS)
    return put(text, rng.choice(some).span, rng.choice(NUMBERS)) if some else text


def another_sign(text: str, nodes: list[Any], rng: random.Random) -> str:
    binaries = of(nodes, Binary)
    if not binaries:
        return text
    place = rng.choice(binaries)
    return put(text, place.op_span, rng.choice([sign for kind in SIGNS if place.op in kind for sign in sorted(kind)]))


def another_call(text: str, nodes: list[Any], rng: random.Random) -> str:
    calls = of(nodes, CallExpr)
    if not calls:
        return text
    place, other = rng.choice(calls), rng.choice([*CALLED, *(call.callee.text for call in calls)])
    return put(text, place.callee.span, other)


def lost(text: str, nodes: list[Any], rng: random.Random) -> str:
    """One of several, or the word or brackets that may stand there."""
    some = of(nodes, (Argument, BracketItem, BracketList, Generic, Formal, ResultDecl, Ident))
    if not some:
        return text
    start, end = (place := rng.choice(some).span).start, place.end
    after, before = re.match(r"\s*,\s*", text[end:]), re.search(r"\s*,\s*$", text[:start])
    if after:
        end += after.end()
    elif before:
        start = before.start()
    return text[:start] + text[end:]


def around(text: str, nodes: list[Any], rng: random.Random) -> str:
    """Something is done to a part of an expression."""
    some = of(nodes, EXPRESSIONS)
    if not some:
        return text
    place, other = rng.choice(some), bracketed(rng.choice(some))
    axes = rng.choice([axis.text for axis in of(nodes, Ident)])
    this, op = bracketed(place), rng.choice(CALLED)
    sign, number = rng.choice(SIGN_LIST), rng.choice(NUMBERS)
    forms = (
        f"{op}({this})", f"{op}[{axes}]({this})", f"{op}[{axes}]({this}, {other})", f"{op}({this}, {other})",
        f"({this} {sign} {other})", f"({this} {sign} {number})", f"({this} where {other} <= {number})", f"-{this}",
        f"{this}[{axes} = {other}]", f"{this}[{axes} = {number}]", f"|{axes}|", f"(not {this})", axes,
    )  # fmt: skip
    return put(text, place.span, rng.choice(forms))


def lines(text: str, nodes: list[Any], rng: random.Random) -> str:
    """A line lost, written twice, or moved by one."""
    every = text.rstrip("\n").split("\n")
    at = rng.randrange(len(every))
    next_one = every[at + 1 : at + 2]
    every[at : at + 2] = rng.choice((next_one, [every[at], every[at], *next_one], [*next_one, every[at]]))
    return "\n".join(every) + "\n"


CHANGES: tuple[Callable[[str, list[Any], random.Random], str], ...] = (
    exchanged, exchanged, exchanged, exchanged, swapped, swapped, another_number, another_number, another_number,
    number_for_expression, another_sign, another_sign, another_call, lost, around, around, around, lines,
)  # fmt: skip
