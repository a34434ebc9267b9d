"""What is written for a model: its bodies are lowered until no class is told anything new, then written."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from dataclasses import replace
from typing import ClassVar, TypedDict

from ...compiler.decoding import Decoding
from ...compiler.decoding.written import written_for
from ...compiler.graph.nodes import NESTS, Graph, owns
from ...compiler.pipeline import PASSES, Pass
from ...compiler.sizes.axes import Axis
from ..files.code import Library, ModelCode
from ..files.opening import about
from ..plan.capture import Captures
from ..plan.lower import lower, stepping
from ..plan.plan import ClassPlan, InputState, ModelPlan, Plan
from ..text.docstrings import docstring, sentences
from ..text.expressions import Code, call, literal
from ..text.names import FOUND
from ..text.values import FULL, SOME, CannotEmit
from ..text.writing import apart
from .body import CodeBody
from .border import annotation, behind_default, output_names
from .layout import KeptLayout, plan_axes


class Emitter(ABC):
    """All that is written for a model. Subclasses: TorchEmitter, NumpyEmitter."""

    library: ClassVar[Library]
    array: ClassVar[str]  # what annotations call an array
    not_by_name: ClassVar[frozenset[str]] = frozenset()  # what the library lets no model be given by name
    decoder: ClassVar[str] = "Decoder"  # what runs its steps

    def __init__(
        self, program: ModelPlan, captures: Captures, decoding: Decoding | None = None, *, checked: bool = True
    ) -> None:
        self.program, self.captures, self.decoding = program, captures, decoding
        self.checked = checked  # whether a model's inputs are checked in full
        self.functions: dict[str, str] = {}  # what each function is called, by the key of its plan
        self.over_nothing: Set[Plan] = frozenset()
        self.globals: frozenset[str] = frozenset()  # names of the file's own functions and classes: no variable's
        self.bodies: dict[str, CodeBody] = {}
        self.classes: dict[str, ClassPlan] = {}  # what was read off the bodies that are lowered
        self.inputs = {plan: [InputState() for _ in plan.graph.inputs] for plan in program.plans}
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
        self.lower()
        parts: dict[bool, list[str]] = {False: [], True: []}
        for plan in self._in_order():
            if plan.graph.kind == "model" and len(plan.graph.outputs) > 1:
                parts[self.decodes(plan)].insert(0, self._results(plan))
        for plan in self._in_order():
            parts[self.decodes(plan)] += self.definition(plan)
        model, decoding = parts[False], parts[True]
        if self.program.steps:
            decoding += self.around_steps()
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

    def over_rows(self) -> list[str]:
        """What `generate` must know of devices among which the rows of a batch are."""
        return []

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
                found.append(f"{val.name}: {kind} = {body.static(item.default).named}")
                continue
            found.append(f"{val.name}: {kind} | None = None" if omissible else f"{val.name}: {kind}")
        if plan.cached and not (plan.is_root and plan.method == "prepare"):
            found.append("cache: Cache")
        return [*found, "last: int = 0"] if plan.is_root and plan.method == "step" else found

    def sizes_of(self, plan: Plan) -> list[tuple[str, str, str | None]]:
        """What a class is built with, or a function is given by name: sizes and numbers; a model's have defaults."""
        scope, made, found = self.bodies[plan.key].scope, self.constructor(plan), list[tuple[str, str, str | None]]()
        for axis in plan.axes:
            if axis in made.sizes:
                found.append((scope.axes[axis].name, int.__name__, str(axis.extent)))
            if axis in made.bounds:
                found.append((scope.bounds[axis].name, int.__name__, str(axis.bound)))
        for const in made.numbers:
            default = None if const.value is None else literal(const.value).text
            found.append((scope.consts[const].name, plan.annotation(const), default))
        return found if plan.is_root else [(name, kind, None) for name, kind, _ in found]

    def passed_to(self, plan: Plan) -> list[str]:
        """What is known at each call alone."""
        scope, made = self.bodies[plan.key].scope, self.classes[plan.key]
        found = [f"{scope.axes[axis].name}: int" for axis in made.extents]
        return found + [f"{scope.consts[const].name}: {plan.annotation(const)}" for const in made.passed]

    def statements(self, plan: Plan) -> list[str]:
        """The lines of a function."""
        return apart(self.bodies[plan.key].text) or ["pass"]

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

    def captured(self, batch: Code) -> list[Code]:
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
            given = call("captured", f'{FOUND}["{found.path}"]', batch, repr(names), repr(kept))
            lines.append(Code.of('    "{}": {},', path, given))
        return lines

    def _recorded_in(self, graph: Graph) -> tuple[Plan, Mapping[Axis, Axis], Graph]:
        """The class that a graph became, with what its axes are called there, and the graph as it was lowered."""
        lowered = self.captures.lowered[id(graph)]
        return self.program.plan(lowered), self.program.bindings[id(lowered)][0], lowered

    @abstractmethod
    def body(self, plan: Plan) -> CodeBody: ...

    def tell(self, plan: Plan, place: int, state: InputState) -> None:
        """What a call says of an argument of a class."""
        self.inputs[plan][place] = self.inputs[plan][place].joined(state)

    def lowered(self, plan: Plan) -> ClassPlan:
        """What a class or function asks of its callers, which have told it of its arguments."""
        if plan.key not in self.classes:
            self.classes[plan.key] = self.lowering(plan).lower()
        return self.classes[plan.key]

    def constructor(self, plan: Plan) -> ClassPlan:
        """What a class or function is built with, where all is lowered that it calls."""
        return self.classes[plan.key]

    def lowering(self, plan: Plan) -> CodeBody:
        """The statements of a class or function, which may not be there yet."""
        if plan.key not in self.bodies:
            self.bodies[plan.key] = self.body(plan)
        return self.bodies[plan.key]

    def lower(self) -> None:
        """Lowers every class, callees before callers. Of its arguments a class is told by all its callers, and by what
        it returns in a loop: all are lowered again until nobody is told anything new.
        """
        roots = [self.program.plan(graph) for graph in (self.program.root, *self.program.steps)]  # `prepare` first
        for root in roots:
            for place, item in enumerate(root.graph.inputs):
                optional = item.default is not None
                axes = frozenset(plan_axes(root, place)) if optional else frozenset[Axis]()
                self.tell(root, place, InputState(axes, SOME if optional else FULL))
        told, plans = None, roots  # of the other classes nothing is known yet
        while told != (told := self._told()):
            self.bodies, self.classes = {}, {}
            for plan in plans:
                self.lowered(plan)
            plans = [plan for plan in self.program.plans if plan.graph.kind != "op"]

    def _told(self) -> object:
        """All that classes were told of their arguments, and steps of what is kept."""
        return [[*states] for states in self.inputs.values()], {*self.asked}, {**self.kept}


