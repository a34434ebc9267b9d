"""How much a graph computes at certain sizes, so that what is tried of it hangs on no clock."""

from __future__ import annotations

import math
from dataclasses import dataclass

from ..compiler.graph.nodes import Apply, Call, Graph, Positions, Repeat, Scan, reads
from .sizes import TriedSizes

CALL = 4_000  # numbers, in the time that an op takes however small it is


@dataclass(frozen=True)
class RunWork:
    """Of one run: ops, each pass and step by itself; the numbers that they make and read; the most that one has."""

    ops: int = 0
    numbers: int = 0
    largest: int = 0

    def __add__(self, other: RunWork) -> RunWork:
        return RunWork(self.ops + other.ops, self.numbers + other.numbers, max(self.largest, other.largest))

    def times(self, count: int) -> RunWork:
        """Of so many runs, one after the other."""
        return RunWork(self.ops * count, self.numbers * count, self.largest if count else 0)

    def of(self, copies: int) -> int:
        """What a run of so many copies at once costs."""
        return self.ops * CALL + self.numbers * copies


def work_of(graph: Graph, sizes: TriedSizes) -> RunWork:
    """Raises ValueError for a size that cannot be."""
    found = RunWork()
    for node in graph.nodes:
        match node:
            case Apply():
                count = max(math.prod(map(sizes.of, value.type.axes)) for value in (node.out, *reads(node)))
                found += RunWork(1, count, count)
            case Positions(axis):
                found += RunWork(1, sizes.of(axis), sizes.of(axis))
            case Call():
                found += work_of(node.graph, sizes.inside(node))
            case Scan():
                found += work_of(node.graph, sizes.inside(node)).times(sizes.of(node.axis))
            case Repeat():
                passes = sum((work_of(body, TriedSizes(body, {}, sizes)) for body in node.bodies), RunWork())
                found += passes.times(math.ceil(sizes.value(node.count) / len(node.bodies)))
            case _:
                pass
    return found
