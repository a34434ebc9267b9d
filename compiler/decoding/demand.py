"""Which items of each value a step needs, found from the results back to the inputs: a demand analysis.

The result is demanded for the new items. An op that reads across time (a softmax over `past`, a product that sums over
it, a lookup of another item) demands a visible range of its operand; an op that computes each item from that item alone
passes the demand on. A value made of items that is demanded for a visible range is either *remembered*, its new items
joined to a cache of the earlier ones, or made anew for the whole range from operands that are. What no item goes into,
over a width of a given size, may be demanded for all of it. `DemandAnalysis` goes by a given choice of what to
remember; `cut` makes the choice.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from ..graph.nodes import Apply, Call, Repeat, Scan, reads
from ..graph.values import Value
from ..sizes.axes import Axis
from .facts import SiteFacts
from .sites import STATIC, TIME, Cell, Demand, NoStep, Site, costly, even, same_along, whole
from .visible_range import ENTIRE, Mode, VisibleRange, same_kind

REDUCES = ("dot", "sum", "mean", "max", "min", "any", "all", "argmax", "logsumexp")
NORMALISES = ("softmax", "log_softmax", "l2norm", "layernorm", "rmsnorm")

Modes = dict[Axis, Mode]


@dataclass
class Reads:
    """How an op reads its operands for given modes of its result: theirs, and those of the axes that it reduces.

    made: the modes in which it gives its result, where these are others: of all rows the wanted ones are taken.
    """

    operands: list[tuple[Value, Modes]]
    eaten: Modes = field(default_factory=dict)
    made: Modes = field(default_factory=dict)


def through(site: Site, node: Apply, modes: Modes, facts: SiteFacts) -> Reads:
    """How one op of the table reads for a result in these modes. Raises NoStep for an op with no form in time."""
    op, eaten = node.op, site.time(node.axes)
    values = reads(node)

    def refuse(why: str) -> NoStep:
        return NoStep(f"`{op}` {why}", node.span)

    def beyond(axis: Axis) -> bool:
        """Whether it reads after the new items, so that all items of a width of a given size are demanded."""
        ahead = facts.ahead(site, node, axis, modes)
        if axis.extent is None and ahead is not None and ahead > 0:
            raise refuse(_reads_after(axis))
        return axis.extent is not None and (ahead is None or ahead > 0)

    if _entire(site, node, modes, facts):
        across = {*eaten, *site.time(node.made), *site.time(node.each)}
        given = modes | dict.fromkeys(across, ENTIRE)
        operands = [(v, {a: given.get(a) for a in site.time(v.type.axes)}) for v in values]
        return Reads(operands, dict.fromkeys(eaten, ENTIRE), {a: given[a] for a in modes})
    for axis in site.time(node.each):
        raise refuse(f"has weights for each `{axis.name}`, whose items come one by one")
    if op == "rename":
        back = {node.made[0]: node.axes[0]}
        return Reads([(node.operands[0], {back.get(axis, axis): mode for axis, mode in modes.items()})], {})
    if op == "within" and eaten:  # the rows of a batch go on together, whatever their lengths
        return Reads([(node.operands[0], modes)])
    if op == "gather" and eaten:
        x, e = node.operands
        if same_along(site, x, eaten[0]):  # whichever is meant: the first of the new ones will do
            read = {axis: None if axis == eaten[0] else modes.get(axis) for axis in site.time(x.type.axes)}
            return Reads([(x, read)], {eaten[0]: None})
        visible = VisibleRange()
        if beyond(eaten[0]):
            visible = ENTIRE
        visible.need(*facts.back(site, node, modes))
        own = {axis: modes.get(axis) for axis in site.time(e.type.axes)}
        read = {axis: visible if axis == eaten[0] else modes.get(axis) for axis in site.time(x.type.axes)}
        return Reads([(x, read), (e, own)], {eaten[0]: visible})
    if op == "window" and eaten:
        if node.made[0] != eaten[0] or modes[eaten[0]] is not None:
            raise refuse(f"runs along `{eaten[0].name}`, whose items come one by one")
        if beyond(eaten[0]):
            raise refuse(_reads_after(eaten[0]))
        visible = VisibleRange()
        pad = facts.number(site, node.options["pad"])
        visible.need((pad,), None)
        return Reads([(node.operands[0], {**modes, eaten[0]: visible})], {eaten[0]: visible})
    if op == "cumsum" and eaten:
        if not even(site, node.operands[0]):
            if modes[eaten[0]] is not None:
                raise refuse(f"runs along `{eaten[0].name}`, whose items come one by one")
            for axis in modes:
                if axis != eaten[0]:
                    raise refuse(f"runs on for each `{axis.name}`, and each step has more of these")
        return Reads([(node.operands[0], modes)], {})
    if eaten and op in REDUCES:
        visible = VisibleRange()
        if op == "argmax":
            visible.need((None,), None)
        else:
            visible.need(*facts.reach(site, node, modes))
        ranges: Modes = (
            dict.fromkeys(eaten, visible) if len(eaten) == 1 else {axis: VisibleRange((None,)) for axis in eaten}
        )
        for axis in eaten:
            if beyond(axis):
                ranges[axis] = ENTIRE
        return Reads([(v, {a: ranges.get(a, modes.get(a)) for a in site.time(v.type.axes)}) for v in values], ranges)
    if eaten and op in NORMALISES:
        ranges = {}
        for axis in eaten:
            mode = modes[axis]
            if beyond(axis):
                mode = ENTIRE
            if mode is None:
                raise refuse(f"over `{axis.name}` is read at the new items alone")
            mode.need(*facts.reach(site, node, modes))
            ranges[axis] = mode
        made_in = modes | ranges
        return Reads([(v, {a: made_in[a] for a in site.time(v.type.axes)}) for v in values], ranges, made_in)
    if eaten:
        raise refuse(f"acts on `{eaten[0].name}`, whose items come one by one")
    made = [axis for axis in site.time(node.made) if op not in ("broadcast", "gather", "index")]
    if made:
        raise refuse(f"makes `{made[0].name}`, whose items come one by one")
    return Reads([(v, {a: modes.get(a) for a in site.time(v.type.axes)}) for v in values])


def _reads_after(axis: Axis) -> str:
    return f"reads `{axis.name}` after the item at hand"


def _entire(site: Site, node: Apply, modes: Modes, facts: SiteFacts) -> bool:
    """Whether an op is done for all of a width at once: it cannot give single rows, and reads nothing of items."""
    across = {*site.time(node.axes), *site.time(node.made), *site.time(node.each)}
    if not across or any(axis.extent is None for axis in across):
        return False
    given = [site.cells[value.id] for value in reads(node)]
    if any(cell.kind == TIME and cell.axes and across.issuperset(cell.axes) for cell in given):
        return False
    if node.op == "window":
        axis, made = node.axes[0], node.made[0]
        ahead = facts.ahead(site, node, axis, modes)
        return made != axis or modes[made] is not None or ahead is None or ahead > 0
    if node.op == "cumsum":
        runs_on = len(modes) == 1 or given[0].kind == TIME  # from step to step, where the new items are wanted
        return not even(site, node.operands[0]) and not (runs_on and modes[node.axes[0]] is None)
    return node.op not in (*REDUCES, *NORMALISES, "rename", "broadcast", "gather", "index")


def _said(cell: Cell) -> str:
    match cell.node:
        case _ if cell.value.name:
            return f"`{cell.value.name}`"
        case Apply(op="rename", operands=(x,)):
            return _said(cell.site.cells[x.id])
        case Apply(op=op):
            return f"what `{op}` gives"
        case Call(graph) | Scan(graph):
            return f"what `{graph.name}` gives"
        case _:
            return "this"


def _anew(site: Site, node: Apply) -> bool:
    """Whether an op could be done anew for a visible range: what it does to an item depends on that item alone."""
    return not site.time(node.axes) or node.op == "rename"


class DemandAnalysis:
    """Walks back from the results.

    remembered: cells whose new items join a cache; None: to find what could be.
    made_of:    for each cell demanded for a visible range, the cells that it can be made anew from; None: it cannot be.
    sinks:      those of these cells that are read by what does not itself hold the range.
    """

    def __init__(self, root: Site, results: Iterable[int], facts: SiteFacts, remembered: set[Cell] | None) -> None:
        self.facts, self.remembered = facts, remembered
        self.made_of: dict[Cell, list[Cell] | None] = {}
        self.sinks: dict[Cell, None] = {}
        self.reads: dict[Cell, dict[Demand, Reads]] = {}
        self.all = VisibleRange((None,))  # of what is carried: one, or each round would ask for another
        for site in root.walk():
            for cell in site.cells.values():
                cell.demands.clear()
                cell.stored = cell.remembered = False
        for place in results:
            value = root.graph.outputs[place].value
            cell = root.cells[value.id]
            self._demand(cell, dict.fromkeys(cell.axes), None)
        self._site(root)

    # -- one demand ----------------------------------------------------------------------------------------------

    def _demand(self, cell: Cell, modes: Modes, reader: Cell | None) -> None:
        demand = tuple(modes.get(axis) for axis in cell.axes)
        if cell.kind == TIME:
            if cell.axes and all(mode is ENTIRE for mode in demand):
                raise NoStep(f"{_said(cell)} is read to its end, and its items come one by one", cell.value.span)
            for known in cell.demands:
                if all(same_kind(a, b) for a, b in zip(known, demand, strict=True)):
                    for a, b in zip(known, demand, strict=True):
                        if a is not None and b is not None:
                            a.unite(b)
                    break
            else:
                cell.demands.append(demand)
            if len(cell.axes) == 1 and demand[0] is not None:
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
        return not (isinstance(cell.node, Call) and not whole(cell.site, cell.node))

    def _carried(self, cell: Cell) -> bool:
        site = cell.site
        if site.repeat is None:
            return False
        return any(item.value is cell.value for item in site.graph.inputs[: site.repeat.carried])

    def _span(self, cell: Cell, reader: Cell | None) -> None:
        if reader is None or reader not in self.made_of:
            self.sinks[cell] = None
        if cell not in self.made_of:
            self.made_of[cell] = [] if self._anew(cell) else None
        if reader is not None and reader in self.made_of:
            operands = self.made_of[reader]
            if operands is not None and cell not in operands:
                operands.append(cell)
        keep = self.made_of[cell] is None if self.remembered is None else cell in self.remembered
        if keep:
            cell.remembered = True
            if (None,) not in cell.demands:
                cell.demands.append((None,))

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

    def _site(self, site: Site) -> None:
        for place in reversed(range(len(site.graph.nodes))):
            node = site.graph.nodes[place]
            match node:
                case Apply():
                    self._apply(site, node)
                case Call() if whole(site, node):
                    self._whole(site, node)
                case Call():
                    self._call(site, place, node)
                case Scan():
                    self._scan(site, node)
                case Repeat():
                    self._repeat(site, place, node)

    def _made(self, cell: Cell) -> list[Demand]:
        """The modes in which a value is made at the step, rather than remembered or kept from before."""
        if cell.stored:
            return []
        return [w for w in cell.demands if not (cell.remembered and len(w) == 1 and w[0] is not None)]

    def _apply(self, site: Site, node: Apply) -> None:
        cell = site.cells[node.out.id]
        if cell.kind == STATIC:
            if self._made(cell):
                for value in reads(node):
                    self._demand(site.cells[value.id], {}, None)
            return
        for demand in self._made(cell):
            known = self.reads.setdefault(cell, {})
            if demand not in known:
                known[demand] = through(site, node, dict(zip(cell.axes, demand, strict=True)), self.facts)
            ranged = cell if len(demand) == 1 and demand[0] is not None and cell.kind == TIME else None
            for value, modes in known[demand].operands:
                self._demand(site.cells[value.id], modes, ranged)

    def _whole(self, site: Site, node: Call) -> None:
        made = [site.cells[out.id] for out in node.outs if site.cells[out.id] in self.made_of]
        for modes in self.groups(site, node):
            spanned = any(mode is not None for mode in modes.values())
            for arg in node.args:
                cell = site.cells[arg.id]
                for reader in made if made and spanned else [None]:
                    self._demand(cell, {axis: modes.get(axis) for axis in cell.axes}, reader)

    def groups(self, site: Site, node: Call | Scan) -> list[Modes]:
        """The different modes in which the results of a call that is kept whole are demanded."""
        return groups(site, node, self._made)

    def _call(self, site: Site, place: int, node: Call) -> None:
        child = site.inside[place][0]
        for out, output in zip(node.outs, child.graph.outputs, strict=True):
            self._down(site.cells[out.id], child.cells[output.value.id], node, child)
        self._site(child)
        for item, arg in zip(child.graph.inputs, node.args, strict=True):
            self._up(child.cells[item.value.id], site.cells[arg.id], dict(node.axes))

    def _down(self, outer: Cell, inner: Cell, node: Call, child: Site) -> None:
        """What is demanded of a result is demanded of the value inside the block that becomes it."""
        for demand in self._made(outer):
            wanted = dict(zip(outer.axes, demand, strict=True))
            outward = dict(node.axes)
            modes = {axis: wanted.get(outward.get(axis, axis)) for axis in inner.axes}
            self._demand(inner, modes, outer)

    def _up(self, inner: Cell, outer: Cell, outward: dict[Axis, Axis]) -> None:
        """What is demanded of an input inside the block is demanded of the value that is passed for it."""
        for demand in self._made(inner):
            modes = {outward.get(axis, axis): mode for axis, mode in zip(inner.axes, demand, strict=True)}
            self._demand(outer, modes, inner)

    def _scan(self, site: Site, node: Scan) -> None:
        for modes in self.groups(site, node):
            if modes.get(node.axis) is not None:
                raise NoStep("what is scanned is wanted for many items at once", node.span)
            for axis in modes:
                if site.timed(node.axis) and axis != node.axis:
                    name = node.graph.name
                    raise NoStep(
                        f"`{name}` is scanned for each `{axis.name}`, and each step has more of these", node.span
                    )
            for arg in node.args:
                cell = site.cells[arg.id]
                self._demand(cell, {axis: modes.get(axis) for axis in cell.axes}, None)

    def _repeat(self, site: Site, place: int, node: Repeat) -> None:
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
            if len(demand) == 1 and demand[0] is not None and cell.kind == TIME:
                continue
            for mode in demand:
                if mode is not None:
                    mode.unite(self.all)
            self._demand(inner, dict(zip(cell.axes, demand, strict=True)), None)


def _count_demands(bodies: list[Site]) -> int:
    return sum(len(cell.demands) for body in bodies for site in body.walk() for cell in site.cells.values())


def groups(site: Site, node: Call | Scan, made: Callable[[Cell], list[Demand]]) -> list[Modes]:
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
