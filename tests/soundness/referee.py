"""The referee: runs a program's text as LANGUAGE.md reads, on named arrays, and says what is wrong with it.

It knows nothing of the checker (`compiler/`, `dsl/`): it reads with `reader.py`, computes with `named.py`, and calls a
block by running its body with the arguments put in (D8). A rule that is broken raises `Foul`, which says where and why.
Every block is run on its own too, where its parameters are axes of their own; that is how its types are looked at.
What the referee does not know it lets pass, so its word counts only where it says that something is wrong.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np

from . import named
from .moves import MOVES
from .named import Arr, number, pointwise
from .program import Weights
from .reader import (
    AxisText,
    BlockText,
    Expr,
    FileText,
    FormalText,
    Item,
    ResultText,
    Stmt,
    TypeText,
    Unreadable,
    read,
)

CONSTANT, TABLE, WEIGHT, DATA = range(4)
LIBRARY = Path(__file__).parents[2] / "compiler" / "std"
RESERVED = {"forward", "train", "eval", "half", "float", "double", "to", "cuda", "cpu", "type", "parameters"}


class Foul(Exception):
    """What is wrong, and the line (from 1) where it is; line 0: in another file. of_sizes: right with other sizes."""

    def __init__(self, line: int, why: str, of_sizes: bool = False) -> None:
        super().__init__(f"line {line}: {why}")
        self.line, self.why, self.of_sizes = line, why, of_sizes


@dataclass(eq=False)
class Ax:
    """key: its name in arrays. known: its size does not vary from input to input."""

    key: str
    name: str
    width: bool
    size: int
    family: str
    known: bool
    bound: int | None = None
    formula: Expr | None = None


@dataclass
class V:
    """element: real, int, bool or index (`into` an axis). loose: an argument, whose mark only a call would tell."""

    arr: Arr
    element: str = "real"
    into: Ax | None = None
    role: int = CONSTANT
    mark: frozenset[str] = frozenset()
    static: bool = False
    loose: bool = False
    bare: Ax | None = None  # it is the index of this axis

    def has(self, axis: Ax) -> bool:
        return axis.key in self.arr.axes

    @property
    def number(self) -> bool:
        return self.element in ("real", "int")


Named = dict[str, "Ax | float"]


@dataclass(eq=False)
class Module:
    text: FileText
    names: Named = field(default_factory=dict)
    blocks: dict[str, tuple[BlockText, Module]] = field(default_factory=dict)
    library: bool = False


@dataclass
class Scope:
    """One run of a block. alone: its parameters stand for themselves, so types are what is written."""

    module: Module
    names: Named
    axes: dict[str, Ax]  # all axes by key
    values: dict[str, V]
    path: str
    alone: bool
    judge: bool
    owned: set[str] = field(default_factory=set)
    shares: dict[str, str] = field(default_factory=dict)
    outer: Scope | None = None


@cache
def library(name: str) -> FileText:
    return read((LIBRARY / f"{name}.attn").read_text())


class Referee:
    """extents: sizes of the main file's axes. parameters: sizes of blocks' parameters when they run on their own.

    uses: of each op, in order, with the lines of the calls around it and its own. dropped: lines whose dropout leaves
    nothing; that of others leaves all.
    """

    def __init__(
        self, text: str, files: Mapping[str, str], extents: Mapping[str, int],
        parameters: Mapping[str, Mapping[str, int]],
        *, config: str | None = None, sizes: Mapping[str, float] | None = None, weights: Weights | None = None,
        capacity: Mapping[str, int] | None = None,
    ) -> None:  # fmt: skip
        self.files, self.extents, self.parameters = files, extents, parameters
        self.weights, self.capacity = weights or Weights(0), capacity or {}
        self.count = 0
        self.stack: list[str] = []
        self.lines: list[int] = []
        self.uses: list[tuple[tuple[int, ...], Use]] = []
        self.dropped: frozenset[int] = frozenset()
        try:
            tree = read(text)
        except Unreadable as error:
            raise Foul(error.line, error.what) from None
        settings: dict[str, float] = dict(sizes or {})
        self.main = self.load(tree, settings, config, main=True)

    # -- files ---------------------------------------------------------------------------------------------------

    def load(self, tree: FileText, settings: dict[str, float], config: str | None, main: bool = False) -> Module:
        module = Module(tree, library=not main)
        scope = Scope(module, module.names, {}, {}, "", True, False)
        if config:
            settings = {**{name: self.value(scope, e) for name, e in tree.configs[config]}, **settings}
        for line, path, names in tree.uses:
            other = self.used(path, line)
            for name in names:
                if name in other.blocks:
                    module.blocks[name] = other.blocks[name]
                elif name not in other.names:
                    raise Foul(line, f"{path} has no {name}")
        for line, name, expr in tree.consts:
            if name in module.names:
                raise Foul(line, f"{name} is declared twice")
            module.names[name] = settings[name] if name in settings else self.value(scope, expr)
        for axis in tree.axes:
            if axis.name in module.names:
                raise Foul(axis.line, f"{axis.name} is declared twice")
            module.names[axis.name] = self.axis(scope, axis, main, settings.get(axis.name))
        for block in tree.blocks:
            if block.name in module.blocks:
                raise Foul(block.line, f"{block.name} is declared twice")
            module.blocks[block.name] = (block, module)
        return module

    def used(self, path: str, line: int) -> Module:
        if path.startswith("std."):
            return self.load(library(path.removeprefix("std.")), {}, None)
        if f"{path}.attn" not in self.files:
            raise Foul(line, f"no file {path}")
        return self.load(read(self.files[f"{path}.attn"]), {}, None)

    def fresh(self, name: str) -> str:
        self.count += 1
        return f"{name}~{self.count}"

    def axis(self, scope: Scope, axis: AxisText, main: bool, setting: float | None = None) -> Ax:
        key = axis.name if main else self.fresh(axis.name)
        width = axis.kind == "width"
        if axis.relation == "like":
            original = self.find(scope, axis.like or "", axis.line)
            if original.width != width:
                raise Foul(axis.line, "a copy of the other kind")
            return replace(original, key=key, name=axis.name, formula=None)
        if axis.relation == "<=":
            bound = int(self.value(scope, axis.size))
            return Ax(key, axis.name, width, min(self.extents.get(axis.name, bound), bound), key, False, bound)
        if axis.relation == "=":
            assert axis.size is not None
            size = self.exact(scope, axis.size) if setting is None else setting
            parts = [scope.names.get(name) for name in _mentioned(axis.size)]
            known = all(part.known for part in parts if isinstance(part, Ax))
            return Ax(key, axis.name, width, int(size), key, known, formula=axis.size)
        return Ax(key, axis.name, width, self.extents.get(axis.name, 3) if main else 3, key, not width)

    def find(self, scope: Scope, name: str, line: int) -> Ax:
        found = scope.names.get(name)
        if not isinstance(found, Ax):
            raise Foul(line, f"no axis is named {name}")
        return found

    def exact(self, scope: Scope, expr: Expr) -> float:
        """A size: its divisions leave no remainder."""
        if expr.kind == "binary":
            a, b = (self.exact(scope, part) for part in expr.parts)
            if expr.text == "/" and (not b or a % b):
                raise Foul(expr.line, f"{a} / {b} leaves a remainder", of_sizes=True)
            return {"+": a + b, "-": a - b, "*": a * b, "/": a // b if b else 0}[expr.text]
        return self.value(scope, expr)

    def value(self, scope: Scope, expr: Expr | None) -> float:
        """A number known at build time; an axis is its size."""
        assert expr is not None
        if expr.kind == "name":
            found = scope.names.get(expr.text)
            if found is None:
                raise Foul(expr.line, f"nothing is named {expr.text}")
            return found.size if isinstance(found, Ax) else found
        result = self.expr(scope, expr)
        if result is None or not result.static:
            raise Foul(expr.line, "no number known at build time")
        return float(result.arr.data) if result.element == "real" else int(result.arr.data)

    # -- blocks --------------------------------------------------------------------------------------------------

    def blocks(self) -> None:
        """Each block of the main file on its own, with weights of its own: paths begin anew in each."""
        kept = self.weights
        for block, module in list(self.main.blocks.values()):
            if block.keyword == "block" and module is self.main:
                self.weights = Weights(0)
                self.alone(block, {})
        self.weights = kept

    def alone(self, block: BlockText, inputs: Mapping[str, Arr]) -> list[V]:
        """The results of a block with its own axes standing for themselves; random values for inputs not given."""
        scope = Scope(self.main, dict(self.main.names), {}, {}, "", True, block.keyword == "model")
        for generic in block.generics:
            if generic.name in scope.names and generic.name in {
                g.name for g in block.generics[: block.generics.index(generic)]
            }:
                raise Foul(generic.line, f"{generic.name} is declared twice")
            if generic.kind == "const":
                scope.names[generic.name] = 1 if generic.size is None else self.value(scope, generic.size)
                continue
            size = self.parameters.get(block.name, {}).get(generic.name, 2)
            key = self.fresh(generic.name)
            family = self.find(scope, generic.like, generic.line).family if generic.like else key
            scope.names[generic.name] = Ax(key, generic.name, generic.kind == "width", size, family, True)
        scope.axes = {ax.key: ax for ax in scope.names.values() if isinstance(ax, Ax)}
        draw = np.random.default_rng(0)
        for formal in block.formals:
            if formal.name in scope.values:
                raise Foul(block.line, f"{formal.name} is declared twice")
            element, into, axes = self.type(scope, formal.type, block.line)
            arr = inputs.get(formal.name)
            if arr is None:
                shape = [axis.size for axis in axes]
                data: Any = draw.normal(size=shape)
                if element != "real":
                    data = draw.integers(0, max(into.size if into else 2, 1), shape)
                arr = Arr(np.asarray(data.astype(bool) if element == "bool" else data), tuple(a.key for a in axes))
            scope.values[formal.name] = V(arr, element, into, DATA, loose=block.keyword == "block")
        return self.run(scope, block)

    def run(self, scope: Scope, block: BlockText) -> list[V]:
        if block.target:
            x = next(iter(scope.values.values()))
            data = x.arr.full([], {})
            if block.target.endswith("doubled"):
                return [V(pointwise(lambda v: v * 2 + 1, data), role=x.role)]
            axis = self.find(scope, block.formals[0].type.axes[0], block.line).key
            place = data.axes.index(axis)
            return [V(Arr(data.data - data.data.mean(place, keepdims=True), data.axes), role=x.role)]
        returned = self.body(scope, block.body)
        if returned is None:
            raise Foul(block.line, "nothing is returned")
        statement, values = returned
        if len(values) != len(block.results):
            raise Foul(statement.line, "as many results as are declared")
        for result, value in zip(block.results, values, strict=True):
            self.typed(scope, value, result.type, statement.line)
        return values

    def type(self, scope: Scope, written: TypeText, line: int) -> tuple[str, Ax | None, list[Ax]]:
        axes = [self.find(scope, name, line) for name in written.axes]
        if len({axis.key for axis in axes}) < len(axes) and scope.alone:
            raise Foul(line, "an axis twice in one type")
        if written.element in (None, "real", "int", "bool"):
            return written.element or "real", None, axes
        return "index", self.find(scope, written.element, line), axes

    def typed(self, scope: Scope, value: V, written: TypeText, line: int) -> None:
        """What is written is what it is; of a call only the elements are looked at, as axes may lift or be lacking."""
        element, into, axes = self.type(scope, written, line)
        if value.element != element and (value.element, element) != ("int", "real"):
            raise Foul(line, f"{value.element} where {element} is written")
        if into is not None and value.into is not None and into.family != value.into.family:
            raise Foul(line, "indices into another axis")
        if scope.alone and {axis.key for axis in axes} != set(value.arr.axes):
            raise Foul(line, f"it has {value.arr.axes}, not {written.axes}")

    # -- statements ----------------------------------------------------------------------------------------------

    def body(self, scope: Scope, statements: Sequence[Stmt]) -> tuple[Stmt, list[V]] | None:
        for stmt in statements:
            match stmt.kind:
                case "return":
                    if len(stmt.values) == 1:
                        return stmt, self.several(scope, stmt.values[0])
                    return stmt, [self.one(scope, value) for value in stmt.values]
                case "assign":
                    self.assign(scope, stmt)
                case "expect":
                    value = self.variable(scope, stmt.targets[0], stmt.line)
                    assert stmt.type is not None
                    self.typed(scope, value, stmt.type, stmt.line)
                case "param":
                    self.param(scope, stmt)
                case "share":
                    if stmt.text not in scope.module.blocks:
                        raise Foul(stmt.line, f"no block is named {stmt.text}")
                    self.own(scope, stmt.targets[0], stmt.line)
                    scope.shares[stmt.targets[0]] = stmt.text
                case "axis":
                    text = AxisText(stmt.line, stmt.text, stmt.targets[0], "like" if stmt.index else "=",
                                    stmt.values[0] if stmt.values else None, stmt.index)  # fmt: skip
                    axis = self.axis(scope, text, main=False)
                    scope.names = {**scope.names, axis.name: axis}
                    scope.axes[axis.key] = axis
                case "const":
                    scope.names = {**scope.names, stmt.targets[0]: self.value(scope, stmt.values[0])}
                case "repeat":
                    self.repeat(scope, stmt)
                case "if":
                    self.branch(scope, stmt)
        return None

    def assign(self, scope: Scope, stmt: Stmt) -> None:
        if len(stmt.targets) > 1:
            values = self.several(scope, stmt.values[0])
            if len(values) != len(stmt.targets):
                raise Foul(stmt.line, "another number of results")
        else:
            values = [self.one(scope, stmt.values[0], binding=stmt.targets[0])]
            if stmt.type is not None:
                self.typed(scope, values[0], stmt.type, stmt.line)
        for name, value in zip(stmt.targets, values, strict=True):
            if name != "_":
                if name in scope.names:
                    raise Foul(stmt.line, f"{name} is no variable")
                scope.values[name] = value

    def param(self, scope: Scope, stmt: Stmt) -> None:
        assert stmt.type is not None
        _, _, axes = self.type(scope, stmt.type, stmt.line)
        for axis in axes:
            if not axis.known and axis.bound is None:
                raise Foul(stmt.line, f"a param over {axis.name}, whose size is not known")
        name = stmt.targets[0]
        self.own(scope, name, stmt.line)
        scope.values[name] = V(self.weight(scope, name, [[axis] for axis in axes]), role=WEIGHT)

    def weight(self, scope: Scope, name: str, dims: Sequence[Sequence[Ax]]) -> Arr:
        sizes = [[axis.bound or axis.size for axis in dim] for dim in dims]
        stored = self.weights.read(scope.path + name, tuple(int(np.prod(dim)) for dim in sizes))
        axes = [axis for dim in dims for axis in dim]
        data = stored.reshape([size for dim in sizes for size in dim])
        return Arr(data[tuple(slice(axis.size) for axis in axes)], tuple(axis.key for axis in axes))

    def own(self, scope: Scope, name: str, line: int) -> None:
        """D11: one name, one set of weights."""
        self.named(name, line)
        if name in scope.owned:
            raise Foul(line, f"two sets of weights named {name}")
        scope.owned.add(name)

    def named(self, name: str, line: int) -> None:
        if name in RESERVED:
            raise Foul(line, f"{name} is reserved")

    def inside(self, scope: Scope, **more: Any) -> Scope:
        return replace(scope, values=dict(scope.values), **more)

    def repeat(self, scope: Scope, stmt: Stmt) -> None:
        count = int(self.value(scope, stmt.values[0]))
        self.named(stmt.text, stmt.line)
        learns, kept = False, self.weights
        if not count and not stmt.shared:
            self.weights = Weights(0)
        for turn in range(count or 1):  # of no passes the body is right or wrong all the same
            names = {**scope.names, **({stmt.index: turn} if stmt.index else {})}
            path = f"{scope.path}{stmt.text}." + ("" if stmt.shared else f"{turn}.")
            body = self.inside(scope, names=names, path=path, owned=set(), outer=scope)
            self.body(body, stmt.body)
            for name, before in list(scope.values.items()):
                after = body.values[name]
                if after is not before:
                    if scope.alone and set(after.arr.axes) != set(before.arr.axes):
                        raise Foul(stmt.line, f"{name} changes its type")
                    scope.values[name] = replace(after, mark=frozenset()) if count else before
            learns = learns or (bool(body.owned) and bool(count or stmt.shared))
        self.weights = kept
        if learns:
            self.own(scope, stmt.text, stmt.line)

    def branch(self, scope: Scope, stmt: Stmt) -> None:
        """A branch that is not taken is right in its names and types, for sizes with which it would be taken."""
        test = self.one(scope, stmt.values[0])
        if not test.static or test.element != "bool":
            raise Foul(stmt.line, "no truth value known at build time")
        taken, other = (stmt.body, stmt.other) if bool(test.arr.data) else (stmt.other, stmt.body)
        kept = self.weights
        self.weights = Weights(0)
        try:
            self.body(self.inside(scope, owned=set(scope.owned)), other)
        except Foul as foul:
            if not foul.of_sizes:
                raise
        self.weights = kept
        self.body(scope, taken)

    # -- expressions ---------------------------------------------------------------------------------------------

    def variable(self, scope: Scope, name: str, line: int) -> V:
        if name in scope.values:
            return scope.values[name]
        found = scope.names.get(name)
        if isinstance(found, Ax):
            return V(Arr(np.arange(found.size), (found.key,)), "index", found, TABLE, bare=found)
        if found is not None:
            return _static(found)
        if name == "pi":
            return _static(np.pi)
        raise Foul(line, f"nothing is named {name}")

    def one(self, scope: Scope, expr: Expr, binding: str | None = None) -> V:
        values = self.several(scope, expr, binding)
        if len(values) != 1:
            raise Foul(expr.line, f"{len(values)} results where one is wanted")
        return values[0]

    def several(self, scope: Scope, expr: Expr, binding: str | None = None) -> list[V]:
        if expr.kind == "call" and (expr.text in scope.shares or expr.text in scope.module.blocks):
            return self.call(scope, expr)
        return [self.expr(scope, expr, binding)]

    def expr(self, scope: Scope, expr: Expr, binding: str | None = None) -> V:
        match expr.kind:
            case "name":
                return self.variable(scope, expr.text, expr.line)
            case "number" | "truth":
                return _static(expr.value)
            case "size":
                axis = self.find(scope, expr.text, expr.line)
                return V(number(axis.size), "int", static=True)
            case "where":
                raise Foul(expr.line, "`where` stands in an op that takes a mask")
            case "index":
                return self.index(scope, expr)
            case "call":
                if expr.text in scope.shares or expr.text in scope.module.blocks:
                    return self.one(scope, expr)
                return self.op(scope, expr, binding)
            case _:
                return self.pointwise(expr.text, [self.one(scope, part) for part in expr.parts], expr.line, scope)

    def pointwise(self, op: str, values: list[V], line: int, scope: Scope) -> V:
        """Arithmetic, comparisons, truth; D5 for indices, D7 for widths."""
        elements = [value.element for value in values]
        indices = [value for value in values if value.element == "index"]
        if op in ("and", "or", "not"):
            if set(elements) != {"bool"}:
                raise Foul(line, f"`{op}` of what is no truth value")
            element: str = "bool"
        elif op in ("<=", "<", ">=", ">", "==", "!="):
            if ("bool" in elements) and (set(elements) != {"bool"} or op not in ("==", "!=")):
                raise Foul(line, "truth values do not compare with numbers")
            _one_family(indices, line)
            element = "bool"
        else:
            if "bool" in elements:
                raise Foul(line, f"`{op}` of a truth value")
            element = "real" if "real" in elements or op == "/" else "int"
            if op in ("+", "-"):
                _one_family(indices, line)
                if element == "int" and len(indices) == 1 and not (op == "-" and elements[0] != "index"):
                    element = "index"
            if op == "^" and not values[1].static:
                element = "real"
            if op == "/" and values[1].bare is not None:
                raise Foul(line, "an index begins at 0")
            self.spread(values, line, scope, outer=op == "*")
        f = named.BINARY.get(op)
        arrays = [value.arr for value in values]
        if f is None:
            arr = pointwise(np.logical_not if op == "not" else lambda x: -x, arrays[0])
        else:
            arr = pointwise(f, *arrays)
        return V(arr, element, indices[0].into if element == "index" else None, max(value.role for value in values),
                 static=all(value.static for value in values))  # fmt: skip

    def spread(
        self,
        values: Sequence[V],
        line: int,
        scope: Scope,
        ignore: Iterable[str] = (),
        always: bool = False,
        outer: bool = False,
    ) -> None:
        """D7: of operands that carry data none lacks a width of another; each lacks an axis in a product alone."""
        if not scope.judge:
            return
        carrying = [value for value in values if value.role == DATA and (value.number or always)]
        widths = {key for value in carrying for key in value.arr.axes if scope.axes[key].width} - set(ignore)
        if any(widths - set(value.arr.axes) for value in carrying):
            raise Foul(line, f"a value is spread over {widths} in silence")
        axes = [set(value.arr.axes) - set(ignore) for value in carrying]
        joined = any(set().union(*axes) <= own for own in axes)
        if not outer and not joined and any(a - b and b - a for a, b in combinations(axes, 2)):
            raise Foul(line, "each of two operands lacks an axis of the other")

    def index(self, scope: Scope, expr: Expr) -> V:
        value = self.one(scope, expr.parts[0])
        if expr.made is not None or expr.each is not None:
            raise Foul(expr.line, "an arrow behind a value")
        for item in expr.items or []:
            axis = self.find(scope, item.name, expr.line)
            if item.other is not None:
                other = self.find(scope, item.other, expr.line)
                if not value.has(axis):
                    raise Foul(expr.line, f"no {axis.name} to rename")
                if axis.family != other.family:
                    raise Foul(expr.line, f"{axis.name} and {other.name} are no copies")
                if value.has(other) and other is not axis:
                    raise Foul(expr.line, f"it has {other.name} already")
                swap = {axis.key: other.key}
                value = replace(value, arr=value.arr.rename(swap), bare=None,
                                mark=frozenset(swap.get(key, key) for key in value.mark))  # fmt: skip
            elif item.value is not None:
                value = self.gather(scope, value, axis, self.one(scope, item.value), expr.line)
            else:
                raise Foul(expr.line, "an axis behind a value")
        return value

    def gather(self, scope: Scope, value: V, axis: Ax, e: V, line: int) -> V:
        if not value.has(axis):
            raise Foul(line, f"no {axis.name} to pick from")
        if e.element not in ("int", "index"):
            raise Foul(line, "picked by what is no index")
        if e.element == "index" and e.into is not None and e.into.family != axis.family:
            raise Foul(line, "indices of another family")
        if e.arr.data.size and (e.arr.data.min() < 0 or e.arr.data.max() >= axis.size):
            raise Foul(line, "an index out of range", of_sizes=True)
        arr = named.gather(value.arr.full([axis.key], {axis.key: axis.size}), axis.key, e.arr)
        mark = frozenset() if axis.key in value.mark else value.mark
        return replace(value, arr=arr, mark=mark, role=max(value.role, e.role), bare=None, static=False)

    # -- ops -----------------------------------------------------------------------------------------------------

    def op(self, scope: Scope, expr: Expr, binding: str | None) -> V:
        move = MOVES.get(expr.text)
        if move is None or expr.scan is not None:
            raise Foul(expr.line, f"no op or block is named {expr.text}")
        if expr.text in ("max", "min") and expr.items is not None:
            move = MOVES[f"{expr.text}[]"]
        operands: list[V] = []
        options: dict[str, Any] = {}
        mask: V | None = None
        for name, part in zip(expr.names, expr.parts, strict=True):
            if name == "init":
                continue
            if part.kind == "where":
                if not move.masked:
                    raise Foul(expr.line, f"`{expr.text}` takes no mask")
                mask = self.one(scope, part.parts[1])
                if mask.element != "bool":
                    raise Foul(expr.line, "a mask is a truth value")
                part = part.parts[0]
            if name is None and len(operands) < move.most:
                operands.append(self.one(scope, part))
                continue
            rest = [option for option in move.options if option not in options]
            if name is None and rest:
                name = rest[0]
            if name is None or name not in move.options:
                raise Foul(expr.line, f"`{expr.text}` takes no such argument")
            options[name] = self.value(scope, part)
        if len(operands) < move.least:
            raise Foul(expr.line, f"`{expr.text}` lacks an operand")
        if move.brackets != (expr.items is not None) and move.brackets is not None:
            raise Foul(expr.line, f"`{expr.text}` {'needs' if move.brackets else 'takes no'} brackets")
        axes = [self.find(scope, item.name, expr.line) for item in expr.items or []]
        made = [self.find(scope, name, expr.line) for name in expr.made or []]
        each = [self.find(scope, name, expr.line) for name in expr.each or []]
        if move.arrow != (expr.made is not None):
            raise Foul(expr.line, f"`{expr.text}` {'needs an' if move.arrow else 'takes no'} arrow")
        label = expr.label or binding
        use = Use(self, scope, expr.line, expr.text, operands, mask, axes, made, each, options, label)
        self.uses.append(((*self.lines, expr.line), use))
        value = move.rule(use)
        if expr.text == "dropout" and expr.line in self.dropped:
            return replace(value, arr=pointwise(lambda x: x * 0.0, value.arr))
        return value

    # -- calls ---------------------------------------------------------------------------------------------------

    def call(self, scope: Scope, expr: Expr) -> list[V]:
        shared = expr.text in scope.shares
        block, module = scope.module.blocks[scope.shares.get(expr.text, expr.text)]
        if block.name in self.stack:
            raise Foul(expr.line, f"{block.name} calls itself")
        names, bound = self.bind(scope, expr, block, module)
        args = self.arguments(scope, expr, block)
        name = expr.text if shared else expr.label or expr.text
        line = expr.line
        axes = {**scope.axes, **{ax.key: ax for ax in names.values() if isinstance(ax, Ax)}}
        judge = scope.judge and self.main is not None
        model = block.keyword == "model"  # its weights stand beside those of its caller
        inner = Scope(module, names, axes, {}, scope.path if model else f"{scope.path}{name}.", False, judge)
        scanned = self.find(scope, expr.scan, line) if expr.scan else None
        for formal in block.formals:
            if formal.name not in args and formal.default is None:
                raise Foul(line, f"`{block.name}` lacks {formal.name}")
        states = {result.name for result in block.results} & {formal.name for formal in block.formals}
        self.stack.append(block.name)
        self.lines.append(line)
        try:
            if scanned is not None:
                results = self.scan(inner, block, args, scanned, states, bound, line)
            else:
                self.enter(inner, block, args, bound, line)
                results = self.run(inner, block)
            if inner.owned and not shared and not model:
                self.own(scope, name, line)
            return results
        except Foul as foul:
            place = line if foul.line == 0 or module is not self.main else foul.line
            raise Foul(place, foul.why, foul.of_sizes) from None
        finally:
            self.stack.pop()
            self.lines.pop()

    def bind(self, scope: Scope, expr: Expr, block: BlockText, module: Module) -> tuple[Named, set[str]]:
        """What the block's names stand for; the keys of the axes that its parameters are bound to."""
        if expr.made is not None or expr.each is not None:
            raise Foul(expr.line, "an arrow in the brackets of a call")
        generics = {generic.name: generic for generic in block.generics}
        inherited = {name: found for name, found in scope.names.items() if name in module.names} if (
            module is scope.module) else module.names  # fmt: skip
        if scope.outer is not None and module is scope.module:
            inherited = {**inherited, **{name: module.names[name] for name in module.names if name not in inherited}}
        names: Named = dict(inherited)
        given: Named = {}
        order = iter(generics)
        for item in expr.items or []:
            if item.other is not None:
                raise Foul(expr.line, "a rename in the brackets of a call")
            if item.value is None:
                name = next(order, "")
                value: Expr = Expr("name", expr.line, item.name)
            else:
                name, value = item.name, item.value
            if name not in generics and name not in module.names:
                raise Foul(expr.line, f"`{block.name}` has no parameter {name or 'more'}")
            if name in given:
                raise Foul(expr.line, f"{name} is given twice")
            kind = generics[name].kind if name in generics else ""
            target = scope.names.get(value.text) if value.kind == "name" else None
            if value.kind == "name" and target is None:
                raise Foul(expr.line, f"nothing is named {value.text}")
            if isinstance(target, Ax):
                if kind and kind != ("width" if target.width else "depth"):
                    raise Foul(expr.line, f"{target.name} is no {kind}")
                given[name] = target
            else:
                given[name] = self.value(scope, value)
        names |= {name: found for name, found in given.items() if name not in generics}
        here = Scope(module, names, {}, {}, "", True, False)
        for name, generic in generics.items():
            if name in given:
                names[name] = given[name]
            elif generic.size is None:
                raise Foul(expr.line, f"`{block.name}` needs {name}")
            else:
                default = names.get(generic.size.text) if generic.size.kind == "name" else None
                if isinstance(default, Ax):
                    names[name] = default
                elif generic.kind == "const":
                    names[name] = self.value(here, generic.size)
                else:
                    size = int(self.exact(here, generic.size))
                    names[name] = Ax(self.fresh(name), name, generic.kind == "width", size, name, True)
        for name, generic in generics.items():
            mine, theirs = names[name], names.get(generic.like or "")
            if isinstance(mine, Ax) and isinstance(theirs, Ax) and mine.family != theirs.family:
                raise Foul(expr.line, f"{mine.name} is no copy of {theirs.name}")
        return names, {found.key for found in names.values() if isinstance(found, Ax) and _said(block, names, found)}

    def arguments(self, scope: Scope, expr: Expr, block: BlockText) -> dict[str, V]:
        formals = [formal.name for formal in block.formals]
        order = iter(formals)
        found: dict[str, V] = {}
        for given, part in zip(expr.names, expr.parts, strict=True):
            name = next(order, None) if given is None else given
            if name is None or name not in formals:
                raise Foul(expr.line, f"`{block.name}` has no argument {name or 'more'}")
            if name in found:
                raise Foul(expr.line, f"{name} is given twice")
            found[name] = self.one(scope, part)
        return found

    def enter(self, inner: Scope, block: BlockText, args: Mapping[str, V], bound: set[str], line: int) -> None:
        """The arguments under the names of the formals (D7, D8)."""
        for formal in block.formals:
            if formal.name not in args:
                assert formal.default is not None
                inner.values[formal.name] = self.one(inner, formal.default)
                continue
            value = args[formal.name]
            element, into, axes = self.type(inner, formal.type, line)
            if value.element != element and (value.element, element) != ("int", "real"):
                raise Foul(line, f"{formal.name} is {element}, not {value.element}")
            if into is not None and value.into is not None and into.family != value.into.family:
                raise Foul(line, f"{formal.name} has indices into another axis")
            own = {axis.key for axis in axes}
            extra = set(value.arr.axes) - own
            missing = [axis for axis in axes if not value.has(axis)]
            if extra & bound:
                raise Foul(line, f"{formal.name} has {extra & bound} too many")
            if value.role == DATA and value.number and inner.judge and any(axis.width for axis in missing):
                raise Foul(line, f"{formal.name} lacks a width")
            inner.values[formal.name] = replace(value, bare=None)

    def scan(
        self, inner: Scope, block: BlockText, args: dict[str, V], axis: Ax, states: set[str | None], bound: set[str],
        line: int,
    ) -> list[V]:  # fmt: skip
        if not states:
            raise Foul(line, "a scan that carries nothing")
        if axis.key in bound:
            raise Foul(line, f"{block.name} mentions {axis.name}")
        steps = [name for name, value in args.items() if value.has(axis) and name not in states]
        if not steps:
            raise Foul(line, f"nothing runs along {axis.name}")
        if any(args[name].has(axis) for name in states if name in args):
            raise Foul(line, "a first state that runs along the axis")
        sizes = {key: ax.size for key, ax in inner.axes.items()}
        role = max(value.role for value in args.values())
        now = dict(args)
        for formal in block.formals:
            if formal.name in states and formal.name in now:
                keys = [self.find(inner, name, line).key for name in formal.type.axes]
                start = now[formal.name]
                arr = start.arr.full([key for key in keys if key not in start.arr.axes], sizes)
                element = "real" if start.static else start.element
                now[formal.name] = V(arr, element, start.into, role)
        kept: list[list[V]] = [[] for _ in block.results]
        for at in range(axis.size):
            for name in steps:
                item = args[name].arr.take(at, axis.key)
                now[name] = replace(args[name], arr=item, mark=args[name].mark - {axis.key} if axis.key not in
                                    args[name].mark else frozenset())  # fmt: skip
            step = replace(inner, values={}, owned=set(), shares={})
            self.enter(step, block, now, bound, line)
            found = self.run(step, block)
            inner.owned |= step.owned
            for place, value in enumerate(found):
                kept[place].append(value)
                state = block.results[place].name
                if state in states:
                    now[state] = replace(value, role=role, mark=frozenset())
        out = []
        for result, values in zip(block.results, kept, strict=True):
            if not values:  # nothing along the axis
                element, into, axes = self.type(inner, result.type, line)
                arr = Arr(np.zeros((0, *(one.size for one in axes))), (axis.key, *(one.key for one in axes)))
                out.append(V(arr, element, into, role))
                continue
            arr = named.stack([value.arr for value in values], axis.key)
            out.append(replace(values[0], arr=arr, role=role, mark=frozenset(), static=False))
        return out


