"""`linear_attention` of backends/runtime/scans/torch_scans.py, gone through with shapes in place of numbers."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from ..polynomials.operations import rounded
from ..polynomials.polynomial import ONE, Poly
from .shapes import ArrayShape, Tally, together

CHUNK, FINE = 64, 16  # items that are computed as pairs; where each pair has a decay for each channel


@dataclass(frozen=True, slots=True)
class ChunkInputs:
    """q, k, erase: [n, d]; v: [n, e]; decay: [n or 1, 1 or d]; start: [d, e]."""

    q: ArrayShape
    k: ArrayShape
    v: ArrayShape
    decay: ArrayShape | None = None
    erase: ArrayShape | None = None
    start: ArrayShape | None = None

    def chunk(self, n: int) -> int:
        """How many items a chunk has."""
        by_channel = self.decay is not None and self.decay.dims[-1] != ONE
        return max(1, min(FINE if by_channel else CHUNK if self.erase is None else CHUNK // 2, n))


@dataclass(frozen=True, slots=True)
class Decays:
    """left: of an item at each later one of its chunk; since: of the state before, at each; pairs: by whom both differ
    by channel.
    """

    left: ArrayShape
    since: ArrayShape

    @property
    def by_channel(self) -> bool:
        return self.since.dims[-1] != ONE


def in_chunks(t: Tally, given: ChunkInputs) -> None:
    """All that is done."""
    n, d = given.q.dims
    number = int(n.at(t.meter.values))
    most = given.chunk(number)
    size, count = (Poly.of(most), rounded(n * Fraction(1, most), up=True)) if number > most else (n or ONE, ONE)
    q, k, v = (x.having(count, size, x.dims[-1]) for x in (given.q, given.k, given.v))
    t.calls += 3  # filled up
    decays = None if given.decay is None else decayed(t, given.decay, size, count)
    if given.erase is None:
        states = summed_states(t, k, v, decays, given.start)
    else:
        states, v = corrected_states(t, k, v, given.erase.having(count, size, d), decays, given.start)
    if decays is not None and decays.by_channel:
        pairs = t.each(q.having(count, size, ONE, d), decays.left)
        pairs = t.summed(t.each(pairs, k.having(count, ONE, size, d)))
    else:
        pairs = fade(t, t.matmul(q, k.mT), decays)
    out = t.matmul(pairs, v)
    if states is not None:
        t.each(out, t.matmul(q if decays is None else t.each(q, decays.since), states))


def decayed(t: Tally, decay: ArrayShape, size: Poly, count: Poly) -> Decays:
    """`passed` there, and the running products."""
    wide = decay.having(ONE if decay.dims[0] == ONE else count, size, decay.dims[-1])
    t.each(ArrayShape(frozenset(), (size, size)), ops=3)  # which is later, and not, and which is the same or later
    left = t.each(wide.having(wide.dims[0], size, size, wide.dims[-1]), ops=4)  # a product added is two
    return Decays(left, t.each(wide))


def fade(t: Tally, pairs: ArrayShape, decays: Decays | None) -> ArrayShape:
    """Pairs, of which the later ones are gone, and the others decay."""
    return t.each(pairs) if decays is None else t.each(pairs, decays.left.having(*decays.left.dims[:-1]))


def summed_states(
    t: Tally, k: ArrayShape, v: ArrayShape, decays: Decays | None, start: ArrayShape | None
) -> ArrayShape | None:
    """The states before each chunk: sums over those before it. None where all are 0."""
    count, _, d = k.dims
    many = count.at(t.meter.values) > 1
    to_end = k if decays is None else t.each(k, decays.since)
    added = t.matmul(to_end.mT, v, read=many or decays is None)
    begin = [] if start is None else [start]
    if decays is None:
        sums = t.each(added)
        return t.each(sums, *begin) if begin else sums
    if not many:
        return None if start is None else together([start, added.ungraded]).having(count, *added.dims[-2:])
    one = together([*begin, added]).having(d, v.dims[-1])
    t.each(one, ops=2, times=count - 1)
    return one.having(count, d, v.dims[-1])


def corrected_states(
    t: Tally, k: ArrayShape, v: ArrayShape, erase: ArrayShape, decays: Decays | None, start: ArrayShape | None
) -> tuple[ArrayShape, ArrayShape]:
    """The states before each chunk, and what its items put in, less what the state says of their keys."""
    count, size, d = k.dims
    e = v.dims[-1]
    to_end = k if decays is None else t.each(k, decays.since)
    pairs = t.matmul(erase, k.mT)
    if decays is not None:
        pairs, erase = fade(t, pairs, decays), t.each(erase, decays.since)
    solved = t.inverse(pairs)
    new, seen = t.matmul(solved, v).having(size, e), t.matmul(solved, erase).having(size, d)
    graded = together([new, seen, to_end, *([] if start is None else [start])]).graded
    first = ArrayShape(new.lead | to_end.lead, (d, e), start is not None and start.graded)
    later = ArrayShape(first.lead, (d, e), graded)
    t.matmul(seen, first)
    t.matmul(seen, later, times=count - 1)
    put = t.each(later.having(size, e), times=count)
    t.matmul(to_end.having(size, d).mT, put, times=count - 1)
    t.each(later, ops=1 if decays is None else 2, times=count - 1)
    states = later if count.at(t.meter.values) > 1 else first
    return states.having(count, d, e), put.having(count, size, e)
