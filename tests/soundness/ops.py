"""One row for each op: a name, how often, and a function that writes one use of it (or None where none fits)."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import reduce as fold
from typing import Any

import numpy as np

from . import named
from .named import BINARY, FUNCTIONS, Arr, pointwise
from .program import DATA, WEIGHT, Axis, Env, Val
from .scope import Scope

Row = Callable[[Scope], Val | None]
ROWS: dict[str, tuple[int, Row]] = {}


def row(name: str, weight: int = 3) -> Callable[[Row], Row]:
    def add(f: Row) -> Row:
        ROWS[name] = (weight, f)
        return f

    return add


def fixed(axis: Axis) -> bool:
    return axis.fixed


# -- pointwise -----------------------------------------------------------------------------------------------------


def _function(name: str, big: float) -> None:
    @row(name, 2)
    def write(s: Scope) -> Val | None:
        val = s.real(ints=True)
        if val is None:
            return None
        return s.function(name, val, val.big if big < 0 else big)


for _name, _big in {
    "tanh": 1, "sigmoid": 1, "erf": 1, "sin": 1, "cos": 1, "relu": -1, "gelu": -1, "gelu_tanh": -1, "silu": -1,
}.items():  # fmt: skip
    _function(_name, _big)


def binary(s: Scope, op: str, a: Val, b: Val, big: float, element: str = "real", **more: Any) -> Val:
    f = BINARY[op]
    return s.make(
        f"{a.inner} {op} {b.inner}",
        [a, b],
        lambda env, xs: pointwise(f, *xs),
        big=big,
        element=element,
        atom=False,
        scaled=_scaled(op, a, b),
        static=a.static and b.static,
        **more,
    )


def _scaled(op: str, a: Val, b: Val) -> frozenset[Axis]:
    if op in ("+", "-", "*", "/") and b.static:
        return a.mark or a.scaled
    return b.mark or b.scaled if op in ("+", "*") and a.static else frozenset()


@row("exp", 2)
def exp(s: Scope) -> Val | None:
    val = s.real()
    if val is None:
        return None
    if val.big > 4:
        val = s.function("tanh", val, 1)
    return s.function("exp", val, math.exp(val.big))


def _positive(name: str) -> None:
    @row(name, 2)
    def write(s: Scope) -> Val | None:
        """Of what is surely positive."""
        val = s.real(ints=True)
        if val is None:
            return None
        absolute = s.make(
            f"abs({val.text})", [val], lambda env, xs: pointwise(np.abs, xs[0]), big=val.big, element=val.element
        )
        big = math.log(val.big + 2) if name == "log" else math.sqrt(val.big + 1) + 1
        return s.function(name, binary(s, "+", absolute, s.literal(s.pick([0.7, 1, 2.5])), val.big + 2), big)


for _name in ("log", "sqrt", "rsqrt"):
    _positive(_name)


@row("abs", 1)
def absolute(s: Scope) -> Val | None:
    val = s.real(ints=True)
    if val is None:
        return None
    return s.make(f"abs({val.text})", [val], lambda env, xs: pointwise(np.abs, xs[0]), big=val.big, element=val.element)


@row("neg", 2)
def negate(s: Scope) -> Val | None:
    val = s.real(ints=True)
    if val is None:
        return None
    return s.make(
        f"-{val.inner}", [val], lambda env, xs: pointwise(FUNCTIONS["neg"], xs[0]), big=val.big, element=val.element,
        atom=False,
    )  # fmt: skip


def _rounding(name: str) -> None:
    @row(name, 2)
    def write(s: Scope) -> Val | None:
        """Of what is whole by no accident: rounding errors must not decide."""
        val = s.real()
        if val is None:
            return None
        scaled = binary(s, "+", binary(s, "*", val, s.literal(1.7), val.big * 2), s.literal(0.3137), val.big * 2 + 1)
        return replace(s.function(name, scaled, val.big * 2 + 2), element="int")


for _name in ("floor", "ceil"):
    _rounding(_name)


def _arithmetic(op: str, weight: int) -> None:
    @row(op, weight)
    def write(s: Scope) -> Val | None:
        a = s.real(ints=True)
        if a is None:
            return None
        if s.chance(0.25):
            b: Val | None = s.literal(s.pick([2, 0.5, 3, -1.25]))
        elif s.chance(0.2):
            b = table(s, s.random_axes(1, 2, lambda axis: s.fits({*a.axes, axis})))
        else:
            b = s.real(lambda val: s.fits({*a.axes, *val.axes}), ints=True)
        pair = None if b is None else s.together([a, b], outer=op == "*")
        if pair is None:
            return None
        a, b = pair
        if s.chance(0.3):
            a, b = b, a
        element = "int" if a.element == b.element == "int" else "real"
        return binary(s, op, a, b, a.big * b.big if op == "*" else a.big + b.big, element)


for _name, _weight in {"+": 5, "-": 3, "*": 5}.items():
    _arithmetic(_name, _weight)


@row("/", 3)
def divide(s: Scope) -> Val | None:
    a, b = s.real(ints=True), s.real(ints=True)
    pair = None if a is None or b is None else s.together([a, b])
    if pair is None:
        return None
    a, b = pair
    below = binary(s, "+", s.literal(1.5), s.make(
        f"abs({b.text})", [b], lambda env, xs: pointwise(np.abs, xs[0]), element=b.element
    ), b.big + 2)  # fmt: skip
    return binary(s, "/", a, below, a.big)


@row("%", 2)
def remainder(s: Scope) -> Val | None:
    """Of whole numbers: a real one near a multiple would be rounding's choice."""
    val = integer(s)
    return None if val is None else binary(s, "%", val, s.literal(s.pick([2, 3, -3])), 3, "int")


@row("^", 2)
def power(s: Scope) -> Val | None:
    if s.chance(0.3):
        axis = s.pick(s.axes)
        exponent = binary(s, "*", s.literal(-0.3), s.position(axis), 3)
        return binary(s, "^", s.literal(s.pick([2, 10000])), exponent, 1)
    val = s.real(ints=True)
    if val is None:
        return None
    if val.big > 6:
        val = s.function("tanh", val, 1)
    return binary(s, "^", val, s.literal(s.pick([2, 3])), val.big**3, val.element)


def _extreme(shown: str, f: Callable[[Any, Any], Any]) -> None:
    @row(f"{shown} pointwise", 2)
    def write(s: Scope) -> Val | None:
        vals = [s.real(ints=True) for _ in range(s.pick([2, 2, 3]))]
        if s.chance(0.2):
            vals[-1] = s.literal(s.pick([0, 0.5]))
        found = s.together([val for val in vals if val is not None]) if all(vals) else None
        if found is None:
            return None
        element = "int" if all(val.element == "int" for val in found) else "real"
        return s.make(
            f"{shown}({', '.join(val.text for val in found)})",
            found,
            lambda env, xs: fold(lambda a, b: pointwise(f, a, b), xs),
            big=max(val.big for val in found), element=element,
        )  # fmt: skip


_extreme("max", np.maximum)
_extreme("min", np.minimum)


@row("clamp", 2)
def clamp(s: Scope) -> Val | None:
    val = s.real(ints=True)
    if val is None:
        return None
    low, high = s.pick([(-1, 1), (-0.5, 2.0), (0, 2)])
    element = "int" if val.element == "int" and isinstance(low, int) else "real"
    return s.make(
        f"clamp({val.text}, {low}, {high})", [val], lambda env, xs: pointwise(lambda x: np.clip(x, low, high), xs[0]),
        big=2, element=element,
    )  # fmt: skip


