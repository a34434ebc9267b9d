"""A body that keeps what it finds, for editors."""

from __future__ import annotations

from dataclasses import dataclass

from ...dsl import syntax as s
from ...dsl.source import Span
from ..graph.typed_value import TypedValue
from ..ops import Notation
from .statements import Body


@dataclass
class Recorder(Body):
    """A body that records in `checker.facts` what it finds."""

    def expr(self, expr: s.Expr, binding: str | None = None) -> TypedValue | None:
        return self._noted(expr.span, super().expr(expr, binding))

    def apply(
        self, notation: Notation, word: str, span: Span, operands: list[TypedValue], spans: list[Span]
    ) -> TypedValue | None:
        return self._noted(span, super().apply(notation, word, span, operands, spans))

    def call(self, call: s.CallExpr, binding: str | None) -> TypedValue | list[TypedValue | None] | None:
        found = super().call(call, binding)
        assert self.checker.facts is not None
        match found:
            case [_, _, *_]:
                self.checker.facts.results[call.span] = found
            case [wire]:
                self._noted(call.span, wire)
            case TypedValue():
                self._noted(call.span, found)
        return found

    def bind(self, name: s.Ident, wire: TypedValue | None) -> None:
        super().bind(name, wire)
        self._noted(name.span, self.variables.get(name.text))

    def _noted(self, span: Span, wire: TypedValue | None) -> TypedValue | None:
        assert self.checker.facts is not None
        self.checker.facts.note(span, wire)
        return wire
