"""What has read one item of one value, of a graph that is looked at in one place at a time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ...graph.nodes import Apply, Call, Node, Parameter, Repeat, Scan, makes
from ...graph.traits import (
    Arrange,
    Choice,
    Function,
    Gather,
    IndexMap,
    Lookup,
    Normalise,
    Pointwise,
    Product,
    Quotient,
    Reduce,
    Running,
    Sum,
    Window,
)
from ...graph.values import Scalar, Value
from .concrete import GraphRun, Point

NO, MAYBE, SURELY = 0, 1, 2


class ItemReading:
    """What has read one item of one value."""

    def __init__(self, frame: GraphRun, value: Value, item: Point) -> None:
        self.source = (id(frame), value.id)
        self.frame, self.item = frame, item
        self._around: dict[int, Node | None] = {}  # in each frame around, the node that runs the value's
        while frame.outer is not None:
            self._around[id(frame.outer)], frame = frame.node, frame.outer
        self._live: dict[int, set[int]] = {}
        self._known: dict[object, int] = {}

    def live(self, frame: GraphRun) -> set[int]:
        """The values of a frame that may have read any item of it."""
        if id(frame) in self._live:
            return self._live[id(frame)]
        found = self._live[id(frame)] = set()
        if frame is self.frame:
            found.add(self.source[1])
        elif frame.outer is not None and isinstance(frame.node, Call | Repeat | Scan):
            outside = self.live(frame.outer)
            alive = [arg.id in outside for arg in frame.node.args]
            going = isinstance(frame.node, Repeat | Scan) and any(alive)
            found |= {entry.value.id for entry, one in zip(frame.graph.inputs, alive, strict=True) if one or going}
        for node in frame.graph.nodes:
            match node:
                case Apply(operands=operands, mask=mask):
                    read = any(each.id in found for each in operands) or (mask is not None and mask.id in found)
                case Call() | Repeat() | Scan():
                    read = any(each.id in found for each in node.args) or self._around.get(id(frame)) is node
                case _:
                    continue
            if read:
                found.update(out.id for out in makes(node))
        return found

    def of(self, frame: GraphRun, value: Value, point: Point) -> int:
        """Whether a value has read the item at a point: NO, MAYBE, SURELY. What a truth value says of it is nothing."""
        if value.type.element is Scalar.BOOL or value.id not in self.live(frame):
            return NO
        if (id(frame), value.id) == self.source:
            return self._is_item(value, point)
        key = (id(frame), value.id, *(point.get(axis) for axis in value.type.axes))
        if key not in self._known:
            frame.sizes.spend()
            self._known[key] = self._of(frame, value, point)
        return self._known[key]

    def _is_item(self, value: Value, point: Point) -> int:
        found = SURELY
        for axis, index in self.item.items():
            if point.get(axis) is None:
                found = MAYBE
            elif point[axis] != index:
                return NO
        return found

    def _of(self, frame: GraphRun, value: Value, point: Point) -> int:
        node = frame.maker(value)
        found = frame.moved(value, point)
        if found is not None:
            return self.of(*found)
        match node:
            case Apply():
                return self._apply(frame, node, point)
            case _:
                return MAYBE  # an op of the user's own, or a place that is not known

    def _apply(self, frame: GraphRun, node: Apply, point: Point) -> int:
        reads = node.traits.reads
        match reads:
            case Pointwise(Choice()):  # by data
                sides = [self.of(frame, side, point) for side in node.operands[1:]]
                return min(max(sides), MAYBE) if NO in sides else min(sides)
            case Pointwise(Lookup()):
                return max(self.of(frame, each, point) for each in node.operands)
            case Pointwise(Sum()) if any(_may_be_noise(frame, each, point) for each in node.operands):
                return min(MAYBE, self._product(frame, node, node.operands, point, False))
            case Pointwise():
                return self._product(frame, node, node.operands, point, isinstance(reads.meaning, Product | Quotient))
            case Reduce(multiplies=multiplies, indices=indices):
                found = self._most(frame, node, frame.points(node.axes, point), multiplies)
                return min(found, MAYBE) if indices else found
            case Normalise():
                if _kept(frame, node, point) == NO:
                    return NO
                return self._most(frame, node, frame.points(node.axes, point), False)
            case Running() if node.axes[0] in point:
                here = point[node.axes[0]]
                return self._most(frame, node, ({**point, node.axes[0]: at} for at in range(here + 1)), False)
            case Gather():
                return self._gather(frame, node, point)
            case Arrange(IndexMap.PARTS) if not node.made[0].is_width:
                return max(self.of(frame, each, point) for each in node.operands)
            case Window() if node.made[1] not in point:
                taps = range(frame.extent(node.made[1]) or 0)
                return max((self.of(frame, node.out, {**point, node.made[1]: at}) for at in taps), default=MAYBE)
            case Window() | Arrange(IndexMap.SHIFTED) if frame.outside(node, point):
                return NO
            case _:
                return MAYBE

    def _most(self, frame: GraphRun, node: Apply, points: Iterator[Point], multiplies: bool) -> int:
        """The most that any of these points has read, as far as the mask lets them through."""
        most = NO
        for there in points:
            kept = _kept(frame, node, there)
            if kept > most:
                most = max(most, min(kept, self._product(frame, node, node.operands, there, multiplies)))
            if most == SURELY:
                break
        return most

    def _product(self, frame: GraphRun, node: Apply, operands: Sequence[Value], point: Point, multiplies: bool) -> int:
        """What any operand has read; where they are multiplied, only if no other may be 0."""
        live, most = self.live(frame), NO
        for place, operand in enumerate(operands):
            if operand.id not in live:
                continue
            found = self.of(frame, operand, point)
            for other, factor in enumerate(operands) if multiplies and found > most else ():
                if other != place:
                    found = min(found, _not_zero(frame, factor, point, factor.id in live))
            most = max(most, found)
        return most

    def _gather(self, frame: GraphRun, node: Apply, point: Point) -> int:
        """What stands at an index that data says, and the index itself, if it is looked up in a table."""
        (axis,), (x, at) = node.axes, node.operands
        if _kept(frame, node, point) != SURELY:
            return MAYBE
        if not axis.is_width:
            return max(self.of(frame, x, point), self.of(frame, at, point))
        found = (self.of(frame, x, there) for there in frame.points((axis,), point))
        return min(MAYBE, max([self.of(frame, at, point), *found]))


def _kept(frame: GraphRun, node: Apply, point: Point) -> int:
    """Whether the mask of an op lets a point through."""
    if node.mask is None:
        return SURELY
    found = frame.number(node.mask, point)
    return MAYBE if found is None else SURELY if found else NO


def _may_be_noise(frame: GraphRun, value: Value, point: Point) -> bool:
    """Whether it is an input of real numbers, some for each item, or that scaled: what it is added to it may hide."""
    frame.sizes.spend()
    found = frame.moved(value, point)
    if found is not None:
        return _may_be_noise(*found)
    node = frame.maker(value)
    if isinstance(node, Apply) and isinstance(node.traits.meaning, Product | Quotient):
        scaled = node.operands if isinstance(node.traits.meaning, Product) else node.operands[:1]
        return any(_may_be_noise(frame, each, point) for each in scaled)
    given = node is None and frame.outer is None and value.type.element is Scalar.REAL
    return given and any(axis.is_width for axis in value.type.axes)


def _not_zero(frame: GraphRun, value: Value, point: Point, live: bool) -> int:
    """Whether a factor is not 0: data may be, so that it masks; but not what is computed with weights, or a share."""
    frame.sizes.spend()
    node = frame.maker(value)
    if isinstance(node, Parameter):
        return SURELY
    found = frame.moved(value, point)
    if found is not None:
        return _not_zero(*found, live)
    number = frame.number(value, point)
    if number is not None:
        return SURELY if number else NO
    if not isinstance(node, Apply):
        return SURELY if live and node is None else MAYBE
    parts = (_not_zero(frame, each, point, live) for each in node.operands)
    match node.traits.reads:
        case Normalise(weights=True):
            return _kept(frame, node, point)
        case Reduce() | Normalise() if node.weights or not any(axis.is_width for axis in node.axes):
            return SURELY
        case Pointwise(Lookup()) | Pointwise(Function(zero=False)):
            return SURELY
        case Pointwise(Product()):
            return min(parts)
        case Pointwise(Sum()):  # which of two are not each other's opposite
            return max(parts)
        case Pointwise(Quotient() | Function()):
            return next(parts)
        case _:
            return MAYBE
