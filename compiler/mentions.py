"""What a block mentions and calls, read off its text: the names that become its implicit parameters (D8)."""

from __future__ import annotations

from collections.abc import Iterable

from ..dsl import syntax as s
from ..dsl.source import Span
from .modules import BlockDef


def walk(node: object, stop: tuple[type, ...] = ()) -> Iterable[object]:
    """Every syntax node below, without recursion: bodies may be long."""
    todo = [node]
    while todo:
        item = todo.pop()
        if isinstance(item, tuple):
            todo.extend(reversed(item))
        elif hasattr(item, "__dataclass_fields__") and not isinstance(item, Span):
            yield item
            todo.extend(
                getattr(item, name)
                for name in reversed(list(item.__dataclass_fields__))
                if name not in ("span", "op_span", "head")
            )


def mentioned(decl: s.BlockDecl) -> list[str]:
    """Names that may be axes or consts: in types, brackets, expressions; not labels, not names of arguments."""
    names: dict[str, None] = {}
    for node in walk((decl.generics, decl.formals, decl.results, decl.body)):
        match node:
            case s.Name(text):
                names[text] = None
            case s.SizeOf(axis):
                names[axis.text] = None
            case s.TypeExpr(element, axes):
                names.update(dict.fromkeys(axis.text for axis in axes))
                if element:
                    names[element.text] = None
            case s.Index(_, brackets):
                for item in brackets.items:
                    names[item.name.text] = None
                    if item.rename:
                        names[item.rename.text] = None
            case s.Call(brackets=brackets, scan=scan):
                if scan:
                    names[scan.text] = None
                if brackets:
                    for ident in (*brackets.each, *(brackets.result or ())):
                        names[ident.text] = None
                    for item in brackets.items:
                        if item.value is None:
                            names[item.name.text] = None
                        if item.rename:
                            names[item.rename.text] = None
            case s.AxisDecl(like=like) if like:
                names[like.text] = None
            case s.Generic(like=like) if like:
                names[like.text] = None
            case _:
                pass
    return list(names)


def declared_inside(body: tuple[s.Statement, ...]) -> set[str]:
    return {node.name.text for node in walk(body) if isinstance(node, s.AxisDecl | s.ConstDecl)}


def shares(body: tuple[s.Statement, ...]) -> list[s.Share]:
    return [node for node in walk(body) if isinstance(node, s.Share)]


def calls(body: tuple[s.Statement, ...]) -> list[tuple[str, list[str]]]:
    """Names that are called, each with the parameters that the call names."""
    found = []
    for node in walk(body):
        if isinstance(node, s.Call):
            items = node.brackets.items if node.brackets else ()
            found.append((node.callee.text, [item.name.text for item in items if item.value is not None]))
        elif isinstance(node, s.Share):
            found.append((node.block.text, []))
    return found


def called_blocks(blocks: Iterable[BlockDef]) -> set[BlockDef]:
    """Those that some block calls."""
    out = set()
    for block in blocks:
        for name, _ in calls(block.decl.body):
            if name in block.module.blocks:
                out.add(block.module.blocks[name])
    return out
