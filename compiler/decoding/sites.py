"""The graph of a model taken apart: a `StepSite` where each nested graph runs, a `Cell` for each value there.

Time is the family of axes along which the model is causal. Against it each value is

STATIC  the same at every step: weights, tables, and what the encoder makes of a source
FREE    made of positions in time, not of items: masks, position tables, biases
TIME    made of the items themselves

A call that says nothing of time (a feed-forward block, a norm) is kept whole: it is done item by item, as it stands.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

from ...dsl.source import Span
from ..graph.nodes import NESTS, Apply, Call, Constant, Graph, Node, Parameter, Positions, Repeat, Scan, reads
from ..graph.traits import Anything, Arrange, Combination, IndexMap, OpTraits, Pointwise, Running, Sum
from ..graph.values import IndexInto, Role, Value
from ..sizes.axes import Axis, axes_in
from .pace import TICK, Pace, paces
from .visible_range import Mode

STATIC, FREE, TIME = 0, 1, 2

Demand = tuple[Mode, ...]
"""Which items of a value a step needs: a mode for each of its axes of time, in order."""


class NoStep(Exception):
    """The model has no one-step form; the message says which op stands in the way, and why."""

    def __init__(self, reason: str, span: Span | None) -> None:
        super().__init__(reason)
        self.reason, self.span = reason, span


@dataclass(eq=False)
class Cell:
    """One value at one site.

    demands:    which of its items a step needs; see `visible_range` for the modes.
    remembered: its new items join a cache that holds the earlier ones.
    stored:     it is static, made once, and kept for all steps.
    """

    site: StepSite
    value: Value
    node: Node | None
    kind: int
    axes: tuple[Axis, ...]
    demands: list[Demand] = field(default_factory=list)
    remembered: bool = False
    stored: bool = False


@dataclass(eq=False)
class StepSite:
    """Where a graph runs.

    origin:   the graph whose class it is.
    families: those of its axes that are time, or follow from it.
    paces:   of these the ones along which items come as time goes on, each with when: time, chunks, behind a prefix.
    grouped:  the others, whose extents follow from that of time in another way.
    """

    graph: Graph
    origin: Graph | None
    families: frozenset[int]
    paces: Mapping[int, Pace]
    parent: StepSite | None
    index: int  # of the node in the parent's graph
    name: str  # what the node adds to the path of a cache, `{i}` for the number of a pass
    repeat: Repeat | None  # it is the body of this one
    passes: int
    cells: dict[int, Cell] = field(default_factory=dict)
    inside: dict[int, list[StepSite]] = field(default_factory=dict)

    @property
    def grouped(self) -> frozenset[int]:
        return self.families - self.paces.keys()

    def derived(self, axis: Axis) -> bool:
        """Whether the extent of an axis follows from that of time."""
        return axis.family in self.families and self.paces.get(axis.family) != TICK

    def timed(self, axis: Axis) -> bool:
        return axis.family in self.families

    def time(self, axes: tuple[Axis, ...]) -> tuple[Axis, ...]:
        return tuple(axis for axis in axes if axis.family in self.families)

    def items(self, cell: Cell) -> bool:
        """Whether a value is one for each item of time: what is joined to a cache."""
        return len(cell.axes) == 1 and cell.axes[0].family not in self.grouped

    def walk(self) -> Iterator[StepSite]:
        yield self
        for sites in self.inside.values():
            for site in sites:
                yield from site.walk()

    @property
    def path(self) -> str:
        above = self.parent.path if self.parent else ""
        return f"{above}.{self.name}" if above else self.name

    def spread(self) -> bool:
        """Whether the site is lifted over time, so that it runs for each item: what `prepare` keeps lacks that axis."""
        return bool(self.time(self.graph.lifted)) or (self.parent is not None and self.parent.spread())

    def home(self, axis: Axis) -> StepSite:
        """The site that the axis belongs to: a repeat's body has those around it, a block those that it lifts over."""
        site = self
        while site.parent is not None and (site.repeat is not None or axis in site.graph.lifted):
            site = site.parent
        return site


def is_itemwise(graph: Graph, families: frozenset[int]) -> bool:
    """Whether a graph computes each item of time from that item alone: no positions, nothing that reads across."""
    if graph.target:
        return not families
    families |= grouped(graph, families)
    return all(_is_itemwise(node, families) for node in graph.nodes)


