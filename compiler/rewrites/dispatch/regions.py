"""What is read at picks alone, and can be made for the rows that they are: of experts, all but the router."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ...graph.nodes import Apply, makes, reads
from ...graph.traits import (
    Anything,
    Arrange,
    Combination,
    Gather,
    IndexMap,
    Pointwise,
    Product,
    Reduce,
)
from ...graph.values import Role, Value
from ...sizes.axes import Axis
from .picked import Picked, PickedValues, PickMask


@dataclass(frozen=True, slots=True)
class Region:
    """What is to be done for rows.

    reader: what reads picks alone. axis: along which. best, rank, kept: as in `Picked`.
    items:  the axes of `best` but rank.
    inside: ids of the values that rows are made for. ends: those of them that the reader reads.
    weights: what the reader multiplies with them, at the picks.
    """

    reader: Apply
    axis: Axis
    best: Value
    rank: Axis | None
    kept: Value | None
    items: tuple[Axis, ...]
    inside: frozenset[int]
    ends: tuple[Value, ...]
    weights: tuple[Value, ...]


@dataclass(frozen=True, slots=True)
class Grouped:
    """x times a matrix for each index: the node's own, or `weight`, with these axes beside those that are summed."""

    x: Value
    weight: Value | None
    made: tuple[Axis, ...]


@dataclass(frozen=True, slots=True)
class Regions:
    """Of one graph."""

    picked: PickedValues

    def region(self, node: Apply) -> Region | None:
        """What this node reads at picks alone, if products are saved."""
        match node.traits.reads:
            case Reduce(Combination(adds=True, averages=False)) if len(node.axes) == 1 and not node.weights:
                return None if node.mask is not None else self._of_sum(node)
            case Gather() if node.operands[1].role is Role.DATA and len(node.axes) == 1:
                return self._of_gather(node)
            case _:
                return None

    def _of_sum(self, node: Apply) -> Region | None:
        axis, absorbed = node.axes[0], [node]
        factors = [factor for value in node.operands for factor in self._factors(value, absorbed)]
        for place, weights in enumerate(factors):
            others = [*factors[:place], *factors[place + 1 :]]
            if not any(self._saves(other, axis) for other in others):
                continue
            found = self.picked.weighed(weights, axis)
            if found is None:
                continue
            region = self._region(node, axis, found, others, absorbed)
            if region is not None:
                return region
        return None

    def _factors(self, value: Value, absorbed: list[Apply]) -> list[Value]:
        """What is multiplied to make it, where nothing else reads it."""
        node = self.picked.index.maker(value)
        if isinstance(node, Apply) and node.traits.reads == Pointwise(Product()) and self.picked.index.alone(value):
            absorbed.append(node)
            return [factor for operand in node.operands for factor in self._factors(operand, absorbed)]
        return [value]

    def _saves(self, value: Value, axis: Axis) -> bool:
        """Whether products for each index of the axis may lie behind a value."""
        seen, todo = set[int](), [value]
        while todo:
            value = todo.pop()
            node = self.picked.index.maker(value)
            if value.id in seen or axis not in value.type.varying or not isinstance(node, Apply):
                continue
            seen.add(value.id)
            if contracts(node):
                return True
            todo += reads(node)
        return False

    def _of_gather(self, node: Apply) -> Region | None:
        x, best = node.operands
        axis = node.axes[0]
        own = [one for one in best.type.varying if one not in x.type.varying]
        if len(own) > 1 or axis in best.type.varying or not self._saves(x, axis):
            return None
        mask = Picked(best, own[0] if own else None, node.mask, x)
        return self._region(node, axis, mask, [x], [node])

    def _region(
        self, reader: Apply, axis: Axis, found: Picked, others: Sequence[Value], absorbed: Sequence[Apply]
    ) -> Region | None:
        rank = found.rank
        if rank is not None and rank.extent is not None and axis.extent is not None and rank.extent >= axis.extent:
            return None
        items = tuple(one for one in found.best.type.varying if one != rank)
        inside = self._inside([other for other in others if axis in other.type.varying], axis, rank, items, absorbed)
        nodes = [node for node in self.picked.graph.nodes if isinstance(node, Apply) and node.out.id in inside]
        if not any(map(contracts, nodes)):
            return None
        lifted = {one for node in nodes for value in (*reads(node), *makes(node)) for one in value.type.varying}
        if not lifted & {*self.picked.graph.lifted} <= {*items}:
            return None
        ends = tuple(other for other in others if other.id in inside)
        mask = PickMask(found.best, rank, found.kept)
        beside = tuple(self.picked.at(other, mask, axis) for other in others if other.id not in inside)
        weights = () if isinstance(reader.traits.reads, Gather) else (found.weight, *beside)
        return Region(reader, axis, found.best, rank, found.kept, items, frozenset(inside), ends, weights)

    def _inside(
        self, ends: Sequence[Value], axis: Axis, rank: Axis | None, items: Sequence[Axis], absorbed: Sequence[Apply]
    ) -> set[int]:
        """The values behind these that can be made for rows alone, and that nothing else reads."""
        found, todo = set[int](), [*ends]
        while todo:
            value = todo.pop()
            node = self.picked.index.maker(value)
            if value.id in found or axis not in value.type.varying or not isinstance(node, Apply):
                continue
            if _for_rows(node, axis, rank, items):
                found.add(value.id)
                todo += reads(node)
        index = self.picked.index
        found -= index.returned
        while True:
            readers = [*absorbed, *(index.made_by[id] for id in found)]
            kept = {id for id in found if all(any(one is each for each in readers) for one, _ in index.readers[id])}
            if kept == found:
                return found
            found = kept


def contracts(node: Apply) -> bool:
    """Whether it multiplies and sums: products, which are to be saved."""
    return isinstance(node.traits.reads, Reduce) and node.traits.reads.multiplies


def grouped_map(node: Apply, axis: Axis) -> Grouped | None:
    """What it multiplies with a matrix for each index of the axis, and that, if it does."""
    if not contracts(node):
        return None
    if node.weights:
        return Grouped(node.operands[0], None, node.made) if node.each == (axis,) else None
    if len(node.operands) != 2:
        return None
    for x, weight in (node.operands, node.operands[::-1]):
        made = tuple(one for one in weight.type.axes if one not in (axis, *node.axes))
        if (
            weight.role is not Role.WEIGHT
            or x.role is not Role.DATA
            or not {axis, *node.axes} <= {*weight.type.varying}
        ):
            continue
        if {*node.axes} <= {*x.type.varying} and made and not {*made} & {*x.type.axes}:
            return Grouped(x, weight, made)
    return None


def _for_rows(node: Apply, axis: Axis, rank: Axis | None, items: Sequence[Axis]) -> bool:
    """Whether an op does the same for each index of the axis, and for each item, so that it can be done for rows."""
    values = (*reads(node), node.out)
    if any(rank in value.type.axes for value in values):
        return False
    if node.traits.reads == Arrange(IndexMap.NEW) and node.made == (axis,):
        return True
    acted = {*node.axes, *node.made}
    if isinstance(node.traits.reads, Anything) or node.traits.acts or axis in acted or acted & {*items}:
        return False
    if node.each and node.each != (axis,):
        return False
    # A matrix for each row would have to be copied, but where a product of all rows of an index takes it as it is.
    return (
        grouped_map(node, axis) is not None
        or not contracts(node)
        or not any(
            value.role is not Role.DATA and axis in value.type.varying and len(value.type.varying) > 2
            for value in values
        )
    )
