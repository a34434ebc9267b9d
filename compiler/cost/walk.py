"""A graph walked once, its blocks and repeats nested: the work of each part, its parameters, its sequential steps."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from functools import reduce as fold

from ..graph.core.index import index_of
from ..graph.nodes import (
    Apply,
    Call,
    Constant,
    Graph,
    Node,
    Parameter,
    Positions,
    Repeat,
    Scan,
    Weight,
    makes,
    reads,
    stops_gradient,
)
from ..graph.sized import depends
from ..graph.traits import (
    SOME_TRUE,
    Arrange,
    Choice,
    Compared,
    Counts,
    Gather,
    IndexMap,
    Normalise,
    Pointwise,
    Reduce,
    Validity,
    keeps_truths,
)
from ..graph.typed_value import static_element
from ..graph.values import Role, Scalar, Value, is_real
from ..rewrites.dispatch.rows import picked_alone
from ..sizes.axes import Axis, evaluate
from .bands import NOTHING, Facts, Form, IndexBounds, both, either, of_form, step, without
from .computed.kernels import KernelNode
from .memory import Memory, needed
from .paths.reach import Reach, Route, Routes, start
from .polynomials.polynomial import ONE, ZERO, Poly, Values, largest, total
from .scope import SizeScope, const_symbol
from .work import NAMES, Meter, Work, contractions, has_gradient, plain_work


@dataclass(frozen=True, slots=True, repr=False)
class Part:
    """An op, a block, a repeat or a scan, or the whole.

    kind:    "model", "block", "repeat", "scan" or "op"; `what`: the op or the block.
    count:   of how many runs its figures are: passes of a repeat, steps of a scan; of what is in a repeat whose passes
             differ, the passes that have it.
    unlike:  its runs differ, and its `parts` are of all of them together; else of one.
    sets:    how many sets of weights its runs have.
    beside:  its weights stand beside those of what it is in: its name is not before theirs.
    weights: path below it -> (items, whether it is frozen).
    steps:   the longest chain of ops that must follow one another.
    unknown: ops of the user's own in it, of which nothing is known.
    peak:    bytes alive at once beyond its inputs, at most; None for what makes nothing, or where nobody measured.
    how:     it is computed, where that is not op by op: "in chunks of 64".
    """

    name: str
    kind: str
    what: str
    work: Work
    weights: Mapping[str, tuple[Poly, bool]]
    steps: Poly
    count: Poly = ONE
    parts: tuple[Part, ...] = ()
    unknown: frozenset[str] = frozenset()
    peak: Poly | None = None
    unlike: bool = False
    sets: Poly = ONE
    beside: bool = False
    how: str = ""

    def __repr__(self) -> str:
        return f"<Part {self.kind} {self.name or self.what}: {len(self.parts)} parts>"

    @property
    def parameters(self) -> Poly:
        return total(items for items, _ in self.weights.values())

    @property
    def frozen(self) -> Poly:
        return total(items for items, frozen in self.weights.values() if frozen)


@dataclass(frozen=True, slots=True)
class Fact:
    """What the walk knows of a value: as an index or a mask, whether it has a gradient, the steps until it is there.

    data: whether it has the batch axes. The type of a carried value says so if it has them after some pass; its first
    value may lack them.
    routes: which items of the tracked width it depends on (`reach`).
    """

    index: IndexBounds = NOTHING
    graded: bool = False
    data: bool = False
    steps: Poly = ZERO
    routes: Routes = ()

    def over(self, names: Mapping[Axis, Axis]) -> Fact:
        """The same in the axes on the other side of a block's border."""
        return replace(self, index=self.index.over(names), routes=tuple(route.over(names) for route in self.routes))


