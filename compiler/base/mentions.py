"""What a block mentions and calls, read off its text: the names that become its implicit parameters (D8)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
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
    leaves = ("Span", "str", "bool", "int | float")
    return tuple(name for name, one in reversed(kind.__members__.items()) if one.type not in leaves)


def walk(node: object) -> Iterator[object]:
    """Every syntax node below, without recursion: bodies may be long."""
    todo = [node]
    while todo:
        item = todo.pop()
        if type(item) is tuple:
            todo.extend(item[::-1])
            continue
        kind: type = type(item)
        parts = _parts(kind)
        if parts is not None:
            yield item
            todo.extend([getattr(item, name) for name in parts])


def _like(node: s.AxisDecl | s.Generic) -> Iterable[str]:
    return (node.like.text,) if node.like else ()


def _of_type(node: s.TypeExpr) -> Iterable[str]:
    return [axis.text for axis in node.axes] + ([node.element.text] if node.element else [])


def _of_index(node: s.IndexExpr) -> Iterable[str]:
    for item in node.brackets.items:
        yield item.name.text
        if item.rename:
            yield item.rename.text


def _of_call(node: s.CallExpr) -> Iterable[str]:
    if node.scan:
        yield node.scan.text
    if node.brackets is None:
        return
    for ident in (*node.brackets.each, *(node.brackets.result or ())):
        yield ident.text
    for item in node.brackets.items:
        if item.value is None:
            yield item.name.text
        if item.rename:
            yield item.rename.text


_NAMES: dict[type, Callable[[Any], Iterable[str]]] = {
    s.Name: lambda node: (node.text,),
    s.SizeExpr: lambda node: (node.axis.text,),
    s.TypeExpr: _of_type,
    s.IndexExpr: _of_index,
    s.CallExpr: _of_call,
    s.AxisDecl: _like,
    s.Generic: _like,
}


def mentions_of(decl: s.BlockDecl) -> Mentions:
    """Everything that a declaration mentions, in one pass."""
    names: dict[str, None] = {}
    declared: set[str] = set()
    shares: dict[int, str] = {}  # their names, by their place among the calls
    calls: list[tuple[str, tuple[str, ...]]] = []
    for node in walk((decl.generics, decl.formals, decl.results, decl.body)):
        if (mentioned := _NAMES.get(type(node))) is not None:
            names.update(dict.fromkeys(mentioned(node)))
        if isinstance(node, s.CallExpr):
            items = node.brackets.items if node.brackets else ()
            calls.append((node.callee.text, tuple(item.name.text for item in items if item.value is not None)))
        elif isinstance(node, s.AxisDecl | s.ConstDecl):
            declared.add(node.name.text)
        elif isinstance(node, s.Share):
            shares[len(calls)] = node.name.text
            calls.append((node.block.text, ()))
    for place, share in shares.items():
        given = [bound for callee, bound in calls if callee == share]
        common = [name for name in dict.fromkeys(chain(*given)) if all(name in bound for bound in given)]
        calls[place] = (calls[place][0], tuple(common))
    shared = set(shares.values())
    return Mentions(tuple(names), frozenset(declared), tuple(call for call in calls if call[0] not in shared))
