"""How far back an op reads, from what its mask implies: `past <= seq and seq - past < 4` reads the last four items.

The facts are those of the proof of causality (`predicates`), found at each site; where they depend on the number of a
pass, for each pass.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from ..causality.caller_sizes import CallerSizes, constant_info
from ..causality.proof import CausalityAnalysis, believed, entering, outside
from ..causality.reach import Info, exact
from ..causality.step import Step
from ..graph.nodes import Apply, Call, Constant, Graph, Parameter, Positions, Repeat, Scan
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
    """Which infos hold at which pass: `chosen[i]` indexes `SiteFacts.infos[site]`; any index where it does not run."""

    repeat: Repeat | None = None
    chosen: tuple[int, ...] = (0,)


@dataclass
class SiteFacts:
    """infos: for each site, what is known of its values, once for each way in which its passes differ.

    inputs:  what is known of the model's inputs.
    carried: of the value of that number which goes round in a repeat; None if nothing is asked of what values reach.
    fills:   whether all items may be more than there are, copies of the last one.
    """

    root: StepSite
    inputs: list[Info] | None = None
    outermost: CallerSizes = field(default_factory=CallerSizes)
    carried: Callable[[StepSite, int, CallerSizes], Info] | None = None
    fills: bool = False
    sizes: dict[StepSite, CallerSizes] = field(default_factory=dict)
    infos: dict[StepSite, list[dict[int, Info]]] = field(default_factory=dict)
    where: dict[StepSite, Where] = field(default_factory=dict)
    _whole: CausalityAnalysis = field(default_factory=CausalityAnalysis)  # of calls that are kept whole

    def __post_init__(self) -> None:
        inputs = self.inputs or [Info({}) for _ in self.root.graph.inputs]
        self._run(self.root, inputs, {}, self.outermost, Where())

    # -- forward -------------------------------------------------------------------------------------------------

    def _run(
        self, site: StepSite, inputs: list[Info], env: ConstValues, sizes: CallerSizes, where: Where
    ) -> list[Info]:
        infos: dict[int, Info] = {i.value.id: info for i, info in zip(site.graph.inputs, inputs, strict=True)}
        self.infos.setdefault(site, []).append(infos)
        self.where[site], self.sizes[site] = where, sizes
        for place, node in enumerate(site.graph.nodes):
            match node:
                case Constant(value, out):
                    infos[out.id] = constant_info(substituted(value, env), out, sizes)
                case Positions(axis, out):
                    infos[out.id] = exact(LinearForm.index(axis))
                case Parameter(_, out):
                    infos[out.id] = Info({})
                case Apply():
                    infos[node.out.id] = Step(node, infos, sizes, site.graph).info()
                case Call() if place in site.inside:
                    self._call(site, place, node, infos, env, sizes, where)
                case Call():
                    consts = tuple((const, substituted(static, env)) for const, static in node.consts)
                    self._whole.call(replace(node, consts=consts), infos, sizes, site.graph)
                case Repeat() if place in site.inside:
                    self._repeat(site, place, node, infos, env, sizes, where)
                case Scan() if self.carried is not None:
                    self._whole.scan(node, infos, sizes, site.graph)
                case Repeat() | Scan():
                    infos.update({out.id: Info({}) for out in node.outs})
        return [infos[output.value.id] for output in site.graph.outputs]

    def _call(
        self, site: StepSite, place: int, node: Call, infos: dict[int, Info], env: ConstValues, sizes: CallerSizes,
        where: Where,
    ) -> None:  # fmt: skip
        child = site.inside[place][0]
        consts = {const: known(substituted(static, env)) for const, static in node.consts}
        inner = {const: number for const, number in consts.items() if number is not None}
        found = self._run(child, entering(replace(node, graph=child.graph), infos), inner, sizes.inside(node), where)
        for out, info, output in zip(node.outs, found, node.graph.outputs, strict=True):
            infos[out.id] = outside(believed(info, output, sizes.inside(node)), node)

    def _repeat(
        self, site: StepSite, place: int, node: Repeat, infos: dict[int, Info], env: ConstValues, sizes: CallerSizes,
        where: Where,
    ) -> None:  # fmt: skip
        args = [infos[arg.id] for arg in node.args]
        count = known(substituted(node.count, env))
        for number, body in enumerate(site.inside[place]):
            first = [
                self._round(body, number, sizes) if number < node.carried else info for number, info in enumerate(args)
            ]
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
                here = {**env, index: i}
                key = tuple(_values(body.graph, here))
                if key not in kinds:
                    kinds[key] = len(kinds)
                    looks.append(here)
                chosen.append(kinds[key])
            there = Where(node, tuple(chosen)) if len(looks) > 1 else where
            for look in looks or [env]:
                self._run(body, first, look, sizes, there)
        bodies = site.inside[place]
        infos.update({out.id: self._round(bodies[0], number, sizes) for number, out in enumerate(node.outs)})

    def _round(self, body: StepSite, number: int, sizes: CallerSizes) -> Info:
        return Info({}) if self.carried is None else self.carried(body, number, sizes)

    # -- what is asked -------------------------------------------------------------------------------------------

    def number(self, site: StepSite, static: Static) -> int | None:
        found = known(static)
        return found if isinstance(found, int) else None

    def before(self, site: StepSite, node: Apply) -> int | None:
        """How many items before its own place a window begins."""
        return self.number(site, node.options["pad"])

    def reach(self, site: StepSite, node: Apply, modes: Mapping[Axis, object]) -> tuple[Need, Repeat | None]:
        """How many items before the new ones an op that sums, picks or normalises over an axis of time reads."""
        now = {axis for axis, mode in modes.items() if mode is None}
        eaten = set(site.time(node.axes))

        def back(infos: dict[int, Info]) -> int | None:
            support = self._support(node, infos)
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
        known: list[int] = []
        for infos in self.infos[site]:
            found = [k for a, k in limits(site, node, axis, infos) if a is None or a in here]
            if not found:
                return None
            known.append(min(found))
        return max(known)

    def _read_at_most(
        self, site: StepSite, node: Apply, axis: Axis, infos: dict[int, Info]
    ) -> list[tuple[Axis | None, int]]:
        """Of an op that sums, picks or normalises: it reads nothing beyond each `axis + k`; None: it reads nothing."""
        support = self._support(node, infos)
        if not support:
            return [(None, 0)]
        both = differences(support).items()
        return [(b, k) for (a, b), k in both if a == axis and b not in node.axes and _as_often(site, a, b)]

    def _index_at_most(
        self, site: StepSite, node: Apply, axis: Axis, infos: dict[int, Info]
    ) -> list[tuple[Axis | None, int]]:
        """Of `x[a = e]`; None: it reads the first item."""
        index = infos[node.operands[1].id]
        if index.form == LinearForm.number(0):
            return [(None, 0)]
        return [bound for upper in index.uppers if (bound := _from_place(site, axis, upper.above())) is not None]

    @staticmethod
    def _support(node: Apply, infos: dict[int, Info]) -> Cases:
        """What holds where an op reads an item: the mask, and that what it multiplies is not 0."""
        match node.traits.reads:
            case Reduce(skips_zeros=True, multiplies=True):
                factors = node.operands
            case Reduce(skips_zeros=True) | Normalise(skips_zeros=True) if len(node.operands) == 1:
                factors = node.operands
            case _:
                factors = ()
        support = infos[node.mask.id].true if node.mask else ALWAYS
        for value in factors:
            support = both(support, infos[value.id].true)
        return support

    def back(self, site: StepSite, node: Apply, modes: Mapping[Axis, object]) -> tuple[Need, Repeat | None]:
        """How many items before the new ones `x[a = e]` reads."""
        now = {axis for axis, mode in modes.items() if mode is None}
        axis = node.axes[0]

        def back(infos: dict[int, Info]) -> int | None:
            bounds = (_from_place(site, axis, -(-form).above()) for form in infos[node.operands[1].id].lowers)
            found = [items for along, items in filter(None, bounds) if along in now]
            return max(-max(found), 0) if found else None

        return self._passes(site, back)

    def own_item(self, site: StepSite, node: Apply, modes: Mapping[Axis, Mode]) -> bool:
        """Whether `x[a = e]` is at each new item what stands at its own place, along an axis with more in front."""
        axis, rows = node.axes[0], [*modes]
        if len(rows) != 1 or modes[rows[0]] is not None or _as_often(site, axis, rows[0]):
            return False
        forms = [infos[node.operands[1].id].form for infos in self.infos[site]]
        return all(form is not None and _from_place(site, axis, form) == (rows[0], 0) for form in forms)

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
        forms = [infos[node.operands[1].id].form for infos in self.infos[site]]
        places = [None if form is None else (form - first).value for form in forms]
        return size if all(place is not None and 0 <= place < size for place in places) else 0

    def _passes(self, site: StepSite, ask: Callable[[dict[int, Info]], int | None]) -> tuple[Need, Repeat | None]:
        where = self.where[site]
        answers = [ask(infos) for infos in self.infos[site]]
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