def _is_itemwise(node: Node, families: frozenset[int]) -> bool:
    """Whether no axis that a node speaks of is time, nor one of those in the graphs within it."""
    named: Sequence[Axis]
    match node:
        case Constant(value, _):
            named = axes_in(value)
        case Positions(axis, _):
            named = [axis]
        case Parameter(weight, _):
            named = [axis for dim in weight.dims for axis in dim]
        case Apply(traits=OpTraits(reads=Anything(), checks=False)) if families:
            return False
        case Apply():
            named = [*node.axes, *node.made, *node.each, *(a for size in node.options.values() for a in axes_in(size))]
        case Call() | Scan():
            if not is_itemwise(node.graph, families_inside(node, families)):
                return False
            along = [node.axis] if isinstance(node, Scan) else []
            named = [*along, *(axis for _, static in node.consts for axis in axes_in(static))]
        case Repeat():
            return all(is_itemwise(body, families) for body in node.bodies)
    return not any(axis.family in families for axis in named)


def families_inside(node: Call | Scan, families: frozenset[int]) -> frozenset[int]:
    """The families of a callee's axes that are time, or another set of families, for its caller."""
    found = {formal.family for formal, actual in node.axes if actual.family in families}
    found |= {axis.family for axis in node.graph.lifted if axis.family in families}
    return frozenset(found)


def grouped(graph: Graph, families: frozenset[int], told: frozenset[int] = frozenset()) -> frozenset[int]:
    """The families of a graph's axes, beside these, whose extents follow from that of time.

    told: those of which the caller says how many there are: of `seq = prefix + text` in a block the prefix, too.
    """
    found = {axis.family for axis in graph.axes if _follows(axis, families)}
    given = {axis.family for item in graph.inputs for axis in item.value.type.axes}
    for axis in graph.axes:  # of `seq = chunk * 16` the chunks, where no input says how many there are
        if axis.family in families and axis.size is not None:
            found |= {part.family for part in axes_in(axis.size) if part.extent is None} - given - told
    return frozenset(found) - families


def _follows(axis: Axis, families: frozenset[int]) -> bool:
    if axis.family in families or axis.extent is not None or axis.size is None:
        return False
    return any(part.family in families or _follows(part, families) for part in axes_in(axis.size))


