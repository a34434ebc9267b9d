"""A graph looked at in one place at a time, at small sizes: which number stands there, and which item that is.

Readers of meaning need more than the proof of causality says: its bounds say what a value reads at most, and a mistake
is one only if it is surely made. So widths that are free get some size, and what is made of positions and sizes is
worked out where it is asked for, one index at a time; what it takes of data is not known (None). Widths have places;
along a depth all items count as one, unless a point says which. Nothing is computed that nobody asks for, and only so
much (`Tired`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import product
from math import prod

from ...graph.core.index import index_of
from ...graph.nodes import Apply, Call, Constant, Graph, Node, Positions, Repeat, Scan, makes, reads
from ...graph.traits import (
    Arrange,
    Choice,
    Conjunction,
    Disjunction,
    Gather,
    IndexMap,
    Limited,
    Meaning,
    Pointwise,
    Product,
    Reduce,
    Sum,
    Window,
)
from ...graph.values import Value
from ...sizes.arithmetic import inexact_division, replaced
from ...sizes.axes import Axis, ConstOf, Literal, Number, SizeOf, Static, known
from ...sizes.functions import OPERATIONS, Function

Point = Mapping[Axis, int]
"""An index of each width."""

FUEL = 6_000  # looks at a value at a place, for one question
MOST_ITEMS = 100_000  # of the axes that one op puts together
PASSES = 1  # of a repeat: one that goes round has been read after one, and attention has read all that it may
SIZES = (4, 6, 8, 12, 16, 24, 32, 48, 64)  # that free widths are given: the first that divides as it must

_COMPUTES: dict[Meaning, Callable[..., Number]] = {
    operation.meaning: operation.of for operation in OPERATIONS.values() if not isinstance(operation.meaning, Function)
}


class Tired(Exception):
    """Too much would have to be looked at."""


class FreeSizes:
    """The size that free widths are given, and how much may still be looked at."""

    def __init__(self, free: int) -> None:
        self.free = free
        self.fuel = FUEL

    def refill(self) -> None:
        """Another question is asked."""
        self.fuel = FUEL

    def spend(self) -> None:
        """Raises Tired where nothing is left."""
        self.fuel -= 1
        if self.fuel < 0:
            raise Tired


class GraphRun:
    """A graph as it is run once: by a call, in a pass of a repeat, or at an index of a scan.

    actual: the caller's axes, by those that stand for them. unknown: the inputs, by id, of which nothing can be known:
    those of the outermost graph, and what is given them.
    """

    def __init__(self, graph: Graph, sizes: FreeSizes, outer: GraphRun | None = None, node: Node | None = None,
                 at: int = 0) -> None:  # fmt: skip
        self.graph, self.sizes, self.outer, self.node, self.at = graph, sizes, outer, node, at
        self.actual: dict[Axis, Axis] = dict(node.axes) if isinstance(node, Call | Scan) else {}
        self._inside: dict[tuple[int, int], GraphRun] = {}
        self._numbers: dict[object, Number | None] = {}
        self._extents: dict[Axis, int | None] = {}
        self._index = index_of(graph)
        self.unknown = self._unknown()

    def _unknown(self) -> set[int]:
        if self.outer is None:
            return {entry.value.id for entry in self.graph.inputs}
        around, again = self.outer.unknown, _going_round(self.node) if self.at else frozenset()
        given = zip(self.graph.inputs, reads(self.node) if self.node is not None else (), strict=True)
        return {entry.value.id for place, (entry, arg) in enumerate(given) if arg.id in around and place not in again}

    def maker(self, value: Value) -> Node | None:
        """The node that makes a value; None if it is an input."""
        return self._index.maker(value)

    @property
    def entries(self) -> Mapping[int, int]:
        """The number of each input."""
        return self._index.inputs

    def inside(self, node: Call | Repeat | Scan, at: int = 0) -> GraphRun:
        """The frame that a node runs: the pass, or the index of a scan, at which it does."""
        key = (id(node), at)
        if key not in self._inside:
            graph = node.bodies[node.runs(at)] if isinstance(node, Repeat) else node.graph
            self._inside[key] = GraphRun(graph, self.sizes, self, node, at)
        return self._inside[key]

    def ops(self, enters: Callable[[Call | Repeat], bool]) -> Iterator[tuple[GraphRun, Apply]]:
        """Its ops, and those of the calls and repeats that are entered, each where it runs."""
        for node in self.graph.nodes:
            if isinstance(node, Apply):
                yield self, node
            elif isinstance(node, Call | Repeat) and enters(node):
                yield from self.inside(node).ops(enters)

    def takers(self, value: Value) -> list[Node]:
        """The nodes that read a value."""
        return self._index.takers(value)

    def within(self, node: Call | Repeat, value: Value) -> Iterator[tuple[GraphRun, Value]]:
        """Each input that a value is of what a node runs."""
        inner = self.inside(node)
        entries = zip(inner.graph.inputs, node.args, strict=True)
        return ((inner, entry.value) for entry, arg in entries if arg.id == value.id)

    def around(self, value: Value) -> Iterator[tuple[GraphRun, Value] | None]:
        """What it is around this graph, for each result that it is; None if nothing is around."""
        outer, node = self.outer, self.node
        places = (place for place, output in enumerate(self.graph.outputs) if output.value.id == value.id)
        return (None if outer is None or node is None else (outer, makes(node)[place]) for place in places)

    # -- sizes -------------------------------------------------------------------------------------------------------

    def extent(self, axis: Axis) -> int | None:
        """How many items an axis has."""
        if axis.extent is not None:
            return axis.extent
        if axis not in self._extents:
            self._extents[axis] = self._extent(axis)
        return self._extents[axis]

    def _extent(self, axis: Axis) -> int | None:
        actual = self.actual.get(axis) or self._of_family(axis)
        if actual is not None and self.outer is not None:
            return self.outer.extent(actual)
        if axis.size is not None:
            found = self.static(axis.size)
            return int(found) if found is not None and found > 0 and found % 1 == 0 else None
        if self.outer is not None:
            return self.outer.extent(axis)
        return self.sizes.free if axis.is_width else None

    def _of_family(self, axis: Axis) -> Axis | None:
        found = (actual for formal, actual in reversed(self.actual.items()) if formal.family == axis.family)
        return next(found, None)

    def static(self, static: Static) -> Number | None:
        """A number of sizes and consts; None where it is not known, or a size is no whole number."""
        if (number := known(static)) is not None:
            return number
        here = self._put_in(static)
        return None if inexact_division(here) is not None else known(here)

    def _put_in(self, static: Static) -> Static:
        """The same with what is known of the sizes and consts in it."""
        return replaced(static, self._stands_for)

    def _stands_for(self, part: SizeOf | ConstOf) -> Static:
        match part, self.node, self.outer:
            case SizeOf(axis), _, _:
                extent = self.extent(axis)
                return part if extent is None else Literal(extent)
            case ConstOf(const), Repeat(index=index), GraphRun() as outer:
                return Literal(self.at) if const == index else outer._put_in(part)
            case ConstOf(const), Call(consts=consts) | Scan(consts=consts), GraphRun() as outer:
                return outer._put_in(dict(consts)[const]) if const in dict(consts) else part
            case _:
                return part

    # -- places ------------------------------------------------------------------------------------------------------

    def moved(self, value: Value, point: Point) -> tuple[GraphRun, Value, Point] | None:
        """Where an item is taken from unchanged; None where something is computed, or it is not known."""
        node = self.maker(value)
        match node:
            case None:
                return self._entering(value, point)
            case Call() if not node.graph.target:
                frame, output = self.inside(node), node.graph.outputs[_place(node.outs, value)]
                return frame, output.value, frame.entered(point)
            case Repeat():
                frame = self.inside(node, _passes(node, self.static(node.count)) - 1)
                return frame, frame.graph.outputs[_place(node.outs, value)].value, point
            case Scan() if node.axis in point:
                frame, output = self.inside(node, point[node.axis]), node.graph.outputs[_place(node.outs, value)]
                return frame, output.value, frame.entered(point)
            case Apply():
                found = self._operand(node, point)
                return None if found is None else (self, *found)
            case _:
                return None

    def entered(self, point: Point) -> Point:
        """A point of the caller in the axes of the callee."""
        inner = {formal: point[actual] for formal, actual in self.actual.items() if actual in point}
        return {**point, **inner}

    def _entering(self, value: Value, point: Point) -> tuple[GraphRun, Value, Point] | None:
        """Where an input comes from."""
        outer, node, place = self.outer, self.node, self.entries.get(value.id)
        if outer is None or place is None:
            return None
        match node:
            case Repeat():
                if place < node.carried and self.at:
                    before = outer.inside(node, self.at - 1)
                    return before, before.graph.outputs[place].value, point
                return outer, node.args[place], point
            case Call() | Scan():
                left = {axis: index for axis, index in point.items() if axis not in self.actual}
                back = {self.actual[axis]: index for axis, index in point.items()
                        if axis in self.actual and axis in value.type.axes}  # fmt: skip
                if isinstance(node, Scan):
                    back[node.axis] = self.at
                    result = next((result for at, result in node.states if at == place), None)
                    if result is not None and self.at:
                        before = outer.inside(node, self.at - 1)
                        return before, before.graph.outputs[result].value, point
                return outer, node.args[place], {**left, **back}
        return None

    def _operand(self, node: Apply, point: Point) -> tuple[Value, Point] | None:
        """The operand of which an op takes items unchanged, and where."""
        x = node.operands[0]
        match node.traits.reads:
            case Pointwise(Sum((1,))) | Arrange(IndexMap.NEW):
                return x, point
            case Pointwise(Choice()):
                chosen = self.number(x, point)
                return None if chosen is None else (node.operands[1 if chosen else 2], point)
            case Arrange(IndexMap.SAME):
                return x, {**point, **{a: point[b] for a, b in zip(node.axes, node.made, strict=True) if b in point}}
            case Gather() if node.mask is None:
                at, (axis,) = self.number(node.operands[1], point), node.axes
                extent = self.extent(axis)
                found = at is not None and extent is not None and 0 <= at < extent
                return (x, {**point, axis: int(at)}) if found and at is not None else None
            case Window() | Arrange(IndexMap.SHIFTED):
                at, extent = self._shifted(node, point), self.extent(node.axes[0])
                return (x, {**point, node.axes[0]: at}) if at is not None and at in range(extent or 0) else None
            case Arrange(map):
                return self._arranged(map, node, point)
            case _:
                return None

    def _shifted(self, node: Apply, point: Point) -> int | None:
        """Which item a tap of a window reads, or an item of what is padded; it may lie outside."""
        place, tap = [*(point.get(axis) for axis in node.made), 0][:2]
        by = self.static(node.options.get("stride", Literal(1)))
        less = next(
            self.static(number) for name, number in node.options.items() if name != "stride"
        )  # before the first
        return None if place is None or tap is None or by is None or less is None else int(place * by + tap - less)

    def outside(self, node: Apply, point: Point) -> bool:
        """Whether what a window or `pad` reads at a point lies outside of its operand."""
        at, extent = self._shifted(node, point), self.extent(node.axes[0])
        return at is not None and extent is not None and at not in range(extent)

    def _arranged(self, map: IndexMap, node: Apply, point: Point) -> tuple[Value, Point] | None:
        x, axes, made = node.operands[0], node.axes, node.made
        if not all(b in point for b in made or axes):
            along = any(axis.is_width for axis in (*axes, *made)) or map is IndexMap.PARTS
            return None if along else (x, point)  # all along depths
        extents = {axis: self.extent(axis) for axis in (*axes, *made)}
        if any(extent is None for extent in extents.values()):
            return None
        sizes = {axis: extent or 0 for axis, extent in extents.items()}
        match map:
            case IndexMap.DIGITS:
                at = 0
                for digit in made:
                    at = at * sizes[digit] + point[digit]
                return x, {**point, axes[0]: at}
            case IndexMap.NUMBER:
                at, digits = point[made[0]], dict[Axis, int]()
                for digit in reversed(axes):
                    at, digits[digit] = divmod(at, sizes[digit])
                return x, {**point, **digits}
            case IndexMap.MIRRORED:
                return x, {**point, axes[0]: sizes[axes[0]] - 1 - point[axes[0]]}
            case IndexMap.PARTS:
                at = point[made[0]]
                for part, axis in zip(node.operands, axes, strict=True):
                    if at < sizes[axis]:
                        return part, {**point, axis: at}
                    at -= sizes[axis]
        return None

    # -- numbers -----------------------------------------------------------------------------------------------------

    def number(self, value: Value, point: Point) -> Number | None:
        """The number or truth value that stands at a point, where positions and sizes say so."""
        if value.id in self.unknown:
            return None
        key = (value.id, *(point.get(axis) for axis in value.type.axes))
        if key not in self._numbers:
            self.sizes.spend()
            self._numbers[key] = self._number(value, point)
        return self._numbers[key]

    def _number(self, value: Value, point: Point) -> Number | None:
        node = self.maker(value)
        match node:
            case Constant(static, _):
                return self.static(static)
            case Positions(axis, _):
                return point.get(axis)
            case Apply(traits=traits):
                match traits.reads:
                    case Pointwise(Function()) if node.op in OPERATIONS:
                        return _applied(OPERATIONS[node.op].of, [self.number(node.operands[0], point)])
                    case Pointwise(meaning) if meaning != Sum((1,)) and meaning != Choice():
                        return self._pointwise(meaning, node.operands, point)
                    case Reduce(combination) if combination is not None and combination.truths:
                        return self._truths(node, combination.largest is True, point)
        found = self.moved(value, point)
        if found is None:
            return None
        frame, origin, there = found
        return frame.number(origin, there)

    def _pointwise(self, meaning: Meaning, operands: Sequence[Value], point: Point) -> Number | None:
        numbers = list[Number | None]()
        for operand in operands:
            number = self.number(operand, point)
            match meaning:
                case Conjunction() if number is not None and not number:
                    return False
                case Disjunction() if number:
                    return True
                case Product() if number == 0:
                    return 0
            numbers.append(number)
        return _computed(meaning, numbers)

    def _truths(self, node: Apply, some: bool, point: Point) -> Number | None:
        """Of truths along axes: whether some are, or all."""
        if not all(axis.is_width for axis in node.axes) or node.mask is not None:
            return None
        found = [self.number(node.operands[0], there) for there in self.points(node.axes, point)]
        if any(each is not None and bool(each) is some for each in found):
            return some
        return None if any(each is None for each in found) else not some

    def points(self, axes: Sequence[Axis], point: Point) -> Iterator[Point]:
        """All points along those of the axes that are widths. Raises Tired where they are too many, or unknown."""
        widths = [axis for axis in axes if axis.is_width]
        extents = [self.extent(axis) or MOST_ITEMS for axis in widths]
        if prod(extents) >= MOST_ITEMS:
            raise Tired
        for indices in product(*map(range, extents)):
            yield {**point, **dict(zip(widths, indices, strict=True))}


def _computed(meaning: Meaning, numbers: Sequence[Number | None]) -> Number | None:
    """What a function makes of numbers, None where one is not known or it has no value there."""
    given = [number for number in numbers if number is not None]
    if len(given) < len(numbers):
        return None
    match meaning:
        case Sum(times):
            return sum(by * number for by, number in zip(times, given, strict=True))
        case Limited():
            return min(max(given[0], given[1]), given[2])
    return _applied(_COMPUTES[meaning], given) if meaning in _COMPUTES else None


def _applied(function: Callable[..., Number], numbers: Sequence[Number | None]) -> Number | None:
    try:
        return None if None in numbers else function(*numbers)
    except (ArithmeticError, ValueError, TypeError):
        return None


def _going_round(node: Node | None) -> Iterable[int]:
    """The inputs of what a node runs that a pass, or a step, gives the next."""
    match node:
        case Repeat():
            return range(node.carried)
        case Scan():
            return [place for place, _ in node.states]
        case _:
            return ()


def _place(outs: Sequence[Value], value: Value) -> int:
    return next(place for place, out in enumerate(outs) if out.id == value.id)


def _passes(node: Repeat, count: Number | None) -> int:
    return min(int(count), PASSES) if count is not None and count >= 1 else 1


def sized(graph: Graph, sizes: Iterable[int] = SIZES, made: dict[int, GraphRun] | None = None) -> Iterator[GraphRun]:
    """The graph at each of the sizes at which all that is derived of its axes has one. made: those made before."""
    made = {} if made is None else made
    for free in sizes:
        if free not in made:
            made[free] = GraphRun(graph, FreeSizes(free))
        frame = made[free]
        if all(frame.extent(axis) is not None for axis in graph.axes if axis.is_width):
            yield frame
