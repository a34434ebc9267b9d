"""How far back an op reads, from what its mask implies: `past <= seq and seq - past < 4` reads the last four items.

The facts are those of the proof of causality (`predicates`), found at each site; where they hang on the number of a
pass, for each pass.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

from ..axes import Axis
from ..causality import Given, Info, Step, constant_info, over_info
from ..graph import Apply, Call, Constant, Graph, Parameter, Positions, Repeat, Scan, Value
from ..predicates import Facts as Implied
from ..predicates import Linear, both, closed
from ..static import Arith, Const, ConstOf, Literal, Number, Static, known
from .sites import Site
from .spans import Need

Environment = Mapping[Const, Number]


@dataclass
class Where:
    """Which infos hold at which pass: `chosen[i]` is the place in `Facts.infos[site]`, any where it does not run."""

    repeat: Repeat | None = None
    chosen: tuple[int, ...] = (0,)


@dataclass
class Facts:
    """infos: for each site, what is known of its values, once for each way in which its passes differ."""

    root: Site
    infos: dict[Site, list[dict[int, Info]]] = field(default_factory=dict)
    where: dict[Site, Where] = field(default_factory=dict)
    _made: dict[Site, dict[int, Apply]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._run(self.root, [Info({}) for _ in self.root.graph.inputs], {}, Where())

    # -- forward -------------------------------------------------------------------------------------------------

    def _run(self, site: Site, inputs: list[Info], env: Environment, where: Where) -> list[Info]:
        infos: dict[int, Info] = {i.value.id: info for i, info in zip(site.graph.inputs, inputs, strict=True)}
        self.infos.setdefault(site, []).append(infos)
        self.where[site] = where
        for place, node in enumerate(site.graph.nodes):
            match node:
                case Constant(value, out):
                    infos[out.id] = constant_info(substituted(value, env), out, Given())
                case Positions(axis, out):
                    form = Linear.of({axis: 1}, 0)
                    infos[out.id] = Info({}, linear=form, uppers=(form,))
                case Parameter(_, out):
                    infos[out.id] = Info({})
                case Apply():
                    infos[node.out.id] = Step(node, infos, Given(), site.graph).info()
                case Call() if place in site.inside:
                    self._call(site, place, node, infos, env, where)
                case Repeat() if place in site.inside:
                    self._repeat(site, place, node, infos, env, where)
                case Call() | Repeat() | Scan():
                    infos.update({out.id: Info({}) for out in node.outs})
        return [infos[output.value.id] for output in site.graph.outputs]

    def _call(self, site: Site, place: int, node: Call, infos: dict[int, Info], env: Environment, where: Where) -> None:
        child = site.inside[place][0]
        entering = []
        for item, arg in zip(child.graph.inputs, node.args, strict=True):
            back = {actual: formal for formal, actual in node.axes if formal in item.value.type.axes}
            entering.append(over_info(infos[arg.id], back))
        consts = {const: known(substituted(static, env)) for const, static in node.consts}
        inner = {const: number for const, number in consts.items() if number is not None}
        for out, info in zip(node.outs, self._run(child, entering, inner, where), strict=True):
            infos[out.id] = over_info(info, dict(node.axes))

    def _repeat(
        self, site: Site, place: int, node: Repeat, infos: dict[int, Info], env: Environment, where: Where
    ) -> None:
        args = [infos[arg.id] for arg in node.args]
        entering = [Info({}) if number < node.carried else info for number, info in enumerate(args)]
        count = known(substituted(node.count, env))
        for number, body in enumerate(site.inside[place]):
            index = node.index
            apart = index is not None and where.repeat is None and isinstance(count, int)
            kinds: dict[tuple[object, ...], int] = {}
            looks: list[Environment] = []
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
                self._run(body, entering, look, there)
        infos.update({out.id: Info({}) for out in node.outs})

    # -- what is asked -------------------------------------------------------------------------------------------

    def number(self, site: Site, static: Static) -> int | None:
        found = known(static)
        return found if isinstance(found, int) else None

    def reach(self, site: Site, node: Apply, modes: Mapping[Axis, object]) -> tuple[Need, Repeat | None]:
        """How many items before the new ones an op that sums, picks or normalises over an axis of time reads."""
        now = {axis for axis, mode in modes.items() if mode is None}
        eaten = set(site.time(node.axes))

        def back(infos: dict[int, Info]) -> int | None:
            support: Implied = infos[node.mask.id].true if node.mask else {}
            if node.op in ("sum", "dot", "any"):
                for value in node.operands:
                    support = both(support, infos[value.id].true)
            if support is None:
                return 0
            if len(eaten) != 1:
                return None
            axis = next(iter(eaten))
            found = [k for (q, a), k in closed(support).items() if a == axis and q in now]
            return max(found[0], 0) if found else None  # one axis is of new items

        return self._passes(site, back)

    def _makers(self, site: Site) -> dict[int, Apply]:
        if site not in self._made:
            self._made[site] = {node.out.id: node for node in site.graph.nodes if isinstance(node, Apply)}
        return self._made[site]

    def back(self, site: Site, node: Apply, modes: Mapping[Axis, object]) -> tuple[Need, Repeat | None]:
        """How many items before the new ones `x[a = e]` reads."""
        now = {axis for axis, mode in modes.items() if mode is None}
        makers = self._makers(site)

        def lowest(value: Value, infos: dict[int, Info]) -> list[tuple[Axis, int]]:
            """Lower bounds `axis + k` of an index."""
            found: dict[tuple[Axis, int], None] = {}
            seen, left = {value.id}, [value]
            while left:
                value = left.pop()
                form, made = infos[value.id].linear, makers.get(value.id)
                if form is not None:
                    found.update({form.bound: None} if form.bound is not None else {})
                elif made is not None and made.op in ("maximum", "clamp", "int", "index"):
                    left += (part for part in made.operands[:2] if part.id not in seen)
                    seen |= {part.id for part in made.operands[:2]}
            return list(found)

        def back(infos: dict[int, Info]) -> int | None:
            found = [k for axis, k in lowest(node.operands[1], infos) if axis in now]
            return max(-max(found), 0) if found else None

        return self._passes(site, back)

    def _passes(self, site: Site, ask: Callable[[dict[int, Info]], int | None]) -> tuple[Need, Repeat | None]:
        where = self.where[site]
        answers = [ask(infos) for infos in self.infos[site]]
        if where.repeat is None:
            return (answers[-1],), None
        return tuple(answers[place] for place in where.chosen), where.repeat


def substituted(static: Static, env: Environment) -> Static:
    """The static number with consts that are known put in."""
    match static:
        case ConstOf(const) if const in env:
            return Literal(env[const])
        case Arith(op, args):
            return Arith(op, tuple(substituted(arg, env) for arg in args))
        case _:
            return static


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


def _values(body: Graph, env: Environment) -> Iterator[object]:
    """What the facts can hang on in a body at one pass, number by number: passes that agree on it need one look."""
    for static in _statics(body):
        here = substituted(static, env)
        number = known(here)
        if number is None:
            yield here
        else:
            yield ("real", number == 0) if isinstance(number, float) else number
