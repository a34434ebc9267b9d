"""What a probe has found, as data and as lines to read."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

Kind = Literal["axis", "length", "batch", "padding"]
Index = tuple[int, ...]


@dataclass(frozen=True)
class Leak:
    """A change of an input that changes what it must not. Items are counted from 0.

    kind:   "axis", "length" (an item appended), "batch" or "padding".
    input:  the name of what was changed, and `items`, where: an item, an example, or (example, item) of padding. There
            are several where no one of them does it alone; none where items were appended.
    output: the name of what changed, and `item`, where it changed most.
    change: by how much; infinite where a number turned into none, or the other way.
    share:  of the standard deviation of that output.
    others: the names of other outputs that changed, too.
    """

    kind: Kind
    input: str
    items: tuple[Index, ...]
    output: str
    item: Index
    change: float
    share: float
    others: tuple[str, ...] = ()

    def __str__(self) -> str:
        return f"{self._cause()} changes {self._place(self.item)} of `{self.output}` {self._amount()}{self._rest()}"

    def _cause(self) -> str:
        if self.kind == "length":
            return f"appending to `{self.input}`"
        first, more = self.items[0], len(self.items) - 1
        also = f" and {more} more" if more else ""
        padding = f", which {'are' if more else 'is'} padding," if self.kind == "padding" else ""
        return f"changing {self._place(first)}{also} of `{self.input}`{padding}"

    def _place(self, index: Index) -> str:
        if not index:
            return "the whole"
        if self.kind == "padding":
            example, *items = index
            return " of ".join([*(f"item {item}" for item in items), f"example {example}"])
        return f"{'example' if self.kind == 'batch' else 'item'} {index[0]}"

    def _amount(self) -> str:
        if math.isinf(self.change):
            return "from a number to none, or back"
        return f"by {self.change:.2g} ({self.share:.2g} of its standard deviation)"

    def _rest(self) -> str:
        return f", and so it does {', '.join(f'`{name}`' for name in self.others)}" if self.others else ""


@dataclass(frozen=True)
class Findings:
    """True if nothing leaks, in a condition; a text, printed.

    leaks: one for each kind that was asked for and leaks.
    holds: a line for each kind that was asked for and does not.
    notes: what may hide a leak, and what was left as it is.
    runs:  how often the module ran.
    """

    leaks: tuple[Leak, ...]
    holds: tuple[str, ...]
    notes: tuple[str, ...]
    runs: int

    def __bool__(self) -> bool:
        return not self.leaks

    def check(self) -> None:
        """Raises AssertionError, with the text of the report, if something leaks."""
        if self.leaks:
            raise AssertionError(str(self))

    def __str__(self) -> str:
        lines = [f"leak: {leak}" for leak in self.leaks]
        lines += [f"holds: {line}" for line in self.holds]
        lines += [f"note: {line}" for line in self.notes]
        return "\n".join(lines)
