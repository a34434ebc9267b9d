"""A height (y) for every wire in every column: the order and the gaps are kept, and wires bend as little as possible.

What is minimised is the weighted sum of |dy| between neighbouring columns. With absolute values a wire bends once or
not at all; squares would spread one bend over all columns. The search is greedy. Variables that should have one height
are joined, the heaviest pull first, as long as the order among the groups stays free of circles. Each group is put as
high as it can go. Then, again and again, each group moves to the weighted median of its neighbours. This is done from
several starts, with weights changed at random, and the best result is kept. On figures of attention and of the
Transformer it came out as good as linear programming.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache

Gap = tuple[int, int, float]  # y[b] - y[a] >= gap
Pull = tuple[int, int, float]  # weight of |y[a] - y[b]|
Tie = tuple[int, int, float]  # y[b] - y[a] == offset
Near = tuple[int, float, float]  # another group, the offset wanted to it, and the weight

_STARTS = 10
_SWEEPS = 16
_BEND = 14.0  # what one more bend costs, in points of bending, when starts are compared
_STIFF = 10.0  # pulls at least this heavy are along a wire
_EFFORT = 3000  # at most about so many variables times starts


def heights(
    n: int, gaps: Sequence[Gap], pulls: Sequence[Pull], ties: Sequence[Tie] = (), starts: int = _STARTS
) -> list[float]:
    """Heights in points, downwards, of `n` variables; the least is 0."""
    return list(_cheapest(n, tuple(gaps), tuple(pulls), tuple(ties), starts)) if n else []


@lru_cache(maxsize=128)  # rows come again: at another width of the page, and in a figure that was drawn before
def _cheapest(
    n: int, gaps: Sequence[Gap], pulls: Sequence[Pull], ties: Sequence[Tie], starts: int
) -> tuple[float, ...]:
    best: tuple[float, list[float]] | None = None
    for start in range(max(1, min(starts, _EFFORT // n))):
        y = _once(n, gaps, pulls, ties, start)
        cost = sum(
            w * (abs(y[a] - y[b]) + (_BEND if w >= _STIFF and abs(y[a] - y[b]) > 0.01 else 0.0)) for a, b, w in pulls
        )
        if best is None or cost < best[0] - 1e-6:
            best = cost, y
    assert best is not None
    low = min(best[1])
    return tuple(v - low for v in best[1])


def sound(n: int, gaps: Sequence[Gap]) -> bool:
    """Whether the gaps can all be kept: none goes round in a circle."""
    after: list[list[int]] = [[] for _ in range(n)]
    left = [0] * n
    for a, b, _ in gaps:
        after[a].append(b)
        left[b] += 1
    order = [i for i in range(n) if not left[i]]
    for i in order:
        for j in after[i]:
            left[j] -= 1
            if not left[j]:
                order.append(j)
    return len(order) == n


class _Groups:
    """Variables joined at fixed offsets, and the order among the groups."""

    def __init__(self, n: int, gaps: Sequence[Gap]) -> None:
        self.parent = list(range(n))
        self.offset = [0.0] * n  # to the parent
        self.after: list[dict[int, float]] = [{} for _ in range(n)]
        self.before: list[dict[int, float]] = [{} for _ in range(n)]
        for a, b, gap in gaps:
            self.after[a][b] = max(gap, self.after[a].get(b, gap))
            self.before[b][a] = self.after[a][b]
        self.member = [1 << i for i in range(n)]
        self.roots = list(range(n))
        self.below = self._closure(n)

    def downwards(self) -> list[int]:
        """The groups, each behind all that lie above it."""
        left = {i: len(self.before[i]) for i in self.roots}
        order = [i for i in self.roots if not left[i]]
        for i in order:
            for j in self.after[i]:
                left[j] -= 1
                if not left[j]:
                    order.append(j)
        return order

    def _closure(self, n: int) -> list[int]:
        """The variables below each, as bit sets."""
        below = [0] * n
        for i in reversed(self.downwards()):
            bits = 0
            for j in self.after[i]:
                bits |= below[j] | (1 << j)
            below[i] = bits
        return below

    def find(self, a: int) -> tuple[int, float]:
        """(its group, its offset in it)."""
        offset = 0.0
        while self.parent[a] != a:
            offset += self.offset[a]
            a = self.parent[a]
        return a, offset

    def join(self, a: int, b: int, offset: float, *, must: bool = False) -> bool:
        """y[b] = y[a] + offset from now on, unless that would close a circle."""
        (p, at_a), (q, at_b) = self.find(a), self.find(b)
        if p == q:
            return False
        if must:  # neighbours: a way round through others would close a circle
            if any(v != q and self.below[v] & self.member[q] for v in self.after[p]) or self.below[q] & self.member[p]:
                return False
        elif self.below[p] & self.member[q] or self.below[q] & self.member[p]:
            return False
        shift = at_a + offset - at_b  # of q against p
        self.parent[q], self.offset[q] = p, shift
        for v, gap in self.after[q].items():
            self.before[v].pop(q, None)
            if v != p:
                gap = max(gap + shift, self.after[p].get(v, -1e9))
                self.after[p][v] = self.before[v][p] = gap
        for v, gap in self.before[q].items():
            self.after[v].pop(q, None)
            if v != p:
                gap = max(gap - shift, self.before[p].get(v, -1e9))
                self.before[p][v] = self.after[v][p] = gap
        self.after[q], self.before[q] = {}, {}
        self.member[p] |= self.member[q]
        both = self.member[p]
        below = (self.below[p] | self.below[q]) & ~both
        self.below[p] = below
        self.roots.remove(q)
        every = below | both
        reach = self.below
        for u in self.roots:
            if reach[u] & both:
                reach[u] |= every
        reach[p] = below
        return True


def _once(n: int, gaps: Sequence[Gap], pulls: Sequence[Pull], ties: Sequence[Tie], start: int) -> list[float]:
    groups = _Groups(n, gaps)
    for a, b, offset in ties:
        groups.join(a, b, offset, must=True)
    for a, b in _heaviest(pulls, start):
        groups.join(a, b, 0.0)
    down = groups.downwards()
    y = dict.fromkeys(down, 0.0)
    for i in down:  # as high as each can go
        y[i] = max((y[p] + gap for p, gap in groups.before[i].items()), default=0.0)
    group_of = [groups.find(i) for i in range(n)]
    near: dict[int, list[Near]] = {i: [] for i in down}
    for a, b, w in pulls:
        (p, at_a), (q, at_b) = group_of[a], group_of[b]
        if p != q:
            near[p].append((q, at_b - at_a, w))
            near[q].append((p, at_a - at_b, w))
    for sweep in range(_SWEEPS):
        if not _moved(y, down if sweep % 2 else down[::-1], near, groups):
            break
    return [y[p] + offset for p, offset in group_of]


def _heaviest(pulls: Sequence[Pull], start: int) -> Iterator[tuple[int, int]]:
    """The variables that should have one height, the heaviest pull first; from another start in another order."""
    shaken = random.Random(start)
    shake = 0.0 if start < 2 else shaken.choice((0.0, 0.5, 1.0))
    order = list(pulls)
    if start == 1:
        order.reverse()
    elif start > 1:
        shaken.shuffle(order)
    weight = [w * (1 + shake * (shaken.random() - 0.5)) for _, _, w in order]
    for k in sorted(range(len(order)), key=lambda k: -weight[k]):
        a, b, w = order[k]
        if w >= 0.5:
            yield a, b


def _moved(y: dict[int, float], order: Sequence[int], near: Mapping[int, Sequence[Near]], groups: _Groups) -> bool:
    """Moves each group to where its neighbours draw it, as far as the gaps let it; whether any was moved."""
    moved = False
    for u in order:
        if not near[u]:
            continue
        low = max((y[p] + gap for p, gap in groups.before[u].items()), default=-1e9)
        high = min((y[q] - gap for q, gap in groups.after[u].items()), default=1e9)
        aim = min(max(_median([(y[v] + offset, w) for v, offset, w in near[u]]), low), max(high, low))
        if abs(aim - y[u]) > 1e-9:
            y[u], moved = aim, True
    return moved


def _median(wanted: list[tuple[float, float]]) -> float:
    """Of (height, weight): the height that half of the weight does not lie above."""
    wanted.sort()
    half, total = sum(w for _, w in wanted) / 2, 0.0
    for value, w in wanted:
        total += w
        if total >= half:
            return value
    return wanted[-1][0]