@row("dropout", 2)
def dropout(s: Scope) -> Val | None:
    val = s.find(lambda val: val.element == "real")
    if val is None:
        return None
    s.wrong("dropout of everything", f"dropout({val.text}, 0.25)", f"dropout({val.text}, 1.5)", "no probability")
    p = "drop" if "drop" in s.consts and s.chance(0.5) else "0.25"
    return s.make(
        f"dropout({val.text}, {s.pick(['', 'p = '])}{p})", [val], lambda env, xs: xs[0], big=val.big, mark=val.mark
    )


@row("raw", 2)
def raw(s: Scope) -> Val | None:
    val = s.find(lambda val: bool(val.mark)) or s.real()
    return None if val is None else s.raw(val)


# -- whole numbers, indices, truth -----------------------------------------------------------------------------------


def integer(s: Scope) -> Val | None:
    """Whole numbers: an input, a distance, an index without its axis."""
    found = s.find(lambda val: val.element == "int" and val.big < 1e5)
    if found is not None and s.chance(0.6):
        return found
    if s.chance(0.4):
        return s.input(s.random_axes(0, 2), "int")
    pair = copies(s)
    if pair is not None and s.chance(0.5):
        return binary(s, "-", s.position(pair[0]), s.position(pair[1]), 6, "int")
    index = s.find(lambda val: val.element == "index") or s.position(s.pick(s.axes))
    return to_int(s, index)


@row("int", 3)
def integers(s: Scope) -> Val | None:
    index = s.find(lambda val: val.element == "index") or s.position(s.pick(s.axes))
    return to_int(s, index)


def to_int(s: Scope, index: Val) -> Val:
    return s.make(f"int({index.text})", [index], lambda env, xs: xs[0], element="int", big=6)


def copies(s: Scope, among: Callable[[Axis], bool] = lambda axis: True) -> tuple[Axis, Axis] | None:
    """Two copies of one axis."""
    pairs = [(a, b) for a in s.axes for b in s.axes if a != b and a.family == b.family and among(a)]
    return s.pick(pairs) if pairs else None


def table(s: Scope, axes: Sequence[Axis]) -> Val:
    """A table of positions over these axes: real, no data."""
    val = s.literal(0.3)
    for axis in axes:
        place = s.position(axis)
        if s.chance(0.3):
            place = binary(s, "*", place, s.literal(2), 9, "int")
        scaled = binary(s, "/", place, s.size(axis) if axis.fixed and s.chance(0.3) else s.literal(3), 2)
        wave = s.function(s.pick(["sin", "cos"]), scaled, 1) if s.chance(0.7) else scaled
        val = binary(s, s.pick("+*"), val, wave, val.big + 2)
    return val


@row("table", 2)
def tables(s: Scope) -> Val | None:
    axes = s.random_axes(1, 2)
    return table(s, axes) if s.fits(axes) else None


@row("predicate", 3)
def predicate(s: Scope, over: Axis | None = None) -> Val | None:
    """A truth value of indices; `over` is an axis that it must have."""
    pair = copies(s, lambda axis: axis == over or over is None)
    kind = s.gen.rng.randrange(7)
    if pair is None or kind == 6:
        axis = over or s.pick(s.axes)
        if kind < 3:
            return binary(
                s, s.pick(["<", "!=", ">="]), to_int(s, s.position(axis)), s.literal(s.pick([1, 2])), 1, "bool"
            )
        return binary(s, s.pick(["<", "<=", "==", "!="]), s.position(axis), s.literal(s.pick([1, 2])), 1, "bool")
    k, q = pair
    if not s.fits([k, q]):
        return None
    at, here = s.position(k), s.position(q)
    both = frozenset({k, q})
    for other in s.axes:
        if kind < 3 and other.family != q.family:
            s.wrong(
                "indices of two families compared",
                f"{k.name} <= {q.name}",
                f"{k.name} <= {other.name}",
                "they do not compare",
            )
    if kind < 3:
        return binary(s, "<=", at, here, 1, "bool", support=((k, q),), covers=both)
    if kind == 3:
        away = binary(s, "-", here, at, 6, "int")
        size = s.make(f"abs({away.text})", [away], lambda env, xs: pointwise(np.abs, xs[0]), element="int")
        return binary(s, "<=", size, s.literal(s.pick([0, 1, 2])), 1, "bool", covers=both)
    if kind == 4:
        away = binary(s, "%", binary(s, "-", here, at, 6, "int"), s.literal(2), 2, "int")
        return binary(s, "==", away, s.literal(0), 1, "bool", covers=both)
    return binary(s, s.pick(["==", ">=", "<", ">", "!="]), at, here, 1, "bool")


@row("comparison", 3)
def comparison(s: Scope) -> Val | None:
    """Of data: never so near that rounding decides."""
    if s.chance(0.4):
        a, b = integer(s), integer(s)
        if a is None or b is None or not s.fits({*a.axes, *b.axes}):
            return None
        return binary(s, s.pick(["<=", ">=", "<", ">", "==", "!="]), a, b, 1, "bool")
    val = s.real()
    other = s.literal(0.3137) if s.chance(0.6) else s.real()
    if val is None or other is None or not s.fits({*val.axes, *other.axes}):
        return None
    return binary(s, s.pick(["<=", ">=", "<", ">"]), binary(s, "+", val, s.literal(0.0719), val.big), other, 1, "bool")


@row("truth input", 1)
def truth_input(s: Scope) -> Val | None:
    return s.input(s.random_axes(0, 2), "bool", default=True if s.chance(0.8) else None)


@row("int input", 1)
def int_input(s: Scope) -> Val | None:
    return s.input(s.random_axes(0, 2), "int", default=2 if s.chance(0.8) else None)


@row("index input", 1)
def index_input(s: Scope) -> Val | None:
    axis = s.pick(s.axes)
    return None if axis.own else s.input(s.random_axes(0, 2, lambda other: other != axis), "index", axis)


@row("real input", 1)
def real_input(s: Scope) -> Val | None:
    return s.input(s.random_axes(0, 3), default=0.5 if s.chance(0.8) else None)


def truth(s: Scope) -> Val | None:
    found = s.find(lambda val: val.element == "bool")
    return found if found is not None and s.chance(0.8) else predicate(s) or truth_input(s)


def _connective(op: str) -> None:
    @row(op, 2)
    def write(s: Scope) -> Val | None:
        a, b = truth(s), truth(s)
        if a is None or b is None or not s.fits({*a.axes, *b.axes}):
            return None
        support = (*a.support, *b.support) if op == "and" else ()
        return binary(
            s, op, a, b, 1, "bool", support=support, covers=a.covers | b.covers if op == "or" else frozenset()
        )


_connective("and")
_connective("or")


@row("not", 2)
def negation(s: Scope) -> Val | None:
    val = truth(s)
    if val is None:
        return None
    return s.make(
        f"not {val.inner}", [val], lambda env, xs: pointwise(np.logical_not, xs[0]), element="bool", atom=False
    )


