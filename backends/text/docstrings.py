r"""Words of the spec as docstrings of generated code: escaped, so that no text ends one, or is read as code.

    # Scores q k / \sqrt{d}.         class Attend(nn.Module):
    block attend(...                     r'''Scores q k / \sqrt{d}.'''

Lines stay as their author broke them; a paragraph that is too wide for that is filled anew. `ruff format` changes
nothing in what is made here, and what `inspect.getdoc` gives is the text.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from itertools import groupby

from .names import MARKS
from .writing import WIDTH, wrap

_ITEM = re.compile(r" *(?:[-*+] |[0-9]+[.)] )")  # how an item of a list begins
_COLUMNS = re.compile(r"(?<![ .:?!,;])  ")  # what is aligned


def docstring(words: str, indent: str = "") -> list[str]:
    """The lines of a docstring, on one where it fits; none where there are no words."""
    text = plain_words(words)
    if not text:
        return []
    raw = "\\" in text and not text.endswith("\\") and _escaped(text) == text.replace("\\", "\\\\")
    opening = indent + ('r"""' if raw else '"""')
    quotes = len(opening) - len(indent) + (0 if "\n" in text else 3)
    lines = _flush(wrapped(text if raw else _escaped(text), WIDTH - len(indent), quotes))
    if len(lines) == 1:
        return [f'{opening}{lines[0]}"""']
    return [opening + lines[0], *(indent + line if line else "" for line in lines[1:]), f'{indent}"""']


def plain_words(words: str) -> str:
    """A text as a docstring says it: without spaces at the ends of lines, empty lines around it, or a margin.

    Half a character (a surrogate) is none: Python makes no class of such a docstring.
    """
    words = re.sub("[\ud800-\udfff]", "\ufffd", words)
    lines = [line.expandtabs(4).rstrip(" ") for line in words.split("\n")]
    while lines and not lines[-1]:
        lines.pop()
    while lines and not lines[0]:
        lines.pop(0)
    return "\n".join(_flush(lines))


def sentences(words: str, *more: str) -> str:
    """A text, and what is said besides: on its last line, where that ends a sentence."""
    for text in filter(None, more):
        words = words.rstrip()
        words += (" " if words.endswith((".", "!", "?")) else "\n" if words else "") + text
    return words


def _flush(lines: Sequence[str]) -> list[str]:
    """The first line begins at the margin, and so does the outermost of the others."""
    margin = min((_indented(line) for line in lines[1:] if line), default=0)
    return [*(line.lstrip(" ") for line in lines[:1]), *(line[margin:] for line in lines[1:])]


def _indented(line: str) -> int:
    return len(line) - len(line.lstrip(" "))


def remarked(line: str, words: str) -> list[str]:
    """A line of code with what is to be said of it: behind it, or above where that does not fit."""
    comment = " ".join("".join(map(_character, words.replace("\t", " "))).split())
    if not comment or columns(f"{line}  # {comment}") <= WIDTH:
        return wrap(line, comment)
    above = line[: _indented(line)] + "# "
    return [*(above + part for part in wrapped(comment, WIDTH - len(above))), *wrap(line)]


def columns(text: str) -> int:
    """How wide a text is."""
    if text.isascii():
        return len(text)
    return sum(2 if unicodedata.east_asian_width(each) in ("W", "F") else 1 for each in text)


def wrapped(text: str, width: int, before: int = 0) -> list[str]:
    """The lines of a text, none wider than this but for a word that is. before: what stands before the first line."""
    found: list[str] = []
    for empty, lines in groupby(text.split("\n"), lambda line: not line):
        found += [""] if empty else _paragraph(list(lines), width, 0 if found else before)
    return found


def _paragraph(lines: Sequence[str], width: int, before: int) -> list[str]:
    if all(columns(line) <= width - (0 if number else before) for number, line in enumerate(lines)):
        return [*lines]
    parts: list[list[str]] = []
    for line in lines:
        if parts and _goes_on(parts[-1], line):
            parts[-1].append(line.lstrip(" "))
        else:
            parts.append([line])
    return [line for number, part in enumerate(parts) for line in _filled(part, width, 0 if number else before)]


def _goes_on(part: Sequence[str], line: str) -> bool:
    """Whether a line is more of the same sentences: what is indented, but for items of lists, is none."""
    if any(_COLUMNS.search(each.lstrip(" ")) for each in (part[-1], line)) or _ITEM.match(line):
        return False
    return _indented(line) == _hanging(part[0]) and bool(_ITEM.match(part[0]) or not _indented(line))


def _hanging(line: str) -> int:
    """The margin of what goes on below."""
    item = _ITEM.match(line)
    return item.end() if item else _indented(line)


def _filled(part: Sequence[str], width: int, before: int) -> Iterator[str]:
    line, used = "", before
    for word in re.findall(" *[^ ]+", " ".join(part)):
        if line and used + columns(word) > width:
            yield line
            line, used, word = "", 0, " " * _hanging(part[0]) + word.lstrip(" ")
        line += word
        used += columns(word)
    yield line


def _escaped(text: str) -> str:
    """What stands between triple quotes for a text: nothing in it is taken for the name of something."""
    shown = "".join("\\\\" if each == "\\" else each if each == "\n" else _character(each) for each in text)
    return re.sub('^"|"(?="")|"$', r'\\"', shown)


def _character(each: str) -> str:
    """A character as it is shown; by its number if it is not seen, or turns text round, or marks a name."""
    if each.isprintable() and each not in MARKS:
        return each
    number = ord(each)
    return f"\\x{number:02x}" if number < 0x100 else f"\\u{number:04x}" if number < 0x10000 else f"\\U{number:08x}"
