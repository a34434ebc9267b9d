"""The learned maps of a step, for the few rows that a step has (`join_maps`).

A product of one row with a matrix takes as long as the matrix takes to be read. So the step's maps of one value become
one product with their weights side by side: `map` stands for `linear`, or for `dot` with a parameter. Maps that the
graph has in a row over one operand and the same axes are done together (`joined`): queries, keys and values; gate and
up.

A block that is called with one value twice, as self-attention is, sees it once: its maps of either can be joined.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from ...graph.nodes import Apply, Call, Graph, Node, Parameter, Repeat, Stepped, owns
from ...graph.traits import Arrange, Combination, IndexMap, OpTraits, Reduce
from ...graph.values import Value
from ...ops import op_named
from ...ops.internal import ALONE
from ...sizes.axes import Axis, evaluate
from ..sites import same_node, segment


def join_maps(step: Graph) -> Graph:
    """The graph of a step whose learned maps of one value are done as one."""
    assert step.stepped is not None
    return _Maps(step.stepped).graph(_once(step))


def joined(graph: Graph, node: Apply) -> list[Apply]:
    """The maps of a graph that are done together with this one, in order."""
    roots = _Roots(graph)
    mine = roots.of(node.operands[0]), roots.back(node.operands[0], node.axes)
    return [
        other
        for other in graph.nodes
        if isinstance(other, Apply)
        and other.op == "map"
        and (roots.of(other.operands[0]), roots.back(other.operands[0], other.axes)) == mine
    ]


class _Roots:
    """Where values come from: a renamed value is the value itself, with other names for its axes."""

    def __init__(self, graph: Graph) -> None:
        applied = [node for node in graph.nodes if isinstance(node, Apply)]
        self._renamed = {n.out.id: n for n in applied if n.traits.reads == Arrange(IndexMap.SAME)}

    def of(self, value: Value) -> int:
        while value.id in self._renamed:
            value = self._renamed[value.id].operands[0]
        return value.id

    def back(self, value: Value, axes: tuple[Axis, ...]) -> tuple[Axis, ...]:
        """Axes of a value as the root has them."""
        while value.id in self._renamed:
            node = self._renamed[value.id]
            old = dict(zip(node.made, node.axes, strict=True))
            axes = tuple(old.get(axis, axis) for axis in axes)
            value = node.operands[0]
        return axes


def _once(graph: Graph) -> Graph:
    """Blocks that take one value several times take it once, and rename it inside for its other uses."""
    roots = _Roots(graph)
    nodes: list[Node] = []
    for node in graph.nodes:
        match node:
            case Call() if node.graph.stepped is not None:
                nodes.append(_single(replace(node, graph=_once(node.graph)), roots))
            case Repeat() if all(body.stepped is not None for body in node.bodies):
                nodes.append(replace(node, bodies=tuple(map(_once, node.bodies))))
            case _:
                nodes.append(node)
    return replace(graph, nodes=tuple(nodes))


def _single(node: Call, roots: _Roots) -> Call:
    outward = dict(node.axes)
    first: dict[int, int] = {}
    kept, renames = [], list[Node]()
    for place, (item, arg) in enumerate(zip(node.graph.inputs, node.args, strict=True)):
        other = first.setdefault(roots.of(arg), place)
        source = node.graph.inputs[other].value
        here = _named(node.args[other], source, outward, roots)
        there = _named(arg, item.value, outward, roots)
        same = source.type.element == item.value.type.element and source.role == item.value.role
        if other == place or here is None or there is None or set(here) != set(there) or not same:
            kept.append(place)
            continue
        change = [(here[root], there[root]) for root in here if here[root] != there[root]]
        if any(axis in node.graph.lifted for pair in change for axis in pair):  # dimensions that the block cannot name
            kept.append(place)
            continue
        axes, made = tuple(a for a, _ in change), tuple(b for _, b in change)
        renames.append(Apply(op_named("rename"), (source,), item.value, axes, made, span=node.span))
    inputs = tuple(node.graph.inputs[place] for place in kept)
    graph = replace(node.graph, inputs=inputs, nodes=(*renames, *node.graph.nodes))
    return replace(node, graph=graph, args=tuple(node.args[place] for place in kept))


def _named(arg: Value, formal: Value, outward: Mapping[Axis, Axis], roots: _Roots) -> dict[Axis, Axis] | None:
    """For each axis that the argument's root has, the formal's name for it; None where they do not correspond."""
    own = formal.type.axes
    back = roots.back(arg, tuple(outward.get(axis, axis) for axis in own))
    if len(set(back)) != len(own) or set(own) != {a for a in own if outward.get(a, a) in arg.type.axes}:
        return None
    return dict(zip(back, own, strict=True))


class _Maps:
    """Puts `map` for the learned maps of a step and of the blocks that it calls, which thereby become steps."""

    def __init__(self, root: Stepped) -> None:
        self.root = root

    def graph(self, graph: Graph) -> Graph:
        stepped = graph.stepped
        assert stepped is not None
        if stepped.origin is None:  # no block of the original corresponds to it: it has no weights
            return graph
        params = {n.out.id: n for n in graph.nodes if isinstance(n, Parameter)}
        nodes: list[Node] = []
        for place, node in enumerate(graph.nodes):
            match node:
                case Apply():
                    nodes.append(_mapped(node, params) or node)
                case Call() if node.graph.stepped is not None:
                    nodes.append(replace(node, graph=self.graph(node.graph)))
                case Call() if not node.graph.target:
                    nodes.append(self._whole(graph, place, node, stepped.origin))
                case Repeat() if all(body.stepped is not None for body in node.bodies):
                    nodes.append(replace(node, bodies=tuple(map(self.graph, node.bodies))))
                case _:
                    nodes.append(node)
        return replace(graph, nodes=tuple(nodes))

    def _whole(self, graph: Graph, place: int, node: Call, origin: Graph) -> Call:
        """A block that is done as it stands; a step of the block it is where it has maps that are done together."""
        twin = same_node(graph, place, origin)
        if not isinstance(twin, Call) or not owns(node.graph):
            return node
        stepped = Stepped("step", twin.graph, segment(graph, place), self.root.new, self.root.whole)
        found = self.graph(replace(node.graph, stepped=stepped))
        together = any(len(group) > 1 for _, step in _with_prefix(found, "") for group in maps_of_step(step))
        return replace(node, graph=found) if together else node


def _mapped(node: Apply, params: Mapping[int, Parameter]) -> Apply | None:
    """A learned map, or a contraction with a matrix [out, in], as where the embedding gives the scores, as a `map`."""
    match node:
        case Apply(traits=OpTraits(reads=Reduce(Combination(adds=True, averages=False), multiplies=True)), mask=None):
            pass
        case _:
            return None
    if node.weights:
        plain = node.weights[0].dims == (node.made, node.axes) and ALONE not in node.options
        return replace(node, traits=op_named("map")) if plain else None
    if len(node.operands) != 2:
        return None
    for x, other in (node.operands, node.operands[::-1]):
        found = params.get(other.id)
        if found is None or x.id in params or len(found.weight.dims) != 2:
            continue
        out, inner = found.weight.dims
        if inner == node.axes and out[0] not in x.type.axes:
            return replace(node, traits=op_named("map"), operands=(x,), made=out, weights=(found.weight,))
    return None


def maps_of_step(graph: Graph) -> Iterator[list[Apply]]:
    """The maps of one graph of a step: those that are done together, together."""
    return (joined(graph, node) for node in graph.nodes if isinstance(node, Apply) and node.op == "map")


def weights_together(step: Graph) -> list[tuple[str, ...]]:
    """The paths of the weights [out, in] that the maps of a step read: those that are done together, together."""
    found: dict[tuple[str, ...], None] = {}
    for prefix, graph in _with_prefix(step, ""):
        whole = [one for one in graph.nodes if isinstance(one, Apply)] if graph.stepped is None else []
        for group in (*maps_of_step(graph), *([one] for one in whole if _mapped(one, {}))):
            found.setdefault(tuple(f"{prefix}{one.weights[0].name}" for one in group))
    return list(found)


def _with_prefix(graph: Graph, prefix: str) -> Iterator[tuple[str, Graph]]:
    """Each graph of a step with the path of its weights, once for each pass of a repeat."""
    yield prefix, graph
    for node in graph.nodes:
        match node:
            case Call() if not node.graph.target:
                yield from _with_prefix(node.graph, f"{prefix}{node.name}." if node.name else prefix)
            case Repeat() if node.shared:
                for body in node.bodies:
                    yield from _with_prefix(body, prefix + node.prefix)
            case Repeat():
                for number in range(int(evaluate(node.count) or 0)):
                    body = node.bodies[node.runs(number)]
                    yield from _with_prefix(body, f"{prefix}{node.name}.{number}.")
