"""The graph of the step, from what is demanded of each value.

It is an ordinary graph, nested as the model is, with a few ops more, which the cache of its site serves:

remember   the new items joined to the earlier ones: `axes` new, `made` the visible range; `name` is the cache's
store      a static value kept (in `prepare`); recall   that value again (in `step`)
resume     what `leave` left behind at the last step: states of scans, running results; at first the operand, or its
           first item along `axes`
positions  the indices of an axis of time, as they are in the whole sequence
slice      the rows of a table of positions for the items at hand; of all items of their chunks these alone
since      an index into the whole sequence as one into a visible range
fill       all items so far, and copies of the last one up to a length that the model takes; or those of the chunks
           that the new ones are in
behind     new items, at the first step behind a prefix
taps       `window` of the new items, the earlier ones from a visible range
tail       the last of the new items, as many as are wanted
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from itertools import count

from ..graph.nodes import (
    Apply,
    Call,
    Constant,
    Graph,
    Input,
    ItemsAlong,
    Node,
    Output,
    Parameter,
    Positions,
    Repeat,
    Scan,
    Stepped,
)
from ..graph.traits import Arrange, Combination, Gather, IndexMap, Pointwise, Running, Window, joined
from ..graph.values import IndexInto, Role, Scalar, Type, Value
from ..ops import op_meaning, op_named
from ..sizes.arithmetic import replaced, solved
from ..sizes.axes import Arith, Axis, ConstOf, Literal, SizeOf, Static, axes_in
from ..sizes.ids import STEPS
from .demand import DemandAnalysis, Modes, Reads, groups, grows
from .pace import TICK, Pace
from .sites import STATIC, Cell, Demand, StepSite, by_place, held_to_lengths, is_kept_whole, same_along
from .visible_range import ENTIRE, Aligned, Mode, VisibleRange, is_range

EVERY = VisibleRange((None,))
ByAxis = frozenset[tuple[Axis, Mode]]


@dataclass(frozen=True, slots=True)
class Kept:
    """One cache. `cell` is what it holds; `visible` how much, None for what does not grow; `pace` when it does."""

    path: str
    cell: Cell
    visible: VisibleRange | None
    state: bool = False
    pace: Pace = TICK


@dataclass(eq=False)
class Axes:
    """The axes of the decoding graphs: one for each axis of time, where it belongs, and each visible range of it."""

    time: Axis
    lengths: tuple[int, int] = (0, 1)
    ids: count[int] = field(default_factory=lambda: count(STEPS))
    by_origin: dict[tuple[StepSite, Axis, VisibleRange | None], Axis] = field(default_factory=dict)
    families: dict[tuple[Pace, VisibleRange | None], int] = field(default_factory=dict)
    along: dict[Axis, Pace] = field(default_factory=dict)
    groups: dict[tuple[StepSite, int], int] = field(default_factory=dict)
    alike: dict[tuple[object, ...], VisibleRange] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.new, self.all, self.filled = (next(self.ids) for _ in range(3))
        self.whole = replace(self._fresh(self.time, self.all), name="whole")
        self.tail = self._fresh(self.time, next(self.ids))

    def _fresh(self, axis: Axis, family: int) -> Axis:
        return replace(axis, id=next(self.ids), extent=None, size=None, bound=None, family=family)

    def at(self, site: StepSite, axis: Axis, mode: Mode) -> Axis:
        """The axis of the graph of `site` that stands for one of time in this mode."""
        if not site.timed(axis):
            return axis
        home, pace = site.home(axis), site.paces.get(axis.family)
        formula = pace is None or (pace != TICK and mode is ENTIRE)
        if mode is ENTIRE and not formula and axis.extent is None and self.lengths == (0, 1):
            mode = EVERY
        visible = None if mode is None else self._first(mode.root())
        key = (home, axis, visible)
        if key not in self.by_origin:
            if formula or pace is None:
                family = self.groups.setdefault((home, axis.family), next(self.ids))
                self.by_origin[key] = replace(self._fresh(axis, family), size=self._size(home, axis))
            elif mode is not ENTIRE:
                found = self.by_origin[key] = self._fresh(axis, self._family(pace, visible))
                if pace != TICK or isinstance(visible, Aligned):
                    self.along[found] = pace
            elif axis.extent is None:
                self.by_origin[key] = self._fresh(axis, self.filled)
            else:
                self.by_origin[key] = axis
        return self.by_origin[key]

    def _size(self, site: StepSite, axis: Axis) -> Static | None:
        """The formula of an axis that follows from time, over all items."""
        whole = next(
            (a for a in site.graph.axes if site.timed(a) and a.size is not None and axis in axes_in(a.size)), None
        )
        size = axis.size or (solved(whole, axis) if whole is not None else None)
        return None if size is None else self.sizes(site, size)

    def sizes(self, site: StepSite, static: Static) -> Static:
        """A number in which the extent of time is that of all items so far."""
        return replaced(static, lambda part: SizeOf(self.extent(site, part.axis)) if isinstance(part, SizeOf) else part)

    def extent(self, site: StepSite, axis: Axis) -> Axis:
        """The axis whose extent a number means: that of time is as long as all items so far, if it is not given."""
        if not site.timed(axis) or axis.extent is not None:
            return axis
        if site.derived(axis) or self.lengths != (0, 1):
            return self.at(site, axis, ENTIRE)
        return self.whole

    def _first(self, visible: VisibleRange) -> VisibleRange:
        """One range for all that hold the same items, so that what is made along them, such as a mask, is made once."""
        return self.alike.setdefault((visible.keep, id(visible.repeat)), visible) if is_range(visible) else visible

    def _family(self, pace: Pace, visible: VisibleRange | None) -> int:
        if pace == TICK and visible is None:
            return self.new
        if pace == TICK and visible is not None and visible.keep == (None,):
            return self.all
        return self.families.setdefault((pace, visible), next(self.ids))


class GraphBuilder:
    """One graph under construction: fresh values, nodes in order."""

    def __init__(self, site: StepSite, axes: Axes) -> None:
        self.site, self.axes = site, axes
        self.nodes: list[Node] = []
        self.values: dict[tuple[Cell, Demand], Value] = {}
        self._ids = count(1)
        self._names: Counter[str] = Counter()

    def fresh(self, type: Type, role: Role, name: str | None, like: Value | None) -> Value:
        exact = like is not None and like.exact and type.element is Scalar.REAL
        return Value(next(self._ids), type, role, name, like.span if like else None, exact)

    def type(self, cell: Cell, demand: Demand) -> Type:
        modes = dict(zip(cell.axes, demand, strict=True))
        change = {axis: self.axes.at(self.site, axis, modes.get(axis)) for axis in cell.value.type.axes}
        element = cell.value.type.element
        if isinstance(element, IndexInto) and self.site.timed(element.axis):
            known = element.axis.extent is not None  # of those items there are so far
            element = IndexInto(self.axes.whole if known else self.axes.extent(self.site, element.axis))
        old = cell.value.type
        return Type(
            element, tuple(change[axis] for axis in old.axes), frozenset(change[axis] for axis in old.broadcast_axes)
        )

    def value(self, cell: Cell, demand: Demand) -> Value:
        """A new value for the cell in these modes."""
        value = self.fresh(self.type(cell, demand), cell.value.role, cell.value.name, cell.value)
        self.values[cell, norm(demand)] = value
        return value

    def get(self, cell: Cell, modes: Modes) -> Value:
        return self.values[cell, norm(tuple(modes.get(axis) for axis in cell.axes))]

    def add(self, op: str, operands: tuple[Value, ...], out: Value, name: str | None = None,
            axes: tuple[Axis, ...] = (), made: tuple[Axis, ...] = ()) -> Value:  # fmt: skip
        self.nodes.append(Apply(op_named(op), operands, out, axes, made, name=name))
        return out

    def number(self, number: float) -> Value:
        whole = float(number).is_integer()
        out = self.fresh(Type(Scalar.INT if whole else Scalar.REAL, ()), Role.CONSTANT, None, None)
        self.nodes.append(Constant(Literal(int(number) if whole else number), out))
        return out

    def key(self, name: str) -> str:
        """A name for a cache that no other cache at this site has."""
        self._names[name] += 1
        return name if self._names[name] == 1 else f"{name}_{self._names[name]}"


def norm(demand: Sequence[Mode]) -> Demand:
    return tuple(mode.root() if mode is not None else None for mode in demand)


def by_axis(cell: Cell, demand: Demand) -> ByAxis:
    """Modes without an order: what a pass takes and what it gives may have the same axes in different orders."""
    return frozenset(zip(cell.axes, demand, strict=True))


def in_order(cell: Cell, modes: ByAxis) -> Demand:
    found = dict(modes)
    return tuple(found[axis] for axis in cell.axes)


def called(cell: Cell) -> str:
    """A name for the cache of a cell."""
    if cell.value.name:
        return cell.value.name
    if isinstance(cell.node, Apply):
        return cell.node.name or cell.node.op
    return "kept"


def distinct_demands(cell: Cell) -> list[Demand]:
    """The modes in which a cell is demanded, each once."""
    return list(dict.fromkeys(norm(demand) for demand in cell.demands))


class StepBuilder:
    """Builds the graph of the step. `kept` collects the caches, in the order of the steps."""

    def __init__(self, analysis: DemandAnalysis, axes: Axes) -> None:
        self.analysis, self.axes = analysis, axes
        self.kept: list[Kept] = []
        self.keys: dict[Cell, str] = {}  # of static cells that are stored

    def graph(self, site: StepSite, entering: list[tuple[Cell, Demand]], leaving: list[tuple[Cell, Demand]],
              outputs: Sequence[Output] = ()) -> Graph:  # fmt: skip
        """The step of one site, with these inputs and outputs."""
        b = GraphBuilder(site, self.axes)
        inputs = []
        for cell, demand in entering:
            value = b.value(cell, demand)
            inputs.append(Input(cell.value.name or "x", value))
        for item in site.graph.inputs:
            cell = site.cells[item.value.id]
            if cell.stored:
                self._recall(b, cell)
            self._remember(b, cell)
        for place, node in enumerate(site.graph.nodes):
            self._node(b, place, node)
        results = []
        for number, (cell, demand) in enumerate(leaving):
            value = b.values[cell, demand]
            shown = outputs[number] if outputs else None
            modes = dict(zip(cell.axes, demand, strict=True))
            if shown:
                order = tuple(self.axes.at(site, axis, modes.get(axis)) for axis in shown.axes)
            else:
                order = value.type.axes
            results.append(Output(shown.name if shown else None, value, order))
        return self._finish(b, tuple(inputs), tuple(results))

    def _lifted(self, site: StepSite) -> tuple[Axis, ...]:
        """The axes over which a site lifts, in the decoding graph."""
        found = [axis for axis in site.graph.lifted if not site.timed(axis)]
        found += [
            new
            for (home, axis, _), new in self.axes.by_origin.items()
            if axis in site.graph.lifted and home is not site
        ]
        return tuple(dict.fromkeys(found))

    def _finish(self, b: GraphBuilder, inputs: tuple[Input, ...], outputs: tuple[Output, ...]) -> Graph:
        site, graph = b.site, b.site.graph
        own = [new for (home, _, _), new in self.axes.by_origin.items() if home is site]
        ranges, along = list[tuple[Axis, Static]](), list[tuple[Axis, ItemsAlong]]()
        for (_, _, visible), new in self.axes.by_origin.items():
            pace = self.axes.along.get(new)
            keep = self._keep(site, visible, pace or TICK) if visible is not None and is_range(visible) else None
            if pace is None and keep is not None:
                ranges.append((new, keep))
            elif pace is not None:
                chunk = visible.size if isinstance(visible, Aligned) else 0
                keep = None if visible is not None and visible.keep == (None,) else keep
                along.append((new, ItemsAlong(pace.size, pace.before, visible is None, keep, chunk)))
        stepped = Stepped(
            "step", site.origin, site.name, self.axes.new, self.axes.whole, tuple(ranges), tuple(along),
            filled=(self.axes.filled, *self.axes.lengths), grouped=frozenset(self.axes.groups.values()),
            variant=several(site), times=frozenset(site.families),
        )  # fmt: skip
        axes: dict[Axis, None] = {}
        for axis in graph.axes:  # what stands for one of them stands in its place
            stand = [new for (home, old, _), new in self.axes.by_origin.items() if home is site and old == axis]
            axes.update(dict.fromkeys(stand or [axis]))
        axes.update(dict.fromkeys(own))
        return replace(
            graph, axes=tuple(axes), lifted=self._lifted(site), inputs=inputs,
            nodes=tuple(b.nodes), outputs=outputs, stepped=stepped,
        )  # fmt: skip

    def _keep(self, site: StepSite, visible: VisibleRange, pace: Pace) -> Static | None:
        """How many items a range has before the new ones, as a number of this site; None where it cannot be said."""
        whole: Static = SizeOf(self.axes.whole)
        if pace.before != TICK.before:
            whole = Arith("+", (whole, pace.before))

        def number(keep: int | None) -> Static:
            return whole if keep is None else Literal(keep)

        if visible.repeat is None:
            return number(visible.keep[0])
        if site.repeat is not visible.repeat or visible.repeat.index is None:
            return None
        return by_pass(visible.keep, ConstOf(visible.repeat.index), number)

    # -- what is kept --------------------------------------------------------------------------------------------

    def _remember(self, b: GraphBuilder, cell: Cell) -> None:
        """The new items of a cell join its cache."""
        if not cell.remembered:
            return
        for demand in distinct_demands(cell):
            if not grows(cell, demand) or not is_range(demand[0]):
                continue
            new = b.values[cell, (None,)]
            key = b.key(called(cell))
            path = f"{b.site.path}.{key}" if b.site.path else key
            axis = cell.axes[0]
            self.kept.append(Kept(path, cell, demand[0], pace=b.site.paces[axis.family]))
            axes = (self.axes.at(b.site, axis, None),), (self.axes.at(b.site, axis, demand[0]),)
            b.add("remember", (new,), b.value(cell, demand), key, *axes)
        modes = [mode for (mode,) in distinct_demands(cell)]
        for mode in modes:
            if mode is not None and not is_range(mode):
                self._fill(b, cell, next(each for each in modes if is_range(each)), mode)

    def _fill(self, b: GraphBuilder, cell: Cell, kept: Mode, mode: VisibleRange) -> None:
        """Items so far, and copies of the last one up to a length that the model takes, or to the end of a chunk."""
        given, axis = b.get(cell, {cell.axes[0]: kept}), cell.axes[0]
        had, filled = self.axes.at(b.site, axis, kept), self.axes.at(b.site, axis, mode)
        if had is filled:
            b.values[cell, (mode,)] = given
            return
        b.add("fill", (given,), b.value(cell, (mode,)), axes=(had,), made=(filled,))

    def _recall(self, b: GraphBuilder, cell: Cell) -> None:
        key = b.key(called(cell))
        path = f"{b.site.path}.{key}" if b.site.path else key
        self.kept.append(Kept(path, cell, None))
        self.keys[cell] = key
        b.add("recall", (), b.value(cell, ()), key)

    def _resume(
        self, b: GraphBuilder, first: Value, type: Type, role: Role, cell: Cell, name: str, along: Axis, many: bool
    ) -> tuple[Value, str]:
        """many: `first` is along the axis of the new items, too, of which the first one counts."""
        key = b.key(name)
        path, pace = f"{b.site.path}.{key}" if b.site.path else key, self.axes.along.get(along, TICK)
        self.kept.append(Kept(path, cell, None, state=True, pace=pace))
        axes, made = (along,) if many else (), () if pace == TICK else (along,)
        return b.add("resume", (first,), b.fresh(type, role, name, cell.value), key, axes, made), key

    # -- nodes ---------------------------------------------------------------------------------------------------

    def _node(self, b: GraphBuilder, place: int, node: Node) -> None:
        site = b.site
        match node:
            case Constant(_, out) | Positions(_, out) | Parameter(_, out):
                cell = site.cells[out.id]
                if cell.stored:
                    self._recall(b, cell)
                else:
                    for demand in distinct_demands(cell):
                        self._leaf(b, node, cell, demand)
            case Apply():
                cell = site.cells[node.out.id]
                if cell.stored:
                    self._recall(b, cell)
                    return
                for demand in sorted(distinct_demands(cell), key=lambda w: grows(cell, w)):
                    if not grows(cell, demand):
                        self._apply(b, node, cell, demand)
                self._remember(b, cell)
            case Call() if is_kept_whole(site, node):
                self._whole(b, node)
            case Call():
                self._call(b, place, node)
            case Scan():
                self._scan(b, node)
            case Repeat():
                self._repeat(b, place, node)

    def _stored(self, b: GraphBuilder, outs: tuple[Value, ...]) -> None:
        for out in outs:
            cell = b.site.cells[out.id]
            if cell.stored:
                self._recall(b, cell)

    def _leaf(self, b: GraphBuilder, node: Constant | Positions | Parameter, cell: Cell, demand: Demand) -> None:
        """A number, indices, or a weight."""
        site = b.site
        match node:
            case Constant(value, _):
                b.nodes.append(Constant(self.axes.sizes(site, value), b.value(cell, demand)))
            case Positions(axis, _) if not site.timed(axis):
                b.nodes.append(Positions(axis, b.value(cell, demand)))
            case Positions(axis, _):
                self._positions(b, axis, demand[0], b.value(cell, demand))
            case Parameter(weight, _) if all(
                a is self.axes.at(site, a, m) for a, m in zip(cell.axes, demand, strict=True)
            ):
                b.nodes.append(Parameter(weight, b.value(cell, demand)))
            case Parameter(weight, out):
                table = b.fresh(out.type, out.role, out.name, out)
                b.nodes.append(Parameter(weight, table))
                self._rows(b, table, cell, cell.axes, demand)

    def _positions(self, b: GraphBuilder, axis: Axis, mode: Mode, out: Value) -> None:
        along = self.axes.at(b.site, axis, mode)
        if mode is ENTIRE:
            b.nodes.append(Positions(along, out))
        else:
            b.add("positions", (), out, axes=(along,))

    def _taken(self, b: GraphBuilder, whole: Value, cell: Cell, made: Demand, demand: Demand) -> None:
        """The value of a cell in these modes, from what is made of it for all items."""
        axes = [self.axes.at(b.site, axis, mode) for axis, mode in zip(cell.axes, made, strict=True)]
        self._rows(b, whole, cell, axes, demand)

    def _rows(self, b: GraphBuilder, table: Value, cell: Cell, axes: Sequence[Axis], demand: Demand) -> None:
        """The value of a cell in these modes, from a table along these axes."""
        wanted = [self.axes.at(b.site, axis, mode) for axis, mode in zip(cell.axes, demand, strict=True)]
        taken = [(axis, new) for axis, new in zip(axes, wanted, strict=True) if axis is not new]
        if not taken:
            b.values[cell, demand] = table
        for axis, new in taken:
            type = replace(
                table.type,
                axes=tuple(new if a == axis else a for a in table.type.axes),
                broadcast_axes=frozenset(new if a == axis else a for a in table.type.broadcast_axes),
            )
            last = axis is taken[-1][0]
            out = b.value(cell, demand) if last else b.fresh(type, table.role, None, table)
            table = b.add("slice", (table,), out, axes=(axis,), made=(new,))

    def _apply(self, b: GraphBuilder, node: Apply, cell: Cell, demand: Demand) -> None:
        site = b.site
        modes = dict(zip(cell.axes, demand, strict=True))
        if cell.kind == STATIC:
            values = tuple(b.get(site.cells[v.id], {}) for v in node.operands)
            if held_to_lengths(site, node):  # as in `_computed`
                b.values[cell, demand] = values[0]
                return
            mask = None if node.mask is None else b.get(site.cells[node.mask.id], {})
            b.nodes.append(replace(node, operands=values, mask=mask, out=b.value(cell, demand)))
            return
        reads = next(reads for known, reads in self.analysis.reads[cell].items() if norm(known) == demand)
        whole = norm(tuple((reads.result or modes)[axis] for axis in cell.axes))
        if (cell, whole) not in b.values:  # made once, even where several of its rows are wanted
            self._computed(b, node, cell, whole, reads)
        if whole != demand:
            self._taken(b, b.values[cell, whole], cell, whole, demand)

    def _computed(self, b: GraphBuilder, node: Apply, cell: Cell, demand: Demand, reads: Reads) -> None:
        """The op, done in the modes in which its result is made."""
        site = b.site
        modes = dict(zip(cell.axes, demand, strict=True))
        given = [b.get(site.cells[value.id], read) for value, read in reads.operands]
        if node.traits.random or held_to_lengths(site, node):  # no training: neither op does anything
            b.values[cell, demand] = given[0]
            return
        operands, mask = given[: len(node.operands)], next(iter(given[len(node.operands) :]), None)
        eaten = {axis: self.axes.at(site, axis, mode) for axis, mode in reads.eaten.items()}
        traits = node.traits
        match traits.reads:
            case Gather() if len(operands) == 1 and not same_along(site, node.operands[0], node.axes[0]):
                self._own_items(b, node, cell, demand, operands[0])
                return
            case Running(combination) if site.time(node.axes) and not eaten:
                if by_place(site, node):
                    self._by_place(b, node, combination, cell, demand, operands[0])
                else:
                    self._running(b, replace(node, operands=tuple(operands), mask=mask), combination, cell, demand)
                return
        axes = tuple(eaten.get(axis) or self.axes.at(site, axis, None) for axis in node.axes)
        made = tuple(self.axes.at(site, axis, modes.get(axis)) for axis in node.made)
        match traits.reads:
            case Gather() if len(operands) == 1:  # the same for all items: demand.py
                operands.append(b.number(0))
            case Gather() if eaten and reads.eaten[node.axes[0]] is not ENTIRE:
                visible = next(iter(eaten.values()))
                e = operands[1]
                index = b.fresh(replace(e.type, element=IndexInto(visible)), e.role, None, e)
                operands[1] = b.add("since", (e,), index, axes=(visible,))
            case Arrange(IndexMap.SAME):
                both = zip(node.axes, node.made, strict=True)
                axes = tuple(self.axes.at(site, axis, modes.get(new)) for axis, new in both)
            case Window() if eaten and reads.eaten[node.axes[0]] is not ENTIRE:
                traits = op_named("taps")
            case Arrange(IndexMap.PARTS) if reads.eaten.get(node.axes[-1], ENTIRE) is None:
                traits = op_named("behind")
            case Pointwise():  # an index into the whole sequence, if into time: no visible range holds it
                made = tuple(self.axes.extent(site, axis) for axis in node.made)
        out = b.value(cell, demand)
        b.nodes.append(replace(node, traits=traits, operands=tuple(operands), out=out, axes=axes, made=made, mask=mask))

    def _own_items(self, b: GraphBuilder, node: Apply, cell: Cell, demand: Demand, x: Value) -> None:
        """What stands at the places of the new items, behind a prefix."""
        row = next(axis for axis in cell.axes if axis not in node.operands[0].type.axes)
        axes = self.axes.at(b.site, node.axes[0], None), self.axes.at(b.site, row, None)
        b.add("slice", (x,), b.value(cell, demand), axes=axes[:1], made=axes[1:])

    def _running(self, b: GraphBuilder, node: Apply, combination: Combination, cell: Cell, demand: Demand) -> None:
        """The result of the new items, joined to that so far. node: with the operands that it has in the step."""
        meaning = joined(combination)
        assert meaning is not None  # demand.py
        role, type = node.out.role, b.type(cell, demand)
        axis = self.axes.at(b.site, node.axes[0], None)
        before = replace(
            type, axes=tuple(a for a in type.axes if a != axis), broadcast_axes=type.broadcast_axes - {axis}
        )
        name = cell.value.name or ("total" if combination.adds else "so_far")

        def of_the_new_items() -> Value:
            out = b.fresh(type, role, None, node.out)
            b.nodes.append(replace(node, out=out, axes=(axis,)))
            return out

        if combination.largest is None:
            assert combination.neutral is not None
            sofar, key = self._resume(b, b.number(combination.neutral), before, role, cell, name, axis, many=False)
            part = of_the_new_items()
        else:  # the first item is its own largest: it may be met twice
            part = of_the_new_items()
            sofar, key = self._resume(b, part, before, role, cell, name, axis, many=True)
        out = b.value(cell, demand)
        b.nodes.append(Apply(op_meaning(meaning), (part, sofar), out))
        b.add("leave", (out,), b.fresh(type, role, None, out), key, axes=(axis,))

    def _by_place(
        self, b: GraphBuilder, node: Apply, combination: Combination, cell: Cell, demand: Demand, x: Value
    ) -> None:
        """A running result of one number: a sum is a multiple of it, any other is the number itself."""
        if not combination.adds:
            b.values[cell, demand] = x
            return
        modes = dict(zip(cell.axes, demand, strict=True))
        axis = self.axes.at(b.site, node.axes[0], modes[node.axes[0]])
        index = b.fresh(Type(Scalar.INT, (axis,)), Role.TABLE, None, None)
        self._positions(b, node.axes[0], modes[node.axes[0]], index)
        count = b.add("+", (index, b.number(1)), b.fresh(index.type, Role.TABLE, None, None))
        b.add("*", (count, x), b.value(cell, demand))

    # -- calls ---------------------------------------------------------------------------------------------------

    def _outs(self, cell: Cell) -> list[Demand]:
        return [] if cell.stored else [demand for demand in distinct_demands(cell) if not grows(cell, demand)]

    def _actual(self, b: GraphBuilder, node: Call | Scan, modes: Modes) -> tuple[tuple[Axis, Axis], ...]:
        return tuple((formal, self.axes.at(b.site, actual, modes.get(actual))) for formal, actual in node.axes)

    def _groups(self, b: GraphBuilder, node: Call | Scan) -> list[Modes]:
        return groups(b.site, node, self._outs)

    def _copies(self, b: GraphBuilder, node: Call | Scan, modes: Modes) -> tuple[Value, ...]:
        """The results of a call that is kept whole, made once for each of the modes in which they are demanded."""
        outs = []
        for out in node.outs:
            cell = b.site.cells[out.id]
            demand = norm(tuple(modes.get(axis) for axis in cell.axes))
            if demand in self._outs(cell) and (cell, demand) not in b.values:
                outs.append(b.value(cell, demand))
            else:
                outs.append(b.fresh(b.type(cell, demand), out.role, None, out))
        return tuple(outs)

    def _wanted(self, b: GraphBuilder, node: Call | Scan, outs: tuple[Value, ...], modes: Modes, wanted: Modes) -> None:
        """What is wanted of results that are made for all items."""
        for out, value in zip(node.outs, outs, strict=True):
            cell = b.site.cells[out.id]
            made, demand = (norm(tuple(each.get(axis) for axis in cell.axes)) for each in (modes, wanted))
            if made != demand and demand in self._outs(cell) and (cell, demand) not in b.values:
                self._taken(b, value, cell, made, demand)

    def _whole(self, b: GraphBuilder, node: Call) -> None:
        self._stored(b, node.outs)
        for wanted in self._groups(b, node):
            modes = self.analysis.made_in(b.site, node, wanted)
            args = tuple(b.get(b.site.cells[arg.id], modes) for arg in node.args)
            outs = self._copies(b, node, modes)
            b.nodes.append(replace(node, args=args, outs=outs, axes=self._actual(b, node, modes)))
            self._wanted(b, node, outs, modes, wanted)
        for out in node.outs:
            self._remember(b, b.site.cells[out.id])

    def _scan(self, b: GraphBuilder, node: Scan) -> None:
        site = b.site
        self._stored(b, node.outs)
        for wanted in self._groups(b, node):
            modes = self.analysis.made_in(site, node, wanted)
            args = [b.get(site.cells[arg.id], modes) for arg in node.args]
            outs = self._copies(b, node, modes)
            left = []
            if site.timed(node.axis) and modes[node.axis] is None:
                axis = self.axes.at(site, node.axis, None)
                for at, result in node.states:
                    type = outs[result].type
                    type = replace(
                        type, axes=tuple(a for a in type.axes if a != axis), broadcast_axes=type.broadcast_axes - {axis}
                    )
                    cell = site.cells[node.outs[result].id]
                    name = node.graph.inputs[at].name
                    role = outs[result].role
                    args[at], key = self._resume(b, args[at], type, role, cell, name, axis, many=False)
                    left.append((outs[result], key, axis))
            along = self.axes.at(site, node.axis, modes.get(node.axis))
            b.nodes.append(replace(node, args=tuple(args), outs=outs, axis=along, axes=self._actual(b, node, modes)))
            self._wanted(b, node, outs, modes, wanted)
            for value, key, axis in left:
                b.add("leave", (value,), b.fresh(value.type, value.role, None, value), key, axes=(axis,))
        for out in node.outs:
            self._remember(b, site.cells[out.id])

    def _enters(self, inner: Cell) -> list[Demand]:
        """What must be passed for an argument."""
        return [] if inner.stored else [demand for demand in distinct_demands(inner) if not grows(inner, demand)]

    def _call(self, b: GraphBuilder, place: int, node: Call) -> None:
        site, child = b.site, b.site.inside[place][0]
        outward = dict(node.axes)
        entering: list[tuple[Cell, Demand]] = []
        args = []
        for item, arg in zip(child.graph.inputs, node.args, strict=True):
            inner = child.cells[item.value.id]
            for demand in self._enters(inner):
                modes = {outward.get(axis, axis): mode for axis, mode in zip(inner.axes, demand, strict=True)}
                entering.append((inner, demand))
                args.append(b.get(site.cells[arg.id], modes))
        leaving: list[tuple[Cell, Demand]] = []
        outs: list[Value] = []
        shown: list[Output] = []
        for out, output in zip(node.outs, child.graph.outputs, strict=True):
            outer, inner = site.cells[out.id], child.cells[output.value.id]
            for demand in self._outs(outer):
                wanted = dict(zip(outer.axes, demand, strict=True))
                modes = {axis: wanted.get(outward.get(axis, axis)) for axis in inner.axes}
                leaving.append((inner, norm(tuple(modes.get(axis) for axis in inner.axes))))
                outs.append(b.value(outer, demand))
                shown.append(output)
        if not leaving:
            return
        graph = self.graph(child, entering, leaving, shown)
        pairs = [(formal, actual) for formal, actual in node.axes if not site.timed(actual)]
        for (home, axis, visible), made in list(self.axes.by_origin.items()):
            if home is child and axis in outward:
                pairs.append((made, self.axes.at(site, outward[axis], visible)))
        b.nodes.append(replace(node, graph=graph, args=tuple(args), outs=tuple(outs), axes=tuple(pairs)))
        for out in node.outs:
            self._remember(b, site.cells[out.id])

    def _repeat(self, b: GraphBuilder, place: int, node: Repeat) -> None:
        site, bodies = b.site, b.site.inside[place]
        self._stored(b, node.outs)
        carried: list[tuple[int, ByAxis]] = []
        for number in range(node.carried):
            cells = [body.cells[body.graph.inputs[number].value.id] for body in bodies]
            cells.append(site.cells[node.outs[number].id])
            found = [by_axis(cell, demand) for cell in cells for demand in self._enters(cell)]
            carried += [(number, modes) for modes in dict.fromkeys(found)]
        outside: dict[tuple[int, ByAxis], None] = {}
        for body in bodies:
            for number in range(node.carried, len(node.args)):
                cell = body.cells[body.graph.inputs[number].value.id]
                outside |= dict.fromkeys((number, by_axis(cell, demand)) for demand in self._enters(cell))
        if not carried:
            return

        def each(cells: Sequence[Cell], taken: Iterable[tuple[int, ByAxis]]) -> list[tuple[Cell, Demand]]:
            return [(cells[number], in_order(cells[number], modes)) for number, modes in taken]

        graphs = []
        for body in bodies:
            entering = each([body.cells[item.value.id] for item in body.graph.inputs], (*carried, *outside))
            leaving = each([body.cells[output.value.id] for output in body.graph.outputs], carried)
            graphs.append(self.graph(body, entering, leaving))
        args = [b.values[found] for found in each([site.cells[arg.id] for arg in node.args], (*carried, *outside))]
        outs = tuple(b.value(*found) for found in each([site.cells[out.id] for out in node.outs], carried))
        b.nodes.append(replace(node, bodies=tuple(graphs), args=tuple(args), carried=len(carried), outs=outs))
        for out in node.outs:
            self._remember(b, site.cells[out.id])


def several(site: StepSite) -> bool:
    """Whether the site is one of the several bodies of a repeat."""
    return site.repeat is not None and len(site.repeat.bodies) > 1


def by_pass(keep: Sequence[int | None], index: Static, number: Callable[[int | None], Static]) -> Static:
    """A number for each pass as one expression: by the pass's remainder where that is enough."""
    period = next(p for p in range(1, len(keep) + 1) if all(k == keep[i % p] for i, k in enumerate(keep)))
    place = Arith("%", (index, Literal(period))) if period < len(keep) else index
    found: Static = number(keep[period - 1])
    for i in reversed(range(period - 1)):
        if keep[i] != keep[period - 1]:
            found = Arith("select", (Arith("==", (place, Literal(i))), number(keep[i]), found))
    return found
