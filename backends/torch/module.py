"""PyTorch source: one `nn.Module` class per block, model and repeat body, a function where nothing is kept; state_dict
keys are the weight paths.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Unpack

from ...compiler.decoding import Decoding
from ...compiler.decoding.steps.join_maps import maps_of_step
from ...compiler.graph.nodes import Apply, Graph, Parameter, Repeat, children
from ...compiler.rewrites.tools.same import draws
from ..emit.decoder import DOCS, configuration, decoder_functions, decodes, sizes_of_model, taken
from ..emit.file import Emitter, Writing, written
from ..files.code import Library, ModelCode
from ..plan.capture import Captures
from ..plan.plan import ClassPlan, ModelPlan, Plan
from ..text.carried import TORCH
from ..text.expressions import Attribute, Code
from ..text.names import AT, DEVICE, DTYPE, FILE, FOUND, LOCAL, Namer, plain, snake
from ..text.scopes import renamed
from ..text.statements import Do
from ..text.writing import WIDTH, within, wrap
from .body import TorchBody
from .ops import OPS, POINTS


class TorchEmitter(Emitter):
    """All modules of a model, its functions, and those of its decoding."""

    library = Library("attnc_runtime_torch", TORCH, frozenset(), frozenset({"check"}), ("torch", "jaxtyping"))
    array = "Tensor"
    not_by_name = frozenset({"self"})  # `nn.Module.__call__` has an argument of that name
    mode = "torch.inference_mode()"  # in which steps run
    ops = OPS
    points = POINTS

    def __init__(
        self, program: ModelPlan, captures: Captures, decoding: Decoding | None = None, *, checked: bool = True
    ) -> None:
        super().__init__(program, captures, decoding, checked=checked)
        self._constructors: dict[str, ClassPlan] = {}
        self._decodes = Code("")  # what `generate` must know of the model
        self._taken = Code("")  # what its steps take
        classes = frozenset(plain(name) for plan in program.plans for name in (plan.name, plan.results))
        names = Namer(classes, FILE)
        self.over_nothing = _over_nothing(program)
        for plan in program.plans:
            if plan.is_step or plan in self.over_nothing:
                self.functions[plan.key] = plan.method if plan.is_root else names.give(snake(plan.name))
        made = (self.functions[plan.key] for plan in self.over_nothing if not plan.is_step)
        self.globals = classes.union(map(plain, made))

    def body(self, plan: Plan) -> TorchBody:
        return TorchBody(self, plan)

    def _body(self, plan: Plan) -> TorchBody:
        body = self.bodies[plan.key]
        assert isinstance(body, TorchBody)
        return body

    def lower(self) -> None:
        super().lower()
        if self.generates and self.decoding is not None:
            self._decodes = decodes(self.decoding, self)
        if self.program.steps:
            self._taken = taken(self)
        for plan in self.program.plans:
            if self.is_class(plan):
                self.constructor(plan)
        root = self.program.plan(self.program.root)
        if self.program.steps and self._kept(root):
            kept = ", ".join(self._kept(root))
            kept = f"({kept},)" if "," not in kept else kept if len(plain(kept)) < WIDTH - 24 else f"({kept})"
            self._body(root).built.insert(0, Do(Code(kept), (Attribute(self._body(root).sizes_attribute),)))

    def constructor(self, plan: Plan) -> ClassPlan:
        if plan in self.over_nothing:
            return self.classes[plan.key]
        if plan.key not in self._constructors:  # a step may call a class that the model does not
            methods = [self._body(other) for other in self._methods(plan)]
            more = [self._decodes, self._taken] if plan.is_root else []
            self._constructors[plan.key] = self._body(plan).construct(methods, more)
        return self._constructors[plan.key]

    def is_class(self, plan: Plan) -> bool:
        """Whether it is a module, of which others may be methods."""
        return plan.home is plan and plan.graph.kind != "op" and plan not in self.over_nothing

    def _methods(self, plan: Plan) -> list[Plan]:
        """Those of a class besides `forward`, and the functions of decoding over it."""
        plans = self.program.plans
        return [other for other in plans if other.home is plan and other is not plan and other not in self.over_nothing]

    def decodes(self, plan: Plan) -> bool:
        return plan.is_step

    def definition(self, plan: Plan) -> list[str]:
        if self.is_class(plan):
            return ["\n".join(self._class(plan))]
        return [_over_net(self._function(plan))] if plan.key in self.functions else []

    def _class(self, plan: Plan) -> list[str]:
        body = self._body(plan)
        lines = [f"class {plan.name}(nn.Module):"]
        lines += [*words, ""] if (words := self.words(plan)) else []
        params = sorted(self.sizes_of(plan), key=lambda item: item[2] is not None)
        if params or body.constructor:
            shown = [
                "self",
                *(["*"] if params else []),
                *(f"{n}: {t} = {v}" if v is not None else f"{n}: {t}" for n, t, v in params),
            ]
            lines += wrap(f"    def __init__({', '.join(shown)}) -> None:")
            names = (*(name for name, _, _ in params), *self.functions.values())
            hidden = any(plain(name) == "super" for name in names)  # under another name it does not know its class
            lines.append("        nn.Module.__init__(self)" if hidden else "        super().__init__()")
            lines += [*within(within(body.constructor)), ""]
        methods = (method for method in (plan, *self._methods(plan)) if not method.is_step)
        for place, method in enumerate(methods):
            lines += [""] if place else []
            lines += within(self._function(method))
        return lines

    def _function(self, plan: Plan) -> list[str]:
        """A method, or a function; the `self` of one of decoding is no such name yet."""
        made, over_nothing = self.classes[plan.key], plan in self.over_nothing
        more = [f"{name}: {kind}" for name, kind, _ in self.sizes_of(plan)] if over_nothing else []
        more += self.passed_to(plan)
        more += [f"{DEVICE}: torch.device"] if made.device else []
        more += [f"{DTYPE}: torch.dtype"] if made.dtype else []
        if plan.on_path:
            more += [f"{AT}: str"] if plan.placed else []
            more += [] if plan.is_root else [f"{FOUND}: dict[str, Tensor]"]
        of = [] if over_nothing else [f"self: {plan.home.name}"] if plan.is_step else ["self"]
        args = [*of, *self.inputs_of(plan), *(["*", *more] if more else [])]
        name = self.functions.get(plan.key, plan.method)
        mark = LOCAL if plan.caller is not None else ""  # called as a model of the spec is
        lines = [f"@{self.mode}"] if plan.is_root and plan.is_step else []
        width = WIDTH - self._body(plan).margin + 4
        lines += wrap(f"def {mark}{name}({', '.join(args)}) -> {self.result_type(plan)}:", "", width)
        lines += [f"    {line}" for line in DOCS[plan.method]] if plan.is_root and plan.is_step else []
        lines += self.words(plan) if over_nothing and not plan.is_step else []
        return [*lines, *within(self.statements(plan))]

    def around_steps(self) -> list[str]:
        root = self.program.plan(self.program.root)
        assert self.decoding is not None
        kind = root.name
        names = " ".join(map(plain, self._kept(root)))
        sizes = f'dict(zip("{names}".split(), {self._body(root).sizes_attribute}, strict=True))'
        head = [f"def configuration(self: {kind}) -> Configuration:"]
        texts = [_over_net([*head, *configuration(self, sizes if names else "{}", self._taken)])]
        if self.generates:
            told = wrap(f"    return {self._decodes.named}")
            texts.append(_over_net([f"def decodes(self: {kind}) -> Decodes:", *told]))
            texts += decoder_functions(self, "net", kind, "decodes(net)")
        told = wrap(f"    lay_out(net, {self._side_by_side()}, undo)")
        says = '    """Puts weights where steps of few rows read them fastest, on a CPU: see `lay_out`."""'
        head = wrap(f"def lay_out_for_decoding(net: {kind}, undo: bool = False) -> None:")
        return [*texts, "\n".join([*head, says, *told]), *self._export(kind)]

    def _kept(self, root: Plan) -> list[str]:
        """The parameters of a model that its caches are told apart by."""
        params = {name for name, _, _ in self.sizes_of(root)}
        return [name for name in sizes_of_model(self) if name in params]

    def _export(self, kind: str) -> list[str]:
        """The function that gives the two as programs, where a step takes one input of items."""
        assert self.decoding is not None and self.decoding.step is not None
        if len(self.decoding.step.inputs) > 1:
            return []
        programs = "tuple[torch.export.ExportedProgram, torch.export.ExportedProgram]"
        head = f"def export_decoding(net: {kind}, items: Tensor, room: int, **inputs: Tensor) -> {programs}:"
        says = '    """`prepare` and `step` as programs of `torch.export`: see `exported`."""'
        return ["\n".join([*wrap(head), says, "    return exported(net, prepare, step, items, room, inputs)"])]

    def _side_by_side(self) -> str:
        """Which maps a step does as one, of each class."""
        entries = []
        for plan in filter(self.is_class, self.program.plans):
            found: list[tuple[str, ...]] = []
            for method in self._methods(plan):
                for group in maps_of_step(method.graph):
                    names = [node.name for node in group if node.name]
                    if 1 < len(names) == len(group) and len({*names}.union(*found)) == len(names) + sum(
                        map(len, found)
                    ):
                        found.append(tuple(names))
            if found:
                quoted = (", ".join(f'"{name}"' for name in names) for names in found)
                entries.append(f"{plan.name}: [{', '.join(f'({names})' for names in quoted)}]")
        return f"{{{', '.join(entries)}}}"


def _over_nothing(program: ModelPlan) -> frozenset[Plan]:
    """The blocks and passes that need no module: nothing in them has weights, or asks whether the model is trained."""
    found = set[Plan]()
    for plan in program.plans:  # callees before callers
        own = any(
            isinstance(node, Parameter) or (isinstance(node, Apply) and _is_kept(node)) for node in plan.graph.nodes
        )
        inner = {program.plan(child) for node in plan.graph.nodes for child in children(node) if child.kind != "op"}
        if plan.graph.kind in ("block", "repeat") and not (own or plan.is_root) and inner <= found:
            found.add(plan)
    for plan in program.plans:
        for node in plan.graph.nodes:
            if isinstance(node, Repeat) and program.has_list(node):  # each of its passes is a module
                found -= {program.plan(graph) for body in node.bodies for graph in (body, program.homes.of(body))}
    return frozenset(found)


def _is_kept(node: Apply) -> bool:
    return bool(node.weights) or draws(node)


def _over_net(lines: Sequence[str]) -> str:
    """A function of decoding: what is `self` in a method is the argument `net`."""
    return renamed("\n".join(lines), "self", "net")


def torch_code(graph: Graph, **asked: Unpack[Writing]) -> ModelCode:
    """The PyTorch modules of a model (or of a block alone), and its decoding, as they go into files.

    asked: see `Writing`. Raises what `written` raises.
    """
    return written(TorchEmitter, graph, **asked)
