"""Which items of each value a step needs, found from the results back to the inputs: a demand analysis.

The result is demanded for the new items. An op that reads across time (a softmax over `past`, a product that sums over
it, a lookup of another item) demands a visible range of its operand; an op that computes each item from that item alone
passes the demand on. A value made of items that is demanded for a visible range is either *remembered*, its new items
joined to a cache of the earlier ones, or made anew for the whole range from operands that are. What no item goes into,
over a width of a given size, may be demanded for all of it. `DemandAnalysis` goes by a given choice of what to
remember; `cut` makes the choice.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field

from ..graph.nodes import Apply, Call, Repeat, Scan, reads
from ..graph.traits import (
    Anything,
    Arrange,
    Combination,
    Gather,
    IndexMap,
    Normalise,
    Pointwise,
    Reduce,
    Running,
    Window,
    joined,
)
from ..graph.values import Value
from ..sizes.axes import Axis
from .facts import SiteFacts
from .pace import Pace
from .sites import (
    STATIC,
    TIME,
    Cell,
    Demand,
    StepSite,
    by_place,
    costly,
    families_inside,
    held_to_lengths,
    is_itemwise,
    is_kept_whole,
    same_along,
)
from .visible_range import ENTIRE, Aligned, Mode, VisibleRange, in_chunks, is_range, same_kind

Modes = dict[Axis, Mode]


class NoForm(Exception):
    """An op has no form in time; the message says why."""


@dataclass
class Reads:
    """How an op reads its operands for given modes of its result: theirs, and those of the axes that it reduces.

    result: the modes in which it gives its result, where these are others: of all rows the wanted ones are taken.
    why:    why it is done for all items, where it is.
    open:   it is not known to read no item after its own.
    """

    operands: list[tuple[Value, Modes]]
    eaten: Modes = field(default_factory=dict)
    result: Modes = field(default_factory=dict)
    why: str = ""
    open: bool = False


def through(site: StepSite, node: Apply, modes: Modes, facts: SiteFacts, going_on: bool = True) -> Reads:
    """How one op reads for a result in these modes: an op with no form in time is done for all items.

    going_on: whether what it reads is settled, so that a running result may go on from the last one.
    """
    use = _Use(site, node, modes, facts)
    group = next((axis for axis in use.across if axis.family in site.grouped), None)
    if group is not None:
        return use.whole(f"`{node.op}` acts on `{group.name}`")
    if use.entire():
        return use.whole(f"`{node.op}` acts on all of a width")
    try:
        found = _item_by_item(use, going_on)
        use.see_that_all_is_there(found)
        found.open = use.open
        return found
    except NoForm as found:
        return use.whole(str(found))


def _item_by_item(use: _Use, going_on: bool) -> Reads:
    site, node, modes = use.site, use.node, use.modes
    for axis in site.time(node.each):
        raise use.refuse(f"has weights for each `{axis.name}`, whose items come one by one")
    match node.traits.reads:
        case Arrange(IndexMap.SAME):
            back = dict(zip(node.made, node.axes, strict=True))
            return Reads([(node.operands[0], {back.get(axis, axis): mode for axis, mode in modes.items()})])
        case Pointwise() if held_to_lengths(site, node):
            return Reads([(node.operands[0], modes)])
        case Arrange(IndexMap.PARTS) if use.made:
            return use.behind()
        case Anything():
            raise use.refuse("may read any item")
        case _ if use.eaten:
            return _across(use, use.eaten[0], going_on)
        case _ if use.made:
            raise use.refuse(f"makes `{use.made[0].name}`, whose items come one by one")
    return use.itemwise()


def _across(use: _Use, axis: Axis, going_on: bool) -> Reads:
    """How an op reads that acts on this axis of time."""
    match use.node.traits.reads:
        case Gather():
            return use.gather()
        case Window():
            return use.window()
        case Running(combination):
            if not going_on:
                raise use.refuse("goes on from items that may change")
            return use.running(combination)
        case Reduce() if reduces(use.site, use.node):
            return use.reduce()
        case Normalise():
            return use.normalise()
        case Arrange(IndexMap.DIGITS):
            return use.split()
        case Arrange(IndexMap.NUMBER):
            return use.merge()
        case Arrange(IndexMap.MIRRORED):
            raise use.refuse(f"puts the last `{axis.name}` first, and they come one by one")
        case _:
            raise use.refuse(f"acts on `{axis.name}`, whose items come one by one")


def reduces(site: StepSite, node: Apply) -> bool:
    """Whether an op that reduces can do so over a visible range: it has no weights for each item, and ranks none."""
    match node.traits.reads:
        case Reduce(combination=None, indices=False):  # how it combines items is not known
            return False
        case Reduce():
            return not site.time(node.made) and not node.weights
        case _:
            return False


class _Use:
    """One op that is read through, for a result in these modes."""

    def __init__(self, site: StepSite, node: Apply, modes: Modes, facts: SiteFacts) -> None:
        self.site, self.node, self.modes, self.facts = site, node, modes, facts
        self.values = reads(node)
        self.eaten = site.time(node.axes)
        match node.traits.reads:
            case Pointwise() | Gather() | Arrange(IndexMap.NEW):  # what they make has no items of its own
                made: tuple[Axis, ...] = ()
            case _:
                made = site.time(node.made)
        self.made = made
        self.open = False
        self.across = {*self.eaten, *made, *site.time(node.each)}

    def refuse(self, why: str) -> NoForm:
        return NoForm(f"`{self.node.op}` {why}")

    def _beyond(self, axis: Axis) -> bool:
        """Whether it reads after the new items, so that all items of a width of a given size are demanded."""
        ahead = self.facts.ahead(self.site, self.node, axis, self.modes)
        if axis.extent is None and ahead is not None and ahead > 0:
            raise self._reads_after(axis)
        self.open |= ahead is None
        return axis.extent is not None and (ahead is None or ahead > 0)

    def _reads_after(self, axis: Axis) -> NoForm:
        return self.refuse(f"reads `{axis.name}` after the item at hand")

    def see_that_all_is_there(self, found: Reads) -> None:
        """Rows of a chunk that is not over may read items that are still to come. Where it makes no number of nothing,
        that does no harm: what depends on these rows is not wanted yet.
        """
        match self.node.traits.reads:
            case Reduce(combination=Combination(neutral=0)) | Normalise(weights=True, logarithm=False):
                return
        for axis, mode in found.eaten.items():
            if is_range(mode) and self._ends_early(axis):
                raise self.refuse(f"reads `{axis.name}` for chunks that are not over")

    def _ends_early(self, axis: Axis) -> bool:
        """Whether rows of the result stand behind the last item that there is of this axis."""
        size = self.site.paces[axis.family].size
        return any(size % self._row(each, mode) for each, mode in self.modes.items())

    def _row(self, axis: Axis, mode: Mode) -> float:
        """Of how many items of time the rows of the result are whole, along one of its axes."""
        pace = self.site.paces.get(axis.family)
        if pace is None:
            return math.inf
        if mode is ENTIRE:
            return 1 if pace.size == 1 and not self.facts.fills else math.inf
        return pace.size * (mode.size if isinstance(mode, Aligned) else 1)

    def _one_by_one(self, axis: Axis) -> NoForm:
        return self.refuse(f"runs along `{axis.name}`, whose items come one by one")

    # -- all items at once ---------------------------------------------------------------------------------------

    def entire(self) -> bool:
        """Whether it is done for all of a width at once: it cannot give single rows, and reads nothing of items."""
        site, node, modes, across = self.site, self.node, self.modes, self.across
        if not across or any(axis.extent is None for axis in across):
            return False
        given = [site.cells[value.id] for value in self.values]
        if any(cell.kind == TIME and cell.axes and across.issuperset(cell.axes) for cell in given):
            return False
        match node.traits.reads:
            case Window():
                axis, made = node.axes[0], node.made[0]
                ahead = self.facts.ahead(site, node, axis, modes)
                return made != axis or modes[made] is not None or ahead is None or ahead > 0
            case Running(combination):
                once = joined(combination) is None or (len(modes) > 1 and given[0].kind != TIME)
                return not by_place(site, node) and (once or modes[node.axes[0]] is not None)
            case Reduce():
                return not reduces(site, node)
            case Pointwise():
                return bool(self.eaten or site.time(node.each))
            case Normalise() | Gather() | Arrange(IndexMap.SAME | IndexMap.NEW) | Anything():
                return False
            case Arrange():
                return True

    def whole(self, why: str) -> Reads:
        """Done for all items."""
        given = self.modes | dict.fromkeys(self.across, ENTIRE)
        return Reads(self._each(given), dict.fromkeys(self.eaten, ENTIRE), {a: given[a] for a in self.modes}, why)

    # -- of the items that there are -----------------------------------------------------------------------------

    def _each(self, modes: Modes) -> list[tuple[Value, Modes]]:
        """All that it reads, in these modes."""
        return [(v, {a: modes.get(a) for a in self.site.time(v.type.axes)}) for v in self.values]

    def itemwise(self) -> Reads:
        return Reads(self._each(self.modes))

    def gather(self) -> Reads:
        site, axis = self.site, self.eaten[0]
        x = self.node.operands[0]
        if self.node.mask is None and same_along(site, x, axis):  # all items are equal: any will do
            return Reads(self._each(self.modes | {axis: None})[:1], {axis: None})
        alone = self.node.mask is None and site.time(x.type.axes) == (axis,)
        if alone and self.facts.own_item(site, self.node, self.modes):
            return Reads(self._each(self.modes | {axis: None})[:1], {axis: None})
        if alone and self._ends_early(axis) and (size := self.facts.in_own_chunk(site, self.node, self.modes)):
            return Reads(self._each(self.modes | {axis: in_chunks(size)}), {axis: in_chunks(size)})
        visible = ENTIRE if self._beyond(axis) else VisibleRange()
        visible.need(*self.facts.back(site, self.node, self.modes))
        read = {a: visible if a == axis else self.modes.get(a) for a in site.time(x.type.axes)}
        return Reads([(x, read), *self._each(self.modes)[1:]], {axis: visible})

    def window(self) -> Reads:
        node, axis = self.node, self.eaten[0]
        if node.made[0] != axis or self.modes[axis] is not None:
            raise self._one_by_one(axis)
        if self._beyond(axis):
            raise self._reads_after(axis)
        visible = VisibleRange()
        visible.need((self.facts.before(self.site, node),), None)
        return Reads([(node.operands[0], {**self.modes, axis: visible})], {axis: visible})

    def split(self) -> Reads:
        """Of the new items' chunks."""
        axis, (chunk, *at) = self.eaten[0], self.node.made
        self._in_chunks(axis, chunk, at)
        if self.modes[chunk] is not None:
            raise self._one_by_one(chunk)
        items = in_chunks(math.prod(each.extent or 0 for each in at))
        return Reads(self._each(self.modes | {axis: items}), {axis: items})

    def merge(self) -> Reads:
        """All items of the new ones' chunks are made, of which the new ones are taken."""
        axis, (chunk, *at) = self.node.made[0], self.node.axes
        self._in_chunks(axis, chunk, at)
        items = in_chunks(math.prod(each.extent or 0 for each in at))
        if self.modes[axis] not in (None, items):
            raise self._one_by_one(axis)
        return Reads(self._each(self.modes | {chunk: None}), {chunk: None}, {**self.modes, axis: items})

    def _in_chunks(self, axis: Axis, chunk: Axis, at: Sequence[Axis]) -> None:
        pace, whole = (self.site.paces.get(each.family) for each in (chunk, axis))
        size = math.prod(each.extent or 0 for each in at)
        if whole is None or self.site.time(tuple(at)) or pace != Pace(whole.size * size, whole.before):
            raise self.refuse(f"acts on `{axis.name}`, whose items come one by one")

    def behind(self) -> Reads:
        """New items behind a prefix, which is there at the first step."""
        (*prefix, last), made = self.node.axes, self.node.made[0]
        cells = [self.site.cells[value.id] for value in self.node.operands[:-1]]
        if self.site.time(tuple(prefix)) or any(cell.kind != STATIC for cell in cells) or not self.site.timed(last):
            raise self.refuse(f"makes `{made.name}`, whose items come one by one")
        if self.modes[made] is not None:
            raise self._one_by_one(made)
        return Reads(self._each(self.modes | {last: None}), {last: None})

    def running(self, combination: Combination) -> Reads:
        """It goes on from its last result, if that says enough."""
        axis = self.eaten[0]
        if not by_place(self.site, self.node):
            if joined(combination) is None:
                raise self.refuse(f"runs along `{axis.name}`, and its last result alone does not say how it goes on")
            if self.modes[axis] is not None:
                raise self._one_by_one(axis)
            for other in self.modes:
                if other != axis:
                    raise self.refuse(f"runs on for each `{other.name}`, and each step has more of these")
        return self.itemwise()

    def reduce(self) -> Reads:
        eaten = self.eaten
        visible = VisibleRange()
        match self.node.traits.reads:
            case Reduce(indices=True):  # where an item stands among all of them
                visible.need((None,), None)
            case _:
                visible.need(*self.facts.reach(self.site, self.node, self.modes))
        ranges: Modes = (
            dict.fromkeys(eaten, visible) if len(eaten) == 1 else {axis: VisibleRange((None,)) for axis in eaten}
        )
        for axis in eaten:
            if self._beyond(axis):
                ranges[axis] = ENTIRE
        return Reads(self._each(self.modes | ranges), ranges)

    def normalise(self) -> Reads:
        ranges: Modes = {}
        for axis in self.eaten:
            mode = ENTIRE if self._beyond(axis) else self.modes[axis]
            if mode is None:
                raise self.refuse(f"over `{axis.name}` is read at the new items alone")
            mode.need(*self.facts.reach(self.site, self.node, self.modes))
            ranges[axis] = mode
        made_in = self.modes | ranges
        return Reads(self._each(made_in), ranges, made_in)


