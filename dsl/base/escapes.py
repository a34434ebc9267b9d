"""Text of others in a message: nothing in it steers a terminal, or ends the line."""

from __future__ import annotations


def escaped(text: str) -> str:
    """With what is not printed as Python writes it: `\\x1b`."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)
