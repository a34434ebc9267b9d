"""`.attn` text to a tree: a reader of the tests' own, by recursive descent, after the grammar in LANGUAGE.md.

It shares nothing with `dsl/`: the referee, who says whether a mutant is wrong, reads with it.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeVar

T = TypeVar("T")


class Unreadable(Exception):
    """No sentence of the language. line: from 1."""

    def __init__(self, line: int, what: str) -> None:
        super().__init__(f"line {line}: {what}")
        self.line, self.what = line, what


@dataclass
class Item:
    """One entry in brackets: `name`, `name as other` or `name = value`."""

    name: str
    other: str | None = None
    value: Expr | None = None


@dataclass
class Expr:
    """kind: name, number, truth, size, binary, unary, where, index or call; text: the name or operator."""

    kind: str
    line: int
    text: str = ""
    value: float | int | bool = 0
    parts: list[Expr] = field(default_factory=list)
    items: list[Item] | None = None
    each: list[str] | None = None
    made: list[str] | None = None
    label: str | None = None
    names: list[str | None] = field(default_factory=list)  # of the arguments
    scan: str | None = None


@dataclass
class TypeText:
    element: str | None
    axes: list[str]


@dataclass
class Stmt:
    """kind: assign, param, expect, share, repeat, if, axis, const or return."""

    kind: str
    line: int
    targets: list[str] = field(default_factory=list)
    type: TypeText | None = None
    values: list[Expr] = field(default_factory=list)
    body: list[Stmt] = field(default_factory=list)
    other: list[Stmt] = field(default_factory=list)
    text: str = ""
    shared: bool = False
    index: str | None = None


@dataclass
class AxisText:
    """relation: "", "=", "<=" or "like"."""

    line: int
    kind: str
    name: str
    relation: str = ""
    size: Expr | None = None
    like: str | None = None


@dataclass
class FormalText:
    name: str
    type: TypeText
    default: Expr | None


@dataclass
class ResultText:
    name: str | None
    type: TypeText
    causal: list[str]


@dataclass
class BlockText:
    line: int
    keyword: str
    name: str
    generics: list[AxisText]
    formals: list[FormalText]
    results: list[ResultText]
    body: list[Stmt]
    target: str = ""


@dataclass
class FileText:
    uses: list[tuple[int, str, list[str]]] = field(default_factory=list)
    axes: list[AxisText] = field(default_factory=list)
    consts: list[tuple[int, str, Expr]] = field(default_factory=list)
    configs: dict[str, list[tuple[str, Expr]]] = field(default_factory=dict)
    blocks: list[BlockText] = field(default_factory=list)


TOKEN = re.compile(
    r"[ \t]*(?:#[^\n]*)?(?:(?P<nl>\n)|(?P<number>[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?)|(?P<name>[A-Za-z_]\w*)"
    r'|(?P<string>"[^"\n]*")|(?P<sign><=|>=|==|!=|->|\|>|[-+*/%^<>=|()\[\]{},:.~]))'
)
CONTINUES = {"->", "|>", "+", "*", "/", "^", "%", "-", "where", "and", "or", "else"}


def tokens(text: str) -> list[tuple[str, str, int]]:
    """(kind, text, line); a newline that means nothing is left out."""
    found: list[tuple[str, str, int]] = []
    at, line, depth = 0, 1, 0
    text = text.rstrip() + "\n"
    while at < len(text):
        match = TOKEN.match(text, at)
        if match is None:
            raise Unreadable(line, f"{text[at : at + 10]!r}")
        at = match.end()
        kind = match.lastgroup or ""
        word = match[kind]
        if kind == "nl":
            line += 1
            if depth == 0 and found and found[-1][0] != "nl" and found[-1][1] != ",":
                found.append(("nl", "\n", line - 1))
            continue
        if word in CONTINUES and found and found[-1][0] == "nl":
            found.pop()
        depth += (word in "([") - (word in ")]") if kind == "sign" else 0
        found.append((kind, word, line))
    found.append(("end", "", line))
    return found


class Reader:
    def __init__(self, text: str) -> None:
        self.tokens = tokens(text)
        self.at = 0

    # -- small things --------------------------------------------------------------------------------------------

    @property
    def word(self) -> str:
        return self.tokens[self.at][1]

    @property
    def kind(self) -> str:
        return self.tokens[self.at][0]

    @property
    def line(self) -> int:
        return self.tokens[self.at][2]

    def take(self, word: str | None = None) -> str:
        if word is not None and self.word != word:
            raise Unreadable(self.line, f"{word!r} is due, not {self.word!r}")
        self.at += 1
        return self.tokens[self.at - 1][1]

    def may(self, word: str) -> bool:
        if self.word == word and self.kind != "string":
            self.at += 1
            return True
        return False

    def name(self) -> str:
        if self.kind != "name":
            raise Unreadable(self.line, f"a name is due, not {self.word!r}")
        return self.take()

    def names(self) -> list[str]:
        found = [self.name()]
        while self.may(","):
            found.append(self.name())
        return found

    def newlines(self) -> None:
        while self.kind == "nl":
            self.at += 1

    def listed(self, close: str, one: Callable[[], T]) -> list[T]:
        found: list[T] = []
        while not self.may(close):
            found.append(one())
            if not self.may(","):
                self.take(close)
                break
        return found

    # -- files ---------------------------------------------------------------------------------------------------

    def file(self) -> FileText:
        made = FileText()
        self.newlines()
        while self.kind != "end":
            self.item(made)
            self.newlines()
        return made

    def item(self, made: FileText) -> None:
        line, word = self.line, self.name()
        if word == "use":
            path = self.name()
            while self.may("."):
                path += "." + self.name()
            self.take(":")
            made.uses.append((line, path, self.names()))
        elif word in ("width", "depth"):
            made.axes += self.axes(line, word)
        elif word == "const":
            made.consts += self.consts(line)
        elif word == "config":
            name = self.name()
            self.take("{")
            made.configs[name] = self.listed("}", self.setting)
        elif word in ("block", "model", "op"):
            made.blocks.append(self.block(line, word))
        else:
            raise Unreadable(line, f"{word!r} begins nothing")

    def setting(self) -> tuple[str, Expr]:
        name = self.name()
        self.take("=")
        return name, self.expr()

    def axes(self, line: int, kind: str) -> list[AxisText]:
        found = [self.axis(line, kind)]
        while self.may(","):
            found.append(self.axis(line, kind))
        return found

    def axis(self, line: int, kind: str) -> AxisText:
        name = self.name()
        if self.may("as"):
            self.name()
        if self.may("like"):
            return AxisText(line, kind, name, "like", like=self.name())
        for relation in ("=", "<="):
            if self.may(relation):
                bound = self.sum()
                self.may("ragged")
                return AxisText(line, kind, name, relation, bound)
        self.may("ragged")
        return AxisText(line, kind, name)

    def consts(self, line: int) -> list[tuple[int, str, Expr]]:
        found = [(line, *self.setting())]
        while self.may(","):
            found.append((line, *self.setting()))
        return found

    def block(self, line: int, keyword: str) -> BlockText:
        name = self.name()
        if self.may("as"):
            self.take()  # what figures call it
        generics = self.listed("]", self.generic) if self.may("[") else []
        self.take("(")
        formals = self.listed(")", self.formal)
        results: list[ResultText] = []
        if self.may("->"):
            results = self.listed(")", self.result) if self.may("(") else [self.result()]
        if keyword == "op":
            self.take("=")
            return BlockText(line, keyword, name, generics, formals, results, [], self.take()[1:-1])
        return BlockText(line, keyword, name, generics, formals, results, self.body())

    def generic(self) -> AxisText:
        line, name = self.line, self.name()
        self.take(":")
        kind = self.name()
        like = self.name() if self.may("like") else None
        size = self.sum() if self.may("=") else None
        return AxisText(line, kind, name, "like" if like else "=" if size else "", size, like)

    def formal(self) -> FormalText:
        name = self.name()
        self.take(":")
        return FormalText(name, self.type(), self.expr() if self.may("=") else None)

    def result(self) -> ResultText:
        name = None
        if self.kind == "name" and self.tokens[self.at + 1][1] == ":":
            name = self.name()
            self.take(":")
        written = self.type()
        return ResultText(name, written, [self.name()] if self.may("causal") else [])

    def type(self) -> TypeText:
        element = self.name() if self.kind == "name" else None
        self.take("[")
        return TypeText(element, self.listed("]", self.name))

    # -- statements ----------------------------------------------------------------------------------------------

    def body(self) -> list[Stmt]:
        self.take("{")
        found: list[Stmt] = []
        self.newlines()
        while not self.may("}"):
            found += self.statement()
            if self.word != "}" and self.kind != "nl":
                raise Unreadable(self.line, f"{self.word!r} after a statement")
            self.newlines()
        return found

    def statement(self) -> list[Stmt]:
        line, word = self.line, self.word
        following = self.tokens[self.at + 1]
        if word == "return":
            self.take()
            values = [self.expr()]
            while self.may(","):
                values.append(self.expr())
            return [Stmt("return", line, values=values)]
        if word == "repeat":
            return [self.repeat(line)]
        if word == "if":
            self.take()
            test = self.expr()
            then = self.body()
            other = self.body() if self.may("else") else []
            return [Stmt("if", line, values=[test], body=then, other=other)]
        if word in ("width", "depth") and following[0] == "name":
            self.take()
            return [
                Stmt("axis", line, [axis.name], values=[axis.size] if axis.size else [], text=word, index=axis.like)
                for axis in self.axes(line, word)
            ]
        if word == "const" and following[0] == "name":
            self.take()
            return [Stmt("const", line, [name], values=[value]) for _, name, value in self.consts(line)]
        if word in ("param", "expect", "share") and following[0] == "name":
            return [getattr(self, word)(line)]
        return [self.assign(line)]

    def repeat(self, line: int) -> Stmt:
        self.take()
        label = self.name() if self.may(".") else None
        index = None
        if self.tokens[self.at + 1][1] == "in":
            index = self.name()
            self.take("in")
        count = self.sum()
        shared = self.may("shared")
        name = label or (count.text if count.kind == "name" else "")
        return Stmt("repeat", line, values=[count], body=self.body(), text=name, shared=shared, index=index)

    def param(self, line: int) -> Stmt:
        self.take()
        name = self.name()
        self.take(":")
        written = self.type()
        if self.may("~"):
            self.expr()
        self.may("frozen")
        return Stmt("param", line, [name], written)

    def expect(self, line: int) -> Stmt:
        self.take()
        name = self.name()
        self.take(":")
        return Stmt("expect", line, [name], self.type())

    def share(self, line: int) -> Stmt:
        self.take()
        name = self.name()
        self.take("=")
        return Stmt("share", line, [name], text=self.name())

    def assign(self, line: int) -> Stmt:
        targets = self.names()
        written = self.type() if len(targets) == 1 and self.may(":") else None
        self.take("=")
        return Stmt("assign", line, targets, written, [self.expr()])

    # -- expressions, loosest first ------------------------------------------------------------------------------

    def expr(self) -> Expr:
        left = self.pipe()
        if self.word == "where":
            line = self.line
            self.take()
            return Expr("where", line, parts=[left, self.chain(0)])
        return left

    def pipe(self) -> Expr:
        left = self.chain(0)
        while self.may("|>"):
            stage = self.postfix_name()
            if stage.kind == "name":
                stage = Expr("call", stage.line, stage.text)
            elif stage.kind == "index":
                stage = Expr("call", stage.line, stage.parts[0].text, items=stage.items, each=stage.each,
                             made=stage.made)  # fmt: skip
            stage.parts.insert(0, left)
            stage.names.insert(0, None)
            left = stage
        return left

    LEVELS = (("or",), ("and",), ("<=", ">=", "==", "!=", "<", ">"), ("+", "-"), ("*", "/", "%"))

    def chain(self, level: int) -> Expr:
        if level == len(self.LEVELS):
            return self.prefix()
        if level == 2 and self.word == "not":
            line = self.line
            self.take()
            return Expr("unary", line, "not", parts=[self.chain(2)])
        left = self.chain(level + 1)
        while self.word in self.LEVELS[level] and self.kind != "string":
            line, op = self.line, self.take()
            left = Expr("binary", line, op, parts=[left, self.chain(level + 1)])
            if level == 2:
                break
        return left

    def sum(self) -> Expr:
        return self.chain(3)

    def prefix(self) -> Expr:
        if self.word == "-":
            line = self.line
            self.take()
            return Expr("unary", line, "neg", parts=[self.prefix()])
        base = self.postfix()
        if self.word == "^":
            line = self.line
            self.take()
            return Expr("binary", line, "^", parts=[base, self.prefix()])
        return base

    def postfix(self) -> Expr:
        line = self.line
        if self.kind == "number":
            text = self.take()
            return Expr("number", line, value=float(text) if re.search(r"[.eE]", text) else int(text))
        if self.word in ("true", "false"):
            return Expr("truth", line, value=self.take() == "true")
        if self.may("|"):
            name = self.name()
            self.take("|")
            return Expr("size", line, name)
        if self.may("("):
            found = self.expr()
            self.take(")")
        else:
            found = self.postfix_name()
        while self.word == "[":
            found = self.indexed(found)
        return found

    def postfix_name(self) -> Expr:
        line = self.line
        scan = None
        if self.word == "scan":
            self.take()
            self.take("[")
            scan = self.name()
            self.take("]")
        name = self.name()
        label = self.name() if self.may(".") else None
        found = Expr("name", line, name, label=label)
        brackets = self.indexed(found) if self.word == "[" else None
        if self.word != "(":
            if label or scan:
                if brackets is not None:  # in a pipe
                    return Expr("call", line, name, items=brackets.items, each=brackets.each, made=brackets.made,
                                label=label, scan=scan)  # fmt: skip
                return Expr("call", line, name, label=label, scan=scan)
            return brackets or found
        self.take("(")
        call = Expr("call", line, name, label=label, scan=scan)
        if brackets is not None:
            call.items, call.each, call.made = brackets.items, brackets.each, brackets.made
        for given, value in self.listed(")", self.argument):
            call.names.append(given)
            call.parts.append(value)
        return call

    def argument(self) -> tuple[str | None, Expr]:
        if self.kind == "name" and self.tokens[self.at + 1][1] == "=":
            name = self.name()
            self.take("=")
            return name, self.expr()
        return None, self.expr()

    def indexed(self, value: Expr) -> Expr:
        line = self.line
        self.take("[")
        items: list[Item] = []
        each: list[str] | None = None
        while True:
            items.append(self.bracket_item())
            if self.may(":"):
                each, items = [item.name for item in items], []
            elif not self.may(","):
                break
        made = self.names() if self.may("->") else None
        self.take("]")
        return Expr("index", line, parts=[value], items=items, each=each, made=made)

    def bracket_item(self) -> Item:
        name = self.name()
        if self.may("as"):
            return Item(name, other=self.name())
        if self.may("="):
            return Item(name, value=self.expr())
        return Item(name)


def read(text: str) -> FileText:
    return Reader(text).file()
