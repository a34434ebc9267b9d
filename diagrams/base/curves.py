"""Curves: chains of cubic Beziers with horizontal tangents, as lists of 3 n + 1 points."""

from __future__ import annotations

from .picture import Point

EARLY = 7.0  # a falling wire bends this much earlier and a rising one later: two that cross do not bend at one x
MOST = 500  # samples of one curve at most: hundreds of curves that are metres long would fill the memory
_CIRCLE = 0.5523  # handle of a quarter circle of radius 1


def straight(a: Point, b: Point) -> list[Point]:
    """The chain from `a` to `b` without its first point."""
    dx, dy = (b[0] - a[0]) / 3, (b[1] - a[1]) / 3
    return [(a[0] + dx, a[1] + dy), (a[0] + 2 * dx, a[1] + 2 * dy), b]


def bend(a: Point, b: Point) -> list[Point]:
    """From `a` to `b`, level at both ends, without its first point; straight where they are level."""
    if abs(a[1] - b[1]) < 0.01:
        return straight(a, b)
    dx = b[0] - a[0]
    middle = (a[0] + b[0]) / 2 + (-EARLY if b[1] > a[1] else EARLY) * min(1.0, dx / 40)
    return [(middle, a[1]), (middle, b[1]), b]


def half_loop(a: Point, tip: Point) -> list[Point]:
    """A quarter of an ellipse from `a`, level, to `tip`, upright, without its first point."""
    rx, ry = tip[0] - a[0], tip[1] - a[1]
    return [(a[0] + rx * _CIRCLE, a[1]), (tip[0], tip[1] - ry * _CIRCLE), tip]


def sampled(points: list[Point], step: float = 3.0) -> list[Point]:
    """Points on the chain, at most about `step` apart (further on very long curves, see MOST)."""
    out = [points[0]]
    for i in range(0, len(points) - 1, 3):
        p, q, r, s = points[i : i + 4]
        n = min(max(2, int((abs(s[0] - p[0]) + abs(s[1] - p[1])) / step) + 1), MOST)
        for k in range(1, n + 1):
            t = k / n
            u = 1 - t
            a, b, c, d = u * u * u, 3 * u * u * t, 3 * u * t * t, t * t * t
            out.append((a * p[0] + b * q[0] + c * r[0] + d * s[0], a * p[1] + b * q[1] + c * r[1] + d * s[1]))
    return out
