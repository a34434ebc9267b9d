"""What a block mentions and calls, read off its text: the names that become its implicit parameters (D8)."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from itertools import chain
from typing import Any

from ...dsl import syntax as s
from ...dsl.base.records import record


@record
class Mentions:
    """names:    may be axes or consts: in types, brackets and expressions; not labels, not names of arguments.
    declared: axes and consts that the block declares itself.
    calls:    what is called or shared, each with the parameters that the call names, or all calls of the share.
    """

    names: tuple[str, ...]
    declared: frozenset[str]
    calls: tuple[tuple[str, tuple[str, ...]], ...]


@cache
def _parts(kind: Any) -> tuple[str, ...] | None:
    """The fields of a syntax node class that may hold other nodes, last first; None for any other class."""
    if kind.__module__ != s.__name__:
        return None
    return tuple(n for n in reversed(kind.__match_args__) if n not in ("span", "op_span", "head"))


def walk(node: object) -> Iterator[object]:
    """Every syntax node below, without recursion: bodies may be long."""
    todo = [node]
    while todo:
        item = todo.pop()
        if type(item) is tuple:
            todo.extend(reversed(item))
            continue
        kind: type = type(item)
        parts = _parts(kind)
        if parts is not None:
            yield item
            todo.extend([getattr(item, name) for name in parts])


def mentions_of(decl: s.BlockDecl) -> Mentions:
    """Everything that a declaration mentions, in one pass."""
    names: dict[str, None] = {}
    declared: set[str] = set()
    shares: dict[int, str] = {}  # their names, by their place among the calls
    calls: list[tuple[str, tuple[str, ...]]] = []
    for node in walk((decl.generics, decl.formals, decl.results, decl.body)):
        match node:
            case s.Name(text):
                names[text] = None
            case s.SizeExpr(axis):
                names[axis.text] = None
            case s.TypeExpr(element, axes):
                names.update(dict.fromkeys(axis.text for axis in axes))
                if element:
                    names[element.text] = None
            case s.IndexExpr(_, brackets):
                for item in brackets.items:
                    names[item.name.text] = None
                    if item.rename:
                        names[item.rename.text] = None
            case s.CallExpr(callee, brackets=brackets, scan=scan):
                items = brackets.items if brackets else ()
                calls.append((callee.text, tuple(item.name.text for item in items if item.value is not None)))
                if scan:
                    names[scan.text] = None
                if brackets:
                    names.update(dict.fromkeys(ident.text for ident in (*brackets.each, *(brackets.result or ()))))
                for item in items:
                    if item.value is None:
                        names[item.name.text] = None
                    if item.rename:
                        names[item.rename.text] = None
            case s.AxisDecl(name=name, like=like):
                declared.add(name.text)
                if like:
                    names[like.text] = None
            case s.ConstDecl(name=name):
                declared.add(name.text)
            case s.Generic(like=like) if like:
                names[like.text] = None
            case s.Share(name, block):
                shares[len(calls)] = name.text
                calls.append((block.text, ()))
            case _:
                pass
    for place, share in shares.items():
        given = [bound for callee, bound in calls if callee == share]
        common = [name for name in dict.fromkeys(chain(*given)) if all(name in bound for bound in given)]
        calls[place] = (calls[place][0], tuple(common))
    shared = set(shares.values())
    return Mentions(tuple(names), frozenset(declared), tuple(call for call in calls if call[0] not in shared))
