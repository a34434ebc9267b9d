"""Where wires bend: no three of them cross in one point, for then nobody can tell which of them goes where.

A bend may stand a little further to the left or to the right in the gap between two columns. Bends are moved one by one
as long as that leaves fewer places where crossings lie upon each other.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Mapping, Sequence

from ..base.picture import Point

NEAR = 2.0  # points: crossings nearer than that are one
_MOVES = (4.0, -4.0, 8.0, -8.0, 12.0, -12.0)
_ROUNDS = 3
_STEPS = 24
_ENDS = 2.0  # level wire that stays at both ends of a bend

Piece = tuple[int, int]  # a chain of curves, and where one of its curves begins
Crossing = tuple[float, float, Piece, Piece]


def separate(chains: Sequence[list[Point]]) -> None:
    """Move the bends in these chains (of 3 n + 1 points) apart, in place."""
    pieces, bends = pieces_of(chains)
    heights = Heights(chains)
    beside = {
        bend: beside_of(chains, bend, pieces) for bend in bends
    }  # a move leaves the ends of a bend where they are
    found = {bend: {piece: list(_crossed(heights, bend, piece)) for piece in beside[bend]} for bend in bends}
    for _ in range(_ROUNDS):
        moved = False
        for bend in bends:
            others = sorted(each for other in bends if other != bend and _meet(chains, bend, other)
                            for piece, own in found[other].items() if piece != bend for each in own)  # fmt: skip
            before = _piled(found[bend], others)
            if not before:
                continue
            c, k = bend
            start, first, second, end = chains[c][k : k + 4]
            best = before, first[0], found[bend]
            for move in _MOVES:
                middle = first[0] + move
                if not start[0] + _ENDS <= middle <= end[0] - _ENDS:
                    continue
                chains[c][k + 1], chains[c][k + 2] = (middle, first[1]), (middle, second[1])
                trial = {piece: list(_crossed(heights, bend, piece)) for piece in beside[bend]}
                if (count := _piled(trial, others)) < best[0]:
                    best = count, middle, trial
            chains[c][k + 1], chains[c][k + 2] = (best[1], first[1]), (best[1], second[1])
            if best[0] < before:
                moved = True
                found[bend] = best[2]
                for piece in beside[bend]:
                    if piece in found:
                        found[piece][bend] = list(_crossed(heights, piece, bend))
        if not moved:
            return


def pieces_of(chains: Sequence[list[Point]]) -> tuple[list[Piece], list[Piece]]:
    """All pieces of the chains, and those that are bends."""
    pieces = [(c, k) for c, chain in enumerate(chains) for k in range(0, len(chain) - 1, 3)]
    return pieces, [piece for piece in pieces if _is_bend(_curve(chains, piece))]


def _piled(found: Mapping[Piece, Sequence[Crossing]], others: Sequence[Crossing]) -> int:
    """How often one of a bend's own crossings lies upon another. others: from left to right."""
    own = [each for crossings in found.values() for each in crossings]
    own.sort()
    count = 0
    for k, a in enumerate(own):
        for b in own[k + 1 :]:
            if b[0] - a[0] >= NEAR:
                break
            count += upon(a, b)
        near = slice(bisect_left(others, (a[0] - NEAR,)), bisect_right(others, (a[0] + NEAR,)))
        count += sum(upon(a, b) for b in others[near] if -NEAR < a[1] - b[1] < NEAR)
    return count


def _meet(chains: Sequence[list[Point]], a: Piece, b: Piece) -> bool:
    """Whether crossings of two bends may be near each other."""
    (a0, b0), (a1, b1) = ((chains[c][k][0], chains[c][k + 3][0]) for c, k in (a, b))
    return a0 < b1 + NEAR and a1 < b0 + NEAR


def upon(a: Crossing, b: Crossing) -> bool:
    """Whether two crossings lie upon each other, and three wires are in them."""
    near = abs(a[0] - b[0]) < NEAR and abs(a[1] - b[1]) < NEAR and (a[0] - b[0]) ** 2 + (a[1] - b[1]) ** 2 < NEAR**2
    return near and len({a[2][0], a[3][0], b[2][0], b[3][0]}) > 2