@row("select", 3)
def select(s: Scope) -> Val | None:
    c = truth(s)
    kind = s.gen.rng.randrange(8)
    if kind == 0:
        a, b = truth(s), truth(s)
    elif kind == 1:
        a = s.find(lambda val: val.element == "index")
        b = s.find(lambda val: val.element == "index" and a is not None and val.into.family == a.into.family)  # type: ignore[union-attr]
    else:
        a, b = s.real(ints=True), s.literal(s.pick([0, 0.5])) if s.chance(0.3) else s.real(ints=True)
    if c is None or a is None or b is None:
        return None
    pair = s.together([a, b])
    if pair is None or not s.fits({*c.axes, *pair[0].axes, *pair[1].axes}):
        return None
    a, b = pair
    element = a.element if a.element == b.element else "real"
    return s.make(
        f"select({c.text}, {a.text}, {b.text})", [c, a, b], lambda env, xs: named.choose(*xs),
        element=element, into=a.into, big=max(a.big, b.big),
    )  # fmt: skip


# -- contracting, reducing, normalising ------------------------------------------------------------------------------


def masked(s: Scope, x: Val, axes: Sequence[Axis], cover: bool = False) -> tuple[str, list[Val], Any] | None:
    """`x` or `x where m`: the text, the operands, and what the mask says; cover: it must keep something."""
    if s.chance(0.45):
        return x.text, [x], None
    mask = None
    if not cover:
        mask = s.find(lambda val: val.element == "bool" and any(map(val.has, axes)) and s.fits({*x.axes, *val.axes}))
    if mask is None or s.chance(0.4):
        mask = predicate(s, s.pick(list(axes)))
    if mask is None and not cover:
        mask = s.input(s.random_axes(1, 2, lambda axis: axis in x.axes), "bool")
    if mask is None or not any(map(mask.has, axes)) or not s.fits({*x.axes, *mask.axes}):
        return x.text, [x], None
    if cover and not set(axes) <= mask.covers:
        return x.text, [x], None
    s.tag("where")
    if not set(mask.axes) >= set(axes) or not set(x.axes) >= set(mask.axes):
        s.tag("mask of other axes")
    need = set(s.draft.must)
    s.require(mask, next(axis for axis in axes if mask.has(axis)))
    if mask.owner and mask.owner not in need:
        s.draft.must.discard(mask.owner)  # `where true` masks nothing
    return f"{x.text} where {mask.text}", [x, mask], mask


def bounded(s: Scope, axes: Sequence[Axis], parts: Sequence[Val]) -> frozenset[Axis] | str | None:
    """The reach after the axes went: by the support of the mask, else everything."""
    reaches = [part.reach for part in parts]
    if any(reach is None for reach in reaches):
        return None
    told = {axis for axis in axes if s.tells(axis)}
    reach = frozenset().union(told, *reaches)  # type: ignore[arg-type]
    upto = dict(parts[1].support) if len(parts) > 1 else {}
    out = set()
    for axis in reach:
        if axis not in axes:
            out.add(axis)
        elif axis in upto and upto[axis] not in axes:
            out.add(upto[axis])
        else:
            return None
    return frozenset(out)


def upto(axis: Axis, parts: Sequence[Val], kept: Sequence[Axis]) -> Axis | None:
    """The axis whose index no item that the mask keeps comes after."""
    bound = dict(parts[1].support).get(axis) if len(parts) > 1 else None
    return bound if bound in kept else None


def _names(axes: Sequence[Axis]) -> str:
    return ", ".join(axis.name for axis in axes)


def _reduction(name: str, weight: int) -> None:
    @row(name, weight)
    def write(s: Scope) -> Val | None:
        whole = name in ("max", "min", "logsumexp", "argmax")
        if s.gen.picks and name == "argmax" and s.chance(0.7):
            whole = False
        if name in ("any", "all"):
            x = s.find(lambda val: val.element == "bool" and bool(val.axes))
            axes = list(x.axes) if x is not None else []
        else:
            found = s.real_with(lambda axis: True)
            x, axes = found or (None, [])
            if s.chance(0.2) and name != "logsumexp":
                x = s.find(lambda val: val.element == "int" and bool(val.axes)) or x
                axes = list(x.axes) if x is not None else []
        if x is None or not axes:
            return None
        axes = [s.pick(axes)] if name == "argmax" else s.some(axes, 1, 2)
        if name == "argmax" and not s.gen.picks:  # of no items there is none to choose
            s.gen.filled |= {axis.family for axis in axes}
        given = masked(s, x, axes, whole)
        if name == "argmax" and x.element == "real" and given is not None:
            wave = s.function(
                "sin", binary(s, "+", binary(s, "*", s.literal(2.7), s.position(axes[0]), 9), s.literal(0.3), 9), 1
            )
            x = binary(s, "+", x, wave, x.big)
            text = given[0].replace(given[1][0].text, f"({x.text})", 1) if len(given[1]) > 1 else x.text
            given = text, [x, *given[1][1:]], given[2]
        if given is None:
            return None
        text, parts, mask = given
        s.require(x, axes[0])
        for axis in axes:
            s.require(x, axis)
        names = [axis.name for axis in axes]
        kept = [a for a in dict.fromkeys(a for part in parts for a in part.axes) if a not in axes]
        element = {"any": "bool", "all": "bool", "argmax": "index", "mean": "real", "logsumexp": "real"}.get(
            name, x.element
        )
        nothing, leaves_out = s.left(parts, axes), any(not part.nothing.isdisjoint(axes) for part in parts)
        if name == "argmax" and (mask or leaves_out or (axes[0].width and not axes[0].fixed)):
            nothing = frozenset(kept)
        val = s.make(
            f"{name}[{_names(axes)}]({text})", parts,
            lambda env, xs: named.reduce(name, xs[0], xs[1] if mask else None, names, env.sizes),
            axes=kept, element=element, into=axes[0] if name == "argmax" else None,
            big=x.big * (4 if name == "sum" else 1) + 1, reach=bounded(s, axes, parts), nothing=nothing,
            upto=upto(axes[0], parts, kept) if name == "argmax" else None,
        )  # fmt: skip
        if leaves_out and name in ("max", "min", "logsumexp"):  # over nothing it is infinite
            return s.make(
                f"clamp({val.text}, -9, 9)", [val], lambda env, xs: pointwise(lambda v: np.clip(v, -9, 9), xs[0]),
                big=9, element=element,
            )  # fmt: skip
        return val


for _name, _weight in {
    "sum": 4, "mean": 4, "max": 2, "min": 2, "any": 3, "all": 3, "argmax": 3, "logsumexp": 2,
}.items():  # fmt: skip
    _reduction(_name, _weight)


@row("counting", 1)
def counting(s: Scope) -> Val | None:
    """`sum[k](1 where m)`."""
    mask = s.find(lambda val: val.element == "bool" and bool(val.axes))
    if mask is None:
        return None
    axis = s.pick(mask.axes)
    name = axis.name
    s.tag("where")
    return s.make(
        f"sum[{name}](1 where {mask.text})", [mask],
        lambda env, xs: named.reduce("sum", named.number(1), xs[0], [name], env.sizes),
        axes=[a for a in mask.axes if a != axis], element="int", acted=[axis], big=5, nothing=s.left([mask], [axis]),
    )  # fmt: skip


@row("cumsum", 3)
def cumsum(s: Scope) -> Val | None:
    found = s.real_with(lambda axis: True)
    if found is None:
        return None
    x, axes = found
    axis = s.pick(axes)
    s.require(x, axis)
    name = axis.name
    return s.make(
        f"cumsum[{name}]({x.text})", [x], lambda env, xs: named.cumsum(xs[0], name),
        element=x.element, big=x.big * 3,
    )  # fmt: skip


