"""The graph of one device: the model's graph with parts in place of the axes that are split, and collectives between.

Where a value lies follows from its type (`placement.py`). An op is split along one of the axes that it runs over, the
first that each mesh axis claims and that it can be split along (`ops.py`); its operands are brought there, its result
from there to where it belongs: what is sent for it is a collective (`sends.py`), an op of the graph as others are.

A graph is spread once for each way in which its inputs are given. What its own ops need of these says how they are
given best: what does not depend on weights is made anew where it is needed, and gradients of several uses are summed
at once.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import count

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
    owns,
    values_of,
)
from ..graph.traits import (
    Anything,
    Arrange,
    Choice,
    Combination,
    Compared,
    Conjunction,
    Gather,
    IndexMap,
    OpCost,
    OpTraits,
    Pointwise,
    Product,
    Reduce,
    Sum,
)
from ..graph.values import Role, Scalar, Type, Value
from ..ops import op_meaning, op_reading
from ..rewrites.tools.walk import Fresh
from ..sizes.axes import Arith, Axis, Literal, SizeOf
from .elementary import elementary
from .mesh import Indivisible, Mesh
from .ops import partner, splittable
from .placement import BATCH_AXIS, Claims, Placement, claimed, loops, placed
from .sends import ADD_BIAS, ALONE, ENTERED, Collective, OwnPlace, SendKind

_IDS = count(1 << 50)  # of parts: never the same twice, for sizes are kept by axis


@dataclass(eq=False)
class Spreading:
    """One model on one mesh. Each graph is done once for each way in which its axes are split."""

    mesh: Mesh
    parts: dict[tuple[Axis, tuple[int, ...]], Axis] = field(default_factory=dict)
    families: dict[tuple[int, tuple[int, ...]], int] = field(default_factory=dict)
    done: dict[object, GraphSpread] = field(default_factory=dict)

    def part(self, axis: Axis, by: tuple[int, ...]) -> Axis:
        """The items of an axis that one device has, where these axes of the mesh split it. Raises Indivisible."""
        if axis == BATCH_AXIS:
            return axis
        if (axis, by) not in self.parts:
            one = [self.mesh.axes[number] for number in by]
            devices = math.prod(each.size for each in one)
            if axis.extent is not None and axis.extent % devices:
                raise Indivisible(axis, one, devices)
            id = next(_IDS)
            family = self.families.setdefault((axis.family, by), id)
            size = Arith("//", (SizeOf(axis), Literal(devices)))
            extent = None if axis.extent is None else axis.extent // devices
            bound = None if axis.bound is None else axis.bound // devices
            self.parts[axis, by] = Axis(
                id, f"{axis.name}_part", axis.kind, f"{axis.label}/{devices}", extent, size, bound, family, axis.span
            )
        return self.parts[axis, by]

    def spread(self, graph: Graph, claims: Claims, inputs: tuple[GivenInput, ...]) -> GraphSpread:
        """The graph for inputs that are given so. What it needs of them decides how they are given at last."""
        found = self.given(graph, claims, inputs)
        better = found.better()
        return found if better == inputs else self.given(graph, claims, better)

    def given(self, graph: Graph, claims: Claims, inputs: tuple[GivenInput, ...]) -> GraphSpread:
        key = (id(graph), tuple(sorted((axis.id, each) for axis, each in claims.items())), inputs)
        if key not in self.done:
            found = GraphSpread(self, graph, claims, inputs)
            found.run()
            if later := found.later():  # the same once more
                found = GraphSpread(self, graph, claims, inputs, later)
                found.run()
            self.done[key] = found
        return self.done[key]


@dataclass(frozen=True, slots=True)
class GivenInput:
    """How an input is given.

    graded:  it has a gradient.
    free:    it does not depend on weights: it can be made anew, whole or a part, where it is needed; nothing is sent.
    place:   where it lies, of a free one; None: by its type.
    entered: axes of the mesh along which its gradient is summed where it comes from, not here.
    """

    graded: bool
    free: bool
    place: Placement | None = None
    entered: frozenset[int] = frozenset()


@dataclass(eq=False)
class GraphSpread:
    """One graph, its axes split as `claims` says.

    now:    of each old value, by its id, the new one and where it lies; of those that are free wherever it was needed.
    makers: of free values, and of those that only arrange another, by their ids.
    """

    whole: Spreading
    old: Graph
    claims: Claims
    given: tuple[GivenInput, ...]
    summed_later: Mapping[int, frozenset[int]] = field(default_factory=dict)  # parameters, by which mesh axes
    parameters: list[int] = field(default_factory=list)  # the ids of their values
    nodes: list[Node] = field(default_factory=list)
    now: dict[int, tuple[Value, Placement]] = field(default_factory=dict)
    free: dict[int, dict[Placement, Value]] = field(default_factory=dict)
    makers: dict[int, Apply | Positions | Constant] = field(default_factory=dict)
    graded: set[int] = field(default_factory=set)
    entered: dict[int, frozenset[int]] = field(default_factory=dict)
    uses: dict[int, set[tuple[Placement, frozenset[int]]]] = field(default_factory=dict)
    brought: dict[object, Value] = field(default_factory=dict)  # values brought elsewhere, once each
    weights: dict[str, tuple[Weight, Placement, frozenset[int]]] = field(default_factory=dict)
    inner: list[tuple[Call | Repeat | Scan, tuple[GraphSpread, ...]]] = field(default_factory=list)
    graph: Graph = field(init=False)
    own: tuple[Axis, ...] = field(init=False, default=())  # that were its callers'

    def run(self) -> None:
        self.fresh = Fresh(self.old)
        for entry, given in zip(self.old.inputs, self.given, strict=True):
            self.enter(entry.value, given)
        for node in self.old.nodes:
            self.visit(node)
        outputs = []
        for output in self.old.outputs:
            place = self.place(output.value)
            value = self.bring(output.value, place, self.nowhere)
            outputs.append(replace(output, value=value, axes=self.local(output.axes, place), causal=()))
        inputs = tuple(
            replace(entry, value=self.at(entry.value, self.input_place(entry.value))) for entry in self.old.inputs
        )
        made = replace(self.old, inputs=inputs, nodes=tuple(self.nodes), outputs=tuple(outputs))
        sent = {axis for node in self.nodes if isinstance(node, Apply | Call) for axis in _sent(node)}
        found = {axis: self.stands_for(axis, made) for axis in self.old.lifted}
        # what is sent along an axis must know its place: it is one of the block's own now, not a leading dimension
        self.own = tuple(axis for axis, parts in found.items() if len(parts) > 1 or sent & {*parts})
        lifted = (part for axis, parts in found.items() if axis not in self.own for part in parts)
        params = (*self.old.axes[: self.old.params], *self.own)
        rest = self.old.axes[self.old.params :]
        passed = [part for axis in params for part in self.stands_for(axis, made) if part != axis]
        derived = [part for axis in rest for part in self.stands_for(axis, made) if part != axis]
        self.graph = replace(
            made,
            axes=(*params, *passed, *rest, *derived),
            params=len(params) + len(passed),
            lifted=tuple(lifted),
            outputs=tuple(replace(o, axes=(*self.own_of(o.value), *o.axes)) for o in made.outputs),
        )

    def own_of(self, value: Value) -> tuple[Axis, ...]:
        """The axes of a result that it has had from its caller, and now has by itself."""
        mine = {*self.own, *(part for (whole, _), part in self.whole.parts.items() if whole in self.own)}
        return tuple(axis for axis in value.type.axes if axis in mine)

    def parts_of(self, axis: Axis) -> list[tuple[Axis, tuple[int, ...]]]:
        """The parts of an axis that the graph has as parameters, and which axes of the mesh split it so."""
        mine = {*self.graph.axes[: self.graph.params]}
        return [(part, by) for (whole, by), part in self.whole.parts.items() if whole == axis and part in mine]

    def stands_for(self, axis: Axis, made: Graph) -> list[Axis]:
        """An axis and its parts, such of these as values have."""
        there = _axes_of_values(made)
        parts = [part for (whole, _), part in self.whole.parts.items() if whole == axis]
        return [each for each in (axis, *parts) if each in there]

    def enter(self, value: Value, given: GivenInput) -> None:
        if given.free:
            place = self.batched(value) if given.place is None else given.place
            self.free[value.id] = {place: self.at(value, place)}
        else:
            place = self.place(value)
            self.now[value.id] = self.at(value, place), place
        if given.graded:
            self.graded.add(value.id)
        self.entered[value.id] = given.entered

    def input_place(self, value: Value) -> Placement:
        return next(iter(self.free[value.id])) if value.id in self.free else self.now[value.id][1]

    def better(self) -> tuple[GivenInput, ...]:
        """How the inputs are given best: free ones where all that reads them needs them; of those that all that reads
        them does by parts, the gradient is summed where they come from, together with that of other uses.
        """
        found = []
        for entry, given in zip(self.old.inputs, self.given, strict=True):
            uses = self.uses.get(entry.value.id, set())
            if given.free and len({place for place, _ in uses}) == 1:
                given = replace(given, place=next(iter(uses))[0])
            elif given.graded and uses:
                whole = {m for m, axis in enumerate(self.input_place(entry.value)) if axis is None}
                given = replace(given, entered=frozenset.intersection(frozenset(whole), *(e for _, e in uses)))
            found.append(given)
        return tuple(found)

    def later(self) -> dict[int, frozenset[int]]:
        """Parameters that only parts are done with, and along which mesh axes: their gradients are summed at last."""
        found = {}
        for number in self.parameters:
            if uses := self.uses.get(number):
                all_of_them = frozenset.intersection(*(entered for _, entered in uses))
                if all_of_them:
                    found[number] = all_of_them
        return found

    # -- where things lie ----------------------------------------------------------------------------------------

    @property
    def nowhere(self) -> Placement:
        return (None,) * len(self.whole.mesh.axes)

    def place(self, value: Value) -> Placement:
        return placed(loops(value), self.claims, self.whole.mesh)

    def batched(self, value: Value) -> Placement:
        """Where a value is as the model is given it: its part of the batch."""
        return placed([axis for axis in loops(value) if axis == BATCH_AXIS], self.claims, self.whole.mesh)

    def local(self, axes: Iterable[Axis], place: Placement) -> tuple[Axis, ...]:
        """The axes, parts for those that are split."""
        found = []
        for axis in axes:
            by = tuple(number for number, one in enumerate(place) if one == axis)
            found.append(self.whole.part(axis, by) if by else axis)
        return tuple(found)

    def at(self, value: Value, place: Placement) -> Value:
        """The value, of the type that it has where it is placed so."""
        axes = self.local(value.type.axes, place)
        names = dict(zip(value.type.axes, axes, strict=True))
        broadcast = frozenset(names[axis] for axis in value.type.broadcast_axes)
        return replace(value, type=replace(value.type, axes=axes, broadcast_axes=broadcast))

    # -- bringing values elsewhere -------------------------------------------------------------------------------

    def bring(self, value: Value, need: Placement, work: Placement) -> Value:
        """A value of the old graph where an op needs it that is split as `work`."""
        mesh = range(len(self.whole.mesh.axes))
        graded = value.id in self.graded
        entering = frozenset(m for m in mesh if graded and need[m] is None and work[m] is not None)
        self.uses.setdefault(value.id, set()).add((need, entering))
        if value.id in self.free:
            return self.made(value, need)
        new, have = self.now[value.id]
        entering -= self.entered.get(value.id, frozenset())
        entering = frozenset(m for m in entering if have[m] is None and self.enters(value, work[m]))
        if entering and have == need and isinstance(self.makers.get(value.id), Apply) and value.id not in self.free:
            return self.rearranged(value, need, work, entering)
        return self.sent(value, new, have, need, entering, work)

    def enters(self, value: Value, split: Axis | None) -> bool:
        """Whether an op that is split so has a part of the value's gradient on each device. Those of weights over the
        parts of a batch are not summed here, but where all gradients are.
        """
        return split is not None and not (split == BATCH_AXIS and value.role is Role.WEIGHT)

    def sent(
        self,
        value: Value,
        new: Value,
        have: Placement,
        need: Placement,
        entering: frozenset[int] = frozenset(),
        work: Placement = (),
    ) -> Value:
        for m, (a, b) in enumerate(zip(have, need, strict=True)):
            if a == b and m not in entering:
                continue
            if value.type.broadcast_axes & {a, b}:
                have = (*have[:m], b, *have[m + 1 :])
                new = self.relabelled(value, new, have)
                continue
            kind = (
                SendKind.ENTER
                if a == b
                else SendKind.GATHER
                if b is None
                else SendKind.OWN
                if a is None
                else SendKind.EXCHANGE
            )
            by_parts = kind is SendKind.GATHER and bool(work) and work[m] is not None
            key = (new.id, m, kind, b, by_parts)
            have = (*have[:m], b, *have[m + 1 :])
            if key not in self.brought:
                self.brought[key] = self.emit(
                    self.op(kind, m, value.id in self.graded, by_parts), new, self.at(self.fresh(value), have), (a, b)
                )
            new = self.brought[key]
        return new

    def relabelled(self, value: Value, new: Value, place: Placement) -> Value:
        """The value with other axes where it is the same for all of their items: there is nothing to send."""
        key = (new.id, place)
        if key not in self.brought:
            out = self.at(self.fresh(value), place)
            pairs = [(a, b) for a, b in zip(new.type.axes, out.type.axes, strict=True) if a != b]
            axes, made = tuple(a for a, _ in pairs), tuple(b for _, b in pairs)
            self.nodes.append(Apply(op_reading(Arrange(IndexMap.SAME)), (new,), out, axes, made, span=value.span))
            self.brought[key] = out
        return self.brought[key]

    def rearranged(self, value: Value, need: Placement, work: Placement, entering: frozenset[int]) -> Value:
        """What only arranges another value: its gradient is summed with that of the other's other uses."""
        key = (value.id, entering)
        if key not in self.brought:
            node = self.makers[value.id]
            assert isinstance(node, Apply)
            first = node.operands[0]
            inner = self.bring(first, self.now[first.id][1], work)
            out = self.at(self.fresh(value), need)
            axes, made = self.local(node.axes, self.now[first.id][1]), self.local(node.made, need)
            self.nodes.append(replace(node, operands=(inner,), axes=axes, made=made, out=out))
            self.brought[key] = out
        return self.brought[key]

    def made(self, value: Value, need: Placement) -> Value:
        """A free value, made where it is needed."""
        known = self.free[value.id]
        if need in known:
            return known[need]
        node = self.makers.get(value.id)
        match node:
            case Apply():
                work = tuple(axis if axis and self.follows(node, axis, m) else None for m, axis in enumerate(need))
                operands = [self.made(each, self.before(node, each, work)) for each in _operands(node)]
                place = work
                out = self.at(self.fresh(value), place)
                before = tuple(self.source(node, axis) for axis in work)
                masked = node.mask is not None
                self.nodes.append(
                    replace(
                        node,
                        operands=tuple(operands[: len(node.operands)]),
                        mask=operands[-1] if masked else None,
                        axes=self.local(node.axes, before),
                        made=self.local(node.made, work),
                        out=out,
                    )
                )
            case Positions() | Constant():
                place, out = self.nowhere, value
                self.nodes.append(node)
            case _:
                place, out = next(iter(known.items()))
        known[place] = out
        known[need] = self.sent(value, out, place, need)
        return known[need]

    def follows(self, node: Apply, axis: Axis, m: int) -> bool:
        """Whether a part of the result along the axis is made of parts of the operands."""
        if isinstance(node.traits.reads, Arrange) and axis in node.made:
            return node.traits.reads.map is IndexMap.SAME or node.traits.reads.map is IndexMap.NEW
        return axis not in node.axes and splittable(node, axis, m, self.claims, False)

    def source(self, node: Apply, axis: Axis | None) -> Axis | None:
        """The axis of the operand whose parts those along `axis` of the result are."""
        if axis in node.made and isinstance(node.traits.reads, Arrange) and node.axes:
            return node.axes[0]
        return axis

    def before(self, node: Apply, operand: Value, work: Placement) -> Placement:
        have = loops(operand)
        sources = (self.source(node, axis) for axis in work)
        found = tuple(axis if axis in have else None for axis in sources)
        batch = self.batched(operand)
        return tuple(b if a is None and work[m] == b else a for m, (a, b) in enumerate(zip(found, batch, strict=True)))

    def op(self, kind: SendKind, m: int, graded: bool, by_parts: bool = False, largest: bool = True) -> Collective:
        along = self.whole.mesh.axes[m].name
        words = {"graded": graded, "by_parts": by_parts, "largest": largest}
        return Collective(kind.value, reads=Anything(), cost=OpCost(work=0), kind=kind, mesh=m, along=along, **words)

    def emit(self, op: Collective, value: Value, out: Value, along: tuple[Axis | None, Axis | None]) -> Value:
        axes = tuple(axis for axis in along if axis is not None)
        self.nodes.append(Apply(op, (value,), out, axes, span=value.span))
        return out

    # -- nodes ---------------------------------------------------------------------------------------------------

    def visit(self, node: Node) -> None:
        match node:
            case Constant() | Positions():
                self.free[node.out.id] = {}
                self.makers[node.out.id] = node
            case Parameter(weight, out):
                place = placed([axis for axis in loops(out) if axis.extent is not None], self.claims, self.whole.mesh)
                self.now[out.id] = self.at(out, place), place
                later = self.summed_later.get(out.id, frozenset())
                self.keep(weight, place, tuple(ENTERED if m in later else None for m in range(len(place))))
                self.entered[out.id] = later
                self.parameters.append(out.id)
                self.nodes.append(replace(node, weight=self.cut(weight, place), out=self.now[out.id][0]))
                if not weight.frozen:
                    self.graded.add(out.id)
            case Apply():
                self.apply(node)
            case Call():
                self.call(node)
            case Repeat():
                self.repeat(node)
            case Scan():
                self.opaque(node)

    def cut(self, weight: Weight, place: Placement) -> Weight:
        return replace(weight, dims=tuple(self.local(dim, place) for dim in weight.dims))

    def keep(self, weight: Weight, place: Placement, work: Placement) -> None:
        batch = {claim.mesh for claim in self.claims.get(BATCH_AXIS, ())}  # all that is asked of a model has the batch
        partial = frozenset(m for m, axis in enumerate(place) if axis is None and (work[m] is not None or m in batch))
        self.weights[weight.name] = weight, place, partial

    def apply(self, node: Apply) -> None:
        operands = _operands(node)
        plain = isinstance(node.traits.reads, Pointwise | Arrange) and not node.traits.random and not node.weights
        if plain and all(value.id in self.free for value in operands):
            self.free[node.out.id] = {}
            self.makers[node.out.id] = node
            return
        graded = any(value.id in self.graded for value in operands) or any(not w.frozen for w in node.weights)
        dims = [axis for weight in node.weights for dim in weight.dims for axis in dim]
        over = dict.fromkeys(axis for value in (*operands, node.out) for axis in loops(value))
        over.update(dict.fromkeys((*node.axes, *node.made, *dims)))
        work = self.work(node, tuple(over), graded)
        if any(axis in node.axes for axis in work):
            steps = elementary(node, self.fresh)
            if len(steps) > 1:
                for step in steps:
                    self.visit(step)
                return
        moved = []
        for value in operands:
            have = loops(value)
            moved.append(self.bring(value, tuple(axis if axis in have else None for axis in work), work))
        for number, weight in enumerate(node.weights):
            axes = {axis for dim in weight.dims for axis in dim}
            # what is added to a sum of parts is done where the sum is
            done = self.place(node.out) if number and any(axis in node.axes for axis in work) else work
            self.keep(weight, tuple(axis if axis in axes else None for axis in done), done)
        if graded and node.traits.gradient and node.out.type.element is Scalar.REAL:
            self.graded.add(node.out.id)
        made = tuple(axis and partner(node, axis) for axis in work)
        out = loops(node.out)
        local = tuple(axis if axis in out else None for axis in made)
        partial = frozenset(n for n, axis in enumerate(made) if axis is not None and axis not in out)
        new = replace(
            node,
            operands=tuple(moved[: len(node.operands)]),
            mask=moved[-1] if node.mask is not None else None,
            axes=self.local(node.axes, work),
            made=self.local(node.made, made),
            each=self.local(node.each, work),
            weights=tuple(self.cut(w, self.weights[w.name][1]) for w in node.weights),
        )
        if isinstance(node.traits.reads, Arrange) and not partial and local == self.place(node.out):
            self.makers[node.out.id] = node
        self.finish(new, local, partial, node)

    def work(self, node: Apply, over: tuple[Axis, ...], graded: bool) -> Placement:
        """Along which axis each mesh axis splits the op; None: each of its devices does all of it."""
        found: list[Axis | None] = []
        for number in range(len(self.whole.mesh.axes)):
            able = [
                (claim, axis)
                for axis in over
                for claim in self.claims.get(axis, ())
                if claim.mesh == number and splittable(node, axis, number, self.claims, graded)
            ]
            found.append(min(able, key=lambda each: each[0])[1] if able else None)
        return tuple(found)

    def finish(self, node: Apply, local: Placement, partial: frozenset[int], old: Apply) -> None:
        """The node, and what brings its result to where it belongs."""
        out, wanted = old.out, self.place(old.out)
        value = self.at(self.fresh(out), local)
        bias = node.weights[1:] if partial and isinstance(node.traits.reads, Reduce) else ()
        inside = []
        if isinstance(node.traits.reads, Gather):
            for m in partial:
                node, found = self.looked_up(node, m)
                inside.append(found)
        if bias:
            node = replace(node, options={**node.options, ALONE: Literal(True)})
        self.nodes.append(replace(node, out=value))
        for found in inside:  # 0 where an index is of an item of another device
            zero = replace(self.fresh(out), type=Type(Scalar.INT, ()), role=Role.CONSTANT, name=None)
            self.nodes.append(Constant(Literal(0), zero))
            kept = self.at(self.fresh(out), local)
            self.nodes.append(Apply(op_meaning(Choice()), (found, value, zero), kept, span=node.span))
            value = kept
        for m in sorted(partial):
            largest, b = _largest(old), wanted[m]
            local = (*local[:m], b if largest is None else None, *local[m + 1 :])
            kind = SendKind.SETTLE if largest is not None else SendKind.REDUCE if b is None else SendKind.SCATTER
            op = self.op(kind, m, out.id in self.graded, largest=largest is not False)
            value = self.emit(op, value, self.at(self.fresh(out), local), (None, b))
        value = self.sent(out, value, local, wanted)
        if bias:
            added = self.at(self.fresh(out), wanted)
            self.nodes.append(
                Apply(ADD_BIAS, (value,), added, made=node.made, name=node.name, weights=bias, span=node.span)
            )
            value = added
        self.now[out.id] = value, wanted

    def looked_up(self, node: Apply, m: int) -> tuple[Apply, Value]:
        """A lookup in the items that the device has, and whether an index is of one of these."""
        table, ids = node.operands
        (axis,) = node.axes
        number = Type(Scalar.INT, ())
        kind, truth = replace(ids.type, element=Scalar.INT), replace(ids.type, element=Scalar.BOOL)

        def made(op: OpTraits, type: Type, role: Role, *operands: Value) -> Value:
            out = replace(self.fresh(ids), type=type, role=role, name=None)
            self.nodes.append(Apply(op, operands, out, span=node.span))
            return out

        size = replace(self.fresh(ids), type=number, role=Role.CONSTANT, name=None)
        self.nodes.append(Constant(SizeOf(axis), size))
        place = made(OwnPlace("own_place", reads=Anything(), along=self.whole.mesh.axes[m].name), number, Role.TABLE)
        first = made(op_meaning(Product()), number, Role.TABLE, place, size)
        here = made(op_meaning(Sum((1, -1))), kind, ids.role, ids, first)
        zero = replace(self.fresh(ids), type=number, role=Role.CONSTANT, name=None)
        self.nodes.append(Constant(Literal(0), zero))
        after = made(op_meaning(Compared(">=")), truth, ids.role, here, zero)
        before = made(op_meaning(Compared("<")), truth, ids.role, here, size)
        inside = made(op_meaning(Conjunction()), truth, ids.role, after, before)
        safe = made(op_meaning(Choice()), kind, ids.role, inside, here, zero)
        return replace(node, operands=(table, safe)), inside

    # -- nested graphs -------------------------------------------------------------------------------------------

    def inside(self, node: Call) -> Claims:
        """The claims on the axes of a block: those on what its axes stand for, and on its own by name."""
        graph = node.graph
        claims = {axis: self.claims[axis] for axis in graph.lifted if axis in self.claims}
        claims |= {formal: self.claims[actual] for formal, actual in node.axes if actual in self.claims}
        given = {formal for formal, _ in node.axes}
        claims |= claimed([axis for axis in graph.axes[graph.params :] if axis not in given], self.whole.mesh)
        if BATCH_AXIS in self.claims:
            claims[BATCH_AXIS] = self.claims[BATCH_AXIS]
        return claims

    def giving(self, value: Value) -> GivenInput:
        return GivenInput(value.id in self.graded, value.id in self.free)

    def opaque(self, node: Call | Scan) -> None:
        """A scan, or an op of the user's own: every device that has the same part of the batch does all of it."""
        args = tuple(self.bring(value, self.batched(value), self.nowhere) for value in node.args)
        if owns(node.graph):
            claims = {axis: each for axis, each in self.claims.items() if axis == BATCH_AXIS}
            given = tuple(GivenInput(value.id in self.graded, False) for value in node.args)
            self.inner.append((node, (self.whole.given(node.graph, claims, given),)))
        outs = tuple(self.at(self.fresh(out), self.batched(out)) for out in node.outs)
        self.nodes.append(replace(node, args=args, outs=outs))
        for out, made in zip(node.outs, outs, strict=True):
            if owns(node.graph) or any(value.id in self.graded for value in node.args):
                self.graded.add(out.id)
            self.now[out.id] = self.sent(out, made, self.batched(out), self.place(out)), self.place(out)

    def call(self, node: Call) -> None:
        if node.graph.target:
            self.opaque(node)
            return
        given = tuple(map(self.giving, node.args))
        claims = self.inside(node)
        freely = all(each.free for each in given) and not owns(node.graph)
        if freely:  # tables: made whole on every device
            claims = {axis: each for axis, each in claims.items() if axis == BATCH_AXIS}
        inner = self.whole.spread(node.graph, claims, given)
        self.inner.append((node, (inner,)))
        args = self.arguments(node.args, inner, dict(node.axes))
        outs = [self.result(out, [inner], number, freely) for number, out in enumerate(node.outs)]
        axes = [*node.axes, *((axis, axis) for axis in inner.own)]
        for formal, actual in tuple(axes):
            for part, by in inner.parts_of(formal):
                axes.append((part, self.whole.part(actual, by)))
        self.nodes.append(replace(node, graph=inner.graph, args=args, outs=tuple(outs), axes=tuple(axes)))

    def arguments(self, args: Sequence[Value], inner: GraphSpread, names: dict[Axis, Axis]) -> tuple[Value, ...]:
        found = []
        for value, entry, given in zip(args, inner.old.inputs, inner.given, strict=True):
            have = loops(value)
            place = (axis and names.get(axis, axis) for axis in inner.input_place(entry.value))
            need = tuple(axis if axis in have else None for axis in place)
            work = tuple(ENTERED if m in given.entered else None for m in range(len(need)))
            found.append(self.bring(value, need, work))
        return tuple(found)

    def result(self, out: Value, inner: Sequence[GraphSpread], number: int, freely: bool = False) -> Value:
        place = self.batched(out) if freely else self.place(out)
        value = self.at(out, place)
        if freely:
            self.free[out.id] = {place: value}
        else:
            self.now[out.id] = value, place
        if any(one.old.outputs[number].value.id in one.graded for one in inner):
            self.graded.add(out.id)
        return value

    def repeat(self, node: Repeat) -> None:
        given = [self.giving(value) for value in node.args]
        given[: node.carried] = [replace(each, free=False) for each in given[: node.carried]]
        while True:
            inner = [self.whole.given(body, self.claims, tuple(given)) for body in node.bodies]
            after = [any(b.old.outputs[n].value.id in b.graded for b in inner) for n in range(node.carried)]
            if all(given[n].graded or not later for n, later in enumerate(after)):
                break
            given = [replace(each, graded=each.graded or any(after[n : n + 1])) for n, each in enumerate(given)]
        wanted = [body.better() for body in inner]
        for n in range(node.carried, len(given)):
            if all(each[n] == wanted[0][n] for each in wanted):
                given[n] = wanted[0][n]
        inner = [self.whole.given(body, self.claims, tuple(given)) for body in node.bodies]
        self.inner.append((node, tuple(inner)))
        args = self.arguments(node.args, inner[0], {})
        outs = tuple(self.result(out, inner, number) for number, out in enumerate(node.outs))
        self.nodes.append(replace(node, bodies=tuple(one.graph for one in inner), args=args, outs=outs))


