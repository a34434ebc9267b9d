"""The user's text with one thing changed, for help texts that show what to write.

A word that a help drops is dropped by whoever follows it: a repeat is no longer `shared`, a call loses its label.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise

from ...dsl import syntax as s
from ...dsl.diagnostic import Edit
from ...dsl.source import Source, Span
from ..sizes.axes import Axis

_DECLARED = re.compile(
    r"""\w+
    (?P<label>[ \t]+as[ \t]+\w+)?
    (?:[ \t]+like[ \t]+(?P<original>\w+))?
    (?:[ \t]*(?:<=|=)[ \t]*(?P<size>[^,=\#\n]*?))?
    (?P<ragged>[ \t]+ragged)?
    [ \t]*(?=[,\#\r\n]|\Z)
    """,
    re.VERBOSE,
)


def call(
    of: s.CallExpr, *, brackets: Sequence[str] | None = None, arguments: Sequence[str] | None = None, label: bool = True
) -> str:
    """A call with these in its brackets or parentheses, or without its label. What was piped is the first."""
    scan = f"scan[{of.scan.text}] " if of.scan is not None else ""
    name = of.callee.text + (f".{of.label.text}" if label and of.label is not None else "")
    if brackets is not None:
        inside = f"[{', '.join(brackets)}]" if brackets else ""
    else:
        inside = of.brackets.span.text if of.brackets is not None else ""
    given = [each.span.text for each in of.arguments] if arguments is None else arguments
    piped = of.arguments and given and of.arguments[0].span.start < of.callee.span.start
    first, rest = (f"{given[0]} |> ", given[1:]) if piped else ("", given)
    return f"{first}{scan}{name}{inside}({', '.join(rest)})"


def edited(span: Span, edits: Sequence[tuple[Span, str]]) -> str:
    """The text of a span with edits made. It grows to cover them, as what is piped into a call stands before it."""
    from ...dsl.mistakes.fixes import apply  # which a right file has no use for

    for at, _ in edits:
        span = Span(span.source, min(span.start, at.start), max(span.end, at.end))
    moved = [Edit(Span(at.source, at.start - span.start, at.end - span.start), text) for at, text in edits]
    return apply(span.text, moved)


def _quoted(text: str) -> str:
    return f"`{text}`"


def sized(axis: Axis, sign: str, size: int, quoted: Callable[[str], str] = _quoted) -> str:
    """The declaration that gives a width this size (`=`) or bound (`<=`). Where it has a bound already, the size is
    that. quoted: writes a piece of code.
    """
    return _sized(axis.span, axis.name, sign, axis.bound or size, quoted)


def _sized(at: Span | None, name: str, sign: str, size: int, quoted: Callable[[str], str]) -> str:
    """A copy gets its size by way of its original."""
    found = _DECLARED.match(at.source.text, at.start) if at is not None else None
    if found is None:
        return quoted(f"width {name} {sign} {size}")
    original = found["original"]
    if original is not None:
        there = re.search(rf"^[ \t]*width\b[^#\n]*?\b{original}\b", found.string, re.MULTILINE)
        place = Span(Source("", found.string), there.end() - len(original), there.end()) if there is not None else None
        return _sized(place, original, sign, size, quoted)
    ragged = found["ragged"] or ""
    kept = ragged if sign == "<=" else ""
    lost = ", no longer ragged" if ragged and not kept else ""  # one size for all examples
    return quoted(f"width {name}{found['label'] or ''} {sign} {size}{kept}") + lost


def without(call: s.CallExpr, dropped: Iterable[s.Argument]) -> list[tuple[Span, str]]:
    """The edits that delete arguments, each with a comma beside it."""
    written = [each.span for each in call.arguments if each.span.start > call.callee.span.start]  # not what was piped
    gone = [each.span for each in dropped]
    first = next((index for index, span in enumerate(written) if span not in gone), None)  # the first that stays
    source = call.span.source
    edits: list[tuple[Span, str]] = []
    if not gone:
        return []
    if first is None:
        return [(written[0].to(written[-1]), "")]
    if first:
        edits.append((Span(source, written[0].start, written[first].start), ""))
    for before, span in pairwise(written[first:]):
        if span in gone:
            edits.append((Span(source, before.end, span.end), ""))
    return edits