@dataclass
class CostWalk:
    """values: a number for each symbol, by which the larger of two polynomials is chosen. real: bytes of a real.

    track:  families of the width along which routes are followed; `whole` is its size less one.
    timed:  what is needed to estimate times is counted, too.
    """

    values: Values
    real: int = 4
    track: frozenset[int] = frozenset()
    whole: Poly = ZERO
    timed: bool = False

    def run(self, graph: Graph, scope: SizeScope, memory: Memory | None = None) -> tuple[Part, list[Fact]]:
        """The bill of a whole model, and what is known of its results."""
        inputs = []
        for entry in graph.inputs:
            axes = [axis for axis in entry.value.type.axes if axis not in entry.value.type.broadcast_axes]
            data = entry.value.role is Role.DATA
            inputs.append(Fact(IndexBounds(exact=data), data=data, routes=start(axes, self.track)))
        return self.graph(graph, scope, inputs, [True] * len(graph.outputs), graph.name, graph.kind, memory)

    def graph(
        self,
        graph: Graph,
        scope: SizeScope,
        inputs: Sequence[Fact],
        used: Sequence[bool],
        name: str,
        kind: str,
        memory: Memory | None = None,
    ) -> tuple[Part, list[Fact]]:
        """One specialisation of a block: its part, and what is known of its results.

        used: which of these are read at all.
        """
        if graph.target:
            steps = largest((fact.steps for fact in inputs), self.values) + 1
            peak = memory.peak if memory else None
            part = Part(name, kind, graph.name, Work(), {}, ONE, unknown=frozenset({graph.name}), peak=peak)
            graded, data = any(fact.graded for fact in inputs), any(fact.data for fact in inputs)
            routes = tuple(route for fact in inputs for route in fact.routes)
            anything = tuple(Reach(scope, self.values, self.whole).anywhere(route) for route in routes)
            return part, [Fact(NOTHING, graded and is_real(o.value), data, steps, anything) for o in graph.outputs]
        inside = _GraphWalk(self, graph, Meter(scope, self.real, self.values, self.timed), used)
        inside.facts = {entry.value.id: fact for entry, fact in zip(graph.inputs, inputs, strict=True)}
        for place, node in enumerate(graph.nodes):
            first = len(inside.parts)
            inside.memory = memory.below.get(place) if memory else None
            inside.visit(node)
            made = inside.parts[first:]
            if not any(out.id in inside.needed for out in makes(node)):  # nothing reads it: it does not run
                made = [replace(part, work=Work(), steps=ZERO, parts=(), unknown=frozenset()) for part in made]
            inside.parts[first:] = made
        outs = [inside.facts[output.value.id] for output in graph.outputs]
        before = largest((fact.steps for fact in inputs), self.values)
        after = largest((fact.steps for fact in outs), self.values)
        steps = after - before if after.at(self.values) > before.at(self.values) else ZERO
        part = _gathered(name, kind, graph.name, inside.parts, steps)
        return replace(part, peak=memory.peak if memory else None), outs

    def idle(self, node: Node, scope: SizeScope) -> list[Part]:
        """A node in a shared repeat of no passes: no pass runs it, but its weights are there, once."""
        weights: Sequence[Weight] = ()
        match node:
            case Parameter(weight):
                name, kind, what, weights = weight.name, "op", "param", (weight,)
            case Apply():
                name, kind, what, weights = node.name or "", "op", node.op, node.weights
            case Call() | Scan():
                kind = "scan" if isinstance(node, Scan) else node.graph.kind
                part = self._idle(node.graph, scope.inside(node), node.name, kind)
                return [part] if part.weights else []
            case Repeat():
                count, passes = scope.number(node.count), evaluate(node.count)
                assert isinstance(passes, int)
                runs = {}
                for number in range(passes or node.shared):
                    within = scope.turn(node.index, Poly.of(number))
                    runs[number] = self._idle(node.bodies[node.runs(number)], within, node.name, "repeat")
                if not any(part.weights for part in runs.values()):
                    return []
                every = _Passes(node, count, passes, ZERO, self.values).together(runs)
                return [replace(every, what=node.name, count=count)]
            case _:
                return []
        if not weights:
            return []
        meter = Meter(scope, self.real, self.values, self.timed)
        return [Part(name, kind, what, Work(), meter.weights(weights), ZERO)]

    def _idle(self, graph: Graph, scope: SizeScope, name: str, kind: str) -> Part:
        parts = [part for node in graph.nodes for part in self.idle(node, scope)]
        return _gathered(name, kind, graph.name, parts, ZERO)


