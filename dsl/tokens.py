"""The words of the language, and its tokens, with all that is none: `slip` and `bad`, `misnumber`."""

from __future__ import annotations

import re

ITEM_WORDS = ("use", "width", "depth", "const", "param", "config", "op", "block", "model")
# What other languages call them.
ITEM_ALIASES = {
    "def": "block", "fn": "block", "func": "block", "function": "block", "layer": "block", "class": "model",
    "module": "model", "network": "model", "import": "use", "from": "use", "include": "use", "dim": "depth",
    "axis": "depth", "let": "const", "var": "const", "end": "",
}  # fmt: skip
STATEMENT_WORDS = ("return", "repeat", "if", "share", "expect", "param", "width", "depth", "const")
JOINING_WORDS = ("and", "or")  # of two truth values
TRUTH_WORDS = (*JOINING_WORDS, "not")

RESERVED = frozenset((*STATEMENT_WORDS, *TRUTH_WORDS, "else", "false", "scan", "true", "where"))
"""Words that are no names anywhere. (The terminal NAME of grammar.lark excludes the same; a test compares.)"""

QUOTES = "\u201c\u201d\u201e\u201f\u2018\u2019\u201a\u201b\u00ab\u00bb\u2039\u203a\u2032\u2033\uff02"
"""Those of word processors, and what looks like them."""

TOKEN = re.compile(
    r"""(?P<space>[ \t]+|\A\ufeff)
    | (?P<newline>\r?\n)
    | (?P<word>[A-Za-z_][A-Za-z0-9_]*)
    | (?P<number>[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?(?![A-Za-z0-9_.]))
    | (?P<misnumber>\.?[0-9](?:[0-9A-Za-z_.]|(?<=[0-9.][eE])[+-])*)
    | (?P<slip>\*\*|//|/\*|&&|\|\||!==|===|<>|=<|=>|:=|\.\.\.|[-+*/%^]=)
    | (?P<open>[(\[{])
    | (?P<close>[)\]}])
    | (?P<operator>->|\|>|<=|>=|==|!=|[-+*/^%<>=,~])
    | (?P<other>[:.|])
    | (?P<comment>\#[^\r\n]*)
    | (?P<string>"[^"\r\n]*")
    | (?P<bad>.)
    """,
    re.VERBOSE | re.DOTALL,
)
