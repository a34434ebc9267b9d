"""NumPy source: one function per block, model and repeat body, over one dictionary of weights; inference only."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass

from ...compiler.base.names import DECODING
from ...compiler.decoding import Decoding
from ...compiler.decoding.join_maps import weights_together
from ...compiler.graph.nodes import Graph
from ...compiler.pipeline import PASSES, Pass
from ..emit.border import annotation, behind_default, output_names, without_batch
from ..emit.decoder import DOCS, asked, configuration, decoder_functions
from ..emit.file import Emitter
from ..plan.capture import Captures
from ..plan.lower import lower, stepping
from ..plan.plan import ModelPlan, Plan
from ..text.carried import NUMPY
from ..text.expressions import number
from ..text.names import AT, DTYPE, FILE, FOUND, Namer, plain
from ..text.values import CannotEmit
from ..text.writing import wrap
from .body import NumpyBody
from .ops import OPS, POINTS


class NumpyEmitter(Emitter):
    """The whole file of functions."""

    ops = OPS
    points = POINTS

    def __init__(
        self, program: ModelPlan, captures: Captures, decoding: Decoding | None = None, *, checked: bool = True
    ) -> None:
        super().__init__(program, captures, decoding, checked=checked)
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
            args.append(f"{val.name}: {kind} | None = None" if omissible else f"{val.name}: {kind}")
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
        elif plan.graph.stepped is None:
            lines += self.words(plan)
        if plan.on_path and plan.is_root:
            inner.append(f"{FOUND}: dict[str, Array] = {{}}")
        done = [*body.text.lines, *body.text.end]
        if not any(re.search(r"\bbatch\b", line.split("  #")[0]) for line in done):
            inner = without_batch(inner)
        sizes = [f"{name} = {code.text}" for name, code in body.derivations.items()]
        return "\n".join([*lines, *(f"    {line}" for line in [*sizes, *inner, *done] or ["pass"])])

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


def _snake(name: str) -> str:
    """`EncodeLayers` -> `encode_layers`."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower()


def numpy_source(
    graph: Graph,
    *,
    header: str = "",
    capture: tuple[str, ...] = (),
    passes: Sequence[Pass] = PASSES,
    checked: bool = True,
) -> str:
    """A model (or a block on its own) as functions of NumPy arrays: a file that depends on NumPy and jaxtyping alone.

    header: lines put first, as comments. capture: paths of values that the call returns besides its result.
    passes: the rewrites to do. checked: whether inputs are checked in full (else by one short function of the file).
    Raises CaptureError (a ValueError) for a path that names no value, CannotEmit for a graph beyond this backend.
    """
    return numpy_code(graph, header=header, capture=capture, passes=passes, checked=checked).source


@dataclass(frozen=True, slots=True)
class NumpyCode:
    """A file. together: the paths of the weights that the products of steps read together.

    names: what it calls the functions of decoding, and the parameter `dtype`: a name of the spec may be the same.
    no_step: why the model does not decode, where a part of it is called as such a function.
    """

    source: str
    names: Mapping[str, str]
    together: Sequence[tuple[str, ...]] = ()
    no_step: str = ""


def numpy_code(
    graph: Graph,
    *,
    header: str = "",
    capture: tuple[str, ...] = (),
    passes: Sequence[Pass] = PASSES,
    checked: bool = True,
) -> NumpyCode:
    """`numpy_source`, and what to know of it."""
    lowered, captures = lower(graph, capture, passes)
    decoding = None if capture else stepping(graph, lowered, passes)
    if decoding is not None and decoding.step is not None and decoding.prepare is not None:
        program = ModelPlan(lowered, captures.marks, (decoding.prepare, decoding.step))
        with suppress(CannotEmit):  # a model whose steps cannot be written has none
            return NumpyEmitter(program, captures, decoding, checked=checked).code(
                header, weights_together(decoding.step)
            )
    return NumpyEmitter(ModelPlan(lowered, captures.marks), captures, checked=checked).code(header)
