"""What one run of the checker shares: fresh ids, the formulas of file-level sizes, and the diagnostics."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Protocol

from ...dsl.diagnostic import Diagnostic, Severity, error
from ...dsl.source import Span
from ..sizes.axes import Axis, Const, Kind, Number, Static, Value


class Reporter(Protocol):
    """An object that collects diagnostics: the session, or one elaboration of a block."""

    def report(
        self,
        code: str,
        message: str,
        span: Span | None,
        label: str = "",
        *,
        related: Iterable[tuple[Span | None, str]] = (),
        notes: Iterable[str] = (),
        help: str = "",
        fix: Iterable[tuple[Span, str]] = (),
        warning: bool = False,
    ) -> None:
        """Collect a diagnostic."""


@dataclass
class Session:
    """`formulas` and `const_formulas` say how file-level axes and consts depend on others, by id.

    `waiting`: what is wrong with the size of a library's axis, by its id; said if a block that is used mentions it.
    """

    diagnostics: list[Diagnostic] = field(default_factory=list)
    formulas: dict[int, Static] = field(default_factory=dict)
    const_formulas: dict[int, Static] = field(default_factory=dict)
    waiting: dict[int, list[Diagnostic]] = field(default_factory=dict)
    _ids: int = 0
    _reported: set[tuple[str, object]] = field(default_factory=set)

    def fresh(self) -> int:
        self._ids += 1
        return self._ids

    def axis(
        self,
        name: str,
        kind: Kind,
        *,
        label: str | None = None,
        extent: int | None = None,
        size: Static | None = None,
        bound: int | None = None,
        family: int | None = None,
        span: Span | None = None,
        ragged: bool = False,
    ) -> Axis:
        """A new axis; in a family of its own, unless a family is given."""
        id = self.fresh()
        family = id if family is None else family
        return Axis(id, name, kind, label or name, extent, size, bound, family, span, ragged)

    def const(self, name: str, value: Value | None, *, is_index: bool = False, like: Number | None = None) -> Const:
        return Const(self.fresh(), name, value, is_index, like)

    def report(
        self,
        code: str,
        message: str,
        span: Span | None,
        label: str = "",
        *,
        related: Iterable[tuple[Span | None, str]] = (),
        notes: Iterable[str] = (),
        help: str = "",
        fix: Iterable[tuple[Span, str]] = (),
        warning: bool = False,
    ) -> None:
        """Collect a diagnostic, unless the same code stands at the same place already."""
        severity = Severity.WARNING if warning else Severity.ERROR
        found = error(
            code, message, span, label, related=related, notes=notes, help=help, fix=tuple(fix), severity=severity
        )
        self.add(found)

    def add(self, found: Diagnostic) -> bool:
        """Collect; False if it was there already."""
        here = (found.code, location_key(found.span) or found.message)
        if here in self._reported:
            return False
        self._reported.add(here)
        self.diagnostics.append(found)
        return True

    @property
    def errors(self) -> int:
        return sum(d.severity is Severity.ERROR for d in self.diagnostics)


def location_key(span: Span | None) -> tuple[int, int, int] | None:
    """Where a diagnostic stands: two of one code at one place are the same."""
    return None if span is None else (id(span.source), span.start, span.end)
