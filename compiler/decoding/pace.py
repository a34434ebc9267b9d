"""When the items along an axis come (`paces`): with those of time, in chunks of them, or behind a prefix.

With `width chunk = seq / 4` item c of `chunk` begins with item 4c of `seq`, and is whole with item 4c + 3. With
`width seq = mem + text` item i of `text` stands at |mem| + i, and what is before that is there from the first step on.
A step takes items of time; of an axis with a pace it makes those that they are in.
"""

from __future__ import annotations

from collections.abc import Container, Mapping
from dataclasses import dataclass

from ..graph.nodes import Graph
from ..sizes.axes import Arith, Axis, Literal, SizeOf, Static, axes_in, known
from ..sizes.forms import LinearForm


@dataclass(frozen=True, slots=True)
class Pace:
    """size: how many items make one. before: how many stand before the first one of time."""

    size: int = 1
    before: Static = Literal(0)

    def place(self, axis: Axis) -> LinearForm:
        """Where the last item of time is that an item of the axis is made of."""
        last = LinearForm.index(axis).times(LinearForm.number(self.size))
        assert last is not None
        return last + LinearForm.number(self.size - 1) - LinearForm.static(self.before)


TICK = Pace()  # time's own


def paces(graph: Graph, given: Mapping[int, Pace], root: bool = False) -> dict[int, Pace]:
    """Those of a graph's axes by their families, from those that are known.

    root: it is the model's own, whose inputs tell how long they are.
    """
    found = dict(given)
    told = {axis for item in graph.inputs for axis in item.value.type.axes} if root else set[Axis]()
    while True:
        more = {axis.family: pace for axis in graph.axes if axis.family not in found and axis.extent is None
                and (pace := _pace(axis, found, told)) is not None}  # fmt: skip
        if not more:
            return found
        found |= more


def _pace(axis: Axis, given: Mapping[int, Pace], told: Container[Axis]) -> Pace | None:
    match axis.size:
        case Arith("/" | "//", (SizeOf(whole), divisor)) if whole.family in given:
            size = known(divisor)
            of = given[whole.family]
            return Pace(of.size * size, of.before) if isinstance(size, int) and size > 0 else None
        case Arith("+", (prefix, SizeOf(rest))) if rest.family in given:
            of = given[rest.family]
            parts = axes_in(prefix)
            if of.size != 1 or any(p.family in given or (p.extent is None and p not in told) for p in parts):
                return None
            return Pace(1, _sum(prefix, of.before))
    return None


def _sum(a: Static, b: Static) -> Static:
    both = Arith("+", (a, b))
    number = known(both)
    return Literal(number) if isinstance(number, int) else a if b == Literal(0) else both