def _curve(chains: Sequence[list[Point]], piece: Piece) -> list[Point]:
    return chains[piece[0]][piece[1] : piece[1] + 4]


def _is_bend(curve: Sequence[Point]) -> bool:
    (_, y0), (x1, y1), (x2, y2), (_, y3) = curve
    return abs(y0 - y3) > 0.5 and y0 == y1 and y2 == y3 and x1 == x2


def crossings_of(chains: Sequence[list[Point]], bend: Piece, pieces: Sequence[Piece]) -> Iterator[Crossing]:
    """Where a bend crosses other wires."""
    heights = Heights(chains)
    for piece in beside_of(chains, bend, pieces):
        yield from _crossed(heights, bend, piece)


def beside_of(chains: Sequence[list[Point]], bend: Piece, pieces: Sequence[Piece]) -> list[Piece]:
    """The pieces of other wires that a bend may cross."""
    own = _curve(chains, bend)
    left, right = own[0][0], own[3][0]
    low, high = sorted((own[0][1], own[3][1]))
    out = []
    for piece in pieces:
        other = _curve(chains, piece)
        away = min(right, other[3][0]) - max(left, other[0][0]) < 0.5
        if not (away or piece[0] == bend[0] or max(p[1] for p in other) < low or min(p[1] for p in other) > high):
            out.append(piece)
    return out


class Heights:
    """The y of curves at evenly spaced x: a bend that was moved to and fro is not measured again."""

    def __init__(self, chains: Sequence[list[Point]]) -> None:
        self.chains = chains
        self._kept: dict[tuple[tuple[Point, ...], float, float], list[float]] = {}

    def of(self, curve: Sequence[Point], a: float, b: float) -> list[float]:
        """At _STEPS + 1 places from a to b."""
        key = tuple(curve), a, b
        if key not in self._kept:
            self._kept[key] = _heights(curve, [a + (b - a) * k / _STEPS for k in range(_STEPS + 1)])
        return self._kept[key]


def _crossed(heights: Heights, bend: Piece, piece: Piece) -> Iterator[Crossing]:
    """Where a bend crosses a piece of another wire."""
    own, other = _curve(heights.chains, bend), _curve(heights.chains, piece)
    a, b = max(own[0][0], other[0][0]), min(own[3][0], other[3][0])
    last: tuple[int, float, float] | None = None  # place, y, difference
    for k, (y, across) in enumerate(zip(heights.of(own, a, b), heights.of(other, a, b), strict=True)):
        apart = y - across
        if -1e-6 <= apart <= 1e-6:
            continue
        if last is not None and (apart > 0) != (last[2] > 0):
            share = last[2] / (last[2] - apart)
            x = a + (b - a) * (last[0] + share * (k - last[0])) / _STEPS
            yield x, last[1] + share * (y - last[1]), bend, piece
        last = k, y, apart


def _heights(curve: Sequence[Point], places: Sequence[float]) -> list[float]:
    """The y of a curve that goes from left to right, at each x of `places`, which do too."""
    (x0, y0), (x1, y1), (x2, y2), (x3, y3) = curve
    if y0 == y1 == y2 == y3:
        return [y0] * len(places)
    found = []
    t = 0.0
    for x in places:
        low, high = t, 1.0  # t grows with x
        for _ in range(20):  # Newton's steps, and halves where these lead out
            u = 1 - t
            apart = u * u * u * x0 + 3 * u * u * t * x1 + 3 * u * t * t * x2 + t * t * t * x3 - x
            if -1e-6 < apart < 1e-6:
                break
            low, high = (t, high) if apart < 0 else (low, t)
            slope = 3 * (u * u * (x1 - x0) + 2 * u * t * (x2 - x1) + t * t * (x3 - x2))
            t = t - apart / slope if slope > 0 else low
            if not low < t < high:
                t = (low + high) / 2
        u = 1 - t
        found.append(u * u * u * y0 + 3 * u * u * t * y1 + 3 * u * t * t * y2 + t * t * t * y3)
    return found
