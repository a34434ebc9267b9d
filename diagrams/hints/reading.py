"""A file of hints, or a mapping in Python, checked: TOML with a table for each figure.

```toml
[multi_head]
inputs = ["Q", "K", "V"]
break = ["O"]
hide = ["place"]
tint = { scores = "violet" }

[[multi_head.note]]
at = ["Q", "K", "V"]
text = "Learned maps make *Q*, *K* and *V*."
```
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from difflib import get_close_matches
from typing import Any

from ...dsl.diagnostic import Diagnostic, error
from ...dsl.errors import AttnError
from ...dsl.nested import from_toml
from ...dsl.source import Source, Span
from .hints import SIDES, TINTS, Hints, Note, Said
from .places import Path, Places

_NAMES = ("inputs", "break", "hide", "open", "close")
_KEYS = (*_NAMES, "note", "tint")
_NOTE = ("at", "text", "tint", "side")


def read(source: Source, name: str, figures: Collection[str]) -> Hints | None:
    """The hints of a file for the figure `name`; None if it has none. `figures`: the names that its tables may have.

    All of its tables are checked. Raises AttnError with every mistake.
    """
    try:
        tables = from_toml(source.text)
    except ValueError as wrong:
        raise AttnError([_no_toml(source, str(wrong))]) from None
    reading = _Reading(Places(source))
    found = {}
    for key, table in tables.items():
        if key not in figures:
            reading.unknown(
                "E1004", (key,), f"there is no model or block `{key}` to draw", key, figures, "a table names one"
            )
        found[key] = reading.table((key,), table)
    if reading.wrong:
        raise AttnError(reading.wrong)
    return found.get(name)


def of_mapping(mapping: Mapping[str, Any]) -> Hints:
    """Hints for one figure, from Python: the keys of its table in a file. Raises AttnError with every mistake."""
    reading = _Reading(None)
    found = reading.table((), mapping)
    if reading.wrong:
        raise AttnError(reading.wrong)
    return found


def _no_toml(source: Source, message: str) -> Diagnostic:
    message, _, place = message.partition(" (at ")
    at = re.match(r"line (\d+), column (\d+)", place)
    start = len(source.text)
    if at:
        start = sum(len(line) for line in source.text.splitlines(keepends=True)[: int(at[1]) - 1]) + int(at[2]) - 1
    start = min(start, max(0, len(source.text) - 1))
    said = message[:1].lower() + message[1:]
    return error(
        "E1001", f"this cannot be read as TOML: {said}", Span(source, start, min(start + 1, len(source.text))), "here",
        help="texts stand in quotation marks, lists in brackets, and a table begins with `[name of the model]`",
    )  # fmt: skip


class _Reading:
    """Checks tables, and collects what is wrong."""

    def __init__(self, places: Places | None) -> None:
        self.places = places
        self.wrong: list[Diagnostic] = []

    def span(self, path: Path, text: str | None = None) -> Span | None:
        return self.places.of(path, text) if self.places is not None else None

    def unknown(self, code: str, path: Path, message: str, name: str, known: Collection[str], rest: str) -> None:
        near = get_close_matches(name, known, 1, 0.6)
        help = f"did you mean `{near[0]}`?" if near else f"{rest}: {', '.join(f'`{k}`' for k in known)}"
        fix = [(span, near[0])] if near and (span := self.span(path)) is not None and span.text == name else []
        self.wrong.append(error(code, message, self.span(path), help=help, fix=fix))

    def kind(self, path: Path, wanted: str, found: object) -> None:
        key = next((part for part in reversed(path) if isinstance(part, str)), "hints")
        self.wrong.append(
            error("E1003", f"`{key}` is {wanted}, not {_kind(found)}", self.span(path), help=f"write {wanted}")
        )

    def keys(self, path: Path, table: Mapping[str, Any], known: Collection[str]) -> None:
        for key in table:
            if key not in known:
                self.unknown("E1002", (*path, key), f"hints have no `{key}` here", str(key), known, "there are")

    def table(self, path: Path, table: object) -> Hints:
        if not isinstance(table, Mapping):
            self.kind(path, "a table of hints, such as `[model]` with `hide = [..]` beneath", table)
            return Hints()
        self.keys(path, table, _KEYS)
        lists = {key: self.names((*path, key), table[key]) for key in _NAMES if key in table}
        notes = table.get("note", [])
        if not isinstance(notes, list | tuple) or not all(isinstance(note, Mapping) for note in notes):
            self.kind((*path, "note"), "a list of tables, each beginning with `[[model.note]]`", notes)
            notes = []
        return Hints(
            inputs=lists.get("inputs", ()),
            breaks=lists.get("break", ()),
            hide=lists.get("hide", ()),
            notes=tuple(self.note((*path, "note", k), note) for k, note in enumerate(notes)),
            tints=self.tints((*path, "tint"), table.get("tint", {})),
            open=lists.get("open", ()),
            close=lists.get("close", ()),
        )

    def names(self, path: Path, value: object) -> tuple[Said, ...]:
        """One name, or a list of them, none twice."""
        if isinstance(value, str):
            value = [value]
        if not isinstance(value, list | tuple) or not all(isinstance(name, str) for name in value) or not value:
            self.kind(path, 'a list of names, such as `["Q", "K"]`', value)
            return ()
        twice = next((name for name in value if value.count(name) > 1), None)
        if twice is not None:
            span = self.span(path, twice)
            self.wrong.append(error("E1003", f"`{twice}` is named twice", span, help="name it once"))
        return tuple(Said(name, self.span(path, name)) for name in value)

    def note(self, path: Path, note: Mapping[str, Any]) -> Note:
        self.keys(path, note, _NOTE)
        for key in ("at", "text"):
            if key not in note:
                help = (
                    'write `text = ".."` and `at = ".."`, what it speaks of: a value, weights, a block or a wire `Q[h]`'
                )
                self.wrong.append(error("E1003", f"this note has no `{key}`", self.span(path), help=help))
        text = note.get("text", "-")
        if not isinstance(text, str) or not text.strip():
            self.kind((*path, "text"), "a text", text)
            text = "-"
        at = self.names((*path, "at"), note["at"]) if "at" in note else ()
        tint = self.one_of((*path, "tint"), note.get("tint", "yellow"), tuple(TINTS))
        side = self.one_of((*path, "side"), note["side"], SIDES) if "side" in note else ""
        return Note(" ".join(text.split()), at, tint, side)

    def tints(self, path: Path, table: object) -> tuple[tuple[Said, str], ...]:
        if not isinstance(table, Mapping):
            self.kind(path, 'a table of values and tints, such as `{ scores = "violet" }`', table)
            return ()
        return tuple(
            (Said(name, self.span((*path, name))), self.one_of((*path, name), tint, tuple(TINTS)))
            for name, tint in table.items()
        )

    def one_of(self, path: Path, value: object, known: tuple[str, ...]) -> str:
        if isinstance(value, str) and value in known:
            return value
        wanted = " or ".join([", ".join(f'"{each}"' for each in known[:-1]), f'"{known[-1]}"'])
        if isinstance(value, str):
            near = get_close_matches(value, known, 1, 0.6)
            span = self.span(path, value)
            help = f"did you mean `{near[0]}`?" if near else f"write {wanted}"
            fix = [(span, near[0])] if near and span is not None and span.text == value else []
            self.wrong.append(error("E1003", f"there is no {path[-1] if path[-1] in _NOTE else 'tint'} `{value}`", span,
                                    help=help, fix=fix))  # fmt: skip
        else:
            self.kind(path, wanted, value)
        return known[0]


def _kind(value: object) -> str:
    match value:
        case bool():
            return "a truth value"
        case int() | float():
            return "a number"
        case str():
            return f'the text "{value}"'
        case list() | tuple():
            return "this list" if value else "an empty list"
        case Mapping():
            return "a table"
        case _:
            return type(value).__name__
