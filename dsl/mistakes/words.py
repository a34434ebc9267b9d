"""The words of the language: how terminals are called, and which word another one was meant for."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable
from difflib import get_close_matches
from functools import lru_cache

from ..tokens import ITEM_ALIASES, ITEM_WORDS, STATEMENT_WORDS, TRUTH_WORDS

FINITE = "numbers are finite: `softmax[k](s where m)` leaves items out, and `-1e30` is below all scores"


def piece(value: str, axis: str = "axis", first: str = "0", size: str = "...", more: str = "") -> str:
    """How `value[axis = first:...]` is written here; `more` stands behind it in the brackets."""
    index = "int(piece)" if first == "0" else f"int(piece) + {first}"
    return (
        f"a piece of an axis is an axis of its own: declare `depth piece = {size}`, "
        f"and write `{value}[{axis} = {index}{more}]`"
    )


COMPARISONS = frozenset(("LESSEQUAL", "GREATEREQUAL", "EQUALS", "DIFFERS", "LESS", "GREATER"))
ARITHMETIC = frozenset(("PLUS", "MINUS", "STAR", "SLASH", "PERCENT", "CARET"))
OPERATORS = COMPARISONS | ARITHMETIC | {"AND", "OR", "_WHERE", "PIPE"}
EXPRESSION = frozenset(("NAME", "INT", "FLOAT", "TRUE", "FALSE", "BAR", "LPAR", "MINUS", "NOT", "SCAN"))
_STATEMENT = frozenset(("NAME", "RETURN", "EXPECT", "SHARE", "REPEAT", "IF", "PARAM", "WIDTH", "DEPTH", "CONST"))
_SUFFIXES = frozenset(("LPAR", "LSQB", "DOT"))
# Where the first may stand, one word tells of all of the last; none: they are not worth telling.
_TOGETHER = (
    ("RETURN", "a statement", _STATEMENT | {"_NL"}),
    ("TRUE", "an expression", EXPRESSION | {"LSQB"}),
    ("INT", "", {"INT", "FLOAT", "BAR", "LPAR"}),  # brackets hold names: what else they take is read off lists alone
    ("LPAR", "", {"_AS"}),  # a display name is rarely what was meant
    ("PLUS", "an operator", OPERATORS | _SUFFIXES),  # not `*`: by then the parser may have taken a sum for finished
)
_NAMED = {"NAME": "a name", "STRING": 'a text such as `"module:function"`'}
_SIGNS = {
    "LPAR": "(", "RPAR": ")", "LSQB": "[", "RSQB": "]", "LBRACE": "{", "RBRACE": "}", "BAR": "|", "EQUAL": "=",
    "LESSEQUAL": "<=", "COMMA": ",", "COLON": ":", "DOT": ".", "TILDE": "~", "PIPE": "|>", "ARROW": "->",
}  # fmt: skip


def wanted(accepts: frozenset[str]) -> str:
    """What would have been right, where the parser would have taken these terminals."""
    if "USE" in accepts:
        return "`block`, `model` or a declaration"
    if {"PLUS", "STAR"} <= accepts and "CARET" not in accepts:
        accepts -= ARITHMETIC | _SUFFIXES  # in brackets: most likely an axis, though lists have numbers for places
    words = []
    for first, word, others in _TOGETHER:
        if first in accepts:
            words += [word] if word else []
            accepts -= others
    words += (word for kind, word in _NAMED.items() if kind in accepts)
    ends = accepts & {"_NL", "$END"}
    words += [f"`{sign}`" for sign in sorted(map(spelling, accepts - _NAMED.keys() - ends))]
    words += ["the end of the line"] * bool(ends)
    return " or ".join((", ".join(words[:-1]), words[-1])) if len(words) > 1 else "".join(words) or "nothing more"


def spelling(kind: str) -> str:
    return _SIGNS.get(kind, kind.strip("_").lower())


@lru_cache(1000)
def what_was_meant(word: str, known: tuple[str, ...]) -> str | None:
    """The word that was meant by a misspelt one."""
    return next(iter(get_close_matches(word.lower(), known, 1, 0.72)), None)


def begun_item(word: str) -> str:
    """The word that begins an item, for one that is misspelt, or another language's; or ""."""
    return ITEM_ALIASES.get(word, what_was_meant(word, ITEM_WORDS) or "")


def _here(word: str, accepts: frozenset[str]) -> str | None:
    """A word that the parser would have taken, with letters turned round or missing."""
    known = sorted(filter(str.isalpha, map(spelling, accepts - _NAMED.keys())))
    meant = what_was_meant(word, tuple(known)) if len(word) > 2 else None
    # `annd` is `and` for sure; of letters added there may come another operator.
    return None if meant in TRUTH_WORDS and re.sub(r"(.)\1+", r"\1", word.lower()) != meant else meant


def _called(sign: str) -> str:
    name = unicodedata.name(sign, "").lower()
    return f" ({name})" if name and not (sign.isascii() and sign.isprintable()) else ""


WAYS: dict[str, Callable[[str, frozenset[str]], str | None]] = {
    "theirs": lambda word, _: ITEM_ALIASES.get(word) or None,
    "item": lambda word, _: None if word in ITEM_ALIASES else what_was_meant(word, ITEM_WORDS),
    "statement": lambda word, _: what_was_meant(word, STATEMENT_WORDS),
    "here": _here,
    "other": lambda name, _: "z" if name == "y" else "y",
    "name": lambda name, _: name.replace("-", "_"),
    "decimal": lambda number, _: str(int(number, 0)) if int(number, 0) < 10**18 else None,  # no more digits fit
    "digits": lambda number, _: number.replace("_", ""),
    "letters": lambda word, _: word if len(word) > 1 or word.isalpha() else None,
    "invisible": lambda sign, _: None if sign.isprintable() else f"U+{ord(sign):04X}{_called(sign)}",
    "called": lambda sign, _: _called(sign),
    "ragged": lambda axes, _: ", ".join(axis.strip().removesuffix(" ragged") + " ragged" for axis in axes.split(",")),
}
"""What `{group:way}` of the table makes of a text, given the terminals that could stand there. None: nothing."""
