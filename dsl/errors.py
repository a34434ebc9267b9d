"""The exception at the edge: the checker collects diagnostics and raises nothing (`attnc.load` does)."""

from __future__ import annotations

from collections.abc import Sequence

from .diagnostic import Diagnostic


class AttnError(Exception):
    """The spec is wrong. `diagnostics` holds every mistake found, in the order of the text."""

    def __init__(self, diagnostics: Sequence[Diagnostic]) -> None:
        self.diagnostics = tuple(diagnostics)
        super().__init__(self.diagnostics)

    def __str__(self) -> str:
        from .render import render_all  # a right file needs no words

        return "\n" + render_all(self.diagnostics)
