"""How the call around the cursor is written, and which part of it the cursor is in."""

from __future__ import annotations

from dataclasses import dataclass

from ...dsl import syntax as s
from .. import describe
from ..analysis import Analysis
from ..lexical import Opened, around
from .navigate import visible_names


@dataclass(frozen=True, slots=True)
class Signature:
    """label: the whole form. parts: its parameters, as stretches of the label. active: which one is being written."""

    label: str
    doc: str
    parts: tuple[tuple[int, int], ...]
    active: int | None


def signature(analysis: Analysis, offset: int) -> Signature | None:
    """The form of the innermost call that is open at a place."""
    place = around(analysis.text, offset)
    if place.silent:
        return None
    _, _, names, visible = visible_names(analysis, offset)
    for opened in reversed(place.opened):
        if not opened.head or opened.bracket == "{":
            continue
        callee = opened.head[0].text
        symbol = visible.get(callee)
        if symbol is not None and symbol.kind == "share" and isinstance(symbol.node, s.Share):
            symbol = names.top.get(symbol.node.block.text)
        node = symbol.meant.node if symbol is not None else None
        if symbol is not None and isinstance(node, s.BlockDecl | s.OpDecl):
            if node.span.start <= opened.at <= node.name.span.end + 1 and symbol.path == analysis.path:
                return None  # the signature itself is being written
            return _of_block(callee, node, describe.doc(symbol), opened)
        op = describe.op_named(callee, opened.bracket == "[" or "[" in analysis.text[opened.head[-1].end : opened.at])
        if op is not None:
            return Signature(op.usage, op.doc, (), None)
    return None


def _of_block(name: str, node: s.BlockDecl | s.OpDecl, doc: str, opened: Opened) -> Signature:
    label, generics, formals = name, [], []
    for index, generic in enumerate(node.generics):
        label += "[" if index == 0 else ", "
        generics.append((len(label), len(label) + len(generic.span.text)))
        label += generic.span.text
    label += "](" if node.generics else "("
    for index, formal in enumerate(node.formals):
        label += ", " if index else ""
        text = " ".join(formal.span.text.split())
        formals.append((len(label), len(label) + len(text)))
        label += text
    label += ")"
    if node.results:
        label += " -> " + " ".join(node.results[0].span.to(node.results[-1].span).text.split())
    inside = opened.bracket == "["
    first = 0 if inside else len(generics)
    given = [g.name.text for g in node.generics] if inside else [f.name.text for f in node.formals]
    part = opened.parts[-1]
    index = len(opened.parts) - 1
    if len(part) > 1 and part[1].text == "=" and part[0].text in given:
        index = given.index(part[0].text)
    return Signature(label, doc, (*generics, *formals), first + index if index < len(given) else None)
