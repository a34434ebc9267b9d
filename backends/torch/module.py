"""PyTorch source: one `nn.Module` class per block, model and repeat body; state_dict keys are the weight paths."""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import suppress

from ...compiler.decoding import Decoding
from ...compiler.decoding.join_maps import maps_of_step
from ...compiler.graph.nodes import Graph
from ...compiler.pipeline import PASSES, Pass
from ..emit.border import annotation, behind_default, output_names, without_batch
from ..emit.decoder import DOCS, asked, configuration, decodes
from ..emit.file import Emitter
from ..plan.capture import Captures
from ..plan.lower import lower, stepping
from ..plan.plan import ModelPlan, Plan
from ..text.carried import TORCH
from ..text.docstrings import remarked
from ..text.expressions import number
from ..text.names import AT, DEVICE, DTYPE, FOUND, LOCAL, plain
from ..text.values import CannotEmit
from ..text.writing import wrap
from .body import TorchBody
from .ops import OPS, POINTS


class TorchEmitter(Emitter):
    """The whole file of modules."""

    not_by_name = frozenset({"self"})  # `nn.Module.__call__` has an argument of that name
    ops = OPS
    points = POINTS

    def __init__(
        self, program: ModelPlan, captures: Captures, decoding: Decoding | None = None, *, checked: bool = True
    ) -> None:
        super().__init__(program, captures, decoding, checked=checked)
        self.globals = frozenset(plain(name) for plan in program.plans for name in (plan.name, plan.results))

    def body(self, plan: Plan) -> TorchBody:
        return TorchBody(self, plan)

    def source(self, header: str) -> str:
        self.settle()
        texts: list[str] = []
        results: list[str] = []
        root = self.program.plan(self.program.root)
        for plan in (*(plan for plan in self.program.plans if plan is not root), root):  # the model is the last class
            if plan.graph.kind == "op":
                continue
            body = self.bodies[plan.key]
            assert isinstance(body, TorchBody)
            if plan.graph.kind == "model" and len(plan.graph.outputs) > 1:
                results.append(self._results(plan, body))
            if plan.home is not plan:
                continue
            texts.append(self._class(plan, body))
        wanted = set(self.helpers) - {"WithSteps" if self._generates else "Decoder"}
        names = self.spelled(wanted, TORCH, [*results, *texts], asked(self.decoding, self) if self._generates else [])
        imports = names.standard
        imports += [""] if imports else []
        imports += [names.module("torch"), *names.modules("F")]
        imports += [*names.parts("jaxtyping", "torch", "torch.utils.checkpoint"), *names.own]
        code = "\n\n\n".join(names.texts)
        head = "".join(f"# {line}\n" for line in header.splitlines())
        return f"{head}{chr(10).join(imports)}\n\n\n{code}\n"

    @property
    def _generates(self) -> bool:
        return self.decoding is not None and self.decoding.prompt is not None

    def _results(self, plan: Plan, body: TorchBody) -> str:
        lines = [f"class {plan.results}(NamedTuple):"]
        for name, val in zip(output_names(plan), body.returned, strict=True):
            lines.append(f"    {name}: {annotation(body, val, 'Tensor')}")
        return "\n".join(lines)

    def _class(self, plan: Plan, body: TorchBody) -> str:
        generates = plan.is_root and self._generates
        adds = "Decoder, " if generates else "WithSteps, " if plan.is_root and self.program.steps else ""
        lines = [f"class {plan.name}({adds}nn.Module):"]
        lines += [*words, ""] if (words := self.words(plan)) else []
        lines += self._side_by_side(plan)
        params = self._parameters(plan, body)
        setup = [*(f"{name} = {code.text}" for name, code in body.derivations.items())]
        setup += [*(f"self.{attr} = {name}" for attr, name in body.stored.items()), *body.init]
        if plan.is_root and self.program.steps:
            setup.insert(0, f"{body.configuration()} = {configuration(self, [name for name, _, _ in params])}")
        if params or setup:
            shown = [
                "self",
                *(["*"] if params else []),
                *(f"{n}: {t} = {v}" if v is not None else f"{n}: {t}" for n, t, v in params),
            ]
            lines += wrap(f"    def __init__({', '.join(shown)}) -> None:")
            hidden = any(plain(name) == "super" for name, _, _ in params)
            lines.append("        nn.Module.__init__(self)" if hidden else "        super().__init__()")
            for text in setup:
                lines += remarked(f"        {text}", body.remarks.get(text, ""))
            lines.append("")
        if generates:
            assert self.decoding is not None
            told = wrap(f"        return {decodes(self.decoding, self)}")
            lines += ["    @property", "    def decodes(self) -> Decodes:", *told, ""]
        lines += self._forward(plan, body)
        for other in self.program.plans:
            if other is not plan and other.home is plan:
                method = self.bodies[other.key]
                assert isinstance(method, TorchBody)
                lines += ["", *self._forward(other, method)]
        return "\n".join(lines)

    def _side_by_side(self, plan: Plan) -> list[str]:
        """The class attribute that `lay_out_for_decoding` reads: which maps a step does as one."""
        found: list[list[str]] = []
        for method in (one for one in self.program.plans if one.home is plan and one is not plan):
            for group in maps_of_step(method.graph):
                names = [node.name for node in group if node.name]
                if 1 < len(names) == len(group) and len({*names}.union(*found)) == len(names) + sum(map(len, found)):
                    found.append(names)
        return [*wrap(f'    _side_by_side = "{", ".join(map(" ".join, found))}"'), ""] if found else []

    def _parameters(self, plan: Plan, body: TorchBody) -> list[tuple[str, str, str | None]]:
        found: list[tuple[str, str, str | None]] = []
        for axis in plan.axes:
            if axis in plan.sizes:
                found.append((body.scope.axes[axis], int.__name__, str(axis.extent)))
            if axis in plan.sizes_bound:
                found.append((body.scope.bounds[axis], int.__name__, str(axis.bound)))
        for const in plan.consts:
            if plan.built_with(const):
                default = None if const.value is None else number(const.value).text
                found.append((body.scope.consts[const], plan.annotation(const), default))
        return sorted(found, key=lambda item: item[2] is not None)

    def _forward(self, plan: Plan, body: TorchBody) -> list[str]:
        args = ["self"]
        for val, item in zip(body.inputs, plan.graph.inputs, strict=True):
            kind = annotation(body, val, "Tensor")
            omissible = item.default is not None or item in behind_default(plan.graph)
            stepped = plan.graph.stepped
            kind += " | None" if stepped is not None and item.value.id in stepped.absent else ""
            args.append(f"{val.name}: {kind} | None = None" if omissible else f"{val.name}: {kind}")
        more = []
        more += [f"{body.scope.axes[axis]}: int" for axis in plan.extents]
        more += [f"{body.scope.consts[const]}: {plan.annotation(const)}" for const in plan.passed]
        taken = {word.partition(":")[0] for word in more}
        more += [f"{name}: int = 0" for name in plan.unused if name not in taken]  # other callers do not give them
        more += [f"{DEVICE}: torch.device"] if plan.wants_device else []
        more += [f"{DTYPE}: torch.dtype"] if plan.wants_dtype else []
        if plan.on_path:
            more += [f"{AT}: str"] if plan.placed else []
            more += [] if plan.is_root else [f"{FOUND}: dict[str, Tensor]"]
        if plan.cached and not (plan.is_root and plan.method == "prepare"):
            args.append("cache: Cache")
        if plan.is_root and plan.method == "step":
            args.append("last: int = 0")
        args += ["*", *more] if more else []
        result = self._result_type(plan, body)
        lines = ["    @torch.inference_mode()"] if plan.is_root and plan.owner is not None else []
        mark = LOCAL if plan.caller is not None else ""  # called as a model of the spec is
        lines += wrap(f"    def {mark}{plan.method}({', '.join(args)}) -> {result}:")
        if plan.is_root and plan.owner is not None:
            lines += [f"        {line}" for line in DOCS[plan.method]]
        inner = [*body.checks]
        if plan.on_path and plan.is_root:
            inner.append(f"{FOUND}: dict[str, Tensor] = {{}}")
        done = [*body.text.lines, *body.text.end]
        if inner and not any(re.search(r"\bbatch\b", text.split("  #")[0]) for text in done):
            inner = without_batch(inner)
            if plan.is_root and plan.method == "step":  # `generate` has looked at what it gives
                inner = ["if not is_trusted(cache):", *(f"    {text}" for text in inner)]
        return [*lines, *(f"        {text}" for text in [*inner, *done] or ["pass"])]

    def _result_type(self, plan: Plan, body: TorchBody) -> str:
        kinds = [annotation(body, val, "Tensor") for val in body.returned]
        if not kinds:
            kind = "Cache" if plan.is_root else "None"
        elif len(kinds) == 1:
            kind = kinds[0]
        elif plan.graph.kind == "model":
            kind = plan.results
        else:
            kind = f"tuple[{', '.join(kinds)}]"
        return f"tuple[{kind}, dict[str, Captured]]" if plan.is_root and self.captures.wanted else kind


def torch_source(
    graph: Graph,
    *,
    header: str = "",
    capture: tuple[str, ...] = (),
    passes: Sequence[Pass] = PASSES,
    checked: bool = True,
) -> str:
    """The PyTorch module of a model (or of a block alone): a file that depends on torch and jaxtyping alone.

    header: lines put first, as comments. capture: paths of values that the call returns besides its result.
    passes: the rewrites to do. checked: whether inputs are checked in full (else by one short function of the file).
    Raises CaptureError (a ValueError) for a path that names no value, CannotEmit for a graph beyond this backend.
    """
    lowered, captures = lower(graph, capture, passes)
    decoding = None if capture else stepping(graph, lowered, passes)
    if decoding is not None and decoding.step is not None and decoding.prepare is not None:
        program = ModelPlan(lowered, captures.marks, (decoding.prepare, decoding.step))
        with suppress(CannotEmit):  # a model whose steps cannot be written has none
            return TorchEmitter(program, captures, decoding, checked=checked).source(header)
    return TorchEmitter(ModelPlan(lowered, captures.marks), captures, checked=checked).source(header)
