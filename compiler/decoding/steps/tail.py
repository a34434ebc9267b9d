"""Of the result of a step only the last items may be needed (the next token needs one): what comes after all mixing of
items is done for these alone. `tail` takes them, as many as the step is asked for. A result has one axis of time, and
nothing that is done for each new item alike takes an axis away: so what is shortened has one axis of new items, too.
"""

from __future__ import annotations

from dataclasses import replace

from ...graph.nodes import Apply, Call, Graph, Node, Output, Stepped, makes, reads, values_of
from ...graph.traits import Anything
from ...graph.values import Type, Value
from ...ops import op_named
from ...sizes.axes import Axis


def take_tail(graph: Graph, new: frozenset[Axis], tail: Axis) -> Graph:
    """The graph of a step, its results along `tail` in place of the axes `new` of all new items."""
    readers: dict[int, list[int]] = {}
    for place, node in enumerate(graph.nodes):
        for value in reads(node):
            readers.setdefault(value.id, []).append(place)
    late: set[int] = set()  # nodes that are done for the tail alone
    for place in reversed(range(len(graph.nodes))):
        node = graph.nodes[place]
        outs = makes(node)
        if _itemwise(node, new) and all(set(readers.get(out.id, ())) <= late for out in outs):
            late.add(place)
    change: dict[int, Value] = {}
    nodes: list[Node] = []
    top = max((value.id for value in values_of(graph)), default=0)

    def shortened(type: Type) -> Type:
        axes = tuple(tail if axis in new else axis for axis in type.axes)
        return replace(
            type, axes=axes, broadcast_axes=frozenset(tail if axis in new else axis for axis in type.broadcast_axes)
        )

    def last(value: Value) -> Value:
        nonlocal top
        found = [axis for axis in value.type.axes if axis in new]
        if not found:
            return value
        if value.id not in change:
            top += 1
            change[value.id] = replace(value, id=top, type=shortened(value.type))
            nodes.append(Apply(op_named("tail"), (value,), change[value.id], (found[0],), (tail,)))
        return change[value.id]

    for place, node in enumerate(graph.nodes):
        if place not in late:
            nodes.append(node)
            continue
        outs = makes(node)
        if isinstance(node, Apply):
            operands = tuple(last(value) for value in node.operands)
            mask = None if node.mask is None else last(node.mask)
            out = replace(node.out, type=shortened(node.out.type))
            made = tuple(tail if axis in new else axis for axis in node.made)
            nodes.append(replace(node, operands=operands, mask=mask, out=out, made=made))
        else:
            assert isinstance(node, Call)
            args = tuple(last(value) for value in node.args)
            pairs = tuple((formal, tail if actual in new else actual) for formal, actual in node.axes)
            made_ = tuple(replace(out, type=shortened(out.type)) for out in node.outs)
            nodes.append(replace(node, args=args, outs=made_, axes=pairs))
        for out in outs:
            change[out.id] = replace(out, type=shortened(out.type))
    outputs = []
    for output in graph.outputs:
        axes = tuple(tail if axis in new else axis for axis in output.axes)
        outputs.append(Output(output.name, last(output.value), axes))
    stepped = graph.stepped
    assert isinstance(stepped, Stepped)
    return replace(graph, nodes=tuple(nodes), outputs=tuple(outputs), stepped=replace(stepped, tail=tail))


def _itemwise(node: Node, new: frozenset[Axis]) -> bool:
    """Whether a node computes each new item from that item alone."""
    match node:
        case Apply():
            anything = isinstance(node.traits.reads, Anything)  # it may read the cache, say, which its axes do not show
            return not anything and not new & {*node.axes, *node.each}
        case Call():
            return node.graph.stepped is None
        case _:
            return False
