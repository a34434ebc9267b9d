"""Diagnostics as text for a terminal, in the layout of rustc, and as JSON. Nothing else knows about carets.

```
error[E0307]: `weights` sum to one over `target`, but this `dot` averages over `source`
  --> decoder.attn:12:16
   |
11 |     weights = softmax[target](scores)
   |                       ------ normalised over `target` here
12 |     return dot[source](weights, V)
   |                ^^^^^^ averaged over `source` here
   |
help: normalise over the axis you average over
   |
11 |     weights = softmax[source](scores)
   |                       ~~~~~~
```
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from .diagnostic import Diagnostic, Edit, Fix, Severity
from .source import Source, Span

TAB = 4
WIDEST = 160
"""Longer lines are cut to a window around what is marked."""


# -- colour


_COLOURS = {Severity.ERROR: "1;31", Severity.WARNING: "1;33", Severity.ADVICE: "1;36"}


@dataclass(frozen=True, slots=True)
class _Paint:
    on: bool

    def _in(self, code: str, text: str) -> str:
        return f"\x1b[{code}m{text}\x1b[0m" if self.on else text

    def bold(self, text: str) -> str:
        return self._in("1", text)

    def severity(self, severity: Severity, text: str) -> str:
        return self._in(_COLOURS[severity], text)

    def frame(self, text: str) -> str:
        return self._in("1;34", text)

    def mend(self, text: str) -> str:
        return self._in("32", text)

    def help(self, text: str) -> str:
        return self._in("1;36", text)


# -- text


def render_all(diagnostics: Iterable[Diagnostic], *, colour: bool = False) -> str:
    """Every diagnostic, and a last line that counts them; the empty text for none."""
    every = list(diagnostics)
    if not every:
        return ""
    count = Counter(each.severity for each in every)
    counts = [_counted(count[severity], severity) for severity in Severity if count[severity]]
    worst = next(severity for severity in Severity if count[severity])
    last = _Paint(colour).severity(worst, ", ".join(counts))
    return "\n\n".join([*(render(each, colour=colour) for each in every), last])


def _counted(count: int, severity: Severity) -> str:
    plural = count > 1 and severity is not Severity.ADVICE
    return f"{count} {severity.value}" + ("s" if plural else "")


def render(diagnostic: Diagnostic, *, colour: bool = False) -> str:
    """One diagnostic as lines of text, without a newline at the end."""
    paint = _Paint(colour)
    severity = diagnostic.severity
    mends = _mends(diagnostic.fix)
    marks = _marks(diagnostic)
    numbers = [mark.line for mark in marks] + [mend.line + len(mend.rows) - 1 for mend in mends]
    margin = len(str(max(numbers, default=1)))
    gutter = " " * margin
    bar = paint.frame(f"{gutter} |")
    lines = [
        paint.severity(severity, f"{severity.value}[{diagnostic.code}]") + paint.bold(f": {_clean(diagnostic.message)}")
    ]
    sources = list(dict.fromkeys(mark.source for mark in marks))
    for source in sources:
        here = [mark for mark in marks if mark.source is source]
        arrow = "-->" if source is sources[0] else ":::"
        # The head names the place of the primary label, in another file the first one.
        at = here[0]
        lines += [f"{gutter}{paint.frame(arrow)} {_clean(source.name)}:{at.line}:{at.start + 1}", bar]
        lines += _snippet(source, here, margin, severity, paint)
        if source is not sources[-1]:
            lines.append(bar)
    tail = [f"{gutter} {paint.frame('=')} {paint.bold('note')}: {_clean(note)}" for note in diagnostic.notes]
    if diagnostic.help and not mends:
        tail.append(f"{gutter} {paint.frame('=')} {paint.help('help')}: {_clean(diagnostic.help)}")
    if marks and (tail or mends):
        lines.append(bar)
    lines += tail
    if mends:
        lines.append(f"{paint.help('help')}: {_clean(diagnostic.help or 'write')}")
        shown = sources[0] if sources else None
        for mend in mends:
            if mend.source is not shown:
                lines.append(f"{gutter}{paint.frame('-->')} {_clean(mend.source.name)}")
                shown = mend.source
            lines.append(bar)
            lines += _mended(mend, margin, paint)
    return "\n".join(lines)


# -- labels


@dataclass(frozen=True, slots=True)
class _Mark:
    """A label cut to one line: columns `start` up to `end`, 0-based, at least one wide."""

    source: Source
    line: int
    start: int
    end: int
    text: str
    primary: bool


def _marks(diagnostic: Diagnostic) -> list[_Mark]:
    """The labels, the primary one first."""
    marks = []
    if diagnostic.span is not None:
        marks.append(_mark(diagnostic.span, diagnostic.label, True))
    marks += (_mark(label.span, label.text, False) for label in diagnostic.related)
    return marks


def _mark(span: Span, text: str, primary: bool) -> _Mark:
    line, column = span.source.position(span.start)
    start = column - 1
    end = start + span.end - span.start
    width = len(span.source.line(line))
    if end > width:  # a span of many lines is marked to the end of its first
        end = max(width, start + 1)
    return _Mark(span.source, line, start, max(end, start + 1), _clean(text), primary)


def _snippet(source: Source, marks: Sequence[_Mark], margin: int, severity: Severity, paint: _Paint) -> list[str]:
    out: list[str] = []
    before: int | None = None
    for number in sorted({mark.line for mark in marks}):
        if before is not None and number == before + 2:
            out.append(_numbered(before + 1, _shown(source.line(before + 1), 0)[0], margin, paint))
        elif before is not None and number > before + 2:
            out.append(paint.frame("..."))
        before = number
        here = [mark for mark in marks if mark.line == number]
        text, columns = _shown(source.line(number), min(mark.start for mark in here))
        out.append(_numbered(number, text, margin, paint))
        placed = [(_column(columns, mark.start), _column(columns, mark.end), mark) for mark in here]
        out += (
            paint.frame(" " * margin + " |") + (" " + row if row else "") for row in _under(placed, severity, paint)
        )
    return out


def _under(placed: list[tuple[int, int, _Mark]], severity: Severity, paint: _Paint) -> list[str]:
    """The rows below a line: its marks with the last label beside them, then the other labels, from right to left."""

    def tint(mark: _Mark, text: str) -> str:
        return paint.severity(severity, text) if mark.primary else paint.frame(text)

    placed = sorted(placed, key=lambda each: (each[0], each[1], each[2].primary))
    cells: dict[int, _Mark] = {}
    for primary in (False, True):  # the primary mark lies on top
        for start, end, mark in placed:
            if mark.primary is primary:
                cells |= dict.fromkeys(range(start, max(end, start + 1)), mark)
    width = max(cells) + 1
    runs = groupby(range(width), cells.get)
    row = "".join(
        " " * len(columns) if mark is None else tint(mark, ("^" if mark.primary else "-") * len(columns))
        for mark, columns in ((mark, list(run)) for mark, run in runs)
    )
    labelled = [each for each in placed if each[2].text]
    hanging = labelled
    if labelled and max(labelled[-1][1], labelled[-1][0] + 1) == width:
        row += " " + tint(labelled[-1][2], labelled[-1][2].text)
        hanging = labelled[:-1]
    rows = [row]
    for count in range(len(hanging), 0, -1):
        start, _, mark = hanging[count - 1]
        bars = {each[0]: tint(each[2], "|") for each in hanging[:count]}
        left = "".join(bars.get(column, " ") for column in range(start))
        if count == len(hanging) or hanging[count][0] != start:
            rows.append(left + bars[start])
        rows.append(left + tint(mark, mark.text))
    return rows


def _numbered(number: int, text: str, margin: int, paint: _Paint) -> str:
    return paint.frame(f"{number:>{margin}} |") + (" " + text if text else "")


# -- fixes


@dataclass(frozen=True, slots=True)
class _Mend:
    """Lines as they will be: each with the stretches that are new (`~` for `+`), or were there (`-`)."""

    source: Source
    line: int
    rows: tuple[tuple[str, tuple[tuple[int, int, str], ...]], ...]


def _mends(fix: Fix | None) -> list[_Mend]:
    """The fixed lines, edits on one line taken together."""
    groups: list[list[Edit]] = []
    for edit in sorted(fix.edits, key=_edit_key) if fix is not None else ():
        if groups and _joins(groups[-1][-1], edit):
            groups[-1].append(edit)
        else:
            groups.append([edit])
    return [_mend(group) for group in groups]


def _edit_key(edit: Edit) -> tuple[str, int, int]:
    return edit.span.source.name, edit.span.start, edit.span.end


def _joins(one: Edit, other: Edit) -> bool:
    source = one.span.source
    return source is other.span.source and source.position(one.span.end)[0] == source.position(other.span.start)[0]


def _mend(edits: list[Edit]) -> _Mend:
    source = edits[0].span.source
    first, column = source.position(edits[0].span.start)
    last = source.position(edits[-1].span.end)[0]
    base = edits[0].span.start - column + 1
    old = (
        "\n".join(source.line(number) for number in range(first, last + 1)) if last - first < 50 else source.line(first)
    )
    if not any(edit.text for edit in edits):  # only deletions: show what goes
        gone = tuple((edit.span.start - base, edit.span.end - base, "-") for edit in edits)
        return _Mend(source, first, _rows(old, gone))
    new, fresh, done = "", [], 0
    for edit in edits:
        start, end = edit.span.start - base, edit.span.end - base
        new += old[done:start]
        if edit.text:
            sign = "+" if start == end else "~"
            fresh.append((len(new), len(new) + len(edit.text), sign))
        new += edit.text
        done = end
    return _Mend(source, first, _rows(new + old[done:], tuple(fresh)))


def _rows(
    text: str, stretches: tuple[tuple[int, int, str], ...]
) -> tuple[tuple[str, tuple[tuple[int, int, str], ...]], ...]:
    rows, at = [], 0
    for line in text.split("\n"):
        inside = tuple(
            (max(start - at, 0), min(end - at, len(line)), sign)
            for start, end, sign in stretches
            if start - at < len(line) and end > at
        )
        rows.append((line, inside))
        at += len(line) + 1
    return tuple(rows)


def _mended(mend: _Mend, margin: int, paint: _Paint) -> list[str]:
    out = []
    for number, (line, stretches) in enumerate(mend.rows, mend.line):
        text, columns = _shown(line, min((start for start, _, _ in stretches), default=0))
        out.append(_numbered(number, text, margin, paint))
        row = ""
        for start, end, sign in stretches:
            first, last = _column(columns, start), _column(columns, end)
            row += " " * (first - len(row)) + sign * (last - first)
        if row:
            bare = (paint.mend(part) if part.strip() else part for part in re.split(r"( +)", row))
            out.append(paint.frame(" " * margin + " |") + " " + "".join(bare))
    return out


# -- columns


def _shown(line: str, near: int) -> tuple[str, list[int]]:
    """A line as a terminal shows it, cut around the character `near`; and the column at which each character begins."""
    low, high = 0, len(line)
    if high > WIDEST:
        low = max(0, min(near - WIDEST // 4, high - WIDEST)) if near > WIDEST * 3 // 4 else 0
        high = min(high, low + WIDEST)
    lead = "..." if low else ""
    column = len(lead)
    parts, columns = [lead], [0] * low
    for character in line[low:high]:
        columns.append(column)
        shown, width = _cell(character)
        parts.append(shown)
        column += width
    columns += [column] * (len(line) - high + 1)
    if high < len(line):
        parts.append("...")
    return "".join(parts).rstrip(), columns


def _column(columns: list[int], character: int) -> int:
    return columns[character] if character < len(columns) else columns[-1] + character - len(columns) + 1


def _cell(character: str) -> tuple[str, int]:
    """What to print for a character, and how many columns that takes."""
    if " " <= character <= "~":
        return character, 1
    if character == "\t":
        return " " * TAB, TAB
    category = unicodedata.category(character)
    if category in ("Mn", "Me"):
        return character, 0
    if category[0] == "C" or category in ("Zl", "Zp"):  # a control, or a sign that turns the direction of the text
        return "\ufffd", 1
    return character, 2 if unicodedata.east_asian_width(character) in ("W", "F") else 1


def _clean(text: str) -> str:
    """Text of one line, without anything that steers a terminal."""
    return text if text.isascii() and text.isprintable() else "".join(_cell(character)[0] for character in text)


# -- JSON


def to_json(diagnostics: Iterable[Diagnostic]) -> list[dict[str, Any]]:
    """Plain data for tools. Lines and columns count from 1, offsets from 0, all in characters; ends are exclusive."""
    return [
        {
            "code": each.code,
            "severity": each.severity.value,
            "message": each.message,
            **_where(each.span),
            "label": each.label,
            "related": [{**_where(label.span), "label": label.text} for label in each.related],
            "notes": list(each.notes),
            "help": each.help,
            "fix": None if each.fix is None else [{**_where(e.span), "text": e.text} for e in each.fix.edits],
        }
        for each in diagnostics
    ]


def _where(span: Span | None) -> dict[str, Any]:
    if span is None:
        keys = ("file", "line", "column", "end_line", "end_column", "start", "end")
        return dict.fromkeys(keys)
    line, column = span.source.position(span.start)
    end_line, end_column = span.source.position(span.end)
    return {
        "file": span.source.name,
        "line": line,
        "column": column,
        "end_line": end_line,
        "end_column": end_column,
        "start": span.start,
        "end": span.end,
    }
