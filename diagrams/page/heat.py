"""What a run made inside, for the page: numbers of each head at the steps that make them (`attnc.inspect.look`)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Protocol

MOST = 400_000  # numbers on a page


class Heads(Protocol):
    """A value as one map for each head."""

    @property
    def full(self) -> str:
        """The path of the value, with every block in it: at which step it stands."""

    @property
    def rows(self) -> Sequence[Any]:
        """The axes of the rows; each has `outer`, its name in the model."""

    @property
    def columns(self) -> Sequence[Any]:
        """The same of the columns."""

    def names(self) -> Iterable[str]:
        """What tells the maps apart."""

    def flat(self, item: int = 0) -> Any:
        """[head, row, column] of an item of the batch."""


def heat(maps: Mapping[str, Heads], item: int) -> list[dict[str, object]]:
    """The maps by their paths, to three digits. Raises ValueError for more than `MOST` numbers."""
    values = {path: one.flat(item) for path, one in maps.items()}
    count = sum(array.size for array in values.values())
    if count > MOST:
        raise ValueError(f"{count:,} numbers are too many for a figure (at most {MOST:,}): give a shorter input")
    return [
        {
            "path": path,
            "full": one.full,
            "heads": list(one.names()),
            "rows": [side.outer for side in one.rows],
            "columns": [side.outer for side in one.columns],
            "values": values[path].round(3).tolist(),
        }
        for path, one in maps.items()
    ]
