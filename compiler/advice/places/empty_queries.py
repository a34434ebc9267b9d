"""Queries that see nothing (W0523): a mask under which some items have no key, whatever the sizes.

Masked softmax gives such an item 0 here and NaN elsewhere (pytorch issue 41508), so the item is lost; the cause is a
comparison that is strict or turned round: `past < seq`, `seq - past > 8`. It is asked what holds wherever the mask is
true, whatever the sizes; data may only hide more, all of it where a truth value and its opposite are to hold. A mask
that lets nothing through for anyone is told, too: `false`, `past < 0`; not one that a switch decides, which another
config may set.

Nothing is said where something joins what is read: before it is mapped another branch, a share that a sink takes, a
learned vector or places that are added, the item itself; behind the map another branch, but not the stream that a
residual adds, unless a window reads its neighbours (PixelSNAIL, Chen et al. 2017). Nor where another value is chosen in
its place, or items are taken of it, which may leave out those (XLNet, Yang et al. 2019).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from enum import IntEnum

from ....dsl.base.records import field, record, replace
from ....dsl.source import Span
from ...graph.core.access import ONE
from ...graph.core.flow import Answer, Here, Leaf
from ...graph.core.index import Nest, Site
from ...graph.core.kept import kept
from ...graph.core.relation import Relation
from ...graph.core.term import UNKNOWN, Term
from ...graph.core.ways import NOTHING, Items
from ...graph.nodes import Apply, Call, Constant, Graph, Node, Repeat, Scan, ops_in, reads
from ...graph.traits import (
    Arrange,
    Choice,
    Function,
    Gather,
    IndexMap,
    Normalise,
    Pointwise,
    Product,
    Reduce,
    Sum,
    Window,
)
from ...graph.values import Role, Scalar, Value, is_real
from ...problems.marks import EmptyQueries
from ...sizes.axes import Axis, ConstOf, Literal, known
from ...sizes.forms import LinearForm, holds, upper_bounds, whole_at_least
from ...sizes.polynomials import Opaque
from ...sizes.predicates import Cases, Facts
from .concrete import GraphRun, Tired, sized
from .tables import widths

Way = tuple[tuple[Nest, int], ...]  # the calls and repeats around, outermost first, and which of their passes
Stretch = tuple[int, int | None]  # the first item, and how many from there on; None: all


@record
class _MaskedOp:
    """An op over one width, of each item along another one, or alike for all. hidden: the items that see nothing."""

    way: Way
    out: Value
    node: Apply = field(compare=False)  # which makes it
    key: Axis
    item: Axis | None
    hidden: Stretch


def empty_queries(graph: Graph) -> Iterator[EmptyQueries]:
    """The masks of a graph, and those it gives to what it calls, under which items see nothing."""
    if graph.kind != "model" or not _masks(graph):  # who takes what a block returns is not known
        return
    try:
        top = next(sized(graph), None)
        if top is None:
            return
        told = set[tuple[object, ...]]()
        for each in _HidingMasks(graph).of(graph, [_some(entry.value, NOTHING) for entry in graph.inputs]).found:
            if not isinstance(each, _MaskedOp):
                continue
            here = (*(id(node) for node, _ in each.way), id(each.node))
            top.sizes.refill()
            frame = _inner(top, each.way)
            if here in told or _Joins(frame, each.node, each.key).joined(frame, each.node.out):
                continue
            told.add(here)
            found = _problem(frame, graph, each.node, each.key, each.item, *each.hidden)
            if found is not None:
                yield found
    except (Tired, RecursionError):
        return


@kept
def _masks(graph: Graph) -> bool:
    return any(map(_reads_some, ops_in(graph)))


@kept
def _behind_masks(graph: Graph) -> frozenset[int]:
    """The values that masks may hang on, by id: those of the graph, of what it calls, and of what takes its results."""
    found = {output.value.id for output in graph.outputs if not is_real(output.value)}
    for node in reversed(graph.nodes):
        if not isinstance(node, Apply):
            found.update(value.id for value in reads(node))
            continue
        if _reads_some(node) and node.mask is not None:
            found.add(node.mask.id)
        if node.out.id in found:
            found.update(value.id for value in reads(node))
    return frozenset(found)


def _reads_some(node: Apply) -> bool:
    """Whether an op wants an item that its mask lets through."""
    match node.traits.reads:
        case _ if node.mask is None:
            return False
        case Normalise(weights=True):
            return True
        case Reduce(combination) if combination is not None:
            return combination.averages or (combination.largest is not None and not combination.truths)
        case _:
            return False


def _inner(frame: GraphRun, way: Way) -> GraphRun:
    for node, at in way:
        frame = frame.inside(node, at)
    return frame


LONGEST = 1_000  # ops of one body; of longer ones nothing is said, for what holds of each mask takes its time
PASSES = 32  # of a repeat, the first ones, that are told apart; of those after them nothing is said


class _HidingMasks(Relation):
    """Found: each op of blocks and repeats, pass by pass, whose mask hides all from some items."""

    each_pass = True

    def __init__(self, top: Graph) -> None:
        super().__init__(whole=False, counted=())
        self.top = top  # in what it calls a value is another one in each call

    def _run(self, here: Here[Items], given: tuple[Items, ...]) -> Answer[Items, object]:
        graph = here.index.graph
        told = graph.kind == "model" and graph is not self.top  # what a model makes is told of that
        idle = not _masks(graph) and all(_is_data(output.value) for output in graph.outputs)
        if told or idle or len(graph.nodes) > LONGEST:
            return Answer((NOTHING,) * len(graph.outputs))
        return super()._run(here, given)

    def through(self, node: Leaf, given: tuple[Items, ...], here: Here[Items]) -> Answer[Items, object]:
        if isinstance(node, Apply):
            if _reads_some(node):
                return Answer((NOTHING,), tuple(_masked(node, given[-1])))
            if _is_data(node.out) or node.out.id not in _behind_masks(here.index.graph):
                return _UNKNOWN
        elif isinstance(node, Constant) and isinstance(node.value, ConstOf) and known(node.value) is False:
            return _UNKNOWN  # a switch, which another config may set
        answer = super().through(node, given, here)
        return Answer((_some(node.out, answer.values[0]),)) if here.index.graph is self.top else answer

    def inside(self, node: Nest, here: Here[Items], number: int | None = None) -> Site:
        """Of the first passes, with the number of the pass."""
        site = super().inside(node, here, number)
        if not isinstance(node, Repeat) or node.index is None or number is None or number >= PASSES:
            return site
        return Site(site.axes, site.consts | {(node.index, Literal(number))})

    def outward(self, node: Nest, number: int | None, found: tuple[object, ...]) -> tuple[object, ...]:
        if isinstance(node, Scan) or (isinstance(node, Repeat) and (number or 0) >= PASSES):
            return ()
        unlike = isinstance(node, Repeat) and (node.index is not None or len(node.bodies) > 1)
        at = number or 0 if unlike else 0
        return tuple(replace(each, way=((node, at), *each.way)) for each in found if isinstance(each, _MaskedOp))


_UNKNOWN: Answer[Items, object] = Answer((NOTHING,))


def _masked(node: Apply, mask: Items) -> Iterator[_MaskedOp]:
    assert node.mask is not None
    keys, items = [a for a in node.axes if a.is_width], [a for a in widths(node.mask) if a not in node.axes]
    if len(keys) == 1 and len(items) < 2:
        item = next(iter(items), None)
        hidden = _hidden(mask.term.true, item)
        if hidden is not None:
            yield _MaskedOp((), node.out, node, keys[0], item, hidden)


def _some(value: Value, known: Items) -> Items:
    """Of a truth value of which nothing is known: that it is true where it is not false."""
    if value.type.element is not Scalar.BOOL or known.term != UNKNOWN:
        return known
    places = (LinearForm.index(axis).poly for axis in value.type.axes)
    truth = LinearForm.of(Opaque.of("item", LinearForm.number(value.id).poly, *places))  # 0 or more, and its own
    return Items(known.ways, Term((frozenset({truth - ONE}),), (frozenset({-truth}),)))


def _is_data(value: Value) -> bool:
    """Whether it is numbers that places alone do not say."""
    return value.role > Role.TABLE and value.type.element is not Scalar.BOOL


def _hidden(cases: Cases, item: Axis | None) -> Stretch | None:
    """The items from which a mask that is true in these cases alone hides all, whatever the sizes, in one stretch."""
    facts = [[*_facts_of(case, item)] if case else [] for case in cases]
    if not all(facts):  # somebody is seen by all
        return None

    def hides(given: Facts) -> bool:
        return all(any(holds(-fact - ONE, given) for fact in case) for case in facts)

    if item is None or hides(frozenset()):
        return (0, None) if hides(frozenset()) else None
    turns = {turn + by for case in facts for fact in case for turn in fact.turns for by in (0, 1)}
    starts, index = sorted(turn for turn in {0, *turns} if turn < (item.extent or turn + 1)), LinearForm.index(item)
    found = list[tuple[int, int | None]]()
    for start, end in zip(starts, [*starts[1:], None], strict=True):
        given = {index - LinearForm.number(start)}
        if end is not None:
            given.add(LinearForm.number(end - 1) - index)
        if hides(frozenset(given)):
            if found and found[-1][1] == start:
                start = found.pop()[0]
            found.append((start, end))
    if len(found) != 1:
        return None
    ((start, end),) = found
    return start, None if end is None else end - start


def _facts_of(case: Facts, item: Axis | None) -> Iterator[LinearForm]:
    """What holds of an item that sees something, as these facts have it, and not of each item anyway."""
    for fact in case:
        for bound in upper_bounds(fact, fact.indices - {item}, case - {fact}, lambda axis: True):
            if not holds(bound):
                yield whole_at_least(bound)


# -- what joins it ---------------------------------------------------------------------------------------------------


class _EmptyState(IntEnum):
    """Of a value that is made of nothing."""

    READ = 0  # nothing but that has been done
    MAPPED = 1  # a learned map has taken it
    GATES = 2  # and a function, such as a sigmoid, that makes something of nothing
    ADDED = 3  # a residual has added it to its stream


class _Joins:
    """What becomes of what a masked op makes.

    read: what the op itself has read, by frame and value: a sum with that is a residual.
    """

    def __init__(self, frame: GraphRun, node: Apply, key: Axis) -> None:
        self.key = key
        self.read = _read(frame, node.operands)
        makers = [each for each in self.read.values() if isinstance(each, Apply)]
        self.convolved = any(isinstance(each.traits.reads, Window) for each in makers)
        self.seen: set[tuple[int, int, _EmptyState]] = set()

    def joined(self, frame: GraphRun, value: Value, state: _EmptyState = _EmptyState.READ) -> bool:
        """Whether something else joins it, or it is not known who takes it. Behind a map that is no residual, and
        nothing that it is only multiplied with.
        """
        if (id(frame), value.id, state) in self.seen:
            return False
        self.seen.add((id(frame), value.id, state))
        return any(self._by(frame, node, value, state) for node in frame.takers(value)) or any(
            frame.graph.kind != "model" if outside is None else self.joined(*outside, state)
            for outside in frame.around(value)
        )

    def _by(self, frame: GraphRun, node: Node, value: Value, state: _EmptyState) -> bool:
        """Whether it is joined by what a node does with it."""
        match node:
            case Apply() if node.mask is not None and node.mask.id == value.id:
                return False
            case Apply(weights=weights, traits=traits) if weights and isinstance(traits.reads, Reduce):
                return self.joined(frame, node.out, max(state, _EmptyState.MAPPED))
            case Apply(operands=(whole, *_)) if isinstance(node.traits.reads, Gather) and whole.id == value.id:
                return True  # of its items some are taken
            case Apply() if state is _EmptyState.ADDED:
                return self.joined(frame, node.out, state)
            case Apply():
                least = _joining(node, state)
                others = [each for each in node.operands if each.id != value.id and each.role >= least]
                match node.traits.meaning:
                    case Sum() if state and any(self._is_stream(frame, other) for other in others):
                        beside = self.convolved or _beside(frame, node.out)
                        return beside or self.joined(frame, node.out, _EmptyState.ADDED)
                    case Product() if state is _EmptyState.MAPPED:
                        others = []
                    case Function(zero=False) if state:
                        state = _EmptyState.GATES
                return _meets(node, others, self.key) or self.joined(frame, node.out, state)
            case Call() | Repeat():
                return any(self.joined(*inner, state) for inner in frame.within(node, value))
            case _:
                return True

    def _is_stream(self, frame: GraphRun, value: Value) -> bool:
        """Whether the op has read this, too."""
        while (id(frame), value.id) not in self.read:
            maker = frame.maker(value)
            if isinstance(maker, Apply) and maker.traits.random:
                value = maker.operands[0]
            elif (moved := frame.moved(value, {})) is not None:
                frame, value, _ = moved
            else:
                return False
        return True


def _joining(node: Apply, state: _EmptyState) -> Role:
    """What it takes to join it: before a map a learned vector does, or places that are added, as a sink is."""
    match node.traits.meaning:
        case Choice():
            return Role.WEIGHT
        case Sum() if state is _EmptyState.READ:
            return Role.TABLE
        case _:
            return Role.DATA


def _read(frame: GraphRun, values: Iterable[Value]) -> dict[tuple[int, int], Node | None]:
    """All that values are made of, by frame and value, and what makes each there."""
    found: dict[tuple[int, int], Node | None] = {}
    left = [(frame, value) for value in values]
    while left:
        at, value = left.pop()
        if (id(at), value.id) in found:
            continue
        maker = found[id(at), value.id] = at.maker(value)
        match maker:
            case Call() | Repeat():
                inner = at.inside(maker)
                left += [(inner, output.value) for output in inner.graph.outputs] + [(at, each) for each in maker.args]
            case None if (moved := at.moved(value, {})) is not None:
                left.append(moved[:2])
            case Apply():
                left += [(at, each) for each in reads(maker)]
    return found


def _beside(frame: GraphRun, stream: Value) -> bool:
    """Whether another branch is added to the sum that a residual makes: beside it, not made of it."""
    for node in frame.takers(stream):
        if isinstance(node, Apply) and isinstance(node.traits.meaning, Sum):
            others = [each for each in node.operands if each.id != stream.id and each.role is Role.DATA]
            if any((id(frame), stream.id) not in _read(frame, [other]) for other in others):
                return True
    return isinstance(frame.node, Call) and any(each and _beside(*each) for each in frame.around(stream))


def _meets(node: Apply, others: list[Value], key: Axis) -> bool:
    """Whether an op puts it together with other data; the keys that it weighs are what is read."""
    match node.traits.reads:
        case Reduce() if key in node.axes:
            return False
        case Pointwise() | Arrange(IndexMap.PARTS):
            return bool(others)
        case _:
            return False


# -- what is said ----------------------------------------------------------------------------------------------------


def _problem(
    frame: GraphRun, graph: Graph, node: Apply, key: Axis, item: Axis | None, first: int, count: int | None
) -> EmptyQueries | None:
    """It stands at the op, or at the call that is given the mask; nothing is said of a mask that another file makes."""
    mask, span = node.mask, node.span
    while mask is not None and mask.id in frame.entries and frame.outer is not None and frame.node is not None:
        if isinstance(frame.node, Call):
            span = frame.node.span
        item, key = None if item is None else frame.actual.get(item, item), frame.actual.get(key, key)
        mask, frame = reads(frame.node)[frame.entries[mask.id]], frame.outer
    made: Span | None = None if mask is None else mask.span
    if span is None or graph.span is None or span.source is not graph.span.source:
        return None
    return EmptyQueries(span, node.op, item, key, first, count, made)
