"""From the grammar's constructs to documents: one short method per rule of grammar.lark, as in tree.py.

Here every token is kept, with the comments that go with it. What a line may break at, the loosest first: the comma of
a list, and before an operator; brackets may stand open around either.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

from lark import Token

from ..layout import ITEM
from .comments import Remark, Remarks
from .document import (
    BLANK,
    EMPTY,
    LINE,
    SOFT,
    SPACE,
    Doc,
    Either,
    Group,
    Indent,
    Lead,
    LineBreak,
    Text,
    Trail,
    begins_item,
    flat,
    group,
)

_LEVELS = {"MINUS": "PLUS", "SLASH": "STAR", "PERCENT": "STAR"}  # the operators that bind as others do


class Statement(NamedTuple):
    """A statement, setting or item: where it begins, and whether it has a body."""

    start: int
    doc: Doc
    body: bool = False


@dataclass(slots=True)
class Chain:
    """Operands of operators that bind equally; it grows while the parser reads, however long it gets."""

    level: str
    first: Doc
    rest: list[Doc]

    def doc(self, indent: bool) -> Doc:
        rest = tuple(self.rest)
        return group(self.first, Indent(rest) if indent else rest)


class Printer:
    """Callbacks for Lark; `remarks`, `text` (the item's) and `base` (its offset) are set before each item."""

    remarks: Remarks
    text: str
    base: int

    # -- tokens and lists

    def token(self, token: Token) -> Doc:
        """A token with the comments that go with it, but those above a statement."""
        start = token.start_pos or 0
        at = self.base + start
        begins = ITEM.match(self.text, start) is not None
        doc: Doc = Text(token.value, begins)
        if at in self.remarks.before and at not in self.remarks.starts:
            doc = (*(Lead(remark.text) for remark in self.remarks.before[at]), doc)
        if at in self.remarks.after:
            doc = (doc, Trail(self.remarks.after[at].text))
        return doc

    def doc(self, part: Any, indent: bool = True) -> Doc:
        """The document of a token, of a node, or of none."""
        match part:
            case Token():
                return self.token(part)
            case Chain():
                return part.doc(indent)
            case Statement():
                return part.doc
        return part  # type: ignore[no-any-return]

    def words(self, parts: list[Any]) -> Doc:
        """One beside the other, with spaces between."""
        docs: list[Doc] = []
        for part in parts:
            docs += (SPACE, self.doc(part))
        return tuple(docs[1:])

    def side(self, parts: list[Any]) -> Doc:
        """One beside the other, without spaces."""
        return tuple(self.doc(part) for part in parts)

    used = axis = const = result = words

    path = size = side

    def joined(self, parts: list[Any], comma: bool = False, hang: bool = False) -> Doc:
        """A list with its commas, on one line or with an item on each; `comma`: then the last may have one too.

        hang: it stands in no brackets, and goes on with indented lines.
        """
        if parts and _is(parts[-1], "COMMA"):
            parts = parts[:-1]
        if not parts:
            return EMPTY
        docs: list[Doc] = []
        for at, part in enumerate(parts):
            docs.append(self.doc(part))
            if _is(part, "COMMA"):
                docs.append(SPACE if begins_item(self.doc(parts[at + 1])) else LINE)
        return group(docs[0], Indent(tuple(docs[1:])) if hang else tuple(docs[1:]), Either(",", "") if comma else EMPTY)

    def enclosed(self, opener: Token, inside: Doc, closer: Token, line: LineBreak = SOFT, before: bool = False) -> Doc:
        """Brackets around something, and the comments before the closing one; they break `before` what follows does."""
        last = self.dangling(closer)
        if inside == EMPTY and not last:
            return (self.doc(opener), self.doc(closer))
        if inside == EMPTY:
            return group(self.doc(opener), Indent(tuple(last)), line, self.doc(closer))
        first = EMPTY if begins_item(inside) else line
        return group(self.doc(opener), Indent((first, inside, *last)), line, self.doc(closer), first=before)

    def dangling(self, closer: Token) -> list[Doc]:
        remarks = self.remarks.inside.get(self.base + (closer.start_pos or 0), [])
        return [(LINE, Lead(remark.text)) if remark.own else Trail(remark.text) for remark in remarks]

    def args(self, parts: list[Any]) -> Doc:
        return self.joined(parts, comma=True)

    def names(self, parts: list[Any]) -> Doc:
        return self.joined(parts)

    bracketed = names

    # -- items

    def use(self, parts: list[Any]) -> Statement:
        keyword, path, *rest = parts
        names = (self.doc(rest[0]), SPACE, self.listed(rest[1:])) if rest else ()
        return self.statement(keyword, (self.doc(keyword), SPACE, path, *names))

    def listed(self, parts: list[Any]) -> Doc:
        return self.joined(parts, hang=True)

    def axes(self, parts: list[Any]) -> Statement:
        return self.statement(parts[0], (self.doc(parts[0]), SPACE, self.listed(parts[1:])))

    consts = axes

    def param(self, parts: list[Any]) -> Statement:
        keyword, name, colon, *rest = parts
        return self.statement(
            keyword, (self.doc(keyword), SPACE, self.doc(name), self.doc(colon), SPACE, self.words(rest))
        )

    def init(self, parts: list[Any]) -> Doc:
        return self.call(parts)

    def config(self, parts: list[Any]) -> Statement:
        """Settings on lines of their own need no commas."""
        keyword, name, opener, *inside, closer = parts
        last = max((at for at, part in enumerate(inside) if isinstance(part, Statement)), default=-1)
        docs: list[Doc] = []
        for at, part in enumerate(inside):
            if isinstance(part, Statement):
                docs += (LINE,) if docs else ()
                docs += (Lead(remark.text) for remark in self.above(part.start))
                docs += (part.doc, Either("", ",") if at < last else EMPTY)
            elif _is(part, "COMMA") and (remark := self.remarks.after.get(self.base + part.start_pos)):
                docs.append(Trail(remark.text))
        braces = self.enclosed(opener, group(*docs) if docs else EMPTY, closer, LINE)
        return self.statement(keyword, (self.words([keyword, name]), SPACE, braces))

    def setting(self, parts: list[Any]) -> Statement:
        return self.statement(parts[0], self.words(parts))

    def op(self, parts: list[Any]) -> Statement:
        keyword, *head, equal, target = parts
        return self.statement(keyword, (self.head(keyword, head), SPACE, self.words([equal, target])))

    def block(self, parts: list[Any]) -> Statement:
        keyword, *head, body = parts
        return Statement(self.base + keyword.start_pos, (self.head(keyword, head), SPACE, body), body=True)

    def head(self, keyword: Token, parts: list[Any]) -> Doc:
        """`block f as "F"[q: width](x: [q]) -> [q]`."""
        docs: list[Doc] = [self.doc(keyword), SPACE]
        for part in parts:
            apart = _is(part, "ARROW") or _is(part, "_AS")
            docs += (SPACE, self.doc(part), SPACE) if apart else (self.doc(part),)
        return tuple(docs)

    def several(self, parts: list[Any], before: bool = False) -> Doc:
        opener, *inside, closer = parts
        return self.enclosed(opener, self.joined(inside, comma=True), closer, before=before)

    generics = several

    numbers = several

    def formals(self, parts: list[Any]) -> Doc:
        return self.several(parts, before=True)

    def generic(self, parts: list[Any]) -> Doc:
        name, colon, *rest = parts
        return (self.doc(name), self.doc(colon), SPACE, self.words(rest))

    formal = named = generic

    def type(self, parts: list[Any]) -> Doc:
        """A type stands on one line, unless there are comments in it."""
        element = () if _is(parts[0], "LSQB") else (self.doc(parts[0]),)
        opener, *axes, closer = parts[len(element) :]
        brackets = self.enclosed(opener, axes[0] if axes else EMPTY, closer)
        whole = not isinstance(brackets, Group) or brackets.broken
        return (*element, brackets if whole else flat(brackets))

    # -- statements

    def statement(self, first: Token, doc: Doc) -> Statement:
        return Statement(self.base + (first.start_pos or 0), doc)

    def above(self, start: int) -> list[Remark]:
        """The comments above a statement."""
        return self.remarks.before.get(start, []) if start in self.remarks.starts else []

    def body(self, parts: list[Any]) -> Doc:
        opener, *inside, closer = parts
        rows: list[Doc] = []
        for statement in inside:
            if isinstance(statement, Statement):
                for remark in self.above(statement.start):
                    rows += (BLANK if remark.blank and rows else LINE, Lead(remark.text))
                rows += (BLANK if statement.start in self.remarks.blank and rows else LINE, statement.doc)
        for remark in self.remarks.inside.get(self.base + closer.start_pos, []):
            rows += (
                (BLANK if remark.blank and rows else LINE, Lead(remark.text)) if remark.own else (Trail(remark.text),)
            )
        if not rows:
            return (self.doc(opener), self.doc(closer))
        return (self.doc(opener), Indent(tuple(rows)), LINE, self.doc(closer))

    def assign(self, parts: list[Any]) -> Statement:
        name, *rest = parts
        docs: list[Doc] = [self.doc(name)]
        for part in rest:
            docs += (self.doc(part),) if _is(part, "COLON") else (SPACE, self.doc(part))
        return self.statement(name, tuple(docs))

    def unpack(self, parts: list[Any]) -> Statement:
        *names, equal, value = parts
        return self.statement(names[0], (self.listed(names), SPACE, self.words([equal, value])))

    def returns(self, parts: list[Any]) -> Statement:
        keyword, *values = parts
        return self.statement(keyword, (self.doc(keyword), SPACE, self.listed(values)))

    def expect(self, parts: list[Any]) -> Statement:
        keyword, name, colon, type = parts
        return self.statement(keyword, (self.words([keyword, name]), self.words([colon, type])))

    def share(self, parts: list[Any]) -> Statement:
        return self.statement(parts[0], self.words(parts))

    def repeat(self, parts: list[Any]) -> Statement:
        keyword, *rest = parts
        docs: list[Doc] = [self.doc(keyword)]
        if _is(rest[0], "DOT"):
            docs += map(self.doc, rest[:2])
            del rest[:2]
        return self.statement(keyword, (*docs, SPACE, self.words(rest)))

    def conditional(self, parts: list[Any]) -> Statement:
        keyword, condition, body, *other = parts
        docs: list[Doc] = [self.words([keyword, condition, body])]
        if other:
            word = other[0]
            behind = isinstance(body[-1], tuple)  # a comment after the `}`
            commented = behind or self.base + word.start_pos in self.remarks.before
            docs += (LINE if commented else SPACE, self.words(other))
        return self.statement(keyword, tuple(docs))

    # -- expressions

    def name(self, parts: list[Token]) -> Doc:
        return self.doc(parts[0])

    single = integer = real = truth = name

    def paren(self, parts: list[Any]) -> Doc:
        opener, inside, closer = parts
        return self.enclosed(opener, self.doc(inside, indent=False), closer)

    def unary(self, parts: list[Any]) -> Doc:
        sign, operand = parts
        return self.side(parts) if sign.type == "MINUS" else self.words([sign, operand])

    def binary(self, parts: list[Any]) -> Chain:
        left, operator, right = parts
        level = _LEVELS.get(operator.type, operator.type)
        link = (LINE, self.doc(operator), SPACE, self.doc(right))
        if isinstance(left, Chain) and left.level == level:
            left.rest.append(link)
            return left
        return Chain(level, self.doc(left), [link])

    where = pipe = binary

    def call(self, parts: list[Any]) -> Doc:
        """`f.label[axes](arguments)`, `scan[seq] f(...)`; in a pipe there may be no arguments."""
        docs: list[Doc] = []
        parts = list(parts)
        if _is(parts[0], "SCAN"):
            word, opener, axis, closer = parts[:4]
            docs += (self.doc(word), self.enclosed(opener, self.doc(axis), closer), SPACE)
            del parts[:4]
        given = next((at for at, part in enumerate(parts) if _is(part, "LPAR")), len(parts))
        docs += map(self.doc, parts[:given])
        if given < len(parts):
            opener, *inside, closer = parts[given:]
            docs.append(self.enclosed(opener, inside[0] if inside else EMPTY, closer))
        return tuple(docs)

    stage = scan = call

    def arg(self, parts: list[Any]) -> Doc:
        return self.words(parts)

    item = item_as = item_is = item_at = arg

    def index(self, parts: list[Any]) -> Doc:
        return self.side(parts)

    index_name = index

    def brackets(self, parts: list[Any]) -> Doc:
        opener, *inside, closer = parts
        docs: list[Doc] = []
        for part in inside:
            if _is(part, "ARROW"):
                docs += (SPACE, self.doc(part), SPACE)
            elif _is(part, "COLON"):
                docs += (self.doc(part), SPACE)
            else:
                docs.append(self.doc(part))
        return self.enclosed(opener, group(*docs), closer)


def _is(part: Any, kind: str) -> bool:
    return isinstance(part, Token) and part.type == kind
