"""`running` of backends/runtime/scans/torch_scans.py: all values of a state, number by number."""

from __future__ import annotations

import math

from ..polynomials.operations import apply, rounded
from ..polynomials.polynomial import ONE, Poly
from .shapes import ArrayShape, Tally, together

WIDE = 1024  # numbers in a state that are worth a step of their own


def number_by_number(
    t: Tally, x: ArrayShape, decay: ArrayShape | None = None, start: ArrayShape | None = None, before: bool = False
) -> None:
    """All that is done. x: [n]; decay: [n or 1]; start: [1]."""
    (n,) = x.dims
    begin = [] if start is None else [start]
    wide = together([x, *([] if decay is None else [decay]), *begin])
    if decay is None:
        y = t.each(x)
        if begin:
            t.each(y, *begin)
    elif n.at(t.meter.values):
        if begin:
            t.each(wide.having(ONE), ops=2)
        decayed_sums(t, wide.having(), n)
    if before and begin:
        t.each(wide.having(ONE))


def decayed_sums(t: Tally, one: ArrayShape, n: Poly) -> None:
    """Chunk beside chunk, then from one chunk to the next; one after another where a state is wide. one: of an item."""
    number = int(n.at(t.meter.values))
    size = math.isqrt(number)
    if t.items(one).at(t.meter.values) > WIDE or size >= number or size < 4:
        t.each(one, ops=2, times=n - 1)
        return
    chunk = rounded(apply("^", (n, Poly.of(0.5))), up=False)
    count = rounded(apply("/", (n, chunk)), up=True)
    t.each(one, ops=2, times=(chunk - 1) * count)
    t.each(one, ops=3, times=chunk * count)  # what is left of what came before, and that added
    t.each(one, ops=2, times=count - 1)
