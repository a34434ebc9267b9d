"""What the checker finds out of every expression, kept by its place: for editors. `attnc check` keeps nothing."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from ...dsl import syntax as s
from ...dsl.diagnostic import Diagnostic
from ...dsl.files import read
from ...dsl.parse import parse
from ...dsl.source import Source, Span
from ..graph.wires import Wire
from .statements import Body

if TYPE_CHECKING:
    from ..names.modules import BlockDef, Module
    from .frame import Instance


@dataclass(eq=False)
class Facts:
    """Filled by `build`. Types are in the axes of the block that the text stands in, as it is checked on its own.

    read, parse: how files are read and parsed: an editor has texts that are not saved, and lines that are not finished.
    wires:       by the place of an expression, or of a name that is bound.
    results:     of calls that give several.
    module:      the file itself. alone: each block, checked on its own.
    """

    read: Callable[[Path], Source] = read
    parse: Callable[[Source], tuple[s.File, list[Diagnostic]]] = parse
    wires: dict[Span, Wire] = field(default_factory=dict)
    results: dict[Span, list[Wire | None]] = field(default_factory=dict)
    module: Module | None = None
    alone: dict[BlockDef, Instance] = field(default_factory=dict)

    def note(self, span: Span, wire: Wire | None) -> None:
        if wire is not None:
            self.wires[span] = wire


@dataclass
class Recorder(Body):
    """A body that tells `checker.facts` what it finds."""

    def expr(self, expr: s.Expr, binding: str | None = None) -> Wire | None:
        return self._noted(expr.span, super().expr(expr, binding))

    def apply(self, name: str, shown: str, span: Span, operands: list[Wire], spans: list[Span]) -> Wire | None:
        return self._noted(span, super().apply(name, shown, span, operands, spans))

    def call(self, call: s.Call, binding: str | None) -> Wire | list[Wire | None] | None:
        found = super().call(call, binding)
        assert self.checker.facts is not None
        match found:
            case [_, _, *_]:
                self.checker.facts.results[call.span] = found
            case [wire]:
                self._noted(call.span, wire)
            case Wire():
                self._noted(call.span, found)
        return found

    def bind(self, name: s.Ident, wire: Wire | None) -> None:
        super().bind(name, wire)
        self._noted(name.span, self.env.get(name.text))

    def _noted(self, span: Span, wire: Wire | None) -> Wire | None:
        assert self.checker.facts is not None
        self.checker.facts.note(span, wire)
        return wire