@dataclass
class Use:
    """One use of an op, for its rule in `moves.py`."""

    referee: Referee
    scope: Scope
    line: int
    name: str
    operands: list[V]
    mask: V | None
    axes: list[Ax]
    made: list[Ax]
    each: list[Ax]
    options: dict[str, Any]
    label: str | None

    def foul(self, why: str, of_sizes: bool = False) -> Foul:
        return Foul(self.line, f"`{self.name}`: {why}", of_sizes)

    def have(self, *axes: Ax) -> None:
        for axis in axes:
            if not self.operands[0].has(axis):
                raise self.foul(f"no {axis.name}")

    def numbers(self) -> None:
        for value in self.operands:
            if value.element == "bool" or (value.element == "index" and value.role > TABLE):
                raise self.foul(f"of {value.element}")

    def sizes(self) -> dict[str, int]:
        return {key: axis.size for key, axis in self.scope.axes.items()}

    def new(self, axes: Sequence[Ax], but: Sequence[Ax] = ()) -> None:
        for axis in axes:
            if self.operands[0].has(axis) and axis not in but:
                raise self.foul(f"it would have {axis.name} twice")

    def learn(self) -> str:
        if self.label is None:
            raise self.foul("weights without a name")
        self.referee.own(self.scope, self.label, self.line)
        for axis in (*self.axes, *self.made, *self.each):
            if not axis.known:
                raise self.foul(f"the size of {axis.name} is not fixed")
        return self.label

    def weight(self, name: str, dims: Sequence[Sequence[Ax]]) -> Arr:
        return self.referee.weight(self.scope, name, dims)

    def result(self, arr: Arr, element: str = "real", **more: Any) -> V:
        given = [*self.operands, *([self.mask] if self.mask else [])]
        more.setdefault("role", max([TABLE if arr.axes else CONSTANT, *(value.role for value in given)]))
        more.setdefault("static", False)
        return V(arr, element, **more)


