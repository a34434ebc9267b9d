"""NumPy source: one function per block, model and repeat body, over one dictionary of weights; inference only."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass

from ...compiler.decoding import Decoding
from ...compiler.decoding.join_maps import weights_together
from ...compiler.graph.inventory import inventory
from ...compiler.graph.nodes import Apply, Call, Graph, Parameter, Repeat, Scan, Weight
from ...compiler.graph.values import Value
from ...compiler.ops import OPS
from ...compiler.pipeline import PASSES, Pass
from ...compiler.sizes.axes import Axis, Const, Static
from ..emit.body import Body
from ..emit.border import annotation, behind_default, border, defaults, missing, output_names
from ..emit.calls import cache_at
from ..emit.decoder import DOCS, asked, begin_decoding, configuration, decoder_functions
from ..emit.derived import hold_derived
from ..emit.file import Emitter
from ..emit.ops import COMMON
from ..plan.capture import Captures, segment
from ..plan.plan import Plan, Program
from ..text.helper_text import NUMPY, helpers
from ..text.names import AT, DECODING, DTYPE, FILE, FOUND, Namer, plain
from ..text.static_code import ATOM, OPERATORS, TERM, Code, folded, number, operator, static_code
from ..text.values import NONE, CannotEmit, Val, is_table, kind_of
from ..text.writing import by_pass, is_path, wrap
from . import ops as numpy_ops


class NumpyBody(Body):
    """Emits one function. Weights are `w[at + "Q.weight"]`; `at` is the path of the instance; the root has none."""

    library = "np"
    common = COMMON

    def __init__(self, file: NumpyEmitter, plan: Plan) -> None:
        super().__init__(file, plan)
        self.numpy = file
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
        return (
            parts[0] if len(parts) == 1 else ", ".join(f"({part})" if ", " in part else f"({part},)" for part in parts)
        )

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
        before = ":, " * x.axes.index(axis) if x.lead == NONE else "..., "
        after = ", :" * (len(x.axes) - x.axes.index(axis) - 1) if x.lead != NONE else ""
        return f"{x.atom}[{before}cache.start:cache.end{after}]"

    def filled(self, shape: str, value: str, kind: str, dtype: str) -> str:
        types = {"int": "np.int64", "bool": "np.bool_"}
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

    def apply(self, node: Apply, vals: list[Val], mask: Val | None) -> Val:
        emit = numpy_ops.OPS.get(node.op)
        return self.pointwise(node, vals) if emit is None else emit(self, node, vals, mask)

    def point(self, op: str, vals: list[Val], out: Value) -> Code:
        codes = [val.code for val in vals]
        if op in OPERATORS:
            return operator(op, codes)
        if op == "rsqrt":
            return Code(f"1 / np.sqrt({codes[0].text})", TERM)
        if op in ("floor", "ceil"):
            return codes[0] if vals[0].kind == "int" else Code(f"np.{op}({codes[0].text}).astype(np.int64)")
        if op in ("maximum", "minimum"):
            return self._extreme(op, vals)
        if op == "clamp":
            low = Val(self._extreme("maximum", vals[:2]), number=vals[0].number and vals[1].number)
            return self._extreme("minimum", [low, vals[2]])
        if op == "select" and vals[1].number and vals[2].number and kind_of(out) == "real":
            dtype = self.float64() if is_table(out) else self.dtype
            return Code(f"np.where({codes[0].text}, {codes[1].text}, {codes[2].text}).astype({dtype})")
        template = OPS[op].numpy
        for name in re.findall(r"\b[a-z_]+\b(?=\()", template):
            if name in helpers("numpy/pointwise"):
                self.helper(name)
        return Code(template.format(*(code.text for code in codes)), ATOM if template.endswith(")") else TERM)

    def _extreme(self, op: str, vals: list[Val]) -> Code:
        """Of two numbers Python's: what NumPy makes of them has a type of its own, and float32 would become float64."""
        numbers = [val.code.text for val in vals if val.number]
        if len(numbers) > 1:
            numbers = [f"{op[:3]}({', '.join(numbers)})"]
        return folded([*(val.code for val in vals if not val.number), *map(Code, numbers)], f"np.{op}")

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
        if self.numpy.owns(graph):
            given.append("w")
        if (self.numpy.owns(graph) or plan.on_path) and plan.placed:
            given.append(at)
        found = [f"{FOUND}={FOUND}"] if plan.on_path else []
        if plan.cached:
            args = [*args, cache]
        return f"{self.numpy.functions[plan.key]}({', '.join([*given, *args, *built, *keywords, *found])})"

    def invoke(self, node: Call | Scan, plan: Plan, args: list[str], keywords: list[str]) -> str:
        at = self.path(segment(self.graph, node) if isinstance(node, Call) else node.name)
        cache = cache_at(node.graph)
        return self.call_text(plan, node.graph, dict(node.axes), dict(node.consts), at, args, keywords, cache)

    def loop(
        self, node: Repeat, plans: list[Plan], targets: list[str], args: list[str], keywords: list[list[str]]
    ) -> list[str]:
        count = static_code(node.count, lambda axis: self.extent(axis).text, self.const_code).text
        owned = any(self.numpy.owns(body) or plan.on_path for body, plan in zip(node.bodies, plans, strict=True))
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
            self.lines += begin_decoding(self, self.numpy.decoding)
        if self.graph.kind == "model" and self.graph.inputs:
            if any(map(self.checks_input, self.inputs)):
                self.helper("check_inputs")
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


