"""What operands are to an op (`−`, `÷`, `if`): a sign in a ring on a wire just before it arrives, a word beside it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from math import dist, hypot

from ..base import theme
from ..base.curves import sampled
from ..base.picture import Point
from ..base.text import bold, plain, width
from ..layout.wires import Wire
from .drawing import Canvas, OperandNote

_NEAR = 64.0  # how far from the dot, at most
_RING = 6.5  # the radius of the ring around a sign
_FREE = _RING + 6.0  # how far its middle is from the dot, at least
_BETWEEN = 200.0  # what it costs to stand between wires of one other operand
_OTHER = 9.0  # what it costs to stand on the side where wires of other operands may be


def write_roles(sheet: Canvas) -> None:
    for k, role in enumerate(sheet.roles):
        own, others = _arriving(sheet, role, role.wires), _arriving(sheet, role, role.others)
        sign = len(plain(role.text)) == 1 and not plain(role.text).isalnum()
        if not (sign and _on_a_wire(sheet, f"role{k}", role, own)):
            _beside(sheet, role, own, others, sign=sign)


def _on_a_wire(sheet: Canvas, id: str, role: OperandNote, own: Sequence[list[Point]]) -> bool:
    """The sign in a ring, as near to the dot as may be; returns whether there was room."""
    own = _meeting(role, own)
    every = {p for run in own for p in run}
    places = sorted((dist(p, (role.x, run[0][1])), p, k) for k, run in enumerate(own) for p in run)
    lines = [set(run) for run in own]  # better on one of its wires than on two that lie close
    for away, (x, y), but in (*((d, p, lines[k]) for d, p, k in places), *((d, p, every) for d, p, _ in places)):
        box = (x - _RING, y - _RING, x + _RING, y + _RING)
        if away >= _FREE and sheet.occupied.free((box[0] - 2.5, box[1] - 2.5, box[2] + 2.5, box[3] + 2.5), but):
            sheet.step = role.step
            sheet.disc(id, (x, y), _RING, "op role", role.step.tip, pen="1.1")
            sheet.write(x, y, bold(plain(role.text)), theme.CAPTION, cls="op role")
            return True
    return False


def _beside(
    sheet: Canvas, role: OperandNote, own: Sequence[list[Point]], others: Sequence[list[Point]], *, sign: bool
) -> None:
    """At the free place nearest to the dot at which the operand's wires arrive, nearer to these than to others."""
    text, size = (bold(plain(role.text)), theme.GLYPH) if sign else (role.text, theme.CAPTION)
    half = width(text, size) / 2
    near = [p for points in own for p in points]
    far = [p for points in others for p in points]
    places = [p for _, p in sorted(_places(role, own, others, half, size))]

    def clear(p: Point) -> bool:
        return _apart(p, half, size, near) + 0.3 < _apart(p, half, size, far)

    free = [p for p in places
            if sheet.occupied.free((p[0] - half, p[1] - size * 0.55, p[0] + half, p[1] + size * 0.45))]  # fmt: skip
    x, y = next(filter(clear, free), None) or next(iter(free), None) or next(filter(clear, places), places[0])
    sheet.write(x, y, text, size, cls="op role")


def _meeting(role: OperandNote, own: Sequence[list[Point]]) -> Sequence[list[Point]]:
    """Those of its wires that run into dots; all where none does."""
    return [run for run in own if any(abs(run[0][1] - y) < 1 for y in role.dots)] or own


def _arriving(sheet: Canvas, role: OperandNote, wires: Sequence[Wire]) -> list[list[Point]]:
    """Where each wire runs just before it meets the others, from there on back."""
    numbers = {wire.number for wire in wires}
    chains = (chain for wire, chain in sheet.curves if wire.number in numbers)
    return [run for chain in chains if chain[0][0] < role.x < chain[-1][0] + 1 and (run := _back(chain, role.x))]


def _back(chain: list[Point], x: float) -> list[Point]:
    """Points of a curve that lie close, from this x on back."""
    out: list[Point] = []
    for a, b in pairwise(sampled(chain)):
        steps = 1 + int(abs(b[0] - a[0]) / 2)
        out += [(a[0] + (b[0] - a[0]) * k / steps, a[1] + (b[1] - a[1]) * k / steps) for k in range(steps)]
    return [p for p in reversed([*out, chain[-1]]) if x - _NEAR <= p[0] <= x]


def _places(
    role: OperandNote, own: Sequence[list[Point]], others: Sequence[list[Point]], half: float, size: float
) -> Iterator[tuple[float, Point]]:
    """Places for its middle, and how good each is: the less the better."""
    met = _meeting(role, own)
    below = _height(own) > _height(others)
    up, down = -size * 0.45 - 1.5, size * 0.55 + 1.5
    level = [run[0][1] for run in others if abs(run[0][1] - run[-1][1]) < 1]
    for run in met:
        dot = (role.x, run[0][1])
        for x, y in run:
            for side, outer in ((down, below), (up, not below)):
                for dx in (0.0, half + 2, -half - 2):
                    p = (x + dx, y + side)
                    between = bool(level) and min(level) < p[1] < max(level)
                    yield dist(p, dot) + (0.0 if outer else _OTHER) + (_BETWEEN if between else 0.0), p


def _height(runs: Sequence[list[Point]]) -> float:
    return sum(run[-1][1] for run in runs) / max(1, len(runs))


def _apart(p: Point, half: float, size: float, points: Sequence[Point]) -> float:
    """How far points are from a text of this half width and font size around `p`."""
    low, high = p[1] - 0.55 * size, p[1] + 0.45 * size
    gaps = (hypot(max(abs(x - p[0]) - half, 0.0), max(low - y, y - high, 0.0)) for x, y in points)
    return min(gaps, default=1e9)