class Sites:
    """Builds the tree and says what is static, free and of time."""

    def __init__(self, graph: Graph, origin: Graph, time: Axis) -> None:
        self.time = time
        families = frozenset({time.family}) | grouped(graph, frozenset({time.family}))
        self.root = StepSite(
            graph, origin, families, paces(graph, {time.family: TICK}, root=True), None, 0, "", None, 1
        )
        kinds = [TIME if self.root.time(item.value.type.axes) else STATIC for item in graph.inputs]
        for item, kind in zip(graph.inputs, kinds, strict=True):
            element = item.value.type.element
            if kind == STATIC and isinstance(element, IndexInto) and self.root.timed(element.axis):
                raise NoStep(f"`{item.name}` says places along `{time.name}`, all at once", item.value.span)
        self._run(self.root, kinds)

    def _cell(self, site: StepSite, value: Value, node: Node | None, kind: int) -> None:
        kind = max(kind, site.cells[value.id].kind if value.id in site.cells else STATIC)
        axes = site.time(value.type.axes)
        if axes:
            kind = max(kind, FREE)
        site.cells[value.id] = Cell(site, value, node, kind, axes)

    def _child(self, site: StepSite, place: int, number: int, graph: Graph) -> StepSite:
        found = site.inside.setdefault(place, [])
        if len(found) == number:
            node = site.graph.nodes[place]
            assert isinstance(node, NESTS)
            origin = same_node(site.graph, place, site.origin)
            repeat = node if isinstance(node, Repeat) else None
            passes = site.passes
            if repeat is not None:
                passes *= repeat.variant.count(number) or 1
            nested = None
            if origin is not None:
                nested = origin.bodies[number] if isinstance(origin, Repeat) else origin.graph
            families, known = site.families, dict(site.paces)
            if isinstance(node, Call):
                families = families_inside(node, families)
                known = {axis.family: known[axis.family] for axis in graph.lifted if axis.family in known}
                known |= {
                    formal.family: site.paces[actual.family]
                    for formal, actual in node.axes
                    if actual.family in site.paces
                }
            told = (formal.family for formal, _ in node.axes) if isinstance(node, Call) else ()
            families |= grouped(graph, families, frozenset(told))
            name = segment(site.graph, place)
            found.append(StepSite(graph, nested, families, paces(graph, known), site, place, name, repeat, passes))
        return found[number]

    def _run(self, site: StepSite, kinds: list[int]) -> list[int]:
        for item, kind in zip(site.graph.inputs, kinds, strict=True):
            self._cell(site, item.value, None, kind)
        for place, node in enumerate(site.graph.nodes):
            match node:
                case Constant(value, out):
                    free = any(site.timed(axis) for axis in axes_in(value) if axis.extent is None)
                    self._cell(site, out, node, FREE if free else STATIC)
                case Positions(out=out) | Parameter(out=out):
                    self._cell(site, out, node, STATIC)
                case Apply():
                    read = [site.cells[v.id].kind for v in reads(node)]
                    kind = max(read)
                    match node.traits.reads:
                        case Running() if site.time(node.axes) and not by_place(site, node):
                            known = all(axis.extent is not None for axis in node.axes)
                            kind = kind if known else TIME
                    self._cell(site, node.out, node, kind)
                case Call():
                    self._no_late_const(site, node)
                    self._call(site, place, node)
                case Scan():
                    self._no_late_const(site, node)
                    kind = max(site.cells[arg.id].kind for arg in node.args)
                    kind = TIME if site.timed(node.axis) and node.axis.extent is None else kind
                    for out in node.outs:
                        self._cell(site, out, node, kind)
                case Repeat():
                    self._repeat(site, place, node)
        return [site.cells[output.value.id].kind for output in site.graph.outputs]

    def _no_late_const(self, site: StepSite, node: Call | Scan) -> None:
        """A const is one number for all steps: it cannot be how many items there are so far."""
        for formal, static in node.consts:
            loose = [axis for axis in axes_in(static) if axis.extent is None]
            if any(site.timed(axis) for axis in loose):
                raise NoStep(f"the number of all items is given to `{node.graph.name}` as `{formal.name}`", node.span)

    def _call(self, site: StepSite, place: int, node: Call) -> None:
        kinds = [site.cells[arg.id].kind for arg in node.args]
        if is_kept_whole(site, node):
            kind = max(kinds, default=STATIC)
            for out in node.outs:
                self._cell(site, out, node, kind)
            return
        child = self._child(site, place, 0, node.graph)
        for out, kind in zip(node.outs, self._run(child, kinds), strict=True):
            self._cell(site, out, node, kind)

    def _repeat(self, site: StepSite, place: int, node: Repeat) -> None:
        kinds = [site.cells[arg.id].kind for arg in node.args]
        before: list[int] | None = None
        while kinds != before:
            before = list(kinds)
            for number, body in enumerate(node.bodies):
                found = self._run(self._child(site, place, number, body), kinds)
                kinds[: node.carried] = [max(a, b) for a, b in zip(kinds, found, strict=False)]
        for out, kind in zip(node.outs, kinds, strict=False):
            self._cell(site, out, node, kind)


def is_kept_whole(site: StepSite, node: Call) -> bool:
    """Whether a call is kept as it stands: it is static altogether, done item by item with nothing to keep, or an op of
    the user's own, of which is not known what it does item by item.

    A call in a step makes all its results of all its arguments: they are to run along the same axes of time, and all
    be made of items, or none.
    """
    kinds = [site.cells[arg.id].kind for arg in node.args]
    if node.graph.target:
        return True
    if not is_itemwise(node.graph, families_inside(node, site.families)):
        return False
    if max(kinds, default=STATIC) == STATIC:
        return True
    given = {axis for arg in node.args for axis in site.time(arg.type.axes)}
    made = [{*site.time(out.type.axes)} for out in node.outs]
    if any(axes != made[0] or not given <= axes for axes in made):
        return False
    if len(made) > 1 and {FREE, TIME} <= {*kinds}:
        return False
    return all(kind != STATIC or not costly(arg) for arg, kind in zip(node.args, kinds, strict=True))


def by_place(site: StepSite, node: Apply) -> bool:
    """Whether a running result follows from an item's place alone: a multiple of one number, or that number."""
    match node.traits.reads:
        case Running(Combination(largest=bool()) | Combination(adds=True, averages=False)):
            return node.mask is None and all(_even(site, operand) for operand in node.operands)
        case _:
            return False


