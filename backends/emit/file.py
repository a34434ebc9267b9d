"""What is written for a model: its bodies are lowered until no class learns anything new from another, then written."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from typing import ClassVar

from ...compiler.decoding import Decoding
from ...compiler.graph.nodes import Call, Graph, Repeat, Scan, owns
from ...compiler.pipeline import Pass
from ...compiler.sizes.axes import Axis
from ..files.code import Library, ModelCode
from ..files.opening import about
from ..plan.capture import Captures
from ..plan.lower import lower, stepping
from ..plan.plan import ModelPlan, Plan
from ..text.docstrings import docstring, sentences
from ..text.expressions import Code, number
from ..text.names import FOUND
from ..text.values import FULL, SOME, CannotEmit
from ..text.writing import apart
from .body import CodeBody
from .border import annotation, behind_default, output_names, without_batch
from .layout import KeptLayout, plan_axes


class Emitter(ABC):
    """All that is written for a model. Subclasses: TorchEmitter, NumpyEmitter."""

    library: ClassVar[Library]
    array: ClassVar[str]  # what annotations call an array
    not_by_name: ClassVar[frozenset[str]] = frozenset()  # what the library lets no model be given by name

    def __init__(
        self, program: ModelPlan, captures: Captures, decoding: Decoding | None = None, *, checked: bool = True
    ) -> None:
        self.program, self.captures, self.decoding = program, captures, decoding
        self.checked = checked  # whether a model's inputs are checked in full
        self.functions: dict[str, str] = {}  # what each function is called, by the key of its plan
        self.globals: frozenset[str] = frozenset()  # names of the file's own functions and classes: no variable's
        self.bodies: dict[str, CodeBody] = {}
        self.imports: dict[str, str] = {}  # `module:function` of an op of the user's own -> what the file calls it
        self.asked: set[str] = set()  # widths whose extents a step wants to know
        self._owners: dict[Graph, bool] = {}
        self.kept: dict[tuple[str, str], KeptLayout] = {}  # how lies what `prepare` keeps, by class and name

    def owns(self, graph: Graph) -> bool:
        """Whether the graph or anything nested in it has weights."""
        return owns(graph, self._owners)

    def foreign(self, graph: Graph) -> str:
        """How the file calls an op of the user's own, `module:function`."""
        if graph.target not in self.imports:
            name = f"op_{graph.name}"
            self.imports[graph.target] = f"{name}_{len(self.imports)}" if name in self.imports.values() else name
        return self.imports[graph.target]

    def words(self, plan: Plan) -> list[str]:
        """The docstring of what a class or function does: the words of the spec, and what is proved of a model."""
        graph = plan.graph
        proved = [_proved(graph)] if plan.is_root else []
        return docstring(sentences(graph.doc, *proved), "    ")

    def written(self, header: str) -> ModelCode:
        """All classes and functions: those of the model, which comes last, and those of its decoding.

        header: where the model comes from; then, behind an empty line, what the comment at the head of its spec says.
        """
        settled = self.settle()
        parts: dict[bool, list[str]] = {False: [], True: []}
        for plan in self._in_order():
            if plan.graph.kind == "model" and len(plan.graph.outputs) > 1:
                parts[self.decodes(plan)].insert(0, self._results(plan))
        for plan in self._in_order():
            parts[self.decodes(plan)] += self.definition(plan)
        model, decoding = parts[False], parts[True]
        if self.program.steps:
            decoding += self.around_steps()
        assert [plan.state() for plan in self.program.plans] == settled, "what is being written has changed"
        foreign = {name: target for target, name in self.imports.items()}
        name = self.program.root.name
        source, _, words = header.partition("\n\n")
        told = about(words, self.program.root, self.called)
        return ModelCode(self.library, name, source, told, model, decoding, foreign, self.asked_by_name())

    def called(self, graph: Graph) -> str:
        """The class or function that a graph became."""
        plan = self.program.plan(graph)
        return self.functions.get(plan.key, plan.name)

    def _in_order(self) -> Iterator[Plan]:
        root = self.program.plan(self.program.root)
        plans = (*(plan for plan in self.program.plans if plan is not root), root)
        return (plan for plan in plans if plan.graph.kind != "op")

    @property
    def generates(self) -> bool:
        return self.decoding is not None and self.decoding.prompt is not None

    @abstractmethod
    def decodes(self, plan: Plan) -> bool:
        """Whether it stands in the file of decoding."""

    @abstractmethod
    def definition(self, plan: Plan) -> list[str]:
        """The text of a class or function, unless it is a part of another."""

    @abstractmethod
    def around_steps(self) -> list[str]:
        """What a model that decodes has besides its steps."""

    def asked_by_name(self) -> list[str]:
        """What is given by name to `generate`: the inputs of `prepare`."""
        if not self.generates or self.decoding is None or self.decoding.prepare is None:
            return []
        return [val.name for val in self.bodies[self.program.plan(self.decoding.prepare).key].inputs]

    def _results(self, plan: Plan) -> str:
        """The class of what a model with several results returns."""
        body = self.bodies[plan.key]
        lines = [f"class {plan.results}(NamedTuple):"]
        for name, val in zip(output_names(plan), body.returned, strict=True):
            lines.append(f"    {name}: {annotation(body, val, self.array)}")
        return "\n".join(lines)

    def inputs_of(self, plan: Plan) -> list[str]:
        """The arguments that are arrays, and the cache of a step."""
        body, found = self.bodies[plan.key], []
        for val, item in zip(body.inputs, plan.graph.inputs, strict=True):
            kind = annotation(body, val, self.array)
            omissible = item.default is not None or item in behind_default(plan.graph)
            stepped = plan.graph.stepped
            kind += " | None" if stepped is not None and item.value.id in stepped.absent else ""
            if val.number and item.default is not None:
                found.append(f"{val.name}: {kind} = {body.static(item.default).text}")
                continue
            found.append(f"{val.name}: {kind} | None = None" if omissible else f"{val.name}: {kind}")
        if plan.cached and not (plan.is_root and plan.method == "prepare"):
            found.append("cache: Cache")
        return [*found, "last: int = 0"] if plan.is_root and plan.method == "step" else found

    def sizes_of(self, plan: Plan) -> list[tuple[str, str, str | None]]:
        """What a class is built with, or a function is given by name: sizes and numbers, each with its default."""
        body, found = self.bodies[plan.key], list[tuple[str, str, str | None]]()
        for axis in plan.axes:
            if axis in plan.sizes:
                found.append((body.scope.axes[axis], int.__name__, str(axis.extent)))
            if axis in plan.sizes_bound:
                found.append((body.scope.bounds[axis], int.__name__, str(axis.bound)))
        for const in plan.consts:
            if plan.built_with(const):
                default = None if const.value is None else number(const.value).text
                found.append((body.scope.consts[const], plan.annotation(const), default))
        return found

    def passed_to(self, plan: Plan) -> list[str]:
        """What is known at each call alone."""
        scope = self.bodies[plan.key].scope
        found = [f"{scope.axes[axis]}: int" for axis in plan.extents]
        return found + [f"{scope.consts[const]}: {plan.annotation(const)}" for const in plan.passed]

    def statements(self, plan: Plan, before: Sequence[str] = ()) -> list[str]:
        """The lines of a function, `before` first; only what is read of the batch is kept."""
        body = self.bodies[plan.key]
        inner = [*body.checks]
        if plan.on_path and plan.is_root:
            inner.append(f"{FOUND}: dict[str, {self.array}] = {{}}")
        lines = [*body.text.lines, *body.text.end]
        if not any(re.search(r"\bbatch\b", text.split("  #")[0]) for text in lines):
            inner = self.guarded(plan, without_batch(inner))
        return apart([*before, *inner, *lines]) or ["pass"]

    def guarded(self, plan: Plan, checks: list[str]) -> list[str]:
        """The checks of a model's inputs as they stand in its function."""
        return checks

    def result_type(self, plan: Plan) -> str:
        body = self.bodies[plan.key]
        kinds = [annotation(body, val, self.array) for val in body.returned]
        if not kinds:
            kind = "Cache" if plan.is_root else "None"
        elif len(kinds) == 1:
            kind = kinds[0]
        elif plan.graph.kind == "model":
            kind = plan.results
        else:
            kind = f"tuple[{', '.join(kinds)}]"
        return f"tuple[{kind}, dict[str, Captured]]" if plan.is_root and self.captures.wanted else kind

    def captured(self, batch: Code) -> list[str]:
        """Entries of the dictionary that the root returns: for each path as the user wrote it, where it is recorded,
        all its dimensions, and those that it varies along.
        """
        lines = []
        for path, found in self.captures.wanted.items():
            leading: list[Axis] = []
            for graph, place in found.steps:
                plan, axes, lowered = self._recorded_in(graph)
                spread = self.bodies[plan.key].spreads.get(_place_lowered(graph, place, lowered), ())
                leading += [axes.get(axis, axis) for axis in spread]
            plan, axes, lowered = self._recorded_in(found.graph)
            layout = self.bodies[plan.key].recorded[self.program.canonical(lowered, found.value.id)]
            dims = [*leading, *(axes.get(axis, axis) for axis in layout)]
            names = tuple(axis.name for axis in dims)
            among = found.value.type
            kept = tuple(axis.name for axis in dims if axis in among.axes and axis not in among.broadcast_axes)
            lines.append(f'    "{path}": captured({FOUND}["{found.path}"], {batch.text}, {names!r}, {kept!r}),')
        return lines

    def _recorded_in(self, graph: Graph) -> tuple[Plan, Mapping[Axis, Axis], Graph]:
        """The class that a graph became, with what its axes are called there, and the graph as it was lowered."""
        lowered = self.captures.lowered[id(graph)]
        return self.program.plan(lowered), self.program.bindings[id(lowered)][0], lowered

    @abstractmethod
    def body(self, plan: Plan) -> CodeBody: ...

    def emit(self, plan: Plan) -> None:
        self.bodies[plan.key] = body = self.body(plan)  # while this is written, models that it calls move in
        body.emit()

    def knows(self, plan: Plan) -> bool:
        """Whether a class has been written once: what it returns is known."""
        return plan.key in self.bodies and None not in plan.outputs

    def settle(self) -> list[object]:
        """Lowers every class, callers first, until their states stand still; gives these."""
        for root in map(self.program.plan, (self.program.root, *self.program.steps)):
            for state, item in zip(root.inputs, root.graph.inputs, strict=True):
                state.leading = FULL
                if item.default is not None:
                    state.leading, state.broadcast = SOME, set(plan_axes(root, root.graph.inputs.index(item)))
        forward = self.program.forward
        homes = (plan for plan in reversed(forward) if plan.home is plan)
        classes = [plan for home in homes for plan in (home, *home.methods())]
        forms = (plan for plan in reversed(forward) if plan.owner is not None)
        methods = [plan for form in forms for plan in (form, *form.methods())]
        # What `prepare` keeps, and how it lies, is known before a step reads it.
        steps = sorted(self.program.plans[len(forward) :], key=_is_preparation)
        for _ in range(100):
            before = [plan.state() for plan in self.program.plans]
            for plan in (*classes, *methods, *reversed(steps)):
                if plan.graph.kind != "op":
                    self.emit(plan)
            if [plan.state() for plan in self.program.plans] == before:
                return before
        raise AssertionError("the layouts of the generated code do not settle")


