"""Code in help texts, with the names that the reader of a message knows."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping

from ..base.names import listed
from ..sizes.axes import Axis


class Wording:
    """The names of the body in which a mistake stands: as it is written."""

    def code(self, text: str) -> str:
        """A piece of code of the body, such as its text with a change, as the reader would write it."""
        return text

    def quoted(self, text: str) -> str:
        """The same between backticks."""
        return f"`{self.code(text)}`"

    def listed(self, axes: Iterable[Axis]) -> str:
        """Axes by their names: `a`, `b` and `c`."""
        return listed(self.code(axis.name) for axis in axes)

    def argument(self, text: str) -> str:
        """A value that is to be passed to the block; `...` where the reader has no name for it."""
        return text


class CallersWording(Wording):
    """The names of a caller: its axes and arguments in place of the body's.

    outer: the words of whoever reads, if that is the caller of the caller.
    names: what the call has for each name of the body.
    formals: the names that stand for arguments.
    """

    def __init__(self, outer: Wording, names: Mapping[str, str], formals: Collection[str]) -> None:
        self.outer, self.names, self.formals = outer, names, formals

    def code(self, text: str) -> str:
        bound = re.match(r"(\w+) = ", text)
        if bound and not self.names.get(bound[1], bound[1]).isidentifier():  # the call gives it no name to bind
            text = text[bound.end() :]
        return self.outer.code(re.sub(r"\b[A-Za-z_]\w*\b(?!\()", self._name, text))

    def _name(self, found: re.Match[str]) -> str:
        text = self.names.get(found[0], found[0])
        within = found.string[: found.start()].endswith("(") and found.string[found.end() :].startswith(")")
        return text if within or text.isidentifier() else f"({text})"

    def argument(self, text: str) -> str:
        known = text in self.formals and self.outer.argument(self.names.get(text, text)) != "..."
        return text if known else "..."
