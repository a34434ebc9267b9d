"""The block of a scan, over all items at once: its nodes with the axis of the scan put in.

Every op lifts over axes that it does not name, so that a node which reads what each item has of its own makes that for
each of them. What is the same for all items is made once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from ...graph.core.index import index_of
from ...graph.nodes import Apply, Call, Constant, Graph, Input, Node, Scan, makes, reads
from ...graph.sources import Dependence, over_steps
from ...graph.traits import ADDED, Reduce
from ...graph.values import Role, Value
from ...ops import op_named
from ...sizes.axes import Axis, Static, known
from ..tools.same import draws
from ..tools.walk import Fresh, with_operands, with_results

WEIGHTS = op_named("map_weights")  # of a learned map, alone
CONTRACT = Reduce(ADDED, multiplies=True, skips_zeros=True)


def is_map(node: Node) -> bool:
    """Whether it is a learned map."""
    return isinstance(node, Apply) and bool(node.weights) and node.traits.reads == CONTRACT


def along(value: Value, axis: Axis) -> Value:
    """The value, one for each item of the axis."""
    kind = value.type
    return value if axis in kind.axes else replace(value, type=replace(kind, axes=behind(kind.axes, axis)))


def behind(axes: tuple[Axis, ...], axis: Axis) -> tuple[Axis, ...]:
    """These axes and that of the items, which stands before what an item is made of: `[heads, seq, key]`."""
    return (*axes[:-1], axis, *axes[-1:])


def inputs_along(scan: Scan) -> tuple[Input, ...]:
    """The inputs of the block, those of all items with their axis, in the order in which the caller has them."""
    inputs = list(scan.graph.inputs)
    outward = {**dict(scan.axes), scan.axis: scan.axis}
    for place in scan.steps:
        value = along(inputs[place].value, scan.axis)
        given, own = scan.args[place].type.axes, {outward.get(axis, axis): axis for axis in value.type.axes}
        if {*given} == {*own} and len(given) == len(own):
            value = replace(value, type=replace(value.type, axes=tuple(own[axis] for axis in given)))
        inputs[place] = replace(inputs[place], value=value)
    return tuple(inputs)


class Widened:
    """Values over all items. `values`: of each value of the block, by its id, what it is over all of them."""

    def __init__(self, axis: Axis) -> None:
        self.axis = axis
        self._graphs: dict[tuple[int, frozenset[int]], Graph | None] = {}
        self._keep: list[Graph] = []

    def node(self, node: Node, values: Mapping[int, Value]) -> Node | None:
        """The node over all items; None where it is done item by item.

        values: what became of the values that it reads, where that is not what they were.
        """
        now = with_operands(node, values)
        if not any(self.axis in value.type.axes for value in reads(now)):
            return now
        match now:
            case Apply() if not draws(now) and not now.traits.acts and not now.traits.remembers:
                return with_results(now, (along(now.out, self.axis),))
            case Call():
                having = frozenset(place for place, arg in enumerate(now.args) if self.axis in arg.type.axes)
                graph = self._graph(now.graph, having)
                if graph is None:
                    return None
                outs = [
                    along(out, self.axis) if self.axis in output.value.type.axes else out
                    for out, output in zip(now.outs, graph.outputs, strict=True)
                ]
                return replace(now, graph=graph, outs=tuple(outs))
            case _:
                return None

    def _graph(self, graph: Graph, having: frozenset[int]) -> Graph | None:
        """A block that lifts over the axis, too; having: the places of inputs that have it."""
        key = id(graph), having
        if key not in self._graphs:
            self._keep.append(graph)
            self._graphs[key] = self._lifted(graph, having)
        return self._graphs[key]

    def _lifted(self, graph: Graph, having: frozenset[int]) -> Graph | None:
        if graph.kind != "block" or graph.target or graph.stepped is not None:
            return None
        inputs = [
            replace(item, value=along(item.value, self.axis)) if place in having else item
            for place, item in enumerate(graph.inputs)
        ]
        values = {item.value.id: item.value for item in inputs}
        nodes: list[Node] = []
        for node in graph.nodes:
            now = self.node(node, values)
            if now is None:
                return None
            nodes.append(now)
            values |= {out.id: out for out in makes(now)}
        outputs = tuple(replace(one, value=values.get(one.value.id, one.value)) for one in graph.outputs)
        return replace(
            graph, inputs=tuple(inputs), nodes=tuple(nodes), outputs=outputs, lifted=(self.axis, *graph.lifted)
        )


def outs_read(graph: Graph, scan: Scan) -> tuple[int, ...]:
    """The places of the results of a scan that are read."""
    return tuple(place for place, out in enumerate(scan.outs) if out.id in index_of(graph).used)


def starting_numbers(graph: Graph, scan: Scan) -> dict[int, Static]:
    """The places of states that begin as a number, with that."""
    starts = ((place, index_of(graph).maker(scan.args[place])) for place, _ in scan.states)
    return {place: made.value for place, made in starts if isinstance(made, Constant) and known(made.value) is not None}


def with_axis(graph: Graph, axis: Axis) -> Graph:
    """The block, with that axis as a parameter, too."""
    params = graph.params
    return replace(graph, axes=(*graph.axes[:params], axis, *graph.axes[params:]), params=params + 1)


def in_written_order(graph: Graph, nodes: Sequence[Node]) -> list[Node]:
    """The nodes, after its weights in the order in which the block has them, where that is no longer theirs.

    A module's parameters stay in their order: what an optimizer has kept of them goes by that.
    """
    learned = [node for node in graph.nodes if isinstance(node, Apply) and node.weights]
    left = [node.name for node in nodes if isinstance(node, Apply) and node.weights]
    maps = [node for node in learned if is_map(node)]
    if left == [node.name for node in learned][: len(left)] or len(maps) < len(learned):
        return [*nodes]
    fresh = Fresh(replace(graph, nodes=tuple(nodes)))
    return [*(replace(node, traits=WEIGHTS, operands=(), out=fresh(node.out)) for node in maps), *nodes]


def held_over(scan: Scan) -> frozenset[int]:
    """The values of the block that hang on its states."""
    graph = scan.graph
    held = {graph.inputs[place].value.id for place, _ in scan.states}
    for node in graph.nodes:
        if any(value.id in held for value in reads(node)):
            held |= {out.id for out in makes(node)}
    return frozenset(held)


def fits(graph: Graph, scan: Scan) -> bool:
    """Whether the axis of a scan can be put into its block: one of ours that has no other use for it.

    Each result that is read hangs on all that any hangs on, so that it has whatever batch and lifted axes that has.
    """
    block = scan.graph
    own = block.kind == "block" and not block.target and block.stepped is None
    taken = {*(actual for _, actual in scan.axes), *block.axes, *block.lifted}
    if not own or any(scan.axis.family == axis.family for axis in taken):
        return False
    numbers = starting_numbers(graph, scan)
    enters = {
        place
        for place, arg in enumerate(scan.args)
        if place in scan.steps or (place not in numbers and (arg.role is Role.DATA or _has_more(scan, place)))
    }
    of = over_steps(Dependence().of_results(block), dict(scan.states))
    read = [of[place] for place in outs_read(graph, scan)]
    enters &= frozenset[int]().union(*read)
    return not enters.isdisjoint(scan.steps) and all(enters <= one for one in read)


def _has_more(scan: Scan, place: int) -> bool:
    """Whether an argument has an axis that the block does not declare."""
    outward = dict(scan.axes)
    formal = {outward.get(axis, axis) for axis in scan.graph.inputs[place].value.type.axes}
    return not {*scan.args[place].type.axes} <= formal - {*scan.graph.lifted}
