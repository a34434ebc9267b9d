"""Queries that see nothing (W0523): a mask under which some items have no key, whatever the sizes.

Masked softmax gives such an item 0 here and NaN elsewhere (pytorch issue 41508), so the item is lost; the cause is a
comparison that is strict or turned round: `past < seq`, `seq - past > 8`. The mask is worked out by place alone
(`concrete.py`), at sizes well beyond the numbers it compares with; data may only hide more, all of it where a truth
value and its opposite are to hold. A mask that lets nothing through for anyone is told, too: `false`, `past < 0`; not
one that a switch decides, which another config may set.

Nothing is said where something joins what is read: before it is mapped another branch, a share that a sink takes, the
item itself; behind the map another branch, but not the stream that a residual adds, unless a window reads its
neighbours (PixelSNAIL, Chen et al. 2017). Nor where another value is chosen in its place, or items are taken of it,
which may leave out those (XLNet, Yang et al. 2019).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from enum import IntEnum
from itertools import islice

from ....dsl.source import Span
from ...graph.core.index import index_of
from ...graph.core.kept import kept
from ...graph.nodes import Apply, Call, Constant, Graph, Node, Repeat, ops_in, reads
from ...graph.traits import (
    Arrange,
    Choice,
    Complement,
    Conjunction,
    Disjunction,
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
from ...graph.values import Role, Value
from ...problems.marks import EmptyQueries
from ...sizes.axes import Axis, ConstOf, known
from .concrete import GraphRun, Tired, sized
from .tables import widths

LARGEST = 128  # of the numbers that a mask compares with
PASSES = 64  # of a repeat, that are looked at one by one
Way = tuple[tuple[Call | Repeat, int], ...]  # the calls and repeats around, outermost first, and which of their passes


def empty_queries(graph: Graph) -> Iterator[EmptyQueries]:
    """The masks of a graph, and those it gives to what it calls, under which items see nothing."""
    if not _has_mask(graph):
        return
    made: dict[int, GraphRun] = {}
    try:
        if next(sized(graph, made=made), None) is None:
            return
        seen: set[tuple[object, ...]] = set()
        for way, node, key, item in _sites(graph, ()):
            found = _empty(graph, made, seen, way, node, key, item)
            if found is not None:
                yield found
    except (Tired, RecursionError):
        return


@kept
def _has_mask(graph: Graph) -> bool:
    return any(map(_reads_some, ops_in(graph)))


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


def _sites(graph: Graph, way: Way) -> Iterator[tuple[Way, Apply, Axis, Axis | None]]:
    """Masked ops over one width, of each item along another one, or alike for all."""
    for node in graph.nodes:
        match node:
            case Apply(mask=Value() as mask) if _reads_some(node):
                keys, items = [a for a in node.axes if a.is_width], [a for a in widths(mask) if a not in node.axes]
                if len(keys) == 1 and len(items) < 2:
                    yield way, node, keys[0], next(iter(items), None)
            case Call() if node.graph.kind == "block" and _has_mask(node.graph):
                yield from _sites(node.graph, (*way, (node, 0)))
            case Repeat() if any(map(_has_mask, node.bodies)):
                for at in range(_unlike(node)):
                    yield from _sites(node.bodies[node.runs(at)], (*way, (node, at)))


def _unlike(node: Repeat) -> int:
    """How many passes may have numbers of their own."""
    count = known(node.count)
    return min(count, PASSES) if isinstance(count, int) and (node.index or node.bodies[1:]) else 1


def _inner(frame: GraphRun, way: Way) -> GraphRun:
    for node, at in way:
        frame = frame.inside(node, at)
    return frame


def _empty(
    graph: Graph,
    made: dict[int, GraphRun],
    seen: set[tuple[object, ...]],
    way: Way,
    node: Apply,
    key: Axis,
    item: Axis | None,
) -> EmptyQueries | None:
    """made: the graph at those sizes at which it was looked at for other masks; seen: masks of some pass, with the
    numbers that they are made of.
    """
    assert node.mask is not None
    small = next(sized(graph, made=made))
    small.sizes.refill()
    found = _numbers(_inner(small, way), node.mask)
    passes = any(isinstance(around, Repeat) for around, _ in way)
    same = (*(id(around) for around, _ in way), id(node), *(found or ()))
    if found is None or (passes and same in seen):
        return None
    seen.add(same)
    said = (
        {(0, None)} if _contradicts(_inner(small, way), node.mask) else _rows(graph, made, way, node, key, item, found)
    )
    inner = _inner(small, way)
    if len(said) != 1 or _Joins(inner, node, key).joined(inner, node.out):
        return None
    return _problem(inner, graph, node, key, item, *said.pop())


def _rows(
    graph: Graph, made: dict[int, GraphRun], way: Way, node: Apply, key: Axis, item: Axis | None, found: list[int]
) -> set[tuple[int, int | None]]:
    """From which item on, and of how many, at each size that was looked at, nothing is seen; none if all see some."""
    assert node.mask is not None
    numbers = {abs(number) for number in found}
    least = 2 * max(numbers, default=0) + 4
    said: set[tuple[int, int | None]] = set()
    for frame in islice(sized(graph, range(least, least + 200), made), 2):
        frame.sizes.refill()
        inner = _inner(frame, way)
        rows = 1 if item is None else inner.extent(item) or 0
        some = {0, 1, 2, rows // 2, rows - 1, *(n + by for n in numbers for by in (-1, 0, 1, n))}
        if not any(_sees_nothing(inner, node.mask, key, item, row) for row in sorted(some) if 0 <= row < rows):
            return set()
        frame.sizes.fuel *= 10
        empty = [row for row in range(rows) if _sees_nothing(inner, node.mask, key, item, row)]
        if empty != list(range(empty[0], empty[-1] + 1)):
            return set()
        said.add((empty[0], None if empty[-1] == rows - 1 else len(empty)))
    return said


def _contradicts(frame: GraphRun, mask: Value) -> bool:
    """Whether it wants a truth value and its opposite."""
    while frame.maker(mask) is None and (moved := frame.moved(mask, {})) is not None:
        frame, mask, _ = moved
    wanted, left = set[tuple[int, tuple[Axis, ...], bool]](), [(mask, True, dict[Axis, Axis]())]
    while left:
        value, holds, names = left.pop()
        maker = index_of(frame.graph).op(value)
        match maker.traits.reads if maker is not None else None:
            case Pointwise(Complement()) if maker is not None:
                left.append((maker.operands[0], not holds, names))
            case Pointwise(Conjunction() | Disjunction() as joins) if maker is not None and holds is (
                joins == Conjunction()
            ):
                left += [(each, holds, names) for each in maker.operands]
            case Arrange(IndexMap.SAME | IndexMap.NEW) if maker is not None:
                renamed = dict(zip(maker.axes, maker.made, strict=False))
                left.append((maker.operands[0], holds, names | {a: names.get(b, b) for a, b in renamed.items()}))
            case _:
                wanted.add((value.id, tuple(names.get(axis, axis) for axis in value.type.axes), holds))
    return any((number, axes, not holds) in wanted for number, axes, holds in wanted)


def _sees_nothing(frame: GraphRun, mask: Value, key: Axis, item: Axis | None, row: int) -> bool:
    """Whether the mask surely lets no key through; those near the item are looked at first."""
    keys = frame.extent(key) or 0
    near = [row, 0, keys - 1] if row < keys else [0, keys - 1]
    point = {} if item is None else {item: row}
    return all(frame.number(mask, {**point, key: at}) is False for at in (*near, *range(keys)))


def _numbers(frame: GraphRun, mask: Value) -> list[int] | None:
    """The numbers that a mask is made of; None if one is too large to be tried, or a switch hides all."""
    found, left, seen = list[int](), [(frame, mask)], set[tuple[int, int]]()
    while left:
        at, value = left.pop()
        if value.id in at.unknown or (id(at), value.id) in seen:
            continue
        seen.add((id(at), value.id))
        node = at.maker(value)
        match node:
            case Constant(static, _):
                number = at.static(static) if known(static) is None else known(static)
                if number is False and isinstance(static, ConstOf):
                    return None
                if isinstance(number, int | float) and not isinstance(number, bool):
                    if abs(number) > LARGEST:
                        return None
                    found.append(int(number))
            case Apply():
                left += [(at, each) for each in reads(node)]
            case Call() | None:
                moved = at.moved(value, {})
                left += [moved[:2]] if moved is not None else []
    return found


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
                least = Role.WEIGHT if node.traits.meaning == Choice() else Role.DATA
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
