"""How much of the streamed axis tiles of queries see: what a loop goes through that leaves out what no query sees."""

from __future__ import annotations

from ..masks.bounds import KeyBound


def visited(bounds: tuple[KeyBound, ...], queries: int, keys: int, tile: int, step: int) -> tuple[int, int]:
    """How many keys all tiles of queries read together, and how many pairs that is: whole tiles of `step` keys, cut off
    at the last key; tiles of `tile` queries, cut off at the last.
    """
    read = pairs = 0
    for first in range(0, queries, tile):
        last = min(first + tile, queries) - 1
        low, high = 0, keys
        for bound in bounds:
            ends = [bound.slope * query + bound.shift for query in (first, last)]
            if bound.least:
                low = max(low, min(ends))
            else:
                high = min(high, max(ends) + 1)
        low = low // step * step
        turns = max(-(-(high - low) // step), 0)
        here = max(min(low + turns * step, keys) - low, 0)
        read += here
        pairs += here * (last - first + 1)
    return read, pairs
