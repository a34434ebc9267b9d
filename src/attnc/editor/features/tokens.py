"""The meaning of each name, for colours: what only the checker can tell apart."""

from __future__ import annotations

from ...compiler.base.mentions import walk
from ...dsl import syntax as s
from ...dsl.source import Span
from .. import describe
from ..analysis import Analysis
from ..names import CALLED, Symbol

TYPES = (
    "widthAxis",
    "depthAxis",
    "op",
    "function",
    "class",
    "weight",
    "parameter",
    "variable",
    "constant",
    "namespace",
)
MODIFIERS = ("declaration", "defaultLibrary")

_KINDS = {
    "width": "widthAxis", "depth": "depthAxis", "const": "constant", "index": "constant", "config": "class",
    "block": "function", "model": "class", "op": "op", "share": "weight", "param": "weight", "label": "weight",
    "argument": "parameter", "variable": "variable", "result": "variable", "file": "namespace",
}  # fmt: skip

Token = tuple[Span, str, frozenset[str]]


def tokens(analysis: Analysis) -> list[Token]:
    """The names and ops of a text in order: place, type, modifiers."""
    found: list[Token] = []
    for mention in analysis.names.mentions:
        kind = _kind(mention.symbol)
        if kind is not None:
            library = mention.symbol.meant.span.source.name.startswith("std/")
            modifiers = (["declaration"] if mention.declares else []) + (["defaultLibrary"] if library else [])
            found.append((mention.span, kind, frozenset(modifiers)))
    taken = {span for span, _, _ in found}
    calls = [node for node in walk(analysis.file) if isinstance(node, s.CallExpr) and node.callee.span not in taken]
    found += [(call.callee.span, "op", frozenset(["defaultLibrary"])) for call in calls if _is_op(call)]
    return sorted(found, key=lambda token: token[0].start)


def _is_op(call: s.CallExpr) -> bool:
    return call.callee.text == "raw" or describe.op_named(call.callee.text, call.brackets is not None) is not None


def _kind(symbol: Symbol) -> str | None:
    meant = symbol.meant
    if symbol.kind == "alias" and meant is symbol:  # of a file that cannot be read
        return None
    return "class" if meant.kind == "model" else _KINDS.get(meant.kind, "function" if meant.kind in CALLED else None)
