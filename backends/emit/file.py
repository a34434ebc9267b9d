"""One generated file: its bodies are emitted until no class learns anything new from another."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import ClassVar

from ...compiler.decoding import Decoding
from ...compiler.graph.nodes import Call, Graph, Repeat, Scan, owns
from ...compiler.sizes.axes import Axis
from ..plan.capture import Captures
from ..plan.plan import ModelPlan, Plan
from ..text.carried import used_helpers
from ..text.docstrings import docstring, sentences
from ..text.expressions import Code
from ..text.names import FOUND
from ..text.spelling import Spelling
from ..text.values import FULL, SOME
from .body import CodeBody
from .layout import KeptLayout, plan_axes


class Emitter(ABC):
    """The whole file. Subclasses: TorchEmitter, NumpyEmitter."""

    not_by_name: ClassVar[frozenset[str]] = frozenset()  # what the library lets no model be given by name

    def __init__(
        self, program: ModelPlan, captures: Captures, decoding: Decoding | None = None, *, checked: bool = True
    ) -> None:
        self.program, self.captures, self.decoding = program, captures, decoding
        self.checked = checked  # whether a model's inputs are checked in full
        self.globals: frozenset[str] = frozenset()  # names of the file's own functions and classes: no variable's
        self.bodies: dict[str, CodeBody] = {}
        self.helpers: dict[str, None] = {}
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

    def spelled(self, wanted: set[str], helpers: tuple[str, ...], written: list[str], asked: list[str]) -> Spelling:
        """The text of the file: the wanted helpers, what is written for the spec, and the names of both."""
        foreign = {name: target for target, name in self.imports.items()}
        return Spelling(used_helpers(helpers, wanted), written, asked, foreign)

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
        self.helpers["captured"] = None
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

    def settle(self) -> None:
        """Emits every class, callers first, until their states stand still."""
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
            self.helpers.clear()
            for plan in (*classes, *methods, *reversed(steps)):
                if plan.graph.kind != "op":
                    self.emit(plan)
            if [plan.state() for plan in self.program.plans] == before:
                return
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


def _place_lowered(graph: Graph, place: int, lowered: Graph) -> int:
    """The place of a call in the lowered graph: calls are never removed, so they keep their order."""
    before = sum(isinstance(node, Call | Repeat | Scan) for node in graph.nodes[:place])
    places = [i for i, node in enumerate(lowered.nodes) if isinstance(node, Call | Repeat | Scan)]
    return places[before]


def _is_preparation(plan: Plan) -> bool:
    return plan.graph.stepped is not None and plan.graph.stepped.method == "prepare"
