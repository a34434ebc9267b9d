"""How far back an op reads, from what its mask implies: `past <= seq and seq - past < 4` reads the last four items.

The facts are those of the proof of causality (`predicates`), found at each site; where they depend on the number of a
pass, for each pass.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from ..graph.core.flow import Here
from ..graph.core.index import OUTERMOST, Site, index_of
from ..graph.core.relation import Relation
from ..graph.core.ways import NOTHING, Items
from ..graph.nodes import Apply, Call, Constant, Graph, Repeat, Scan, makes, reads
from ..graph.traits import Gather, Normalise, Reduce, Window
from ..sizes.arithmetic import replaced
from ..sizes.axes import Axis, Const, ConstOf, Literal, Number, Static, known
from ..sizes.forms import LinearForm
from ..sizes.predicates import ALWAYS, Cases, both, differences
from .sites import StepSite
from .visible_range import ENTIRE, Mode, Need

ConstValues = Mapping[Const, Number]


@dataclass
class Where:
    """What holds at which pass: `chosen[i]` indexes `SiteFacts.known[site]`; any index where it does not run."""

    repeat: Repeat | None = None
    chosen: tuple[int, ...] = (0,)


@dataclass
class SiteFacts:
    """known: at each site, what is known of its values, once for each way in which its passes differ.

    inputs:  what is known of the model's inputs.
    flow:    what follows it.
    carried: of the value of that number which goes round in a repeat; None if nothing is asked of what values read.
    fills:   whether all items may be more than there are, copies of the last one.
    counts:  whether some answer is a number of items that a mask, a lookup or a window reaches back.
    """

    root: StepSite
    inputs: list[Items] | None = None
    flow: Relation = field(default_factory=lambda: Relation(whole=False, counted=()))
    carried: Callable[[StepSite, int], Items] | None = None
    fills: bool = False
    counts: bool = False
    known: dict[StepSite, list[dict[int, Items]]] = field(default_factory=dict)
    where: dict[StepSite, Where] = field(default_factory=dict)

    def __post_init__(self) -> None:
        inputs = self.inputs or [NOTHING] * len(self.root.graph.inputs)
        self._run(self.root, inputs, {}, OUTERMOST, Where())

    # -- forward -------------------------------------------------------------------------------------------------

    def _run(
        self, site: StepSite, inputs: Sequence[Items], env: ConstValues, runs: Site, where: Where
    ) -> tuple[Items, ...]:
        """runs: where the graph of a site runs, in terms of the model's own axes."""
        values = {entry.value.id: items for entry, items in zip(site.graph.inputs, inputs, strict=True)}
        self.known.setdefault(site, []).append(values)
        self.where[site] = where
        here = Here(index_of(site.graph), runs, values)
        for place, node in enumerate(site.graph.nodes):
            given = tuple(values[value.id] for value in reads(node))
            match node:
                case Constant(value):
                    made = self.flow.at(replace(node, value=substituted(value, env)), given, here).values
                case Call() if place in site.inside:
                    made = self._call(site.inside[place][0], node, given, env, here, where)
                case Call():
                    consts = tuple((const, substituted(static, env)) for const, static in node.consts)
                    made = self.flow.at(replace(node, consts=consts), given, here).values
                case Repeat() if place in site.inside:
                    made = self._repeat(site.inside[place], node, given, env, here, where)
                case Repeat() | Scan() if self.carried is None or isinstance(node, Repeat):
                    made = (NOTHING,) * len(node.outs)
                case _:
                    made = self.flow.at(node, given, here).values
            values.update(zip((out.id for out in makes(node)), made, strict=True))
        return tuple(values[output.value.id] for output in site.graph.outputs)

    def _call(
        self, child: StepSite, node: Call, given: tuple[Items, ...], env: ConstValues, here: Here[Items], where: Where
    ) -> tuple[Items, ...]:
        node = replace(node, graph=child.graph)
        consts = {const: known(substituted(static, env)) for const, static in node.consts}
        inner = {const: number for const, number in consts.items() if number is not None}
        inputs = self.flow.entering(node, given, here, child.graph)
        made = self._run(child, inputs, inner, here.site.inside(node), where)
        return self.flow.leaving(node, made, here, child.graph)

    def _repeat(
        self, inside: Sequence[StepSite], node: Repeat, given: tuple[Items, ...], env: ConstValues, here: Here[Items],
        where: Where,
    ) -> tuple[Items, ...]:  # fmt: skip
        count = known(substituted(node.count, env))
        for number, body in enumerate(inside):
            first = (*(self._round(body, place) for place in range(node.carried)), *given[node.carried :])
            index = node.index
            apart = index is not None and where.repeat is None and isinstance(count, int)
            kinds: dict[tuple[object, ...], int] = {}
            looks: list[ConstValues] = []
            chosen: list[int] = []
            for i in range(int(count or 0)) if apart else ():
                if node.runs(i) != number:
                    chosen.append(0)
                    continue
                assert index is not None
                now = {**env, index: i}
                key = tuple(_values(body.graph, now))
                if key not in kinds:
                    kinds[key] = len(kinds)
                    looks.append(now)
                chosen.append(kinds[key])
            there = Where(node, tuple(chosen)) if len(looks) > 1 else where
            for look in looks or [env]:
                self._run(body, first, look, here.site, there)
        return tuple(self._round(inside[0], number) for number in range(node.carried))

    def _round(self, body: StepSite, number: int) -> Items:
        return NOTHING if self.carried is None else self.carried(body, number)

    # -- what is asked -------------------------------------------------------------------------------------------

    def number(self, site: StepSite, static: Static) -> int | None:
        found = known(static)
        return found if isinstance(found, int) else None

    def before(self, site: StepSite, node: Apply) -> int | None:
        """How many items before its own place a window begins."""
        self.counts = True
        return self.number(site, node.options["pad"])

    def reach(self, site: StepSite, node: Apply, modes: Mapping[Axis, object]) -> tuple[Need, Repeat | None]:
        """How many items before the new ones an op that sums, picks or normalises over an axis of time reads."""
        now = {axis for axis, mode in modes.items() if mode is None}
        eaten = set(site.time(node.axes))

        def back(values: dict[int, Items]) -> int | None:
            support = self._support(node, values)
            if not support:
                return 0
            if len(eaten) != 1:
                return None
            axis = next(iter(eaten))
            both = differences(support).items()
            found = [k for (q, a), k in both if a == axis and q in now and _as_often(site, q, a)]
            return max(found[0], 0) if found else None  # one axis is of new items

        return self._passes(site, back)

    def ahead(self, site: StepSite, node: Apply, axis: Axis, modes: Mapping[Axis, Mode]) -> int | None:
        """How many items after the new ones an op reads along this axis, at most; None if it may be any."""
        here = {a for a, mode in modes.items() if mode is not ENTIRE}
        limits = self._read_at_most
        match node.traits.reads:
            case Window():
                pad, tap = self.before(site, node), node.made[1].extent
                return None if pad is None or tap is None else tap - 1 - pad
            case Gather():
                limits = self._index_at_most
        furthest: list[int] = []
        for values in self.known[site]:
            found = [k for a, k in limits(site, node, axis, values) if a is None or a in here]
            if not found:
                return None
            furthest.append(min(found))
        return max(furthest)

    def _read_at_most(
        self, site: StepSite, node: Apply, axis: Axis, values: dict[int, Items]
    ) -> list[tuple[Axis | None, int]]:
        """Of an op that sums, picks or normalises: it reads nothing beyond each `axis + k`; None: it reads nothing."""
        support = self._support(node, values)
        if not support:
            return [(None, 0)]
        both = differences(support).items()
        return [(b, k) for (a, b), k in both if a == axis and b not in node.axes and _as_often(site, a, b)]

    def _index_at_most(
        self, site: StepSite, node: Apply, axis: Axis, values: dict[int, Items]
    ) -> list[tuple[Axis | None, int]]:
        """Of `x[a = e]`; None: it reads the first item."""
        index = values[node.operands[1].id].term
        if index.form == LinearForm.number(0):
            return [(None, 0)]
        return [bound for upper in index.uppers if (bound := _from_place(site, axis, upper.above())) is not None]

    @staticmethod
    def _support(node: Apply, values: dict[int, Items]) -> Cases:
        """What holds where an op reads an item: the mask, and that what it multiplies is not 0."""
        match node.traits.reads:
            case Reduce(skips_zeros=True, multiplies=True):
                factors = node.operands
            case Reduce(skips_zeros=True) | Normalise(skips_zeros=True) if len(node.operands) == 1:
                factors = node.operands
            case _:
                factors = ()
        support = values[node.mask.id].term.true if node.mask else ALWAYS
        for value in factors:
            support = both(support, values[value.id].term.true)
        return support

    def back(self, site: StepSite, node: Apply, modes: Mapping[Axis, object]) -> tuple[Need, Repeat | None]:
        """How many items before the new ones `x[a = e]` reads."""
        now = {axis for axis, mode in modes.items() if mode is None}
        axis = node.axes[0]

        def back(values: dict[int, Items]) -> int | None:
            bounds = (_from_place(site, axis, -(-form).above()) for form in values[node.operands[1].id].term.lowers)
            found = [items for along, items in filter(None, bounds) if along in now]
            return max(-max(found), 0) if found else None

        return self._passes(site, back)

    def own_item(self, site: StepSite, node: Apply, modes: Mapping[Axis, Mode]) -> bool:
        """Whether `x[a = e]` is at each new item what stands at its own place, along an axis with more in front."""
        axis, rows = node.axes[0], [*modes]
        if len(rows) != 1 or modes[rows[0]] is not None or _as_often(site, axis, rows[0]):
            return False
        forms = [values[node.operands[1].id].term.form for values in self.known[site]]
        own = all(form is not None and _from_place(site, axis, form) == (rows[0], 0) for form in forms)
        self.counts |= own
        return own

    def in_own_chunk(self, site: StepSite, node: Apply, modes: Mapping[Axis, Mode]) -> int:
        """How many items a chunk has, where `x[a = e]` reads one of it for each chunk; 0 where it may read others."""
        axis, rows = node.axes[0], [*modes]
        if len(rows) != 1 or modes[rows[0]] is not None:
            return 0
        chunk, item = (site.paces[each.family] for each in (rows[0], axis))
        size, rest = divmod(chunk.size, item.size)
        first = LinearForm.index(rows[0]).times(LinearForm.number(size))
        if rest or chunk.before != item.before or first is None:
            return 0
        forms = [values[node.operands[1].id].term.form for values in self.known[site]]
        places = [None if form is None else (form - first).value for form in forms]
        within = all(place is not None and 0 <= place < size for place in places)
        self.counts |= within
        return size if within else 0

    def _passes(self, site: StepSite, ask: Callable[[dict[int, Items]], int | None]) -> tuple[Need, Repeat | None]:
        where = self.where[site]
        answers = [ask(values) for values in self.known[site]]
        self.counts |= any(answer is not None for answer in answers)
        if where.repeat is None:
            return (answers[-1],), None
        return tuple(answers[place] for place in where.chosen), where.repeat


