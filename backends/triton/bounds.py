"""The loop along the columns that the rows of a tile see, from the bounds of the mask, as lines of a kernel."""

from __future__ import annotations

from ...compiler.graph.term import Predicate
from ...compiler.graph.values import Scalar
from ...compiler.masks.bounds import KeyBound, KeyBounds, key_bounds
from .tiles import Kernel, PairNumber


def sides(kernel: Kernel) -> KeyBounds:
    """What the mask of a kernel says of the columns that a row sees."""
    if kernel.term is None:
        return KeyBounds((), kernel.seen is None)
    names = {leaf.value.id: _bound(leaf) for leaf in kernel.leaves if leaf.kind is Scalar.INT and not leaf.axes}
    return key_bounds(Predicate(kernel.rows, kernel.columns, kernel.term), names)


def numbers(kernel: Kernel, these: KeyBounds) -> list[tuple[PairNumber, str]]:
    """The numbers of data that are in bounds, each with what it is called there: small enough to be added to places."""
    used = {side.more for side in these.sides}
    return [(leaf, _bound(leaf)) for leaf in kernel.leaves if _bound(leaf) in used]


def limited(name: str, code: str) -> str:
    """The line that makes such a number: beyond all places it bounds as much as there."""
    return f"{name} = tl.minimum(tl.maximum({code}, -(2**30)), 2**30).to(tl.int32)"


def _bound(leaf: PairNumber) -> str:
    return f"{leaf.name}_bound"


def _plus(text: str, number: int) -> str:
    if text.endswith(" - 1") and number == 1:
        return text[:-4]
    return text if not number else f"{text} {'+' if number > 0 else '-'} {abs(number)}"


def _at(side: KeyBound, end: str, start: str) -> str:
    """The bound at one end of a tile of rows, counted from the first column."""
    less = f" {'+' if side.times > 0 else '-'} {side.more}" if side.more else ""
    less += f" - {start}" if start else ""
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
