"""Where statements and items end: one pass over the raw text, before the grammar sees it.

The grammar is spared what is hard to say in LALR(1): which newlines end a statement. Here comments, and newlines that
end nothing, are overwritten by spaces (every offset stays what it was), the text is cut into top-level items, and what
only a look at the whole text can tell is reported: brackets that do not match, and characters of no token.

A newline is ignored inside `( )` and `[ ]`, after a comma or an operator, after `{`, and before anything that no
statement can begin with: an operator, `->`, `|>`, `=`, `~`, `{`, `where`, `and`, `or`, `else`.
"""

from __future__ import annotations

import re
from bisect import bisect_right

from .base.records import mutable, record
from .diagnostic import Diagnostic, error
from .source import Source, Span
from .syntax import Comment
from .tokens import ITEM_ALIASES, ITEM_WORDS, JOINING_WORDS, QUOTES, STATEMENT_WORDS, TOKEN, TRUTH_WORDS

MAX_DEPTH = 100
"""Brackets deeper than this are refused: nobody reads them, and tools that walk the tree may recurse."""

MAX_REREAD = 4_000_000
"""How many characters may be read again, in all, to see what follows a bracket that was not closed."""

_JOINS = frozenset(("where", *JOINING_WORDS, "else"))  # a line that begins so goes on with the one before
_HANGS = frozenset(("where", *TRUTH_WORDS))  # a line that ends so goes on with the next
# `model as m` and `op like q` are of an axis of that name.
ITEM = re.compile(rf"(?:{'|'.join(ITEM_WORDS)})[ \t]+(?!(?:as|like)(?![A-Za-z0-9_]))[A-Za-z_]")
_OUTER_ITEM = re.compile(
    r"(?:(?:block|model|op|config)[ \t]+[A-Za-z_][A-Za-z0-9_]*[ \t]*(?:[\[({]|as[ \t]+\")|use[ \t]+[A-Za-z_])"
)
_BLOCK_ALIAS = re.compile(
    rf"(?:{'|'.join(word for word, meant in ITEM_ALIASES.items() if meant in ('block', 'model'))})[ \t]+[A-Za-z_]"
)
_STATEMENT = re.compile(rf"(?:{'|'.join(STATEMENT_WORDS)})(?![A-Za-z0-9_])")
_WORD = re.compile(r"\w+")
_QUOTED = re.compile(rf"'[^'\n]*'|[{QUOTES}][^{QUOTES}\"\n]*[{QUOTES}\"]")
_HALF_QUOTED = re.compile(rf"\"[^{QUOTES}\"\n]*[{QUOTES}]")
_CLOSER = {"(": ")", "[": "]", "{": "}"}


@record
class Line:
    """One logical line: a statement, or the head of a block up to its `{`."""

    start: int
    end: int
    heads: bool


@mutable
class Piece:
    """One top-level item and its logical lines. `bad`: lines with a mistake that is reported already. `broken`: its
    braces do not match, or it is what is left of something reported; there is no use in parsing it."""

    start: int
    end: int
    lines: list[Line]
    bad: list[Line]
    broken: bool = False

    def line_at(self, offset: int) -> Line:
        """The logical line that an offset lies in, or right after."""
        return self.lines[max(0, bisect_right(self.lines, offset, key=lambda line: line.start) - 1)]


@mutable
class Layout:
    """What the pass found. `text` is the source with everything blanked that the grammar need not see."""

    text: str
    pieces: list[Piece]
    comments: tuple[Comment, ...]
    problems: list[Diagnostic]
    complete: bool  # whether all of the text was read


@mutable
class _Open:
    """An open bracket. `torn`: the end of the first line inside that looks like the end of its statement, if any."""

    character: str
    at: int
    indent: int
    torn: int | None = None


def lay_out(source: Source, limit: int = 20) -> Layout:
    """Read the layout of a file; after `limit` problems the rest of the text is left alone."""
    return _Scanner(source, limit).run()


