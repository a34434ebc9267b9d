"""Copies of an axis that a block knows, or could declare (D4)."""

from __future__ import annotations

import re
from collections.abc import Iterable

from ...dsl.source import Span
from ..problems.axes import Surroundings
from ..sizes.axes import Axis
from .words import Wording


def copies(axis: Axis, around: Surroundings, apart: Iterable[Axis] = ()) -> list[str]:
    """The names of its copies that the block knows, but for some; else of those of the file that it might."""
    not_these = {axis.name, *(other.name for other in apart)}
    known = [other.name for other in around.names.values() if other.family == axis.family]
    families = {other.family for other in around.file.values() if around.of_file.get(other.id) == axis}
    might = [other.name for other in around.file.values() if other.family in families]
    return [name for name in known if name not in not_these] or [name for name in might if name not in not_these]


def new_copy(
    axis: Axis, around: Surroundings, words: Wording, names: Iterable[str] = ("past", "other", "second")
) -> tuple[str, str]:
    """A free name for a copy of an axis, the first of these that is, and how it is declared."""
    taken = around.names.keys() | around.declared
    copy = next((name for name in names if name not in taken), f"{axis.name}2")
    return copy, declared(axis, copy, axis.name, around, words)


def other_copy(axis: Axis, around: Surroundings, words: Wording) -> tuple[str, str]:
    """The same, of an axis that stands where another one should: neither comes first."""
    return new_copy(axis, around, words, ("other", "second"))


def declared(axis: Axis, copy: str, original: str, around: Surroundings, words: Wording) -> str:
    """How a copy of an axis is declared; one of a parameter is a parameter."""
    if original in around.parameters:
        return f"{words.quoted(f'{copy}: {axis.kind.value} like {original}')} among the parameters"
    return words.quoted(f"{axis.kind.value} {copy} like {original}")


def undeclared(name: str, span: Span | None) -> str:
    """The help where a block uses a name of no axis as a copy of one: `x[seq as past]`, `past <= seq`; else ""."""
    if span is None:
        return ""
    whole = span.source.text
    starts = [found.start() for found in re.finditer(r"^(?:block|model)\b", whole, re.MULTILINE)]
    begin = max((at for at in starts if at <= span.start), default=0)
    text = whole[begin : min((at for at in starts if at > span.start), default=len(whole))]
    renamed = re.search(rf"\[[^][]*?\b(\w+) as {name}\b", text)
    in_brackets = re.search(rf"\w\[[^][]*\b{name}\b[^][]*\]\(", text)
    compared = re.search(rf"\b{name} [<>]=? (\w+)\b|\b(\w+) [<>]=? {name}\b", text) if in_brackets else None
    original = next((each for found in (renamed, compared) if found for each in found.groups() if each), "")
    if (
        not original
        or original.isdigit()
        or re.search(rf"^(?:width|depth) {original} like {name}\b", whole, re.MULTILINE)
    ):
        return ""
    parameter = re.search(rf"\b{original}: (width|depth)\b", text)
    if parameter is not None:
        return f"declare it, a copy of `{original}`: `{name}: {parameter[1]} like {original}` among the parameters"
    kind = "depth" if re.search(rf"^depth\b.*\b{original}\b", whole, re.MULTILINE) else "width"
    return f"declare it, a copy of `{original}`: `{kind} {name} like {original}`"
