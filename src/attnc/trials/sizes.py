"""Which sizes to try a graph at: small ones that its formulas and ops allow, and those just beyond its numbers."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass

from ..compiler.decoding.lengths import lengths
from ..compiler.graph.core.places import made_of
from ..compiler.graph.nodes import Apply, Call, Constant, Graph, Scan, nested
from ..compiler.sizes.axes import Arith, Axis, Const, ConstOf, Literal, Number, SizeOf, Static, decided, known
from ..compiler.sizes.functions import OPERATIONS

SMALL = (4, 3, 6, 8, 2, 5, 12, 9, 16, 7, 10, 24, 40, 64)
STEPS = 5  # of those in which a width grows: chunks of 128 are tried up to a length of 640
TWICE = 250  # of numbers up to this, what is twice as long is tried, too
LARGEST = 6_000  # of a width, where a number of the graph asks for it


class TriedSizes:
    """Sizes for all axes of a graph, from those of its free families, and numbers for its consts.

    outer: of the graph around, of a nested one.
    """

    def __init__(self, graph: Graph, free: Mapping[int, int], outer: TriedSizes | None = None) -> None:
        self.free, self.outer = dict(free), outer
        self.consts: dict[Const, Number] = dict(outer.consts) if outer is not None else {}
        self._derived = {axis.id: axis for axis in graph.axes if axis.size is not None}
        self._known: dict[int, int] = {}

    def inside(self, node: Call | Scan) -> TriedSizes:
        """Those of the graph that is called."""
        found = TriedSizes(node.graph, {formal.family: self.of(actual) for formal, actual in node.axes}, self)
        for formal, static in node.consts:
            with suppress(ValueError):  # a list, which is no size
                found.consts[formal] = self.value(static)
        return found

    def of(self, axis: Axis) -> int:
        """Raises ValueError for a formula that gives no size."""
        if axis.id not in self._known:
            self._known[axis.id] = self._of(axis)
        return self._known[axis.id]

    def _of(self, axis: Axis) -> int:
        if axis.extent is not None:
            return axis.extent
        if axis.family in self.free:
            return self.free[axis.family]
        source = axis if axis.size is not None else self._derived.get(axis.family)
        if source is None or source.size is None:
            if self.outer is not None:
                return self.outer.of(axis)
            raise ValueError(f"{axis.name} has no size")
        size = self.value(source.size)
        if size != int(size) or size < 1 or size > (axis.bound or size):
            raise ValueError(f"{axis.name} would be {size}")
        return int(size)

    def value(self, static: Static) -> Number:
        match static:
            case Literal(value):
                return value
            case SizeOf(axis):
                return self.of(axis)
            case ConstOf(const):
                found = self.consts.get(const, const.value)
                if found is None or isinstance(found, tuple):
                    raise ValueError(f"{const.name} has no value")
                return found
            case Arith(op):
                alone = decided(static)
                if alone is not None:
                    return self.value(alone)
                values = [self.value(each) for each in static.operands]
                if op == "//" and values[0] % values[1]:
                    raise ValueError("a division that leaves a remainder")
                return OPERATIONS[op](*values)

    @property
    def longest(self) -> int:
        return max(self.free.values(), default=1)

    def named(self, graph: Graph) -> dict[str, int]:
        """The free ones by the name of the axis that others are copies of."""
        names: dict[int, str] = {}
        for axis in graph.axes:
            if axis.family in self.free and (axis.family not in names or axis.id == axis.family):
                names[axis.family] = axis.name
        return {name: self.free[family] for family, name in names.items()}


@dataclass(frozen=True)
class Growth:
    """Of a free family those that its graph can be run at, as far as is known: the least, and the step to the next."""

    least: int
    step: int
    bound: int | None

    @staticmethod
    def of(graph: Graph, axis: Axis) -> Growth:
        least, step = lengths(graph, axis) or (1, 1)
        return Growth(least or step, step, axis.bound)

    def fit(self, size: int) -> int:
        """The first that is as long, or the last."""
        found = self.least + max(0, -(-(size - self.least) // self.step)) * self.step
        last = found if self.bound is None else self.bound - (self.bound - self.least) % self.step
        return min(found, last)


class SizeChoice:
    """What sizes a claim of a graph can be tried at. numbers: some that count, beside those of the graph."""

    def __init__(self, graph: Graph, claimed: Axis, numbers: Collection[int]) -> None:
        self.graph = graph
        self.free = {axis.family: Growth.of(graph, axis) for axis in reversed(graph.axes) if _is_free(axis, graph)}
        self.base = {part.family for part in made_of(claimed)} & self.free.keys()
        self.numbers = {*numbers, *_numbers(graph)}
        self.tried: set[tuple[int, ...]] = set()

    def small(self) -> Iterator[TriedSizes]:
        return self._sizes(SMALL)

    def beyond(self) -> Iterator[TriedSizes]:
        """Of a width that grows in steps some steps, however long; and just beyond each number: a window of 100 is
        crossed by 101.
        """
        step = max((self.free[family].step for family in self.base), default=1)
        over = [number + 2 for number in self.numbers if 1 < number < LARGEST]
        sizes = {size for each in over for size in (each, 2 * each) if size <= max(TWICE, each)}
        return self._sizes((*(step * count for count in range(2, STEPS + 1) if step > 1), *sorted(sizes)))

    def _sizes(self, wanted: Iterable[int]) -> Iterator[TriedSizes]:
        """Each once. Whether the ops of the graph can be run at them is seen by running it."""
        along = self.base or self.free.keys()
        for size in wanted:
            for others in (3, 2, 4):
                sizes = {f: each.fit(size if f in along else others) for f, each in self.free.items()}
                key = tuple(sizes.values())
                if key in self.tried:
                    continue
                self.tried.add(key)
                found = TriedSizes(self.graph, sizes)
                if _fits(found, self.graph):
                    yield found
                    break

    def longer(self, sizes: TriedSizes) -> TriedSizes | None:
        """The next at which the claimed axis is longer; None where nothing tells which width grows."""
        if len(self.base) != 1:
            return None
        (base,) = self.base
        grows = self.free[base]
        for steps in range(1, 65):
            size = sizes.free[base] + steps * grows.step
            if size > (grows.bound or size):
                return None
            found = TriedSizes(self.graph, sizes.free | {base: size})
            if _fits(found, self.graph):
                return found
        return None


def _fits(sizes: TriedSizes, graph: Graph) -> bool:
    try:
        for axis in graph.axes:
            sizes.of(axis)
    except (ArithmeticError, ValueError, TypeError):
        return False
    return True


def _is_free(axis: Axis, graph: Graph) -> bool:
    """Whether nothing says its size before a run: neither itself nor what it is a copy of."""
    alike = (each for each in graph.axes if each.family == axis.family)
    return axis.extent is None and all(each.extent is None and each.size is None for each in alike)


def _numbers(graph: Graph) -> set[int]:
    """The whole numbers that a graph reckons with, and the sizes that it fixes: a window of 100 is crossed by 101."""
    found: set[int] = set()
    for part in nested(graph):
        statics: list[Static] = [axis.size for axis in part.axes if axis.size is not None]
        for node in part.nodes:
            match node:
                case Constant(value=value):
                    statics.append(value)
                case Apply(options=options):
                    statics += options.values()
                case Call(consts=consts) | Scan(consts=consts):
                    statics += [static for _, static in consts]
        while statics:
            static = statics.pop()
            statics += static.args if isinstance(static, Arith) else ()
            number = known(static)
            if isinstance(number, int) and not isinstance(number, bool):
                found.add(number)
    return found
