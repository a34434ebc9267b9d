"""A generated program: text to check, and a meaning of its own to compare with.

Every expression carries, beside its text, what it is (`Val`) and how it is computed on named arrays (`Val.run`); every
statement says what it makes and uses, so statements can be taken out again and what is left is still well typed.
"""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from .named import Arr, number

CONSTANT, TABLE, WEIGHT, DATA = range(4)
Uses = frozenset[object]


@dataclass(frozen=True)
class Axis:
    """size: its extent here; in a block, that of the call it was written for. fixed: weights may be learned over it.

    ragged: (family, divisor, more): of an example whose length along the family is n it has n / divisor + more items.
    """

    name: str
    width: bool
    size: int
    family: str
    fixed: bool
    bounded: bool = False
    derived: bool = False
    own: bool = False  # declared in a block
    ragged: tuple[str, int, int] | None = None


@dataclass(frozen=True)
class Val:
    """An expression.

    into:    for an index, the axis that it points into.
    mark:    axes over which it sums to one.
    scaled:  axes over which it would, but for a number that it was multiplied by.
    static:  a number that is known when the model is built.
    sources: for each axis, the formals by which it has it ("*": by itself). A call may leave such an axis out.
    deps:    the formals that it hangs on: what they have in addition, it has.
    big:     its size, roughly.
    support: (k, q) for a truth value that holds only where k <= q.
    covers:  axes along which some item holds, for each index of the others.
    reach:   axes of the model's stream whose index bounds the items that it hangs on; None: any.
    nothing: axes along which picks of nothing may stand.
    upto:    for an index, the axis whose index it is no larger than.
    """

    text: str
    axes: tuple[Axis, ...]
    run: Callable[[Env], Arr]
    element: str = "real"
    into: Axis | None = None
    role: int = CONSTANT
    mark: frozenset[Axis] = frozenset()
    sources: Mapping[Axis, frozenset[str]] = field(default_factory=dict)
    deps: frozenset[str] = frozenset()
    big: float = 1.0
    support: tuple[tuple[Axis, Axis], ...] = ()
    covers: frozenset[Axis] = frozenset()
    reach: frozenset[Axis] | None = frozenset()
    uses: Uses = frozenset()
    atom: bool = True
    learns: bool = False
    owner: str = ""  # the formal that it is, unchanged
    scaled: frozenset[Axis] = frozenset()
    static: bool = False
    nothing: frozenset[Axis] = frozenset()
    upto: Axis | None = None

    def has(self, axis: Axis) -> bool:
        return axis in self.axes

    @property
    def inner(self) -> str:
        """As an operand of arithmetic."""
        return self.text if self.atom else f"({self.text})"

    @property
    def items(self) -> int:
        return math.prod(max(axis.size, 1) for axis in self.axes)

    def type_text(self, axes: Sequence[Axis] | None = None) -> str:
        kind = {"real": "", "index": self.into.name if self.into else ""}.get(self.element, self.element)
        return f"{kind}[{', '.join(axis.name for axis in axes or self.axes)}]"


@dataclass
class Weights:
    """Drawn by path when they are first read, as a model's state dict would hold them."""

    seed: int
    arrays: dict[str, np.ndarray[Any, Any]] = field(default_factory=dict)

    def read(self, path: str, shape: tuple[int, ...]) -> np.ndarray[Any, Any]:
        if path not in self.arrays:
            digest = hashlib.sha256(f"{self.seed} {path}".encode()).digest()
            draw = np.random.default_rng(int.from_bytes(digest[:8], "little"))
            self.arrays[path] = draw.normal(size=shape) * 0.6
        assert self.arrays[path].shape == shape, path
        return self.arrays[path]


@dataclass
class Env:
    """One run of one block. matters: of an input that only picks are made of, or read at, which items may matter."""

    sizes: dict[str, int]
    weights: Weights
    path: str = ""
    values: dict[int, Arr] = field(default_factory=dict)
    formals: dict[str, Arr] = field(default_factory=dict)
    consts: dict[str, float] = field(default_factory=dict)
    matters: dict[str, Arr] = field(default_factory=dict)

    def weight(self, name: str, dims: Sequence[Sequence[str]], capacity: Mapping[str, int] | None = None) -> Arr:
        """A stored array: one dimension for each group of axes. capacity: of bounded widths, allocated at the bound."""
        room = capacity or {}
        sizes = {axis: room.get(axis, self.sizes[axis]) for dim in dims for axis in dim}
        stored = self.weights.read(self.path + name, tuple(math.prod(sizes[axis] for axis in dim) for dim in dims))
        axes = tuple(axis for dim in dims for axis in dim)
        data = stored.reshape([sizes[axis] for axis in axes])
        return Arr(data[tuple(slice(self.sizes[axis]) for axis in axes)], axes)