def _static(value: float) -> V:
    element = "bool" if isinstance(value, bool) else "int" if isinstance(value, int) else "real"
    return V(number(value), element, static=True)


def _one_family(indices: Sequence[V], line: int) -> None:
    if len({value.into.family for value in indices if value.into}) > 1:
        raise Foul(line, "indices of two families")


def _mentioned(node: object) -> set[str]:
    """Names that may be axes, anywhere below: not of fields, ops, labels or arguments."""
    match node:
        case Expr():
            own = {node.text} if node.kind in ("name", "size") else set()
            own |= {node.scan} if node.scan else set()
            return own.union(node.each or (), node.made or (), *map(_mentioned, [*node.parts, *(node.items or [])]))
        case Item(name, other, value):
            return {name} | ({other} if other else set()) | _mentioned(value)
        case TypeText(element, axes):
            return {*axes, *([element] if element else [])}
        case Stmt():
            return _mentioned([node.type, *node.values, *node.body, *node.other]) | (
                {node.index} if node.index else set()
            )
        case FormalText(_, type, default):
            return _mentioned([type, default])
        case ResultText(_, type, _):
            return _mentioned(type)
        case list():
            return set().union(*map(_mentioned, node))
    return set()


def _said(block: BlockText, names: Named, axis: Ax) -> bool:
    """Whether the block mentions the axis, or has it for a parameter."""
    words = _mentioned([*block.formals, *block.results, *block.body]) | {generic.name for generic in block.generics}
    return any(found is axis and name in words for name, found in names.items())


