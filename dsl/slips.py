"""Signs that are not of the language, and what their writers meant: the help of E0103, E0105 and E0106."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Slip:
    """`help` says what to write; `instead` is the text that does it, where that is certain."""

    message: str
    help: str = ""
    instead: str | None = None


def _sign(sign: str, help: str, instead: str | None = None) -> Slip:
    return Slip(f"`{sign}` is not an operator of the language", help, instead)


_SIGNS: dict[str, Slip] = {
    "**": _sign("**", "a power is written `a ^ b`", "^"),
    "//": _sign(
        "//",
        "write `a / b` for a size, which leaves no remainder, else `floor(a / b)`; a comment begins with `#`",
    ),
    "/*": _sign("/*", "a comment begins with `#` and ends with the line"),
    "&&": _sign("&&", "write `and`", "and"),
    "||": _sign("||", "write `or`", "or"),
    "&": _sign("&", "write `and`", "and"),
    "!": _sign("!", "write `not`", "not "),
    "!==": _sign("!==", "write `!=`", "!="),
    "===": _sign("===", "write `==`", "=="),
    "<>": _sign("<>", "write `!=`", "!="),
    "=<": _sign("=<", "write `<=`", "<="),
    "=>": _sign("=>", "`>=` compares; `->` stands before a result"),
    ":=": _sign(":=", "a value is bound with `=`", "="),
    "@": _sign("@", "products of arrays name the axis that they sum over: `dot[axis](x, y)`"),
    ";": Slip("`;` does not separate statements", "put each statement on a line of its own"),
    "'": Slip(
        "`'` is not part of the language", 'names are made of letters, digits and `_`; a text stands between two `"`'
    ),
    "\\": Slip(
        "a `\\` does not continue a line", "end the line with an operator or a comma, or break it inside brackets"
    ),
    "?": _sign("?", "write `select(condition, yes, no)`"),
    "$": _sign("$", "a name is written without it"),
    "`": Slip("backquotes are not part of the language", "write the name alone"),
    "...": Slip("`...` stands for nothing here", "write the statements; axes that are not named lift by themselves"),
    "\u00a0": Slip("this is a no-break space", "write a plain space", " "),
    "\ufeff": Slip("this is a byte order mark inside the text", "delete it", ""),
    "\u2264": _sign("\u2264", "write `<=`", "<="),
    "\u2265": _sign("\u2265", "write `>=`", ">="),
    "\u2260": _sign("\u2260", "write `!=`", "!="),
    "\u2192": _sign("\u2192", "write `->`", "->"),
    "\u2212": Slip("this is a typographic minus sign", "write `-`", "-"),
    "\u2013": Slip("this is a dash, not a minus sign", "write `-`", "-"),
    "\u2014": Slip("this is a dash, not a minus sign", "write `-`", "-"),
    "\u00d7": _sign("\u00d7", "write `*`", "*"),
    "\u00b7": _sign("\u00b7", "write `*`, or `dot[axis](x, y)`"),
    "\u00f7": _sign("\u00f7", "write `/`", "/"),
    "\u221a": _sign("\u221a", "write `sqrt(x)`"),
    "\r": Slip("a carriage return stands here without a newline", "save the file with line ends `\\n` or `\\r\\n`"),
}
_SIGNS |= {sign + "=": _sign(sign + "=", f"write `x = x {sign} ...`") for sign in "+-*/%^"}
QUOTES = "\u201c\u201d\u201e\u201f\u2018\u2019\u201a\u201b\u00ab\u00bb\u2039\u203a\u2032\u2033\uff02"
_SIGNS |= {quote: Slip("this is a typographic quote", 'write `"`') for quote in QUOTES}

PATTERN = "|".join(re.escape(sign) for sign in _SIGNS if len(sign) > 1)  # none begins another
"""A regular expression for the slips of more than one character."""


FINITE = "numbers are finite: `softmax[k](s where m)` leaves items out, and `-1e30` is below all scores"


def infinite(text: str) -> bool:
    """Whether this, in quotes, stands for an infinite number or none in Python."""
    return re.fullmatch(r"[-+]?(inf|infinity|nan)", text[1:-1].lower()) is not None


def piece(value: str, axis: str = "axis", first: str = "0", size: str = "...", more: str = "") -> str:
    """How `value[axis = first:...]` is written here; `more` stands behind it in the brackets."""
    index = "int(piece)" if first == "0" else f"int(piece) + {first}"
    return (
        f"a piece of an axis is an axis of its own: declare `depth piece = {size}`, "
        f"and write `{value}[{axis} = {index}{more}]`"
    )


def slip(text: str) -> Slip:
    """What to say of a character, or of a short run of them, that begins no token."""
    if text in _SIGNS:
        return _SIGNS[text]
    if infinite(text):
        return Slip(f"`{text}` is no number", FINITE)
    if text[0] in QUOTES or text[0] == "'" or text[-1] in QUOTES:
        return Slip('a text stands between two `"`', f'write `"{text[1:-1]}"`', f'"{text[1:-1]}"')
    first = text[0]
    if len(text) > 1 or first.isalpha():
        return Slip(f"`{text}` holds letters or digits outside ASCII", "names are written with A-Z, a-z, 0-9 and `_`")
    name = unicodedata.name(first, "")
    if not first.isprintable():
        which = f"U+{ord(first):04X}" + (f" ({name.lower()})" if name else "")
        return Slip(f"the invisible character {which} is not part of the language", "delete it")
    return Slip(
        f"the character `{first}` is not part of the language" + (f" ({name.lower()})" if not first.isascii() else "")
    )


UNCLOSED = Slip("this text is never closed", 'write `"` at its end, on the same line')


def comment_slip(text: str) -> Slip:
    """What to say of a comment as other languages write it."""
    return Slip(
        f"`{text[:2]}` begins no comment", "a comment begins with `#`", "# " + text[2:].removesuffix("*/").strip()
    )


def number_slip(text: str, after_word: bool) -> Slip:
    """What to say of something that begins like a number and is none."""
    if after_word:  # it begins with a point, since digits would belong to the word
        return Slip(f"`{text}` is neither a number nor a label", "a label is a name: it begins with a letter")
    if re.fullmatch(r"\.[0-9]+", text):
        return Slip(f"`{text}` is not a number", f"write `0{text}`", "0" + text)
    if re.fullmatch(r"[0-9]+\.", text):
        return Slip(f"`{text}` is not a number", f"write `{text}0`", text + "0")
    if re.fullmatch(r"[0-9]+(_[0-9]+)+", text):
        plain = text.replace("_", "")
        return Slip(f"`{text}` is not a number", f"write `{plain}`", plain)
    if re.fullmatch(r"0[xXbBoO][0-9a-fA-F]+", text):
        return Slip(f"`{text}` is not a number", "numbers are decimal" + _in_decimal(text))
    if re.fullmatch(r"[0-9]+(\.[0-9]+)?[A-Za-z_]+", text):
        return Slip(
            f"`{text}` is neither a number nor a name", "names begin with a letter; a product is written `2 * x`"
        )
    return Slip(f"`{text}` is not a number", "numbers look like `3`, `0.1` or `1e-5`")


def _in_decimal(text: str) -> str:
    try:
        value = int(text, 0)
    except ValueError:  # an 8 among octal digits
        return ""
    return f": write `{value}`" if value < 10**18 else ""  # the language takes no number of more digits