def unmarked(s: Scope, x: Val, axes: Iterable[Axis]) -> Val:
    """Scores, not weights over these axes: W0511 warns of those."""
    return s.raw(s.named(x)) if x.mark & set(axes) else x


@row("softmax", 6)
def softmax(s: Scope, log: bool = False) -> Val | None:
    found = s.real_with(lambda axis: True)
    if found is None:
        return None
    x, axes = found
    axes = s.some(axes, 1, 2) if s.chance(0.25) else [s.pick(axes)]
    x = unmarked(s, x, axes)
    given = masked(s, x, axes)
    if given is None:
        return None
    text, parts, mask = given
    for axis in axes:
        s.require(x, axis)
    names = [axis.name for axis in axes]
    shown = f"softmax[{_names(axes)}]({text})"
    if len(axes) > 1:
        s.tag("softmax of several axes")
    absent = [axis for axis in s.axes if not any(part.has(axis) for part in parts)]
    if absent and x.role == DATA:
        wrong = shown.replace(f"[{_names(axes)}]", f"[{absent[0].name}]", 1)
        s.wrong("softmax over an axis that is not there", shown, wrong, f"the operand has no {absent[0].name}")
    s.wrong("softmax without an axis", shown, shown.replace(f"[{_names(axes)}]", "", 1), "no op has an implicit axis")
    return s.make(
        f"exp(log_{shown})" if log else shown, parts,
        lambda env, xs: named.softmax(xs[0], xs[1] if mask else None, names, env.sizes),
        mark=frozenset() if log else frozenset(axes), big=1, support=mask.support if mask and not log else (),
        reach=bounded(s, axes, parts),
    )  # fmt: skip


@row("log_softmax", 2)
def log_softmax(s: Scope) -> Val | None:
    """As its exponential: what is masked is minus infinity."""
    return softmax(s, log=True)


@row("l2norm", 2)
def l2norm(s: Scope) -> Val | None:
    found = s.real_with(lambda axis: True)
    if found is None:
        return None
    x, axes = found
    axes = s.some(axes, 1, 2)
    names = [axis.name for axis in axes]
    return s.make(
        f"l2norm[{_names(axes)}]({x.text}, eps = 0.05)", [x], lambda env, xs: named.l2norm(xs[0], names, 0.05),
        acted=axes, big=1,
    )  # fmt: skip


def carries_mark(vals: Sequence[Val], axes: Sequence[Axis]) -> list[int]:
    """The operands that D6 refuses: sums to one over something, but this averages over something else."""
    wrong = []
    for place, val in enumerate(vals):
        others = [other for at, other in enumerate(vals) if at != place]
        if not val.mark or val.mark <= set(axes) or not others:
            continue
        if any(other.mark and other.mark <= set(axes) for other in others):
            continue
        if all(other.role <= WEIGHT for other in others):
            continue
        wrong.append(place)
    return wrong


def averages_wider(vals: Sequence[Val], axes: Sequence[Axis]) -> list[int]:
    """The operands that W0508 warns of: sums to one over some of these, averaged over a width besides."""
    wrong = []
    for place, val in enumerate(vals):
        others = [other for at, other in enumerate(vals) if at != place]
        if not val.mark or not val.mark <= set(axes) or all(other.role <= WEIGHT for other in others):
            continue
        covered = val.mark.union(*(other.mark for other in others if other.mark <= set(axes)))
        if any(axis.width and val.has(axis) and axis not in covered for axis in axes):
            wrong.append(place)
    return wrong


def averages_scaled(vals: Sequence[Val], axes: Sequence[Axis]) -> list[int]:
    """The operands that W0508 warns of: sums to one over others than these, times a number."""
    wrong = []
    for place, val in enumerate(vals):
        others = [other for at, other in enumerate(vals) if at != place]
        if not val.scaled or val.scaled & set(axes) or all(other.role <= WEIGHT for other in others):
            continue
        if not any(other.mark and other.mark <= set(axes) for other in others):
            wrong.append(place)
    return wrong


@row("dot", 8)
def dot(s: Scope) -> Val | None:
    first = s.find(lambda val: bool(val.mark) and val.role == DATA) if s.chance(0.85) else None
    found = (first, list(first.axes)) if first is not None else s.real_with(lambda axis: True)
    if found is None:
        return None
    x, axes = found
    marked = [axis for axis in x.axes if axis in x.mark]
    plain = [axis for axis in x.axes if axis not in x.mark]
    axes = marked if marked and (not plain or s.chance(0.15)) else s.some(plain or axes, 1, 2)
    vals = [x]
    for _ in range(s.pick([0, 1, 1, 1, 1, 2])):
        other = s.find(lambda val: val.element == "real" and all(map(val.has, axes)) and s.fits({*x.axes, *val.axes}))
        if other is None or s.chance(0.2):
            other = s.input([*axes, *s.random_axes(0, 1, lambda a: a not in axes and s.fits({*x.axes, *axes, a}))])
        if other is None:
            return None
        vals.append(other)
    if not axes or not s.fits({axis for val in vals for axis in val.axes}):
        return None
    while wrong := [*carries_mark(vals, axes), *averages_scaled(vals, axes), *averages_wider(vals, axes)]:
        s.tag("raw for D6")
        vals[wrong[0]] = s.raw(s.named(vals[wrong[0]]))
    names = [axis.name for axis in axes]
    union = dict.fromkeys(axis for val in vals for axis in val.axes)
    supports = [pair for val in vals for pair in val.support]
    reach = bounded(s, axes, [replace(vals[0], reach=r.reach, support=tuple(supports)) for r in vals[:1]])
    for val in vals[1:]:
        other_reach = bounded(s, axes, [val, replace(val, support=tuple(supports))])
        reach = None if reach is None or other_reach is None else reach | other_reach  # type: ignore[operator]
    for val in vals:
        for axis in axes:
            s.require(val, axis)
    shown = f"dot[{_names(axes)}]({', '.join(val.text for val in vals)})"
    for other in [axis for axis in s.axes if axis not in axes]:
        wrong = shown.replace(f"dot[{_names(axes)}]", f"dot[{other.name}]", 1)
        if len(vals) > 1 and sum(val.has(other) for val in vals) < 2:
            s.wrong("contracted axis that no two operands have", shown, wrong, f"{other.name} joins no two")
        elif len(vals) == 2 and carries_mark(vals, [other]):
            s.wrong(
                "averaged over another axis than normalised over", shown, wrong, "weights sum to one over another axis"
            )
    if len(vals) > 1 and any(val.role == DATA for val in vals):
        s.wrong(
            "where in an op that takes none", shown, shown[:-1] + f" where {s.axes[0].name} < 1)", "`dot` takes no mask"
        )
    return s.make(
        shown, vals, lambda env, xs: named.dot(xs, names),
        axes=[axis for axis in union if axis not in axes], reach=reach, nothing=s.left(vals, axes),
        big=math.prod(val.big for val in vals) * 2,
    )  # fmt: skip


# -- learned -----------------------------------------------------------------------------------------------------


def labelled(s: Scope, op: str, brackets: str, rest: str) -> tuple[str, str]:
    """The op with a label, and the name of its weights. Unlabelled it must be all of `name = op[...](...)`."""
    label = s.gen.fresh("L")
    return f"{op}.{label}[{brackets}]({rest})", label