class NumpyEmitter(Emitter):
    """The whole file."""

    def __init__(self, program: Program, captures: Captures, decoding: Decoding | None = None) -> None:
        super().__init__(program, captures)
        self.decoding = decoding
        names = Namer(mark=FILE)
        root = program.plan(program.root)
        roots = [program.plan(graph) for graph in program.steps]
        self.functions = {plan.key: plan.method for plan in roots}
        self.functions[root.key] = names.give(root.graph.name)
        for plan in program.plans:
            if plan.key not in self.functions:
                self.functions[plan.key] = names.give(_snake(plan.name))
        self.globals = frozenset(map(plain, (*self.functions.values(), *(plan.results for plan in program.plans))))

    def body(self, plan: Plan) -> NumpyBody:
        return NumpyBody(self, plan)

    def code(self, header: str, together: Sequence[tuple[str, ...]] = ()) -> NumpyCode:
        self.settle()
        texts: list[str] = []
        results: list[str] = []
        root = self.program.plan(self.program.root)
        if self.program.steps:
            texts += ["\n".join(wrap(f"CONFIGURATION = {configuration(self)}"))]
        for plan in (
            *(plan for plan in self.program.plans if plan is not root),
            root,
        ):  # the model is the last function
            if plan.graph.kind == "op":
                continue
            if plan is root and self.decoding is not None and self.decoding.prompt is not None:
                self.helpers["Decoder"] = None
                texts.append(decoder_functions(self.decoding, self))
            body = self.bodies[plan.key]
            assert isinstance(body, NumpyBody)
            if plan.graph.kind == "model" and len(plan.graph.outputs) > 1:
                lines = [f"class {plan.results}(NamedTuple):"]
                for name, val in zip(output_names(plan), body.returned, strict=True):
                    lines.append(f"    {name}: {annotation(body, val, 'Array')}")
                results.append("\n".join(lines))
            texts.append(self._function(plan, body))
        wanted = {"Array", *self.helpers}
        names = self.spelled(wanted, NUMPY, [*results, *texts], asked(self.decoding, self))
        imports = [*names.standard, "", names.module("np"), *names.parts("jaxtyping"), *names.own]
        code = "\n\n\n".join(names.texts)
        head = "".join(f"# {line}\n" for line in header.splitlines())
        found = {plain(name): names(name) for name in (DTYPE, *(DECODING if self.decoding is not None else ()))}
        return NumpyCode(f"{head}{chr(10).join(imports)}\n\n{code}\n", found, together)

    def _function(self, plan: Plan, body: NumpyBody) -> str:
        args = []
        owner = self.owns(plan.graph)
        if owner or plan.is_root:
            args.append("w: dict[str, Array]")
        if (owner or plan.on_path) and plan.placed:
            args.append(f"{AT}: str")
        for val, item in zip(body.inputs, plan.graph.inputs, strict=True):
            kind = annotation(body, val, "Array")
            omissible = item.default is not None or item in behind_default(plan.graph)
            args.append(f"{val.text}: {kind} | None = None" if omissible else f"{val.text}: {kind}")
        more = []
        for axis in plan.axes:
            if axis in plan.sizes:
                more.append(f"{body.scope.axes[axis]}: int = {axis.extent}")
            if axis in plan.sizes_bound:
                more.append(f"{body.scope.bounds[axis]}: int = {axis.bound}")
        for const in plan.consts:
            if plan.built_with(const):
                default = f" = {number(const.value).text}" if const.value is not None else ""
                more.append(f"{body.scope.consts[const]}: {plan.annotation(const)}{default}")
        more += [f"{body.scope.axes[axis]}: int" for axis in plan.extents]
        more += [f"{body.scope.consts[const]}: {plan.annotation(const)}" for const in plan.passed]
        if plan.wants_dtype:
            more.append(f"{DTYPE}: np.dtype[Any]" + (' = np.dtype("float32")' if plan.is_root else ""))
        if plan.on_path and not plan.is_root:
            more.append(f"{FOUND}: dict[str, Array]")
        if plan.cached and not (plan.is_root and plan.method == "prepare"):
            args.append("cache: Cache")
        if plan.is_root and plan.method == "step":
            args.append("last: int = 0")
        args += ["*", *more] if more else []
        lines = wrap(f"def {self.functions[plan.key]}({', '.join(args)}) -> {self._result_type(plan, body)}:")
        inner = [*body.checks]
        if plan.is_root and plan.owner is not None:
            lines += [f"    {line}" for line in DOCS[plan.method]]
        if plan.on_path and plan.is_root:
            inner.append(f"{FOUND}: dict[str, Array] = {{}}")
        returned = self._return(plan, body)
        text = "\n".join(line.split("  #")[0] for line in [*body.prologue, *body.lines, *returned])
        if not re.search(r"\bbatch\b", text):
            inner = [line.removeprefix("batch = ") for line in inner]
        lines += [f"    {line}" for line in [*body.derivations, *inner, *body.prologue, *body.lines, *returned]]
        return "\n".join(lines)

    def _result_type(self, plan: Plan, body: NumpyBody) -> str:
        kinds = [annotation(body, val, "Array") for val in body.returned]
        if not kinds:
            kind = "Cache" if plan.is_root else "None"
        elif len(kinds) == 1:
            kind = kinds[0]
        elif plan.graph.kind == "model":
            kind = plan.results
        else:
            kind = f"tuple[{', '.join(kinds)}]"
        return f"tuple[{kind}, dict[str, Captured]]" if plan.is_root and self.captures.wanted else kind

    def _return(self, plan: Plan, body: NumpyBody) -> list[str]:
        values = [val.text for val in body.returned]
        if not values:
            return ["return cache"] if plan.is_root else [] if body.lines else ["pass"]
        text = values[0] if len(values) == 1 else ", ".join(values)
        shown = ", ".join(body.shown(val.axes) for val in body.returned)
        if plan.graph.kind == "model" and len(values) > 1:
            text = f"{plan.results}({text})"
        if not (plan.is_root and self.captures.wanted):
            return wrap(f"return {text}", shown if not all(is_path(value) for value in values) else "", 116)
        return [
            *wrap(f"result = {text}", shown, 116),
            "return result, {",
            *self.captured(body),
            "}",
        ]


