"""What is computed for each index of an axis, but read at picked ones alone, is computed for these.

Such is a mixture of experts: of `made` [expert, model] a weighed sum reads what `best: expert[chosen]` picks,

    made[expert = best]
    dot[expert](weights, made)     where the weights are exactly 0 but at the picks, made here or by a block:
                                       sum[chosen](select(expert == best and .., w, 0))
                                       select(expert == best, w, 0), select(any[chosen](expert == best), w, 0)
                                       softmax[expert](s where any[chosen](expert == best))
                                       and such times, or over, something

What lies between such a reader and values that are not of the axis, or are read elsewhere too, is done for *rows*: an
item for one of its picks, sorted by pick. `dispatch(best)` sorts, `rows(x)` gives what each row reads of x, `back`
brings each row to its item and its rank. In between values have neither the axis nor those of the items: rows stand
where the batch stands. A learned map with weights for each index (`linear[expert: a -> b]`), or a `dot` with such
weights, then multiplies for each index the rows that picked it.

What is not picked is not read: where it is infinite, or no number, times 0 is no number, and here it is nothing. A
block that makes the weights gives these at the picks, and the picks. What it does not do: anything where no product is
saved, where as many are picked as there are, or where an item's rows would need axes that the picks lack.
"""

from __future__ import annotations

from dataclasses import replace

from ...graph.nodes import Apply, Graph, Node
from ...graph.traits import (
    Arrange,
    Gather,
    IndexMap,
    Product,
)
from ...graph.values import IndexInto, Role, Type, Value
from ...ops import op_named
from ...sizes.axes import Axis
from ..tools.walk import Walk, with_results
from .picked import Exposing, PickedValues
from .regions import Region, Regions, contracts, grouped_map


def dispatch(graph: Graph) -> Graph:
    """The graph with what is picked computed alone."""
    exposing = Exposing()
    return Walk(lambda _, new: DispatchedGraph(new, exposing).rewritten())(graph)


def picked_alone(graph: Graph) -> dict[int, tuple[Axis, Axis | None]]:
    """Values of this graph (by id) that are computed for picks alone: of which axis, and the axis of their ranks."""
    regions, found = Regions(PickedValues(graph, Exposing())), dict[int, tuple[Axis, Axis | None]]()
    for node in graph.nodes:
        region = regions.region(node) if isinstance(node, Apply) else None
        if region is not None:
            ids = *region.inside, region.reader.out.id
            found |= dict.fromkeys(ids, (region.axis, region.rank))
    return found


