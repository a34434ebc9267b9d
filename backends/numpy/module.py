"""NumPy source: one function per block, model and repeat body, over one dictionary of weights; inference only."""

from __future__ import annotations

from dataclasses import replace
from typing import Unpack

from ...compiler.decoding import Decoding
from ...compiler.decoding.steps.join_maps import weights_together
from ...compiler.graph.nodes import Graph
from ..emit.decoder import DOCS, configuration, decoder_functions, decodes, sizes_of_model, taken
from ..emit.file import Emitter, Writing, written
from ..files.code import Library, ModelCode
from ..plan.capture import Captures
from ..plan.plan import ModelPlan, Plan
from ..text.carried import NUMPY
from ..text.expressions import literal
from ..text.names import AT, DTYPE, FILE, FOUND, Namer, plain, snake
from ..text.writing import within, wrap
from .body import NumpyBody
from .ops import OPS, POINTS


class NumpyEmitter(Emitter):
    """All functions of a model, and of its decoding."""

    library = Library("attnc_runtime_numpy", NUMPY, frozenset({"Array"}), frozenset({"check"}), ("numpy", "jaxtyping"))
    array = "Array"
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
                self.functions[plan.key] = names.give(snake(plan.name))
        self.globals = frozenset(map(plain, (*self.functions.values(), *(plan.results for plan in program.plans))))

    def body(self, plan: Plan) -> NumpyBody:
        return NumpyBody(self, plan)

    def decodes(self, plan: Plan) -> bool:
        return plan not in self.program.forward

    def definition(self, plan: Plan) -> list[str]:
        args = []
        owner = self.owns(plan.graph)
        if owner or plan.is_root:
            args.append("w: dict[str, Array]")
        if (owner or plan.on_path) and plan.placed:
            args.append(f"{AT}: str")
        args += self.inputs_of(plan)
        more = [f"{name}: {kind}" + (f" = {value}" if value else "") for name, kind, value in self.sizes_of(plan)]
        more += self.passed_to(plan)
        if self.classes[plan.key].dtype:
            more.append(f"{DTYPE}: np.dtype[Any]" + (' = np.dtype("float32")' if plan.is_root else ""))
        if plan.on_path and not plan.is_root:
            more.append(f"{FOUND}: dict[str, Array]")
        args += ["*", *more] if more else []
        lines = wrap(f"def {self.functions[plan.key]}({', '.join(args)}) -> {self.result_type(plan)}:")
        if plan.is_root and plan.owner is not None:
            lines += [f"    {line}" for line in DOCS[plan.method]]
        elif plan.graph.stepped is None:
            lines += self.words(plan)
        return ["\n".join([*lines, *within(self.statements(plan))])]

    def written(self, header: str) -> ModelCode:
        made = super().written(header)
        step = None if self.decoding is None else self.decoding.step
        return made if step is None else replace(made, together=weights_together(step))

    def around_steps(self) -> list[str]:
        assert self.decoding is not None
        sizes = [f"{plain(name)}={literal(size).text}" for name, size in sizes_of_model(self).items()]
        told = configuration(self, f"dict({', '.join(sizes)})", taken(self))
        texts = ["\n".join(["def configuration() -> Configuration:", *told])]
        if self.generates:
            told = wrap(f"    return {decodes(self.decoding, self).named}")
            texts.append("\n".join(["def decodes() -> Decodes:", *told]))
            texts += decoder_functions(self, "w", "dict[str, Array]", "decodes()")
        return texts


def numpy_code(graph: Graph, **asked: Unpack[Writing]) -> ModelCode:
    """A model (or a block on its own) as functions of NumPy arrays, and its decoding, as they go into files.

    asked: see `Writing`. Raises what `written` raises.
    """
    return written(NumpyEmitter, graph, **asked)
