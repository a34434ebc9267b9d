"""Where each comment belongs: to the token before it on its line, to the one below it, or inside a closing bracket."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from ..layout import Layout
from ..source import Source
from ..tokens import TOKEN

_AGAINST = re.compile(r"#\w")


@dataclass(frozen=True, slots=True)
class Remark:
    """A comment as it is to be written. `own`: it has a line of its own; `blank`: an empty line stood above it."""

    text: str
    own: bool
    blank: bool


@dataclass(slots=True)
class Remarks:
    """The comments of a file, by the offset of the token that they go with."""

    after: dict[int, Remark] = field(default_factory=dict)  # at the end of a token's line
    before: dict[int, list[Remark]] = field(default_factory=dict)  # above a token
    inside: dict[int, list[Remark]] = field(default_factory=dict)  # before a closing bracket
    end: list[Remark] = field(default_factory=list)  # after the last token
    starts: set[int] = field(default_factory=set)  # tokens that begin a statement
    blank: set[int] = field(default_factory=set)  # those with an empty line above


def attach(source: Source, layout: Layout) -> Remarks:
    """Give each comment its token. Those before a comma or a `{` go behind it, where it is certain to be written."""
    found = Remarks()
    waiting: list[Remark] = []
    previous: int | None = None
    opened = ended = True  # the last token was `{`; since then a newline ended a statement
    newlines = 2
    for match in TOKEN.finditer(source.text):
        kind, text, at = match.lastgroup, match.group(), match.start()
        if kind == "space":
            continue
        if kind == "newline":
            newlines += 1
            ended = ended or layout.text[match.end() - 1] == "\n"
            continue
        if kind == "comment":
            waiting.append(Remark(_written(text), newlines > 0, newlines > 1))
            newlines = 0
            continue
        if text not in (",", "{") and waiting:
            _settle(found, waiting, previous, found.inside if kind == "close" else found.before, at)
            waiting = []
        if opened or ended:
            found.starts.add(at)
            if newlines > 1:
                found.blank.add(at)
        previous, opened, ended, newlines = at, text == "{", False, 0
    if waiting:
        last: dict[int, list[Remark]] = {}
        _settle(found, waiting, previous, last, 0)
        found.end = last.get(0, [])
    return found


def _settle(
    found: Remarks, waiting: list[Remark], previous: int | None, place: dict[int, list[Remark]], at: int
) -> None:
    if previous is not None and not waiting[0].own and place is not found.inside:
        found.after[previous] = waiting.pop(0)
    if waiting:
        place[at] = waiting


def _written(comment: str) -> str:
    """A space after the `#`, none at the end of the line."""
    comment = comment.rstrip()
    return f"# {comment[1:]}" if _AGAINST.match(comment) else comment