def learned(s: Scope, val: Val, op: str, label: str) -> Val:
    """Sometimes without its label: bound to that name."""
    if s.chance(0.5):
        return val
    s.tag("weights named by binding")
    return s.bind(replace(val, text=val.text.replace(f"{op}.{label}", op, 1)), label)


INITS = ["normal(0.3)", "uniform(0.5)", "zeros", "ones", "constant(0.25)", "xavier"]


@row("linear", 8)
def linear(s: Scope) -> Val | None:
    found = s.real_with(fixed)
    if found is None:
        return None
    x, axes = found
    eaten = s.some(axes, 1, 2)
    left = [axis for axis in x.axes if axis not in eaten]
    made = s.random_axes(1, 2, lambda axis: axis.fixed and axis not in left)
    each = (
        s.some([axis for axis in s.axes if axis.fixed and axis not in made and axis not in eaten], 1, 1)
        if s.chance(0.2)
        else []
    )
    axes = [*left, *(axis for axis in each if axis not in left), *made]
    if not made or not s.fits(axes):
        return None
    bias = s.chance(0.6)
    options = "" if bias else ", bias = false"
    if s.chance(0.15):
        s.tag("init")
        options += f", init = {s.pick(INITS)}"
    brackets = f"{_names(each)}: {_names(eaten)} -> {_names(made)}" if each else f"{_names(eaten)} -> {_names(made)}"
    if each:
        s.tag("linear with a colon")
    text, label = labelled(s, "linear", brackets, x.text + options)
    if not each:
        free = [axis for axis in s.axes if axis.width and not axis.fixed and not axis.own and axis not in left]
        for axis in free[:1] if s.model else []:
            wrong = text.replace(f"-> {_names(made)}]", f"-> {axis.name}]", 1)
            s.wrong("learned over a width of any size", text, wrong, f"the size of {axis.name} is not known")
        for axis in [axis for axis in s.axes if axis.fixed and not x.has(axis)][:1]:
            wrong = text.replace(f"[{_names(eaten)} ->", f"[{axis.name} ->", 1)
            s.wrong("linear of an axis that is not there", text, wrong, f"the operand has no {axis.name}")
    groups, ins, outs = s.dims([[axis] for axis in each]), s.dims([eaten])[0], s.dims([made])[0]

    def run(env: Env, xs: Sequence[Arr]) -> Arr:
        inner = {name: f"eaten {name}" for name in ins}
        weight = _weight(env, f"{label}.weight", groups, outs, ins, inner)
        y = named.dot([xs[0].rename(inner), weight], list(inner.values()))
        return pointwise(np.add, y, env.weight(f"{label}.bias", [*groups, outs])) if bias else y

    born = {axis: axis for axis in each}  # the weights have these
    val = s.make(text, [x], run, axes=axes, acted=eaten, moved=born, role=WEIGHT, big=x.big * 2 + 1, learns=True,
                 nothing=s.left([x], eaten))  # fmt: skip
    return learned(s, val, "linear", label)


def _weight(
    env: Env, name: str, groups: list[list[str]], outs: list[str], ins: list[str], inner: dict[str, str]
) -> Arr:
    """A linear map: an axis may be mapped to itself, so the eaten ones get other names."""
    sizes = {inner[axis]: env.sizes[axis] for axis in ins}
    around = replace(env, sizes={**env.sizes, **sizes})
    return around.weight(name, [*groups, outs, [inner[axis] for axis in ins]])


@row("embed", 3)
def embed(s: Scope) -> Val | None:
    ids = s.find(lambda val: val.element == "index" and val.into is not None and val.into.fixed)
    if ids is None or s.chance(0.2):
        vocab = s.pick(s.axes)
        if not vocab.fixed or vocab.own:
            return None
        ids = s.input(s.random_axes(0, 2, lambda axis: axis != vocab), "index", vocab)
    if ids is None or ids.into is None:
        return None
    vocab = ids.into
    made = s.random_axes(1, 2, lambda axis: axis.fixed and not ids.has(axis))
    if not made or not s.fits([*ids.axes, *made]):
        return None
    s.require_index(ids)
    text, label = labelled(s, "embed", f"{vocab.name} -> {_names(made)}", ids.text)
    names = s.dims([made])[0]

    def run(env: Env, xs: Sequence[Arr]) -> Arr:
        if vocab.name in names:  # the table has the axis twice
            around = replace(env, sizes={**env.sizes, "the vocabulary": env.sizes[vocab.name]})
            return named.gather(around.weight(f"{label}.weight", [["the vocabulary"], names]), "the vocabulary", xs[0])
        return named.gather(env.weight(f"{label}.weight", [[vocab.name], names]), vocab.name, xs[0])

    val = s.make(text, [ids], run, axes=[*ids.axes, *made], role=WEIGHT, big=1, learns=True,
                 nothing=ids.nothing)  # fmt: skip
    return learned(s, val, "embed", label)


def _norm(op: str) -> None:
    @row(op, 3)
    def write(s: Scope) -> Val | None:
        scale, bias = s.chance(0.8), op == "layernorm" and s.chance(0.7)
        found = s.real_with(fixed if scale or bias else lambda axis: True)
        if found is None:
            return None
        x, axes = found
        axes = s.some(axes, 1, 2)
        if not x.nothing.isdisjoint(axes):
            return None
        s.gen.filled |= {axis.family for axis in axes}
        s.draft.whole += [axis.name for axis in axes]
        eps = s.pick([1e-5, 0.01]) if op == "layernorm" else s.pick([1e-6, 0.01])
        options = [x.text, *([f"eps = {eps:f}"] if eps == 0.01 else [])]
        options += [] if scale else ["scale = false"]
        options += [] if bias or op == "rmsnorm" else ["bias = false"]
        names = s.dims([axes])[0]
        text, label = labelled(s, op, _names(axes), ", ".join(options))
        if not (scale or bias):
            text = text.replace(f".{label}", "", 1)
            s.tag("norm without weights")

        def run(env: Env, xs: Sequence[Arr]) -> Arr:
            y = named.standardise(xs[0].full(names, env.sizes), names, eps, op == "layernorm")
            if scale:
                y = pointwise(np.multiply, y, env.weight(f"{label}.weight", [[name] for name in names]))
            return pointwise(np.add, y, env.weight(f"{label}.bias", [[name] for name in names])) if bias else y

        learns = scale or bias
        val = s.make(text, [x], run, acted=axes, role=WEIGHT if learns else 0, big=3, learns=learns)
        return learned(s, val, op, label) if learns else val


_norm("layernorm")
_norm("rmsnorm")


# -- arranging ---------------------------------------------------------------------------------------------------


@row("rename", 5)
def rename(s: Scope) -> Val | None:
    pair = copies(s)
    if pair is None:
        return None
    old, new = pair
    x = s.find(lambda val: val.has(old) and not val.has(new))
    if x is None:
        x = s.input([old, *s.random_axes(0, 2, lambda axis: axis not in pair)])
    return None if x is None else renamed(s, x, old, new)


