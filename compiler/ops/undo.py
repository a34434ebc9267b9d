"""Ops that arrange, and how what was said of their results is said of their operands."""

from __future__ import annotations

from dataclasses import dataclass

from ..graph.nodes import Apply
from ..sizes.axes import Axis

ARRANGING = ("rename", "broadcast", "split", "merge", "concat")


@dataclass(frozen=True, slots=True)
class Undoing:
    """An op to be done to a truth.

    behind: of a gather, the axes behind whose items those begin that it takes, one after the other.
    """

    op: str
    axes: tuple[Axis, ...] = ()
    made: tuple[Axis, ...] = ()
    behind: tuple[Axis, ...] | None = None


def undone(node: Apply, place: int, has: tuple[Axis, ...]) -> list[Undoing]:
    """From a truth of the items of a result to one of the items of an operand, true where it is of any made of it.

    has: the axes of the truth, of those of the result.
    """
    if not any(axis in has for axis in node.made):
        return []
    missing = tuple(axis for axis in node.made if axis not in has)
    match node.op:
        case "broadcast":
            return [Undoing("any", tuple(axis for axis in node.made if axis in has))]
        case "rename":
            return [Undoing("rename", node.made, node.axes)]
        case "split":
            return [*([Undoing("broadcast", (), missing)] if missing else []), Undoing("merge", node.made, node.axes)]
        case "merge":
            return [Undoing("split", node.made, node.axes)]
        case _:
            return [Undoing("gather", node.made, (node.axes[place],), node.axes[:place])]