def _snake(name: str) -> str:
    """`EncodeLayers` -> `encode_layers`."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower()


def numpy_source(
    graph: Graph, *, header: str = "", capture: tuple[str, ...] = (), passes: Sequence[Pass] = PASSES
) -> str:
    """A model (or a block on its own) as functions of NumPy arrays: a file that depends on NumPy and jaxtyping alone.

    header: lines put first, as comments. capture: paths of values that the call returns besides its result.
    passes: the rewrites to do.
    Raises CaptureError (a ValueError) for a path that names no value, CannotEmit for a graph beyond this backend.
    """
    return numpy_code(graph, header=header, capture=capture, passes=passes).source


@dataclass(frozen=True, slots=True)
class NumpyCode:
    """A file. together: the paths of the weights that the products of steps read together.

    names: what it calls the functions of decoding, and the parameter `dtype`: a name of the spec may be the same.
    """

    source: str
    names: Mapping[str, str]
    together: Sequence[tuple[str, ...]] = ()


def numpy_code(
    graph: Graph, *, header: str = "", capture: tuple[str, ...] = (), passes: Sequence[Pass] = PASSES
) -> NumpyCode:
    """`numpy_source`, and what to know of it."""
    from ..plan.lower import lower, stepping

    lowered, captures = lower(graph, capture, passes)
    decoding = None if capture else stepping(graph, lowered, passes)
    if decoding is not None and decoding.step is not None and decoding.prepare is not None:
        program = Program(lowered, captures.marks, (decoding.prepare, decoding.step))
        with suppress(CannotEmit):  # a model whose steps cannot be written has none
            return NumpyEmitter(program, captures, decoding).code(header, weights_together(decoding.step))
    return NumpyEmitter(Program(lowered, captures.marks), captures).code(header)
