"""Which classes (or functions) the generated file has: block instances of equal structure share one.

Two instances are equal in structure if they differ in nothing but sizes of axes, values of consts, broadcast axes,
over which axes of their callers they lift, and whether their values carry data. One class then serves both: sizes and
consts are parameters, lifted axes are leading dimensions like the batch, and a broadcast axis is a dimension of size 1.
"""

from __future__ import annotations

import hashlib
from collections.abc import Container, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

from ...compiler.base.names import METHODS
from ...compiler.graph.nodes import (
    NESTS,
    Apply,
    Call,
    Constant,
    Graph,
    Input,
    Node,
    Parameter,
    Positions,
    Repeat,
    Scan,
    Stepped,
    Weight,
    children,
    nested,
)
from ...compiler.graph.sized import mentioned
from ...compiler.graph.sources import Dependence
from ...compiler.graph.term import WORDS, Leaf, Number, Position, Term, TermOp
from ...compiler.graph.typed_value import static_element
from ...compiler.graph.values import IndexInto, Role, Scalar, Value
from ...compiler.sizes.arithmetic import substitute
from ...compiler.sizes.axes import (
    Arith,
    Axis,
    Const,
    ConstOf,
    Literal,
    SizeOf,
    Static,
    as_static,
    axes_in,
    consts_in,
    show_static,
)
from ...compiler.sizes.functions import Rounded
from ..text.names import DIVIDED, FILE, MODULE_ATTRIBUTES, Namer, camel
from ..text.values import SOME
from ..text.writing import singular
from .sharing import Homes, differing


def padded(graph: Graph, item: Input) -> bool:
    """Whether an input of a model has padding: it runs along a ragged width, or along one that derives from it.

    Of indices into such a width the arrays' extents say nothing either.
    """
    families = {entry.length_of.family for entry in graph.inputs if entry.length_of is not None}
    element = item.value.type.element
    left, seen = [*item.value.type.axes, *([element.axis] if isinstance(element, IndexInto) else [])], set[Axis]()
    while left:
        axis = left.pop()
        if axis.family in families:
            return True
        if axis.size is not None and axis not in seen:
            seen.add(axis)
            left += axes_in(axis.size)
    return False


@dataclass(slots=True)
class _Form:
    """The structure of one graph, and its axes and consts in canonical order."""

    key: str
    axes: tuple[Axis, ...]
    consts: tuple[Const, ...]
    values: dict[int, int]


class _Canon:
    """Numbers axes, consts and values of one graph in order of first mention."""

    def __init__(self, lifted: frozenset[Axis]) -> None:
        self.lifted = lifted
        self.axes: dict[Axis, int] = {}
        self.consts: dict[Const, int] = {}
        self.values: dict[int, int] = {}

    def axis(self, axis: Axis) -> object:
        if axis in self.lifted:
            return None  # whichever it is
        if axis not in self.axes:
            self.axes[axis] = len(self.axes)
        return self.axes[axis]

    def const(self, const: Const) -> int:
        return self.consts.setdefault(const, len(self.consts))

    def static(self, static: Static) -> object:
        match static:
            case Literal(value):
                return (type(value).__name__, repr(value))
            case SizeOf(axis):
                return ("size", self.axis(axis))
            case ConstOf(const):
                return ("const", self.const(const))
            case Arith(op, args):
                return op, [self.static(arg) for arg in args]

    def value(self, value: Value) -> object:
        return self.values[value.id]

    def new(self, value: Value) -> object:
        """Registers a value. What of it decides the code: its element, whether it is a number, or a float64 table."""
        self.values[value.id] = len(self.values)
        element = value.type.element
        kind = ("into", self.axis(element.axis)) if isinstance(element, IndexInto) else element.value
        return (kind, value.role is Role.CONSTANT, value.is_table, value.name)

    def term(self, term: Term) -> object:
        match term:
            case Position(axis):
                return ("position", self.axis(axis))
            case Number(static):
                return ("number", self.static(static))
            case Leaf(value):
                return ("leaf", self.value(value))
            case TermOp(meaning, args):
                return WORDS[meaning], [self.term(arg) for arg in args]

    def core(self, axes: tuple[Axis, ...]) -> object:
        return tuple(self.axis(axis) for axis in axes if axis not in self.lifted)

    def weight(self, weight: Weight) -> object:
        init = weight.init
        return (
            weight.name,
            tuple(tuple(self.axis(axis) for axis in dim) for dim in weight.dims),
            (init.kind, init.args, self.core(init.fan_in), self.core(init.fan_out)),
            weight.frozen,
        )


