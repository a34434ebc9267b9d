"""One engine for all that is followed through a model: forward from its inputs, or backward from its results.

An analysis says what is known of a value (`V`, hashable), how two such are joined, and what one op makes of them; the
engine goes through calls, repeats and scans. A graph is read once for each site and each list of what it is given, and
nothing else is remembered from one node to the next: what an op may ask (`Here`) is handed to it.

What is found on the way (mistakes, weights) is part of the answer, in terms of the graph that it is found in, so that
an answer that is kept tells it in each place that asks for it. `outward` says it in terms of the graph around.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable, Iterable, Mapping, Sequence
from functools import reduce
from itertools import count
from typing import ClassVar, Generic, TypeVar

from ....dsl.base.records import mutable, record
from ...sizes.axes import Axis, known
from ..nodes import NESTS, Apply, Call, Constant, Graph, Node, Parameter, Positions, Repeat, Scan, makes, reads
from ..values import Value
from .index import OUTERMOST, Index, Nest, Site, index_of

V = TypeVar("V", bound=Hashable)
F = TypeVar("F", bound=Hashable)
Leaf = Constant | Positions | Parameter | Apply
ROUNDS = 6  # of a loop, before what still grows is widened


@record
class Answer(Generic[V, F]):
    """values: of what a graph returns, or a node makes; backward, of what it is given. found: on the way, in order."""

    values: tuple[V, ...]
    found: tuple[F, ...] = ()


@mutable
class Here(Generic[V]):
    """What an op may ask: of the graph that it stands in, where that runs, and what is known so far, by value id."""

    index: Index
    site: Site
    known: dict[int, V]


class Flow(ABC, Generic[V, F]):
    """nothing: what is known of a value of which nobody has said anything.

    backward:  from the results: `V` says how a value is used, and what several readers say of one value is joined.
    each_pass: passes are followed one by one where their number is known; else all together, until nothing changes.
    last_pass: of what a repeat leaves it is known that its last pass made it, or, if it has none, that nothing did.
    """

    nothing: V
    backward: ClassVar[bool] = False
    each_pass: ClassVar[bool] = False
    last_pass: ClassVar[bool] = True

    def __init__(self) -> None:
        self._kept: dict[tuple[Graph, Site, tuple[V, ...]], tuple[Answer[V, F], dict[int, V]]] = {}

    # -- what an analysis says -----------------------------------------------------------------------------------

    @abstractmethod
    def through(self, node: Leaf, given: tuple[V, ...], here: Here[V]) -> Answer[V, F]:
        """What is known of what a node makes, from what is known of what it reads; backward the other way round."""

    @abstractmethod
    def join(self, one: V, other: V) -> V:
        """What is known where either may be."""

    def widen(self, before: V, after: V, node: Repeat | Scan) -> V:
        """What is known of a value that was `before` in one round of a loop and is `after` in the next: something that
        holds of both, and that can grow only so many times. Where no value grows for ever it is `after`.
        """
        return after

    def later(self, value: V, axis: Axis) -> V:
        """Of a state, one step of a scan later; backward, one step earlier."""
        return value

    def inside(self, node: Nest, here: Here[V], number: int | None = None) -> Site:
        """Where the graph runs that a node holds; with more than a `Site` has, if what is known hangs on that, too.

        number: of the pass, where passes are followed one by one.
        """
        return here.site.inside(node)

    def entering(self, node: Nest, given: tuple[V, ...], here: Here[V], inner: Graph) -> tuple[V, ...]:
        """In the axes of a graph that a node holds. here: around it."""
        return given

    def leaving(self, node: Nest, made: tuple[V, ...], here: Here[V], inner: Graph) -> tuple[V, ...]:
        """In the axes of the graph around, from those of a graph that a node holds."""
        return made

    def unknown(self, node: Call, given: tuple[V, ...], here: Here[V]) -> Answer[V, F]:
        """Of an op of the user's own."""
        anything = reduce(self.join, given, self.nothing)
        return Answer((anything,) * len(node.args if self.backward else node.outs))

    def outward(self, node: Nest, number: int | None, found: tuple[F, ...]) -> tuple[F, ...]:
        """What was found in what a node holds, as it is said around it. number: of the pass, where that is known."""
        return found

    # -- the engine ----------------------------------------------------------------------------------------------

    def of(self, graph: Graph, given: Sequence[V], site: Site = OUTERMOST) -> Answer[V, F]:
        """Of the results of a graph, from what is known of its inputs; backward, of its inputs, from its results."""
        return self._read(graph, given, site)[0]

    def known(self, graph: Graph, given: Sequence[V], site: Site = OUTERMOST) -> Mapping[int, V]:
        """Of each value of a graph, by its id."""
        return self._read(graph, given, site)[1]

    def _read(self, graph: Graph, given: Sequence[V], site: Site) -> tuple[Answer[V, F], dict[int, V]]:
        key = graph, site, tuple(given)
        if key not in self._kept:
            here = Here[V](index_of(graph), site, {})
            self._kept[key] = self._run(here, key[2]), here.known
        return self._kept[key]

    def _run(self, here: Here[V], given: tuple[V, ...]) -> Answer[V, F]:
        graph, known, nothing, backward = here.index.graph, here.known, self.nothing, self.backward
        inputs, results = [entry.value for entry in graph.inputs], [output.value for output in graph.outputs]
        first, last = (results, inputs) if backward else (inputs, results)
        self._note(known, first, given)
        found: dict[F, None] = {}
        for node in reversed(graph.nodes) if backward else graph.nodes:
            if backward:
                before, behind = makes(node), reads(node)
                answer = self.at(node, tuple([known.get(value.id, nothing) for value in before]), here)
                self._note(known, behind, answer.values)
            elif isinstance(node, NESTS):
                answer = self.at(node, tuple([known.get(value.id, nothing) for value in node.args]), here)
                self._note(known, node.outs, answer.values)
            else:  # what most nodes are: their result is made once
                answer = self.through(node, tuple([known.get(value.id, nothing) for value in reads(node)]), here)
                known[node.out.id] = answer.values[0]
            if answer.found:
                found |= dict.fromkeys(answer.found)
        return Answer(tuple([known.get(value.id, nothing) for value in last]), tuple(found))

    def _note(self, known: dict[int, V], values: Sequence[Value], more: Sequence[V]) -> None:
        for value, one in zip(values, more, strict=True):
            number = value.id
            known[number] = self.join(known[number], one) if number in known else one

    def at(self, node: Node, given: tuple[V, ...], here: Here[V]) -> Answer[V, F]:
        """Of one node, whatever it is."""
        if not isinstance(node, NESTS):
            return self.through(node, given, here)
        if isinstance(node, Repeat):
            return self._repeat(node, given, here)
        if isinstance(node, Scan):
            return self._scan(node, given, here)
        return self.unknown(node, given, here) if node.graph.target else self._inside(node, node.graph, given, here)

    def _inside(
        self, node: Nest, graph: Graph, given: tuple[V, ...], here: Here[V], number: int | None = None
    ) -> Answer[V, F]:
        answer = self.of(graph, self.entering(node, given, here, graph), self.inside(node, here, number))
        return Answer(self.leaving(node, answer.values, here, graph), self.outward(node, number, answer.found))

    # -- loops

    def _repeat(self, node: Repeat, given: tuple[V, ...], here: Here[V]) -> Answer[V, F]:
        """What goes round, and what enters from outside, the same in every pass: given; backward, found out."""
        passes = known(node.count) if self.last_pass else None
        if isinstance(passes, int) and (self.each_pass or passes < 1):
            return self._one_by_one(node, given, here, passes)
        state, outside = given[: node.carried], given[node.carried :]
        found: dict[F, None] = {}
        for rounds in count():
            answers = [self._inside(node, body, (*state, *outside), here) for body in node.bodies]
            found |= dict.fromkeys(one for body in self._ran(node, rounds) for one in answers[body].found)
            after = [answer.values[: node.carried] for answer in answers]
            state, before = self._next(state, reduce(self._joined, after, state), node, rounds), state
            if state == before:
                break
        if isinstance(passes, int):  # `state` is what every pass is given: of what the last one makes more is known
            state = after[node.runs(0 if self.backward else passes - 1)]
        beside = reduce(self._joined, (answer.values[node.carried :] for answer in answers)) if self.backward else ()
        found |= dict.fromkeys(one for answer in answers for one in answer.found)
        return Answer((*state, *beside), tuple(found))

    def _ran(self, node: Repeat, rounds: int) -> Iterable[int]:
        """The bodies for which it is true what is known after so many rounds: it holds of no more passes than these."""
        ran = node.variant[-1 - rounds :] if self.backward else node.variant[: rounds + 1]
        return dict.fromkeys(ran) if node.variant else range(len(node.bodies))

    def _one_by_one(self, node: Repeat, given: tuple[V, ...], here: Here[V], passes: int) -> Answer[V, F]:
        state, outside = given[: node.carried], given[node.carried :]
        beside = (self.nothing,) * (len(node.args) - node.carried) if self.backward else ()
        found: dict[F, None] = {}
        step = -1 if self.backward else 1
        for number in range(passes)[::step]:
            body = node.bodies[node.runs(number)]
            answer = self._inside(node, body, (*state, *outside), here, number)
            state, before = answer.values[: node.carried], state
            beside = self._joined(beside, answer.values[node.carried :]) if self.backward else ()
            found |= dict.fromkeys(answer.found)
            if state == before and not answer.found and self._alike(node, here, number, number + step):
                break  # and so will all others
        return Answer((*state, *beside), tuple(found))

    def _alike(self, node: Repeat, here: Here[V], one: int, other: int) -> bool:
        return len(node.bodies) == 1 and self.inside(node, here, one) == self.inside(node, here, other)

    def _scan(self, node: Scan, given: tuple[V, ...], here: Here[V]) -> Answer[V, F]:
        """Each step is given what the one before made of its states."""
        states = [(out, into) for into, out in node.states] if self.backward else node.states
        start = given
        found: dict[F, None] = {}
        for rounds in count():
            answer = self._inside(node, node.graph, given, here)
            found |= dict.fromkeys(answer.found)
            after = list(start)
            for into, out in states:
                after[into] = self.join(start[into], self.later(answer.values[out], node.axis))
            given, before = self._next(given, tuple(after), node, rounds), given
            if given == before:
                return Answer(answer.values, tuple(found))
        raise AssertionError("a loop without end")

    def _next(self, before: tuple[V, ...], after: tuple[V, ...], node: Repeat | Scan, rounds: int) -> tuple[V, ...]:
        """What the next round is given."""
        if rounds < ROUNDS:
            return after
        return tuple(new if new == old else self.widen(old, new, node) for old, new in zip(before, after, strict=True))

    def _joined(self, some: Sequence[V], others: Sequence[V]) -> tuple[V, ...]:
        return tuple(self.join(one, other) for one, other in zip(some, others, strict=True))
