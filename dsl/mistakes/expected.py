"""Syntax errors in words: what was found, what was expected, and what the writer may have meant.

The parser says which terminals it would have taken; `words.py` has words for them, and the table of slips
(`slips.txt`) what is said of slips that are known.
"""

from __future__ import annotations

import re

from lark.exceptions import UnexpectedCharacters, UnexpectedToken

from ..diagnostic import Diagnostic
from ..source import Source, Span
from ..tokens import ITEM_WORDS, RESERVED
from .stumble import Stumble
from .table import tell
from .words import begun_item, wanted

_DOUBLES = frozenset(("->", "|>", "==", "<="))  # of which the parser may take the first half alone, or nothing
_HEAD = re.compile(
    r"([A-Za-z_][A-Za-z0-9_]*)(?P<more>[ \t]+(?=[A-Za-z_])"
    rf"(?:({'|'.join(ITEM_WORDS)}|repeat)(?:\.\w+)?[ \t]+(?=[A-Za-z0-9_]))?)?"
)


def _meant(head: re.Match[str] | None) -> str:
    """The word that begins the item that a line was meant for: it is misspelt, or stands behind another; or ""."""
    if head is None:
        return ""
    return head[3] if head[3] and head[1] not in RESERVED else begun_item(head[1])


def begins_item(text: str, at: int) -> bool:
    """Whether a line begins a top-level item, or was meant to."""
    head = _HEAD.match(text, at)
    return bool(head and head["more"]) and _meant(head) in ITEM_WORDS


def stand_in(text: str, heads: bool, first: bool) -> str | None:
    """What may stand in the place of a faulty line, so that the rest of its item can be read; None: nothing."""
    head = _HEAD.match(text)
    if first:
        return {"block": "block _()", "model": "block _()", "config": "config _"}.get(_meant(head))
    if not heads:
        return ""
    if head and head[1] in ("else", "elif", "elseif"):
        return "else if 0" if head[1] == "else" and re.search(r"\bif\b", text) else "else"
    return "if 0"


def alone(text: str, heads: bool, first: bool) -> str:
    """An item that holds no more than one logical line."""
    if heads:
        text += " {}"
    if first:
        return text
    before = "if 0 {} " if re.match(r"else\b", text) else ""
    return f"block _() {{ {before}{text} }}"


def offset(unexpected: UnexpectedToken | UnexpectedCharacters, text: str) -> int:
    """Where in the item's text the parser gave up."""
    at = len(text)
    if isinstance(unexpected, UnexpectedCharacters) or unexpected.token.type != "$END":
        assert unexpected.pos_in_stream is not None
        at = unexpected.pos_in_stream
    # The parser takes `==` for `=` and `=` where it can do nothing with `==`.
    return at - 1 if text[at - 1 : at + 1] in _DOUBLES else at


def explain(
    unexpected: UnexpectedToken | UnexpectedCharacters, source: Source, item: str, start: int, line: int
) -> Diagnostic:
    """The diagnostic for an error of the parser: see `stumble`."""
    at = stumble(unexpected, source, item, start, line)
    found = f"`{at.text}`" if at.text else "the end of the line"
    if at.kind == "NAME":
        found = f"the name {found}"
    elif at.text in RESERVED:
        found = f"the word {found}"
    expected = f"expected {wanted(at.accepts)}"
    return tell(at, f"{expected}, found {found}", expected)


def stumble(
    unexpected: UnexpectedToken | UnexpectedCharacters, source: Source, item: str, start: int, line: int
) -> Stumble:
    """Where the parser gave up. item: the text it was reading, which begins at `start` of the source; line: where the
    logical line begins there."""
    at = end = offset(unexpected, item)
    kind = unexpected.token.type if isinstance(unexpected, UnexpectedToken) else ""
    token = getattr(unexpected, "token", "?")
    last = len(item[:at].rstrip())
    newline = kind != "_NL" and "\n" in source.text[start + last : start + at]
    if kind == "_NL":  # point right after the last token, not after the comment behind it
        at = end = last
    else:
        end = min(at + (2 if item[at : at + 2] in _DOUBLES else len(token)), len(item))
    parser = unexpected.interactive_parser
    return Stumble(
        Span(source, start + at, start + end),
        kind,
        item[:at],
        line - start,
        frozenset(parser.accepts()),  # type: ignore[no-untyped-call]
        parser.parser_state.value_stack,
        half=len(token) == 1 and end - at == 2,
        newline=newline,
    )