def _proved(graph: Graph) -> str:
    """Along which axes the results are causal, and for which numbers of the spec that a class may be built without."""
    families = frozenset(axis.family for output in graph.outputs for axis in output.causal)
    numbers = [
        f"{each.name} = {each.extent if isinstance(each, Axis) else each.value}"
        for each in (written_for(graph, families) if families else ())
    ]
    where = f" for {', '.join(numbers)}" if numbers else ""
    found: dict[tuple[str, ...], list[str]] = {}
    for output in graph.outputs:
        found.setdefault(tuple(axis.name for axis in output.causal), []).append(f"`{output.name}`")
    told = []
    for axes, names in found.items():
        along = f"ausal along {' and '.join(f'`{name}`' for name in axes)}, as attnc has proved{where}."
        if axes:
            told.append(f"C{along}" if len(found) == 1 else f"{' and '.join(names)}: c{along}")
    return " ".join(told)


class Writing(TypedDict, total=False):
    """What is asked of code beside the graph.

    header:  see `Emitter.written`.
    capture: paths of values that the call returns besides its result.
    passes:  the rewrites to do.
    checked: whether inputs are checked in full (else by one short function of the file).
    """

    header: str
    capture: tuple[str, ...]
    passes: Sequence[Pass]
    checked: bool


def written(
    emitter: type[Emitter],
    graph: Graph,
    steps: Callable[[Graph], Decoding] | None = None,
    *,
    header: str = "",
    capture: tuple[str, ...] = (),
    passes: Sequence[Pass] = PASSES,
    checked: bool = True,
) -> ModelCode:
    """What a backend writes for a model (or a block alone), with its steps if they can be written. steps: gives these,
    of the model as it is lowered.

    Raises CaptureError (a ValueError) for a path that names no value, CannotEmit for a graph beyond this backend.
    """
    lowered, captures = lower(graph, capture, passes)
    decoding = None if capture else steps(lowered) if steps is not None else stepping(graph, lowered, passes)
    if decoding is not None and decoding.step is not None and decoding.prepare is not None:
        program = ModelPlan(lowered, captures.marks, (decoding.prepare, decoding.step))
        try:
            return emitter(program, captures, decoding, checked=checked).written(header)
        except CannotEmit as problem:  # a model whose steps cannot be written has none
            decoding = replace(decoding, reason=f"its steps cannot be written: {problem}")
    code = emitter(ModelPlan(lowered, captures.marks), captures, checked=checked).written(header)
    return replace(code, no_step="" if decoding is None else decoding.reason)


def _place_lowered(graph: Graph, place: int, lowered: Graph) -> int:
    """The place of a call in the lowered graph: calls are never removed, so they keep their order."""
    before = sum(isinstance(node, NESTS) for node in graph.nodes[:place])
    places = [i for i, node in enumerate(lowered.nodes) if isinstance(node, NESTS)]
    return places[before]