def renamed(s: Scope, x: Val, old: Axis, new: Axis) -> Val:
    swap = {old: new}
    reach = None if x.reach is None else frozenset(swap.get(axis, axis) for axis in x.reach)
    s.met([old, new])
    s.require(x, old)
    shown = f"{x.inner}[{old.name} as {new.name}]"
    for other in s.axes:
        if other.family != old.family and other.width == old.width and not x.has(other):
            s.wrong("rename between families", shown, f"{x.inner}[{old.name} as {other.name}]", "no copies of one axis")
        if not x.has(other):
            s.wrong(
                "rename of an axis that is not there",
                shown,
                f"{x.inner}[{other.name} as {new.name}]",
                "it has no such axis",
            )
    return s.make(
        shown, [x], lambda env, xs: xs[0].rename({old.name: new.name}),
        axes=[swap.get(axis, axis) for axis in x.axes], moved=swap, element=x.element, into=x.into, reach=reach,
        mark=frozenset(swap.get(axis, axis) for axis in x.mark), big=x.big,
    )  # fmt: skip


@row("broadcast", 2)
def broadcast(s: Scope) -> Val | None:
    x = s.find(lambda val: val.element == "real")
    if x is None:
        return None
    axes = s.random_axes(1, 2, lambda axis: not x.has(axis))
    return s.broadcast(x, axes) if axes and s.fits([*x.axes, *axes]) else None


def factors(s: Scope, known: Callable[[Axis], bool]) -> list[tuple[Axis, list[Axis]]]:
    """(whole, parts): axes that are the product of others at any size."""
    out = []
    for whole in s.axes:
        for a in s.axes:
            for b in s.axes:
                pair = [a, b]
                if len({whole, a, b}) < 3 or a.family == b.family or not known(whole):
                    continue
                if all(axis.fixed for axis in (whole, a, b)) and a.size * b.size == whole.size:
                    out.append((whole, pair))
    return out


@row("split", 4)
def split(s: Scope) -> Val | None:
    options = factors(s, lambda axis: True) + [
        (w, [c, f]) for (w, c, f) in [t for t in s.gen_chunks() if all(axis in s.axes for axis in t)]
    ]
    if not options:
        return None
    whole, parts = s.pick(options)
    earlier = s.draft.splits.get(frozenset(part.name for part in parts))
    if earlier is not None and earlier != (whole.name, tuple(part.name for part in parts)):
        return None
    x = s.find(lambda val: val.has(whole) and not any(map(val.has, parts)))
    if x is None:
        x = s.input([whole, *s.random_axes(0, 1, lambda axis: axis not in (whole, *parts))])
    if x is None:
        return None
    if not s.may_split(whole, parts):
        return None
    s.draft.splits[frozenset(part.name for part in parts)] = (whole.name, tuple(part.name for part in parts))
    s.pin(whole, *parts)
    names = s.dims([parts])[0]
    axes = [new for old in x.axes for new in (parts if old == whole else [old])]
    mark = (x.mark - {whole}) | set(parts) if whole in x.mark else x.mark
    shown = f"split[{whole.name} -> {_names(parts)}]({x.text})"
    for other in s.axes if s.model else []:
        known = (
            all(axis.fixed for axis in (whole, other, *parts)) and not x.has(other) and other.family != parts[1].family
        )
        if known and other.size * parts[1].size != whole.size:
            wrong = shown.replace(f"-> {_names(parts)}]", f"-> {other.name}, {parts[1].name}]", 1)
            s.wrong("sizes of a split that do not multiply", shown, wrong, "the product of the parts is another size")
    val = s.make(
        shown, [x],
        lambda env, xs: named.split(xs[0].full([whole.name], env.sizes), whole.name, names, env.sizes),
        axes=axes, acted=[whole], element=x.element, into=x.into, mark=frozenset(mark), big=x.big,
    )  # fmt: skip
    return merged(s, s.function("sin", val, 1), whole, parts) if x.element == "real" and s.chance(0.3) else val


def merged(s: Scope, x: Val, whole: Axis, parts: Sequence[Axis]) -> Val:
    """What was split, put together again."""
    names = s.dims([parts])[0]
    shown = f"merge[{_names(parts)} -> {whole.name}]({x.text})"
    if s.draft.splits.get(frozenset(names)) == (whole.name, tuple(names)):
        wrong = f"merge[{_names(parts[::-1])} -> {whole.name}]({x.text})"
        s.wrong("merged in another order than split", shown, wrong, "that shuffles the items")
    mark = x.mark
    if mark & set(parts):
        mark = (mark - set(parts)) | {whole} if set(parts) <= mark else frozenset()
    return s.make(
        shown, [x], lambda env, xs: named.merge(xs[0].full(names, env.sizes), names, whole.name),
        axes=[*(axis for axis in x.axes if axis not in parts), whole], acted=parts, element=x.element, into=x.into,
        mark=frozenset(mark), big=x.big,
    )  # fmt: skip


@row("merge", 4)
def merge(s: Scope) -> Val | None:
    options = factors(s, lambda axis: True) + [
        (w, [c, f]) for (w, c, f) in [t for t in s.gen_chunks() if all(axis in s.axes for axis in t)]
    ]
    options = [(whole, parts) for whole, parts in options if s.may_merge(whole, parts)]
    if not options:
        return None
    whole, parts = s.pick(options)
    x = s.find(lambda val: all(map(val.has, parts)) and not val.has(whole))
    if x is None:
        x = s.input([*parts, *s.random_axes(0, 1, lambda axis: axis not in (whole, *parts))])
    if x is None:
        return None
    s.pin(whole, *parts)
    s.draft.merges.add((whole.name, tuple(part.name for part in parts)))
    return merged(s, x, whole, parts)


@row("concat", 4)
def concat(s: Scope) -> Val | None:
    options = [
        (a, b, c)
        for a in s.axes for b in s.axes for c in s.axes
        if c not in (a, b) and all(axis.fixed for axis in (a, b, c)) and a.size + b.size == c.size
    ] + [t for t in s.gen_sums() if all(axis in s.axes for axis in t)]  # fmt: skip
    if not options:
        return None
    a, b, c = s.pick(options)
    if a.ragged:  # its padding may only come last
        a, b = b, a
    x = s.find(lambda val: val.element == "real" and val.has(a) and not val.has(c) and (a == b or not val.has(b)))
    y = s.find(lambda val: val.element == "real" and val.has(b) and not val.has(c) and (a == b or not val.has(a)))
    x = x or s.input([a, *s.random_axes(0, 1, lambda axis: axis not in (a, b, c))])
    y = y or s.input([b, *s.random_axes(0, 1, lambda axis: axis not in (a, b, c))])
    if x is None or y is None:
        return None
    rest = [axis for axis in (*x.axes, *y.axes) if axis not in (a, b)]
    if not s.fits({*rest, c}):
        return None
    if x.role == y.role == DATA:
        x = s.broadcast(x, [axis for axis in dict.fromkeys(rest) if axis.width and not x.has(axis)])
        y = s.broadcast(y, [axis for axis in dict.fromkeys(rest) if axis.width and not y.has(axis)])
    for val in (x, y):
        s.owned(val)
    s.require(x, a)
    s.require(y, b)
    s.pin(a, b, c)
    axes = list(dict.fromkeys([*(axis for axis in (*x.axes, *y.axes) if axis not in (a, b)), c]))
    reach: frozenset[Axis] | str | None = "" if not {a, b} & {*(x.reach or ()), *(y.reach or ())} else None
    shown = f"concat[{a.name}, {b.name} -> {c.name}]({x.text}, {y.text})"
    for other in s.axes if s.model else []:
        if (
            all(axis.fixed for axis in (a, b, c, other))
            and other.size != c.size
            and not x.has(other)
            and not y.has(other)
        ):
            wrong = shown.replace(f"-> {c.name}]", f"-> {other.name}]", 1)
            s.wrong("sizes of a concat that do not add", shown, wrong, "the sum of the parts is another size")
    return s.make(
        shown, [x, y],
        lambda env, xs: named.concat(
            [xs[0].full([a.name], env.sizes), xs[1].full([b.name], env.sizes)], [a.name, b.name], c.name
        ),
        axes=axes, big=max(x.big, y.big), reach=reach,
    )  # fmt: skip