class _Scanner:
    """The state of the one pass: a scanner that may step back to where a bracket should have been closed."""

    def __init__(self, source: Source, limit: int) -> None:
        self.source = source
        self.text = source.text
        self.limit = limit
        self.at = 0
        self.stack: list[_Open] = []
        self.blanks: list[tuple[int, int]] = []
        self.comments: list[Comment] = []
        self.problems: list[Diagnostic] = []
        self.bad: list[int] = []  # offsets in logical lines that are not worth parsing
        self.spoilt: list[int] = []  # offsets in items that are not worth parsing
        self.askew: list[tuple[int, int]] = []  # a `{`, and a `}` of another indent that closes it, or an `else` inside
        self.lines: list[Line] = []
        self.pieces: list[Piece] = []
        self.newlines: list[int] = []  # those since the last token
        self.line: int | None = None  # where the logical line began
        self.piece: int | None = None  # where the item began
        self.last = ""  # the last token, and its kind and end
        self.last_kind = ""
        self.last_end = 0
        self.indent = 0  # of the line that the logical line began on
        self.row = int(self.text.startswith("\ufeff"))  # where the line at hand begins
        self.steps = 0  # how often the scanner stepped back
        self.returned = False  # whether a carriage return was told

    def run(self) -> Layout:
        text, match = self.text, TOKEN.match
        size = len(text)
        while self.at < size and len(self.problems) < self.limit:
            found = match(text, self.at)
            assert found is not None  # the last branch takes anything
            kind, start, end = found.lastgroup, self.at, found.end()
            assert kind is not None
            self.at = end
            token = found.group()
            if self._is_between(kind, token, start):
                continue
            if self.newlines and not self._after_newlines(kind, token, start):
                continue  # stepped back
            if self.line is None:
                self.line = start
                if self.last_end <= self.row:  # the first token of its line of text
                    self.indent = start - self.row
                if self.piece is None:
                    self.piece = start
            if token == "else" and self.last != "}" and self.stack and self.stack[-1].character == "{":
                self.askew.append((self.stack[-1].at, start))
            if kind == "open":
                if not self._opened(token, start):
                    continue
            elif kind == "close":
                if not self._closed(token, start):
                    continue
            elif kind == "slip" or kind == "bad" or kind == "misnumber":
                end = self.at = self._slipped(kind, token, start)
            self.last, self.last_kind, self.last_end = token, kind, end
        if len(self.problems) < self.limit:
            while any(opened.character != "{" for opened in self.stack) and not self._unclosed(size):
                return self.run()
            self._unclosed_braces()
            self._end_piece()
        return self._finish()

    # -- newlines

    def _is_between(self, kind: str, token: str, start: int) -> bool:
        """Note what stands between tokens: a newline, a comment. False: it is a token."""
        if kind == "newline":
            self.newlines.append(start)
            self.row = self.at
        elif kind == "comment":
            self.comments.append(Comment(token, Span(self.source, start, self.at)))
            self.blanks.append((start, self.at))
        return kind in ("space", "newline", "comment")

    def _after_newlines(self, kind: str, token: str, start: int) -> bool:
        """Decide what the newlines before this token mean. False: the scanner stepped back, the token is not read."""
        text, stack = self.text, self.stack
        inside = bool(stack) and stack[-1].character != "{"
        hangs = (
            self.last_kind == "operator"
            or self.last in ("{", "(", "[", "\\")
            or (self.last_kind == "word" and self.last in _HANGS)
        )
        joins = kind == "operator" or token in ("{", "}", ")", "]") or (kind == "word" and token in _JOINS)
        # Words that begin a statement or an item do so wherever a line begins with them, whatever stands before.
        begins = begins_item = False
        if kind == "word" and self.last != ":":
            begins_item = ITEM.match(text, start) is not None and (
                not stack
                or stack[0].character != "{"
                or (start - self.row <= stack[0].indent and _OUTER_ITEM.match(text, start) is not None)
            )
            begins = begins_item or _STATEMENT.match(text, start) is not None
        if inside:
            if begins and not self._unclosed(start):
                return False
            if not begins:
                if not hangs and not joins and stack[-1].torn is None:
                    stack[-1].torn = self.last_end
                self._blank_newlines()
                return True
        if begins_item:
            self._unclosed_braces()
        if (hangs or joins) and not (begins and self.last != "{"):
            self._blank_newlines()
        else:
            self._end_line(heads=False)
            if not stack:
                self._end_piece()
            self.newlines.clear()
        return True

    def _blank_newlines(self) -> None:
        self.blanks.extend((at, at + 2 if self.text[at] == "\r" else at + 1) for at in self.newlines)
        self.newlines.clear()

    def _end_line(self, heads: bool) -> None:
        if self.line is not None:
            self.lines.append(Line(self.line, self.last_end, heads))
            self.line = None

    def _end_piece(self) -> None:
        self._end_line(heads=False)
        if self.piece is not None:
            self.pieces.append(Piece(self.piece, self.last_end, self.lines, []))
            self.piece, self.lines = None, []

    # -- brackets

    def _opened(self, token: str, start: int) -> bool:
        if token == "{":
            if self.stack and self.stack[-1].character != "{" and not self._unclosed(start):
                return False
            self._end_line(heads=True)
        self.stack.append(_Open(token, start, self.indent))
        if len(self.stack) == MAX_DEPTH + 1 and (not self.spoilt or self.spoilt[-1] < (self.piece or 0)):
            self.spoilt.append(start)
            self.problems.append(_too_deep(Span(self.source, start, start + 1)))
        return True

    def _closed(self, token: str, start: int) -> bool:
        stack = self.stack
        typo = token == "}" and self.last_end > self.row and _is_typo(self.stack, self.row)
        if typo and _enough_follow(self.text[start:], self.stack):  # without this one
            self._stray(token, start)
            return True
        if token == "}" and not typo:
            if stack and stack[-1].character != "{" and not self._unclosed(start):
                return False
            if not stack:
                self._stray(token, start)
                return True
            opened = stack.pop()
            self._end_line(heads=False)
            if self.last_end <= self.row:  # the first token of its line of text
                self.indent = start - self.row  # of an `else` behind it too
                if self.indent != opened.indent:
                    self.askew.append((opened.at, start))
            return True
        inner = len(stack)  # the bracket that this one closes, no further out than the next `{`; none for a `}`
        while inner and stack[inner - 1].character != "{":
            inner -= 1
            if _CLOSER[stack[inner].character] == token:
                if inner + 2 == len(stack) and _enough_follow(self.text[start:], self.stack):
                    break  # `f(x: [a))` rather than `f(x: [a)`: the wrong one, not one too few
                if inner + 1 < len(stack) and not self._unclosed(start, inner + 1):
                    return False
                stack.pop()
                return True
        if not stack or stack[-1].character == "{":
            self._stray(token, start)
            return True
        opened = stack.pop()
        self.bad.append(start)
        self.problems.append(_wrong_closer(self.source, opened, token, start))
        return True

    def _stray(self, token: str, start: int) -> None:
        related = []
        if token == "}":
            if self.piece is not None:
                self.spoilt.append(start)
            for piece in reversed(self.pieces):  # what stands between the last item and this `}` was meant to be inside
                if ITEM.match(self.text, piece.start):
                    if self.text[piece.end - 1] == "}":
                        related = [(Span(self.source, piece.end - 1, piece.end), "everything was closed here already")]
                    break
                if _BLOCK_ALIAS.match(self.text, piece.start):  # `def f(x):`, which is said there
                    return
                piece.broken = True
        else:
            self.bad.append(start)
        self.problems.append(_closes_nothing(token, Span(self.source, start, start + 1), related))

    def _unclosed(self, here: int, outermost: int | None = None) -> bool:
        """Report the round and square brackets that are open (from `outermost` on). False: the scanner stepped back."""
        stack = self.stack
        if outermost is None:
            outermost = len(stack)
            while outermost and stack[outermost - 1].character != "{":
                outermost -= 1
        group = stack[outermost:]
        affordable = self.steps < self.limit and self.steps * len(self.text) < MAX_REREAD
        torn = [opened for opened in group if opened.torn is not None] if affordable else []
        end, open_there = self.last_end, group
        if torn:
            first = torn[0]
            assert first.torn is not None
            end = first.torn
            open_there = group[: group.index(first) + 1]
        opened = open_there[-1]
        closers = "".join(_CLOSER[each.character] for each in reversed(open_there[-MAX_DEPTH:]))
        self.bad.append(opened.at)
        del stack[outermost:]
        if torn:
            self._step_back(end)
        self.problems.append(_never_closed(self.source, opened, closers, end))
        return not torn

    def _step_back(self, to: int) -> None:
        """Forget what was read after an offset, and read it again."""
        self.steps += 1
        self.at = self.last_end = to
        self.row = self.text.rfind("\n", 0, to) + 1
        self.last, self.last_kind = "", ""
        self.newlines.clear()
        self.comments = [each for each in self.comments if each.span.start < to]
        self.blanks = [each for each in self.blanks if each[0] < to]
        self.problems = [each for each in self.problems if each.span is not None and each.span.start < to]
        self.bad = [each for each in self.bad if each < to]
        self.spoilt = [each for each in self.spoilt if each < to]
        self.askew = [each for each in self.askew if each[1] < to]

    def _unclosed_braces(self) -> None:
        braces = [opened for opened in self.stack if opened.character == "{"]
        self.stack.clear()
        if not braces:
            return
        askew = next(((opened, closed) for opened, closed in self.askew if opened > braces[0].at), None)
        self.spoilt.append(braces[0].at)
        self.problems.append(_brace_never_closed(self.source, braces[-1], askew if len(braces) == 1 else None))

    # -- characters

    def _slipped(self, kind: str, token: str, start: int) -> int:
        """Report what is no token; returns where it ends."""
        start, end, what = self._no_token(kind, token, start)
        self.bad.append(start)
        if token == "\r" and self.returned:  # told once for all lines
            return end
        self.returned = self.returned or token == "\r"
        assert self.line is not None
        before = self.text[self.line : start]
        from .mistakes.stumble import Stumble
        from .mistakes.table import tell

        self.problems.append(tell(Stumble(Span(self.source, start, end), f"✗{what}", before)))
        return end

    def _no_token(self, kind: str, token: str, start: int) -> tuple[int, int, str]:
        """Where it begins and ends (all of a word, or of a quoted text), and what the table of slips calls it."""
        text, end = self.text, start + len(token)
        line_end = start + len(text[start:].partition("\n")[0].rstrip())
        if kind == "misnumber":
            return start, end, "0"
        if token in ("//", "/*") and self.line == start:
            return start, line_end, "#"
        if token == '"':
            half = _HALF_QUOTED.match(text, start)
            return (start, half.end(), "NAME") if half else (start, line_end, '""')
        word = (_WORD.match(text, start) or _QUOTED.match(text, start)) if kind == "bad" else None
        if word is None:
            return start, end, "…"
        after_word = self.last_kind == "word" and self.last_end == start
        return start - after_word * len(self.last), word.end(), "NAME"

    # -- the end

    def _finish(self) -> Layout:
        for piece in self.pieces:
            if _within(self.spoilt, piece):
                piece.broken = True
            piece.bad = list(dict.fromkeys(piece.line_at(at) for at in _within(self.bad, piece)))
        text, complete = blank(self.text, self.blanks), self.at >= len(self.text)
        return Layout(text, self.pieces, tuple(self.comments), self.problems, complete)