class DispatchedGraph:
    """One graph with its regions done for rows."""

    def __init__(self, graph: Graph, exposing: Exposing) -> None:
        self.picked = PickedValues(graph, exposing)
        self.regions = Regions(self.picked)

    def rewritten(self) -> Graph:
        """The graph, or the very graph where nothing changes."""
        graph, made = self.picked.graph, self.picked.made
        nodes: list[Node] = []
        gone: set[int] = set()
        for node in graph.nodes:
            region = self.regions.region(node) if isinstance(node, Apply) else None
            if region is None:
                made.clear()
                nodes.append(node)
                continue
            self._rows(region)
            nodes += made
            made.clear()
            gone |= region.inside
        if not gone:
            return graph
        left = (_left(node) if isinstance(node, Apply) and node.out.id in gone else node for node in nodes)
        return self.picked.finished([node for node in left if node is not None], graph.outputs)

    def _rows(self, region: Region) -> None:
        """Makes the nodes of a region, and what takes the place of its reader."""
        axis, items, reader = region.axis, region.items, region.reader
        given = (region.best, *([region.kept] if region.kept is not None else []))
        ranks = () if region.rank is None else (region.rank,)
        type = Type(IndexInto(axis), ())
        like = replace(region.best, name="dispatch")
        plan = self.picked.apply(op_named("dispatch"), given, type, like, axes=items, made=ranks, each=(axis,))
        done: dict[int, Value] = {}

        def rows(value: Value) -> Value:
            if value.id not in done:
                done[value.id] = taken(value)
            return done[value.id]

        def taken(value: Value) -> Value:
            if value.role is not Role.DATA and not {axis, *items} & {*value.type.varying}:
                return value
            each = (axis,) if axis in value.type.varying else ()
            operands = (value, plan)
            return self.picked.apply(op_named("rows"), operands, row_type(value), value, axes=items, each=each)

        def row_type(value: Value) -> Type:
            return Type(value.type.element, tuple(one for one in value.type.axes if one not in (axis, *items)),
                        value.type.broadcast_axes - {axis, *items})  # fmt: skip

        for node in self.picked.graph.nodes:
            if not isinstance(node, Apply) or node.out.id not in region.inside:
                continue
            out = self.picked.fresh(replace(node.out, type=row_type(node.out), role=Role.DATA))
            done[node.out.id] = out
            if node.traits.reads == Arrange(IndexMap.NEW) and node.made == (axis,):
                done[node.out.id] = rows(node.operands[0])
                continue
            grouped = grouped_map(node, axis)
            if grouped is None:
                mask = None if node.mask is None else rows(node.mask)
                self.picked.made.append(replace(node, operands=tuple(map(rows, node.operands)), out=out, mask=mask))
                continue
            traits = node.traits if grouped.weight is None else op_named("grouped")
            operands = (rows(grouped.x), plan, *([] if grouped.weight is None else [grouped.weight]))
            self.picked.made.append(
                replace(node, traits=traits, operands=operands, out=out, made=grouped.made, each=(axis,))
            )
        if self._weighs(region):
            type = replace(reader.out.type, axes=(*items, *done[region.ends[0].id].type.axes))
            operands = (done[region.ends[0].id], plan, *region.weights)
            self.picked.apply(op_named("weighed"), operands, type, reader.out, axes=items, made=ranks)
            self.picked.made.append(with_results(self.picked.made.pop(), (reader.out,)))
            return
        back = [self._back(region, done[end.id], plan) for end in region.ends]
        self._read(reader, region.rank, [*region.weights, *back], region.kept)

    def _weighs(self, region: Region) -> bool:
        """Whether rows are multiplied by a weight of their item and rank, and added up over the ranks."""
        if region.rank is None or not contracts(region.reader) or len(region.ends) != 1 or len(region.weights) != 1:
            return False
        (weights,) = region.weights
        return region.rank in weights.type.varying and {*weights.type.axes} <= {*region.items, region.rank}

    def _back(self, region: Region, value: Value, plan: Value) -> Value:
        ranks = () if region.rank is None else (region.rank,)
        type = Type(value.type.element, (*region.items, *ranks, *value.type.axes), value.type.broadcast_axes)
        operands = (value, plan)
        return self.picked.apply(op_named("back"), operands, type, value, axes=region.items, made=ranks)

    def _read(self, reader: Apply, rank: Axis | None, values: list[Value], kept: Value | None) -> None:
        """The reader, of what there is at the picks."""
        if isinstance(reader.traits.reads, Gather):
            (value,) = values
            if kept is None:  # it is what came back
                self.picked.made.append(with_results(self.picked.made.pop(), (reader.out,)))
                return
            self.picked.chosen(kept, value, reader.out)
            self.picked.made.append(with_results(self.picked.made.pop(), (reader.out,)))
        elif rank is not None and contracts(reader):
            self.picked.made.append(replace(reader, operands=tuple(values), axes=(rank,)))
        else:
            product = values[0]
            for other in values[1:]:
                product = self.picked.point(Product(), (product, other), reader.out)
            if rank is None:
                self.picked.made.append(with_results(self.picked.made.pop(), (reader.out,)))
            else:
                self.picked.made.append(replace(reader, operands=(product,), axes=(rank,)))


def _left(node: Apply) -> Apply | None:
    """What is left of a node where it stood: of a map its weights, which keep their order."""
    if not node.weights or not contracts(node):
        return None
    return replace(node, traits=op_named("map_weights"), operands=(), mask=None, out=replace(node.out, name=None))