def _axes_of_values(graph: Graph) -> set[Axis]:
    """The axes that values have, of the bodies of repeats too: these are those of the graph around."""
    bodies = (body for node in graph.nodes if isinstance(node, Repeat) for body in node.bodies)
    own = {axis for value in values_of(graph) for axis in value.type.axes}
    return own.union(*map(_axes_of_values, bodies))


def _sent(node: Apply | Call) -> tuple[Axis, ...]:
    """The axes along which a node sends items."""
    if isinstance(node, Call):
        return tuple(axis for axis, _ in node.axes)
    return (*node.axes, *node.out.type.axes) if isinstance(node.traits, Collective) and node.axes else ()


def between(a: Axis | None, b: Axis | None) -> SendKind:
    """What brings a value that is split along `a` to where it is split along another axis; None: whole."""
    if b is None:
        return SendKind.GATHER
    return SendKind.OWN if a is None else SendKind.EXCHANGE


def _operands(node: Apply) -> tuple[Value, ...]:
    return node.operands if node.mask is None else (*node.operands, node.mask)


def _largest(node: Apply) -> bool | None:
    """Whether the largest of what devices have of their parts is taken, or the smallest; None where it is the sum."""
    match node.traits.reads:
        case Reduce(combination=Combination(largest=largest)):
            return largest
        case _:
            return None


def spread(graph: Graph, mesh: Mesh) -> GraphSpread:
    """The graph of one device of a mesh. Along all axes of it but those that split the batch each is given the same
    inputs. Raises Indivisible.
    """
    claims = claimed([*graph.axes, BATCH_AXIS], mesh)
    return Spreading(mesh).given(graph, claims, (GivenInput(False, True),) * len(graph.inputs))