def _gathered(name: str, kind: str, what: str, parts: Sequence[Part], steps: Poly) -> Part:
    weights: dict[str, tuple[Poly, bool]] = {}
    for part in parts:
        prefix = f"{part.name}." if part.name and part.kind != "op" and not part.beside else ""
        for path, entry in part.weights.items():
            weights.setdefault(prefix + path, entry)
    unknown = frozenset[str]().union(*(part.unknown for part in parts))
    work = Work()
    for part in parts:
        work = work + part.work
    return Part(name, kind, what, work, weights, steps, ONE, tuple(parts), unknown)


@dataclass
class _GraphWalk:
    """One graph of the walk."""

    walk: CostWalk
    graph: Graph
    meter: Meter
    used: Sequence[bool]
    facts: dict[int, Fact] = field(default_factory=dict)
    parts: list[Part] = field(default_factory=list)
    memory: Memory | None = None  # of the node that is visited

    def __post_init__(self) -> None:
        self.needed = needed(self.graph)
        self.alive = reached(self.graph, self.used)
        self.index = index_of(self.graph)
        self.masks = _masks(self)
        self.picked = picked_alone(self.graph)

    def visit(self, node: Node) -> None:
        match node:
            case Constant(value, out):
                number = self.meter.scope.number(value)
                truth = static_element(value) is Scalar.BOOL and number.number is not None
                self.facts[out.id] = Fact(IndexBounds(truth=bool(number)) if truth else of_form(Form({}, number)))
            case Positions(axis, out):
                self.facts[out.id] = Fact(of_form(Form({axis: ONE}, ZERO)))
            case Parameter(weight, out):
                self.facts[out.id] = Fact(graded=not weight.frozen)
                self.parts.append(Part(weight.name, "op", "param", Work(), self.meter.weights((weight,)), ZERO))
            case Apply():
                self._apply(node)
            case Call():
                self._call(node)
            case Repeat():
                self._repeat(node)
            case Scan():
                self._scan(node)

    # -- one op --------------------------------------------------------------------------------------------------

    def _apply(self, node: Apply) -> None:
        facts = [self.facts[value.id] for value in node.operands]
        mask = self.facts[node.mask.id] if node.mask is not None else None
        data = any(self.facts[value.id].data for value in reads(node))
        graded = has_gradient(node, [fact.graded for fact in facts])
        index = replace(self._index(node, facts, mask), picked=self._picked(node, facts, mask))
        self.facts[node.out.id] = Fact(index, graded, data, self._steps(node), self._routes(node, facts, mask))
        work, how = plain_work(node, self.meter), ""
        if node.traits.cost.kernel is not None:
            done, how = self._kernel(node, facts).work()
            work = done if node.out.id in self.alive else replace(done, back=ZERO, kept_back=ZERO)
        if _multiplies(node):
            # An operand that nothing needs has no gradient either.
            wanted = node.out.id in self.alive
            support = self._support(node, facts)
            for fact in facts:  # what is read at a pick of nothing need not be computed with
                support = both(support, fact.index.picked, self.walk.values)
            for one in contractions(node, [fact.graded for fact in facts], [fact.data for fact in facts]):
                done = one.work(self.meter, support)
                work = work + (done if wanted else Work(done.macs, done.kept))
                if node.out.id in self.picked:
                    axis, rank = self.picked[node.out.id]
                    few = self.meter.scope.size(rank) if rank is not None else ONE
                    share = few.over(self.meter.scope.size(axis))
                    work = work + Work(unread=done.kept * (ONE - share) if share is not None else ZERO)
        if node.out.role > Role.CONSTANT or node.weights:
            name = node.name or node.out.name or ""
            steps = ONE if node.traits.cost.moves and node.out.role > Role.TABLE else ZERO
            peak = self.memory.peak if self.memory else None
            weights = self.meter.weights(node.weights)
            self.parts.append(Part(name, "op", node.op, work, weights, steps, peak=peak, how=how))

    def _kernel(self, node: Apply, facts: Sequence[Fact]) -> KernelNode:
        counting = (x for x in self.index.takers(node.out) if isinstance(x, Apply))
        counts = any(reader.traits.cost.kernel == Counts() for reader in counting)
        return KernelNode(node, self.meter, [fact.graded for fact in facts], [fact.data for fact in facts], counts)

    def _steps(self, node: Apply) -> Poly:
        """One step for each op that computes; tables are there from the start, and moving items about is none."""
        if node.out.role <= Role.TABLE:
            return ZERO
        read = (*node.operands, *([node.mask] if node.mask is not None else []))
        before = largest((self.facts[value.id].steps for value in read), self.walk.values)
        return before + 1 if node.traits.cost.moves else before

    def _index(self, node: Apply, facts: Sequence[Fact], mask: Fact | None) -> IndexBounds:
        parts = [fact.index for fact in facts]
        how = node.traits.reads
        of_data = node.out.role is Role.DATA and node.out.type.element is Scalar.BOOL
        if of_data and how == Pointwise(Compared("==")):  # an index that is picked
            return IndexBounds(true=_same_as(node, parts), exact=True)
        if of_data and how == Reduce(SOME_TRUE, skips_zeros=True) and parts[0].true:
            return IndexBounds(true=without(parts[0].true, node.axes), exact=True)
        if of_data and not keeps_truths(how) and how != Arrange(IndexMap.MIRRORED):
            return IndexBounds(exact=True)  # whatever the data say
        match how:
            case Arrange(IndexMap.SAME):
                return parts[0].over({node.axes[0]: node.made[0]})
            case Arrange(IndexMap.NEW):
                return parts[0]
            case Arrange(IndexMap.MIRRORED):
                return parts[0].mirrored(node.axes[0])
            case Normalise(weights=True, logarithm=False):  # what is left out weighs 0
                known = mask is None or mask.index.exact or mask.index.truth is True
                return IndexBounds(true=mask.index.true if mask else {}, partial=not known)
            case Reduce(skips_zeros=True) if not node.weights:  # a bias is not 0
                some = any(part.partial for part in parts)
                return IndexBounds(true=without(self._support(node, facts), node.axes), partial=some)
            case Reduce(indices=True) if mask is not None:
                of = node.axes[0]
                return IndexBounds(
                    most={q: c for (k, q), c in mask.index.true.items() if k == of and q not in node.axes}
                )
            case Pointwise(meaning):
                return step(meaning, parts, self.walk.values)
        return NOTHING

    def _picked(self, node: Apply, facts: Sequence[Fact], mask: Fact | None) -> Facts:
        """What holds where the result is of no pick of nothing."""
        given = dict[tuple[Axis, Axis], Poly]()
        for fact in facts:
            given |= both(given, fact.index.picked, self.walk.values)
        match node.traits.reads:
            case Reduce(indices=True) if mask is not None and node.made:  # of those up to q + c there are q + c + 1
                of, (rank,) = node.axes[0], node.made
                return {(rank, q): c for (k, q), c in mask.index.true.items() if k == of}
            case Gather():
                return {**without(facts[0].index.picked, node.axes), **facts[1].index.picked}
            case Arrange(IndexMap.SAME):
                return IndexBounds(picked=given).over({node.axes[0]: node.made[0]}).picked
            case Pointwise(Choice() | Validity()):
                return {}
            case Pointwise() | Arrange(IndexMap.NEW) | Normalise():
                return given
        return given if without(given, node.axes) == given else {}

    @property
    def reach(self) -> Reach:
        return Reach(self.meter.scope, self.walk.values, self.walk.whole)

    def _routes(self, node: Apply, facts: Sequence[Fact], mask: Fact | None) -> Routes:
        if not self.walk.track:
            return ()
        parts = [fact.routes for fact in (*facts, *([mask] if mask else []))]
        support, exact = self._support(node, facts), not any(fact.index.partial for fact in facts)
        if mask is not None:
            support, exact = mask.index.true, mask.index.exact or mask.index.truth is True
        return self.reach.through(node, parts, [fact.index for fact in facts], support, exact)

    def _support(self, node: Apply, facts: Sequence[Fact]) -> Facts:
        """Where the operands of a sum are not zero, or else needed: what a mask leaves out need not be computed."""
        found = self.masks.of(node.out)
        for fact in facts:
            found = both(found, fact.index.true, self.walk.values)
        return found

    # -- nested graphs -------------------------------------------------------------------------------------------

    def _call(self, node: Call) -> None:
        scope = self.meter.scope.inside(node)
        inputs = self._entering(node)
        used = [out.id in self.alive for out in node.outs]
        part, outs = self.walk.graph(node.graph, scope, inputs, used, node.name, node.graph.kind, self.memory)
        names = dict(node.axes)
        for out, fact in zip(node.outs, outs, strict=True):
            self.facts[out.id] = fact.over(names)
        self.parts.append(part)

    def _entering(self, node: Call | Scan) -> list[Fact]:
        inputs = []
        for entry, arg in zip(node.graph.inputs, node.args, strict=True):
            back = {actual: formal for formal, actual in node.axes if formal in entry.value.type.axes}
            fact = self.facts[arg.id]
            inputs.append(fact.over(back))
        return inputs

    def _repeat(self, node: Repeat) -> None:
        """Pass by pass until nothing changes from one to the next: then what is left is a product."""
        count, passes = self.meter.scope.number(node.count), evaluate(node.count)
        assert isinstance(passes, int)
        carried = [self.facts[arg.id] for arg in node.args[: node.carried]]
        outside = [self.facts[arg.id] for arg in node.args[node.carried :]]
        live = [out.id in self.alive for out in node.outs]
        used = [True] * node.carried if passes > 1 else live
        single = node.index is None and len(node.bodies) == 1
        runs: list[Part] = []
        left = ZERO  # how many more passes there are like the last of `runs`
        alike = node.index is None or not any(depends(body, node.index) for body in node.bodies)
        known: dict[object, tuple[Part, list[Fact]]] = {}  # of passes that are alike
        walk = replace(self.walk, track=frozenset())  # routes are followed through one pass alone, below
        for number in range(passes):
            scope = self.meter.scope.turn(node.index, Poly.of(number))
            body = node.bodies[node.runs(number)]
            first = [Fact(NOTHING, fact.graded, fact.data) for fact in carried]
            around = [Fact(fact.index, fact.graded, fact.data) for fact in outside]
            memory = self.memory and self.memory.passes[-1 if single else number]
            key = (node.runs(number), id(memory), *((fact.graded, fact.data) for fact in first)) if alike else number
            if key not in known:
                known[key] = walk.graph(body, scope, [*first, *around], used, node.name, "repeat", memory)
            part, outs = known[key]
            runs.append(part)
            settled = all(a.graded == b.graded and a.data == b.data for a, b in zip(outs, carried, strict=True))
            carried = outs
            if single and settled:
                left = count - len(runs)
                break
        before = largest((self.facts[arg.id].steps for arg in node.args), self.walk.values)
        taken = ZERO
        if runs:
            taken = total(part.steps for part in runs) + runs[-1].steps * left
            every = _Passes(node, count, passes, left, self.walk.values).together(dict(enumerate(runs)))
            self.parts.append(replace(every, beside=node.beside, what=node.name, steps=taken, count=count))
        elif node.shared:
            self.parts += self.walk.idle(node, self.meter.scope)
        for out, fact in zip(node.outs, carried, strict=True):
            self.facts[out.id] = Fact(NOTHING, fact.graded, fact.data, before + taken)
        if self.walk.track:
            self._repeated_routes(node, count)

    def _repeated_routes(self, node: Repeat, count: Poly) -> None:
        """One pass is followed; the rest is that many times as far."""
        entering = [self.facts[arg.id].routes for arg in node.args]
        forms = [_forms(routes) for routes in entering[: node.carried]]
        index = None if node.index is None else const_symbol(node.index)
        scope = self.meter.scope.turn(node.index, Poly.of(index) if index else ZERO)
        values = self.walk.values if index is None else {**self.walk.values, index: 1}  # at 0 all reaches may be alike
        walk = replace(self.walk, values=values)
        around = [Fact(self.facts[arg.id].index, routes=self.facts[arg.id].routes) for arg in node.args[node.carried :]]
        for _ in range(ROUNDS):
            facts = [Fact(routes=tuple(Route(form, carried=True) for form in some)) for some in forms]
            found: list[Routes] = [()] * node.carried
            for body in node.bodies:  # of several each is taken for the one of every pass: no more than a bound
                _, outs = walk.graph(body, scope, [*facts, *around], [True] * node.carried, node.name, "repeat")
                sure = len(node.bodies) == 1
                given = [tuple(replace(route, sure=route.sure and sure) for route in fact.routes) for fact in outs]
                found = [(*old, *routes) for old, routes in zip(found, given, strict=True)]
            before, forms = forms, [_forms((*facts[i].routes, *routes)) for i, routes in enumerate(found)]
            if forms == before:
                break
        reach = Reach(scope, walk.values, self.walk.whole)
        for out, routes in zip(node.outs, reach.repeated(entering[: node.carried], found, count, index), strict=True):
            self.facts[out.id] = replace(self.facts[out.id], routes=routes)

    def _scan(self, node: Scan) -> None:
        """Step by step, each on what the one before gave; the first begins with what is passed."""
        scope, length = self.meter.scope.inside(node), self.meter.scope.size(node.axis)
        entering = self._entering(node)
        inputs = [
            Fact(fact.index if place not in node.steps else NOTHING, fact.graded, fact.data)
            for place, fact in enumerate(entering)
        ]
        used = [True] * len(node.outs)
        for place, _ in node.states:
            inputs[place] = Fact(NOTHING, inputs[place].graded, node.graph.inputs[place].value.role is Role.DATA)
        first, outs = self.walk.graph(node.graph, scope, inputs, used, node.name, "scan")
        for place, result in node.states:
            inputs[place] = Fact(NOTHING, outs[result].graded, outs[result].data)
        rest, outs = self.walk.graph(node.graph, scope, inputs, used, node.name, "scan", self.memory)
        routes: Routes = ()
        if self.walk.track:  # whatever goes into a step, its results may depend on
            followed = [Fact(a.index, routes=b.routes) for a, b in zip(inputs, entering, strict=True)]
            _, given = self.walk.graph(node.graph, scope, followed, used, node.name, "scan")
            names = dict(node.axes)
            routes = self.reach.scanned(tuple(r for fact in given for r in fact.over(names).routes), node.axis)
        before = largest((self.facts[arg.id].steps for arg in node.args), self.walk.values)
        for out, fact in zip(node.outs, outs, strict=True):
            self.facts[out.id] = Fact(NOTHING, fact.graded, fact.data, before + rest.steps * length, routes)
        work = first.work + rest.work.times(length - 1) + Work(calls=length)
        self.parts.append(
            Part(node.name, "scan", node.graph.name, work, rest.weights, rest.steps * length, length, rest.parts,
                 rest.unknown, rest.peak)
        )  # fmt: skip


