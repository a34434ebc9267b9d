"""How much of the streamed axis a tile of queries sees: what a loop goes through that leaves out what no query sees.

Each part of a mask that `and` joins and that says `k <= q + c`, `k >= q + c`, `k <= c` or `k >= c` bounds the loop on
one side. Whole tiles beyond a bound are not read. What else a mask says leaves no tile out.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import ceil, floor

from ...dsl.base.records import record
from ..graph.term import Predicate, Term, TermOp, conjuncts, plain
from ..masks.kinds import linear
from ..sizes.functions import Compared, Magnitude


@record
class LoopBound:
    """`k <= slope q + shift`; of `least`: `>=`. The slope is 0 or 1."""

    least: bool
    slope: int
    shift: int


def loop_bounds(seen: Predicate) -> tuple[LoopBound, ...]:
    """The bounds that a mask puts on the loop along its keys."""
    return tuple(bound for part in conjuncts(plain(seen.term)) for bound in _bounds(part, seen))


def _bounds(part: Term, seen: Predicate) -> Iterator[LoopBound]:
    match part:
        case TermOp(Compared(sign), (left, right)):
            pass
        case _:
            return
    if sign in (">", ">="):
        sign, left, right = {">": "<", ">=": "<="}[sign], right, left
    pairs = [(left, right), (right, left)] if sign == "==" else [(left, right)] if sign in ("<", "<=") else []
    for small, large in pairs:
        if isinstance(small, TermOp) and isinstance(small.meaning, Magnitude):
            inner, most = linear(small.args[0], seen), linear(large, seen)
            if inner is not None and most is not None and not inner[3] and not most[3] and most[:2] == (0, 0):
                for turn in (1, -1):
                    yield from _bound(turn * inner[0], turn * inner[1], turn * inner[2] - most[2], sign == "<")
            continue
        a, b = linear(small, seen), linear(large, seen)
        if a is not None and b is not None and not a[3] and not b[3]:
            yield from _bound(a[0] - b[0], a[1] - b[1], a[2] - b[2], sign == "<")


def _bound(q: int, k: int, rest: int | float, strict: bool) -> Iterator[LoopBound]:
    """Of `q * place + k * place + rest <= 0` (`< 0`), which are whole numbers."""
    number = floor(rest) + 1 if strict else ceil(rest)
    if abs(k) == 1 and -q * k in (0, 1):
        yield LoopBound(k == -1, -q * k, -k * number)


def visited(bounds: tuple[LoopBound, ...], queries: int, keys: int, tile: int, step: int) -> tuple[int, int]:
    """How many keys all tiles of queries read together, and how many pairs that is: whole tiles of `step` keys, cut off
    at the last key; tiles of `tile` queries, cut off at the last.
    """
    read = pairs = 0
    for first in range(0, queries, tile):
        last = min(first + tile, queries) - 1
        low, high = 0, keys
        for bound in bounds:
            if bound.least:
                low = max(low, bound.slope * first + bound.shift)
            else:
                high = min(high, bound.slope * last + bound.shift + 1)
        low = low // step * step
        turns = max(-(-(high - low) // step), 0)
        here = max(min(low + turns * step, keys) - low, 0)
        read += here
        pairs += here * (last - first + 1)
    return read, pairs
