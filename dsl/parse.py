"""Text to syntax tree. All mistakes of a file are found in one run, and none of them raises.

layout.py cuts the file into items and logical lines; each item is parsed on its own. Where one fails, its faulty line
is blanked (a faulty head is put right) and the item is parsed again for what else is wrong; it is then left out of the
tree. The number of errors is limited, so the work is too.

Reserved words: `and const depth else expect false if not or param repeat return scan share true where width`. The other
words of the language (`as block causal config frozen in like model op shared use`) are names wherever the grammar does
not ask for them: an axis may be called `model`.
"""

from __future__ import annotations

import threading
from bisect import bisect_right
from functools import cache, partial
from typing import TYPE_CHECKING, Any

from .base.automaton import Automaton, OutOfGrammar
from .base.records import replace
from .comments.docs import above
from .diagnostic import Diagnostic, Edit, Fix, Label
from .layout import Layout, Line, Piece, lay_out
from .source import Source, Span
from .syntax import AxisDecl, ConstDecl, File, Item
from .tree import RefusedText, TreeBuilder

if TYPE_CHECKING:
    from lark import Lark
    from lark.exceptions import UnexpectedCharacters, UnexpectedToken

MAX_ERRORS = 20

_lock = threading.Lock()  # one parser, and one builder that its callbacks are bound to


@cache
def _automaton() -> tuple[Automaton, TreeBuilder]:
    builder = TreeBuilder()
    return Automaton(builder), builder


@cache
def _parser() -> tuple[Lark, TreeBuilder]:
    from .tables import load_parser  # and lark: a right file needs none of it, nor of `mistakes`

    builder = TreeBuilder()
    return load_parser(builder), builder


class _Wrong(Exception):
    """What does not fit the grammar."""

    def __init__(self, unexpected: UnexpectedToken | UnexpectedCharacters) -> None:
        self.unexpected = unexpected
        super().__init__()


def parse(source: Source, *, lenient: bool = False) -> tuple[File, list[Diagnostic]]:
    """The syntax tree of a file, and what is wrong with its syntax, in the order of the text.

    An item with a mistake is left out of the tree; `lenient`: it is there without its faulty lines, as far as the rest
    of it makes sense (an editor's view of a text in the making). After 20 mistakes the rest is not looked at.
    """
    layout = lay_out(source, MAX_ERRORS)
    docs = above(source, layout.comments, [piece.start for piece in layout.pieces])
    items: list[Item] = []
    problems: list[Diagnostic] = []
    skipped: list[Piece] = []
    astray = False  # the lines after a broken item that begin none are its rest
    with _lock:
        for piece, doc in zip(layout.pieces, docs, strict=True):
            if piece.broken:
                astray = True
                continue
            if astray and not _begins_item(layout.text, piece.start):
                skipped.append(piece)
                continue
            if len(problems) > MAX_ERRORS:
                break
            node, found, whole = _item(source, layout, piece, doc, MAX_ERRORS + 1 - len(problems))
            problems += found
            astray = not whole
            if not whole and not lenient:
                continue
            if isinstance(node, tuple):  # one line may declare many axes
                items += node
            elif node is not None:
                items.append(node)
        problems += _placed(source, layout, [each for each in layout.problems if not _lies_in(each, skipped)])
    problems.sort(key=_start)
    if problems and (len(problems) > MAX_ERRORS or not layout.complete):
        del problems[MAX_ERRORS:]
        problems[-1] = replace(problems[-1], notes=("there may be more: the rest of the file was not looked at",))
    return File(tuple(items), layout.comments, Span(source, 0, len(source.text))), problems


def _begins_item(text: str, at: int) -> bool:
    from .mistakes.expected import begins_item

    return begins_item(text, at)


def _start(problem: Diagnostic) -> tuple[int, int]:
    return (problem.span.start, problem.span.end) if problem.span is not None else (0, 0)


def _lies_in(problem: Diagnostic, pieces: list[Piece]) -> bool:
    at = _start(problem)[0]
    nearest = bisect_right(pieces, at, key=lambda piece: piece.start) - 1
    return nearest >= 0 and at < pieces[nearest].end