@dataclass(frozen=True, slots=True)
class _Passes:
    """What the passes of a repeat take together. left: how many more there are like the last that was walked; as all
    passes have one body then, whatever is in it is in all of them.
    """

    node: Repeat
    count: Poly
    passes: int
    left: Poly
    values: Values

    def together(self, runs: Mapping[int, Part]) -> Part:
        """A part of the passes with these numbers."""
        some = list(runs.values())
        last, alike = some[-1], Counter(map(id, some))  # most passes are the same part
        ones = {id(part): part for part in some}

        def summed(what: Callable[[Part], Poly]) -> Poly:
            figures = {key: what(part) for key, part in ones.items()}
            if all(figure == what(last) for figure in figures.values()):
                every = self.count if self.left or len(some) == self.passes else Poly.of(len(some))
                return what(last) * every
            return total(figure * alike[key] for key, figure in figures.items()) + what(last) * self.left

        first, *others = (tuple(map(_but_gradients, part.parts)) for part in ones.values())
        unlike = any(part.unlike for part in ones.values()) or any(parts != first for parts in others)
        peaks = [part.peak for part in ones.values() if part.peak is not None]
        return replace(
            last,
            work=Work(**{name: summed(partial(_figure, name)) for name in NAMES}),
            weights=self._weights(runs),
            sets=total(share * mine[-1].sets for _, share, mine in self._variants(runs)),
            steps=summed(lambda part: part.steps),
            count=summed(lambda part: part.count),
            unlike=unlike,
            parts=self._parts(runs) if unlike else last.parts,
            unknown=frozenset[str]().union(*(part.unknown for part in ones.values())),
            peak=largest(peaks, self.values) if peaks else None,
        )

    def _variants(self, runs: Mapping[int, Part]) -> Iterator[tuple[str, Poly, list[Part]]]:
        """Each body with weights of its own: the prefix of their paths, the number of sets, the parts of its passes."""
        node = self.node
        if node.shared:  # one set for all
            yield "", ONE, list(runs.values())
            return
        for variant in range(len(node.bodies)):
            mine = [part for number, part in runs.items() if node.runs(number) == variant]
            share = self.count if len(node.bodies) == 1 else Poly.of(len(mine))
            if mine:
                yield "" if len(node.bodies) == 1 else f"{variant}.", share, mine

    def _weights(self, runs: Mapping[int, Part]) -> dict[str, tuple[Poly, bool]]:
        weights: dict[str, tuple[Poly, bool]] = {}
        for prefix, share, mine in self._variants(runs):
            for path, (items, frozen) in mine[-1].weights.items():
                weights.setdefault(prefix + path, (items * share, frozen))
        return weights

    def _parts(self, runs: Mapping[int, Part]) -> tuple[Part, ...]:
        """Those of one name are taken together, in the order of the passes; of several in one pass each for itself."""
        found: dict[tuple[object, ...], dict[int, Part]] = {}
        order: list[tuple[object, ...]] = []
        known: dict[int, list[tuple[tuple[object, ...], Part]]] = {}  # of passes that are the same part
        for number, run in runs.items():
            if id(run) not in known:
                times: Counter[tuple[str, str, str]] = Counter()
                mine = known[id(run)] = []
                for part in run.parts if run.unlike else [_times(part, run.count, run.sets) for part in run.parts]:
                    name = part.name, part.kind, part.what
                    mine.append(((*name, times[name]), part))
                    times[name] += 1
                at = len(order)
                for key, _ in reversed(mine):  # what others do not have goes before what follows it
                    if key in order:
                        at = order.index(key)
                    else:
                        order.insert(at, key)
            for key, part in known[id(run)]:
                found.setdefault(key, {})[number] = part
        return tuple(self.together(found[key]) for key in order)


