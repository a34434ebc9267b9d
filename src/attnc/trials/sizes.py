"""Which sizes to try a graph at: sets of small ones that its formulas allow, and those just beyond its numbers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import chain

from ..compiler.causality.caller_sizes import made_of
from ..compiler.graph.nodes import Apply, Call, Constant, Graph, Scan
from ..compiler.sizes.axes import Arith, Axis, ConstOf, Literal, Number, SizeOf, Static, decided, known
from ..compiler.sizes.functions import OPERATIONS
from .shrink import graphs_in

SMALL = (4, 3, 6, 8, 2, 5, 12, 9, 16, 7, 10, 24, 40, 64)
MEASURED = 250  # beyond: from how long this takes, it is known what more would
LARGEST = 6_000  # of a width, where a number of the graph asks for it


class TriedSizes:
    """TriedSizes for all axes of a graph, from those of its free families."""

    def __init__(self, graph: Graph, free: Mapping[int, int]) -> None:
        self.free = dict(free)
        self._derived = {axis.id: axis for axis in graph.axes if axis.size is not None}
        self._known: dict[int, int] = {}

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
                if const.value is None or isinstance(const.value, tuple):
                    raise ValueError(f"{const.name} has no value")
                return const.value
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


def candidates(graph: Graph, claimed: Axis, hints: Mapping[str, int]) -> Iterator[TriedSizes]:
    """Sets of sizes, small ones first; whether the ops of the graph can be run at them is seen by running it."""
    free = {axis.family: axis for axis in reversed(graph.axes) if _is_free(axis, graph)}
    along = {part.family for part in made_of(claimed)} & free.keys() or free.keys()
    hinted = {axis.family: hints[axis.name] for axis in graph.axes if axis.name in hints and axis.family in free}
    beyond = [each + 2 for each in sorted(_numbers(graph)) if each + 2 <= LARGEST]
    near = sorted({near for each in beyond for near in (each, 2 * each) if near <= MEASURED})
    far = [each for each in beyond if each > MEASURED]
    tried = set()
    for size in chain((None,) if hinted else (), SMALL, near, (MEASURED, *far) if far else ()):
        for others in (3, 2, 4):
            sizes = {f: (size or 4) if f in along else others for f in free} | (hinted if size is None else {})
            sizes = {f: min(s, free[f].bound or s) for f, s in sizes.items()}
            key = tuple(sizes.values())
            if key in tried:
                continue
            tried.add(key)
            found = TriedSizes(graph, sizes)
            if _fits(found, graph):
                yield found
                break


def larger(sizes: TriedSizes, graph: Graph, claimed: Axis) -> TriedSizes | None:
    """The next sizes at which the claimed axis is longer."""
    along = [part for part in made_of(claimed) if part.family in sizes.free]
    if len(along) != 1:
        return None
    (base,) = along
    for more in range(1, 65):
        size = sizes.free[base.family] + more
        if size > (base.bound or size):
            return None
        found = TriedSizes(graph, sizes.free | {base.family: size})
        if _fits(found, graph):
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
    for part in graphs_in(graph):
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
            if isinstance(number, int) and not isinstance(number, bool) and 1 < number < LARGEST:
                found.add(number)
    return found
