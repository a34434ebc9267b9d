"""Axes: the named dimensions that everything else is about."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum

from ...dsl.source import Span
from .static import Static


class Kind(Enum):
    """LANGUAGE D1: how many items, or how much information per item."""

    WIDTH = "width"
    DEPTH = "depth"


@dataclass(frozen=True, slots=True)
class Axis:
    """An axis of one file or of one block instance. Two axes are the same only if their ids are.

    extent: the size where it is known at build time (every depth of a compiled model, and fixed widths), else None.
    size:   the formula of a derived axis, over axes of the same scope (`chunks = seq / 64`, `key = model / heads`).
    bound:  the largest extent of a bounded width (`width seq <= 1024`), else None.
    family: the id of the axis that this is a copy of (its own id if of none): copies have equal extents (D4).
    label:  what a diagram calls it (`depth model as m`).
    ragged: each example of a batch has its own length (`width source ragged`; its copies too). What is derived from it,
            and axis parameters of blocks, follow when a graph is made of them: see `rewrites/ragged.py`.
    """

    id: int
    name: str = field(compare=False)
    kind: Kind = field(compare=False)
    label: str = field(compare=False)
    extent: int | None = field(compare=False)
    size: Static | None = field(compare=False, repr=False)
    bound: int | None = field(compare=False)
    family: int = field(compare=False)
    span: Span | None = field(compare=False, repr=False)
    ragged: bool = field(default=False, compare=False, repr=False)

    def rename(self, name: str) -> None:
        """Be called otherwise, everywhere: `use other: v as mine` in a file that has a `v` of its own."""
        if self.label == self.name:
            object.__setattr__(self, "label", name)
        object.__setattr__(self, "name", name)

    @property
    def is_width(self) -> bool:
        return self.kind is Kind.WIDTH