@row("window", 3)
def window(s: Scope) -> Val | None:
    found = s.real_with(lambda axis: True)
    taps = [axis for axis in s.axes if not axis.width and axis.size > 0]
    if found is None or not taps:
        return None
    x, axes = found
    axis, tap = s.pick(axes), s.pick(taps)
    places = [axis] if s.chance(0.6) else [a for a in s.axes if not x.has(a) and a != tap]
    if x.has(tap) or axis == tap or not places:
        return None
    place = s.pick(places)
    out = [new for old in x.axes for new in ((place, tap) if old == axis else (old,))]
    if len(set(out)) < len(out) or not s.fits(out):
        return None
    causal = place == axis and s.chance(0.6)
    stride = 1 if place == axis else s.pick([1, 2])
    amount = s.gen.rng.randrange(3)
    options = f", pad = {f'|{tap.name}| - 1' if causal else amount}" + (f", stride = {stride}" if stride > 1 else "")
    reach: frozenset[Axis] | str | None = x.reach if causal and axis != tap else ""
    if s.tells(axis) and x.reach is not None:  # it gives 0 past the last item
        reach = x.reach | {axis} if causal else None
    elif not causal and x.reach and axis in x.reach:
        reach = None
    s.require(x, axis)
    return s.make(
        f"window[{axis.name} -> {place.name}, {tap.name}]({x.text}{options})", [x],
        lambda env, xs: named.window(
            xs[0].full([axis.name], env.sizes), axis.name, place.name, tap.name, stride,
            env.sizes[tap.name] - 1 if causal else amount, env.sizes,
        ),
        axes=out, element=x.element, big=x.big, reach=reach,
    )  # fmt: skip


@row("pad", 3)
def pad(s: Scope) -> Val | None:
    options = [(a, b) for a in s.axes for b in s.axes if a != b and a.fixed and b.fixed and a.size <= b.size]
    options += [(a, c) for a, _, c in s.gen_sums() if a in s.axes and c in s.axes]
    if not options:
        return None
    a, b = s.pick(options)
    x = s.find(lambda val: val.element in ("real", "int") and val.has(a) and not val.has(b))
    x = x or s.input([a, *s.random_axes(0, 1, lambda axis: axis not in (a, b))])
    if x is None or not s.fits([*x.axes, b]):
        return None
    left, value = s.gen.rng.randint(0, max(b.size - a.size, 0)), s.pick([0, 0, 0.5])
    s.pin(a, b)
    reach: frozenset[Axis] | str | None = None if x.reach is None or a in x.reach else ""
    text = f"pad[{a.name} -> {b.name}]({x.text}, left = {left}" + (f", value = {value})" if value else ")")
    return s.make(
        text, [x],
        lambda env, xs: named.pad(xs[0].full([a.name], env.sizes), a.name, b.name, left, value, env.sizes),
        axes=[b if axis == a else axis for axis in x.axes], acted=[a], big=x.big + 1, reach=reach,
        element="real" if value else x.element,
    )  # fmt: skip


# -- order and picking -------------------------------------------------------------------------------------------


def rankable(s: Scope, a: Axis, r: Axis) -> bool:
    """Whether that many may be picked: it is not known that there are fewer. In a block, whatever stands for them."""
    if a == r or a.family == r.family:
        return a != r
    if not r.fixed or not s.model:
        return a.fixed and r.fixed and r.size <= a.size
    return r.size <= (s.gen.capacity[a.name] if a.bounded else a.size) or not (a.fixed or a.bounded)


def ranked(
    s: Scope, op: str, a: Axis, r: Axis, text: str, parts: Sequence[Val], axes: Sequence[Axis], down: bool = True
) -> Val:
    """The indices of what the mask, if any, keeps, in order; picks of nothing where that may be too few."""
    fewer = a.family != r.family and not (a.fixed and r.fixed)
    lacks = len(parts) > 1 or fewer or any(a in part.nothing for part in parts)

    def run(env: Env, xs: Sequence[Arr]) -> Arr:
        mask = xs[1] if len(xs) > 1 else named.number(True) if fewer else None
        return named.ranks(xs[0].full([a.name], env.sizes), a.name, r.name, down, env.sizes[r.name], mask)

    return s.make(
        f"{op}[{a.name} -> {r.name}]({text})", parts, run, axes=axes, element="index", into=a, acted=[a], big=5,
        reach=bounded(s, [a], parts), nothing=frozenset(axes) if lacks else s.left(parts, [a]),
        upto=upto(a, parts, axes),
    )  # fmt: skip


@row("valid", 0)
def valid(s: Scope) -> Val | None:
    pick = s.find(lambda val: val.element == "index" and bool(val.nothing))
    if pick is None:
        return None
    return s.make(f"valid({pick.text})", [pick], lambda env, xs: named.validity(xs[0]), element="bool",
                  nothing=frozenset())  # fmt: skip


def _rank(op: str) -> None:
    @row(op, 3)
    def write(s: Scope) -> Val | None:
        options = [
            (a, r)
            for a in s.axes for r in s.axes
            if a != r and (a.family == r.family or (op == "topk" and a.fixed and r.fixed and r.size <= a.size))
        ]  # fmt: skip
        if s.gen.picks and op == "topk" and s.chance(0.6):
            options = [(a, r) for a in s.axes for r in s.axes if rankable(s, a, r)]
        if not options:
            return None
        a, r = s.pick(options)
        x = s.find(lambda val: val.element in ("real", "int") and val.has(a) and not val.has(r))
        x = x or s.input([a, *s.random_axes(0, 1, lambda axis: axis not in (a, r))])
        if x is None:
            return None
        s.require(x, a)
        if a.family != r.family:
            s.pin(a, r)
        if x.element == "real":  # never so near that rounding decides
            wave = s.function(
                "sin", binary(s, "+", binary(s, "*", s.literal(2.7), s.position(a), 9), s.literal(0.3), 9), 1
            )
            x = binary(s, "+", x, wave, x.big)
        given = masked(s, x, [a]) if s.gen.picks else (x.text, [x], None)
        if given is None or any(part.has(r) for part in given[1]):
            return None
        text, parts, _ = given
        axes = [r if axis == a else axis for axis in dict.fromkeys(axis for part in parts for axis in part.axes)]
        down = op == "topk" or s.chance(0.4)
        option = ", descending = true" if op == "argsort" and down else ""
        s.met([a, r])
        return ranked(s, op, a, r, text + option, parts, axes, down)


_rank("topk")
_rank("argsort")


@row("index", 3)
def index(s: Scope) -> Val | None:
    """A whole number as an index, kept in range by a remainder."""
    into = s.pick([axis for axis in s.axes if axis.fixed] or s.axes)
    val = integer(s)
    if val is None or not into.fixed or not into.size:
        return None
    inside = binary(s, "%", val, s.size(into), into.size, "int")
    return s.make(
        f"index[{into.name}]({inside.text})", [inside], lambda env, xs: xs[0], element="index", into=into, big=5
    )


