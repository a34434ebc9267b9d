"""Which items of time a value holds at a step: the new ones, or a range that reaches back from the newest one.

A mode is `None` for the new items, `start` to `end - 1`, or a `VisibleRange`: the new ones and `keep` before them, all
of them if `keep` is None. Axes that must agree share a visible range (union-find). It may differ from pass to pass of
one repeat, as in Gemma 2, where every other layer sees the near past alone. `ENTIRE` is every item of a width of a
given size, those to come too: of a table, say, whose mean no mask bounds. `in_chunks(4)` is the items of all chunks of
four that a new item is in: those before it there, and behind the newest one copies of it.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..graph.nodes import Repeat

Need = tuple[int | None, ...]  # one for each pass of a repeat, or one alone


@dataclass(eq=False)
class VisibleRange:
    """keep: how many items before the new ones; several, one for each pass of `repeat`."""

    keep: Need = (0,)
    repeat: Repeat | None = None
    parent: VisibleRange | None = None

    def root(self) -> VisibleRange:
        """The one that stands for all that must agree with this one."""
        visible = self
        while visible.parent is not None:
            visible = visible.parent
        return visible

    def need(self, keep: Need, repeat: Repeat | None) -> None:
        """At least so many items."""
        visible = self.root()
        # What leaves a repeat is the same for all its passes; in nested repeats only the outer one's passes differ.
        assert repeat is None or visible.repeat in (None, repeat)
        visible.repeat = visible.repeat or repeat
        size = max(len(visible.keep), len(keep))
        mine, theirs = (k * size if len(k) == 1 else k for k in (visible.keep, keep))
        visible.keep = tuple(_most((a, b)) for a, b in zip(mine, theirs, strict=True))
        if len(set(visible.keep)) == 1:
            visible.keep, visible.repeat = visible.keep[:1], None

    def even(self) -> None:
        """Make it the same at every pass, for a reader outside of the repeat."""
        visible = self.root()
        visible.keep, visible.repeat = (_most(visible.keep),), None

    def unite(self, other: VisibleRange) -> None:
        a, b = self.root(), other.root()
        if a is not b:
            b.need(a.keep, a.repeat)
            a.parent = b


class _Entire(VisibleRange):
    """All items of a width of a given size; nothing changes it."""

    def need(self, keep: Need, repeat: Repeat | None) -> None: ...

    def even(self) -> None: ...

    def unite(self, other: VisibleRange) -> None: ...


class Aligned(_Entire):
    """The items of the chunks of `size` that the new ones are in."""

    size: int = 1


ENTIRE = _Entire((None,))


@cache
def in_chunks(size: int) -> Aligned:
    found = Aligned((size - 1,))
    found.size = size
    return found


Mode = VisibleRange | None


def same_kind(a: Mode, b: Mode) -> bool:
    """Whether both are the new items, or all of them, or a visible range."""
    return a is b or (is_range(a) and is_range(b))


def is_range(mode: Mode) -> bool:
    """Whether it is the new items and some before them."""
    return mode is not None and not isinstance(mode, _Entire)


def _most(keep: Need) -> int | None:
    known = [k for k in keep if k is not None]
    return max(known) if len(known) == len(keep) else None