def _passes(steps: Iterable[Graph]) -> Iterator[tuple[Graph, Graph]]:
    """The passes of repeats in steps, each behind the one that has its weights."""
    for body in nested(*steps):
        if body.kind == "repeat" and body.stepped is not None and body.stepped.origin is not None:
            yield body.stepped.origin, body


def _told(axis: Axis, known: Container[Axis]) -> bool:
    """Whether the code of a class may work out the size of an axis from these. Known numbers hang on axes alone."""
    assert axis.size is not None
    return all(part in known for part in axes_in(axis.size)) and (axis.extent is None or not consts_in(axis.size))


def parts(graphs: Iterable[Graph], homes: Homes | None = None) -> frozenset[str]:
    """What modules and weights are called in any class: no method is, which lies in the same object.

    homes: tell of which graphs weights are made; then modules without any, which may give way, are left out.
    """
    found = set[str]()
    for node in (node for each in nested(*graphs) for node in each.nodes):
        if isinstance(node, Parameter):
            found.add(node.weight.name.partition(".")[0])
        elif isinstance(node, Apply) and node.weights:
            found.add((node.name or "").partition(".")[0])
        elif isinstance(node, NESTS) and (homes is None or homes.learns(node)):
            found.add(node.name.partition(".")[0])
    return frozenset(found)


def _site(graph: Graph, called: Stepped) -> tuple[int, str]:
    """Where a block stands that is called in decoding: what it is a part of, and what it is called there."""
    origin = None if graph.stepped is None else graph.stepped.origin
    return id(graph if origin is None else origin), called.segment


def _lifts(steps: Iterable[Graph]) -> dict[tuple[int, str], tuple[Axis, ...]]:
    """What calls lift over, of blocks that are both prepared and stepped: what they keep has all these dimensions."""
    found: dict[tuple[int, str], dict[Axis, None]] = {}
    methods: dict[tuple[int, str], set[str]] = {}
    left, seen = [(graph, frozenset(graph.lifted)) for graph in steps], set[int]()
    while left:
        graph, around = left.pop(0)
        if id(graph) in seen:
            continue
        seen.add(id(graph))
        for node in graph.nodes:
            within = around if isinstance(node, Repeat) else frozenset()
            left += [(child, within | frozenset(child.lifted)) for child in children(node)]
            if not isinstance(node, Call) or node.graph.stepped is None:
                continue
            site, given = _site(graph, node.graph.stepped), dict(node.axes)
            methods.setdefault(site, set()).add(node.graph.stepped.method)
            for item, arg in zip(node.graph.inputs, node.args, strict=True):
                formal = {given.get(axis, axis) for axis in item.value.type.axes if axis not in node.graph.lifted}
                formal |= around  # which are leading dimensions where the call stands
                found.setdefault(site, {}).update(dict.fromkeys(a for a in arg.type.axes if a not in formal))
    return {site: tuple(axes) for site, axes in found.items() if len(methods[site]) > 1}


@dataclass(frozen=True, slots=True)
class InputState:
    """What all calls of a class agree on about one argument: its axes that may be of size 1, its leading dimensions
    (see text/values.py; None before the first call), and whether an index is proved to lie within its axis.
    given: it may be of one item and false; else it is so where the model was not given it, and true.
    """

    broadcast: frozenset[Axis] = frozenset()
    leading: int | None = None
    in_range: bool = True
    given: bool = False

    def joined(self, other: InputState) -> InputState:
        """What holds of both."""
        known = [each for each in (self.leading, other.leading) if each is not None]
        leading = None if not known else known[0] if len({*known}) == 1 else SOME
        in_range, given = self.in_range and other.in_range, self.given or other.given
        return InputState(self.broadcast | other.broadcast, leading, in_range, given)


@dataclass(frozen=True, slots=True)
class OutputState:
    """What a class returns: its axes in memory order, which may be of size 1, and which arguments it depends on."""

    axes: tuple[Axis, ...]
    broadcast: frozenset[Axis]
    leading: int
    number: bool  # whether it is a number rather than an array
    needs: int
    in_range: bool


