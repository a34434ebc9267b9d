"""A scan does item by item what hangs on its states alone: the rest is done before the loop, or behind it, for all.

The maps of what enters become one product over the whole width. In place of the scan its block is called once; what is
left of the block is a scan in it, without a name: its weights stay where they were. What it leaves in the loop: what
draws at random, keeps or checks anything; and what makes more of an item than it reads, such as outer products, of
which all items together would not fit in memory.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import replace

from ...graph.nodes import Apply, Call, Constant, Graph, Input, Node, Scan, makes, reads
from ...graph.traits import Gather
from ...graph.values import Role, Scalar, Type, Value
from ...sizes.axes import ConstOf, Static, known
from ..simplify.dead import alive
from ..tools.walk import Fresh
from .replaced import with_calls
from .widen import Widened, along, behind, in_written_order, inputs_along, with_axis

UNKNOWN = 64  # items of a width
TIMES = 4  # how many more numbers of an item may wait for what is done behind the loop than the item has


def lift_scans(graph: Graph) -> Graph:
    """The graph with loops that do only what must wait."""
    return with_calls(
        graph,
        lambda scan, numbers: numbers if scan.name else None,
        lambda scan, numbers, outs: _Lift(scan, numbers).block(outs),
    )


def _size(value: Value) -> int:
    return math.prod(axis.extent or UNKNOWN for axis in value.type.axes)


def _is_view(node: Apply) -> bool:
    """Whether it only looks at an operand otherwise."""
    one = node.traits.reads == Gather() and node.operands[1].role is Role.CONSTANT
    return (one or not node.traits.cost.moves) and not node.weights


class _Lift:
    """One scan. `before`: nodes for all items; `inside`: those of the loop; `after`: those for all items behind it."""

    def __init__(self, scan: Scan, starts: Mapping[int, Static]) -> None:
        self.starts, self.fresh = starts, Fresh(scan.graph)
        self.scan, self.graph, self.axis = scan, scan.graph, scan.axis
        self.inputs = inputs_along(scan)
        self.widened = Widened(self.axis)
        held = {self.graph.inputs[place].value.id for place, _ in scan.states}
        self.values = {item.value.id: item.value for item in self.inputs if item.value.id not in held}
        self.before: list[Node] = []
        self.inside: list[Node] = []
        self.after: list[Node] = []

    def block(self, outs: tuple[int, ...]) -> Graph | None:
        """The block over all items, with these results; None where all of it must wait."""
        for node in self.graph.nodes:
            now = self._now(node)
            if now is None:
                self.inside.append(node)
            else:
                self.before.append(now)
                self.values |= {out.id: out for out in makes(now)}
        self._leave_views()
        results = [self.graph.outputs[place] for place in outs]
        self._put_behind([one.value for one in results])
        work = any(
            isinstance(node, Call) or (isinstance(node, Apply) and node.traits.cost.moves) for node in self.before
        )
        if not work and not self.after:
            return None
        return self._whole(outs)

    def _now(self, node: Node) -> Node | None:
        """A node done for all items before the loop."""
        if any(value.id not in self.values for value in reads(node)):
            return None
        now = self.widened.node(node, self.values)
        if not isinstance(node, Apply) or node.weights or not node.operands or now is None:
            return now
        return None if self.axis in makes(now)[0].type.axes and _size(node.out) > max(map(_size, reads(node))) else now

    def _leave_views(self) -> None:
        """What only looks at a value otherwise stays in the loop, where it is read there alone."""
        read = {one.value.id for one in self.graph.outputs}
        for node in reversed(self.before):
            (out, *_) = makes(node)
            if isinstance(node, Apply) and _is_view(node) and out.id not in read:
                self.before.remove(node)
                del self.values[out.id]
            else:
                read |= {value.id for value in reads(node)}
        done = {out.id for node in self.before for out in makes(node)}
        self.inside = [node for node in self.graph.nodes if not any(out.id in done for out in makes(node))]

    def _put_behind(self, results: Iterable[Value]) -> None:
        """Takes out of the loop what learned maps make of it that no state waits for."""
        wanted = {self.graph.outputs[result].value.id for _, result in self.scan.states}
        waiting: list[Node] = []
        for node in reversed(self.inside):
            if any(out.id in wanted for out in makes(node)) or not isinstance(node, Apply | Call):
                wanted |= {value.id for value in reads(node)}
            else:
                waiting.insert(0, node)
        if not any(isinstance(node, Apply) and node.weights for node in waiting):
            return
        made = {out.id for node in waiting for out in makes(node)}
        leaving = {x.id: x for node in waiting for x in reads(node) if x.id not in made and x.id not in self.values}
        most = TIMES * max(
            [_size(self.graph.inputs[place].value) for place in self.scan.steps] + [_size(x) for x in results]
        )
        values = self.values | {number: along(value, self.axis) for number, value in leaving.items()}
        moved: list[Node] = []
        for node in waiting:
            now = self.widened.node(node, values)
            if now is None:
                return
            values |= {out.id: out for out in makes(now)}
            moved.append(now)
        if sum(map(_size, leaving.values())) <= most:
            self.after, self.leaving = moved, list(leaving.values())
            self.inside = [node for node in self.inside if node not in waiting]

    def _whole(self, outs: tuple[int, ...]) -> Graph | None:
        """The block, with what is left of it as a scan."""
        graph, scan = self.graph, self.scan
        behind_loop = {out.id for node in self.after for out in makes(node)}
        results = [graph.outputs[place] for place in outs]
        nexts = [graph.outputs[result] for _, result in scan.states]
        given = [*nexts, *(one for one in results if one.value.id not in behind_loop)]
        if self.after:
            given += [replace(graph.outputs[0], name=x.name, value=x, axes=x.type.axes) for x in self.leaving]
        leaves = list({one.value.id: one for one in given if one.value.id not in self.values}.values())
        states = [graph.inputs[place] for place, _ in scan.states]
        made = {out.id for node in self.inside for out in makes(node)} | {item.value.id for item in states}
        wanted = {x.id: x for node in self.inside for x in reads(node)} | {one.value.id: one.value for one in nexts}
        numbers = [node for node in graph.nodes if isinstance(node, Constant) and node.out.id in wanted]
        made |= {node.out.id for node in numbers}
        enters = [value for number, value in wanted.items() if number not in made]
        names = {item.value.id: item.name for item in graph.inputs}
        inputs = [Input(names.get(value.id) or value.name or _called(value, graph), value) for value in enters]
        leaves += [one for one in nexts if one.value.id in self.values]
        inner = replace(
            graph,
            name=f"{graph.name}_item",
            inputs=(*_distinct(inputs, states), *states),
            nodes=(*numbers, *self.inside),
            outputs=tuple(leaves),
            doc="",
        )
        at = {one.value.id: place for place, one in enumerate(inner.outputs)}
        args = [self.values[value.id] for value in enters] + [self._start(place) for place, _ in scan.states]
        steps = tuple(place for place, value in enumerate(args[: len(enters)]) if self.axis in value.type.axes)
        moved = tuple(along(one.value, self.axis) for one in inner.outputs)
        carried = tuple((len(enters) + number, at[one.value.id]) for number, one in enumerate(nexts))
        axes = tuple((axis, axis) for axis in graph.axes)
        consts = tuple((const, ConstOf(const)) for const in graph.consts)
        loop = Scan(inner, "", self.axis, tuple(args), steps, carried, moved, axes, consts, scan.span)
        final = {value.id: value for value in (*self.values.values(), *moved)}
        final |= {out.id: out for node in self.after for out in makes(node)}
        outputs = tuple(replace(one, value=final[one.value.id], axes=behind(one.axes, self.axis)) for one in results)
        if any(self.axis not in one.value.type.axes for one in outputs):
            return None
        nodes = tuple(in_written_order(graph, [*self.before, loop, *self.after]))
        entering = tuple(item for place, item in enumerate(self.inputs) if place not in self.starts)
        return alive(replace(with_axis(graph, self.axis), inputs=entering, nodes=nodes, outputs=outputs))

    def _start(self, place: int) -> Value:
        """A state before the first item."""
        value = self.graph.inputs[place].value
        if place not in self.starts:
            return value
        kind = Scalar.REAL if isinstance(known(self.starts[place]), float) else Scalar.INT
        out = self.fresh(replace(value, type=Type(kind, ()), role=Role.CONSTANT, name=None))
        self.before.append(Constant(self.starts[place], out))
        return out


def _called(value: Value, graph: Graph) -> str:
    """What to call what the loop takes of a value without a name: as its reader calls what it makes."""
    for node in graph.nodes:
        if any(x.id == value.id for x in reads(node)):
            return makes(node)[0].name or "x"
    return "x"


def _distinct(inputs: Iterable[Input], others: Iterable[Input]) -> list[Input]:
    """Inputs with names that no other has."""
    taken = {item.name for item in others}
    found = []
    for item in inputs:
        name, number = item.name, 1
        while name in taken:
            number += 1
            name = f"{item.name}_{number}"
        taken.add(name)
        found.append(replace(item, name=name))
    return found
