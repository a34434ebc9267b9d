"""Readers that follow what is known of values through a graph and all that it calls."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Hashable, Iterable, Mapping
from typing import NamedTuple, TypeVar

from ...base.problems import Problem
from ...graph.flows.flow import Forward, Known
from ...graph.nodes import Apply, Call, Constant, Graph, Node, Repeat, Scan
from ...sizes.axes import Axis
from ...sizes.axes import known as known_static

K = TypeVar("K", bound=Hashable)


class KnownNumber(NamedTuple):
    """A number known at build time."""

    value: float


def known_number(node: Constant) -> KnownNumber | None:
    number = known_static(node.value)
    return KnownNumber(number) if isinstance(number, int | float) and not isinstance(number, bool) else None


class Follower(Forward[K, tuple[tuple[Axis, Axis], ...]]):
    """What is known of a value is said in the axes of the first caller: `here` has those that a graph's own stand for,
    several of them maybe for one.

    found: what is wrong.
    """

    def __init__(self) -> None:
        super().__init__(())
        self.found: list[Problem] = []
        self._names: tuple[tuple[tuple[Axis, Axis], ...], dict[Axis, Axis]] = ((), {})

    def told(self, graph: Graph) -> list[Problem]:
        """What is wrong in a graph and all that it calls."""
        self.known(graph)
        return self.found

    @abstractmethod
    def of(self, node: Apply, given: list[K | None]) -> K | None:
        """What is known of what an op makes, where this is known of its operands."""

    def number(self, node: Constant) -> K | None:
        """What is known of a number."""
        return None

    def one(self, node: Node, known: Known[K]) -> K | None:
        if isinstance(node, Apply):
            return self.of(node, [known.get(value.id) for value in node.operands])
        return self.number(node) if isinstance(node, Constant) else None

    @property
    def names(self) -> Mapping[Axis, Axis]:
        """The axes of the first caller, by those of the graph that is read."""
        if self._names[0] is not self.here:
            self._names = self.here, dict(self.here)
        return self._names[1]

    def named(self, axes: Iterable[Axis]) -> tuple[Axis, ...]:
        """The first caller's axes for these."""
        names = self.names
        return tuple(names.get(axis, axis) for axis in axes)

    def renamed(self, node: Apply, axes: Iterable[Axis]) -> tuple[Axis, ...]:
        """The first caller's axes, of what an op gives other names."""
        names = dict(zip(self.named(node.axes), self.named(node.made), strict=True))
        return tuple(names.get(axis, axis) for axis in axes)

    def inside(self, node: Call | Repeat | Scan) -> tuple[tuple[Axis, Axis], ...]:
        if isinstance(node, Repeat):
            return self.here
        names = self.names
        lifted = tuple((axis, names[axis]) for axis in node.graph.lifted if axis in names)
        return lifted + tuple((own, names.get(outer, outer)) for own, outer in node.axes)
