"""What the checker finds out about every expression, kept by its span, for editors. `attnc check` keeps nothing."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from ...dsl import syntax as s
from ...dsl.base.records import field, mutable
from ...dsl.diagnostic import Diagnostic
from ...dsl.files import read
from ...dsl.parse import parse
from ...dsl.source import Source, Span
from ..graph.typed_value import TypedValue
from ..names.modules import BlockDef, Module
from .environment import Specialisation


@mutable
class Facts:
    """Filled by `build`. Types are in the axes of the block that the text stands in, as it is checked on its own.

    read, parse: how files are read and parsed: an editor has texts that are not saved, and lines that are not finished.
    values:      by the place of an expression, or of a name that is bound.
    results:     of calls that give several.
    module:      the file itself. alone: each block, checked on its own.
    """

    read: Callable[[Path], Source] = read
    parse: Callable[[Source], tuple[s.File, list[Diagnostic]]] = parse
    values: dict[Span, TypedValue] = field(default_factory=dict)
    results: dict[Span, list[TypedValue | None]] = field(default_factory=dict)
    module: Module | None = None
    alone: dict[BlockDef, Specialisation] = field(default_factory=dict)

    def note(self, span: Span, wire: TypedValue | None) -> None:
        if wire is not None:
            self.values[span] = wire
