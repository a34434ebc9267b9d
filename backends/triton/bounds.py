"""The loop along the columns that the rows of a tile see, from the bounds of the mask, as lines of a kernel."""

from __future__ import annotations

from ...compiler.graph.term import Predicate, Term
from ...compiler.masks.bounds import KeyBound, KeyBounds, key_bounds
from ...compiler.sizes.axes import Axis


def sides(term: Term | None, masked: bool, rows: Axis, columns: Axis) -> KeyBounds:
    """What a mask says of the columns that a row sees."""
    return KeyBounds((), not masked) if term is None else key_bounds(Predicate(rows, columns, term))


def _plus(text: str, number: int) -> str:
    if text.endswith(" - 1") and number == 1:
        return text[:-4]
    return text if not number else f"{text} {'+' if number > 0 else '-'} {abs(number)}"


def _at(side: KeyBound, end: str, start: str) -> str:
    """The bound at one end of a tile of rows, counted from the first column."""
    less = f" - {start}" if start else ""
    if side.slope == 0:
        return f"{side.shift}{less}"
    return (_plus(end, side.shift) if side.slope == 1 else f"{side.shift} - ({end})") + less


def loop(
    these: KeyBounds, first: str, last: str, size: str, block: str, start: str = ""
) -> tuple[list[str], list[tuple[str, str, bool]]]:
    """Lines that compute the bounds of the loop, and its parts: where each begins and ends, and whether pairs in it
    must be looked at.

    first, last: the places of the ends of the tile. size: how many columns there are. block: how many a tile has.
    start: the place of the first column, where that is not 0.
    """
    upper = [side for side in these.sides if not side.least]
    lower = [side for side in these.sides if side.least]
    lines = []
    low, high = "0", size
    if lower:
        for number, side in enumerate(lower):
            code = _at(side, first if side.slope >= 0 else last, start)
            low = code if not number else f"tl.maximum({low}, {code})"
        lines.append(f"low = tl.maximum({low}, 0) // {block} * {block}")
        low = "low"
    if upper:
        for side in upper:
            high = f"tl.minimum({high}, {_plus(_at(side, last if side.slope >= 0 else first, start), 1)})"
        lines.append(f"high = {high}")
        high = "high"
    if not these.whole:
        return lines, [(low, high, True)]
    whole_to = size
    for side in upper:
        whole_to = f"tl.minimum({whole_to}, {_plus(_at(side, first if side.slope >= 0 else last, start), 1)})"
    lines.append(f"whole_to = {f'tl.maximum({whole_to}, 0)' if upper else whole_to} // {block} * {block}")
    if not lower:
        return lines, [("0", "whole_to", False), ("whole_to", high, True)]
    whole_from = low
    for side in lower:
        whole_from = f"tl.maximum({whole_from}, {_at(side, last if side.slope >= 0 else first, start)})"
    lines += [
        f"whole_from = tl.cdiv(tl.minimum({whole_from}, {high}), {block}) * {block}",
        "whole_from = tl.maximum(whole_from, low)",
        "whole_to = tl.maximum(whole_to, whole_from)",
    ]
    return lines, [(low, "whole_from", True), ("whole_from", "whole_to", False), ("whole_to", high, True)]
