"""From a streaming region of a graph to kernels: one for each softmax, norm or plain sum over the streamed axis.

What does not vary along rows or columns is no work of a kernel: it is made before, by PyTorch, and read.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from ...compiler.graph.core.index import Index, index_of
from ...compiler.graph.nodes import Apply, Constant, Graph, Node, Positions
from ...compiler.graph.term import Leaf, Number, Position, Term, change
from ...compiler.graph.traits import (
    Arrange,
    Extreme,
    Gather,
    IndexMap,
    Limited,
    Pointwise,
    Quotient,
    Reduce,
    Rounded,
    Sum,
)
from ...compiler.graph.values import IndexInto, Role, Scalar, Value
from ...compiler.masks.read import Reader
from ...compiler.sizes.axes import Axis, ConstOf, Literal, SizeOf, Static, axes_in, consts_in, known
from ...compiler.streams.along import left_out, written
from ...compiler.streams.region import Fold, StreamingRegion, varies
from ...compiler.streams.rules import FoldKind
from .names import AXIS, PART, SCORE, KernelNames, plain
from .points import learnt
from .tiles import Done, Features, Kernel, Load, NoKernel, PairNumber, PairPlace, Point, Score, StaticPoint


@dataclass(frozen=True)
class Reason:
    """Why something stays unfused."""

    where: str
    why: str


def kernels(graph: Graph, region: StreamingRegion, starts: Mapping[Axis, Value]) -> list[Kernel]:
    """The kernels of a region, all called `fold`. starts: in a step, the places of the first items along axes. Raises
    NoKernel where they cannot do something in it.
    """
    if region.random:
        raise NoKernel("shares are left out at random (dropout)")
    index = index_of(graph)
    folds = {id(fold.node): fold for fold in region.folds}
    used: set[int] = set()
    made: list[Kernel] = []
    for fold in region.folds:
        if fold.kind in (FoldKind.SHARES, FoldKind.ROOT):
            weighed = [other for other in region.folds if other.of is fold.node]
            logs = [
                other
                for other in region.folds
                if other.kind is FoldKind.LOGSUM
                and fold.kind is FoldKind.SHARES
                and other.node.operands[0].id == fold.node.operands[0].id
                and _id(other.node.mask) == _id(fold.node.mask)
            ]
            if len(logs) > 1:
                raise NoKernel("two logarithms of one sum")
            used |= {id(one.node) for one in (fold, *weighed, *logs)}
            if not weighed:
                raise NoKernel("shares that weigh nothing")
            made.append(KernelReader(graph, region, index, starts).kernel(fold, weighed, logs))
    for fold in region.folds:
        if id(fold.node) in used:
            continue
        if fold.kind is not FoldKind.TOTAL or len(fold.node.operands) != 2:
            raise NoKernel(f"{written(fold.node)} of scores, {fold.kind.value}, has no kernel yet")
        made.append(KernelReader(graph, region, index, starts).kernel(fold, [fold], []))
    assert folds
    return made


def _id(value: Value | None) -> int | None:
    return None if value is None else value.id


@dataclass
class KernelReader:
    """Reads one kernel. `own`: names of what it is given."""

    graph: Graph
    region: StreamingRegion
    index: Index
    starts: Mapping[Axis, Value]
    own: KernelNames = field(default_factory=KernelNames)
    points: dict[int, Point] = field(default_factory=dict)
    leaves: dict[tuple[int, bool], PairNumber] = field(default_factory=dict)
    vectors: dict[int, Features] = field(default_factory=dict)
    numbers: list[Static] = field(default_factory=list)  # that are written into the kernel

    def kernel(self, fold: Fold, weighed: list[Fold], logs: list[Fold]) -> Kernel:
        self._partition()
        node, plain_sum = fold.node, fold.kind is FoldKind.TOTAL
        score, values = self._folded(node, weighed, plain_sum)
        features = tuple(
            self._features(value, self.columns, self._depth(value, of.out), f"V{i or ''}")
            for i, (value, of) in enumerate(values)
        )
        own_axes = (self.rows, self.columns, *self.batch)
        self.names = names = {axis: self.own.give(plain(axis.name, "axis"), AXIS) for axis in own_axes}
        mask = node.mask
        chosen = left_out(score, self.index) if mask is None and fold.kind is not FoldKind.SHARES else None
        if chosen is not None:
            mask, score = chosen
        root = self.point(score)
        seen = None if mask is None else self.point(mask)
        if isinstance(seen, StaticPoint):
            if not seen.number:
                raise NoKernel("its mask hides everything")
            seen = None
        if isinstance(root, Load | PairPlace | StaticPoint):
            raise NoKernel("its scores are read, not made")
        term = None if mask is None else change(Reader(self.graph).term(mask), self._read_late)
        starts = {axis: self._table(start) for axis, start in self.starts.items() if (start.id, False) in self.leaves}
        if term is not None and {self.rows, self.columns} & self.starts.keys() - starts.keys():
            term = None  # its bounds are of places that the kernel does not know
        eps = node.options.get("eps", Literal(0)) if fold.kind is FoldKind.ROOT else Literal(0)
        self.numbers.append(eps)
        made = Kernel(
            "fold",
            self.rows,
            self.columns,
            self.batch,
            fold.kind,
            float(known(eps) or 0),
            root,
            seen,
            term,
            features,
            tuple(of.out for _, of in values),
            logs[0].node.out if logs else None,
            node.out if node.out in self.region.stored else None,
            starts,
            self.graph.stepped is None,
            self._written(features),
            names=names,
        )
        for part in made.inputs:
            for axis in part.axes:
                if axis not in names:
                    names[axis] = self.own.give(plain(axis.name, "axis"), AXIS)
        if not made.scores:
            raise NoKernel("its scores are no products")
        for leaf in made.leaves:
            if leaf.looked_up and len(leaf.own) != 1:
                raise NoKernel("a table of several axes is looked up")
        learnt(made)
        return made

    def _written(self, features: tuple[Features, ...]) -> dict[str, Static]:
        """What the numbers in it are made of, but for depths, which are seen where it is called."""
        seen = {part.depth.family for part in (*features, *self.vectors.values())}
        consts = (const for static in self.numbers for const in consts_in(static))
        axes = (axis for static in self.numbers for axis in axes_in(static))
        found: dict[str, Static] = {self.own.give(plain(c.name, "n")): ConstOf(c) for c in dict.fromkeys(consts)}
        sizes = {axis.family: axis for axis in axes if axis.family not in seen}
        return found | {self.own.give(plain(axis.name, "n")): SizeOf(axis) for axis in sizes.values()}

    def _read_late(self, part: Position | Number | Leaf) -> Term:
        """A part of a mask: a number that is known when the model is built (a window of a list) is read as data are."""
        if isinstance(part, Number) and known(part.static) is None:
            for leaf in self.leaves.values():
                node = self.index.maker(leaf.value)
                if isinstance(node, Constant) and node.value == part.static:
                    return Leaf(leaf.value)
        return part

    def _partition(self) -> None:
        """Which axis has tiles, and of which a program has one item."""
        region, lifted = self.region, set(self.graph.lifted)
        asking = [axis for axis in region.queries if axis.is_width] or [*region.queries]
        if not asking:
            raise NoKernel("there is one query: nothing shares the keys that are read")
        self.rows, self.columns = asking[-1], region.streamed
        if {self.rows, self.columns} & lifted:
            raise NoKernel("a call lifts over its queries or keys")
        self.batch = tuple(axis for axis in region.partitioned if axis != self.rows and axis not in lifted)

    def _folded(self, node: Apply, weighed: list[Fold], plain_sum: bool) -> tuple[Value, list[tuple[Value, Apply]]]:
        """The scores, and what is weighed, each with the node that does it."""
        if plain_sum:
            score, value = self._split(node)
            return score, [(value, node)]
        values: list[tuple[Value, Apply]] = []
        for other in weighed:
            if len(other.node.operands) != 2 or other.node.mask is not None:
                raise NoKernel("what is weighed is no product of two")
            first, second = other.node.operands
            if second.id == node.out.id:
                first, second = second, first
            if first.id != node.out.id:
                raise NoKernel("what weighs is changed behind its softmax")
            values.append((second, other.node))
        return node.operands[0], values

    def _split(self, node: Apply) -> tuple[Value, Value]:
        """Of a plain product summed over columns: what varies with rows too, and what is weighed by it."""
        first, second = node.operands
        for one, other in ((first, second), (second, first)):
            if {self.rows, self.columns} <= {*varies(one)} and self.rows not in varies(other):
                return one, other
        raise NoKernel("both factors vary with queries and keys")

    def _depth(self, value: Value, result: Value) -> Axis:
        free = [axis for axis in varies(value) if axis not in (*self.batch, self.columns, *self.graph.lifted)]
        if len(free) != 1 or free[0] not in varies(result):
            raise NoKernel("what is weighed has not one depth")
        return free[0]

    # -- vectors ------------------------------------------------------------------------------------------------------

    def _features(self, value: Value, place: Axis, depth: Axis, wish: str) -> Features:
        if value.id not in self.vectors:
            axes = [axis for axis in value.type.axes if axis not in (place, depth, *self.graph.lifted)]
            batch = tuple(axis for axis in self.batch if axis in axes)
            if value.type.element is not Scalar.REAL or len(batch) != len(axes):
                raise NoKernel(f"`{value.name or wish}` has axes of its own")
            if {place, depth} & value.type.broadcast_axes:
                raise NoKernel(f"`{value.name or wish}` is the same for all {place.name}")
            self.vectors[value.id] = Features(self._named(value, wish), value, batch, place, depth)
        return self.vectors[value.id]

    def _named(self, value: Value, wish: str) -> str:
        """The spec's name of a value, be it before a renaming."""
        node = self.index.maker(value)
        while value.name is None and isinstance(node, Apply) and node.traits.reads == Arrange(IndexMap.SAME):
            value = node.operands[0]
            node = self.index.maker(value)
        return self.own.give(plain(value.name, wish), PART)

    # -- points -------------------------------------------------------------------------------------------------------

    def point(self, value: Value) -> Point:
        """The expression of a value."""
        if value.id not in self.points:
            self.points[value.id] = self._read(value)
        return self.points[value.id]

    def _read(self, value: Value) -> Point:
        node = self.index.maker(value)
        along = {self.rows, self.columns} & {*varies(value)}
        if isinstance(node, Constant):
            number = known(node.value)
            if number is not None:
                self.numbers.append(node.value)
                return StaticPoint(number, _kind(value))
        if not along:
            return self._leaf(value)
        if isinstance(node, Positions):
            place, start = PairPlace(node.axis), self.starts.get(node.axis)
            args = (place,) if start is None else (place, self._leaf(start))
            return (
                place
                if start is None
                else Done("+", Sum((1, 1)), args, Scalar.INT, f"{plain(node.axis.name, 'x')}_place")
            )
        table = value.role <= Role.TABLE and _kind(value) is not Scalar.REAL
        if len(along) == 1 and not (table and self._of_places(value)):
            return self._leaf(value)
        if isinstance(node, Apply) and not node.weights:
            made = self._made(node)
            if made is not None:
                return made
        if self._of_scores(value):
            raise NoKernel(f"`{node.op if isinstance(node, Apply) else 'a call'}` of scores has no form in a kernel")
        return self._leaf(value)

    def _made(self, node: Apply) -> Point | None:
        out = node.out
        match node.traits.reads:
            case Pointwise(Rounded(up=False)) if (ratio := self._whole_ratio(node)) is not None:
                args = tuple(map(self.point, ratio.operands))
                return Done(node.op, Quotient(whole=True), args, Scalar.INT, plain(out.name, "x"))
            case Pointwise(meaning):
                exact = _kind(out) is not Scalar.REAL and any(
                    _kind(one) is Scalar.REAL and one.is_table for one in node.operands
                )
                args = tuple(map(self.point, node.operands))
                if exact:
                    args = tuple(map(_exactly, args))
                name = plain(out.name, "x")
                if meaning == Limited() and not all(isinstance(arg, StaticPoint) for arg in args[1:]):
                    args = (Done(node.op, Extreme(True), args[:2], _kind(out), name, exact), args[2])
                    meaning = Extreme(False)
                while isinstance(meaning, Extreme) and len(args) > 2:  # the largest of two, and of that and the next
                    kind = Scalar.REAL if any(arg.kind is Scalar.REAL for arg in args[:2]) else args[0].kind
                    args = (Done(node.op, meaning, args[:2], kind, name, exact), *args[2:])
                return Done(node.op, meaning, args, _kind(out), name, exact)
            case Arrange(IndexMap.NEW):
                return self.point(node.operands[0])
            case Reduce(combination, multiplies=True) if combination is not None and combination.adds:
                return self._score(node)
            case Gather() if len(node.axes) == 1 and not {self.rows, self.columns} & {*varies(node.operands[0])}:
                table, at = node.operands
                free = [axis for axis in varies(table) if axis not in (*self.batch, *self.graph.lifted)]
                if free == [node.axes[0]] and not table.type.broadcast_axes & {*free}:
                    return Load(self._table(table, node.axes[0]), self.point(at))
                return None
            case _:
                return None

    def _whole_ratio(self, node: Apply) -> Apply | None:
        ratio = self.index.maker(node.operands[0])
        if not isinstance(ratio, Apply) or ratio.traits.reads != Pointwise(Quotient()):
            return None
        by = self.index.maker(ratio.operands[1])
        whole = all(_kind(one) is Scalar.INT for one in ratio.operands)
        number = known(by.value) if isinstance(by, Constant) else None
        return ratio if whole and isinstance(number, int) and number > 0 else None

    def _score(self, node: Apply) -> Score | None:
        if len(node.operands) != 2 or len(node.axes) != 1 or node.mask is not None:
            return None
        depth = node.axes[0]
        for one, other in (node.operands, node.operands[::-1]):
            rows, columns = {*varies(one)}, {*varies(other)}
            if self.rows in rows and self.columns in columns and not (self.columns in rows or self.rows in columns):
                if depth not in rows or depth not in columns:
                    return None
                left = self._features(one, self.rows, depth, "Q")
                right = self._features(other, self.columns, depth, "K")
                return Score(self.own.give(f"{left.name}_{right.name}", SCORE), left, right)
        return None

    def _table(self, value: Value, looked_up: Axis | None = None) -> PairNumber:
        key = (value.id, looked_up is not None)
        if key not in self.leaves:
            own = (looked_up,) if looked_up is not None else tuple(
                axis for axis in (self.rows, self.columns) if axis in value.type.axes
            )  # fmt: skip
            axes = [axis for axis in value.type.axes if axis not in own and axis not in self.graph.lifted]
            batch = tuple(axis for axis in self.batch if axis in axes)
            if len(batch) != len(axes):
                raise NoKernel(f"`{value.name or 'an operand'}` has axes of its own")
            kind = _kind(value)
            learns = kind is Scalar.REAL and value.role >= Role.WEIGHT and not value.exact
            self.leaves[key] = PairNumber(
                self._named(value, "x"), value, batch, own, kind, learns, looked_up is not None
            )
        return self.leaves[key]

    def _leaf(self, value: Value) -> Load:
        return Load(self._table(value))

    def _of_places(self, value: Value) -> bool:
        """Whether it is arithmetic of positions and numbers alone."""
        return all(isinstance(node, Constant | Positions) or _computes(node) for node in self._behind(value))

    def _of_scores(self, value: Value) -> bool:
        return any(
            isinstance(node, Apply) and isinstance(node.traits.reads, Reduce)
            and {self.rows, self.columns} <= {*varies(node.out)}
            for node in self._behind(value)
        )  # fmt: skip

    def _behind(self, value: Value) -> Iterator[Node]:
        left, known_ids = [value], set[int]()
        while left:
            one = left.pop()
            if one.id in known_ids:
                continue
            known_ids.add(one.id)
            node = self.index.maker(one)
            if node is None:
                continue
            yield node
            if isinstance(node, Apply):
                left += [*node.operands, *([node.mask] if node.mask is not None else [])]


def _computes(node: Node) -> bool:
    return isinstance(node, Apply) and isinstance(node.traits.reads, Pointwise) and not node.weights


def _exactly(point: Point) -> Point:
    """The same in float64, down to the whole numbers that it is made of."""
    if isinstance(point, Done) and point.kind is Scalar.REAL and not point.exact:
        return Done(point.op, point.meaning, tuple(map(_exactly, point.args)), point.kind, point.name, True)
    return point


def _kind(value: Value) -> Scalar:
    element = value.type.element
    return Scalar.INT if isinstance(element, IndexInto) else element
