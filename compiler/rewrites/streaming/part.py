"""Biases that a block with weights makes of positions are made by who calls it, of what it has learned.

T5's block looks each pair of positions up in its table, and gives an array of all queries and keys. Here it gives the
table, and a second block without weights, which stands where it is called, does the arithmetic and looks up: a kernel
does that in its loop. What it does not do: part results of repeats and of scans.
"""

from __future__ import annotations

from ....dsl.base.records import replace
from ...graph.core.index import Index, index_of
from ...graph.nodes import Call, Constant, Graph, Input, Node, Output, Positions, makes, owns, reads
from ...graph.values import IndexInto, Role, Type, Value
from ...sizes.axes import Axis
from ..simplify.dead import alive
from ..tools.walk import Fresh, Walk
from .sink import is_pointwise


def part(graph: Graph) -> Graph:
    """The graph with such blocks parted."""
    halves: dict[int, tuple[Graph, Graph, Graph, tuple[int, ...]] | None] = {}

    def parted(_: Graph, new: Graph) -> Graph:
        nodes, fresh = list[Node](), Fresh(new)
        for node in new.nodes:
            if isinstance(node, Call) and id(node.graph) not in halves:
                halves[id(node.graph)] = _halves(node.graph)
            found = halves[id(node.graph)] if isinstance(node, Call) else None
            made = _calls(node, *found[1:], fresh) if isinstance(node, Call) and found is not None else None
            nodes += [node] if made is None else made
        return new if len(nodes) == len(new.nodes) else replace(new, nodes=tuple(nodes))

    return Walk(parted)(graph)


def _halves(graph: Graph) -> tuple[Graph, Graph, Graph, tuple[int, ...]] | None:
    """The graph, what learns of it, what is made of that, and which results the second has."""
    if graph.kind != "block" or graph.target or graph.stepped is not None or not owns(graph):
        return None
    index = index_of(graph)
    moved: dict[int, Node] = {}
    leaves: dict[int, Value] = {}
    places = []
    for place, output in enumerate(graph.outputs):
        nodes, read = _made_of(output.value, index)
        large = any(out.role is Role.TABLE and _widths(out) > 1 for node in nodes.values() for out in makes(node))
        if large and all(_widths(leaf) < 2 and leaf.role > Role.CONSTANT for leaf in read.values()):
            places.append(place)
            moved |= nodes
            leaves |= read
    given = {item.value.id for item in graph.inputs}
    learned = [leaf for leaf in leaves.values() if leaf.id not in given]
    if not learned:
        return None
    kept = tuple(one for place, one in enumerate(graph.outputs) if place not in places)
    outputs = tuple(
        Output(f"given{place}" if kept or len(learned) > 1 else None, leaf, _own(leaf, graph))
        for place, leaf in enumerate(learned)
    )
    inputs = tuple(Input(leaf.name or f"given{place}", leaf) for place, leaf in enumerate(learned))
    entering = tuple(item for item in graph.inputs if item.value.id in leaves)
    first = alive(replace(graph, outputs=(*kept, *outputs)))
    second = replace(
        graph,
        inputs=(*inputs, *entering),
        nodes=tuple(node for node in graph.nodes if any(out.id in moved for out in makes(node))),
        outputs=tuple(graph.outputs[place] for place in places),
    )
    return graph, first, second, tuple(places)


def _calls(node: Call, first: Graph, second: Graph, places: tuple[int, ...], fresh: Fresh) -> list[Node] | None:
    """The calls of both halves; None where what the first one gives has axes that the caller does not know."""
    axes = dict(node.axes)
    kept = tuple(out for place, out in enumerate(node.outs) if place not in places)
    made = []
    for output in first.outputs[len(kept) :]:
        type, element = output.value.type, output.value.type.element
        mentioned = {*type.axes, *([element.axis] if isinstance(element, IndexInto) else [])}
        if mentioned - axes.keys() - {*first.lifted}:
            return None
        of = tuple(axes.get(axis, axis) for axis in type.axes)
        same = frozenset(axes.get(axis, axis) for axis in type.broadcast_axes)
        element = IndexInto(axes.get(element.axis, element.axis)) if isinstance(element, IndexInto) else element
        made.append(fresh(replace(output.value, type=Type(element, of, same))))
    given = {item.value.id: arg for item, arg in zip(node.graph.inputs, node.args, strict=True)}
    entering = (given[item.value.id] for item in second.inputs[len(made) :])
    outs = tuple(out for place, out in enumerate(node.outs) if place in places)
    return [
        replace(node, graph=first, outs=(*kept, *made)),
        replace(node, graph=second, args=(*made, *entering), outs=outs),
    ]


def _made_of(value: Value, index: Index) -> tuple[dict[int, Node], dict[int, Value]]:
    """What makes a value pair by pair, by the ids of what it makes, and what that reads."""
    nodes, read, left = dict[int, Node](), dict[int, Value](), [value]
    while left:
        one = left.pop()
        node = index.maker(one)
        if node is None or not (isinstance(node, Constant | Positions) or is_pointwise(node, one)):
            read[one.id] = one
        elif one.id not in nodes:
            nodes[one.id] = node
            left += reads(node)
    return nodes, read


def _widths(value: Value) -> int:
    return sum(axis.is_width for axis in value.type.axes)


def _own(value: Value, graph: Graph) -> tuple[Axis, ...]:
    return tuple(axis for axis in value.type.axes if axis not in graph.lifted)