def _as_often(site: StepSite, a: Axis, b: Axis) -> bool:
    """Whether items of two axes come at the same time, so that their indices can be compared."""
    return site.paces.get(a.family) == site.paces.get(b.family)


def _from_place(site: StepSite, axis: Axis, index: LinearForm) -> tuple[Axis, int] | None:
    """`(b, k)` where an index along an axis is k items behind the place of item b of another, or of a copy."""
    if len(index.indices) != 1:
        return None
    (other,) = index.indices
    mine, theirs = site.paces.get(axis.family), site.paces.get(other.family)
    if mine is None or theirs is None or mine.size != theirs.size:
        return None
    return (index + LinearForm.static(theirs.before) - LinearForm.static(mine.before)).offset


def substituted(static: Static, env: ConstValues) -> Static:
    """The static number with consts that are known put in."""
    return replaced(
        static, lambda part: Literal(env[part.const]) if isinstance(part, ConstOf) and part.const in env else part
    )


def _statics(graph: Graph) -> Iterator[Static]:
    """The numbers of a graph, those in the repeats in it too, for which the number of a pass around is known."""
    for node in graph.nodes:
        match node:
            case Constant(value, _):
                yield value
            case Call(consts=consts):
                yield from (static for _, static in consts)
            case Repeat(bodies=bodies):
                for body in bodies:
                    yield from _statics(body)
            case _:
                pass


def _values(body: Graph, env: ConstValues) -> Iterator[object]:
    """What the facts can depend on in a body at one pass, number by number: passes that agree on it need one look."""
    for static in _statics(body):
        here = substituted(static, env)
        number = known(here)
        if number is None:
            yield here
        else:
            yield ("real", number == 0) if isinstance(number, float) else number
