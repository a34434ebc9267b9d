"""Claims of causality that are not proved: how a bound of the proof came about, and what trials say."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping

from ...dsl.base.records import record, replace
from ...dsl.source import Span
from ...dsl.syntax import Ident
from ..base.problems import Problem
from ..graph.nodes import Apply, Call, Graph, Repeat, Scan
from ..sizes.axes import Axis
from ..sizes.forms import LinearForm
from ..sizes.limits import ProofLimit
from ..sizes.predicates import Facts

Around = tuple[Call | Repeat | Scan, Graph]  # what runs a graph, and the graph in which that node stands


@record
class Trace:
    """How a bound came about: the last step, `said` in words, and the one before.

    node: the op of the step, if it is one, in the graph `home`. via: the calls and repeats around it, innermost first,
    out to the graph `at`, in which the bound is now. facts: what its mask says of what is read (`Cases`).
    """

    said: str | Callable[[], str]
    span: Span | None
    before: Trace | None
    node: Apply | None = None
    home: Graph | None = None
    at: Graph | None = None
    via: tuple[Around, ...] = ()
    again: bool = False  # the step is repeated without end
    facts: Facts = frozenset()

    @property
    def text(self) -> str:
        """What the step reads, in words; most are never asked for."""
        return self.said if isinstance(self.said, str) else self.said()

    @property
    def path(self) -> Iterator[Trace]:
        """The steps, the last first."""
        last: Trace | None = self
        while last is not None:
            yield last
            last = last.before

    @property
    def steps(self) -> int:
        """How many steps the path has."""
        return sum(1 for _ in self.path) - 1

    @property
    def turns(self) -> set[int]:
        """Numbers that its masks compare indices with: beyond one of them it may leak."""
        return {number for step in self.path for fact in step.facts for number in fact.turns}

    def leaving(self, inner: Graph, node: Call | Repeat | Scan, outer: Graph) -> Trace:
        """The path as seen outside of a call or a repeat; one whose last step is not in there stays as it was."""
        return replace(self, at=outer, via=(*self.via, (node, outer))) if self.at is inner else self


@record
class Witness:
    """One change of one input that changes an item of a result that must not depend on it. Items count from 0.

    input:  the name of the input, `item` its place along the claimed axis; the item that is new, where it is appended.
    result: the number of the result, `reached` the place of its item that changes.
    change: by how much, and as a share of the result's standard deviation.
    sizes:  of the free axes of the graph by name, as they were tried.
    appended: the item was not changed but appended; then `sizes` are those before.
    """

    input: str
    item: int
    result: int
    reached: int
    change: float
    share: float
    sizes: Mapping[str, int]
    appended: bool = False


@record
class Tried:
    """witness: of a leak, if one was found in so many `trials`. reason: why there could be no trial, if so."""

    witness: Witness | None
    trials: int
    reason: str = ""


Trials = Callable[[Graph, int, Axis, Collection[int]], Tried]
"""Tries a claim: of a graph, the number of a result and the axis claimed; numbers beyond which it must be tried."""


class Unproved(Problem):
    """A claim that is not proved: the path that the proof does not get over. It stands where that path ends.

    here, bound: the place of an item of the result, and what it is taken to depend on: a place at most each of these.
    tried: what trials say. trusted: why the spec believes the claim: then it is a warning, if no trial says otherwise.
    limits: those that the proof met on its way.
    """

    trace: Trace
    bound: frozenset[LinearForm]
    here: LinearForm
    graph: Graph
    axis: Axis
    claim: Span
    tried: Tried | None
    trusted: Ident | None
    limits: tuple[ProofLimit, ...] = ()

    @property
    def witness(self) -> Witness | None:
        """Of a leak, if trials found one."""
        return None if self.tried is None else self.tried.witness

    @property
    def code(self) -> str:
        return "E0701" if self.trusted is None or self.witness is not None else "W0517"


class OwnTarget(Problem, code="E0704"):
    """A loss along `axis` whose targets, items of the input `source`, the logits that are to tell them have read.

    along: the axis of the input. edge: "last" or "first", if that item alone is so.
    classes: of the logits. loss: where it is made, if that is elsewhere.
    unread: how far behind an item the first is that its logits have not read; by: how far the target is, if known.
    """

    source: str
    axis: Axis
    along: Axis
    edge: str
    classes: Axis
    unread: int
    by: int | None
    loss: Span | None
