"""Every diagnostic code, with a page that explains it. One room per hundred: E01xx is syntax.py, E02xx names.py, ...

A new room is a module with a tuple ENTRIES, and one more name in the list below.
"""

from __future__ import annotations

import textwrap
from difflib import get_close_matches

from . import blocks, causality, externals, figures, names, ragged, settings, syntax, types, warnings
from .entry import Entry

_ROOMS = (syntax, names, types, blocks, warnings, settings, causality, ragged, externals, figures)
CATALOGUE: dict[str, Entry] = {entry.code: entry for room in _ROOMS for entry in room.ENTRIES}
"""The rows by their codes, in order."""


def explain(code: str) -> str | None:
    """The page for a code (`e307` and `307` will do for `E0307`), as plain text; None for a code that is none."""
    entry = CATALOGUE.get(normal(code))
    if entry is None:
        return None
    paragraphs = [
        textwrap.fill(" ".join(paragraph.split()), 80)
        for paragraph in textwrap.dedent(entry.explanation).strip().split("\n\n")
    ]
    parts = [f"{entry.code}: {entry.title}", *paragraphs]
    for head, program in (("Wrong:", entry.wrong), ("Right:", entry.right)):
        parts += [head, textwrap.indent(program.strip("\n"), "    ")]
    return "\n\n".join(parts) + "\n"


def normal(code: str) -> str:
    """A code as the catalogue writes it; `502` may be a warning."""
    text = code.strip().upper()
    digits = text[1:] if text[:1] in ("E", "W", "A") else text
    if not (digits.isascii() and digits.isdecimal()):
        return code
    number = f"{digits:0>4}"
    if text[0] == "A":
        return f"A{number}"
    warning = text.startswith("W") or (text[0] != "E" and f"E{number}" not in CATALOGUE and f"W{number}" in CATALOGUE)
    return f"W{number}" if warning else f"E{number}"


def near(code: str) -> list[str]:
    """Codes that look like one that does not exist."""
    return get_close_matches(normal(code), CATALOGUE, 3, 0.7)


__all__ = ["CATALOGUE", "Entry", "explain", "near", "normal"]
