"""A loss whose targets can be read by the logits that are to tell them (E0704): nothing is learned but copying.

Each item's loss asks a causal model for an item that it was fed: the shift of Radford et al. 2018 (or that of the
decoder's input, Vaswani et al. 2017) is missing, turned round, or done twice; or the index is clamped and the last
item, whose target is then itself, counts. Such a loss falls to nothing, and no shape says why.

It is told where it is surely so: at small sizes the target's item is followed through the graph to the logits
(`concrete.py`), at two sizes, and the logits read what stands before them, and surely nothing behind their own item
(or, if they are to tell a later one, not all of it). So a model that is to copy (an autoencoder), one that is masked by
data, and an item that the loss hides are not spoken of; nor one that is fed what an input of real numbers is added to,
item by item, which may be noise that it is to take away.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from ...graph.core.kept import kept
from ...graph.nodes import Apply, Call, Graph, ops_in, reads
from ...graph.traits import Choice, Compared, Complement, Gather, Normalise, Product, Reduce, Sum
from ...graph.values import IndexInto, Value
from ...problems.causality import OwnTarget
from ...sizes.axes import Axis
from .concrete import GraphRun, Point, Tired, sized
from .items import MAYBE, NO, SURELY, ItemReading

LOSS = Reduce(None, logits=True)
Loss = tuple[Apply, Value, Value]  # the op that makes it, the logits and the targets
Found = tuple[
    list[int], Value, bool
]  # items that are asked for what they read, of which input, whether not at ends only


def own_targets(graph: Graph) -> Iterator[OwnTarget]:
    """The losses of a graph, and of the blocks that it calls, whose targets their logits have read."""
    if graph.inputs and _has_loss(graph):
        try:
            yield from _told(graph)
        except (Tired, RecursionError):
            return


@kept
def _has_loss(graph: Graph) -> bool:
    """Whether it may make a loss, or a graph that it calls."""
    return any(map(_may_be_loss, ops_in(graph)))


def _may_be_loss(node: Apply) -> bool:
    """Whether it may be a loss, or choose by its targets what one is made of."""
    reads = node.traits.reads
    if node.traits.meaning == Compared("=="):
        return True
    return _is_index(node.operands) and (isinstance(reads, Gather) or reads == LOSS)


def _is_index(operands: tuple[Value, ...]) -> bool:
    """Whether the second operand may be a target."""
    return len(operands) > 1 and isinstance(operands[1].type.element, IndexInto)


def _told(graph: Graph) -> Iterator[OwnTarget]:
    tops = list(islice(sized(graph), 2))
    for number, (frame, loss) in enumerate(_losses(tops[0]) if len(tops) == 2 else ()):
        for axis in loss[0].out.type.axes:
            if not axis.is_width or axis in loss[0].out.type.broadcast_axes:
                continue
            found = _items(tops[0], frame, loss, axis)
            ahead = found[2] and (_asked(frame, loss, axis, found[1]) or 0) > 0
            if not found[0] or not (ahead or _looks_back(tops[0], frame, loss, axis, found)):
                continue
            again, same = list(_losses(tops[1]))[number]
            larger = _items(tops[1], again, same, axis)
            if larger[0] and _one_way(tops[1], again, same, axis, larger[1]):
                yield _problem(tops[0], frame, loss, axis, found)


def _losses(top: GraphRun) -> Iterator[tuple[GraphRun, Loss]]:
    """Each loss of a graph and of the blocks that it calls; what a model makes is told of that."""
    for frame, node in top.ops(lambda node: isinstance(node, Call) and node.graph.kind == "block"):
        found = _loss(frame, node)
        if found is not None:
            yield frame, found


def _loss(frame: GraphRun, node: Apply) -> Loss | None:
    """The logits and the targets of a cross-entropy: of the op, or of the log-probability of each target."""
    match node.traits.reads:
        case Reduce() as how if how == LOSS and _is_index(node.operands):
            return node, node.operands[0], node.operands[1]
        case Reduce() as how if how.combination is not None and how.combination.adds and len(node.operands) == 1:
            chosen = frame.maker(node.operands[0])
            if not isinstance(chosen, Apply) or chosen.traits.meaning != Choice():
                return None
            test, chosen_one = _where_equal(frame, chosen)
            logits = _logits(frame, chosen_one, node.axes)
            if test is not None and logits is not None:
                targets = [each for each in test.operands if frame.number(each, {}) is None
                           and not set(node.axes) & set(each.type.axes)]  # fmt: skip
                return (node, logits, targets[0]) if len(targets) == 1 else None
        case Gather() if not node.axes[0].is_width and _is_index(node.operands):
            logits = _logits(frame, node.operands[0], node.axes)
            return None if logits is None else (node, logits, node.operands[1])
    return None


def _where_equal(frame: GraphRun, choice: Apply) -> tuple[Apply | None, Value]:
    """The comparison that a choice goes by, None if it is another, and what is chosen where both are equal."""
    test, *branches = choice.operands
    node = frame.maker(test)
    while isinstance(node, Apply) and node.traits.meaning == Complement():
        branches.reverse()
        node = frame.maker(node.operands[0])
    if isinstance(node, Apply) and node.traits.meaning == Compared("!="):
        branches.reverse()
    elif not isinstance(node, Apply) or node.traits.meaning != Compared("=="):
        node = None
    return node, branches[0]


def _logits(frame: GraphRun, value: Value, axes: tuple[Axis, ...]) -> Value | None:
    """Of which logits these are the logarithms of the shares."""
    node = frame.maker(value)
    match node:
        case Apply(traits=traits) if isinstance(traits.reads, Normalise) and traits.reads.logarithm:
            return node.operands[0] if node.axes == axes else None
        case _:
            return None


# -- which items ---------------------------------------------------------------------------------------------------


def _items(top: GraphRun, frame: GraphRun, loss: Loss, axis: Axis) -> Found:
    """The items along an axis whose targets the logits there have surely read, and that count."""
    node, logits, targets = loss
    extent = frame.extent(axis) or 0
    read, sure, source, between = list[int](), True, targets, False
    for place in (0, 1, extent - 1) if extent > 2 else ():  # the first, the last, and one for all others
        point = _point(node, axis, place)
        origin = _origin(frame, targets, point)
        counts = NO if origin is None else _counted(top, frame, node, point)
        if origin is None or counts == NO or ItemReading(*origin).of(frame, logits, point) != SURELY:
            continue
        read, sure, source, between = [*read, place], sure and counts == SURELY, origin[1], between or place == 1
    if not sure and not between:  # it may be data that hides the first or the last
        return [], source, False
    return read, source, between


def _point(node: Apply, axis: Axis, place: int) -> Point:
    return {**{each: 0 for each in node.out.type.axes if each.is_width}, axis: place}


def _origin(frame: GraphRun, value: Value, point: Point) -> tuple[GraphRun, Value, Point] | None:
    """The item of an input that a target is; None if it is made of several, or it is not known of which."""
    found: tuple[GraphRun, Value, Point] | None = (frame, value, point)
    while found is not None:
        frame, value, point = found
        if frame.outer is None and value.id in frame.entries:
            axes = [axis for axis in value.type.axes if axis.is_width]
            return (frame, value, {axis: point[axis] for axis in axes}) if all(a in point for a in axes) else None
        found = frame.moved(value, point)
    return None


def _counted(top: GraphRun, frame: GraphRun, node: Apply, point: Point) -> int:
    """Whether the loss of an item is part of a result; of one that gives the losses itself, its caller decides."""
    reading, most = ItemReading(frame, node.out, point), NO
    for output in top.graph.outputs:
        widths = [axis for axis in output.value.type.axes if axis.is_width]
        for there in top.points(widths, {}) if len(widths) < 2 else ():
            most = max(most, min(reading.of(top, output.value, there), MAYBE if widths else SURELY))
    return most


def _looks_back(top: GraphRun, frame: GraphRun, loss: Loss, axis: Axis, found: Found) -> bool:
    """Whether the logits read more than their own item: a map of each item alone is causal, and means nothing by it."""
    last = (frame.extent(axis) or 1) - 1
    return any(_reads(top, frame, loss, axis, found[1], last, place) for place in range(last))


def _reads(top: GraphRun, frame: GraphRun, loss: Loss, axis: Axis, source: Value, place: int, item: int) -> bool:
    """Whether the logits at a place may read an item of an input along an axis of the same size."""
    widths = [each for each in source.type.axes if each.is_width]
    along = next((each for each in widths if top.extent(each) == frame.extent(axis)), None)
    if along is None:
        return False
    reading = ItemReading(top, source, {**dict.fromkeys(widths, 0), along: item})
    return reading.of(frame, loss[1], _point(loss[0], axis, place)) != NO


def _one_way(top: GraphRun, frame: GraphRun, loss: Loss, axis: Axis, source: Value) -> bool:
    """Whether the logits go by what comes before: they read from the first items on, and not to the last, or nothing
    behind their own. What reads on either side of an item, and is asked for that item, is to copy it (an autoencoder).
    """
    last, by = (frame.extent(axis) or 1) - 1, _asked(frame, loss, axis, source)

    def reads(place: int, item: int) -> bool:
        return _reads(top, frame, loss, axis, source, place, item)

    if reads(1, last):
        return False
    return (by is not None and by > 0) or reads(last, 1) or not any(reads(1, item) for item in range(2, last))


def _asked(frame: GraphRun, loss: Loss, axis: Axis, source: Value) -> int | None:
    """How far behind an item its target stands, as the second item has it."""
    along = next((each for each in source.type.axes if each.is_width), axis)
    origin = _origin(frame, loss[2], _point(loss[0], axis, 1))
    asked = None if origin is None else origin[2].get(along)
    return None if asked is None else asked - 1


# -- what is said ----------------------------------------------------------------------------------------------------


def _problem(top: GraphRun, frame: GraphRun, loss: Loss, axis: Axis, found: Found) -> OwnTarget:
    node = loss[0]
    items, source, most = found
    last = (frame.extent(axis) or 0) - 1
    edge = "" if most else "last" if items == [last] else "first" if items == [0] else ""
    counts = _counts(frame.graph, node.out) if edge == "last" else None
    span = node.span if counts is None else counts.span
    along = next((each for each in source.type.axes if each.is_width), axis)
    ahead = next((item for item in range(last, 0, -1) if _reads(top, frame, loss, axis, source, 1, item)), 1)
    by = _asked(frame, loss, axis, source)
    return OwnTarget(span, source.name or "", axis, along, edge, node.axes[0], ahead, by, node.span)


def _counts(graph: Graph, value: Value) -> Apply | None:
    """The op that puts the losses of the items together."""
    for node in graph.nodes:
        if isinstance(node, Apply) and value in reads(node):
            if isinstance(node.traits.reads, Reduce):
                return node
            if node.traits.meaning in (Sum((1,)), Sum((-1,)), Product()):
                value = node.out
    return None