def _even(site: StepSite, value: Value) -> bool:
    """Whether a value is the same at every item: made of numbers alone."""
    node = site.cells[value.id].node
    match node:
        case Constant():
            return True
        case Apply(traits=OpTraits(reads=Pointwise())) if not node.axes and not node.made and node.name is None:
            return all(_even(site, operand) for operand in reads(node))
        case _:
            return False


def held_to_lengths(site: StepSite, node: Apply) -> bool:
    """Whether an op checks indices along time against the lengths of a batch's rows; steps have no such lengths."""
    match node.traits.reads:
        case Pointwise(Sum((1,))):
            return bool(site.time(node.axes))
        case _:
            return False


def same_along(site: StepSite, value: Value, axis: Axis) -> bool:
    """Whether a value is the same at every item along an axis: it was spread over it, here or by who calls this."""
    todo, seen = [(site, value, axis)], set[tuple[StepSite, int, Axis]]()
    while todo:
        site, value, axis = todo.pop()
        if axis not in value.type.axes or axis in value.type.broadcast_axes or (site, value.id, axis) in seen:
            continue
        seen.add((site, value.id, axis))
        sources = _sources(site, value, axis)
        if sources is None:
            return False
        todo += sources
    return True


def _sources(site: StepSite, value: Value, axis: Axis) -> list[tuple[StepSite, Value, Axis]] | None:
    """What a value is made of where it has an axis from nothing else; None if it may vary along it by itself."""
    node = site.cells[value.id].node
    match node:
        case Apply(traits=OpTraits(reads=Anything())):
            return None
        case Apply(traits=OpTraits(reads=Arrange(IndexMap.SAME))):
            axis = dict(zip(node.made, node.axes, strict=True)).get(axis, axis)
            return [(site, node.operands[0], axis)]
        case Apply(traits=OpTraits(reads=Arrange(IndexMap.NEW))):
            return [(site, node.operands[0], axis)]
        case Apply() if axis not in (*node.axes, *node.made, *node.each):
            return [(site, one, axis) for one in reads(node)]
        case Call() if is_kept_whole(site, node):
            return [(site, one, axis) for one in node.args]
        case None if site.parent is not None:
            above = site.parent.graph.nodes[site.index]
            place = next(place for place, item in enumerate(site.graph.inputs) if item.value is value)
            if isinstance(above, Call):
                return [(site.parent, above.args[place], dict(above.axes).get(axis, axis))]
            if isinstance(above, Repeat) and place >= above.carried:
                return [(site.parent, above.args[place], axis)]
    return None


def costly(value: Value) -> bool:
    """A static value that is kept rather than made anew: it carries data, or a width known at run time only."""
    return value.role is Role.DATA or any(axis.extent is None for axis in value.type.axes)


def same_node(graph: Graph, place: int, other: Graph | None) -> Call | Repeat | Scan | None:
    """The node of `other` that corresponds to this one: of equal kind, name and place in the spec, counted in order.

    None: its work is done otherwise there, or elsewhere.
    """
    node = graph.nodes[place]
    if other is None or not isinstance(node, NESTS):
        return None
    key = type(node), named(node), node.span
    before = next(number for number, one in enumerate(_by_place(graph)[key]) if one is node)
    found = _by_place(other).get(key, [])
    return found[before] if before < len(found) else None


@lru_cache(maxsize=8)  # the nodes of one graph are asked for one after the other
def _by_place(graph: Graph) -> Mapping[tuple[type, str, Span | None], list[Call | Repeat | Scan]]:
    """The nodes with nested graphs, grouped by kind, name and place in the spec, in order."""
    found: dict[tuple[type, str, Span | None], list[Call | Repeat | Scan]] = {}
    for node in graph.nodes:
        if isinstance(node, NESTS):
            found.setdefault((type(node), named(node), node.span), []).append(node)
    return found


def named(one: Call | Repeat | Scan) -> str:
    return one.name if isinstance(one, Repeat) else one.name or one.graph.name


def segment(graph: Graph, place: int) -> str:
    """What a node adds to the path of a cache: its name, with a number where an earlier one has it too."""
    node = graph.nodes[place]
    assert isinstance(node, NESTS)

    earlier = sum(isinstance(n, NESTS) and named(n) == named(node) for n in graph.nodes[:place])
    name = named(node) + (f"_{earlier + 1}" if earlier else "")
    return f"{name}.{{i}}" if isinstance(node, Repeat) else name