@dataclass(frozen=True, slots=True)
class ClassPlan:
    """What a class or function has besides its arguments, read off its statements: the rest is known to its callers.

    sizes, bounds, numbers: what it is built with: sizes of axes, the most that widths have, consts. extents, passed:
    what it is told at each call: extents of widths, for want of an argument that has them, and consts.
    """

    outputs: tuple[OutputState, ...] = ()
    sizes: tuple[Axis, ...] = ()
    bounds: tuple[Axis, ...] = ()
    numbers: tuple[Const, ...] = ()
    extents: tuple[Axis, ...] = ()
    passed: tuple[Const, ...] = ()
    device: bool = False
    dtype: bool = False


@dataclass(eq=False)
class Plan:
    """One class or function of the generated file.

    graph: the first instance; its axes and consts are the class's own.
    instances: the corresponding axes and consts of every instance, each a mapping from those of `graph`.
    """

    name: str
    key: str
    graph: Graph
    lifted: frozenset[Axis]
    axes: tuple[Axis, ...]
    consts: tuple[Const, ...]
    instances: list[tuple[Mapping[Axis, Axis], Mapping[Const, Const]]]  # complete before any code is made
    is_root: bool
    captured: frozenset[int]  # ids of values to record
    results: str = ""  # the class of its results, where a model has several
    on_path: bool = False  # it, or something nested in it, records values
    placed: bool = False  # its callers say where it stands: not those that call a model as their own
    late: dict[Const, None] = field(default_factory=dict)  # consts that are known at each call
    open: set[Axis] = field(default_factory=set)  # axes that calls of one module have in different sizes
    owner: Plan | None = None  # the class whose weights it uses: this is one of its methods besides `forward`
    caller: Plan | None = None  # of a model with weights, which stand beside its caller's: this is a method there
    call: Call | Scan | Repeat | None = None  # by which it is called there
    called: list[Plan] = field(default_factory=list)  # the models that are methods here
    method: str = "forward"
    cached: bool = False  # of decoding (compiler/decode): it takes the cache
    _by_family: dict[tuple[int, ...], list[Axis]] = field(default_factory=dict)

    @property
    def home(self) -> Plan:
        """The class that this is a method of."""
        within = self.owner or self.caller
        return self if within is None else within.home

    @property
    def way(self) -> Plan:
        """The first form of what it is, which has a caller where this is a method of that."""
        return self if self.caller is not None or self.owner is None else self.owner.way

    def methods(self) -> Iterator[Plan]:
        """The models that are methods of the class, in the order of their calls."""
        for plan in self.called:
            yield plan
            yield from plan.methods()

    @property
    def is_of_called(self) -> bool:
        """Whether it is a model that is a method of its caller, or another form of one, or a step."""
        return self.caller is not None or (self.owner is not None and not self.is_root and self.owner.is_of_called)

    @property
    def is_step(self) -> bool:
        """Whether it is a function of decoding, over the class whose weights it uses."""
        return self.owner is not None and self.graph.stepped is not None

    @cached_property
    def _own(self) -> frozenset[Axis]:
        return frozenset(self.axes)

    def kind(self, static: Static) -> Scalar:
        """What a number over consts of this class is, whatever its callers give them."""
        some: dict[int, Static] = {}
        for const in consts_in(static):
            given = [consts.get(const, const) for _, consts in self.instances]
            values, kinds = {each.value for each in given}, {static_element(ConstOf(each)) for each in given}
            if len(values) == 1 and None not in values:
                continue
            if Scalar.REAL in kinds:
                listed = any(isinstance(value, tuple) for value in values)
                some[const.id] = as_static((0.5,)) if listed else Literal(0.5)
            elif kinds != {Scalar.BOOL}:
                some[const.id] = ConstOf(replace(const, value=None))
        return static_element(substitute(static, {}, some))

    def is_int(self, static: Static) -> bool:
        """Whether Python computes it as an int: 6 // 2.0 is none."""
        match static:
            case Arith(meaning=Rounded()):
                return True
            case Arith("//", args):
                return all(map(self.is_int, args))
            case Arith(_, args) if self.kind(static) is Scalar.INT:
                return all(map(self.is_int, args))
            case _:
                return self.kind(static) is Scalar.INT

    def annotation(self, const: Const) -> str:
        """What Python calls its kind."""
        kinds: dict[Scalar, type] = {Scalar.REAL: float, Scalar.BOOL: bool}
        kind = kinds.get(self.kind(ConstOf(const)), int).__name__
        listed = any(isinstance(consts.get(const, const).value, tuple) for _, consts in self.instances)
        return f"tuple[{kind}, ...]" if listed else kind

    def static_size(self, axis: Axis) -> bool:
        """Whether every instance knows the size at build time."""
        return axis not in self.open and all(axes.get(axis, axis).extent is not None for axes, _ in self.instances)

    def least(self, axis: Axis) -> int | None:
        """The smallest size of an axis over all instances, if all know it."""
        sizes = [axes.get(axis, axis).extent for axes, _ in self.instances]
        known = [size for size in sizes if size is not None]
        return min(known) if len(known) == len(sizes) else None

    def copies(self, axis: Axis) -> list[Axis]:
        """The axes of the class that are copies of this one in every instance, itself first."""
        if not self._by_family:
            for each in self.axes:
                self._by_family.setdefault(self.family(each), []).append(each)
        return [axis, *(each for each in self._by_family.get(self.family(axis), ()) if each is not axis)]

    def family(self, axis: Axis) -> tuple[int, ...]:
        """What copies of one another share: its family in every instance."""
        return tuple(axes.get(axis, axis).family for axes, _ in self.instances)

    def formula(self, axis: Axis) -> Static | None:
        """The size of the axis over axes of this class: one for all instances, whose key it is a part of."""
        return axis.size if axis.size is not None and _told(axis, self._own) else None


