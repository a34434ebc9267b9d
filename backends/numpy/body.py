"""NumPy code of one function: how it is spelled."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

from ...compiler.graph.inventory import inventory
from ...compiler.graph.nodes import Apply, Call, Graph, Parameter, Repeat, Scan, Weight
from ...compiler.graph.values import Scalar, Value
from ...compiler.ops import WrittenOp, op_named
from ...compiler.sizes.axes import Axis, Const, Static
from ..emit.body import CodeBody
from ..emit.border import border, defaults, missing
from ..emit.calls import cache_at
from ..emit.decoder import begin_decoding
from ..emit.derived import hold_derived
from ..emit.layout import CodeFile
from ..emit.ops import COMMON
from ..plan.capture import segment
from ..plan.plan import Plan
from ..text.carried import helpers
from ..text.expressions import OPERATORS, Code, operator
from ..text.names import AT, FOUND
from ..text.numbers import static_code
from ..text.templates import called
from ..text.values import NONE, Val
from ..text.writing import by_pass

Emit = Callable[["NumpyBody", Apply, list[Val], Val | None], Val]
Point = Callable[["NumpyBody", list[Val], Value], Code]


class NumpyFile(CodeFile, Protocol):
    """What such a body asks of its file besides."""

    functions: dict[str, str]  # what each is called, by the key of its plan

    @property
    def ops(self) -> Mapping[str, Emit]:
        """The code of each op that more than a template makes (ops.py)."""

    @property
    def points(self) -> Mapping[str, Point]:
        """Of those done item by item that no template says, the expression (ops.py)."""


class NumpyBody(CodeBody):
    """Emits one function. Weights are `w[at + "Q.weight"]`; `at` is the path of the instance; the root has none."""

    library = "np"
    common = COMMON
    file: NumpyFile

    def __init__(self, file: NumpyFile, plan: Plan) -> None:
        super().__init__(file, plan)
        self.checks: list[str] = []
        self.derived: dict[Axis, str] = {}
        self.derivations: list[str] = []

    @property
    def prefix(self) -> str:
        return f"{AT} + " if self.plan.placed else ""

    def path(self, name: str) -> str:
        """The path prefix of a nested instance; a model that is called adds nothing to it."""
        if not name:
            return AT if self.plan.placed else '""'
        return f'{self.prefix}"{name}."'

    def weight(self, weight: Weight) -> str:
        return f'w[{self.prefix}"{weight.name}"]'

    def parameter(self, weight: Weight) -> str:
        return self.weight(weight)

    def configuration(self) -> str:
        return "CONFIGURATION"

    def learned(self, maps: list[Apply]) -> str:
        parts = [", ".join(map(self.weight, node.weights)) for node in maps]
        return ", ".join(f"({part})" if ", " in part else f"({part},)" for part in parts)

    def mapped(self, x: str, node: Apply) -> str:
        return f"linear({', '.join([x, *map(self.weight, node.weights)])})"  # which the cache has needed already

    def first_weight(self) -> str | None:
        for node in self.graph.nodes:
            if isinstance(node, Parameter):
                return self.weight(node.weight)
            if isinstance(node, Apply) and node.weights:
                return self.weight(node.weights[0])
        return None

    def size_code(self, axis: Axis) -> str:
        if axis in self.derived:
            return self.derived[axis]
        if axis not in self.plan.axes:
            return str(axis.extent)
        if axis.bound is not None and axis.extent is None:
            return self.bound_code(axis)
        name = self.scope.axes[axis]
        formula = self.plan.formula(axis)
        if formula is not None:
            code = static_code(formula, self.size_code, self.const_code)
            self.derived[axis] = name
            self.derivations.append(f"{name} = {self.whole(formula, code)}")
        else:
            self.plan.sizes[axis] = None
        return name

    def const_code(self, const: Const) -> str:
        if const in self.counters:
            return self.counters[const]
        if const in self.plan.late:
            self.plan.read.add(const)
            return self.scope.consts[const]
        self.plan.numbers[const] = None
        return self.scope.consts[const]

    def bound_code(self, axis: Axis) -> str:
        self.plan.sizes_bound[axis] = None
        return self.scope.bounds[axis]

    # -- spelling -----------------------------------------------------------------------------------------------

    def permuted(self, x: Val, source: int | tuple[int, ...], target: int | tuple[int, ...]) -> str:
        return f"np.moveaxis({x.text}, {source}, {target})"

    def swapped(self, x: Val, a: int, b: int) -> str:
        return f"{x.atom}.swapaxes({a}, {b})"

    def expanded(self, x: Val, shape: str) -> str:
        return f"np.broadcast_to({x.text}, ({shape}{'' if ',' in shape else ','}))"

    def unflatten(self, x: Val, dim: int, axes: Sequence[Axis]) -> str:
        self.helper("unflatten")
        return f"unflatten({x.text}, {dim}, {', '.join(self.extent(axis).text for axis in axes)})"

    def flatten(self, x: Val, first: int, last: int) -> str:
        self.helper("flatten")
        return f"flatten({x.text}, {first}, {last})"

    def stacked(self, items: str, dim: int) -> str:
        return f"np.stack({items}, {dim})"

    def lookup(self, x: Val, e: Val) -> str:
        return f"{x.atom}[{e.text}]"

    def take_along(self, x: Val, e: Val, dim: int) -> str:
        self.helper("take_along")
        return f"take_along({x.text}, {e.text}, {dim})"

    def arange(self, extent: str) -> str:
        return f"np.arange({extent})"

    def new_places(self) -> str:
        return self.arange("cache.start, cache.end")

    def new_rows(self, x: Val, axis: Axis) -> str:
        before = ":, " * x.axes.index(axis) if x.leading == NONE else "..., "
        after = ", :" * (len(x.axes) - x.axes.index(axis) - 1) if x.leading != NONE else ""
        return f"{x.atom}[{before}cache.start:cache.end{after}]"

    def filled(self, shape: str, value: str, kind: Scalar, dtype: str) -> str:
        types = {Scalar.INT: "np.int64", Scalar.BOOL: "np.bool_"}
        return f"np.full({shape}, {value}, {types.get(kind, dtype)})"

    def cast(self, text: str, dtype: str) -> str:
        return f"{text}.astype({dtype})"

    def float64(self) -> str:
        return "np.float64"

    def helper(self, name: str) -> None:
        self.file.helpers[name] = None

    def check_index(self, code: str, extent: str, axis: Axis) -> None:
        self.helper("check_index")
        self.line(f'check_index({code}, {extent}, "{self.graph.name}: index into {axis.name}")')

    @property
    def device(self) -> str:
        raise AssertionError("NumPy knows no devices")

    def root_device(self) -> str:
        raise AssertionError("NumPy knows no devices")

    def root_dtype(self) -> str | None:
        first = next(iter(inventory(self.graph)), None)
        return f'w["{first}"].dtype' if first is not None else None

    # -- ops ----------------------------------------------------------------------------------------------------

    def emits(self, op: str) -> bool:
        return op in self.file.ops

    def apply(self, node: Apply, vals: list[Val], mask: Val | None) -> Val:
        emit = self.file.ops.get(node.op)
        return self.pointwise(node, vals) if emit is None else emit(self, node, vals, mask)

    def point(self, op: str, vals: list[Val], out: Value) -> Code:
        if op in OPERATORS:
            return operator(op, [val.code for val in vals])
        spell = self.file.points.get(op)
        if spell is not None:
            return spell(self, vals, out)
        row = op_named(op)
        template = row.numpy if isinstance(row, WrittenOp) else ""
        code = self.spelled(row, vals, template, "numpy")
        for name in called(template):
            if name in helpers("numpy/pointwise"):
                self.helper(name)
        return code

    # -- calls --------------------------------------------------------------------------------------------------

    def call_text(
        self,
        plan: Plan,
        graph: Graph,
        to_caller: Mapping[Axis, Axis],
        consts: Mapping[Const, Static],
        at: str,
        args: list[str],
        keywords: list[str],
        cache: str = "",
    ) -> str:
        built = self.built(plan, graph, to_caller, consts, self.size_code, self.const_code)
        given = []
        if self.file.owns(graph):
            given.append("w")
        if (self.file.owns(graph) or plan.on_path) and plan.placed:
            given.append(at)
        found = [f"{FOUND}={FOUND}"] if plan.on_path else []
        if plan.cached:
            args = [*args, cache]
        return f"{self.file.functions[plan.key]}({', '.join([*given, *args, *built, *keywords, *found])})"

    def invoke(self, node: Call | Scan, plan: Plan, args: list[str], keywords: list[str]) -> str:
        at = self.path(segment(self.graph, node) if isinstance(node, Call) else node.name)
        cache = cache_at(node.graph)
        return self.call_text(plan, node.graph, dict(node.axes), dict(node.consts), at, args, keywords, cache)

    def loop(
        self, node: Repeat, plans: list[Plan], targets: list[str], args: list[str], keywords: list[list[str]]
    ) -> list[str]:
        count = static_code(node.count, lambda axis: self.extent(axis).text, self.const_code).text
        owned = any(self.file.owns(body) or plan.on_path for body, plan in zip(node.bodies, plans, strict=True))
        counter = self.namer.give("i") if node.index is None else self.counters[node.index]
        name = segment(self.graph, node)
        at = self.path(name) if node.shared else f'{self.prefix}f"{name}.{{{counter}}}."'
        calls = []
        for plan, body, words in zip(plans, node.bodies, keywords, strict=True):
            cache = cache_at(body, counter)
            calls.append(self.call_text(plan, body, {}, {}, at, [*targets, *args], words, cache))
        used = (
            any(plan.cached for plan in plans)
            or len(plans) > 1
            or (owned and not node.shared)
            or any(re.search(rf"={counter}\b", call) for call in calls)
        )
        comment = ", ".join(self.shown(self.core(value.type.axes)) for value in node.outs)
        goal = f"{', '.join(targets)} = " if targets else ""
        lines = [f"for {counter if used else '_'} in range({count}):"]
        lines += by_pass(counter, node.variant, [f"{goal}{call}" for call in calls], comment)
        if node.index is None:
            self.namer.free(counter)
        return lines

    def counts(self, node: Repeat) -> bool:
        return True

    def found_at(self, label: str) -> str:
        return f'{self.prefix}"{label}"'

    def begin(self) -> None:
        if self.plan.is_root and self.plan.owner is not None:
            self.helper("Cache")
            self.lines += begin_decoding(self)
        if self.graph.kind == "model" and self.graph.inputs:
            if any(item.length_of is not None for item in self.graph.inputs):
                self.helper("check_lengths")
            for val in self.inputs:
                self.checks.append(
                    f"{val.text} = {val.text} if {val.text} is None else np.asarray({val.text})"
                    if self._optional(val)
                    else ""
                )
            self.checks = [*missing(self), *(line for line in self.checks if line), *border(self)]
            hold_derived(self)
            self.lines += defaults(self)