def _placed(source: Source, layout: Layout, problems: list[Diagnostic]) -> list[Diagnostic]:
    """The problems of the layout, with a better place for brackets that are missing: one that lets their line be read.

    Of a line with several mistakes no place would do: they are left as they are, and mended one by one.
    """
    if not problems:
        return []
    from .mistakes.closing import Closing

    lines = [_line_at(layout, _start(problem)[0]) for problem in problems]
    starts = {piece.start for piece in layout.pieces}
    closing = Closing()
    placed = []
    for problem, line in zip(problems, lines, strict=True):
        span, fix = problem.span, problem.fix
        missing = problem.code == "E0102" and span is not None and span.text in ("(", "[") and fix is not None
        if not missing or line is None or lines.count(line) > 1:
            placed.append(problem)
            continue
        assert span is not None and fix is not None
        closers = fix.edits[0].text
        reads = partial(_reads, source, line, line.start in starts)
        place = closing.offset(layout.text[line.start : line.end], span.start - line.start, closers, reads)
        if place is None:
            placed.append(replace(problem, related=(), fix=None))
            continue
        at = line.start + place
        label = Label(Span(source, at - 1, at), f"`{closers}` is missing after this")
        placed.append(replace(problem, related=(label,), fix=Fix((Edit(Span(source, at, at), closers),))))
    return placed


def _line_at(layout: Layout, at: int) -> Line | None:
    """The logical line that an offset lies in."""
    nearest = bisect_right(layout.pieces, at, key=lambda piece: piece.start) - 1
    line = layout.pieces[nearest].line_at(at) if nearest >= 0 else None
    return line if line is not None and line.start <= at < line.end else None


def _reads(source: Source, line: Line, first: bool, text: str) -> bool:
    """Whether a line can be read with another text."""
    from .mistakes.expected import alone

    try:
        _read(source, line.start, "", alone(text, line.heads, first))
    except (RefusedText, _Wrong):
        return False
    return True


def _read(source: Source, base: int, doc: str, text: str) -> Any:
    """The tree of an item. base: the offset of its text. Raises RefusedText; _Wrong, with what lark says."""
    automaton, builder = _automaton()
    builder.begin(source, base, doc)
    try:
        return automaton.read(text)
    except OutOfGrammar:
        pass
    from lark.exceptions import UnexpectedCharacters, UnexpectedToken

    parser, builder = _parser()
    builder.begin(source, base, doc)
    try:
        return parser.parse(text)
    except (UnexpectedToken, UnexpectedCharacters) as unexpected:
        raise _Wrong(unexpected) from None


def _item(
    source: Source, layout: Layout, piece: Piece, doc: str, limit: int
) -> tuple[Item | tuple[AxisDecl | ConstDecl, ...] | None, list[Diagnostic], bool]:
    """Parse one item: the tree of what can be read of it, its mistakes, and whether there are none."""
    text = layout.text[piece.start : piece.end]
    problems: list[Diagnostic] = []
    done: set[int] = set()
    for line in piece.bad:
        mended = _without(text, piece, line, done)
        if mended is None:
            return None, problems, False
        text = mended
    while True:
        try:
            node = _read(source, piece.start, doc, text)
        except RefusedText as refusal:
            problem = refusal.diagnostic
            at = problem.span.start if problem.span is not None else piece.start
        except _Wrong as wrong:
            from .mistakes.expected import explain, offset

            at = piece.start + offset(wrong.unexpected, text)
            problem = explain(wrong.unexpected, source, text, piece.start, piece.line_at(at).start)
        else:
            return node, problems, not done and not problems
        line = piece.line_at(at)
        if len(problems) >= limit or line.start in done:  # what stands in for a line is not the writer's mistake
            return None, problems, False
        problems.append(problem)
        mended = _without(text, piece, line, done)
        if mended is None:
            return None, problems, False
        text = mended


def _without(text: str, piece: Piece, line: Line, done: set[int]) -> str | None:
    """The item's text without a faulty line, or with a head in its place; None if that would not help."""
    from .mistakes import expected

    start, end = line.start - piece.start, line.end - piece.start
    stand_in = expected.stand_in(text[start:end], line.heads, start == 0)
    if stand_in is None or len(stand_in) > end - start:
        return None
    done.add(line.start)
    return text[:start] + stand_in.ljust(end - start) + text[end:]