def _anew(site: StepSite, node: Apply) -> bool:
    """Whether an op could be done anew for a visible range: what it does to an item depends on that item alone."""
    return not site.time(node.axes) or node.traits.reads == Arrange(IndexMap.SAME)


class DemandAnalysis:
    """Walks back from the results.

    remembered: cells whose new items join a cache; None: to find what could be.
    made_of:    for each cell demanded for a visible range, the cells that it can be made anew from; None: it cannot be.
    sinks:      those of these cells that are read by what does not itself hold the range.
    unsettled:  cells whose items may still change with those after them, or that are known before there is an item to
                make them of (finality.py): they are not remembered.
    at_once:    what is made of items and done for all items at each step, in words.
    open:       whether something is read of which it is not known that it comes no later.
    """

    def __init__(
        self, root: StepSite, results: Iterable[int], facts: SiteFacts, remembered: set[Cell] | None,
        unsettled: Collection[Cell] = frozenset(),
    ) -> None:  # fmt: skip
        self.facts, self.remembered, self.unsettled = facts, remembered, unsettled
        self.at_once: dict[str, None] = {}
        self.open = False
        self.made_of: dict[Cell, list[Cell] | None] = {}
        self.sinks: dict[Cell, None] = {}
        self.reads: dict[Cell, dict[Demand, Reads]] = {}
        self.all = VisibleRange((None,))  # one for all that is carried: else the rounds would not end
        for site in root.walk():
            for cell in site.cells.values():
                cell.demands.clear()
                cell.stored = cell.remembered = False
        for place in results:
            value = root.graph.outputs[place].value
            cell = root.cells[value.id]
            self._demand(cell, dict.fromkeys(cell.axes), None)
        self._site(root)

    def filled(self, cells: Iterable[Cell]) -> set[Cell]:
        """Those of the cells that might be remembered and of which more items are wanted than there are."""

        def more(mode: Mode) -> bool:
            return mode is not None and not is_range(mode)

        return {each for each in cells if each in self.made_of and any(more(m) for d in each.demands for m in d)}

    # -- one demand ----------------------------------------------------------------------------------------------

    def _demand(self, cell: Cell, modes: Modes, reader: Cell | None) -> None:
        grouped = cell.site.grouped
        demand = tuple(ENTIRE if axis.family in grouped else modes.get(axis) for axis in cell.axes)
        self.open |= any(cell.site.derived(axis) or isinstance(modes.get(axis), Aligned) for axis in cell.axes)
        if cell.kind == TIME:
            for known in cell.demands:
                if all(same_kind(a, b) for a, b in zip(known, demand, strict=True)):
                    for a, b in zip(known, demand, strict=True):
                        if a is not None and b is not None:
                            a.unite(b)
                    break
            else:
                cell.demands.append(demand)
            if cell.site.items(cell) and demand[0] is not None:
                self._span(cell, reader)
        elif not any(all(_same(a, b) for a, b in zip(known, demand, strict=True)) for known in cell.demands):
            cell.demands.append(demand)
        if cell.kind == STATIC and self._keeps(cell):
            cell.stored = True

    def _keeps(self, cell: Cell) -> bool:
        """Whether a static value that is read at each step is kept from the first one, here where it is made."""
        if not costly(cell.value) or cell.site.spread():
            return False
        if cell.node is None:
            return cell.site.parent is None or self._carried(cell)
        return not (isinstance(cell.node, Call) and not is_kept_whole(cell.site, cell.node))

    def _carried(self, cell: Cell) -> bool:
        site = cell.site
        if site.repeat is None:
            return False
        return any(item.value is cell.value for item in site.graph.inputs[: site.repeat.carried])

    def _span(self, cell: Cell, reader: Cell | None) -> None:
        if reader is None or reader not in self.made_of:
            self.sinks[cell] = None
        if cell not in self.made_of:
            self.made_of[cell] = [] if self._anew(cell) or cell in self.unsettled else None
        if reader is not None and reader in self.made_of:
            operands = self.made_of[reader]
            if operands is not None and cell not in operands:
                operands.append(cell)
        keep = self.made_of[cell] is None if self.remembered is None else cell in self.remembered
        if keep:
            cell.remembered = True
            if (None,) not in cell.demands:
                cell.demands.append((None,))
            for (mode,) in [*cell.demands]:
                if mode is not None and not is_range(mode):
                    self._joined(cell, mode)

    def _joined(self, cell: Cell, filled: VisibleRange) -> None:
        """The items so far, from which more are copied."""
        ranges = [mode for (mode,) in cell.demands if mode is not None and is_range(mode)]
        if ranges:
            ranges[0].need(filled.keep, None)
        else:
            cell.demands.append((VisibleRange(filled.keep),))

    def _anew(self, cell: Cell) -> bool:
        """Whether the value can be made for a whole visible range from operands that are."""
        site, node = cell.site, cell.node
        if node is None:
            return site.parent is not None and not self._carried(cell)
        match node:
            case Apply():
                return _anew(site, node)
            case Call():
                return True
            case _:
                return False

    # -- one site ------------------------------------------------------------------------------------------------

    def _site(self, site: StepSite) -> None:
        for place in reversed(range(len(site.graph.nodes))):
            node = site.graph.nodes[place]
            match node:
                case Apply():
                    self._apply(site, node)
                case Call() if is_kept_whole(site, node):
                    self._whole(site, node)
                case Call():
                    self._call(site, place, node)
                case Scan():
                    self._scan(site, node)
                case Repeat():
                    self._repeat(site, place, node)

    def _computed(self, cell: Cell) -> list[Demand]:
        """The modes in which a value is made at the step, rather than remembered or kept from before."""
        if cell.stored:
            return []
        return [demand for demand in cell.demands if not grows(cell, demand)]

    def _apply(self, site: StepSite, node: Apply) -> None:
        cell = site.cells[node.out.id]
        if cell.kind == STATIC:
            if self._computed(cell):
                for value in reads(node):
                    self._demand(site.cells[value.id], {}, None)
            return
        for demand in self._computed(cell):
            known = self.reads.setdefault(cell, {})
            if demand not in known:
                known[demand] = self._through(cell, node, dict(zip(cell.axes, demand, strict=True)))
            ranged = cell if cell.site.items(cell) and demand[0] is not None and cell.kind == TIME else None
            for value, modes in known[demand].operands:
                self._demand(site.cells[value.id], modes, ranged)

    def _through(self, cell: Cell, node: Apply, modes: Modes) -> Reads:
        going_on = all(cell.site.cells[value.id] not in self.unsettled for value in reads(node))
        found = through(cell.site, node, modes, self.facts, going_on)
        self.open |= found.open
        grouped = cell.site.grouped
        entire = [axis for axis, mode in (*found.eaten.items(), *found.result.items()) if mode is ENTIRE]
        whole = [axis for axis in entire if axis.family not in grouped]
        if whole and (cell.kind == TIME or any(axis.extent is None for axis in whole)):
            self.at_once[found.why or f"`{node.op}` reads all of a width"] = None
        return found

    def _made_in(self, site: StepSite, node: Call | Scan, modes: Modes) -> Modes:
        found = self.made_in(site, node, modes)
        if found is not modes:
            self.at_once[f"`{node.graph.name}` is done for all items"] = None
        return found

    def made_in(self, site: StepSite, node: Call | Scan, modes: Modes) -> Modes:
        """The modes in which a call that is kept whole is done for results in these: item by item, or for all items."""
        item_by_item = is_itemwise(node.graph, families_inside(node, site.families))
        if isinstance(node, Scan) and site.timed(node.axis):
            item_by_item &= node.axis.family in site.paces and modes == {node.axis: None}
            item_by_item &= site.cells[node.outs[0].id].kind == TIME
            item_by_item &= all(site.cells[arg.id] not in self.unsettled for arg in node.args)
        if item_by_item:
            return modes
        axes = (axis for value in (*node.args, *node.outs) for axis in value.type.axes)
        return dict.fromkeys((axis for axis in axes if site.timed(axis)), ENTIRE)

    def _whole(self, site: StepSite, node: Call) -> None:
        made = [site.cells[out.id] for out in node.outs if site.cells[out.id] in self.made_of]
        for modes in self.groups(site, node):
            modes = self._made_in(site, node, modes)
            spanned = any(mode is not None for mode in modes.values())
            for arg in node.args:
                cell = site.cells[arg.id]
                for reader in made if made and spanned else [None]:
                    self._demand(cell, {axis: modes.get(axis) for axis in cell.axes}, reader)

    def groups(self, site: StepSite, node: Call | Scan) -> list[Modes]:
        """The different modes in which the results of a call that is kept whole are demanded."""
        return groups(site, node, self._computed)

    def _call(self, site: StepSite, place: int, node: Call) -> None:
        child = site.inside[place][0]
        for out, output in zip(node.outs, child.graph.outputs, strict=True):
            self._down(site.cells[out.id], child.cells[output.value.id], node, child)
        self._site(child)
        for item, arg in zip(child.graph.inputs, node.args, strict=True):
            self._up(child.cells[item.value.id], site.cells[arg.id], dict(node.axes))

    def _down(self, outer: Cell, inner: Cell, node: Call, child: StepSite) -> None:
        """What is demanded of a result is demanded of the value inside the block that becomes it."""
        for demand in self._computed(outer):
            wanted = dict(zip(outer.axes, demand, strict=True))
            outward = dict(node.axes)
            modes = {axis: wanted.get(outward.get(axis, axis)) for axis in inner.axes}
            self._demand(inner, modes, outer)

    def _up(self, inner: Cell, outer: Cell, outward: dict[Axis, Axis]) -> None:
        """What is demanded of an input inside the block is demanded of the value that is passed for it."""
        for demand in self._computed(inner):
            modes = {outward.get(axis, axis): mode for axis, mode in zip(inner.axes, demand, strict=True)}
            self._demand(outer, modes, inner)

    def _scan(self, site: StepSite, node: Scan) -> None:
        for modes in self.groups(site, node):
            modes = self._made_in(site, node, modes)
            for arg in node.args:
                cell = site.cells[arg.id]
                self._demand(cell, {axis: modes.get(axis) for axis in cell.axes}, None)

    def _repeat(self, site: StepSite, place: int, node: Repeat) -> None:
        bodies = site.inside[place]
        before = None
        while before != (now := _count_demands(bodies)):
            before = now
            for body in bodies:
                for number, out in enumerate(node.outs):
                    inner = body.cells[body.graph.outputs[number].value.id]
                    for follower in bodies:
                        self._round(follower.cells[follower.graph.inputs[number].value.id], inner)
                    self._round(site.cells[out.id], inner)
            for body in bodies:
                self._site(body)
        for body in bodies:
            for number, (item, arg) in enumerate(zip(body.graph.inputs, node.args, strict=True)):
                inner, outer = body.cells[item.value.id], site.cells[arg.id]
                for demand in inner.demands:
                    for mode in demand:
                        if mode is not None:
                            mode.even()
                if number < node.carried:
                    self._round(inner, outer)
                    self._round(site.cells[node.outs[number].id], outer)  # it goes in even if no pass reads it
                else:
                    self._up(inner, outer, {})

    def _round(self, cell: Cell, inner: Cell) -> None:
        """A carried value: what one pass gives, the next one takes, in the same modes: all items, or the new ones."""
        if inner.kind == STATIC and cell.kind == STATIC:
            if cell.demands and not cell.stored:
                self._demand(inner, {}, None)
            return
        for demand in cell.demands:
            if grows(cell, demand):
                continue
            for mode in demand:
                if mode is not None:
                    mode.unite(self.all)
            self._demand(inner, dict(zip(cell.axes, demand, strict=True)), None)


