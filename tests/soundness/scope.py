"""Where statements are written: what is in scope, and how expressions are made of others, as LANGUAGE.md says."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations, count
from typing import Any, TypeVar

import numpy as np

from .named import FUNCTIONS, Arr, number, pointwise, reduce
from .program import CONSTANT, DATA, TABLE, Axis, Env, Formal, Generic, Stmt, Unit, Uses, Val, Wrong

T = TypeVar("T")
MOST_ITEMS, MOST_AXES = 300, 5
Run = Callable[..., Arr]


@dataclass
class Gen:
    """The program under construction. stream: the family along which results may be claimed causal."""

    rng: random.Random
    axes: list[Axis] = field(default_factory=list)
    consts: dict[str, float] = field(default_factory=dict)
    header: list[str] = field(default_factory=list)
    uses: dict[str, list[str]] = field(default_factory=dict)
    units: list[Unit] = field(default_factory=list)
    capacity: dict[str, int] = field(default_factory=dict)
    sizes: dict[str, float] = field(default_factory=dict)
    tags: set[str] = field(default_factory=set)
    filled: set[str] = field(default_factory=set)  # families that may not be empty
    stream: str = ""
    sums: list[tuple[Axis, Axis, Axis]] = field(default_factory=list)
    chunks: list[tuple[Axis, Axis, Axis]] = field(default_factory=list)
    wrongs: list[Wrong] = field(default_factory=list)
    slips: list[tuple[str, str]] = field(default_factory=list)
    promised: list[tuple[Val, Axis]] = field(default_factory=list)  # results that are claimed causal
    ids: Any = field(default_factory=count)
    ops: int = 0
    picks: bool = False  # it is to have picks under masks

    def fresh(self, prefix: str) -> str:
        return f"{prefix}{next(self.ids)}"

    def parts(self, name: str) -> set[str]:
        """What an axis is a copy of, or its size is derived from."""
        said = [line.split() for line in self.header if line.split()[1] == name]
        return {axis.name for axis in self.axes if axis.name != name and any(axis.name in words for words in said)}

    def depends(self, name: str) -> bool:
        """Whether the size of another axis is derived from this one."""
        return any(name in line.partition("=")[2].split() or f"like {name}" in line for line in self.header)


@dataclass
class Draft:
    """A block being written: what its calls must heed (see `Unit`)."""

    formals: list[Formal] = field(default_factory=list)
    need: set[tuple[str, str]] = field(default_factory=set)
    must: set[str] = field(default_factory=set)
    pinned: set[str] = field(default_factory=set)
    met: set[frozenset[str]] = field(default_factory=set)
    splits: dict[frozenset[str], tuple[str, tuple[str, ...]]] = field(default_factory=dict)
    merges: set[tuple[str, tuple[str, ...]]] = field(default_factory=set)
    whole: list[str] = field(default_factory=list)
    learns: bool = False
    sums: bool = False


@dataclass
class Scope:
    gen: Gen
    axes: list[Axis]
    draft: Draft
    generics: list[Generic] = field(default_factory=list)
    vals: list[Val] = field(default_factory=list)
    stmts: list[Stmt] = field(default_factory=list)
    loose: list[Val] = field(default_factory=list)  # expressions not bound yet, to be used once
    used: set[object] = field(default_factory=set)
    names: set[str] = field(default_factory=set)  # of weights
    consts: dict[str, float] = field(default_factory=dict)
    deciding: dict[str, bool] = field(default_factory=dict)  # consts that may decide what is computed; of a pass?
    outer: Scope | None = None
    nested: int = 0
    carried: frozenset[str] = frozenset()  # names from around that may be bound anew
    called: set[str] = field(default_factory=set)  # models with weights
    model: bool = False
    inputs_open: bool = True

    # -- chance --------------------------------------------------------------------------------------------------

    def chance(self, p: float) -> bool:
        return self.gen.rng.random() < p

    def pick(self, options: Sequence[T]) -> T:
        return options[self.gen.rng.randrange(len(options))]

    def some(self, options: Sequence[T], least: int, most: int) -> list[T]:
        """That many of them, in a random order."""
        most = min(most, len(options))
        return self.gen.rng.sample(list(options), self.gen.rng.randint(min(least, most), most))

    def tag(self, name: str) -> None:
        self.gen.tags.add(name)

    # -- values --------------------------------------------------------------------------------------------------

    def fits(self, axes: Iterable[Axis]) -> bool:
        axes = list(axes)
        return len(axes) <= MOST_AXES and math.prod(max(axis.size, 1) for axis in axes) <= MOST_ITEMS

    def met(self, axes: Iterable[Axis]) -> None:
        self.draft.met |= {frozenset((a.name, b.name)) for a, b in combinations(axes, 2)}

    def make(
        self,
        text: str,
        operands: Sequence[Val],
        run: Callable[[Env, Sequence[Arr]], Arr],
        *,
        axes: Sequence[Axis] | None = None,
        element: str = "real",
        into: Axis | None = None,
        role: int = CONSTANT,
        acted: Sequence[Axis] = (),
        moved: Mapping[Axis, Axis] | None = None,
        reach: frozenset[Axis] | str | None = "",
        big: float = 1.0,
        atom: bool = True,
        nothing: frozenset[Axis] | None = None,
        **more: Any,
    ) -> Val:
        """An expression of others: its axes are theirs unless said; `acted` are those that it needs to be there.

        Picks of nothing stand along the axes that they stood along, and along new ones, unless said.
        """
        parts = tuple(operands)
        if axes is None:
            axes = tuple(dict.fromkeys(a for part in parts for a in part.axes))
        for part in parts:
            for axis in acted:
                self.require(part, axis)
        sources: dict[Axis, frozenset[str]] = {}
        for axis in axes:
            found = [part.sources[axis] for part in parts if part.has(axis)]
            born = not found or axis in (moved or {}).values()  # its operand is required to have the old one
            sources[axis] = frozenset({"*"}) if born else frozenset().union(*found)
        if reach == "":
            reaches = [part.reach for part in parts]
            reach = None if any(r is None for r in reaches) else frozenset().union(*reaches)  # type: ignore[arg-type]
            if reach is not None and (reach & set(acted) or any(self.tells(axis) for axis in acted)):
                reach = None
        assert not isinstance(reach, str)
        if nothing is None:
            stood = frozenset().union(*(part.nothing for part in parts))
            known = {axis for part in parts for axis in part.axes}
            nothing = frozenset(axis for axis in axes if axis in stood or (stood and axis not in known))
        self.met(axes)
        self.gen.ops += 1
        runs = [part.run for part in parts]
        return Val(
            text,
            tuple(axes),
            lambda env: run(env, [one(env) for one in runs]),
            element,
            into,
            max([role, *(part.role for part in parts)]),
            sources=sources,
            deps=frozenset().union(*(part.deps for part in parts)),
            big=big,
            reach=reach,
            nothing=nothing,
            uses=frozenset().union(*(part.uses for part in parts)),
            atom=atom,
            learns=more.pop("learns", False) or any(part.learns for part in parts),
            **more,
        )

    def tells(self, axis: Axis) -> bool:
        """Whether what is summed over the axis tells how many items there are in the model's stream."""
        return axis.width and not axis.fixed and (axis.family == self.gen.stream or axis.derived)

    def left(self, parts: Sequence[Val], axes: Iterable[Axis]) -> frozenset[Axis]:
        """Where picks of nothing stand after an op on these axes, which leaves out those along them."""
        acted = set(axes)
        return frozenset().union(*(part.nothing for part in parts if acted.isdisjoint(part.nothing)))

    def require(self, val: Val, axis: Axis) -> None:
        """The value must have the axis, whatever a call leaves out."""
        if val.has(axis) and "*" not in val.sources[axis]:
            self.draft.need |= {(formal, axis.name) for formal in val.sources[axis]}
            self.draft.must |= val.sources[axis]

    def bind(self, val: Val, name: str = "") -> Val:
        """`name = val`. The variable."""
        name = name or self.gen.fresh("v")
        id = next(self.gen.ids)
        typed = ""
        if self.chance(0.08):
            self.tag("typed assignment")
            typed = f": {val.type_text(self.some(val.axes, 9, 9))}"
        text = val.text
        if self.chance(0.15) and text.endswith(")") and val.atom:
            text = self.piped(text)

        def run(env: Env, stmt: Stmt) -> None:
            env.values[id] = val.run(env)

        makes: Uses = frozenset({id, "weights"}) if val.learns else frozenset({id})
        self.stmts.append(Stmt(f"{name}{typed} = {text}", val.uses, makes, run))
        self.draft.learns = self.draft.learns or val.learns
        return self.variable(val, name, id)

    def variable(self, val: Val, name: str, id: int) -> Val:
        bound = replace(
            val, text=name, run=lambda env: env.values[id], uses=frozenset({id}), atom=True, learns=False, owner=""
        )
        self.vals.append(bound)
        return bound

    def piped(self, text: str) -> str:
        """`f[a](x)` as `x |> f[a]`, where x is plain and alone."""
        head, _, rest = text.partition("(")
        inner = rest[:-1]
        if inner.isidentifier() and head and not head.startswith("raw") and "scan" not in head:
            self.tag("pipe")
            return f"{inner} |> {head}"
        return text

    def named(self, val: Val) -> Val:
        """The value as a variable: it may be written twice."""
        return val if val.text.isidentifier() else self.bind(val)

    def flush(self) -> None:
        for val in self.loose:
            self.bind(val)
        self.loose.clear()

    def input(
        self, axes: Sequence[Axis], element: str = "real", into: Axis | None = None, default: float | bool | None = None
    ) -> Val | None:
        """A new formal of the block."""
        if not self.inputs_open or not self.fits(axes) or any(axis.own for axis in axes):
            return None
        name = self.gen.fresh({"real": "x", "bool": "m", "int": "n", "index": "ids"}[element])
        axes = tuple(axes)
        self.met(axes)
        stream = {axis for axis in axes if axis.family == self.gen.stream}
        val = Val(
            name, axes, lambda env: env.formals[name], element, into, DATA,
            sources=dict.fromkeys(axes, frozenset({"*"} if self.model else {name})),
            deps=frozenset({name}), big=3.0, reach=frozenset(stream), uses=frozenset({f"formal:{name}"}), owner=name,
        )  # fmt: skip
        self.draft.formals.append(Formal(name, val, default))
        self.vals.append(val)
        if into is not None:
            self.gen.filled.add(into.family)
        return val

    def find(self, good: Callable[[Val], bool]) -> Val | None:
        """A value in scope, rather one that nothing has used."""
        loose = [val for val in self.loose if good(val)]
        if loose and self.chance(0.7):
            val = self.pick(loose)
            self.loose.remove(val)
            return val
        known = [val for val in self.vals if good(val)]
        if not known:
            return None
        fresh = [val for val in known if not val.uses & self.used]
        val = self.pick(fresh) if fresh and self.chance(0.75) else self.pick(known)
        self.used |= val.uses
        return val

    def random_axes(self, least: int, most: int, among: Callable[[Axis], bool] = lambda axis: True) -> list[Axis]:
        axes = list(self.some([a for a in self.axes if among(a)], least, most))
        families: dict[str, Axis] = {}
        for axis in axes:  # rather one of each family
            families.setdefault(axis.family if self.chance(0.8) else axis.name, axis)
        return list(families.values())

    def real(self, good: Callable[[Val], bool] = lambda val: True, ints: bool = False) -> Val | None:
        """A number, tame enough to go on with."""
        kinds = ("real", "int") if ints else ("real",)
        found = self.find(lambda val: val.element in kinds and good(val))
        if found is None or self.chance(0.1):
            new = self.input(self.random_axes(0, 3))
            if new is not None and good(new):
                return new
        if found is not None and found.big > 30 and found.element == "real":
            return self.function("tanh", found, 1.0)
        return found

    def real_with(self, among: Callable[[Axis], bool], least: int = 1) -> tuple[Val, list[Axis]] | None:
        """A number with such axes, and these axes."""
        val = self.real(lambda val: sum(map(among, val.axes)) >= least)
        if val is None:
            axes = self.random_axes(least, least + 1, among)
            if sum(map(among, axes)) < least:
                return None
            rest = self.random_axes(0, 2, lambda axis: axis not in axes)
            val = self.input([*axes, *rest])
        if val is None:
            return None
        return val, [axis for axis in val.axes if among(axis)]

    def position(self, axis: Axis) -> Val:
        """An axis as its index."""
        name = axis.name
        return Val(
            name, (axis,), lambda env: Arr(np.arange(env.sizes[name]), (name,)), "index", axis, TABLE,
            sources={axis: frozenset({"*"})}, big=5.0,
        )  # fmt: skip

    def size(self, axis: Axis) -> Val:
        name = axis.name
        run_time = axis.width and not axis.fixed
        return Val(
            f"|{name}|",
            (),
            lambda env: number(env.sizes[name]),
            "int",
            big=5.0,
            reach=None if run_time else frozenset(),
            static=True,
        )

    def literal(self, value: float | int) -> Val:
        element = "int" if isinstance(value, int) else "real"
        text = str(value) if value >= 0 else f"({value})"
        return Val(text, (), lambda env: number(value), element, big=abs(value), static=True)

    def share_of(self, axis: Axis) -> Val:
        """A number made of a size."""
        name = axis.name
        return Val(f"|{name}| / 4", (), lambda env: number(env.sizes[name] / 4), "real", big=axis.size, static=True)

    # -- plumbing ------------------------------------------------------------------------------------------------

    def function(self, name: str, val: Val, big: float) -> Val:
        f = FUNCTIONS[name]
        return self.make(f"{name}({val.text})", [val], lambda env, xs: pointwise(f, xs[0]), big=big)

    def broadcast(self, val: Val, axes: Sequence[Axis]) -> Val:
        if not axes:
            return val
        names = ", ".join(axis.name for axis in axes)
        return self.make(
            f"broadcast[{names}]({val.text})", [val],
            lambda env, xs: xs[0].full([axis.name for axis in axes], env.sizes), axes=(*axes, *val.axes), big=val.big,
            element=val.element, into=val.into, mark=val.mark, nothing=val.nothing,
        )  # fmt: skip

    def together(self, vals: Sequence[Val], outer: bool = False) -> list[Val] | None:
        """D7: of operands that carry data none lacks a width of another, and but for an outer product one has all that
        another has; None if it would be too much.
        """
        vals = [self.owned(val) for val in vals]
        axes = dict.fromkeys(axis for val in vals for axis in val.axes)
        if not self.fits(axes):
            return None
        carrying = [val for val in vals if val.role == DATA and val.element in ("real", "int")]
        widths = [axis for axis in dict.fromkeys(a for val in carrying for a in val.axes) if axis.width]
        out = []
        for val in vals:
            spread = self.broadcast(val, [w for w in widths if not val.has(w)]) if val in carrying else val
            if spread is not val and self.model:
                self.wrong(
                    "spread over a width in silence", spread.text, val.text, "another operand has a width that it lacks"
                )
            out.append(spread)
        there = [place for place, val in enumerate(out) if val.role == DATA and val.element in ("real", "int")]
        whole = dict.fromkeys(axis for place in there for axis in out[place].axes)
        if outer or len(there) < 2:
            return out
        for place in there:  # no call may leave one of them out
            for axis in out[place].axes:
                self.require(out[place], axis)
        self.draft.sums = self.draft.sums or any(not out[place].has(axis) for place in there for axis in whole)
        if not any(all(map(out[place].has, whole)) for place in there):
            val = out[there[0]]
            out[there[0]] = self.broadcast(val, [axis for axis in whole if not val.has(axis)])
            if self.model and len(there) == 2:
                self.wrong("an outer sum in silence", out[there[0]].text, val.text, "each operand lacks a depth")
        return out

    def owned(self, val: Val) -> Val:
        """In a block, an operand beside others must keep the widths of its formal: another may have them."""
        for axis in val.axes:
            if axis.width and val.role == DATA and val.element in ("real", "int"):
                self.require(val, axis)
        return val

    def wrong(self, name: str, good: str, bad: str, why: str) -> None:
        """How an expression may be spoiled, for the mutants."""
        if bad != good:
            self.gen.wrongs.append(Wrong(name, good, bad, why))

    def require_index(self, val: Val) -> None:
        """An index, where a plain number will not do."""
        self.draft.must |= val.deps

    def pin(self, *axes: Axis) -> None:
        """What is written here holds for these sizes alone."""
        self.draft.pinned |= {axis.name for axis in axes}

    def gen_sums(self) -> list[tuple[Axis, Axis, Axis]]:
        """(a, b, c): run-time widths with c = a + b."""
        return self.gen.sums

    def gen_chunks(self) -> list[tuple[Axis, Axis, Axis]]:
        """(whole, outer, inner): run-time widths with whole = outer * inner."""
        return self.gen.chunks

    def may_merge(self, whole: Axis, parts: Sequence[Axis]) -> bool:
        """What was split merges back only in the order of the split."""
        names = tuple(part.name for part in parts)
        earlier = self.draft.splits.get(frozenset(names))
        return earlier is None or earlier[0] != whole.name or earlier[1] == names

    def may_split(self, whole: Axis, parts: Sequence[Axis]) -> bool:
        """What was merged in another order may come out on a line below."""
        names = tuple(part.name for part in parts)
        return not any(
            made == whole.name and set(order) == set(names) and order != names for made, order in self.draft.merges
        )

    def raw(self, val: Val) -> Val:
        return self.make(f"raw({val.text})", [val], lambda env, xs: xs[0], big=val.big, element=val.element)

    def coerce(self, val: Val, axes: Sequence[Axis]) -> Val | None:
        """The value with exactly these axes: the others summed away, what it lacks spread."""
        extra = [axis for axis in val.axes if axis not in axes]
        lacking = [axis for axis in axes if not val.has(axis)]
        if not self.fits([*val.axes, *lacking]):
            return None
        if extra:
            names = [axis.name for axis in extra]
            val = self.make(
                f"mean[{', '.join(names)}]({val.text})",
                [val],
                lambda env, xs: reduce("mean", xs[0], None, names, env.sizes),
                axes=[axis for axis in val.axes if axis in axes], acted=extra, big=val.big,
                nothing=self.left([val], extra),
            )  # fmt: skip
        return self.broadcast(val, lacking)

    def dims(self, groups: Sequence[Sequence[Axis]]) -> list[list[str]]:
        return [[axis.name for axis in group] for group in groups]
