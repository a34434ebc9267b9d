"""What compiling made of a model, as data: what rewrites changed, how attention is computed, what decoding keeps."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ...dsl.source import Span


@dataclass(frozen=True, slots=True)
class Change:
    """A rewrite and what it changed, in words."""

    rewrite: str
    what: str


@dataclass(frozen=True, slots=True)
class Unread:
    """A part of a mask that says nothing of positions to the compiler: it is made as a whole, and why."""

    what: str
    why: str
    span: Span | None


@dataclass(frozen=True, slots=True)
class Attended:
    """One softmax over keys, with the masks of its queries.

    paths: where it stands in the model, `layers.*.self.attend`; one for each specialisation that is equal to it.
    sees:  what its queries see: "all", "causal", "band 0 .. 127 and padding `real`".
    how:   for each backend, how it is computed.
    note:  why it is not computed as attention at all, where it is not.
    """

    block: str
    span: Span | None
    paths: tuple[str, ...]
    sees: str
    unread: tuple[Unread, ...]
    how: Mapping[str, str]
    note: str = ""


@dataclass(frozen=True, slots=True)
class Report:
    """What compiling made of a model. As text: `str(report)`.

    decoding: what its steps keep, a line each, or why there are none.
    """

    model: str
    changes: tuple[Change, ...]
    attended: tuple[Attended, ...]
    decoding: tuple[str, ...] = ()

    def __str__(self) -> str:
        lines = [f"{self.model}"]
        lines += ["", "rewrites"]
        lines += [f"    {change.rewrite}: {change.what}" for change in self.changes] or ["    none changed anything"]
        lines += ["", "attention"]
        for one in self.attended:
            lines += [f"    {location(one.span)}: softmax in `{one.block}` ({', '.join(one.paths)})"]
            lines += [f"        sees: {one.sees}"]
            for part in one.unread:
                lines += [f"        not read: {part.what}, {location(part.span)}: {part.why}"]
            lines += [f"        {backend}: {text}" for backend, text in one.how.items()]
            lines += [f"        {one.note}"] if one.note else []
        lines += [] if self.attended else ["    none"]
        lines += ["", "decoding", *(f"    {line}" for line in self.decoding)]
        return "\n".join(lines) + "\n"


def location(span: Span | None) -> str:
    """`decoder.attn:12`."""
    if span is None:
        return "somewhere"
    line, _ = span.source.position(span.start)
    return f"{span.source.name}:{line}"