@dataclass(frozen=True)
class Stmt:
    """`head` alone, or `head { body }`, or with `tail` and `other`: `if c { body } else { other }`."""

    head: str
    uses: Uses
    makes: Uses
    run: Callable[[Env, Stmt], None]
    body: tuple[Stmt, ...] | None = None
    other: tuple[Stmt, ...] | None = None
    needed: bool = False  # it cannot be taken out without its block

    def lines(self, indent: str) -> Iterable[str]:
        if self.body is None:
            yield indent + self.head
            return
        yield f"{indent}{self.head} {{"
        for stmt in self.body:
            yield from stmt.lines(indent + "    ")
        if self.other is not None:
            yield f"{indent}}} else {{"
            for stmt in self.other:
                yield from stmt.lines(indent + "    ")
        yield indent + "}"

    def all_uses(self) -> Uses:
        inner = (*(self.body or ()), *(self.other or ()))
        return self.uses.union(*(stmt.all_uses() for stmt in inner))


@dataclass(frozen=True)
class Formal:
    name: str
    val: Val
    default: float | bool | None = None

    @property
    def text(self) -> str:
        default = "" if self.default is None else f" = {str(self.default).lower()}"
        return f"{self.name}: {self.val.type_text()}{default}"


@dataclass(frozen=True)
class Result:
    val: Val
    axes: tuple[Axis, ...]  # in memory order
    name: str | None = None
    causal: Axis | None = None

    @property
    def text(self) -> str:
        claim = f" causal {self.causal.name}" if self.causal else ""
        return f"{self.name + ': ' if self.name else ''}{self.val.type_text(self.axes)}{claim}"


@dataclass(frozen=True)
class Generic:
    axis: Axis
    like: Axis | None = None
    default: str = ""

    @property
    def text(self) -> str:
        like = f" like {self.like.name}" if self.like else ""
        return f"{self.axis.name}: {'width' if self.axis.width else 'depth'}{like}{self.default}"


@dataclass(frozen=True)
class Number:
    """A parameter of a block that is a number."""

    name: str
    default: int | None = None

    @property
    def text(self) -> str:
        return f"{self.name}: const{'' if self.default is None else f' = {self.default}'}"


@dataclass(frozen=True)
class Unit:
    """A block or a model.

    need:   (formal, axis) that an argument may not lack.
    must:   formals that no number may stand in for.
    pinned: parameters whose size must be as written for; even: whose size must be even.
    met:    pairs of axes that some value carries both of.
    whole:  axes that are read as a whole, along which no picks of nothing may stand.
    sums:   operands of a sum differ in their axes: what one argument has in addition, all have.
    implicit: file axes that it mentions, itself or by what it calls; consts: those of the file's consts.
    names:  of weights, in a model: they stand beside those of the model that calls it.
    """

    keyword: str
    name: str
    formals: tuple[Formal, ...]
    results: tuple[Result, ...]
    body: tuple[Stmt, ...]
    generics: tuple[Generic, ...] = ()
    need: frozenset[tuple[str, str]] = frozenset()
    must: frozenset[str] = frozenset()
    pinned: frozenset[str] = frozenset()
    met: frozenset[frozenset[str]] = frozenset()
    whole: frozenset[str] = frozenset()
    implicit: frozenset[str] = frozenset()
    numbers: tuple[Number, ...] = ()
    consts: frozenset[str] = frozenset()
    names: frozenset[str] = frozenset()
    learns: bool = False
    sums: bool = False
    foreign: bool = False  # it calls an op of the user's own, which may read anything
    doc: str = ""

    def text(self) -> str:
        parameters = [*(generic.text for generic in self.generics), *(number.text for number in self.numbers)]
        generics = f"[{', '.join(parameters)}]" if parameters else ""
        formals = ", ".join(f.text for f in self.formals)
        several = len(self.results) > 1 or self.results[0].name
        results = f"({', '.join(r.text for r in self.results)})" if several else self.results[0].text
        lines = [line for stmt in self.body for line in stmt.lines("    ")]
        lines.append(f"    return {', '.join(r.val.text for r in self.results)}")
        head = f"{self.keyword} {self.name}{generics}({formals}) -> {results} {{"
        return "\n".join([*([f"# {self.doc}"] if self.doc else []), head, *lines, "}"])

    def run(self, env: Env) -> list[Arr]:
        for stmt in self.body:
            stmt.run(env, stmt)
        return [result.val.run(env) for result in self.results]


@dataclass(frozen=True)
class Wrong:
    """A spelling of an expression that is wrong by construction: `bad` for `good`, and why."""

    name: str
    good: str
    bad: str
    why: str


