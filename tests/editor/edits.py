"""Random edits of specs, as a hand on a keyboard makes them: typing, deleting, pasting, moving lines."""

from __future__ import annotations

import random
from pathlib import Path

ROOT = Path(__file__).parents[2]
SPECS = sorted(
    path
    for folder in ("examples", "compiler/std", "tests/compiler/right", "tests/zoo/more")
    for path in (ROOT / folder).rglob("*.attn")
)
PIECES = [
    "(", ")", "[", "]", "{", "}", ",", " ", "\n", ".", "=", "->", "|>", ":", "#", '"', "x", "model", "seq", "linear.",
    "softmax[k]", "use std.", "use std.attention: ", "width ", "depth d = ", "block f", "model m(x: [seq]) -> [seq] {",
    " as ", " like ", " where ", "repeat ", "if ", "return ", "scan[seq] ", "\U0001d4a6", "\r\n", "\t", "0", "1e", "~",
    "config c {",
]  # fmt: skip


def edited(text: str, chance: random.Random) -> tuple[str, int]:
    """The text after one more edit, and where the cursor is then."""
    at = chance.randrange(len(text) + 1)
    match chance.randrange(6):
        case 0 | 1:  # type
            piece = chance.choice(PIECES)
            return text[:at] + piece + text[at:], at + len(piece)
        case 2:  # delete a character, or a few
            return text[:at] + text[at + chance.randrange(1, 6) :], at
        case 3:  # delete a line
            start = text.rfind("\n", 0, at) + 1
            return text[:start] + text[start:].partition("\n")[2], start
        case 4:  # paste a line elsewhere
            start = text.rfind("\n", 0, at) + 1
            line = text[start:].partition("\n")[0] + "\n"
            to = text.find("\n", chance.randrange(len(text) + 1)) + 1
            return text[:to] + line + text[to:], to
        case _:  # cut the rest
            return (text[:at], at) if chance.random() < 0.1 else (text, at)
