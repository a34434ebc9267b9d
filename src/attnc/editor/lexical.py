"""What stands around the cursor in a text that need not parse: words, and the brackets that are open."""

from __future__ import annotations

import re
from dataclasses import dataclass

from ..compiler.graph.values import Scalar
from ..dsl.layout import MAX_DEPTH

WORDS = {
    "use": "brings blocks, axes and consts from another file, or from the library `std`",
    "width": "an axis that counts items: a sequence, patches, slots",
    "depth": "an axis of the information that each item holds; its size is known at build time",
    "const": "a number known at build time, or a list of them",
    "param": "a named weight, stored as written",
    "config": "sizes and consts under a name: `--config name`",
    "op": "a primitive of your own, in Python",
    "block": "a part of an architecture; its axes are parameters that each call names",
    "model": "a block that stands alone, with its inputs and outputs in memory order",
    "return": "the results of the block, in declared order",
    "repeat": "the body, as many times; each pass has weights of its own, unless `shared`",
    "shared": "one set of weights for all passes",
    "if": "decided at build time: both branches are checked, the one that is taken owns weights",
    "else": "the branch of an `if` that does not hold",
    "share": "one set of weights for many calls: `share f = block`",
    "expect": "a checked comment: the type that a variable has here",
    "where": "the items that an op is to see: `softmax[k](s where m)`; what is masked weighs exactly 0",
    "scan": "calls a block at each index in order: `scan[seq] cell(x, h = 0)`",
    "causal": "a promise that is proved: no item of the result depends on a later item of an input",
    "trusted": "why a claim holds that is not proved: `causal seq trusted \"...\"`; it is believed, with a warning",
    "like": "a second copy of an axis: the same size, another name",
    "as": "another name: `x[a as b]` renames to a copy of the axis, `model as m` is what diagrams show",
    "frozen": "not trained",
    "ragged": "a width whose length differs from example to example: the lengths are an input",
    "in": "the number of the pass, `repeat i in layers`, or each number of a list: `repeat near in windows`",
    "and": "both", "or": "one of the two, or both", "not": "the opposite",
    "true": "a truth value", "false": "a truth value",
    Scalar.BOOL.value: "truth values", Scalar.INT.value: "whole numbers", Scalar.REAL.value: "real numbers",
    "raw": "`raw(w)`: the value without its mark, so that a `dot` may sum it over any axis",
    "pi": "3.14159...",
}  # fmt: skip
"""The words of the language, each in a line."""

_TOKEN = re.compile(
    r"#[^\n]*|\"[^\"\n]*\"?|[A-Za-z_][A-Za-z0-9_]*|[0-9][0-9A-Za-z_.]*|->|\|>|<=|>=|==|!=|\n|[^\s\ufeff]", re.ASCII
)
_WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_]*", re.ASCII)
_CLOSERS = {")": "(", "]": "[", "}": "{"}
BEGINS = frozenset(("use", "width", "depth", "const", "param", "config", "op", "block", "model"))


@dataclass(frozen=True, slots=True)
class Token:
    text: str
    start: int
    end: int

    @property
    def is_name(self) -> bool:
        return _WORD.fullmatch(self.text) is not None


def tokens(text: str, start: int = 0, end: int | None = None) -> list[Token]:
    return [
        Token(m.group(), m.start(), m.end()) for m in _TOKEN.finditer(text, start, len(text) if end is None else end)
    ]


def word_at(text: str, offset: int) -> Token | None:
    """The name or word that an offset is in, or right behind."""
    start = text.rfind("\n", 0, offset) + 1
    for found in _WORD.finditer(text, start):
        if found.start() > offset:
            return None
        if offset <= found.end():
            return Token(found.group(), found.start(), found.end())
    return None


@dataclass(frozen=True, slots=True)
class Opened:
    """A bracket that is open at the cursor. `head`: the tokens right before it; `inside`: those after it."""

    bracket: str
    at: int
    head: tuple[Token, ...]
    inside: tuple[Token, ...]

    @property
    def parts(self) -> list[list[Token]]:
        """What stands between the commas of this bracket; the last part is that of the cursor."""
        parts: list[list[Token]] = [[]]
        depth = 0
        for token in self.inside:
            if token.text in "([{":
                depth += 1
            elif token.text in ")]}":
                depth -= 1
            if token.text == "," and depth == 0:
                parts.append([])
            else:
                parts[-1].append(token)
        return parts


@dataclass(frozen=True, slots=True)
class Around:
    """What the text says of a place. line: the tokens of its line (or statement over lines) up to the word at hand.

    word:   what is being typed, up to the cursor. opened: the open brackets, innermost last.
    silent: in a comment or a text.
    """

    before: tuple[Token, ...]
    line: tuple[Token, ...]
    word: str
    start: int
    opened: tuple[Opened, ...]
    silent: bool

    @property
    def previous(self) -> str:
        return self.line[-1].text if self.line else ""

    @property
    def inner(self) -> Opened | None:
        return self.opened[-1] if self.opened else None


def around(text: str, offset: int) -> Around:
    """What stands around an offset: read from the last line before it that begins an item."""
    begin = _item_begin(text, offset)
    found = tokens(text, begin, offset)
    silent = bool(found) and found[-1].end == offset and _unfinished(found[-1].text)
    word, start = "", offset
    if found and found[-1].end == offset and found[-1].is_name:
        word, start = found[-1].text, found[-1].start
        found.pop()
    found = [token for token in found if not token.text.startswith("#")]
    stack: list[int] = []
    for index, token in enumerate(found):
        if token.text in ("(", "[", "{"):
            stack.append(index)
        elif token.text in _CLOSERS and stack:
            stack.pop()
    if len(stack) > MAX_DEPTH:  # no spec: nothing to say of it
        return Around((), (), word, start, (), silent=True)
    opened = tuple(_opened(found, index) for index in stack)
    line: list[Token] = []
    for token in reversed(found):
        if token.text in ("\n", "{", "}") and not any(o.bracket != "{" and o.at < token.start for o in opened):
            break
        if token.text != "\n":
            line.append(token)
    return Around(tuple(t for t in found if t.text != "\n"), tuple(reversed(line)), word, start, opened, silent)


def _unfinished(text: str) -> bool:
    return text.startswith("#") or (text.startswith('"') and (len(text) == 1 or not text.endswith('"')))


def _item_begin(text: str, offset: int) -> int:
    """Where the last item before an offset begins: a line that begins with one of its words, unindented."""
    at = offset
    while at > 0:
        at = text.rfind("\n", 0, at - 1) + 1 if at - 1 >= 0 else 0
        word = _WORD.match(text, at)
        if word is not None and word.group() in BEGINS and word.end() <= offset:
            return at
        if at == 0:
            break
    return 0


def _opened(found: list[Token], index: int) -> Opened:
    """The head of a call runs back over `name`, `name.label`, `name.label[...]`."""
    head: list[Token] = []
    at = index - 1
    if at >= 0 and found[index].text == "(" and found[at].text == "]":
        depth = 0
        while at >= 0:
            depth += (found[at].text == "]") - (found[at].text == "[")
            at -= 1
            if depth == 0:
                break
    while at >= 0 and (found[at].is_name or found[at].text == "."):
        if head and found[at].is_name and head[0].text != ".":
            break
        head.insert(0, found[at])
        at -= 1
    inside = tuple(t for t in found[index + 1 :] if t.text != "\n")
    return Opened(found[index].text, found[index].start, tuple(head), inside)