@dataclass(frozen=True)
class Program:
    """files: the other files that it uses. omitted: inputs left to their default. tags: constructs that it shows.

    slips: what is right and looks wrong: the code of the warning that is due, and how it is written in the model.
    """

    seed: int
    header: tuple[str, ...]  # declarations, one to a line
    uses: tuple[str, ...]  # `use` lines
    units: tuple[Unit, ...]
    axes: tuple[Axis, ...]
    capacity: Mapping[str, int]
    batch: tuple[int, ...]
    config: str | None = None
    sizes: Mapping[str, float] = field(default_factory=dict)
    omitted: frozenset[str] = frozenset()
    tags: frozenset[str] = frozenset()
    elsewhere: frozenset[str] = frozenset()  # names of blocks that live in the file `parts`
    ops: int = 0
    wrongs: tuple[Wrong, ...] = ()
    slips: tuple[tuple[str, str], ...] = ()

    @property
    def model(self) -> Unit:
        return self.units[-1]

    @property
    def extents(self) -> dict[str, int]:
        return {axis.name: axis.size for axis in self.axes}

    @property
    def text(self) -> str:
        here = [unit.text() for unit in self.units if unit.name not in self.elsewhere]
        uses = [*self.uses, *([f"use parts: {', '.join(sorted(self.elsewhere))}"] if self.elsewhere else [])]
        return "\n".join([*uses, *self.header, "", "\n\n".join(here), ""])

    @property
    def files(self) -> dict[str, str]:
        there = [unit.text() for unit in self.units if unit.name in self.elsewhere]
        return {"parts.attn": "\n\n".join(there) + "\n"} if there else {}

    @property
    def all_text(self) -> str:
        return self.text + "".join(self.files.values())

    def inputs(self, seed: int = 0) -> dict[str, Arr]:
        """Data for every input, batch axes `#0`, `#1` first."""
        draw = np.random.default_rng([self.seed, seed])
        batch = tuple(f"#{i}" for i in range(len(self.batch)))
        found = {}
        for formal in self.model.formals:
            val = formal.val
            shape = (*self.batch, *(axis.size for axis in val.axes))
            match val.element:
                case "real":
                    data: Any = draw.normal(size=shape)
                case "bool":
                    data = draw.random(shape) < 0.6
                case "int":
                    data = draw.integers(-3, 5, shape)
                case _:
                    assert val.into is not None
                    data = draw.integers(0, max(val.into.size, 1), shape)
            found[formal.name] = Arr(np.asarray(data), (*batch, *(axis.name for axis in val.axes)))
        return {name: self._padded(arr, self._into(name)) for name, arr in found.items()}

    def lengths(self) -> dict[str, np.ndarray[Any, Any]]:
        """Of each example along each ragged family. An example alone is as long as its array."""
        found = {}
        for axis in self.axes:
            if axis.ragged is not None and axis.ragged[0] not in found:
                family = axis.ragged[0]
                whole = max(a.size for a in self.axes if a.family == family)
                step = math.lcm(*(a.ragged[1] for a in self.axes if a.ragged is not None and a.ragged[0] == family))
                draw = np.random.default_rng([self.seed, len(found)])
                short = draw.integers(1, max(whole // step, 1) + 1, self.batch) * step
                found[family] = short if self.batch else np.asarray(whole)
        return found

    def _sizes(self, example: tuple[int, ...]) -> dict[str, int]:
        """The extents that one example of the batch has by itself."""
        lengths = self.lengths()
        sizes = self.extents
        for axis in self.axes:
            if axis.ragged is not None:
                family, divisor, more = axis.ragged
                sizes[axis.name] = int(lengths[family][example]) // divisor + more
        return sizes

    def _into(self, name: str) -> str | None:
        into = next(formal.val.into for formal in self.model.formals if formal.name == name)
        return None if into is None else into.name

    def _padded(self, arr: Arr, into: str | None) -> Arr:
        """What stands in the padding has no meaning: no number, no index. Indices of an example lie within it."""
        if not any(axis.ragged for axis in self.axes):
            return arr
        rank = len(self.batch)
        data = np.full_like(arr.data, {"f": np.nan, "i": -100, "b": True}[arr.data.dtype.kind])
        for example in np.ndindex(*self.batch):
            sizes = self._sizes(example)
            items = tuple(slice(sizes[axis]) for axis in arr.axes[rank:])
            own = arr.data[(*example, *items)]
            data[(*example, *items)] = own if into is None else own % max(sizes[into], 1)
        return replace(arr, data=data)

    def evaluate(self, inputs: Mapping[str, Arr], weights: Weights) -> list[np.ndarray[Any, Any]]:
        """What the model means, results in declared order under the batch axes; what is of nothing is masked."""
        if not any(axis.ragged for axis in self.axes):
            return self._evaluate(inputs, weights, self.extents, self.batch)
        rank = len(self.batch)
        found = {example: self._sizes(example) for example in np.ndindex(*self.batch)}
        alone = {
            example: self._evaluate({
                name: Arr(arr.data[example][tuple(slice(sizes[axis]) for axis in arr.axes[rank:])], arr.axes[rank:])
                for name, arr in inputs.items()
            }, weights, sizes, ())
            for example, sizes in found.items()
        }  # fmt: skip
        out = []
        for place, result in enumerate(self.model.results):
            first = next(iter(alone.values()))[place]
            whole = np.zeros((*self.batch, *(axis.size for axis in result.axes)), first.dtype)
            if any(isinstance(values[place], np.ma.MaskedArray) for values in alone.values()):
                whole = np.ma.array(whole, mask=np.zeros(whole.shape, bool))
            for example, values in alone.items():
                whole[(*example, *map(slice, values[place].shape))] = values[place]
            out.append(whole)
        return out

    def matters(self, inputs: Mapping[str, Arr], weights: Weights) -> dict[str, Arr]:
        """Of inputs that only picks are made of, or read at, which items may matter."""
        found: dict[str, Arr] = {}
        if any(axis.ragged for axis in self.axes):
            return found
        self._evaluate(inputs, weights, self.extents, self.batch, found)
        return {name: arr for name, arr in found.items() if name in inputs}

    def _evaluate(
        self,
        inputs: Mapping[str, Arr],
        weights: Weights,
        sizes: dict[str, int],
        batch_sizes: tuple[int, ...],
        matters: dict[str, Arr] | None = None,
    ) -> list[np.ndarray[Any, Any]]:
        given = {f.name: f.default for f in self.model.formals if f.name in self.omitted and f.default is not None}
        names = {f.name: [axis.name for axis in f.val.axes] for f in self.model.formals}
        formals = {**inputs, **{name: number(value).full(names[name], sizes) for name, value in given.items()}}
        env = Env(dict(sizes), weights, formals=formals, matters={} if matters is None else matters)
        batch = tuple(f"#{i}" for i in range(len(batch_sizes)))
        out = []
        for result, arr in zip(self.model.results, self.model.run(env), strict=True):
            names = (*batch, *(axis.name for axis in result.axes))
            shape = (*batch_sizes, *(sizes[axis.name] for axis in result.axes))
            found = np.broadcast_to(arr.along(names), shape)
            if arr.valid is not None:
                valid = np.broadcast_to(arr.valid.along(names), shape)
                index = result.val.element == "index"
                found = np.where(valid, found, -1) if index else np.ma.array(found, mask=~valid)
            out.append(found)
        return out

    def pruned(self) -> Program:
        """Without what nothing mentions: blocks, inputs, declarations."""
        model = self.model
        said = frozenset().union(*(s.all_uses() for s in model.body), *(r.val.uses for r in model.results))
        inputs = tuple(f for f in model.formals if f"formal:{f.name}" in said)
        units = [replace(model, formals=inputs)]
        for unit in reversed(self.units[:-1]):
            if any(re.search(rf"\b{unit.name}\b", other.text()) for other in units):
                units.insert(0, unit)
        lines = list(self.header)
        for line in reversed(self.header):
            made = re.findall(r"(\w+) =" if line.startswith("const") else r"^(?:width|depth) (\w+)", line)
            rest = "\n".join([*(other for other in lines if other != line), *(u.text() for u in units)])
            if made and not any(re.search(rf"\b{name}\b", rest) or name in self.sizes for name in made):
                lines.remove(line)
        text = "\n".join([*lines, *(unit.text() for unit in units)])
        known = {axis.family for f in inputs for axis in f.val.axes if f.default is None}
        for axis in self.axes:  # every width that is mentioned is to be had from an input
            free = axis.width and not axis.fixed and not axis.derived and axis.name == axis.family
            if free and axis.name not in known and re.search(rf"\b{axis.name}\b", text):
                val = Val(f"given_{axis.name}", (axis,), lambda env: number(0), role=DATA)
                inputs = (*inputs, Formal(val.text, val))
        units[-1] = replace(model, formals=inputs)
        return replace(
            self, units=tuple(units), elsewhere=self.elsewhere & {u.name for u in units}, header=tuple(lines),
            omitted=self.omitted & {f.name for f in inputs},
        )  # fmt: skip


def learns(stmts: Iterable[Stmt]) -> bool:
    return any("weights" in stmt.makes or learns((*(stmt.body or ()), *(stmt.other or ()))) for stmt in stmts)
