"""Readers that follow what is known of values through a graph and all that it calls."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Any, Generic, NamedTuple, TypeVar, overload

from ...base.problems import Problem
from ...graph.core.flow import Answer, Flow, Here, Leaf
from ...graph.core.index import Nest, Site
from ...graph.nodes import Apply, Call, Constant, Graph, Scan
from ...sizes.axes import Axis
from ...sizes.axes import known as known_static

K = TypeVar("K", bound=Hashable)


class KnownNumber(NamedTuple):
    """A number known at build time."""

    value: float


def known_number(node: Constant) -> KnownNumber | None:
    number = known_static(node.value)
    return KnownNumber(number) if isinstance(number, int | float) and not isinstance(number, bool) else None


class KnownValues(Generic[K]):
    """What is known of the values of a graph, by their ids."""

    def __init__(self, all: Mapping[int, K | None]) -> None:
        self.all = all

    @overload
    def get(self, number: int) -> K | None: ...
    @overload
    def get(self, number: int, unknown: K) -> K: ...
    def get(self, number: int, unknown: K | None = None) -> K | None:
        found = self.all.get(number)
        return unknown if found is None else found


class Follower(ABC, Generic[K]):
    """What is known of a value, or None, is said in the axes of the first caller.

    found: what is wrong. home: the graph that is read.
    """

    home: Graph

    def __init__(self) -> None:
        self.found: list[Problem] = []
        self.names: Mapping[Axis, Axis] = {}  # the axes of the first caller, by those of the graph that is read

    def told(self, graph: Graph) -> list[Problem]:
        """What is wrong in a graph and all that it calls."""
        self.follow(graph)
        return self.found

    def follow(self, graph: Graph) -> None:
        """Read a graph and all that it calls, in order, each once for each list of what is known of its inputs."""
        self.home = graph
        # Not kept here: two that hold each other stay until somebody looks for garbage.
        _Following(self).of(graph, self.entering((None,) * len(graph.inputs)))

    @abstractmethod
    def of(self, node: Apply, given: list[K | None]) -> K | None:
        """What is known of what an op makes, where this is known of its operands."""

    def number(self, node: Constant) -> K | None:
        """What is known of a number."""
        return None

    def one(self, node: Leaf, known: KnownValues[K]) -> K | None:
        """What is known of what a node makes."""
        if isinstance(node, Apply):
            get = known.all.get  # of each op of a file
            return self.of(node, [get(value.id) for value in node.operands])
        return self.number(node) if isinstance(node, Constant) else None

    def passed(self, node: Nest, given: tuple[K | None, ...], known: KnownValues[K]) -> tuple[K | None, ...]:
        """What is known of what a node gives to the graph that it holds."""
        return given

    def entering(self, given: tuple[K | None, ...]) -> Sequence[K | None]:
        """What is known of the inputs of `home`, where this is known of what it is given."""
        return given

    def named(self, axes: Iterable[Axis]) -> tuple[Axis, ...]:
        """The first caller's axes for these."""
        names = self.names
        return tuple([names.get(axis, axis) for axis in axes])

    def renamed(self, node: Apply, axes: Iterable[Axis]) -> tuple[Axis, ...]:
        """The first caller's axes, of what an op gives other names."""
        names = dict(zip(self.named(node.axes), self.named(node.made), strict=True))
        return tuple(names.get(axis, axis) for axis in axes)


_NOTHING: Answer[Any, object] = Answer((None,))


class _Following(Flow[K | None, object]):
    """What a reader says, followed through calls and repeats. Of what goes round in a scan nothing is known."""

    nothing = None

    def __init__(self, reader: Follower[K]) -> None:
        super().__init__()
        self.reader = reader
        self._stood: tuple[Here[K | None] | None, KnownValues[K]] = None, KnownValues({})

    def _stand(self, here: Here[K | None]) -> KnownValues[K]:
        """Have the reader look at the graph of an op."""
        if self._stood[0] is not here:
            self._stood = here, KnownValues(here.known)
            self.reader.home, self.reader.names = here.index.graph, dict(here.site.axes)
        return self._stood[1]

    def inside(self, node: Nest, here: Here[K | None], number: int | None = None) -> Site:
        return here.site.axes_inside(node)

    def join(self, one: K | None, other: K | None) -> K | None:
        return one if one == other else None

    def through(self, node: Leaf, given: tuple[K | None, ...], here: Here[K | None]) -> Answer[K | None, object]:
        found = self.reader.one(node, self._stand(here))
        return _NOTHING if found is None else Answer((found,))

    def unknown(self, node: Call, given: tuple[K | None, ...], here: Here[K | None]) -> Answer[K | None, object]:
        self.entering(node, given, here, node.graph)  # its inputs have names, too
        return Answer((None,) * len(node.outs))

    def entering(
        self, node: Nest, given: tuple[K | None, ...], here: Here[K | None], inner: Graph
    ) -> tuple[K | None, ...]:
        given = self.reader.passed(node, given, self._stand(here))
        self._stood = None, KnownValues({})
        self.reader.home = inner
        return tuple(self.reader.entering((None,) * len(given) if isinstance(node, Scan) else given))

    def leaving(
        self, node: Nest, made: tuple[K | None, ...], here: Here[K | None], inner: Graph
    ) -> tuple[K | None, ...]:
        return (None,) * len(made) if isinstance(node, Scan) else made