def _within(offsets: list[int], piece: Piece) -> list[int]:
    return [at for at in offsets if piece.start <= at < piece.end] if offsets else offsets


def blank(text: str, stretches: list[tuple[int, int]]) -> str:
    """The text with stretches overwritten by spaces, so that every other offset stays."""
    parts: list[str] = []
    done = 0
    for start, end in sorted(stretches):
        parts += (text[done:start], " " * (end - start))
        done = end
    parts.append(text[done:])
    return "".join(parts).replace("\r", " ")


# -- brackets


def _is_typo(stack: list[_Open], row: int) -> bool:
    """Whether a `}` stands for another bracket: `y = f(x}`. What it would close begins on an earlier line.

    row: where the line at hand begins; it has other tokens before.
    """
    if not stack or stack[-1].character == "{":
        return False
    brace = next((opened.at for opened in reversed(stack) if opened.character == "{"), -1)
    return brace < row <= stack[-1].at


def _enough_follow(rest: str, stack: list[_Open]) -> bool:
    """Whether the rest of the line closes all round and square brackets of the statement."""
    line = rest.partition("\n")[0].partition("#")[0].partition("{")[0]
    left = next((n for n, opened in enumerate(reversed(stack)) if opened.character == "{"), len(stack))
    for sign in re.findall(r"[][()]", line):
        left += 1 if sign in "([" else -1
        if not left:
            return True
    return False


