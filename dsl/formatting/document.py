"""A document that knows where it may break, and its layout on lines of a given width (after Wadler and Prettier).

A group stands on one line if it fits, else all of its own line breaks are taken; groups inside decide for themselves.
A comment ends its line, wherever it stands: groups that go on after it are broken.
"""

from __future__ import annotations

from dataclasses import dataclass

STEP = 4


@dataclass(frozen=True, slots=True)
class Text:
    """Text without a newline. `begins`: at the start of a line it would be read as the start of an item."""

    text: str
    begins: bool = False


@dataclass(frozen=True, slots=True)
class LineBreak:
    """A place to break; on one line it is `flat`. `blank`: an empty line comes before."""

    flat: str = " "
    blank: bool = False


@dataclass(frozen=True, slots=True)
class Either:
    """One text where the group is broken, another where it stands on one line."""

    broken: str
    flat: str


@dataclass(frozen=True, slots=True)
class Indent:
    inside: Doc


@dataclass(frozen=True, slots=True)
class Group:
    """`broken`: it cannot stand on one line. `ends`: a comment stands at its end. `first`: where it and the groups
    behind it do not fit on one line, it is the one to break."""

    inside: Doc
    broken: bool
    ends: bool
    first: bool = False


@dataclass(frozen=True, slots=True)
class Trail:
    """A comment at the end of a line."""

    comment: str


@dataclass(frozen=True, slots=True)
class Lead:
    """A comment on a line of its own."""

    comment: str


Doc = Text | LineBreak | Either | Indent | Group | Trail | Lead | tuple["Doc", ...]

SPACE, EMPTY = Text(" "), Text("")
LINE, SOFT, BLANK = LineBreak(), LineBreak(""), LineBreak(blank=True)


def group(*parts: Doc, first: bool = False) -> Group:
    """A group; broken from the start if a comment inside ends a line."""
    todo: list[Doc] = [parts]
    broken = ended = False  # ended: a comment was the last thing
    while todo:
        match todo.pop():
            case Text("") | Either("", ""):
                pass
            case Trail():
                broken, ended = broken or ended, True
            case Lead():
                broken = ended = True
            case Group(_, inner, ends):
                broken, ended = broken or ended or inner, ends
            case Indent(inside):
                todo.append(inside)
            case tuple() as several:
                todo += reversed(several)
            case _:
                broken, ended = broken or ended, False
    return Group(parts, broken, ended, first)


def flat(doc: Doc) -> Doc:
    """The document on one line, wherever it stands."""
    match doc:
        case LineBreak(text):
            return Text(text)
        case Either(_, text):
            return Text(text)
        case Indent(inside) | Group(inside):
            return flat(inside)
        case tuple() as several:
            return tuple(map(flat, several))
        case _:
            return doc


def begins_item(doc: Doc) -> bool:
    """Whether the document must not stand at the start of a line: see Text."""
    while True:
        match doc:
            case Text(_, begins):
                return begins
            case Indent(inside) | Group(inside):
                doc = inside
            case (first, *_):
                doc = first
            case _:
                return False


@dataclass(slots=True)
class PrintedLine:
    """A line of the result: its text, and the comment at its end, which is aligned with its neighbours'."""

    text: str
    comment: str = ""


_Item = tuple[int, bool, Doc]  # indent, whether on one line, what


class Layouter:
    """Lays a document out in rows."""

    def __init__(self, width: int) -> None:
        self.width = width
        self.rows: list[PrintedLine] = [PrintedLine("")]
        self.closed = False  # a comment stands at the end of the row: nothing may follow it

    def run(self, doc: Doc) -> list[PrintedLine]:
        stack: list[_Item] = [(0, False, doc)]
        while stack:
            indent, flat, doc = stack.pop()
            match doc:
                case Text(text):
                    self._text(text, indent)
                case Either(broken, on_one_line):
                    self._text(on_one_line if flat else broken, indent)
                case LineBreak(text, blank):
                    if flat:
                        self._text(text, indent)
                    else:
                        self._new_row(indent, blank)
                case Indent(inside):
                    stack.append((indent + STEP, flat, inside))
                case Group(inside, broken, _, first):
                    indent = self._go_on(indent) if self.closed else indent
                    flat = flat or (not broken and self._fits((indent, True, inside), stack, first))
                    stack.append((indent, flat, inside))
                case Trail(comment):
                    if self.closed:  # two comments cannot end one line
                        self._lead(comment, indent + STEP)
                    else:
                        self.rows[-1].comment = comment
                        self.closed = True
                case Lead(comment):
                    self._lead(comment, indent + STEP)
                case _:
                    stack += [(indent, flat, part) for part in reversed(doc)]
        return self.rows

    def _new_row(self, indent: int, blank: bool = False) -> None:
        self.rows[-1].text = self.rows[-1].text.rstrip(" ")
        if blank:
            self.rows.append(PrintedLine(""))
        self.rows.append(PrintedLine(" " * indent))
        self.closed = False

    def _text(self, text: str, indent: int) -> None:
        if not text.strip(" ") and (self.closed or not self.rows[-1].text.strip(" ")):
            return
        if self.closed:
            self._go_on(indent)
            text = text.lstrip(" ")
        self.rows[-1].text += text

    def _go_on(self, indent: int) -> int:
        """A new row behind a comment: beneath one that has a line of its own, else indented. Its indent."""
        indent = _indent(self.rows[-1]) if self._is_comment() else indent + STEP
        self._new_row(indent)
        return indent

    def _is_comment(self) -> bool:
        return self.rows[-1].text.lstrip(" ").startswith("#")

    def _lead(self, comment: str, indent: int) -> None:
        if self.closed and self._is_comment():
            indent = _indent(self.rows[-1])
        if self.closed or self.rows[-1].text.strip(" "):
            self._new_row(indent)
        self.rows[-1].text += comment
        self.closed = True

    def _fits(self, item: _Item, rest: list[_Item], groups: bool) -> bool:
        """Whether an item, and what follows up to the next possible break, fits into the row.

        groups: those that follow do not count as possible breaks.
        """
        room = self.width - len(self.rows[-1].text)
        stack, after = [item], len(rest)
        while room >= 0:
            if not stack:
                if not after:
                    return True
                after -= 1
                stack.append(rest[after])
            indent, flat, doc = stack.pop()
            match doc:
                case Text(text):
                    room -= len(text)
                case Either(broken, on_one_line):
                    room -= len(on_one_line if flat else broken)
                case LineBreak(text):
                    if not flat:
                        return True
                    room -= len(text)
                case Trail() | Lead():
                    return True
                case Indent(inside):
                    stack.append((indent, flat, inside))
                case Group(inside, broken):
                    stack.append((indent, (flat or groups) and not broken, inside))
                case _:
                    stack += [(indent, flat, part) for part in reversed(doc)]
        return False


def align(rows: list[PrintedLine], width: int) -> list[str]:
    """The rows as lines: comments at the ends of neighbouring lines of one indent stand in a column, if it fits."""
    lines: list[str] = []
    at = 0
    while at < len(rows):
        end = at
        if rows[at].comment:
            indent = _indent(rows[at])
            while end + 1 < len(rows) and rows[end + 1].comment and _indent(rows[end + 1]) == indent:
                end += 1
        run = rows[at : end + 1]
        column = max(len(row.text) for row in run)
        if any(column + 2 + len(row.comment) > width for row in run):
            column = 0
        lines += (f"{row.text.ljust(column)}  {row.comment}" if row.comment else row.text for row in run)
        at = end + 1
    return lines


def _indent(row: PrintedLine) -> int:
    return len(row.text) - len(row.text.lstrip(" "))
