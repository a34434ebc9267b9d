"""What a kernel needs stands in one graph: blocks without weights are opened where they are called, and masks and
biases of positions are made where they are used, not passed on.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from ...compiler.graph.nodes import (
    Apply,
    Call,
    Constant,
    Graph,
    Input,
    Node,
    Positions,
    Repeat,
    Scan,
    makes,
    owns,
    reads,
)
from ...compiler.graph.traits import Arrange, IndexMap, Pointwise
from ...compiler.graph.values import IndexInto, Role, Type, Value
from ...compiler.rewrites.simplify.dead import alive
from ...compiler.rewrites.tools.transport import TargetBody, Terms
from ...compiler.rewrites.tools.walk import Fresh, Walk, with_names, with_operands
from ...compiler.sizes.axes import Axis, axes_in, consts_in
from ...compiler.streams.region import varies
from ...dsl.base.records import replace


def opened(graph: Graph) -> Graph:
    """The graph with the calls of such blocks replaced by what they do."""
    return Walk(lambda _, new: _opened(new))(graph)


def _opens(node: object) -> bool:
    if not isinstance(node, Call) or node.graph.kind != "block" or owns(node.graph):
        return False
    return all(
        isinstance(inner, Constant | Positions) or (isinstance(inner, Apply) and not inner.traits.acts)
        for inner in node.graph.nodes
    )


def _opened(graph: Graph) -> Graph:
    if not any(map(_opens, graph.nodes)):
        return graph
    body = TargetBody(graph)
    same: dict[int, Value] = {}
    names: dict[int, str | None] = {}
    for old in graph.nodes:
        node = with_operands(old, same)
        if not isinstance(node, Call) or not _opens(node):
            body.add(node)
            continue
        values = {item.value.id: arg for item, arg in zip(node.graph.inputs, node.args, strict=True)}
        terms = Terms(body, node.graph, dict(node.axes), dict(node.consts), values)
        known = len(body.nodes)
        body.bring(node.graph.nodes, terms)
        made_here = {value.id for one in body.nodes[known:] for value in makes(one)}
        for output, out in zip(node.graph.outputs, node.outs, strict=True):
            same[out.id] = made = terms.values[output.value.id]
            if made.id in made_here and out.name is not None:
                names[made.id] = out.name
    outputs = tuple(replace(one, value=same.get(one.value.id, one.value)) for one in graph.outputs)
    nodes = tuple(with_names(node, names) for node in body.nodes)
    return replace(graph, nodes=nodes, outputs=outputs, axes=(*graph.axes, *body.new_axes))


# -- what is made of positions ----------------------------------------------------------------------------------------


def sunk(graph: Graph) -> Graph:
    """The graph with tables of several widths (masks, biases) made in the blocks and repeats that are given them."""
    return _TableMover().graph(graph)


@dataclass(frozen=True)
class _Recipe:
    """How the argument at a place is made, in the caller: nodes, and leaves, those values that are passed on.

    axes: what those of the caller are in the callee. key: what two have in common that are the same.
    """

    place: int
    nodes: tuple[Node, ...]
    root: Value
    leaves: tuple[Value, ...]
    axes: Mapping[Axis, Axis]
    key: object


@dataclass
class _TableMover:
    known: dict[object, Graph] = field(default_factory=dict)
    kept: list[Graph] = field(default_factory=list)

    def graph(self, graph: Graph) -> Graph:
        makers = {out.id: node for node in graph.nodes for out in makes(node)}
        recipes = [self._recipes(node, makers) for node in graph.nodes]
        unlike = self._unlike(graph, recipes)
        nodes: list[Node] = []
        for node, these in zip(graph.nodes, recipes, strict=True):
            match node:
                case Call() if node.graph.kind == "op":
                    nodes.append(node)
                case Call():
                    these = () if node.name in unlike else these
                    nodes.append(replace(node, graph=self._inside(node.graph, these), args=_args(node.args, these)))
                case Repeat():
                    bodies = tuple(self._inside(body, these) for body in node.bodies)
                    nodes.append(replace(node, bodies=bodies, args=_args(node.args, these)))
                case Scan():
                    nodes.append(replace(node, graph=self._inside(node.graph, ())))
                case _:
                    nodes.append(node)
        return alive(replace(graph, nodes=tuple(nodes)))

    def _unlike(self, graph: Graph, recipes: list[tuple[_Recipe, ...]]) -> set[str]:
        """Names of calls that share weights but would get unlike tables: one set of weights is of one class."""
        found: dict[str, set[object]] = {}
        for node, these in zip(graph.nodes, recipes, strict=True):
            if isinstance(node, Call):
                found.setdefault(node.name, set()).add((id(node.graph), tuple((one.place, one.key) for one in these)))
        return {name for name, ways in found.items() if len(ways) > 1}

    def _inside(self, graph: Graph, recipes: tuple[_Recipe, ...]) -> Graph:
        key = (id(graph), tuple((one.place, one.key) for one in recipes))
        if key not in self.known:
            self.kept.append(graph)
            self.known[key] = self.graph(_with(graph, recipes))
        return self.known[key]

    def _recipes(self, node: Node, makers: Mapping[int, Node]) -> tuple[_Recipe, ...]:
        match node:
            case Call() if node.name and node.graph.kind == "block" and owns(node.graph):
                axes: dict[Axis, Axis] | None = {theirs: own for own, theirs in node.axes}
                axes = {**{axis: axis for axis in node.graph.lifted}, **(axes or {})}
                if len(axes) < len(node.axes):
                    return ()
                inputs, first = node.graph.inputs, 0
            case Repeat():
                axes, inputs, first = None, node.bodies[0].inputs, node.carried
            case _:
                return ()
        found = []
        for place, arg in enumerate(node.args):
            formal = inputs[place].value
            if place >= first and not formal.type.broadcast_axes and sum(a.is_width for a in varies(arg)) > 1:
                recipe = _recipe(place, arg, makers, axes)
                if recipe is not None and len(varies(arg)) == len(formal.type.axes):
                    found.append(recipe)
        return tuple(found)


def _recipe(place: int, root: Value, makers: Mapping[int, Node], axes: Mapping[Axis, Axis] | None) -> _Recipe | None:
    nodes: dict[int, Node] = {}
    leaves: dict[int, Value] = {}

    def take(value: Value) -> bool:
        node = makers.get(value.id)
        if node is not None and id(node) in nodes:
            return True
        if isinstance(node, Constant | Positions | Apply) and _sinks(node, axes):
            if not all(map(take, reads(node))):
                return False
            nodes[id(node)] = node
            return True
        leaves[value.id] = value
        mapped = axes is None or all(axis in axes for axis in value.type.axes)
        return mapped and sum(axis.is_width for axis in varies(value)) < 2 and value.role is not Role.CONSTANT

    if not take(root) or root.id in leaves:
        return None
    known = dict(axes or {})
    parts: list[object] = [sorted((a.id, b.id) for a, b in known.items())]
    order = {value.id: number for number, value in enumerate(leaves.values())}
    parts += [(value.role, repr(value.type), value.name) for value in leaves.values()]
    for node in nodes.values():
        order |= {out.id: len(order) for out in makes(node)}
        mine = [getattr(node, name, ()) for name in ("axes", "made", "axis", "value")]
        options = sorted(node.options.items()) if isinstance(node, Apply) else ()
        op = node.op if isinstance(node, Apply) else ""
        parts.append((type(node).__name__, op, [order[value.id] for value in reads(node)], mine, options))
    return _Recipe(place, tuple(nodes.values()), root, tuple(leaves.values()), known, repr(parts))


def _sinks(node: Constant | Positions | Apply, axes: Mapping[Axis, Axis] | None) -> bool:
    """Whether a node can be made in a callee: of positions and numbers, item by item, in axes that the callee has."""
    if isinstance(node, Constant):
        return not consts_in(node.value) and not axes_in(node.value)
    mine = {axis for out in makes(node) for axis in out.type.axes}
    if isinstance(node, Apply):
        mine |= {*node.axes, *node.made}
        reads_so = node.traits.reads
        item_by_item = isinstance(reads_so, Pointwise) or reads_so in [Arrange(IndexMap.SAME), Arrange(IndexMap.NEW)]
        if not item_by_item or node.weights or node.traits.random or node.traits.acts or node.out.role > Role.DATA:
            return False
        if any(axes_in(value) or consts_in(value) for value in node.options.values()):
            return False
    return axes is None or mine <= axes.keys()


def _args(args: tuple[Value, ...], recipes: tuple[_Recipe, ...]) -> tuple[Value, ...]:
    gone = {one.place for one in recipes}
    left = (arg for place, arg in enumerate(args) if place not in gone)
    return (*left, *(leaf for one in recipes for leaf in one.leaves))


def _with(graph: Graph, recipes: tuple[_Recipe, ...]) -> Graph:
    """The callee that makes these arguments itself."""
    if not recipes:
        return graph
    fresh, same = Fresh(graph), dict[int, Value]()
    places = {one.place for one in recipes}
    given = [{leaf.id: fresh(replace(leaf, type=_moved(leaf, one.axes))) for leaf in one.leaves} for one in recipes]
    entering = [Input(value.name or "x", value) for values in given for value in values.values()]
    body = TargetBody(replace(graph, inputs=(*graph.inputs, *entering)))
    for one, values in zip(recipes, given, strict=True):
        terms = Terms(body, graph, dict(one.axes), {}, dict(values), False)
        body.bring(one.nodes, terms)
        same[graph.inputs[one.place].value.id] = terms.values[one.root.id]
    for node in graph.nodes:
        body.add(with_operands(node, same))
    inputs = (item for place, item in enumerate(graph.inputs) if place not in places)
    outputs = tuple(replace(each, value=same.get(each.value.id, each.value)) for each in graph.outputs)
    return replace(graph, inputs=(*inputs, *entering), nodes=tuple(body.nodes), outputs=outputs)


def _moved(value: Value, axes: Mapping[Axis, Axis]) -> Type:
    """The type of a value in the axes of a callee."""
    element = value.type.element
    return Type(
        IndexInto(axes.get(element.axis, element.axis)) if isinstance(element, IndexInto) else element,
        tuple(axes.get(axis, axis) for axis in value.type.axes),
        frozenset(axes.get(axis, axis) for axis in value.type.broadcast_axes),
    )