def _proved(graph: Graph) -> str:
    """Along which axes the results are causal."""
    found: dict[tuple[str, ...], list[str]] = {}
    for output in graph.outputs:
        found.setdefault(tuple(axis.name for axis in output.causal), []).append(f"`{output.name}`")
    told = []
    for axes, names in found.items():
        along = f"ausal along {' and '.join(f'`{name}`' for name in axes)}, as attnc has proved."
        if axes:
            told.append(f"C{along}" if len(found) == 1 else f"{' and '.join(names)}: c{along}")
    return " ".join(told)


def written(
    emitter: type[Emitter], graph: Graph, header: str, capture: tuple[str, ...], passes: Sequence[Pass], checked: bool
) -> ModelCode:
    """What a backend writes for a model, with its steps if they can be written: see `torch_code`."""
    lowered, captures = lower(graph, capture, passes)
    decoding = None if capture else stepping(graph, lowered, passes)
    if decoding is not None and decoding.step is not None and decoding.prepare is not None:
        program = ModelPlan(lowered, captures.marks, (decoding.prepare, decoding.step))
        with suppress(CannotEmit):  # a model whose steps cannot be written has none
            return emitter(program, captures, decoding, checked=checked).written(header)
    return emitter(ModelPlan(lowered, captures.marks), captures, checked=checked).written(header)


def _place_lowered(graph: Graph, place: int, lowered: Graph) -> int:
    """The place of a call in the lowered graph: calls are never removed, so they keep their order."""
    before = sum(isinstance(node, Call | Repeat | Scan) for node in graph.nodes[:place])
    places = [i for i, node in enumerate(lowered.nodes) if isinstance(node, Call | Repeat | Scan)]
    return places[before]


def _is_preparation(plan: Plan) -> bool:
    return plan.graph.stepped is not None and plan.graph.stepped.method == "prepare"