def _figure(name: str, part: Part) -> Poly:
    return part.work[name]


def _times(part: Part, count: Poly, sets: Poly) -> Part:
    """So many runs of it, with so many sets of weights."""
    if count == ONE:
        return part
    return replace(
        part,
        work=part.work.times(count),
        weights={path: (items * sets, frozen) for path, (items, frozen) in part.weights.items()},
        steps=part.steps * count,
        count=part.count * count,
        sets=part.sets * sets,
        parts=tuple(_times(inner, count, sets) for inner in part.parts) if part.unlike else part.parts,
    )


def _but_gradients(part: Part) -> Part:
    """The part without its gradients: the first pass, which may have fewer, then equals the others."""
    work = replace(part.work, back=ZERO, kept_back=ZERO)
    return replace(part, work=work, parts=tuple(map(_but_gradients, part.parts)))


def _same_as(node: Apply, parts: Sequence[IndexBounds]) -> Facts:
    """What is as an index that is picked, at most another, is at most that, too: `past == pick`."""
    found = {}
    for one, other in (parts, parts[::-1]):
        for axis, c in other.most.items():
            if one.form is not None and list(one.form.terms.values()) == [ONE]:
                (own,) = one.form.terms
                found[own, axis] = c - one.form.constant
    return found


def _multiplies(node: Apply) -> bool:
    """Whether it sums products."""
    match node.traits.reads:
        case Reduce(multiplies=True):
            return True
        case _:
            return False