def _too_deep(span: Span) -> Diagnostic:
    message = f"brackets are nested more than {MAX_DEPTH} deep"
    return error("E0107", message, span, "one too many", help="name an inner value, or move it into a block")


def _wrong_closer(source: Source, opened: _Open, token: str, start: int) -> Diagnostic:
    closer = _CLOSER[opened.character]
    # `sum(seq](x)`: the `(` should be a `[`, for operands follow in brackets of their own
    wrong = opened.character + token == "(]" and source.text.startswith("(", start + 1)
    place, right = (opened.at, "[") if wrong else (start, closer)
    return error(
        "E0102",
        f"`{opened.character}` is closed by `{token}`",
        Span(source, start, start + 1),
        "" if wrong else f"`{closer}` closes it",
        related=[(Span(source, opened.at, opened.at + 1), "opened here")],
        help=f"write `{right}`",
        fix=[(Span(source, place, place + 1), right)],
    )


def _closes_nothing(token: str, span: Span, related: list[tuple[Span, str]]) -> Diagnostic:
    opener = next(key for key, closer in _CLOSER.items() if closer == token)
    return error(
        "E0102",
        f"this `{token}` closes nothing",
        span,
        f"no `{opener}` is open here",
        related=related,
        help=f"delete it, or open a `{opener}` before",
    )


def _never_closed(source: Source, opened: _Open, closers: str, end: int) -> Diagnostic:
    return error(
        "E0102",
        f"`{opened.character}` is never closed",
        Span(source, opened.at, opened.at + 1),
        "opened here",
        related=[(Span(source, end - 1, end), f"`{closers}` is missing after this")],
        help=f"write `{closers}`",
        fix=[(Span(source, end, end), closers)],
    )


def _brace_never_closed(source: Source, brace: _Open, askew: tuple[int, int] | None) -> Diagnostic:
    """askew: a `{` and what tells by its indentation, or as an `else`, that it should have been closed before."""
    at, related, fix = brace.at, [], []
    if askew is not None:
        at, end = askew
        if source.text[end] == "}":
            related = [(Span(source, end, end + 1), "by its indentation this one closes an outer `{`")]
        else:
            related = [(Span(source, end, end + len("else")), "`}` is missing before this")]
            fix = [(Span(source, end, end), "} ")]
    return error(
        "E0102",
        "`{` is never closed",
        Span(source, at, at + 1),
        "opened here",
        related=related,
        help="write `} else`" if fix else "write `}` on a line of its own after the last statement",
        fix=fix,
    )