class ModelPlan:
    """All classes of a model, callees before callers, the root last."""

    def __init__(
        self, root: Graph, captured: Mapping[int, frozenset[int]] | None = None, steps: tuple[Graph, ...] = ()
    ) -> None:
        """captured: for `id(graph)`, the ids of its values to record. steps: the graphs of decoding, if it decodes."""
        self.root = root
        self.steps = steps
        self._captured = dict(captured or {})
        self._forms: dict[int, _Form] = {}
        self._on_path: dict[int, bool] = {}
        self.plans: list[Plan] = []
        self._by_key: dict[str, Plan] = {}
        self._by_graph: dict[int, Plan] = {}
        self.dependence = Dependence()
        self._lifted: dict[int, frozenset[Axis]] = {}
        self._counted: set[int] = set()  # bodies that each call tells which pass it is
        self._names = Namer(mark=FILE)
        self.bindings: dict[int, tuple[dict[Axis, Axis], dict[Const, Const]]] = {}  # the class's own -> the instance's
        self._keep: list[Graph] = []  # ids stay valid while their graphs live
        self.homes = Homes(root, steps)
        self._parts = parts((root, *steps), self.homes)
        self._built_for_steps = {id(origin): mentioned(body) for origin, body in _passes(steps)}
        self._lifts = _lifts(steps)
        self._visit(root, frozenset(), "")
        self.forward = tuple(self.plans)
        for graph in steps:
            self._visit(graph, frozenset(), "")
        self._open()
        while self._pass_consts():  # a step may call whole what others have been told of
            pass
        self._move_in(self.plan(root), set())
        self._name_methods()
        for plan in reversed(self.plans):  # callers first
            for node in plan.graph.nodes:
                for child in children(node):
                    own = child.kind == "model" and isinstance(node, Call) and not node.name
                    own = own or (isinstance(node, Repeat) and node.beside)
                    callee = self.plan(child)
                    callee.placed = callee.placed or plan.placed or not own
        for plan in sorted(self.plans, key=lambda plan: plan.graph is not root):  # the model has its name first
            wish, number = plan.name, 1
            while self._names.is_taken(plan.name):
                number += 1
                plan.name = f"{wish}{number}"
            plan.name = self._names.give(plan.name)
        for plan in self.plans:
            if plan.graph.kind == "model" and len(plan.graph.outputs) > 1:
                plan.results = self._names.give(f"{plan.name}Output")

    @cached_property
    def methods(self) -> frozenset[str]:
        """What the classes of modules have besides `forward`."""
        names = frozenset(plan.method for plan in self.plans if plan.home is not plan)
        return names | {*METHODS} if self.steps else names

    def plan(self, graph: Graph) -> Plan:
        return self._by_graph[id(graph)]

    def origin(self, graph: Graph) -> Graph | None:
        """The graph whose weights this one uses, if it is not the one that they are made for."""
        if graph.stepped is not None:
            return graph.stepped.origin
        home = self.homes.of(graph)
        return None if home is graph else home

    def has_list(self, node: Repeat) -> bool:
        """Whether the passes of a repeat are modules of their own: each has its weights."""
        return not node.shared and self.homes.learns(node)

    def lifted(self, graph: Graph) -> frozenset[Axis]:
        """The axes over which a body is lifted where it stands: one class may serve bodies that lift over others."""
        return self._lifted[id(graph)]

    def lifts(self, graph: Graph, node: Node) -> tuple[Axis, ...]:
        """The axes over which `prepare` and the steps of a block lift where it is called, in one order for both."""
        stepped = node.graph.stepped if isinstance(node, Call) else None
        return () if stepped is None else self._lifts.get(_site(graph, stepped), ())

    def canonical(self, graph: Graph, value: int) -> int:
        """The number of a value that all instances of a class agree on."""
        return self._forms[id(graph)].values[value]

    def _visit(self, graph: Graph, lifted: frozenset[Axis], parent: str) -> None:
        if id(graph) in self._forms:
            return
        self._lifted[id(graph)] = lifted = lifted | frozenset(graph.lifted)
        name = parent if graph.kind == "repeat" else camel(graph.name)
        for node in graph.nodes:
            for child in children(node):
                if isinstance(node, Repeat):
                    if node.index is not None and not self.has_list(node):
                        self._counted.add(id(child))
                    own = node.name.rpartition(".")[2]
                    self._visit(child, lifted, name + camel(singular(own) or own))
                else:
                    self._visit(child, frozenset(), "")
        form = self._form(graph, lifted)
        self._forms[id(graph)] = form
        self._keep.append(graph)
        plan = self._by_key.get(form.key)
        if plan is None:
            captured = self._captured.get(id(graph), frozenset())
            top = graph is self.root or graph in self.steps
            plan = Plan(name, form.key, graph, lifted, form.axes, form.consts, [], top, captured)
            self._adopt(plan)
            plan.on_path = bool(captured) or any(self.plan(c).on_path for n in graph.nodes for c in children(n))
            self._by_key[form.key] = plan
            self.plans.append(plan)
        binding = (dict(zip(plan.axes, form.axes, strict=True)), dict(zip(plan.consts, form.consts, strict=True)))
        plan.instances.append(binding)
        self.bindings[id(graph)] = binding
        self._by_graph[id(graph)] = plan

    def _open(self) -> None:
        """Marks what is not known when a module is built, as its calls give it differently."""
        for calls in self.homes.modules():
            for graph, axes, consts in differing(calls):
                self._mark(graph, axes, consts)
        steps = self.plans[len(self.forward) :]
        for plan in (*reversed(self.forward), *reversed(steps)):  # callers first
            if plan.graph.stepped is not None and plan.owner is not None:
                self._open_as(plan, plan.owner)
            plan.open |= {axis for axis in plan.axes if axis.size is not None and plan.open & set(axes_in(axis.size))}
            for node in plan.graph.nodes:
                if isinstance(node, Call):  # a step gives what it calls whole some of the items of a width
                    self._mark(
                        node.graph, [a for a, given in node.axes if a.extent is not None and given.extent is None]
                    )
                for child in children(node):
                    given = node.axes if isinstance(node, Call | Scan) else [(axis, axis) for axis in plan.open]
                    self._mark(child, [theirs for theirs, mine in given if mine in plan.open])

    def _pass_consts(self) -> bool:
        """Marks consts that hang on a pass without a module, or on the size of an input; says whether any is new."""
        before = sum(len(plan.late) for plan in self.plans)
        for plan in reversed(self.plans):  # callers first
            for node in plan.graph.nodes:
                given = dict(node.consts) if isinstance(node, Call | Scan) else {}
                index = node.index if isinstance(node, Repeat) and not self.has_list(node) else None
                for child in (child for child in children(node) if child.kind != "op"):
                    for own, theirs in self.bindings[id(child)][1].items():
                        static = given.get(theirs, ConstOf(theirs))
                        hangs = theirs == index or not plan.late.keys().isdisjoint(consts_in(static))
                        if hangs or not all(map(plan.static_size, axes_in(static))):
                            self.plan(child).late[own] = None
        return sum(len(plan.late) for plan in self.plans) > before

    def _open_as(self, step: Plan, whole: Plan) -> None:
        """A step has the axes and consts of what it is a step of."""
        assert step.graph.stepped is not None
        axes, consts = self.bindings[id(step.graph.stepped.origin)]
        step.open |= {
            theirs
            for own, theirs in axes.items()
            if theirs in step.axes and (own in whole.open or (own.bound is None and not whole.static_size(own)))
        }
        step.late |= {theirs: None for own, theirs in consts.items() if own in whole.late and theirs in step.consts}

    def _mark(self, graph: Graph, axes: Iterable[Axis], consts: Iterable[Const] = ()) -> None:
        plan, (own, numbers) = self.plan(graph), self.bindings[id(graph)]
        plan.open |= {mine for mine, theirs in own.items() if theirs in axes}
        plan.late |= {mine: None for mine, theirs in numbers.items() if theirs in consts}

    def _adopt(self, plan: Plan) -> None:
        """Whose weights it uses; where the graph is one of decoding, whether it takes the cache."""
        origin, stepped = self.origin(plan.graph), plan.graph.stepped
        if origin is not None:
            plan.owner = self.plan(origin)
        if stepped is None:
            return
        plan.cached = stepped.variant
        for node in plan.graph.nodes:
            if isinstance(node, Apply) and node.traits.caches:
                plan.cached = True
            plan.cached = plan.cached or any(self.plan(child).cached for child in children(node))
        plan.cached = plan.cached or plan.is_root

    def _move_in(self, plan: Plan, seen: set[str]) -> None:
        """A model that is called has its weights beside those of its caller (D11): it is a method of that class."""
        if plan.key in seen:
            return
        seen.add(plan.key)
        for node in plan.graph.nodes:  # in the order in which the code is first written: a caller before its methods
            for child in children(node):
                callee = self.plan(child)
                assert isinstance(node, NESTS)
                own = (node.beside if isinstance(node, Repeat) else not node.name) and self.homes.learns(node)
                if own and callee.owner is None and callee.caller is None:
                    callee.caller, callee.call = plan, node
                    plan.called.append(callee)
                self._move_in(callee, seen)

    def _name_methods(self) -> None:
        taken: dict[str, set[str]] = {}
        reserved = MODULE_ATTRIBUTES | DIVIDED | self._parts | {*METHODS}
        for plan in self.plans:
            stepped, number = plan.graph.stepped, ""
            method = "forward" if stepped is None else stepped.method
            if plan.home is not plan:
                names = taken.setdefault(plan.home.key, {"forward"})
                names |= self._parts if not plan.is_root else set()
                wish = method
                if plan.is_of_called:  # by the model's name, where a class may have a method of that
                    call = plan.way.call
                    name = plan.graph.name.strip("_") or "model"
                    if isinstance(call, Repeat):
                        own = call.name.rpartition(".")[2]
                        name = f"one_{singular(own) or own}"
                    wish = Namer(reserved, "").give(name)
                    wish += f"_{method}" if stepped is not None else ""
                count = 1
                while wish + number in names and not plan.is_root:
                    count += 1
                    number = f"_{count}"
                plan.method = wish + number
                names.add(plan.method)
            if stepped is not None:  # another step of the same class is called by where it stands
                at = camel(stepped.segment) if number and stepped.segment.isidentifier() else ""
                plan.name = f"{plan.name}{at}{camel(method if at else method + number)}"

    def _form(self, graph: Graph, lifted: frozenset[Axis]) -> _Form:
        """A step that does nothing but what its block does is a call of it: it has the same form."""
        form, home = self._structure(graph, lifted, None), self.origin(graph)
        if home is None:
            return form
        origin = self._forms[id(home)]
        variant = graph.stepped is not None and graph.stepped.variant
        shared = form.key == origin.key and graph not in self.steps and not variant
        return form if shared else self._structure(graph, lifted, origin)

    def _structure(self, graph: Graph, lifted: frozenset[Axis], origin: _Form | None) -> _Form:
        canon = _Canon(lifted)
        parts: list[object] = [graph.kind, graph.name, graph is self.root, graph.target, id(graph) in self._counted]
        parts += [canon.axis(axis) for axis in graph.axes]
        parts += [(canon.const(const), const.name) for const in graph.consts]
        for item in graph.inputs:
            parts.append((item.name, canon.new(item.value), canon.core(item.value.type.axes), repr(item.default)))
        for node in graph.nodes:
            parts.append(self._node(canon, graph, node))
        for output in graph.outputs:
            if graph.kind == "op":  # made in Python
                parts.append(canon.new(output.value))
            parts.append((output.name, canon.value(output.value), canon.core(output.axes)))
        for number in sorted(self._captured.get(id(graph), ())):
            parts.append(("captured", canon.values[number]))
        self._build_for_steps(graph, canon)
        # What decides the code about an axis: its name and kind, whether weights over it have a bound, its formula.
        for axis in list(canon.axes):
            formula = None
            if axis.size is not None and _told(axis, canon.axes):
                formula = canon.static(axis.size)
            parts.append((axis.name, axis.kind.value, axis.bound is not None, formula))
        parts += [const.name for const in canon.consts]
        if origin is not None:
            method = "forward" if graph.stepped is None else graph.stepped.method
            parts += [origin.key, method, [canon.axes.get(axis) for axis in origin.axes]]
        if graph.stepped is not None and (origin is not None or graph.stepped.origin is None):
            parts += [(canon.axes[a], canon.static(keep)) for a, keep in graph.stepped.visible if a in canon.axes]
            for axis, along in graph.stepped.along:
                if axis in canon.axes:
                    keep = None if along.keep is None else canon.static(along.keep)
                    parts.append(
                        (canon.axes[axis], along.size, show_static(along.before), along.new, keep, along.chunk)
                    )
            parts.append([number for axis, number in canon.axes.items() if axis.family in graph.stepped.times])
        key = hashlib.sha256(repr(parts).encode()).hexdigest()
        return _Form(key, tuple(canon.axes), tuple(canon.consts), canon.values)

    def _build_for_steps(self, graph: Graph, canon: _Canon) -> None:
        """A pass of a repeat has those axes and consts of the graph around that it mentions. Its step may mention more:
        what the model does once, before the passes. The class is built with them too.
        """
        axes, consts = self._built_for_steps.get(id(graph), ({}, {}))
        around = self.homes.around(graph) if axes or consts else graph
        for axis in axes:
            if axis in around.axes and not axis.is_width:
                canon.axis(axis)
        for const in consts:
            canon.const(const)

    def _node(self, canon: _Canon, graph: Graph, node: Node) -> object:
        match node:
            case Constant():
                return ("constant", canon.static(node.value), canon.new(node.out))
            case Positions():
                return ("positions", canon.axis(node.axis), canon.new(node.out))
            case Parameter():
                return ("parameter", canon.weight(node.weight), canon.new(node.out))
            case Apply():
                return (
                    node.op,
                    tuple(canon.value(v) for v in node.operands),
                    tuple(canon.axis(a) for a in node.axes),
                    canon.core(node.made),
                    tuple(canon.axis(a) for a in node.each),
                    None if node.mask is None else canon.value(node.mask),
                    None if node.seen is None else canon.term(node.seen.term),
                    tuple((name, canon.static(value)) for name, value in sorted(node.options.items())),
                    node.name,
                    tuple(canon.weight(weight) for weight in node.weights),
                    canon.new(node.out),
                )
            case Call() | Scan():
                form = self._forms[id(node.graph)]
                place = {axis: number for number, axis in enumerate(form.axes)}
                order = {const: number for number, const in enumerate(form.consts)}
                scan = (canon.axis(node.axis), node.steps, node.states) if isinstance(node, Scan) else ()
                segment = node.graph.stepped.segment if node.graph.stepped else ""
                lifts = [canon.axes.get(axis) for axis in self.lifts(graph, node)]
                return (
                    "call",
                    scan,
                    (segment, lifts),
                    form.key,
                    node.name,
                    tuple(canon.value(v) for v in node.args),
                    tuple((place[a], canon.axis(b)) for a, b in node.axes if a in place),
                    tuple((order[c], canon.static(s)) for c, s in node.consts if c in order),
                    tuple(canon.new(v) for v in node.outs),
                )
            case Repeat():
                index = None if node.index is None else canon.const(node.index)
                bodies = []
                for body in node.bodies:
                    form = self._forms[id(body)]
                    bodies.append(
                        (form.key, tuple(canon.axis(a) for a in form.axes), tuple(canon.const(c) for c in form.consts))
                    )
                return (
                    "repeat",
                    node.name,
                    canon.static(node.count),
                    node.shared,
                    index,
                    tuple(bodies),
                    node.variant if len(node.bodies) > 1 else (),
                    tuple(canon.value(v) for v in node.args),
                    node.carried,
                    tuple(canon.new(v) for v in node.outs),
                )
