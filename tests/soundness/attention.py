"""Attention as specs write it, under a mask of positions and data joined at random; what was said may be said again."""

from __future__ import annotations

import random

import numpy as np

from . import named
from .named import pointwise
from .ops import binary, copies, predicate, renamed, table, to_int
from .program import DATA, Axis, Val
from .scope import Scope


def attend(s: Scope, draw: random.Random) -> None:
    """One more statement, in so many programs; with a draw of its own, so that what else a seed gives stays."""
    if draw.random() < 0.3:
        s.gen.rng, rng = draw, s.gen.rng
        attention(s)
        s.gen.rng = rng


def attention(s: Scope) -> Val | None:
    """`dot[k](softmax[k](dot[d](Q, K) where mask), V)`, perhaps scaled, and with a bias of positions."""
    pair = copies(s, lambda axis: axis.width)
    depths = [axis for axis in s.axes if not axis.width and axis.size]
    if pair is None or not depths:
        return None
    q, k = pair
    d = s.pick(depths)
    x, y, v = (operand(s, q, k, d), operand(s, q, k, d), operand(s, q, k, None))
    if x is None or y is None or v is None:
        return None
    y, v = renamed(s, y, q, k), renamed(s, v, q, k)
    if not s.fits({*x.axes, *y.axes, *v.axes}) or v.has(q):
        return None
    scores = contracted(s, [x, y], d)
    if s.chance(0.4):
        scores = binary(s, "*", scores, s.literal(0.5), scores.big)
    if s.chance(0.3):
        scores = binary(s, "+", scores, table(s, [q, k]), scores.big + 2)
    mask = Mask(s, q, k).joined(3)
    if not mask.has(k):
        mask = binary(s, "and", mask, binary(s, "<", to_int(s, s.position(k)), s.literal(3), 1, "bool"), 1, "bool")
    s.tag("mask of an attention")
    weights = s.make(
        f"softmax[{k.name}]({scores.text} where {mask.text})", [scores, mask],
        lambda env, xs: named.softmax(xs[0], xs[1], [k.name], env.sizes), mark=frozenset({k}), reach=None,
    )  # fmt: skip
    return s.bind(contracted(s, [weights, v], k))


def operand(s: Scope, q: Axis, k: Axis, d: Axis | None) -> Val | None:
    """Data along the queries, to be renamed for the keys."""

    def good(val: Val) -> bool:
        fine = val.element == "real" and val.role == DATA and val.big <= 3 and not val.mark and not val.scaled
        return fine and val.has(q) and not val.has(k) and (d is None or val.has(d)) and len(val.axes) <= 3

    return (s.find(good) if s.chance(0.6) else None) or s.input([q, d or s.pick([a for a in s.axes if not a.width])])


def contracted(s: Scope, vals: list[Val], axis: Axis) -> Val:
    for val in vals:
        s.require(val, axis)
    axes = [other for other in dict.fromkeys(a for val in vals for a in val.axes) if other != axis]
    shown = f"dot[{axis.name}]({', '.join(val.text for val in vals)})"
    return s.make(
        shown, vals, lambda env, xs: named.dot(xs, [axis.name]), axes=axes, reach=None,
        big=np.prod([val.big for val in vals]) * 2,
    )  # fmt: skip


class Mask:
    """Masks over queries and keys."""

    def __init__(self, s: Scope, q: Axis, k: Axis) -> None:
        self.s, self.q, self.k = s, q, k
        self.said: list[Val] = []

    def joined(self, depth: int) -> Val:
        """At most so many levels of `and`, `or`, `not`."""
        s = self.s
        if self.said and s.chance(0.35):
            s.tag("mask that says something twice")
            return s.pick(self.said)
        op = s.pick(["and", "and", "or", "not"]) if depth and s.chance(0.8) else ""
        if op == "not":
            x = self.joined(depth - 1)
            found = s.make(
                f"not {x.inner}", [x], lambda env, xs: pointwise(np.logical_not, xs[0]), element="bool", atom=False
            )
        elif op:
            found = binary(s, op, self.joined(depth - 1), self.joined(depth - 1), 1, "bool")
        else:
            found = self.atom()
        self.said.append(found)
        return found

    def atom(self) -> Val:
        """What one query sees of one key, by their positions or by data."""
        s, q, k = self.s, self.q, self.k
        away = binary(s, "-", s.position(q), s.position(k), 6, "int")
        kind = s.pick(range(7))
        if kind == 0:
            return predicate(s, s.pick([q, k])) or binary(s, "<=", away, s.literal(1), 1, "bool")
        if kind == 1:
            return binary(s, s.pick(["<", ">=", "!="]), away, s.literal(s.pick([0, 1, 2])), 1, "bool")
        if kind == 2:
            mask = s.find(lambda val: val.element == "bool" and set(val.axes) <= {q, k})
            mask = mask or s.input(s.some([q, k], 0, 2), "bool")
            return mask or binary(s, "<=", away, s.literal(0), 1, "bool")
        if kind == 3:
            mask = s.find(lambda val: val.element == "bool" and val.axes == (q,)) or s.input([q], "bool")
            return renamed(s, mask, q, k) if mask is not None else binary(s, "<", away, s.literal(2), 1, "bool")
        part = s.find(lambda val: val.element == "int" and val.axes == (q,)) or s.input([q], "int")
        if part is None:
            return binary(s, "==", away, s.literal(1), 1, "bool")
        there = renamed(s, part, q, k)
        return binary(s, s.pick(["==", "<="]), there, part if kind < 6 else away, 1, "bool")