@row("gather", 8)
def gather(s: Scope) -> Val | None:
    """The items at: a constant, an end, a step aside, turned round, another copy, looked up."""
    x = s.find(lambda val: bool(val.axes) and val.element in ("real", "int", "bool", "index"))
    if x is None:
        x = s.input(s.random_axes(1, 3))
    if x is None or not x.axes:
        return None
    axis = s.pick(x.axes)
    here, size = s.position(axis), s.size(axis)
    last = binary(s, "-", size, s.literal(1), 5, "int")
    reach: frozenset[Axis] | str | None = ""
    kind = s.gen.rng.randrange(9)
    s.gen.filled.add(axis.family) if kind in (0, 1) else None
    others = [a for a in s.axes if a.family == axis.family and a != axis]
    if kind == 0:
        e: Val | None = s.literal(0)
    elif kind == 1:
        e = last
    elif kind == 2:
        shifted = binary(s, "-", here, s.literal(s.pick([1, 2])), 5, "index", into=axis)
        e = s.make(f"max({shifted.text}, 0)", [shifted], lambda env, xs: pointwise(lambda i: np.maximum(i, 0), xs[0]),
                   element="index", into=axis)  # fmt: skip
        reach = x.reach
    elif kind == 3:
        shifted = binary(s, "+", here, s.literal(1), 5, "index", into=axis)
        e = s.make(f"min({shifted.text}, {last.text})", [shifted, last], lambda env, xs: pointwise(np.minimum, *xs),
                   element="index", into=axis)  # fmt: skip
    elif kind == 4:
        e = binary(s, "-", last, here, 5, "int")
    elif kind == 5 and others:
        e = s.position(s.pick(others))
    else:
        e = s.find(lambda val: val.element == "index" and val.into is not None and val.into.family == axis.family)
        if e is None and not axis.own:
            e = s.input(s.random_axes(0, 2, lambda a: a.family != axis.family), "index", axis)
    if e is None:
        return None
    if e.element == "index" and e.role == DATA:
        s.require_index(e)
    rest = [a for a in x.axes if a != axis]
    own = [a for a in e.axes if a not in rest]
    if not s.fits([*rest, *own]):
        return None
    if reach == "" and x.reach and axis in x.reach:
        reach = x.reach - {axis} | {e.upto} if e.upto is not None else None
    if reach != "" and reach is not None and e.reach is not None:
        reach = frozenset(reach) | e.reach
    s.require(x, axis)
    s.met([axis, *own])
    shown = f"{x.inner}[{axis.name} = {e.text}]"
    if axis not in own and s.fits(rest):
        s.wrong("index past the end", shown, f"{x.inner}[{axis.name} = |{axis.name}|]", "the last index is one less")
        s.wrong("negative index", shown, f"{x.inner}[{axis.name} = 0 - 1]", "indices start at 0")
    for other in s.axes:
        if other.family != axis.family:
            s.wrong(
                "index into another axis", shown, f"{x.inner}[{axis.name} = {other.name}]", "indices of another family"
            )
        if not x.has(other):
            s.wrong(
                "picked along an axis that is not there", shown, f"{x.inner}[{other.name} = 0]", "it has no such axis"
            )
    return s.make(
        shown, [x, e],
        lambda env, xs: named.gather(xs[0].full([axis.name], env.sizes), axis.name, xs[1]),
        axes=[*rest, *own], element=x.element, into=x.into, mark=frozenset() if axis in x.mark else x.mark, big=x.big,
        reach=reach, nothing=(x.nothing - {axis}) | e.nothing | frozenset(e.axes if axis in x.nothing else ()),
    )  # fmt: skip


@row("cross_entropy", 3)
def cross_entropy(s: Scope) -> Val | None:
    found = s.real_with(lambda axis: not axis.width and axis.size > 0)
    if found is None:
        return None
    x, axes = found
    vocab = s.pick(axes)
    if vocab.own or vocab in x.nothing:
        return None
    x = unmarked(s, x, [vocab])
    ids = s.find(
        lambda v: v.element == "index" and v.into is not None and v.into.family == vocab.family and not v.has(vocab)
    )
    ids = ids or s.input([a for a in x.axes if a != vocab and (a.width or s.chance(0.5))], "index", vocab)
    if ids is None or not s.fits({*x.axes, *ids.axes}):
        return None
    if ids.role == DATA and x.role == DATA:
        missing = [a for a in ids.axes if a.width and not x.has(a)]
        if any(a.width and not ids.has(a) for a in x.axes if a != vocab):
            ids = s.broadcast(ids, [a for a in x.axes if a.width and a != vocab and not ids.has(a)])
        x = s.broadcast(x, missing)
    s.require_index(ids)
    s.owned(x)
    s.require(x, vocab)
    for axis in ids.axes:
        s.require(ids, axis)
    smoothing = 0 if vocab.ragged else s.pick([0, 0.1])
    option = f", smoothing = {smoothing}" if smoothing else ""
    return s.make(
        f"cross_entropy[{vocab.name}]({x.text}, {ids.text}{option})", [x, ids],
        lambda env, xs: named.cross_entropy(xs[0].full([vocab.name], env.sizes), xs[1], vocab.name, smoothing),
        axes=[a for a in dict.fromkeys((*x.axes, *ids.axes)) if a != vocab], big=x.big + 3,
        nothing=x.nothing | ids.nothing,
    )  # fmt: skip


@row("slip", 1)
def slip(s: Scope) -> Val | None:
    """What is right and looks wrong, and is warned of: an index compared with itself, ids added to features, weights
    where scores belong, and a mask by hand over a ragged width.
    """
    if not s.model or s.outer:
        return None
    axis = s.pick([axis for axis in s.axes if axis.width])
    x = s.input([axis])
    if x is None:
        return None
    if axis.ragged and s.chance(0.6):
        mask = s.input([axis], "bool")
        code, val = "W0505", None if mask is None else s.make(
            f"sum[{axis.name}]({x.text} where {mask.text})", [x, mask],
            lambda env, xs: named.reduce("sum", xs[0], xs[1], [axis.name], env.sizes), axes=[], acted=[axis], big=9,
            reach=None,
        )  # fmt: skip
    elif s.chance(0.3):
        code, val = "W0506", binary(s, "<=", s.position(axis), s.position(axis), 1, "bool")
    elif s.chance(0.5):
        name, names = s.pick(["softmax", "log_softmax"]), [axis.name]
        s.require(x, axis)
        again = f"{name}[{axis.name}](softmax[{axis.name}]({x.text}))"
        code, val = "W0511", s.make(
            again if name == "softmax" else f"exp({again})", [x],
            lambda env, xs: named.softmax(named.softmax(xs[0], None, names, env.sizes), None, names, env.sizes),
            mark=frozenset([axis] if name == "softmax" else []), big=1, reach=bounded(s, [axis], [x]),
        )  # fmt: skip
    else:
        ids = s.input([axis], "index", s.pick([other for other in s.axes if not other.width]))
        code, val = "W0509", None if ids is None else binary(s, "+", x, ids, 9)
    if val is not None:
        s.gen.slips.append((code, val.text))
        s.tag(f"warning {code}")
    return val
