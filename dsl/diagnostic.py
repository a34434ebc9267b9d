"""A diagnostic is data: what is wrong, where, why, and what to write instead. `render` draws it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from enum import Enum

from .base.records import record
from .source import Span


class Severity(Enum):
    """An error refuses a file. What a warning is of is wrong but for rare cases, what advice is of is worth a look."""

    ERROR = "error"
    WARNING = "warning"
    ADVICE = "advice"


SEVERITIES = {"E": Severity.ERROR, "W": Severity.WARNING, "A": Severity.ADVICE}
"""By the letter that a code begins with."""


@record
class Label:
    """A span with a few words under its carets."""

    span: Span
    text: str


@record
class Edit:
    """Replace the span by the text (an empty span inserts)."""

    span: Span
    text: str


@record
class Fix:
    """Edits that a machine may apply: they are known to mend the mistake, or its likeliest cause."""

    edits: tuple[Edit, ...]


@record
class Diagnostic:
    """One mistake. `span` is the primary place, `label` the words under it; `related` says where things came from."""

    code: str
    severity: Severity
    message: str
    span: Span | None
    label: str = ""
    related: tuple[Label, ...] = ()
    notes: tuple[str, ...] = ()
    help: str = ""
    fix: Fix | None = None


def error(
    code: str,
    message: str,
    span: Span | None,
    label: str = "",
    *,
    related: Iterable[tuple[Span | None, str]] = (),
    notes: Iterable[str] = (),
    help: str = "",
    fix: Sequence[tuple[Span, str]] = (),
    severity: Severity = Severity.ERROR,
) -> Diagnostic:
    """Shorthand: labels and edits as pairs; a related place without a span is left out."""
    return Diagnostic(
        code,
        severity,
        message,
        span,
        label,
        tuple(Label(at, text) for at, text in related if at is not None),
        tuple(notes),
        help,
        Fix(tuple(Edit(at, text.replace("\n", at.source.newline)) for at, text in fix)) if fix else None,
    )
