"""Memory: the largest total of activations alive at once, and what is saved for the gradient.

The peak is that of running the spec as written, one op after another, as eager PyTorch does. A value with a name lives
until the name is bound again or its block returns; one without a name until its last reader; arguments until the call
returns. Renaming and reshaping copy nothing. Weights and inputs of the model are not counted.

What is saved is what the gradient of each op needs (`OpCost.saves` in its row), each array once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from ..graph.core.index import index_of
from ..graph.nodes import Apply, Call, Constant, Graph, Node, Parameter, Positions, Repeat, Scan, makes, reads
from ..graph.sized import depends
from ..graph.traits import Gather
from ..graph.values import Role, Scalar, Value, is_real
from ..sizes.axes import Literal, evaluate
from .polynomials.polynomial import ONE, ZERO, Poly, Values, largest, total
from .scope import SizeScope
from .work import Meter, core, has_gradient

Root = object


@dataclass(frozen=True, slots=True)
class Result:
    """A result of a graph: its bytes if it was made there, else the input that it is; whether the gradient needs it."""

    bytes: Poly
    input: int | None
    graded: bool
    saved: bool


@dataclass(frozen=True, slots=True)
class Memory:
    """peak: bytes alive at once beyond the inputs. saved: bytes, inputs and results left out; which inputs are saved.

    below: the same of each node that is an op, a call, a repeat (the peak of its largest pass; what all of them save,
           and hand on) or a scan (one step), by its place.
    passes: of a repeat that of each pass, or of one for all if they are the same.
    """

    peak: Poly
    saved: Poly = ZERO
    inputs: frozenset[int] = frozenset()
    results: tuple[Result, ...] = ()
    below: Mapping[int, Memory] = field(default_factory=dict)
    passes: tuple[Memory, ...] = ()


def measure(graph: Graph, scope: SizeScope, values: Values, real: int) -> Memory:
    return _graph(graph, scope, values, real, [False] * len(graph.inputs))


def _graph(graph: Graph, scope: SizeScope, values: Values, real: int, graded: Sequence[bool]) -> Memory:
    if graph.target:
        meter = Meter(scope, real, values)
        some = any(graded)
        results = tuple(Result(meter.bytes(o.value), None, some and is_real(o.value), False) for o in graph.outputs)
        return Memory(total(r.bytes for r in results), ZERO, frozenset(), results)
    frame = _Frame(graph, Meter(scope, real, values), _ends(graph))
    for place, entry in enumerate(graph.inputs):
        frame.enter(entry.value, place, graded[place])
    alive = needed(graph)
    frame.read = index_of(graph).used
    for number, node in enumerate(graph.nodes):
        frame.index = number
        if any(out.id in alive for out in makes(node)):
            frame.visit(node)
        else:
            frame.skip(node)
        frame.leave()
    return frame.memory()


def needed(graph: Graph) -> set[int]:
    """The values that some result depends on. What nothing reads need not run, and is not counted."""
    found = {output.value.id for output in graph.outputs}
    for node in reversed(graph.nodes):
        if any(out.id in found for out in makes(node)):
            found |= {value.id for value in reads(node)}
    return found


def _ends(graph: Graph) -> dict[int, int]:
    """For each value the node after which its name no longer holds it (by id; results live on)."""
    last: dict[int, int] = {}
    bound: dict[str, int] = {}  # the value that a name is bound to
    ends: dict[int, int] = {}
    forever = len(graph.nodes)
    for entry in graph.inputs:
        ends[entry.value.id] = forever
    for number, node in enumerate(graph.nodes):
        for value in reads(node):
            last[value.id] = number
        for value in makes(node):
            if value.name is not None:
                if value.name in bound:
                    ends[bound[value.name]] = number
                bound[value.name] = value.id
                ends[value.id] = forever
            else:
                last.setdefault(value.id, number)
    for output in graph.outputs:
        ends[output.value.id] = forever
    return last | ends | {key: max(ends[key], last.get(key, 0)) for key in ends}


def _is_view(node: Apply) -> bool:
    """Whether its result lies in the array of its first operand."""
    match node.traits.reads:
        case Gather():
            return not node.operands[1].type.axes  # one item
        case _:
            never = node.traits.random and node.options.get("p") in (Literal(0), Literal(0.0))
            return never or not node.traits.cost.moves


def _handed_on(made: tuple[Result, ...], taken: frozenset[int]) -> Poly:
    """What one pass of a repeat gives to the next, and either of them saves."""
    return total(r.bytes for place, r in enumerate(made) if r.input is None and (r.saved or place in taken))


@dataclass
class _Frame:
    """One graph being run. A root is an array; views share theirs."""

    graph: Graph
    meter: Meter
    ends: dict[int, int]
    root: dict[int, Root] = field(default_factory=dict)
    ends_at: dict[Root, int] = field(default_factory=dict)  # the node after which no name holds it
    due: dict[int, list[Root]] = field(default_factory=dict)  # those that may end after a node
    now: Poly = ZERO  # the bytes of all that is alive
    alive: dict[Root, Poly] = field(default_factory=dict)
    sizes: dict[Root, Poly] = field(default_factory=dict)
    graded: dict[int, bool] = field(default_factory=dict)
    saved: dict[Root, Poly] = field(default_factory=dict)
    peaks: list[Poly] = field(default_factory=list)
    below: dict[int, Memory] = field(default_factory=dict)
    index: int = 0
    read: frozenset[int] = frozenset()

    def enter(self, value: Value, place: int, graded: bool) -> None:
        self.root[value.id] = ("input", place)
        self.graded[value.id] = graded

    def hold(self, value: Value, root: Root, size: Poly | None) -> None:
        """A new value: an array of its own, or (without a size) another name of one that is there."""
        self.root[value.id] = root
        if size is not None:
            self.now += size - self.alive.get(root, ZERO)
            self.alive[root] = self.sizes[root] = size
        self.ends_at[root] = max(self.ends_at.get(root, self.index), self.ends.get(value.id, self.index))
        if root in self.alive:
            self.due.setdefault(self.ends_at[root], []).append(root)

    def note(self, more: Poly = ZERO) -> None:
        self.peaks.append(self.now + more)

    def leave(self, but: frozenset[Root] = frozenset()) -> None:
        """Arrays that no name holds any more are gone."""
        due = self.due.pop(self.index, [])
        for root in due:
            if root in self.alive and root not in but and self.ends_at[root] <= self.index:
                self.now -= self.alive.pop(root)
        if but:
            self.due[self.index] = due

    def visit(self, node: Node) -> None:
        match node:
            case Apply():
                self._apply(node)
            case Constant(_, out) | Parameter(_, out):
                self.root[out.id] = ("weight", out.id)
                self.graded[out.id] = isinstance(node, Parameter) and not node.weight.frozen
            case Positions(_, out):
                self.hold(out, out.id, self.meter.bytes(out))
                self.graded[out.id] = False
            case Call():
                self._call(node)
            case Repeat():
                self._repeat(node)
            case Scan():
                self._scan(node)

    def skip(self, node: Node) -> None:
        """Nothing reads its results, so it does not run."""
        for out in makes(node):
            self.root[out.id], self.graded[out.id] = ("nothing",), False

    # -- one op --------------------------------------------------------------------------------------------------

    def _apply(self, node: Apply) -> None:
        out, meter = node.out, self.meter
        graded = self.graded[out.id] = has_gradient(node, [self.graded[value.id] for value in node.operands])
        if _is_view(node):
            self.hold(out, self.root[node.operands[0].id], None)
            return
        size = ZERO if out.role is Role.CONSTANT else meter.bytes(out)
        self.hold(out, out.id, size)
        more = self._masked(node) * node.traits.cost.spare + (
            self._indices(out) if node.traits.cost.makes_indices else ZERO
        )
        self.below[self.index] = Memory(size + more)
        self.note(more)
        if graded:
            self._save(node)

    def _save(self, node: Apply) -> None:
        """What the gradient needs: operands and the result as they are, and what is made for it."""
        out, cost = node.out, node.traits.cost
        for what in cost.saves:
            match what:
                case "x" if node.mask is not None and cost.spare:
                    self.saved["masked", out.id] = self._masked(node)
                case "result" if node.mask is not None:  # the result before what is masked becomes 0
                    self.saved["before", out.id] = self.meter.bytes(out)
                case "mask":
                    self.saved["mask", out.id] = self.meter.items(out)
                case "count" if node.mask is not None:
                    self.saved["count", out.id] = self._count(node, node.mask)
                case "copy":
                    self.saved["copy", out.id] = self.meter.bytes(node.operands[0])
                case _:
                    for value in self._needed(node, what):
                        self.keep(value)
        if cost.makes_indices:
            self.saved["places", out.id] = self._indices(out)
        if node.mask is not None:
            self.keep(node.mask)

    def _needed(self, node: Apply, what: str) -> list[Value]:
        """The values that are needed as they are."""
        data = [value for value in node.operands if value.role > Role.CONSTANT]
        match what:
            case "x":
                return [value for value in data if self.graded[value.id] or node.weights]
            case "other":  # of `x * x` the other is x
                graded = sum(self.graded[value.id] for value in node.operands)
                return [value for value in data if graded > self.graded[value.id]]
            case "divisor":
                return [node.operands[1]] if self.graded[node.operands[1].id] else []
            case "result":
                return [node.out]
            case "discrete":
                return [value for value in data if value.type.element is not Scalar.REAL]
            case _:
                return []

    def _indices(self, out: Value) -> Poly:
        """An index for each item of a result."""
        return self.meter.bytes(replace(out, type=replace(out.type, element=Scalar.INT)))

    def _masked(self, node: Apply) -> Poly:
        """The bytes of an op's operand where what a mask leaves out is replaced."""
        if node.mask is None:
            return ZERO
        x = node.operands[0]
        axes = tuple(dict.fromkeys((*core(x), *core(node.mask))))
        return self.meter.bytes(
            replace(x, type=replace(x.type, axes=axes, broadcast_axes=frozenset()), role=node.out.role)
        )

    def _count(self, node: Apply, mask: Value) -> Poly:
        """How many items an average is of, as whole numbers."""
        kind = replace(mask.type, element=Scalar.INT, axes=tuple(a for a in mask.type.axes if a not in node.axes))
        return self.meter.bytes(replace(mask, type=kind))

    def keep(self, value: Value) -> None:
        root = self.root[value.id]
        if value.is_table:  # turned into the dtype of what it meets
            self.saved["table", value.id] = self.meter.items(value) * self.meter.real
        elif not (isinstance(root, tuple) and root[0] == "weight"):
            self.saved[root] = self.sizes.get(root, ZERO)

    # -- nested graphs -------------------------------------------------------------------------------------------

    def _call(self, node: Call) -> None:
        scope = self.meter.scope.inside(node)
        found = _graph(
            node.graph, scope, self.meter.values, self.meter.real, [self.graded[arg.id] for arg in node.args]
        )
        self.below[self.index] = found
        self.note(found.peak)
        self.saved[("call", node.outs[0].id)] = found.saved
        for place in found.inputs:
            self.keep(node.args[place])
        self._results(node.outs, found.results, node.args)

    def _results(self, outs: Sequence[Value], results: Sequence[Result], args: Sequence[Value]) -> None:
        for out, result in zip(outs, results, strict=True):
            self.graded[out.id] = result.graded
            if result.input is not None:
                self.hold(out, self.root[args[result.input].id], None)
                continue
            self.hold(out, out.id, result.bytes)
            if result.saved:
                self.saved[out.id] = result.bytes

    def _repeat(self, node: Repeat) -> None:
        """Each pass makes new arrays of the carried values; until it ends, those of the pass before are alive."""
        count, passes = self.meter.scope.number(node.count), evaluate(node.count)
        assert isinstance(passes, int)
        graded = [self.graded[arg.id] for arg in node.args]
        values, real = self.meter.values, self.meter.real
        saved, found = ZERO, None
        every: list[Memory] = []
        alike = node.index is None or not any(depends(body, node.index) for body in node.bodies)
        known: dict[object, Memory] = {}  # of passes that are alike, by what they run and are given
        made: tuple[Result, ...] = ()
        stays = frozenset(self.root[arg.id] for arg in node.args[node.carried :])  # each pass binds the others anew
        for number in range(passes):
            body = node.bodies[node.runs(number)]
            scope = self.meter.scope.turn(node.index, Poly.of(number))
            key = (node.runs(number), tuple(graded)) if alike else number
            found = known[key] = known.get(key) or _graph(body, scope, values, real, graded)
            every.append(found)
            if number == 1:
                self.leave(stays)
            going = ZERO if number == 0 else total(r.bytes for r in found.results if r.input is None)
            self.note(found.peak + going)
            saved = saved + _handed_on(made, found.inputs)
            made = found.results
            after = [result.graded for result in made]
            settled = [a or b for a, b in zip(after, graded, strict=False)] == graded[: node.carried]
            for place in found.inputs:
                if number == 0 or place >= node.carried:
                    self.keep(node.args[place])
            if node.index is None and len(node.bodies) == 1 and settled:
                more = count - number
                saved = saved + found.saved * more + _handed_on(made, found.inputs) * (more - 1)
                if passes > number + 1:
                    self.leave(stays)
                    self.note(found.peak + total(r.bytes for r in made if r.input is None))
                break
            saved = saved + found.saved
            graded = [a or b for a, b in zip(after, graded, strict=False)] + graded[node.carried :]
        if found is None:
            self._results(node.outs, [Result(ZERO, place, graded[place], False) for place in range(node.carried)],
                          node.args)  # fmt: skip
            return
        peak = largest((one.peak for one in every), values)
        single = node.index is None and len(node.bodies) == 1
        self.below[self.index] = Memory(peak, saved, passes=(found,) if single else tuple(every))
        self.saved[("repeat", node.outs[0].id)] = saved
        self._results(node.outs, found.results, node.args)

    def _scan(self, node: Scan) -> None:
        """A loop: what each step gives is kept until it is stacked."""
        scope, length = self.meter.scope.inside(node), self.meter.scope.size(node.axis)
        graded = [self.graded[arg.id] for arg in node.args]
        found = _graph(node.graph, scope, self.meter.values, self.meter.real, graded)
        for place, state in node.states:
            graded[place] = graded[place] or found.results[state].graded
        found = _graph(node.graph, scope, self.meter.values, self.meter.real, graded)
        self.below[self.index] = found
        read = [result for out, result in zip(node.outs, found.results, strict=True) if out.id in self.read]
        made = total(result.bytes for result in read)
        self.note(found.peak + made * (length - 1))
        self.note(made * length * 2)
        between = total(
            found.results[result].bytes for place, result in node.states
            if place in found.inputs or found.results[result].saved
        )  # fmt: skip
        self.saved[("scan", node.outs[0].id)] = (found.saved + between) * length
        for place in found.inputs:
            if place not in {place for place, _ in node.states}:
                self.keep(node.args[place])
        for out, result in zip(node.outs, found.results, strict=True):
            self.graded[out.id] = result.graded
            self.hold(out, out.id, result.bytes * length if out.id in self.read else ZERO)

    def memory(self) -> Memory:
        inputs = frozenset(int(root[1]) for root in self.saved if isinstance(root, tuple) and root[0] == "input")
        results = []
        gone: set[Root] = set()
        for output in self.graph.outputs:
            root = self.root[output.value.id]
            graded = self.graded[output.value.id]
            if isinstance(root, tuple) and root[0] == "input":
                results.append(Result(ZERO, root[1], graded, False))
            else:
                results.append(Result(self.sizes.get(root, ZERO), None, graded, root in self.saved))
                gone.add(root)
        saved = total(
            size for root, size in self.saved.items()
            if root not in gone and not (isinstance(root, tuple) and root[0] == "input")
        )  # fmt: skip
        return Memory(largest(self.peaks, self.meter.values), saved, inputs, tuple(results), self.below)


__all__ = ["ONE", "Memory", "measure"]