ROUNDS = 3  # passes after which what goes round has taken each of the forms that it takes


def _forms(routes: Routes) -> list[Form]:
    found: list[Form] = []
    for route in routes:
        if route.form not in found:
            found.append(route.form)
    return found


def reached(graph: Graph, used: Sequence[bool]) -> set[int]:
    """The values that a gradient of some used result reaches: through reals alone."""

    alive = {o.value.id for o, wanted in zip(graph.outputs, used, strict=True) if wanted and is_real(o.value)}
    for node in reversed(graph.nodes):
        if any(out.id in alive for out in makes(node)) and not stops_gradient(node):
            alive |= {value.id for value in reads(node) if is_real(value)}
    return alive


def _masks(inside: _GraphWalk) -> _Late:
    """For scores that masked ops alone read, softmax or `topk`, by way of pointwise ops: what the masks keep."""
    index = inside.index
    found: dict[int, list[list[Value]]] = {}  # for each reader its masks

    def of(value: Value) -> list[Value]:
        some = found.get(value.id, [])
        every = len(some) == len(index.uses(value)) and value.id not in index.returned
        return [mask for masks in some for mask in masks] if every else []

    for node in reversed(inside.graph.nodes):
        if not isinstance(node, Apply):
            continue
        masks = [node.mask] if node.mask is not None else []
        if not masks and isinstance(node.traits.reads, Pointwise):
            masks = of(node.out)
        for value in node.operands if masks else ():
            if index.op(value) is not None:
                found.setdefault(value.id, []).append(masks)
    return _Late(inside, of)


