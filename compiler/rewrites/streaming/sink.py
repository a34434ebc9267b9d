"""Masks and biases of positions are made in the block that they are passed to, not by who calls it.

A mask `past <= target` that a caller makes is an array of all queries and keys. Made where it is used, it is two
positions and a comparison, which a kernel does in its loop. What moves is pointwise arithmetic in which a table of
two widths takes part; what it reads besides (padding, slopes, numbers that a pass decides) goes in as arguments.

What it does not do: go into calls of one set of weights with unlike tables, into models called by models, or scans.
`rewrites/kernels/place_masks.py` does the like for the masks of fused attention alone, as terms.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from ....dsl.base.records import replace
from ...graph.core.index import Index, index_of
from ...graph.nodes import Apply, Call, Constant, Graph, Input, Node, Positions, Repeat, Scan, makes, owns, reads
from ...graph.traits import Arrange, Gather, IndexMap, Lookup, Pointwise
from ...graph.values import IndexInto, Role, Scalar, Value
from ...sizes.axes import Axis, Literal, known
from ..simplify.dead import alive
from ..tools.transport import TargetBody, Terms
from ..tools.walk import Fresh, with_operands


def sink(graph: Graph, wanted: Callable[[Graph], bool]) -> Graph:
    """The graph with such arguments made in the blocks for which `wanted` holds."""
    return _Sinker(wanted).graph(graph)


@dataclass(frozen=True, eq=False)
class _Moved:
    """What makes one argument: its nodes, in order, and the values of the caller that these read."""

    value: Value
    nodes: tuple[Node, ...]
    leaves: tuple[Value, ...]

    @property
    def mentions(self) -> set[Axis]:
        """The axes that it takes."""
        types = [value.type for value in (*self.leaves, *(out for node in self.nodes for out in makes(node)))]
        found = {axis for type in types for axis in type.axes}
        found |= {type.element.axis for type in types if isinstance(type.element, IndexInto)}
        for node in self.nodes:
            if isinstance(node, Apply):
                found |= {*node.axes, *node.made}
        return found


class _Sinker:
    def __init__(self, wanted: Callable[[Graph], bool]) -> None:
        self._wanted = wanted
        self._memo: dict[object, Graph] = {}
        self._keep: list[Graph] = []  # memo keys are ids

    def graph(self, graph: Graph) -> Graph:
        """The graph, and all that it calls, done."""
        if id(graph) in self._memo:
            return self._memo[id(graph)]
        plans = {id(node): self._plan(node, index_of(graph)) for node in graph.nodes}
        unlike = self._unlike(graph, plans)
        nodes: list[Node] = []
        for node in graph.nodes:
            plan = {} if isinstance(node, Call) and node.name in unlike else plans[id(node)]
            match node:
                case Call():
                    back = {actual: formal for formal, actual in node.axes}
                    inner, args = self._enter(node.graph, back, node.args, plan)
                    nodes.append(replace(node, graph=inner, args=args))
                case Repeat():
                    entered = [self._enter(body, {}, node.args, plan) for body in node.bodies]
                    nodes.append(replace(node, bodies=tuple(body for body, _ in entered), args=entered[0][1]))
                case Scan():
                    nodes.append(replace(node, graph=self.graph(node.graph)))
                case _:
                    nodes.append(node)
        self._keep.append(graph)
        self._memo[id(graph)] = alive(replace(graph, nodes=tuple(nodes)))
        return self._memo[id(graph)]

    # -- what moves -----------------------------------------------------------------------------------------------

    def _plan(self, node: Node, index: Index) -> dict[int, _Moved]:
        """Of a call or a repeat, what each argument that moves is made of, by its place."""
        axes: set[Axis] | None = None  # of a callee, those that it has; a repeat has all
        match node:
            case Call(graph=inner) if node.name and inner.kind == "block" and not inner.target and self._wanted(inner):
                axes = {actual for _, actual in node.axes} | {*inner.lifted}
                formals, first = inner.inputs, 0
            case Repeat() if all(map(self._wanted, node.bodies)):
                formals, first = node.bodies[0].inputs, node.carried
            case _:
                return {}
        found: dict[int, _Moved] = {}
        for place in range(first, len(node.args)):
            moved = _made_of(node.args[place], index)
            if moved is None or formals[place].value.type.element is not moved.value.type.element:
                continue
            if axes is None or moved.mentions <= axes:
                found[place] = moved
        return found

    def _unlike(self, graph: Graph, plans: Mapping[int, Mapping[int, _Moved]]) -> set[str]:
        """Names of calls that share weights but would get unlike tables: one set of weights is of one class."""
        ways: dict[str, set[object]] = {}
        for node in graph.nodes:
            if isinstance(node, Call) and owns(node.graph):
                back = {actual: formal for formal, actual in node.axes}
                spelled = [(place, _spelled(moved, back)) for place, moved in sorted(plans[id(node)].items())]
                ways.setdefault(node.name, set()).add((id(node.graph), *spelled))
        return {name for name, different in ways.items() if len(different) > 1}

    # -- moving it ------------------------------------------------------------------------------------------------

    def _enter(
        self, graph: Graph, back: Mapping[Axis, Axis], args: tuple[Value, ...], plan: Mapping[int, _Moved]
    ) -> tuple[Graph, tuple[Value, ...]]:
        """The graph with these arguments made in it, and what it is called with."""
        left = tuple(arg for place, arg in enumerate(args) if place not in plan)
        entering = tuple(leaf for _, moved in sorted(plan.items()) for leaf in moved.leaves)
        key = (id(graph), *((place, _spelled(moved, back)) for place, moved in sorted(plan.items())))
        if key not in self._memo:
            self._keep.append(graph)
            self._memo[key] = self.graph(_with(graph, back, plan) if plan else graph)
        return self._memo[key], (*left, *entering)


def _made_of(value: Value, index: Index) -> _Moved | None:
    """What makes a value, if that is arithmetic with a table of two widths in it."""
    nodes: dict[int, Node] = {}
    leaves: dict[int, Value] = {}
    large = False

    def take(one: Value) -> None:
        nonlocal large
        node = index.maker(one)
        if not isinstance(node, Constant | Positions) and not is_pointwise(node, one):
            leaves[one.id] = one
            return
        assert node is not None
        if isinstance(node, Constant) and known(node.value) is None:
            leaves[one.id] = one
            return
        large |= one.role is Role.TABLE and sum(axis.is_width for axis in one.type.axes) > 1
        if id(node) not in nodes:
            for operand in reads(node):
                take(operand)
            nodes[id(node)] = node  # behind what it reads

    take(value)
    return _Moved(value, tuple(nodes.values()), tuple(leaves.values())) if large else None


def is_pointwise(node: Node | None, out: Value) -> bool:
    """Whether each item is made of one item of each operand, and is worth making anew."""
    if (
        not isinstance(node, Apply)
        or node.weights
        or node.options
        or node.traits.random
        or node.traits.acts
        or not out.type.axes
    ):
        return False
    match node.traits.reads:
        case Pointwise(Lookup()):
            return False
        case Pointwise() | Arrange(IndexMap.NEW):
            return out.role is Role.TABLE or sum(axis.is_width for axis in out.type.axes) > 1
        case Gather():
            return out.role is not Role.DATA and sum(axis.is_width for axis in out.type.axes) > 1
        case _:
            return False


def _with(graph: Graph, back: Mapping[Axis, Axis], plan: Mapping[int, _Moved]) -> Graph:
    """The graph with the arguments at these places made in it, of new inputs, which come last."""
    fresh = Fresh(graph)
    body = TargetBody(graph)
    terms = Terms(body, graph, dict(back), {}, {}, own=False)
    same: dict[int, Value] = {}
    inputs = [item for place, item in enumerate(graph.inputs) if place not in plan]
    # ids of what is brought begin behind those of the new inputs
    made: list[Input] = []
    for _, moved in sorted(plan.items()):
        for leaf in moved.leaves:
            entered = replace(fresh(leaf), type=terms.type(leaf.type))
            made.append(Input(leaf.name or "given", entered))
            terms.values[leaf.id] = entered
    body = TargetBody(replace(graph, inputs=(*graph.inputs, *made)))
    terms.caller = body
    for place, moved in sorted(plan.items()):
        body.bring([_literal(node) for node in moved.nodes], terms)
        same[graph.inputs[place].value.id] = terms.values[moved.value.id]
    for node in graph.nodes:
        body.add(with_operands(node, same))
    outputs = tuple(replace(one, value=same.get(one.value.id, one.value)) for one in graph.outputs)
    names = [item.name for item in (*inputs, *made)]
    made = [_named(item, names, place + len(inputs)) for place, item in enumerate(made)]
    return replace(graph, inputs=(*inputs, *made), nodes=tuple(body.nodes), outputs=outputs)


def _named(item: Input, names: list[str], place: int) -> Input:
    """The input under a name that no other has."""
    name = item.name
    while name in names[:place]:
        name += "_"
    names[place] = name
    return replace(item, name=name)


def _literal(node: Node) -> Node:
    if isinstance(node, Constant) and (number := known(node.value)) is not None:
        return replace(node, value=Literal(number))
    return node


def _spelled(moved: _Moved, back: Mapping[Axis, Axis]) -> object:
    """What two arguments must have in common to be made alike: all but the ids of values."""
    order = {leaf.id: ("leaf", place) for place, leaf in enumerate(moved.leaves)}

    def axes(some: tuple[Axis, ...]) -> tuple[int, ...]:
        return tuple(back.get(axis, axis).id for axis in some)

    parts: list[object] = [
        (leaf.role, leaf.type.element if isinstance(leaf.type.element, Scalar) else None, axes(leaf.type.axes))
        for leaf in moved.leaves
    ]
    for node in moved.nodes:
        read = tuple(order[value.id] for value in reads(node))
        match node:
            case Constant(value):
                parts.append(("constant", known(value)))
            case Positions(axis):
                parts.append(("positions", axes((axis,))))
            case Apply():
                parts.append((node.op, read, axes(node.axes), axes(node.made)))
        for out in makes(node):
            order[out.id] = ("node", len(parts))
    return tuple(parts)
