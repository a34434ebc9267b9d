"""Ops that arrange, and how what was said of their results is said of their operands."""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce

from ..graph.nodes import Apply
from ..graph.traits import Arrange, IndexMap
from ..sizes.axes import Arith, Axis, Literal, SizeOf, Static

_NOTHING: Static = Literal(0)


@dataclass(frozen=True, slots=True)
class Undoing:
    """An op to be done to a truth.

    stays:  it makes no axes, and those that it acts on stay.
    behind: of a gather, the place of the first item that it takes; the others follow.
    """

    op: str
    axes: tuple[Axis, ...] = ()
    made: tuple[Axis, ...] = ()
    stays: bool = False
    behind: Static | None = None


def arranges(node: Apply) -> bool:
    """Whether it only moves items about, and `undone` says how they go back."""
    return isinstance(node.traits.reads, Arrange)


def copied_along(node: Apply) -> tuple[Axis, ...]:
    """The axes that an op makes by having the same item at each of their indices."""
    return node.made if node.traits.reads == Arrange(IndexMap.NEW) else ()


def undone(node: Apply, place: int, has: tuple[Axis, ...]) -> list[Undoing]:
    """From a truth of the items of a result to one of the items of an operand, true where it is of any made of it.

    has: the axes of the truth, of those of the result.
    """
    assert isinstance(node.traits.reads, Arrange)
    if node.traits.reads.map is IndexMap.MIRRORED:
        mirrored = tuple(axis for axis in node.axes if axis in has)
        return [Undoing(node.op, mirrored, stays=True)] if mirrored else []
    if not any(axis in has for axis in node.made):
        return []
    missing = tuple(axis for axis in node.made if axis not in has)
    match node.traits.reads.map:
        case IndexMap.NEW:
            return [Undoing("any", tuple(axis for axis in node.made if axis in has))]
        case IndexMap.SAME:
            return [Undoing("rename", node.made, node.axes)]
        case IndexMap.DIGITS:
            return [*([Undoing("broadcast", (), missing)] if missing else []), Undoing("merge", node.made, node.axes)]
        case IndexMap.NUMBER:
            return [Undoing("split", node.made, node.axes)]
        case IndexMap.PARTS:
            first = reduce(lambda sum, axis: Arith("+", (sum, SizeOf(axis))), node.axes[:place], _NOTHING)
            return [Undoing("gather", node.made, (node.axes[place],), behind=first)]
        case IndexMap.SHIFTED:
            return [Undoing("gather", node.made, node.axes, behind=node.options["left"])]
        case _:
            raise AssertionError(node.traits.reads)
