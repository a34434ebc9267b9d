"""Where the parser could not go on, what it would have taken there, and the words for that."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from ..layout import ITEM_WORDS, STATEMENT_WORDS, TRUTH_WORDS
from ..source import Source, Span

RESERVED = frozenset((*STATEMENT_WORDS, *TRUTH_WORDS, "else", "false", "scan", "true", "where"))
"""Words that are no names anywhere. (The terminal NAME of grammar.lark excludes the same; a test compares.)"""

AFTER_A_WORD = re.compile(rf"[ \t]+({'|'.join(ITEM_WORDS)}|repeat)(\.\w+)?[ \t]+(?=[A-Za-z_0-9])")

# Attributes of values in other languages.
SIZE, ORDER = "`|seq|` is the size of the axis `seq`", "axes have names and no order: nothing is transposed"
ATTRIBUTES = {**dict.fromkeys(("shape", "size", "ndim"), SIZE), **dict.fromkeys(("T", "mT", "H"), ORDER)}
COMPARISONS = frozenset(("LESSEQUAL", "GREATEREQUAL", "EQUALS", "DIFFERS", "LESS", "GREATER"))
ARITHMETIC = frozenset(("PLUS", "MINUS", "STAR", "SLASH", "PERCENT", "CARET"))
OPERATORS = COMPARISONS | ARITHMETIC | {"AND", "OR", "_WHERE", "PIPE"}
EXPRESSION = frozenset(("NAME", "INT", "FLOAT", "TRUE", "FALSE", "BAR", "LPAR", "MINUS", "NOT", "SCAN"))
_STATEMENT = frozenset(("NAME", "RETURN", "EXPECT", "SHARE", "REPEAT", "IF", "PARAM", "WIDTH", "DEPTH", "CONST"))
_SUFFIXES = frozenset(("LPAR", "LSQB", "DOT"))
WORDS = {"NAME": "a name", "STRING": 'a text such as `"module:function"`'}
_SIGNS = {
    "LPAR": "(", "RPAR": ")", "LSQB": "[", "RSQB": "]", "LBRACE": "{", "RBRACE": "}", "BAR": "|", "EQUAL": "=",
    "LESSEQUAL": "<=", "COMMA": ",", "COLON": ":", "DOT": ".", "TILDE": "~", "PIPE": "|>", "ARROW": "->",
}  # fmt: skip
_KINDS = {  # as the table of slips has them
    "NAME": frozenset(("NAME",)), "0": frozenset(("INT",)), "0.5": frozenset(("FLOAT",)), '""': frozenset(("STRING",)),
    "OP": OPERATORS, "CMP": COMPARISONS, "VAL": EXPRESSION - {"MINUS"} | {"LSQB"},
}  # fmt: skip


MARKS = str.maketrans("▸◂⏎", "\x01\x02\x03")  # of the table, in the text around; letters of ASCII compile faster


@dataclass(frozen=True, slots=True)
class Stumble:
    """Where the parser gave up, as rows of the table see it."""

    text: str  # what stands there, "" at the end of the line
    kind: str  # its terminal
    half: bool  # whether the parser took the first half of it for another sign
    accepts: frozenset[str]  # the terminals that it would have taken
    span: Span  # of what was found
    before: str  # the text of the item up to it
    previous: str  # the last token of `before`
    line: str  # the logical line up to it
    values: list[Any]  # the parser's stack: tokens and finished nodes
    newline: bool  # whether a newline stands between the previous token and this one

    @property
    def source(self) -> Source:
        return self.span.source

    @property
    def rest(self) -> str:
        """The text of the source behind what was found."""
        return self.source.text[self.span.end :]

    @property
    def gap(self) -> str:
        return self.before[len(self.before.rstrip()) :]

    @property
    def previous_span(self) -> Span:
        end = self.span.start - len(self.gap)
        return Span(self.source, end - len(self.previous), end)

    @property
    def after_place(self) -> bool:
        """Behind a name or number in brackets: most likely an axis, though it may be the place of a list's number."""
        return {"PLUS", "STAR"} <= self.accepts and "CARET" not in self.accepts

    @property
    def opener(self) -> str:
        """The innermost bracket that is open here."""
        stack: list[str] = []
        for sign in re.findall(r"[][(){}]", self.before):
            if sign in "([{":
                stack.append(sign)
            elif stack:
                stack.pop()
        return stack[-1] if stack else ""

    @property
    def founds(self) -> list[str]:
        """What was found, as rows of the table have it at their mark: the text itself, and what it is one of."""
        found = f"{self.text[0]}▸{self.text[1]}" if self.half else self.text
        word = ["WORD"] if self.text in RESERVED else []
        return [found, *word, *(name for name, kinds in _KINDS.items() if self.kind in kinds), "…"]

    @property
    def lead(self) -> str:
        """The text up to what was found, as patterns of the table see it: the logical line begins behind a newline."""
        start = len(self.before) - len(self.line)
        gap = "\x03" if self.newline else self.gap
        line = self.line.rstrip() + gap if self.line.strip() else self.line
        return f"{self.before[:start]}\n{line}"

    @property
    def marked(self) -> str:
        """The text around, with marks at the borders of what was found: characters that no text of ours has."""
        end = self.source.text.find("\n}", self.span.end)
        return f"{self.lead}\x01{self.text}\x02{self.source.text[self.span.end : end if end >= 0 else None]}\n"

    def place(self, at: int) -> int:
        """The offset in the source of one in the marked text; before the mark it is no further than the last token."""
        begin = len(self.lead)
        if at <= begin:
            newline = at > len(self.before) - len(self.line)
            return self.span.start - len(self.before) + min(at - newline, len(self.before.rstrip()))
        return self.span.start + at - begin - (1 if at <= begin + 1 + len(self.text) else 2)


@dataclass(frozen=True, slots=True)
class Finding:
    """What is said of a slip; what it leaves empty is filled in from the words for found and expected."""

    help: str = ""
    code: str = "E0101"
    message: str = ""
    label: str = ""
    span: Span | None = None
    fix: tuple[tuple[Span, str], ...] = ()


def wanted(at: Stumble) -> list[str]:
    """What would have been right, as words for a sentence."""
    accepts = set(at.accepts)
    words = []
    if "USE" in accepts:
        return ["`block`, `model` or a declaration"]
    if "RETURN" in accepts:
        words.append("a statement")
        accepts -= _STATEMENT | {"_NL"}
    if "TRUE" in accepts:
        words.append("an expression")
        accepts -= EXPRESSION | {"LSQB"}
    elif "INT" in accepts:  # brackets hold names: what else they take is read off lists alone
        accepts -= {"INT", "FLOAT", "BAR", "LPAR"}
    if at.after_place:
        accepts -= ARITHMETIC | _SUFFIXES
    if "LPAR" in accepts:  # a display name is rarely what was meant
        accepts.discard("_AS")
    if "PLUS" in accepts:  # not `*`: by then the parser may have taken a sum for finished
        words.append("an operator")
        accepts -= OPERATORS | _SUFFIXES
    words += (word for kind, word in WORDS.items() if kind in accepts)
    ends = accepts & {"_NL", "$END"}
    words += [f"`{sign}`" for sign in sorted(map(spelling, accepts - WORDS.keys() - ends))]
    return words + ["the end of the line"] * bool(ends)


def spelling(kind: str) -> str:
    return _SIGNS.get(kind, kind.strip("_").lower())


def listed(words: list[str]) -> str:
    return " or ".join((", ".join(words[:-1]), words[-1])) if len(words) > 1 else "".join(words) or "nothing more"
