"""Between our answers and the protocol's types: places, paths, diagnostics, edits."""

from __future__ import annotations

import os
from collections.abc import Iterable
from weakref import WeakKeyDictionary

from lsprotocol import types as lsp
from pygls import uris

from ..dsl.diagnostic import Diagnostic, Severity
from ..dsl.source import Source, Span
from .analysis import Analysis
from .features.navigate import OutlineEntry
from .features.offers import Offer
from .lines import Lines
from .project import Project

_SYMBOLS = {
    "file": lsp.SymbolKind.Module, "width": lsp.SymbolKind.TypeParameter, "depth": lsp.SymbolKind.TypeParameter,
    "const": lsp.SymbolKind.Constant, "config": lsp.SymbolKind.Object, "block": lsp.SymbolKind.Function,
    "model": lsp.SymbolKind.Class, "op": lsp.SymbolKind.Operator, "param": lsp.SymbolKind.Field,
    "label": lsp.SymbolKind.Field, "repeat": lsp.SymbolKind.Array,
}  # fmt: skip
_OFFERS = {
    "width": lsp.CompletionItemKind.TypeParameter, "depth": lsp.CompletionItemKind.TypeParameter,
    "const": lsp.CompletionItemKind.Constant, "argument": lsp.CompletionItemKind.Variable,
    "variable": lsp.CompletionItemKind.Variable, "param": lsp.CompletionItemKind.Field,
    "share": lsp.CompletionItemKind.Field, "label": lsp.CompletionItemKind.Field,
    "block": lsp.CompletionItemKind.Function, "model": lsp.CompletionItemKind.Class,
    "op": lsp.CompletionItemKind.Operator, "parameter": lsp.CompletionItemKind.Property,
    "keyword": lsp.CompletionItemKind.Keyword, "file": lsp.CompletionItemKind.Module,
    "folder": lsp.CompletionItemKind.Folder,
}  # fmt: skip
_SEVERITIES = {
    Severity.ERROR: lsp.DiagnosticSeverity.Error,
    Severity.WARNING: lsp.DiagnosticSeverity.Warning,
    Severity.ADVICE: lsp.DiagnosticSeverity.Information,
}


def path_of(uri: str) -> str:
    """The path of a file; of a buffer that is no file, its address."""
    path = uris.to_fs_path(uri) if uri.startswith("file:") else None
    return os.path.abspath(path) if path else uri


def uri_of(path: str) -> str:
    return (uris.from_fs_path(path) or path) if os.path.isabs(path) else path


class Converter:
    """Counts columns as the client does. Knows under which address the client opened a path."""

    def __init__(self, project: Project, encoding: str) -> None:
        self.project = project
        self.encoding = encoding
        self.opened: dict[str, str] = {}
        self._lines: WeakKeyDictionary[Source, Lines] = WeakKeyDictionary()

    def lines(self, source: Source) -> Lines:
        if source not in self._lines:
            self._lines[source] = Lines(source.text, self.encoding)
        return self._lines[source]

    def offset(self, source: Source, place: lsp.Position) -> int:
        return self.lines(source).offset(place.line, place.character)

    def position(self, source: Source, offset: int) -> lsp.Position:
        return lsp.Position(*self.lines(source).line_and_column(offset))

    def range(self, span: Span) -> lsp.Range:
        return lsp.Range(self.position(span.source, span.start), self.position(span.source, span.end))

    def uri(self, source: Source) -> str:
        path = self.project.path_of(source)
        return self.opened.get(path) or uri_of(path)

    def location(self, span: Span) -> lsp.Location:
        return lsp.Location(self.uri(span.source), self.range(span))

    def diagnostic(self, found: Diagnostic, analysis: Analysis) -> lsp.Diagnostic:
        """The message with its help; secondary places as related information."""
        span = found.span or Span(analysis.source, 0, 0)
        related = [
            lsp.DiagnosticRelatedInformation(self.location(label.span), label.text or "here") for label in found.related
        ]
        if found.label and found.span is not None:
            related.insert(0, lsp.DiagnosticRelatedInformation(self.location(span), found.label))
        text = [
            found.message,
            *(f"note: {note}" for note in found.notes),
            *([f"help: {found.help}"] * bool(found.help)),
        ]
        return lsp.Diagnostic(
            range=self.range(span),
            message="\n".join(text),
            severity=_SEVERITIES[found.severity],
            code=found.code,
            source="attnc",
            related_information=related,
            tags=[lsp.DiagnosticTag.Unnecessary] if found.code in ("W0502", "W0503") else None,
            data={"code": found.code, "fixable": found.fix is not None},
        )

    def edits(self, changes: Iterable[tuple[Span, str]]) -> lsp.WorkspaceEdit:
        found: dict[str, list[lsp.TextEdit]] = {}
        for span, text in changes:
            found.setdefault(self.uri(span.source), []).append(lsp.TextEdit(self.range(span), text))
        return lsp.WorkspaceEdit(changes=found)

    def entry(self, entry: OutlineEntry) -> lsp.DocumentSymbol:
        return lsp.DocumentSymbol(
            name=entry.name,
            detail=entry.detail,
            kind=_SYMBOLS[entry.kind],
            range=self.range(entry.span),
            selection_range=self.range(entry.at),
            children=[self.entry(child) for child in entry.children],
        )

    def offer(self, offer: Offer, source: Source, start: int, end: int, snippets: bool) -> lsp.CompletionItem:
        """A completion that replaces what is typed of its word."""
        text = offer.insert or offer.label
        if not snippets and "$" in text:
            text = offer.label.removesuffix(" =") + (" = " if offer.label.endswith(" =") else "")
        more = None
        if offer.edit is not None:
            at, added = offer.edit
            more = [lsp.TextEdit(self.range(Span(source, at, at)), added.replace("\n", source.newline))]
        return lsp.CompletionItem(
            label=offer.label,
            kind=_OFFERS.get(offer.kind, lsp.CompletionItemKind.Text),
            detail=offer.detail or None,
            documentation=lsp.MarkupContent(lsp.MarkupKind.Markdown, offer.doc) if offer.doc else None,
            sort_text=f"{offer.rank}{offer.label}",
            filter_text=offer.label,
            insert_text_format=lsp.InsertTextFormat.Snippet if "$" in text else None,
            text_edit=lsp.TextEdit(self.range(Span(source, start, end)), text),
            additional_text_edits=more,
        )
