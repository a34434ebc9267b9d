"""Rows that are no ops: params, blocks and their calls, repeats, static ifs, shares, scans, the library."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np

from . import named
from .named import Arr, number, pointwise
from .ops import ROWS, binary, bounded, copies, row
from .program import DATA, TABLE, WEIGHT, Axis, Env, Formal, Generic, Number, Result, Stmt, Unit, Uses, Val
from .scope import Draft, Gen, Scope

# -- small statements ------------------------------------------------------------------------------------------------


@row("param", 4)
def param(s: Scope) -> Val | None:
    axes = s.random_axes(0, 3, lambda axis: axis.fixed or axis.bounded)
    if not s.fits(axes):
        return None
    name = s.gen.fresh("P")
    init = s.pick(["", " ~ normal(0.3)", " ~ uniform(0.5)", " ~ zeros"])
    frozen = " frozen" if s.chance(0.2) else ""
    id = next(s.gen.ids)
    names = [[axis.name] for axis in axes]

    def run(env: Env, stmt: Stmt) -> None:
        env.values[id] = env.weight(name, names, s.gen.capacity)

    text = f"param {name}: [{', '.join(axis.name for axis in axes)}]{init}{frozen}"
    s.stmts.append(Stmt(text, frozenset(), frozenset({id, "weights"}), run))
    s.draft.learns = True
    s.met(axes)
    val = Val(name, tuple(axes), lambda env: env.values[id], "real", None, WEIGHT,
              sources=dict.fromkeys(axes, frozenset({"*"})))  # fmt: skip
    return s.variable(val, name, id)


@row("expect", 2)
def expect(s: Scope) -> Val | None:
    val = s.find(lambda val: val.text.isidentifier() and bool(val.uses))
    if val is not None:
        s.stmts.append(
            Stmt(f"expect {val.text}: {val.type_text(s.some(val.axes, 9, 9))}", val.uses, frozenset(), _nothing)
        )
    return None


@row("rebind", 2)
def rebind(s: Scope) -> Val | None:
    """`x = f(x)`: the name stands for the new value from here on."""
    kept = {promised.text for promised, _ in s.gen.promised}
    val = s.find(lambda val: val.element == "real" and val.text in bound_here(s) - kept)
    if val is None or val in s.loose:
        return None
    s.flush()
    s.vals = [other for other in s.vals if other.text != val.text]
    s.tag("rebinding")
    return s.bind(s.function("tanh", val, 1), val.text)


def bound_here(s: Scope) -> set[str]:
    """Names that may be bound again here: those of this body, not those around it."""
    return s.carried | {name for stmt in s.stmts for name in re.findall(r"^(\w+)(?::.*)? = ", stmt.head)}


def _nothing(env: Env, stmt: Stmt) -> None:
    pass


def valued(s: Scope, env: Env, name: str) -> float:
    """A const of the file or of the block, or the number of a pass."""
    return env.consts[name] if name in env.consts else s.gen.consts[name]


def constant(s: Scope, name: str) -> Val:
    kind = "int" if isinstance(s.consts[name], int) else "real"
    return Val(name, (), lambda env: number(valued(s, env, name)), kind, big=4, static=True)


@row("const", 2)
def const(s: Scope) -> Val | None:
    x = s.real()
    if x is None or not s.consts:
        return None
    name = s.pick(sorted(s.consts))
    return binary(s, "*", x, constant(s, name), x.big * 4)


# -- repeats and ifs -------------------------------------------------------------------------------------------------


OF_PICKS = {"valid": 5, "topk": 8, "argmax": 6, "picked": 8}  # weights in programs with picks
RARER = {"call": 16, "scan": 6, "share": 7, "repeat": 10, "if": 6}  # weights within repeats and branches


def inside(s: Scope, names: set[str], carried: frozenset[str] = frozenset(), shared: bool = False) -> Scope:
    """A scope for the body of a repeat or a branch. names: of the weights there. carried: what may be bound anew.

    In a shared repeat all passes are alike: none may hang on the number of a pass around it.
    """
    return replace(
        s, vals=list(s.vals), stmts=[], loose=[], names=names, consts=dict(s.consts), outer=s, carried=carried,
        deciding={} if shared else dict(s.deciding), nested=s.nested + 1,
    )  # fmt: skip


def fill(s: Scope, rows: int) -> None:
    """So many statements."""
    weights = [RARER.get(name, weight) if s.outer else weight for name, (weight, _) in ROWS.items()]
    if s.gen.picks:
        weights = [OF_PICKS.get(name, weight) for name, weight in zip(ROWS, weights, strict=True)]
    for name in s.gen.rng.choices(list(ROWS), weights, k=rows):
        if s.nested >= 2 and name in ("repeat", "if"):
            continue
        val = ROWS[name][1](s)
        if val is None or any(val is other for other in s.vals):
            continue
        if s.chance(0.3):
            s.loose.append(val)
        else:
            s.bind(val)
    s.flush()


def decider(s: Scope) -> str | None:
    """A const that may decide what is computed, rather the number of a pass."""
    turns = [name for name, of_a_pass in s.deciding.items() if of_a_pass]
    return s.pick(turns if turns and s.chance(0.7) else list(s.deciding)) if s.deciding else None


def number_of(s: Scope) -> tuple[str, Callable[[Env], int]]:
    """A small number that decides what is computed: written out, a const, or hanging on the number of a pass."""
    name = decider(s) if s.chance(0.75) else None
    if name is None:
        size = s.pick([0, 1, 1, 2, 2] if s.outer else [0, 1, 2, 2, 3, 3])
        return str(size), lambda env: size
    more = s.pick([0, 0, 1])
    if s.deciding[name]:
        s.tag("decided by the number of a pass")
    elif name != "layers":
        s.tag("decided by a const of the block")
    return f"{name} + {more}" if more else name, lambda env: int(valued(s, env, name)) + more


@row("repeat", 12)
def repeat(s: Scope) -> Val | None:
    s.flush()
    kept = {promised.text for promised, _ in s.gen.promised}
    known = [val for val in s.vals if val.element == "real" and val.text.isidentifier() and val.text not in kept]
    if s.outer:
        known = [val for val in known if val.text in bound_here(s)]
    starts = s.some([val for val in known if sum(other.text == val.text for other in s.vals) == 1], 1, 2)
    if not starts:
        return None
    shared = s.chance(0.4)
    body, read = inside(s, set(), frozenset(start.text for start in starts), shared), len(s.draft.whole)
    ids = [next(s.gen.ids) for _ in starts]
    for start, id in zip(starts, ids, strict=True):
        body.vals = [val for val in body.vals if val.text != start.text]
        role = max(start.role, DATA) if start.deps or s.model else start.role
        val = replace(
            start,
            mark=frozenset(),
            scaled=frozenset(),
            static=False,
            support=(),
            role=role,
            deps=start.deps | {f"carry:{id}"},
            owner="",
            big=3.0,
        )
        for axis in start.axes:
            s.require(start, axis)
        body.variable(val, start.text, id)
    count, passes = number_of(s)
    index = ""
    if s.chance(0.65):
        index = s.gen.fresh("i")
        body.consts = {index: 0, **body.consts}
        if not shared:
            body.deciding[index] = True
    fill(body, s.gen.rng.randint(1, 4))
    # they may stand for other values by now
    carried = [next(val for val in body.vals if val.text == start.text) for start in starts]
    ends = []
    for start, inner in zip(starts, carried, strict=True):
        new: Val | None = body.find(lambda val, inner=inner: val.element == "real" and bool(val.uses - inner.uses))
        new = body.coerce(new or inner, start.axes)
        if new is not None and s.chance(0.85):
            pair = body.together([inner, new])
            new = None if pair is None else binary(body, "+", pair[0], pair[1], 3)
        else:
            s.tag("nothing carried") if new is not None else None
        if new is None:
            return None
        new = body.function("tanh", new, 1)
        if set(new.axes) != set(start.axes) or new.role > inner.role:
            return None
        deps = {dep for dep in new.deps if not dep.startswith("carry:")}
        if not s.model and deps != start.deps:
            return None
        new = replace(new, role=inner.role)
        ends.append(body.bind(new))
        body.stmts[-1] = replace(body.stmts[-1], needed=True)
    if len(ends) == 2 and set(ends[0].axes) == set(ends[1].axes) and ends[0].role == ends[1].role and s.chance(0.4):
        ends.reverse()
        s.tag("carried crosswise")
    finals = []
    for start, new in zip(starts, ends, strict=True):
        for axis in new.axes:
            s.require(new, axis)
        final = body.bind(new, start.text)
        body.stmts[-1] = replace(body.stmts[-1], needed=True)
        finals.append(final)
    if not s.model and len({start.deps for start in starts}) > 1:
        return None
    nothing = frozenset().union(*(val.nothing for val in (*starts, *ends)))
    if any(axis.name in s.draft.whole[read:] for axis in nothing):  # it may come round to what reads all
        return None
    marked = any(start.mark or start.scaled for start in starts)  # of unlike passes D6 looks at each
    if s.model and body.deciding.get(index) and not marked and s.chance(0.4):
        made_anew(body, s.pick(finals), index)
    label = s.gen.fresh("rep")
    if count == "layers" and "layers" not in s.names and s.chance(0.7):
        label = "layers"
    path = label
    learns = any("weights" in stmt.makes for stmt in body.stmts)
    if not learns and s.chance(0.7) and s.names:
        label = max(s.names)  # what has no weights may be named as something else is
    shown = "" if label == "layers" == count else f".{label}"
    s.names.add(label)
    where = f"{index} in " if index else ""
    head = f"repeat{shown} {where}{count}{' shared' if shared else ''}"
    for name, given in {
        "repeat": True, "repeat shared": shared, "repeat with an index": bool(index), "repeat of no pass": count == "0",
        "repeat in a repeat": s.nested,
    }.items():  # fmt: skip
        s.tag(name) if given else None
    outs = [next(s.gen.ids) for _ in starts]

    def run(env: Env, stmt: Stmt) -> None:
        state = [start.run(env) for start in starts]
        assert stmt.body is not None
        number = passes(env)
        for turn in range(number or shared):  # one set of weights is there also where nothing passes
            path_ = f"{env.path}{path}." if shared else f"{env.path}{path}.{turn}."
            here = replace(env, path=path_, consts={**env.consts, **({index: turn} if index else {})})
            here.values.update(zip(ids, state, strict=True))
            for inner in stmt.body:
                inner.run(here, inner)
            state = [final.run(here) for final in finals] if number else state
        env.values.update(zip(outs, state, strict=True))

    makes: Uses = frozenset({*outs, *ids, *({"weights"} if learns else ())})
    uses = frozenset().union(*(start.uses for start in starts))
    s.stmts.append(Stmt(head, uses, makes, run, tuple(body.stmts)))
    s.draft.learns = s.draft.learns or learns
    kept_all = all(end.reach is not None and start.reach is not None and end.reach <= start.reach
                   for start, end in zip(starts, ends, strict=True))  # fmt: skip
    for start, end, id in zip(starts, ends, outs, strict=True):
        s.vals = [val for val in s.vals if val.text != start.text]
        val = replace(end, deps=frozenset(d for d in end.deps if not d.startswith("carry:")) | start.deps, role=DATA,
                      mark=frozenset(), reach=start.reach if kept_all else None,
                      nothing=nothing & set(end.axes))  # fmt: skip
        s.variable(val, start.text, id)
    s.used -= set(outs)
    return None


def made_anew(s: Scope, final: Val, index: str) -> None:
    """One pass gives a number in place of what is carried, which hangs on nothing from there on."""
    turn = s.pick([0, 1, 1, 2])
    plain = s.broadcast(s.literal(0.5), final.axes)

    def give(env: Env, stmt: Stmt) -> None:
        env.values.update(dict.fromkeys(final.uses, plain.run(env)))

    def run(env: Env, stmt: Stmt) -> None:
        assert stmt.body is not None
        for inner in stmt.body if valued(s, env, index) == turn else ():
            inner.run(env, inner)

    inner = Stmt(f"{final.text} = {plain.text}", frozenset(), final.uses, give, needed=True)
    s.stmts.append(Stmt(f"if {index} == {turn}", frozenset(), final.uses, run, (inner,), needed=True))
    s.tag("made anew in one pass")


@row("depth of a pass", 5)
def depth_of_a_pass(s: Scope) -> Val | None:
    """Down to a depth whose size hangs on the number of the pass, and back."""
    turns = sorted(name for name, of_a_pass in s.deciding.items() if of_a_pass)
    found = s.real_with(lambda axis: axis.fixed and not axis.width) if turns else None
    if found is None:
        return None
    x, axes = found
    axis, turn, inner = s.pick(axes), s.pick(turns), s.gen.fresh("o")
    down, up = s.gen.fresh("L"), s.gen.fresh("L")

    def declare(env: Env, stmt: Stmt) -> None:
        env.sizes[inner] = env.sizes[axis.name] + int(valued(s, env, turn))

    def run(env: Env, xs: Sequence[Arr]) -> Arr:
        around = replace(env, sizes={**env.sizes, "eaten": env.sizes[axis.name]})
        y = named.dot(
            [xs[0].rename({axis.name: "eaten"}), around.weight(f"{down}.weight", [[inner], ["eaten"]])], ["eaten"]
        )
        y = named.dot([pointwise(np.tanh, y), env.weight(f"{up}.weight", [[axis.name], [inner]])], [inner])
        return pointwise(np.add, y, env.weight(f"{up}.bias", [[axis.name]]))

    s.stmts.append(Stmt(f"depth {inner} = {axis.name} + {turn}", frozenset(), frozenset({inner}), declare, needed=True))
    s.tag("depth of a pass")
    text = f"linear.{up}[{inner} -> {axis.name}](tanh(linear.{down}[{axis.name} -> {inner}]({x.text}, bias = false)))"
    return s.make(text, [x], run, axes=x.axes, acted=[axis], moved={axis: axis}, role=WEIGHT, big=3, learns=True)


@row("if", 5)
def branch(s: Scope) -> Val | None:
    """A static `if` that gives one value."""
    s.flush()
    shape = s.find(lambda val: val.element == "real" and s.fits(val.axes))
    if shape is None:
        return None
    axes = shape.axes
    depth = next((axis for axis in s.axes if not axis.width and not axis.own), None)
    name = decider(s) if s.chance(0.8) else None
    if name is not None:
        form, holds = s.pick([
            ("{} % 2 == 0", lambda value: value % 2 == 0), ("{} > 1", lambda value: value > 1),
            ("{} == 0", lambda value: value == 0),
        ])  # fmt: skip
        text, test = form.format(name), lambda env: holds(valued(s, env, name))
        s.tag("static if on the index") if s.deciding[name] else None
    elif depth is not None:
        text, test = f"|{depth.name}| == 2", lambda env: env.sizes[depth.name] == 2
        s.pin(depth)
    else:
        return None
    made, id = s.gen.fresh("v"), next(s.gen.ids)
    ends, bodies, names = [], [], [set(s.names), set(s.names)]
    for place in range(2):
        body = inside(s, names[place])
        fill(body, s.gen.rng.randint(0, 2))
        other = body.find(lambda val: val.element == "real" and s.fits({*val.axes, *axes})) or shape
        shaped = body.coerce(other, axes)
        if shaped is None:
            return None
        for axis in shaped.axes:
            s.require(shaped, axis)
        end = body.bind(body.function("tanh", shaped, 1), made)
        body.stmts[-1] = replace(body.stmts[-1], needed=True)
        ends.append(end)
        bodies.append(tuple(body.stmts))
    if not s.model and ends[0].deps != ends[1].deps:
        return None
    if ends[0].role != ends[1].role:
        return None
    s.names.update(*names)

    def run(env: Env, stmt: Stmt) -> None:
        assert stmt.body is not None and stmt.other is not None
        taken, end = (stmt.body, ends[0]) if test(env) else (stmt.other, ends[1])
        for inner in taken:
            inner.run(env, inner)
        env.values[id] = end.run(env)

    learns = any("weights" in stmt.makes for body in bodies for stmt in body)
    makes: Uses = frozenset({id, *({"weights"} if learns else ())})
    s.stmts.append(Stmt(f"if {text}", shape.uses, makes, run, *bodies))
    s.draft.learns = s.draft.learns or learns
    s.tag("static if")
    reach = None if ends[0].reach is None or ends[1].reach is None else ends[0].reach | ends[1].reach
    nothing = ends[0].nothing | ends[1].nothing
    return s.variable(replace(ends[0], reach=reach, mark=frozenset(), nothing=nothing), made, id)


# -- blocks ----------------------------------------------------------------------------------------------------------


def new_block(gen: Gen, cell: bool = False, model: bool = False) -> Unit | None:
    """A block of its own axes and perhaps some of the file's; or a model, to be called by another."""
    rng = gen.rng
    generics: list[Generic] = []
    for _ in range(0 if model else rng.randint(1, 3)):
        whole = rng.choice(gen.axes)
        like = next((g.axis for g in generics if g.axis.width == whole.width), None) if rng.random() < 0.4 else None
        name = gen.fresh("g")
        size = like.size if like else whole.size
        axis = Axis(name, whole.width, size, like.family if like else name, not whole.width)
        default = ""
        if like is None and rng.random() < 0.2 and not any(g.default for g in generics):
            default = f" = {whole.name}"
            gen.tags.add("default of a parameter")
        generics.append(Generic(axis, like, default))
    file = list(rng.sample(gen.axes, min(len(gen.axes), rng.randint(2, 4) if model else rng.randint(0, 2))))
    axes = [*(g.axis for g in generics), *file]
    s = Scope(gen, axes, Draft(), generics, consts=dict(gen.consts) if rng.random() < 0.5 else {})
    numbers: list[Number] = []
    if not model and rng.random() < 0.5:
        numbers.append(Number(gen.fresh("c"), rng.choice([None, 0, 1, 2])))
        s.consts[numbers[0].name] = 1
    s.deciding = {name: False for name, value in s.consts.items() if isinstance(value, int) and name != "factor"}
    for g in generics:
        if not g.axis.width and g.axis.size % 2 == 0 and g.axis.size and rng.random() < 0.3:
            half = gen.fresh("o")
            own = Axis(half, False, g.axis.size // 2, half, True, own=True)
            source = g.axis.name

            def run(env: Env, stmt: Stmt, half: str = half, source: str = source) -> None:
                env.sizes[half] = env.sizes[source] // 2

            s.stmts.append(Stmt(f"depth {half} = {source} / 2", frozenset(), frozenset({half}), run, needed=True))
            s.axes.append(own)
            s.pin(g.axis)
            s.tag("axis of a block's own")
    states: list[Val] = []
    for _ in range(rng.randint(1, 2) if cell else 0):
        val = s.input(s.random_axes(0, 2, lambda axis: not axis.own))
        if val is not None:
            states.append(val)
    for _ in range(rng.randint(1, 2)):
        s.input(s.random_axes(1, 2, lambda axis: not axis.own))
    if rng.random() < 0.3:
        s.input([], default=rng.choice([0.5, 2.0]))
    if rng.random() < 0.3:
        s.input(s.random_axes(1, 2, lambda axis: not axis.own), "bool", default=True)
    fill(s, rng.randint(2, 6))
    results: list[Result] = []
    for formal in states:
        state = next(val for val in reversed(s.vals) if val.text == formal.text)  # it may stand for another value now
        other = s.find(lambda val: val.element == "real" and val.text not in {st.text for st in states}) or state
        shaped = s.coerce(other, state.axes)
        pair = s.together([state, shaped]) if shaped is not None else None
        if pair is None:
            return None
        new = s.function("tanh", binary(s, "+", *pair, 3), 1)
        if len(gen.units) % 5 == 0:  # a state that is made anew in each step, of nothing
            new = s.broadcast(s.literal(0.25), state.axes)
            gen.tags.add("a state of a number")
        for axis in new.axes:
            s.require(new, axis)
        turned = len(gen.units) % 2  # a state may come back with its axes in another order
        results.append(Result(s.bind(new), state.axes[::-1] if turned else state.axes, state.text))
    good = [
        val
        for val in s.vals
        if not any(axis.own for axis in val.axes) and (val.into is None or not val.into.own) and val.uses
    ]
    good = [val for val in good if not any(val.uses == r.val.uses for r in results)]
    leaves = [val for val in good if not val.uses & s.used and not val.owner] or good[-1:]
    for val in leaves[-2 if rng.random() < 0.4 else -1 :]:
        if cell and (val.element != "real"):
            continue
        name = gen.fresh("r") if results or len(leaves) > 1 else None
        results.append(Result(val, tuple(s.some(val.axes, 9, 9)), name))
    if not results or not s.draft.formals:
        return None
    if len(results) > 1:
        results = [replace(r, name=r.name or gen.fresh("r")) for r in results]
        if not cell:
            gen.tags.add("several results")
    draft = s.draft
    keyword, name = ("model", gen.fresh("mod")) if model else ("block", gen.fresh("blk"))
    unit = Unit(
        keyword, name, tuple(draft.formals), tuple(results), tuple(s.stmts), tuple(generics),
        frozenset(draft.need), frozenset(draft.must), frozenset(draft.pinned), frozenset(draft.met),
        whole=frozenset(draft.whole), numbers=tuple(numbers), names=frozenset(s.names), learns=draft.learns,
        sums=draft.sums, doc=rng.choice(["", "What it does."]),
    )  # fmt: skip
    text = unit.text()
    said = re.sub(r"\b\w+ = |^model\b", "", text, flags=re.M)  # what a call in it gives anew it does not mention
    implicit = {axis.name for axis in gen.axes if re.search(rf"\b{axis.name}\b", said)}
    for axis in reversed(gen.axes):  # what the size of one hangs on is one too
        implicit |= gen.parts(axis.name) if axis.name in implicit else set()
    consts = {name for name in gen.consts if re.search(rf"\b{name}\b", said)}
    foreign = bool(re.search(r"\b(doubled|centred)\b", text))
    for other in gen.units:
        names = "|".join([other.name, *re.findall(rf"share (\w+) = {other.name}\b", text)])
        for brackets in re.findall(rf"\b(?:{names})(?:\.\w+)?(?:\[([^\]]*)\])?\(", text):
            given = set(re.findall(r"(\w+) = ", brackets))
            implicit |= other.implicit - given
            consts |= other.consts - given
            foreign = foreign or other.foreign
    if model:  # the size of every width must be had from an input
        given = {axis.family for formal in unit.formals for axis in formal.val.axes if formal.default is None}
        for axis in gen.axes:
            if axis.name in implicit and not axis.fixed and not axis.derived and axis.family not in given:
                given.add(axis.family)
                val = Val(f"given_{axis.name}", (axis,), lambda env: number(0), role=DATA)
                unit = replace(unit, formals=(*unit.formals, Formal(val.text, val)))
    return replace(unit, implicit=frozenset(implicit), consts=frozenset(consts), foreign=foreign)


@dataclass(frozen=True)
class Bound:
    """A call's brackets: what each axis of the block stands for, and its numbers; and how that is written."""

    actual: Mapping[str, Axis]
    shown: tuple[str, ...]
    numbers: Mapping[str, Callable[[Env], float]] = field(default_factory=dict)
    numbers_shown: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        shown = (*self.shown, *self.numbers_shown)
        return f"[{', '.join(shown)}]" if shown else ""


def bind_axes(s: Scope, unit: Unit, without: Axis | None = None) -> Bound | None:
    by_name = {axis.name: axis for axis in s.gen.axes}
    actual: dict[str, Axis] = {name: by_name[name] for name in unit.implicit}
    shown: list[str] = []
    named_only = s.chance(0.3)
    for generic in unit.generics:
        axis = generic.axis
        default = by_name.get(generic.default.removeprefix(" = ")) if generic.default else None
        options = []
        for other in s.axes:
            twins = [name for name, held in actual.items() if held == other]
            if (
                other.width != axis.width
                or other == without
                or any(frozenset((name, axis.name)) in unit.met for name in twins)
            ):
                continue
            if twins and (generic.like or s.chance(0.7) or any(g.like for g in unit.generics)):
                continue
            if axis.name in unit.pinned and other.size != axis.size:
                continue
            if generic.like and (
                actual[generic.like.name].family != other.family or actual[generic.like.name] == other
            ):
                continue
            options.append(other)
        left_out = default is not None and default in options and s.chance(0.5)
        if not options:
            return None
        chosen = default if left_out and default is not None else s.pick(options)
        if any(held == chosen for held in actual.values()):
            s.tag("one axis for two parameters")
        actual[axis.name] = chosen
        named_only = named_only or left_out
        if not left_out:
            shown.append(f"{axis.name} = {chosen.name}" if named_only else chosen.name)
        if axis.family in s.gen.filled:
            s.gen.filled.add(chosen.family)
    if without is not None and without in actual.values():
        return None
    for name in sorted(unit.implicit):
        axis = by_name[name]
        plain = (
            axis.fixed and not axis.width and not axis.derived and axis.family == axis.name and not s.gen.depends(name)
        )
        options = [
            other for other in s.axes
            if plain and other.size == axis.size and not other.width
            and other not in actual.values() and other != without
        ]  # fmt: skip
        if options and not any(generic.default.endswith(f" {name}") for generic in unit.generics):
            actual[name] = s.pick(options)
            shown.append(f"{name} = {actual[name].name}")
            s.tag("file axis rebound at a call")
    s.pin(*(axis for name, axis in actual.items() if name in unit.pinned))
    return bind_numbers(s, unit, Bound(actual, tuple(shown)))


def _given(value: float, env: Env) -> float:
    return value


def bind_numbers(s: Scope, unit: Unit, bound: Bound) -> Bound:
    """With the values of its parameters that are numbers, and perhaps of consts of the file."""
    numbers: dict[str, Callable[[Env], float]] = {}
    shown = []
    for parameter in unit.numbers:
        if parameter.default is None or s.chance(0.7):
            text, numbers[parameter.name] = number_of(s)
            shown.append(f"{parameter.name} = {text}")
            s.tag("a number for a parameter")
        else:
            numbers[parameter.name] = partial(_given, parameter.default)
    for name in sorted(unit.consts & {"layers", "factor"}):
        if s.chance(0.7):
            text, numbers[name] = number_of(s)
            shown.append(f"{name} = {text}")
            s.tag("file const rebound at a call")
    return replace(bound, numbers=numbers, numbers_shown=tuple(shown))


def argument(s: Scope, formal: Formal, axes: Sequence[Axis], into: Axis | None) -> Val | None:
    """A value for a formal, with exactly these axes."""
    wanted = set(axes)
    kind = formal.val.element

    def good(val: Val) -> bool:
        return val.element == kind and (into is None or (val.into is not None and val.into.family == into.family))

    if kind == "real" and s.chance(0.08):  # a number everywhere: it hangs on nothing
        s.tag("a number as argument")
        return s.broadcast(s.literal(0.5), axes)
    if kind == "real":
        val = s.real(lambda val: s.fits({*val.axes, *axes}))
        if val is not None and val.mark:
            val = s.raw(val)
        return None if val is None else s.coerce(val, axes)
    val = s.find(lambda val: good(val) and set(val.axes) == wanted)
    if val is None and kind == "bool" and len(axes) == 2 and axes[0].family == axes[1].family:
        val = binary(s, "<=", s.position(axes[0]), s.position(axes[1]), 1, "bool")
    return val or (None if into is not None and into.own else s.input(axes, kind, into))


def enter(unit: Unit, env: Env, bound: Bound, args: Mapping[str, Arr], path: str) -> list[Arr]:
    """Run a block: inside, its own axes; what lifts is marked by `^`."""
    names = {formal: axis.name for formal, axis in bound.actual.items()}
    sizes = {**env.sizes, **{formal: env.sizes[actual] for formal, actual in names.items()}}
    consts = {**env.consts, **{name: value(env) for name, value in bound.numbers.items()}}
    formals = {}
    for formal in unit.formals:
        if formal.name not in args:
            assert formal.default is not None
            formals[formal.name] = number(formal.default)
            continue
        back = {names[axis.name]: axis.name for axis in formal.val.axes}
        arr = args[formal.name]
        formals[formal.name] = arr.rename({axis: back.get(axis, f"^{axis}") for axis in arr.axes})
    results = unit.run(Env(sizes, env.weights, path, formals=formals, consts=consts))
    return [arr.rename({a: a[1:] if a[0] == "^" else names[a] for a in arr.axes}) for arr in results]


def call_name(s: Scope, unit: Unit) -> tuple[str, str]:
    """How it is written and the path that it adds."""
    if unit.keyword == "model":
        s.called.add(unit.name)
        s.names |= unit.names
        s.tag("a model called")
        return unit.name, ""
    if not unit.learns:
        return unit.name, f"{unit.name}."
    if unit.name in s.names or s.chance(0.3):
        label = s.gen.fresh("L")
        s.names.add(label)
        return f"{unit.name}.{label}", f"{label}."
    s.names.add(unit.name)
    return unit.name, f"{unit.name}."


def may_call(s: Scope, unit: Unit) -> bool:
    """A model has one set of weights, which stand beside the caller's: so only a model calls one that learns."""
    if unit.keyword == "block" or not unit.learns:
        return True
    return s.model and s.outer is None and (unit.name in s.called or not unit.names & s.names)


@row("call", 18)
def call(
    s: Scope, unit: Unit | None = None, shared: tuple[str, int] | None = None, bound: Bound | None = None
) -> Val | None:
    if unit is None:
        unit = s.pick(s.gen.units) if s.gen.units else None
    if unit is not None and not may_call(s, unit):
        return None
    bound = bound or (None if unit is None else bind_axes(s, unit))
    if unit is None or bound is None:
        return None
    actual = bound.actual
    own = set(actual.values())
    free = [axis for axis in s.axes if axis not in own]
    lifts = s.some(free, 1, 1) if free and s.chance(0.4) else []
    args: dict[str, Val] = {}
    texts: list[str] = []
    by_name = s.chance(0.3)
    for position, formal in enumerate(unit.formals):
        val = formal.val
        needed = [axis for axis in val.axes if (formal.name, axis.name) in unit.need]
        number_may = not needed and formal.name not in unit.must and shared is None
        if number_may and formal.default is not None and s.chance(0.5):
            s.tag("default of an argument")
            by_name = True
            continue
        if number_may and val.element == "real" and not (unit.sums and lifts) and s.chance(0.1):
            s.tag("number as an argument")
            ragged = next((axis for axis in s.axes if axis.ragged), None)  # of which each example has its own
            args[formal.name] = s.literal(0.5) if ragged is None else s.share_of(ragged)
        else:
            lacks = [
                axis for axis in val.axes
                if axis not in needed and (val.element in ("bool", "index") or not axis.width) and s.chance(0.3)
            ]  # fmt: skip
            into = actual[val.into.name] if val.into else None
            more = [axis for axis in lifts if not (lacks and val.element in ("real", "int"))]
            more = [axis for axis in more if axis.width or s.chance(0.6)]
            if (unit.sums or any(axis.width for axis in lifts)) and more != lifts:
                return None
            axes = [actual[axis.name] for axis in val.axes if axis not in lacks] + more
            if not s.fits(axes):
                return None
            given = argument(s, formal, axes, into)
            if given is None or set(given.axes) != set(axes) or (shared is not None and given.role != DATA):
                return None
            for axis in given.axes:
                s.require(given, axis)
            s.draft.must |= given.deps
            for tag, there in {"argument that lacks an axis": lacks, "lift": more}.items():
                s.tag(tag) if there else None
            args[formal.name] = given
        text = args[formal.name].text
        texts.append(f"{formal.name} = {text}" if by_name or (position and s.chance(0.1)) else text)
        by_name = by_name or texts[-1].startswith(f"{formal.name} = ")
    if shared is not None:
        shown, path = shared[0], f"{shared[0]}."
    else:
        shown, path = call_name(s, unit)
    block, brackets = unit, bound

    def run(env: Env) -> list[Arr]:
        given = {name: val.run(env) for name, val in args.items()}
        return enter(block, env, brackets, given, f"{env.path}{path}")

    text = f"{shown}{bound.text}({', '.join(texts)})"
    return finish(s, unit, actual, args, text, run, (), shared)


def finish(
    s: Scope, unit: Unit, actual: Mapping[str, Axis], args: Mapping[str, Val], text: str,
    run: Callable[[Env], list[Arr]], added: Sequence[Axis], shared: tuple[str, int] | None,
) -> Val | None:  # fmt: skip
    """The results of a call as values of the caller."""
    s.draft.met |= {frozenset(actual[name].name if name in actual else name for name in pair) for pair in unit.met}
    s.draft.sums = s.draft.sums or unit.sums
    whole = {actual[name] for name in unit.whole if name in actual}
    stood = frozenset().union(*(arg.nothing for arg in args.values()))
    if not stood.isdisjoint(whole) or (stood and unit.foreign):
        return None
    s.draft.whole += [axis.name for axis in whole]
    for arg in args.values():  # what lifts may meet anything in the body
        s.met({*actual.values(), *arg.axes}) if set(arg.axes) - set(actual.values()) else None
    out: list[Val] = []
    uses = frozenset().union(*(val.uses for val in args.values()), {shared[1]} if shared else ())
    for place, result in enumerate(unit.results):
        val = result.val
        axes: dict[Axis, frozenset[str]] = {}
        for axis in result.axes:
            there = [args[f] for f in val.sources[axis] if f in args and actual[axis.name] in args[f].axes]
            if "*" in val.sources[axis]:
                axes[actual[axis.name]] = frozenset({"*"})
            elif there:
                axes[actual[axis.name]] = frozenset().union(*(arg.sources[actual[axis.name]] for arg in there))
        for formal in sorted(val.deps):
            if formal in args:
                declared = {actual[a.name] for f in unit.formals if f.name == formal for a in f.val.axes}
                for axis in args[formal].axes:
                    if axis not in declared:
                        axes[axis] = axes.get(axis, frozenset()) | args[formal].sources[axis]
        for axis in added:
            axes[axis] = frozenset({"*"})
        if len(axes) > 5 or not s.fits(axes):
            return None
        deps = [args[f] for f in sorted(_hangs_on(unit, val) if added else val.deps) if f in args]
        touches = any(s.tells(axis) or axis.family == s.gen.stream for axis in actual.values()) or unit.foreign
        reaches = [arg.reach for arg in deps]
        reach = None if touches or any(r is None for r in reaches) else frozenset().union(*reaches)  # type: ignore[arg-type]
        role = max([WEIGHT, *(arg.role for arg in args.values())]) if val.role == DATA or added else val.role
        if added and role == DATA and not s.model and all(arg.role < DATA for arg in deps):
            return None  # it counts as data, but where the block is lifted it would not be: D7 refuses what meets it
        s.met(axes)
        out.append(Val(
            text, tuple(axes), lambda env, place=place: run(env)[place], val.element,  # type: ignore[misc]
            actual[val.into.name] if val.into else None, role,
            mark=frozenset() if added else frozenset(actual[axis.name] for axis in val.mark),
            sources=axes, deps=frozenset().union(*(arg.deps for arg in deps)), big=max(5.0, val.big), uses=uses,
            reach=reach, nothing=frozenset(axes if stood or val.nothing else ()),
            learns=unit.learns or any(arg.learns for arg in args.values()),
        ))  # fmt: skip
    s.gen.ops += 1
    s.tag("call")
    if len(out) == 1:
        return out[0]
    ids = [next(s.gen.ids) for _ in out]
    kept = [s.chance(0.85) for _ in out]
    kept[s.gen.rng.randrange(len(kept))] = True
    names = [s.gen.fresh("v") if keep else "_" for keep in kept]
    s.tag("several results used")
    if "_" in names:
        s.tag("discarded result")

    def execute(env: Env, stmt: Stmt) -> None:
        env.values.update(zip(ids, run(env), strict=True))

    learns = any(val.learns for val in out)
    makes: Uses = frozenset({*ids, *({"weights"} if learns else ())})
    s.stmts.append(Stmt(f"{', '.join(names)} = {text}", uses, makes, execute))
    s.draft.learns = s.draft.learns or learns
    last = None
    for val, name, id in zip(out, names, ids, strict=True):
        if name != "_":
            last = s.variable(val, name, id)
    return last


def _hangs_on(unit: Unit, result: Val) -> frozenset[str]:
    """The formals that a result of a scan hangs on: those of a state too, where it hangs on that."""
    found, before = result.deps, frozenset[str]()
    while found != before:
        before = found
        found = found.union(*(other.val.deps for other in unit.results if other.name in found))
    return found


@row("share", 8)
def share(s: Scope) -> Val | None:
    """One set of weights for several calls."""
    options = [unit for unit in s.gen.units if unit.learns and unit.keyword == "block"]
    if not options:
        return None
    unit = s.pick(options)
    name, id = s.gen.fresh("sh"), next(s.gen.ids)
    s.flush()
    place = len(s.stmts)
    bound = bind_axes(s, unit)
    first = call(s, unit, (name, id), bound) if bound is not None else None
    if first is None:
        return None
    s.stmts.insert(place, Stmt(f"share {name} = {unit.name}", frozenset(), frozenset({id}), _nothing))
    if not any(first is val for val in s.vals):
        s.bind(first)
    s.tag("share")
    again = bind_axes(s, unit) if s.chance(0.5) else None
    assert bound is not None
    if again is None or any(again.actual[name] != axis for name, axis in bound.actual.items() if not axis.width):
        again = bound  # weights run along depths
    again = replace(again, numbers=bound.numbers, numbers_shown=bound.numbers_shown)
    return call(s, unit, (name, id), again)


@row("scan", 8)
def scan(s: Scope) -> Val | None:
    cells = [unit for unit in s.gen.units if {r.name for r in unit.results} & {f.name for f in unit.formals}]
    cells = [unit for unit in cells if unit.keyword == "block"]
    if not cells:
        return None
    unit = s.pick(cells)
    axis = s.pick([axis for axis in s.axes if axis.width] or s.axes)
    bound = bind_axes(s, unit, axis)
    if bound is None or axis in bound.actual.values():
        return None
    actual, states = bound.actual, {r.name for r in unit.results}
    args: dict[str, Val] = {}
    steps: list[str] = []
    for formal in unit.formals:
        axes = [actual[a.name] for a in formal.val.axes]
        into = actual[formal.val.into.name] if formal.val.into else None
        if formal.name in states and s.chance(0.6) and formal.val.element == "real":
            args[formal.name] = s.literal(s.pick([0, 0.5]))
        else:
            stepped = formal.name not in states and (not steps or s.chance(0.7))
            if not s.fits([*axes, axis]):
                return None
            val = argument(s, formal, [*axes, axis] if stepped else axes, into)
            if val is None or set(val.axes) != set([*axes, axis] if stepped else axes):
                return None
            steps += [formal.name] if stepped else []
            for a in val.axes:
                s.require(val, a)
            s.draft.must |= val.deps
            args[formal.name] = val
    if not steps:
        return None
    texts = [f"{f.name} = {args[f.name].text}" for f in unit.formals]
    shown, path = call_name(s, unit)
    axis_name = axis.name
    declared = {f.name: [actual[a.name].name for a in f.val.axes] for f in unit.formals}

    def run(env: Env) -> list[Arr]:
        given = {name: val.run(env) for name, val in args.items()}
        reals = {f.name for f in unit.formals if f.val.element == "real"}
        state = {name: arr.full(declared[name], env.sizes) for name, arr in given.items() if name in states}
        state = {name: replace(arr, data=arr.data * 1.0) if name in reals else arr for name, arr in state.items()}
        kept: list[list[Arr]] = [[] for _ in unit.results]
        for at in range(env.sizes[axis_name]):
            now = dict(given)
            for name in steps:
                now[name] = given[name].take(at, axis_name)
            now.update(state)
            found = enter(unit, env, bound, now, f"{env.path}{path}")
            for place, result in enumerate(unit.results):
                kept[place].append(found[place])
                if result.name in state:
                    state[result.name] = found[place]
        out = []
        for place, arrs in enumerate(kept):
            if not arrs:
                axes = [actual[a.name].name for a in unit.results[place].axes]
                out.append(Arr(np.zeros((0, *(env.sizes[a] for a in axes))), (axis_name, *axes)))
                continue
            out.append(named.stack(arrs, axis_name))
        return out

    s.tag("scan")
    if unit.learns:
        s.gen.filled.add(axis.family)
    lifted = {name: replace(val, axes=tuple(a for a in val.axes if a != axis)) for name, val in args.items()}
    # a literal state has its axes all the same: it gets them from the cell's declaration
    for formal in unit.formals:
        if formal.name in states and not args[formal.name].axes:
            axes = tuple(actual[a.name] for a in formal.val.axes)
            lifted[formal.name] = replace(lifted[formal.name], axes=axes, sources=dict.fromkeys(axes, frozenset({"*"})))
    return finish(
        s, unit, actual, lifted, f"scan[{axis.name}] {shown}{bound.text}({', '.join(texts)})", run, (axis,), None
    )


@row("attention", 3)
def attention(s: Scope) -> Val | None:
    """Causal self-attention in one line, returned and claimed causal; with all the ways to spoil it."""
    pairs = [(k, q) for k in s.axes for q in s.axes if k != q and k.family == q.family == s.gen.stream and k.width]
    depths = [axis for axis in s.axes if axis.fixed and not axis.width]
    if not s.model or s.outer or not pairs or not depths or s.gen.promised:
        return None
    k, q = s.pick(pairs)
    d = s.pick(depths)
    x = s.input([q, d])
    if x is None or not s.fits([q, k, d]):
        return None
    names = {"q": q.name, "k": k.name, "d": d.name, "x": x.text}
    weights = "softmax[{k}](dot[{d}]({x}, {x}[{q} as {k}]) where {k} <= {q})"
    form = f"dot[{{k}}]({weights}, {{x}}[{{q}} as {{k}}])"
    other = next((axis for axis in s.axes if axis.family != q.family and axis.width), None)

    def run(env: Env, xs: Sequence[Arr]) -> Arr:
        past = xs[0].rename({q.name: k.name})
        keep = pointwise(np.less_equal, *(Arr(np.arange(env.sizes[a.name]), (a.name,)) for a in (k, q)))
        shares = named.softmax(named.dot([xs[0], past], [d.name]), keep, [k.name], env.sizes)
        return named.dot([shares, past], [k.name])

    spoiled = {
        "rename dropped in self-attention": (
            ("({x}, {x}[{q} as {k}])", "({x}, {x})"),
            "the scores lack the keys' axis",
        ),
        "mask turned round": (("{k} <= {q}", "{q} <= {k}"), "the result is claimed causal, and reads what comes after"),
        "mask of what comes after": (
            ("{k} <= {q}", "{k} <= {q} + 1"),
            "the result is claimed causal, and reads the next",
        ),
        "no mask": ((" where {k} <= {q}", ""), "the result is claimed causal, and reads everything"),
        "softmax over the queries": (("softmax[{k}]", "softmax[{q}]"), "the weights sum to one over the queries"),
        "queries averaged": (("dot[{k}](", "dot[{q}]("), "the values have no axis of the queries"),
        "scores over the items": (("dot[{d}](", "dot[{k}]("), "the queries have no axis of the keys"),
        "values without keys": (("), {x}[{q} as {k}])", "), {x})"), "the values lack the keys' axis"),
    }
    if other is not None:
        spoiled["mask of another stream"] = (("{k} <= {q}", f"{other.name} < 2"), "the mask has no axis of the keys")
        spoiled["mask of two streams"] = (
            ("{k} <= {q}", f"{{k}} <= {other.name}"),
            "indices of two families do not compare",
        )
    s.met([q, k, d])
    good = form.format(**names)
    for name, ((old, new), why) in spoiled.items():
        assert old in form
        s.wrong(name, good, form.replace(old, new, 1).format(**names), why)
    val = s.bind(s.make(good, [x], run, axes=[q, d], acted=[], reach=frozenset({q}), big=3))
    s.gen.promised.append((val, q))
    s.used |= val.uses
    s.tag("causal")
    return val


# -- the library, and ops of the user's own ----------------------------------------------------------------------------


@row("std", 4)
def library(s: Scope) -> Val | None:
    return s.pick([_causal, _causal, _sinusoid, _rotary, _attend])(s)


def _use(s: Scope, file: str, name: str) -> None:
    known = s.gen.uses.setdefault(f"std.{file}", [])
    if name not in known:
        known.append(name)
    s.tag("library")


def _causal(s: Scope) -> Val | None:
    pair = copies(s, lambda axis: axis.width)
    if pair is None:
        return None
    k, q = pair
    _use(s, "masks", "causal")
    s.met(pair)
    return s.make(
        f"causal[{q.name}, {k.name}]()", [],
        lambda env, xs: pointwise(np.less_equal, *(Arr(np.arange(env.sizes[a.name]), (a.name,)) for a in (k, q))),
        axes=[q, k], element="bool", role=TABLE, support=((k, q),), covers=frozenset(pair),
    )  # fmt: skip


def _sinusoid(s: Scope) -> Val | None:
    widths, depths = [a for a in s.axes if a.width], [a for a in s.axes if not a.width]
    if not widths or not depths:
        return None
    n, d = s.pick(widths), s.pick(depths)
    _use(s, "positions", "sinusoid")
    s.met([n, d])

    def run(env: Env, xs: Sequence[Arr]) -> Arr:
        at, place, size = np.arange(env.sizes[n.name])[:, None], np.arange(env.sizes[d.name]), env.sizes[d.name]
        angle = at / 10000 ** (2 * np.floor(place / 2) / size)
        return Arr(np.where(place % 2 == 0, np.sin(angle), np.cos(angle)), (n.name, d.name))

    return s.make(f"sinusoid[{n.name}, {d.name}]()", [], run, axes=[n, d], role=TABLE)


def _rotary(s: Scope) -> Val | None:
    found = s.real_with(lambda axis: not axis.width and axis.size % 2 == 0 and axis.size > 0)
    if found is None:
        return None
    x, depths = found
    d = s.pick(depths)
    if d in x.nothing:
        return None
    widths = [axis for axis in x.axes if axis.width]
    if not widths:
        return None
    n = s.pick(widths)
    _use(s, "positions", "rotary")
    s.require(x, d)
    s.require(x, n)
    s.pin(d)

    def run(env: Env, xs: Sequence[Arr]) -> Arr:
        rest = tuple(a for a in xs[0].axes if a not in (n.name, d.name))
        data = xs[0].along((*rest, n.name, d.name))
        size = env.sizes[d.name]
        angle = np.arange(env.sizes[n.name])[:, None] / 10000 ** (2 * np.arange(size // 2) / size)
        a, b = data[..., : size // 2], data[..., size // 2 :]
        sin, cos = np.sin(angle), np.cos(angle)
        return Arr(np.concatenate([a * cos - b * sin, b * cos + a * sin], -1), (*rest, n.name, d.name), xs[0].valid)

    return s.make(f"rotary[{n.name}, {d.name}]({x.text})", [x], run, axes=x.axes, big=x.big * 2)


def _attend(s: Scope) -> Val | None:
    widths, depths = [a for a in s.axes if a.width], [a for a in s.axes if not a.width and a.size]
    if len(widths) < 2 or len(depths) < 2:
        return None
    q, k = s.some(widths, 2, 2)
    d, v = s.some(depths, 2, 2)
    lifts = s.some([a for a in depths if a not in (d, v)], 0, 1)
    formal = Formal("", Val("", (), lambda env: number(0)))
    parts = [argument(s, formal, [*pair, *lifts], None) for pair in ([q, d], [k, d], [k, v])]
    if any(part is None for part in parts) or not s.fits([q, k, d, v, *lifts]):
        return None
    mask = s.find(lambda val: val.element == "bool" and val.has(k) and set(val.axes) <= {q, k})
    vals = [part for part in parts if part is not None]
    for part, axes in zip(vals, ([q, d], [k, d], [k, v]), strict=True):
        for axis in axes:
            s.require(part, axis)
    if mask is not None:
        s.require(mask, k)
    _use(s, "attention", "attend")
    s.met([q, k, d, v, *lifts])

    def run(env: Env, xs: Sequence[Arr]) -> Arr:
        scores = pointwise(lambda x: x / math.sqrt(env.sizes[d.name]), named.dot(xs[:2], [d.name]))
        weights = named.softmax(scores, xs[3] if len(xs) > 3 else None, [k.name], env.sizes)
        return named.dot([weights, xs[2]], [k.name])

    upto = dict(mask.support) if mask is not None else {}
    shares = Val("", (), lambda env: number(0), support=tuple(upto.items()))
    reach: frozenset[Axis] | None = frozenset()
    for part in [*vals, *([mask] if mask is not None else [])]:
        one = bounded(s, [k], [part, shares])
        reach = None if reach is None or one is None else reach | one  # type: ignore[operator]
    given = ", ".join(val.text for val in vals) + (f", mask = {mask.text}" if mask is not None else "")
    return s.make(
        f"attend[{q.name}, {k.name}, {d.name}, {v.name}]({given})", [*vals, *([mask] if mask is not None else [])], run,
        axes=[*lifts, q, v], big=3, reach=reach,
    )  # fmt: skip


@row("external", 2)
def external(s: Scope) -> Val | None:
    """An op of the user's own: `judge.py` supplies the module."""
    x = s.real()
    if x is None or s.gen.rng.random() < 0.3 or x.nothing:  # what the user wrote knows no picks of nothing
        return None
    if s.chance(0.5):
        line = 'op doubled(x: []) -> [] = "attnc_soundness_external:doubled"'
        text, acted = f"doubled({x.text})", []
        f: Any = lambda env, xs: pointwise(lambda v: v * 2 + 1, xs[0])  # noqa: E731
    else:
        depths = [axis for axis in x.axes if not axis.width]
        if not depths:
            return None
        d = s.pick(depths)
        line = 'op centred[d: depth](x: [d]) -> [d] = "attnc_soundness_external:centred"'
        text, acted = f"centred[{d.name}]({x.text})", [d]

        def f(env: Env, xs: Sequence[Arr]) -> Arr:
            at = xs[0].axes.index(d.name)
            return Arr(xs[0].data - xs[0].data.mean(at, keepdims=True), xs[0].axes)

        s.require(x, d)
    if line not in s.gen.header:
        s.gen.header.append(line)
    s.tag("op of the user's own")
    reach = frozenset() if x.reach == frozenset() else None
    return s.make(text, [x], f, axes=x.axes, acted=acted, big=x.big * 2 + 1, reach=reach)


__all__ = ["fill", "new_block"]
