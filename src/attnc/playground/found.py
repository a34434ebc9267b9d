"""Mistakes and their fixes as data for the page, which counts places in UTF-16 units from the beginning of the text."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from ..dsl.diagnostic import Diagnostic, Severity
from ..dsl.mistakes.fixes import repair
from ..dsl.source import Source, Span
from ..editor.features.fixes import title
from ..spec import built

Place = Callable[[int], int]
PATIENCE = 1.0  # seconds that mending all may take


def found_in(source: Source, diagnostics: Iterable[Diagnostic]) -> list[dict[str, Any]]:
    """Each mistake and warning: where it is, what it says, what would mend it. What is not of this text stands at its
    beginning.
    """
    place = _places(source.text)
    return [_data(source, each, place) for each in diagnostics]


def _data(source: Source, found: Diagnostic, place: Place) -> dict[str, Any]:
    labels = [(found.span, found.label), *((label.span, label.text) for label in found.related)]
    edits = found.fix.edits if found.fix is not None else ()
    own = bool(edits) and all(edit.span.source is source for edit in edits)
    return {
        **_range(source, found.span, place),
        "severity": found.severity.value, "code": found.code, "message": found.message,
        "notes": found.notes, "help": found.help,
        "line": source.position(found.span.start)[0] if found.span and found.span.source is source else 1,
        "labels": [_range(source, at, place) | {"text": text} for at, text in labels if at and at.source is source],
        "fix": title(found) if own else "",
        "edits": [_range(source, edit.span, place) | {"insert": edit.text} for edit in edits] if own else [],
    }  # fmt: skip


def mended(source: Source) -> str:
    """The text after all that can be mended in a moment."""

    def check(changed: Source) -> tuple[Diagnostic, ...]:
        return built(changed, None, None, None, ()).diagnostics

    return repair(source, check, PATIENCE).source.text


def wrong(diagnostics: Iterable[Diagnostic]) -> bool:
    return any(found.severity is Severity.ERROR for found in diagnostics)


def _range(source: Source, span: Span | None, place: Place) -> dict[str, int]:
    if span is None or span.source is not source:
        return {"from": 0, "to": 0}
    return {"from": place(span.start), "to": place(span.end)}


def _places(text: str) -> Place:
    if text.isascii():
        return lambda offset: offset
    return lambda offset: len(text[:offset].encode("utf-16-le", "surrogatepass")) // 2