@dataclass
class _Late:
    """Facts of masks that the walk reaches only after their scores: worked out when they are asked for.

    Only masks made of indices, and of picks under such masks, say anything, and these can be looked at ahead of their
    turn. masks: those of a value, of which each item is read that one of them keeps.
    """

    inside: _GraphWalk
    masks: Callable[[Value], list[Value]]
    asked: set[int] = field(default_factory=set)  # a mask may be of picks by the same scores

    def of(self, scores: Value) -> Facts:
        """What the masks keep, along the scores' own axes; they may have had others, too."""
        if scores.id in self.asked:
            return {}
        values = self.inside.walk.values
        self.asked.add(scores.id)
        kept = [self._fact(mask).index.true for mask in self.masks(scores)]
        self.asked.remove(scores.id)
        found = fold(lambda a, b: either(a, b, values), kept) if kept else {}
        return {key: c for key, c in found.items() if {*key} <= {*scores.type.axes}}

    def _fact(self, value: Value) -> Fact:
        known = self.inside.facts.get(value.id)
        if known is not None:
            return known
        node = self.inside.index.maker(value)
        if not isinstance(node, Apply | Constant | Positions | Call) or (
            isinstance(node, Call) and value.role > Role.TABLE
        ):
            return Fact()
        for read in reads(node):
            self.inside.facts[read.id] = self._fact(read)
        parts = len(self.inside.parts)
        self.inside.visit(node)
        del self.inside.parts[parts:]  # the walk comes to it again in its turn
        return self.inside.facts[value.id]