def anew(analysis: DemandAnalysis) -> list[str]:
    """What is made anew for all items so far because they may still change, in words."""
    changing = (cell for cell in analysis.sinks if cell in analysis.unsettled and not cell.remembered)
    read = (cell for cell in changing if any(is_range(mode) and None in mode.keep for (mode,) in cell.demands if mode))
    names = (f"`{cell.value.name or (cell.node.op if isinstance(cell.node, Apply) else 'x')}`" for cell in read)
    return [f"{name} may still change with items after it" for name in names]


def _count_demands(bodies: list[StepSite]) -> int:
    return sum(len(cell.demands) for body in bodies for site in body.walk() for cell in site.cells.values())


def grows(cell: Cell, demand: Demand) -> bool:
    """Whether this is what a cache gives, of a cell that is remembered."""
    return cell.remembered and cell.site.items(cell) and demand[0] is not None


def groups(site: StepSite, node: Call | Scan, made: Callable[[Cell], list[Demand]]) -> list[Modes]:
    """The different modes in which the results of a call that is kept whole are demanded."""
    found: list[Modes] = []
    for out in node.outs:
        cell = site.cells[out.id]
        for demand in made(cell):
            modes = {axis: mode.root() if mode else None for axis, mode in zip(cell.axes, demand, strict=True)}
            if not any(all(_same(modes[a], known.get(a)) for a in modes) and modes.keys() == known.keys()
                       for known in found):  # fmt: skip
                found.append(modes)
    return found


def _same(a: Mode, b: Mode) -> bool:
    return (a is None and b is None) or (a is not None and b is not None and a.root() is b.root())
