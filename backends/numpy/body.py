"""NumPy code of one function: how it is spelled."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from ...compiler.graph.inventory import inventory
from ...compiler.graph.nodes import Apply, Call, Graph, Parameter, Repeat, Scan, Weight
from ...compiler.graph.values import Scalar, Value
from ...compiler.ops import WrittenOp, op_named
from ...compiler.sizes.axes import Axis, Const, Static
from ..emit.body import CodeBody
from ..emit.border import batch_of, border, defaults
from ..emit.calls import built, cache_at, counted
from ..emit.decoder import begin_decoding
from ..emit.extents import hold_derived
from ..emit.layout import CodeFile, Words, at_items, shape_of
from ..emit.ops import COMMON
from ..emit.repeats import by_pass
from ..plan.capture import segment
from ..plan.plan import Plan
from ..text.expressions import OPERATORS, Code, Variable, call, joined, operator
from ..text.names import AT, FOUND
from ..text.numbers import static_code
from ..text.statements import Do, For, Let, Place
from ..text.values import NONE, Val

Emit = Callable[["NumpyBody", Apply, list[Val], Val | None], Val]
Point = Callable[["NumpyBody", list[Val], Value], Code]


class NumpyBody(CodeBody):
    """Emits one function. Weights are `w[at + "Q.weight"]`; `at` is the path of the instance; the root has none."""

    words = Words(
        library="np",
        moved="np.moveaxis({0}, {1}, {2})",
        swapped="{0}.swapaxes({1}, {2})",
        transposed="{0}.swapaxes({1}, {2})",
        flat="flatten({0}, {1}, {2})",
        flat_to_the_end="flatten({0}, {1}, -1)",
        stacked="np.stack({0}, {1})",
        items="np.moveaxis({0}, {1}, 0)",
        indices="np.arange({0})",
        new_places="np.arange({0}.start, {0}.end)",
        taps="taps({0})",
        cast="{0}.astype({1})",
        doubled="{0}.astype({1})",
        float64="np.float64",
        int64="np.int64",
        truth="np.bool_",
    )
    margin = 4
    common = COMMON

    def __init__(self, file: CodeFile, plan: Plan) -> None:
        super().__init__(file, plan)
        self.derived: dict[Axis, Code] = {}

    @property
    def prefix(self) -> str:
        return f"{AT} + " if self.plan.placed else ""

    def path(self, name: str) -> Code:
        """The path prefix of a nested instance; a model that is called adds nothing to it."""
        if not name:
            return Code(AT if self.plan.placed else '""')
        return Code(f'{self.prefix}"{name}."')

    def weight(self, weight: Weight) -> Code:
        return Code(f'w[{self.prefix}"{weight.name}"]')

    def parameter(self, weight: Weight) -> Code:
        return self.weight(weight)

    def configuration(self) -> str:
        return "configuration()"

    def learned(self, maps: list[Apply]) -> Code:
        return joined(shape_of([*map(self.weight, node.weights)]) for node in maps)

    def mapped(self, x: Val, node: Apply) -> Code:
        return Code.of(
            "linear({})", joined([x.code, *map(self.weight, node.weights)])
        )  # which the cache has needed already

    def first_weight(self) -> Code | None:
        for node in self.graph.nodes:
            if isinstance(node, Parameter):
                return self.weight(node.weight)
            if isinstance(node, Apply) and node.weights:
                return self.weight(node.weights[0])
        return None

    def size_code(self, axis: Axis) -> Code:
        if axis in self.derived:
            return self.derived[axis]
        if axis not in self.plan.axes:
            return Code(str(axis.extent))
        if axis.bound is not None and axis.extent is None:
            return self.bound_code(axis)
        given, formula = self.scope.axes[axis], self.plan.formula(axis)
        if formula is None:
            return given.code
        code = static_code(formula, self.size_code, self.const_code)
        variable = Variable(given.name, given.name, lasting=True, unique=True)
        self.sizes.append(Let(variable, self.whole(formula, code), place=Place.NAMED))
        self.derived[axis] = variable.code
        return variable.code

    def const_code(self, const: Const) -> Code:
        if const in self.counters:
            return self.counters[const].code
        return self.scope.consts[const].code

    def bound_code(self, axis: Axis) -> Code:
        return self.scope.bounds[axis].code

    # -- spelling -----------------------------------------------------------------------------------------------

    def expanded(self, x: Val, shape: Sequence[Code]) -> Code:
        return call("np.broadcast_to", x.code, shape_of(shape))

    def unflatten(self, x: Val, dim: int, axes: Sequence[Axis]) -> Code:
        return call("unflatten", x.code, dim, *(self.extent(axis) for axis in axes))

    def item_places(self, axis: Axis) -> Code:
        return Code.of("{}.item_places()", self.clock(axis))

    def new_rows(self, x: Val, axis: Axis, clock: Code) -> Code:
        at = x.axes.index(axis)
        before, after = ([":"] * at, 0) if x.leading == NONE else (["..."], len(x.axes) - at - 1)
        return at_items(x, [*before, Code.of("{}.start : {}.end", clock, clock), *[":"] * after])

    def filled(self, shape: Code, value: Code, kind: Scalar, dtype: Code | None) -> Code:
        types = {Scalar.INT: Code(self.words.int64), Scalar.BOOL: Code(self.words.truth)}
        return call("np.full", shape, value, types.get(kind, dtype or Code("")))

    @property
    def device(self) -> Code:
        raise AssertionError("NumPy knows no devices")

    def root_device(self) -> Code:
        raise AssertionError("NumPy knows no devices")

    def root_dtype(self) -> Code | None:
        first = next(iter(inventory(self.graph)), None)
        return Code(f'w["{first}"]') if first is not None else None

    # -- ops ----------------------------------------------------------------------------------------------------

    def point(self, op: str, vals: list[Val], out: Value) -> Code:
        if op in OPERATORS:
            return operator(op, [val.code for val in vals])
        spell = self.file.points.get(op)
        if spell is not None:
            return spell(self, vals, out)
        row = op_named(op)
        template = row.numpy if isinstance(row, WrittenOp) else ""
        return self.spelled(row, vals, template, "numpy")

    # -- calls --------------------------------------------------------------------------------------------------

    def call_text(
        self,
        plan: Plan,
        graph: Graph,
        to_caller: Mapping[Axis, Axis],
        consts: Mapping[Const, Static],
        at: Code,
        args: list[Code],
        keywords: list[Code],
        cache: Code,
    ) -> Code:
        sizes = built(self, plan, graph, to_caller, consts, self.size_code, self.const_code)
        given = []
        if self.file.owns(graph):
            given.append(Code("w"))
        if (self.file.owns(graph) or plan.on_path) and plan.placed:
            given.append(at)
        found = [Code(f"{FOUND}={FOUND}")] if plan.on_path else []
        if plan.cached:
            args = [*args, cache]
        return call(self.file.functions[plan.key], *given, *args, *sizes, *keywords, *found)

    def invoke(self, node: Call | Scan, plan: Plan, args: list[Code], keywords: list[Code]) -> Code:
        at = self.path(segment(self.graph, node) if isinstance(node, Call) else node.name)
        cache = cache_at(node.graph)
        return self.call_text(plan, node.graph, dict(node.axes), dict(node.consts), at, args, keywords, cache)

    def loop(
        self, node: Repeat, plans: list[Plan], targets: list[Variable], args: list[Code], keywords: list[list[Code]]
    ) -> For:
        count = static_code(node.count, self.extent, self.const_code)
        counter = self.counters[node.index] if node.index is not None else Variable("i")
        name = segment(self.graph, node)
        each = Code.of(f'{self.prefix}f"{{}}."', counted(f"{name}.{{i}}", counter))
        at = self.path("" if node.beside else name) if node.shared else each
        given = [*(target.code for target in targets), *args]
        calls = []
        for plan, body, words in zip(plans, node.bodies, keywords, strict=True):
            calls.append(self.call_text(plan, body, {}, {}, at, given, words, cache_at(body, counter)))
        return For((counter,), call("range", count), by_pass(self, node, counter, calls, targets))

    def counts(self, node: Repeat) -> bool:
        return True

    def found_at(self, label: str) -> Code:
        return Code(f'{self.prefix}"{label}"')

    def begin(self) -> None:
        if self.plan.is_root and self.plan.owner is not None:
            self.lines += begin_decoding(self)
        if self.graph.kind == "model" and self.graph.inputs:
            for val in filter(self._optional, self.inputs):
                array = Code.of("{} if {} is None else np.asarray({})", val.code, val.code, val.code)
                self.checks.append(Do(array, (val.code.variable,)))
            self.checks += [*border(self), *batch_of(self)]
            hold_derived(self)
            self.lines += defaults(self)
