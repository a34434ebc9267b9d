"""Picks under a mask, what is read there, and what is computed of that along the picks' axis.

Half of the scores and of the items that are read are inputs of which nothing else is made: which of their items may
matter is then known, and the judge puts into the others what is no number.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from . import named
from .attention import Mask
from .named import Arr, pointwise
from .ops import binary, bounded, rankable, ranked, row, upto
from .program import Axis, Env, Val
from .scope import Scope


@row("picked", 0)
def picked(s: Scope) -> Val | None:
    """`x[k = topk[k -> r](scores where mask)]`, and perhaps its mean along r."""
    found = pick(s)
    if found is None:
        return None
    e, k, r = found
    x = items(s, e, k)
    if x is None:
        return e
    reach: frozenset[Axis] | str | None = ""
    if x.reach and k in x.reach:
        reach = x.reach - {k} | {e.upto} | e.reach if e.upto is not None and e.reach is not None else None
    s.require(x, k)
    s.met([k, *e.axes])
    axes = [*(axis for axis in x.axes if axis != k), *(axis for axis in e.axes if not x.has(axis))]

    hidden = hides(s, x)

    def run(env: Env, xs: Sequence[Arr]) -> Arr:
        if hidden:
            at = Arr(np.arange(env.sizes[k.name]), (k.name,))
            read = pointwise(np.equal, xs[1], at)
            env.matters[x.owner] = some(read, named.validity(read), x)
        return named.gather(xs[0].full([k.name], env.sizes), k.name, xs[1])

    y = s.bind(s.make(
        f"{x.inner}[{k.name} = {e.text}]", [x, e], run, axes=axes, element=x.element, into=x.into, big=x.big,
        reach=reach, nothing=(x.nothing - {k}) | e.nothing | frozenset(e.axes if k in x.nothing else ()),
    ))  # fmt: skip
    s.tag("read at picks")
    if r is None or y.element != "real" or s.chance(0.3):
        return y
    return along(s, y, r)


def hides(s: Scope, x: Val) -> bool:
    """Whether nothing else is made of it."""
    return s.model and bool(x.owner) and not any(val.owner == x.owner for val in s.vals)


def some(hold: Arr, valid: Arr, x: Val) -> Arr:
    """Which items of x are meant by any of these."""
    both = pointwise(np.logical_and, Arr(hold.data, hold.axes), valid)
    kept = tuple(axis for axis in both.axes if axis.startswith("#") or axis in {a.name for a in x.axes})
    return Arr(both.along([*kept, *(a for a in both.axes if a not in kept)]).any(
        tuple(range(len(kept), len(both.axes)))), kept)  # fmt: skip


def alone(s: Scope, axes: Sequence[Axis], element: str = "real") -> Val | None:
    """An input of which nothing else is made."""
    val = s.input(axes, element)
    if val is not None and s.model and s.outer is None:
        s.vals = [other for other in s.vals if other.owner != val.owner]
    return val


def pick(s: Scope) -> tuple[Val, Axis, Axis | None] | None:
    """The picks, the axis that is picked from, and that of the ranks."""
    pairs = [(q, k) for q in s.axes for k in s.axes if q != k and q.family == k.family and q.width]
    streams = [pair for pair in pairs if pair[0].family == s.gen.stream]
    if not pairs:
        return None
    q, k = s.pick(streams if streams and s.chance(0.7) else pairs)
    op = s.pick(["topk", "topk", "topk", "argsort", "argmax"])
    ranks = [r for r in s.axes if r != q and (rankable(s, k, r) if op == "topk" else r != k and r.family == k.family)]
    if op == "argmax":
        r = None
    elif not ranks:
        return None
    else:
        r = s.pick(ranks)
        s.pin(k, r) if k.family != r.family else None
    x = scores(s, q, k, r)
    mask = masks(s, q, k)
    if x is None or mask is None or (r is not None and (x.has(r) or mask.has(r))):
        return None
    axes = [axis for axis in dict.fromkeys((*x.axes, *mask.axes)) if axis != k]
    if not s.fits([*axes, k, *([r] if r else [])]):
        return None
    s.tag("picks under a mask")
    s.require(x, k)
    s.require(mask, k)
    text, parts = f"{x.text} where {mask.text}", [x, mask]
    if r is None:
        made = s.make(
            f"argmax[{k.name}]({text})", parts, lambda env, xs: named.reduce("argmax", *xs, [k.name], env.sizes),
            axes=axes, element="index", into=k, big=5, reach=bounded(s, [k], parts), nothing=frozenset(axes),
            upto=upto(k, parts, axes),
        )  # fmt: skip
    else:
        down = op == "topk" or s.chance(0.4)
        option = ", descending = true" if op == "argsort" and down else ""
        made = ranked(s, op, k, r, text + option, parts, [*axes, r], down)
    return s.bind(noting(s, made, x, mask)), k, r


def noting(s: Scope, made: Val, x: Val, mask: Val) -> Val:
    """The picks, whose run notes which scores matter."""
    if not hides(s, x):
        return made
    run = made.run

    def noted(env: Env) -> Arr:
        kept = mask.run(env)
        env.matters[x.owner] = some(kept, named.validity(kept), x)
        return run(env)

    return replace(made, run=noted)


def scores(s: Scope, q: Axis, k: Axis, r: Axis | None) -> Val | None:
    """What is put in order: an input, or of others, then never so near that rounding decides."""
    if s.chance(0.6):
        more = s.random_axes(0, 1, lambda axis: axis not in (q, k, r))
        return alone(s, [*([q] if s.chance(0.7) else []), k, *more])
    x = s.find(lambda val: val.element == "real" and val.has(k) and (r is None or not val.has(r)))
    if x is None:
        return None
    wave = s.function("sin", binary(s, "+", binary(s, "*", s.literal(2.7), s.position(k), 9), s.literal(0.3), 9), 1)
    return binary(s, "+", x, wave, x.big)


def masks(s: Scope, q: Axis, k: Axis) -> Val | None:
    """What may be picked: by positions, by data, or both; often nothing at all."""
    here, at = s.position(q), s.position(k)
    kind = s.gen.rng.randrange(6)
    if kind == 0:
        mask: Val | None = Mask(s, q, k).joined(2)
        return mask if mask is not None and mask.has(k) else None
    if kind == 1:
        return s.input([k], "bool")
    op = s.pick(["<=", "<=", "<"])
    mask = binary(s, op, at, here, 1, "bool", support=((k, q),), covers=frozenset({k, q} if op == "<=" else ()))
    if kind == 2:
        near = binary(s, "<", binary(s, "-", here, at, 6, "int"), s.literal(s.pick([1, 2])), 1, "bool")
        mask = binary(s, "and", mask, near, 1, "bool", support=mask.support)
    if kind == 3:
        more = s.input([k], "bool")
        mask = mask if more is None else binary(s, "and", mask, more, 1, "bool", support=mask.support)
    return mask


def items(s: Scope, e: Val, k: Axis) -> Val | None:
    """What is read at the picks."""
    if s.chance(0.5):
        return alone(s, [k, *s.random_axes(0, 1, lambda axis: axis != k and axis.family != k.family)])
    found = s.find(lambda val: val.element in ("real", "int", "bool", "index") and val.has(k))
    found = found or s.input([k, *s.random_axes(0, 1, lambda axis: axis != k and axis.family != k.family)])
    if found is None or not s.fits({*e.axes, *(axis for axis in found.axes if axis != k)}):
        return None
    return found


def along(s: Scope, y: Val, r: Axis) -> Val | None:
    """Of each item something that is not 0 where it reads 0, and of these what is left."""
    kinds: list[Callable[[Val], Val]] = [
        lambda y: binary(s, "+", y, s.literal(1.5), y.big + 2),
        lambda y: s.function("cos", y, 1),
        lambda y: s.function("exp", s.function("tanh", y, 1), 3),
        lambda y: s.function("log", binary(s, "*", y, y, y.big**2), 9),
        lambda y: s.function("sqrt", s.make(f"abs({y.text})", [y], lambda env, xs: pointwise(np.abs, xs[0])), 3),
        lambda y: binary(s, "/", s.literal(1), binary(s, "+", s.literal(2), y, 9), 9),
    ]
    if s.chance(0.8):
        y = s.bind(s.pick(kinds[:3] if s.chance(0.7) else kinds)(y))
    s.require(y, r)
    op, name = s.pick(["mean", "sum"]), r.name
    return s.bind(s.make(
        f"{op}[{name}]({y.text})", [y], lambda env, xs: named.reduce(op, xs[0], None, [name], env.sizes),
        axes=[axis for axis in y.axes if axis != r], acted=[r], big=y.big * 4, nothing=s.left([y], [r]),
    ))  # fmt: skip