def _along(value: V, axis: Ax) -> np.ndarray[Any, Any]:
    """The data, this axis first."""
    arr = value.arr if value.has(axis) else value.arr.full([axis.key], {axis.key: axis.size})
    return np.asarray(arr.along([axis.key, *sorted(key for key in arr.axes if key != axis.key)]), float)


def causal(referee: Referee, block: BlockText, inputs: Mapping[str, Arr]) -> None:
    """D12: change what comes after each item of every input, and compare what does not."""
    claims = [(place, name) for place, result in enumerate(block.results) for name in result.causal]
    if not claims:
        return
    before = referee.alone(block, inputs)
    draw = np.random.default_rng(1)
    for place, name in claims:
        axis = referee.find(Scope(referee.main, referee.main.names, {}, {}, "", True, False), name, block.line)
        axes = {ax.key: ax for ax in referee.main.names.values() if isinstance(ax, Ax)}
        for last in range(axis.size - 1):
            changed = {}
            for given, arr in inputs.items():
                keep = np.ones(arr.data.shape, bool)
                for at, key in enumerate(arr.axes):
                    if axes[key].family == axis.family:
                        shape = [1] * arr.data.ndim
                        shape[at] = -1
                        keep &= (np.arange(arr.data.shape[at]) <= last).reshape(shape)
                other = draw.normal(size=arr.data.shape) if arr.data.dtype.kind == "f" else np.roll(arr.data, 1)
                changed[given] = Arr(np.where(keep, arr.data, other), arr.axes)
            after = referee.alone(block, changed)
            first, second = (_along(found[place], axis)[: last + 1] for found in (before, after))
            if first.shape != second.shape or not np.allclose(first, second, rtol=1e-9, atol=1e-12, equal_nan=True):
                raise Foul(
                    block.line, f"result {place} is claimed causal along {name}, and depends on what comes after"
                )


def examine(referee: Referee, draw_seed: int = 0) -> list[V]:
    """The whole program: each block on its own, the model, its claims. Its results, or a Foul."""
    with np.errstate(all="ignore"):
        referee.blocks()
        models = [block for block, _ in referee.main.blocks.values() if block.keyword == "model"]
        block = models[-1]
        scope = Scope(referee.main, referee.main.names, {}, {}, "", True, False)
        draw = np.random.default_rng(draw_seed)
        inputs = {}
        for formal in block.formals:
            element, into, axes = referee.type(scope, formal.type, block.line)
            shape = [axis.size for axis in axes]
            data: Any = draw.normal(size=shape)
            if element == "bool":
                data = draw.random(shape) < 0.6
            elif element != "real":
                data = draw.integers(0 if into else -3, max(into.size, 1) if into else 5, shape)
            inputs[formal.name] = Arr(np.asarray(data), tuple(axis.key for axis in axes))
        results = referee.alone(block, inputs)
        causal(referee, block, inputs)
    return results
