"""The canonical form of a spec's text: `format_source`.

Two texts with the same tokens, comments and empty lines have one form. Lines have at most 120 characters where that
can be. What does not fit on a line is broken at its loosest place: a list of parameters stands in open brackets, on
one indented line if that fits, else with one a line and a comma after the last; operators begin lines. At most one
empty line is kept; a block or model has one around it. Comments stay where they are, those at the ends of neighbouring
lines in a column.
"""

from __future__ import annotations

import threading
from functools import cache

from lark import Lark

from ..errors import AttnError
from ..layout import Layout, lay_out
from ..parse import parse
from ..source import Source
from ..syntax import same
from ..tables import load_parser
from .comments import Remark, Remarks, attach
from .document import BLANK, LINE, Doc, Layouter, Lead, Trail, align
from .printer import Printer, Statement

WIDTH = 120

_lock = threading.Lock()  # one parser, and one printer that its callbacks are bound to


@cache
def _parser() -> tuple[Lark, Printer]:
    printer = Printer()
    return load_parser(printer, keep_all_tokens=True), printer


def format_source(source: Source, width: int = WIDTH) -> str:
    """The canonical text of a source; line ends are those of its first line.

    Raises AttnError, with every mistake of its syntax, if it does not parse: such a text has no form.
    """
    file, problems = parse(source)
    if problems:
        raise AttnError(problems)
    items = lay_out(source)
    remarks = attach(source, items)
    document = _file(_statements(items, remarks), remarks)
    lines = align(Layouter(width).run(document), width)
    text = "\n".join(lines).strip("\n") + "\n" if file.items or file.comments else ""
    again, problems = parse(Source(source.name, text))
    if problems or not same(file.items, again.items) or len(file.comments) != len(again.comments):
        raise AssertionError(f"{source.name}: formatting would change what the spec says")
    return text.replace("\n", source.newline)


def _statements(items: Layout, remarks: Remarks) -> list[Statement]:
    """The items of a file as documents."""
    with _lock:
        parser, printer = _parser()
        printer.remarks = remarks
        found: list[Statement] = []
        for piece in items.pieces:
            printer.text, printer.base = items.text[piece.start : piece.end], piece.start
            found.append(parser.parse(printer.text))  # type: ignore[arg-type]
        return found


def _file(statements: list[Statement], remarks: Remarks) -> Doc:
    """Items and the comments around them, a row each; a block has an empty row around it and the comment above it."""
    rows: list[tuple[bool, Doc]] = []  # whether an empty row comes before
    body = False
    for statement in statements:
        above = remarks.before.get(statement.start, [])
        first = len(rows)
        rows += ((remark.blank, Lead(remark.text)) for remark in above)
        rows.append((statement.start in remarks.blank, statement.doc))
        if statement.body:
            top = len(rows) - 1
            while top > first and not rows[top][0]:
                top -= 1
            rows[top] = (True, rows[top][1])
        if body:
            rows[first] = (True, rows[first][1])
        body = statement.body
    rows += ((remark.blank or (body and not at), _remark(remark)) for at, remark in enumerate(remarks.end))
    docs: list[Doc] = []
    for blank, row in rows:
        docs += (BLANK if blank else LINE, row)
    return tuple(docs[1:])


def _remark(remark: Remark) -> Doc:
    return Lead(remark.text) if remark.own else Trail(remark.text)
