"""Syntax errors in words: what was found, what was expected, and what the writer may have meant.

The parser says which terminals it would have taken; `stumble.py` has words for them, and the table of slips
(`slips.txt`) what is said of slips that are known.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from lark.exceptions import UnexpectedCharacters, UnexpectedToken

from ..diagnostic import Diagnostic, error
from ..layout import ITEM_ALIASES, ITEM_WORDS, Piece
from ..slips import FINITE
from ..source import Source, Span
from .computed import COMPUTED, what_was_meant
from .stumble import AFTER_A_WORD, ORDER, RESERVED, SIZE, Finding, Stumble, listed, wanted
from .table import SlipRow, fitting

_DOUBLES = frozenset(("->", "|>", "==", "<="))  # of which the parser may take the first half alone, or nothing
_BEGINNING = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)[ \t]+[A-Za-z_]")
_FIRST_WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_LAST = re.compile(r"(?:[A-Za-z_][A-Za-z0-9_]*|(?<![A-Za-z0-9_])[0-9][0-9A-Za-z_.]*|->|\|>|[<>=!]=|\S)\Z")


def begins_item(text: str, at: int) -> bool:
    """Whether a line begins a top-level item, or was meant to."""
    found = _BEGINNING.match(text, at)
    if found is None:
        return False
    before = AFTER_A_WORD.match(text, found.end(1)) if found[1] not in RESERVED else None
    meant = what_was_meant(found[1], ITEM_WORDS, ITEM_ALIASES)
    return bool(meant) or (before is not None and before[1] in ITEM_WORDS)


def stand_in(text: str, heads: bool, first: bool) -> str | None:
    """What may stand in the place of a faulty line, so that the rest of its item can be read; None: nothing."""
    found = _FIRST_WORD.match(text)
    word = found.group() if found else ""
    if not first:
        if not heads:
            return ""
        if word in ("else", "elif", "elseif"):
            return "else if 0" if word == "else" and re.search(r"\bif\b", text) else "else"
        return "if 0"
    after = AFTER_A_WORD.match(text, len(word))
    meant = after[1] if after is not None else what_was_meant(word, ITEM_WORDS, ITEM_ALIASES)
    if meant in ("block", "model"):
        return "block _()"
    return "config _" if meant == "config" else None


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


def accepted(unexpected: UnexpectedToken | UnexpectedCharacters) -> frozenset[str]:
    """The terminals that the parser would have taken."""
    return frozenset(unexpected.interactive_parser.accepts())  # type: ignore[no-untyped-call]


def explain(
    unexpected: UnexpectedToken | UnexpectedCharacters, source: Source, text: str, piece: Piece, item: str
) -> Diagnostic:
    """The diagnostic for an error of the parser in an item of the source; `item` is the text it was reading."""
    at = stumble(unexpected, source, text, piece, item)
    what = f"`{at.text}`" if at.text else "the end of the line"
    if at.kind == "NAME":
        what = f"the name `{at.text}`"
    elif at.text in RESERVED:
        what = f"the word `{at.text}`"
    expected = listed(wanted(at))
    found = next(_findings(at), Finding())
    return error(
        found.code,
        found.message or f"expected {expected}, found {what}",
        found.span or at.span,
        found.label or ("" if found.message else f"expected {expected}"),
        help=found.help,
        fix=found.fix,
    )


def stumble(
    unexpected: UnexpectedToken | UnexpectedCharacters, source: Source, text: str, piece: Piece, item: str
) -> Stumble:
    """Where the parser gave up, with all that rows of the table ask for."""
    at = piece.start + offset(unexpected, item)
    kind = unexpected.token.type if isinstance(unexpected, UnexpectedToken) else ""
    before, token = item[: at - piece.start], getattr(unexpected, "token", "?")
    if kind == "_NL":  # point right after the last token, not after the comment behind it
        before = before.rstrip()
        span = Span(source, piece.start + len(before), piece.start + len(before))
    else:
        length = 2 if text[at : at + 2] in _DOUBLES else len(token)
        span = Span(source, at, min(at + length, piece.end))
    last = _LAST.search(before.rstrip())
    return Stumble(
        "" if kind == "_NL" else span.text,
        kind,
        kind != "_NL" and len(span.text) == 2 and len(token) == 1,
        accepted(unexpected),
        span,
        before,
        last.group() if last else "",
        before[piece.line_at(at).start - piece.start :],
        list(unexpected.interactive_parser.parser_state.value_stack),
        "\n" in source.text[piece.start + len(before.rstrip()) : at],
    )


def _findings(at: Stumble) -> Iterator[Finding]:
    """What the rows of the table say that fit."""
    for row, match in fitting(at):
        found = COMPUTED[row.help](at) if row.help in COMPUTED else _said(row, match, at)
        if found is not None:
            yield found


def _said(row: SlipRow, match: re.Match[str], at: Stumble) -> Finding:
    """What a row says, with the words that stand in the text."""
    groups = match.groupdict()
    head = at.line.strip() if len(at.line) < 60 else "..."
    fields = {"found": at.text, "previous": at.previous, "y": "z" if groups.get("at") == "y" else "y", "head": head}
    fields |= {"SIZE": SIZE, "ORDER": ORDER, "FINITE": FINITE, **groups}

    def filled(text: str) -> str:
        return re.sub(r"\{(\w+)\}", lambda name: fields[name[1]], text)

    def span(group: str | None) -> Span | None:
        if group == "":
            return at.span
        if group is None or groups.get(group) is None:
            return None
        return Span(at.source, *(at.place(each) for each in match.span(group)))

    changed = span(row.target)
    fix = ((changed, filled(row.fix)),) if changed is not None else ()
    return Finding(filled(row.help), row.code or "E0101", filled(row.message), row.label, span("at"), fix)
