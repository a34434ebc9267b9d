"""What is computed for each index of an axis, but read at picked ones alone, is computed for these.

Such is a mixture of experts: of `made` [expert, model] a weighed sum reads what `best: expert[chosen]` picks,

    made[expert = best]
    dot[expert](weights, made)     where the weights are exactly 0 but at the picks, made here or by a block:
                                       sum[chosen](select(expert == best and .., w, 0))
                                       select(expert == best, w, 0), select(any[chosen](expert == best), w, 0)
                                       softmax[expert](s where any[chosen](expert == best))
                                       and such times, or over, something

What lies between such a reader and values that are not of the axis, or are read elsewhere too, is done for *rows*: an
item for one of its picks, sorted by pick. `dispatch(best)` sorts, `rows(x)` gives what each row reads of x, `back`
brings each row to its item and its rank. In between values have neither the axis nor those of the items: rows stand
where the batch stands. A learned map with weights for each index (`linear[expert: a -> b]`), or a `dot` with such
weights, then multiplies for each index the rows that picked it.

What is not picked is not read: where it is infinite, or no number, times 0 is no number, and here it is nothing. A
block that makes the weights gives these at the picks, and the picks. What it does not do: anything where no product is
saved, where as many are picked as there are, or where an item's rows would need axes that the picks lack.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

from ...graph.nodes import Apply, Call, Constant, Graph, Node, Output, Positions, makes, reads
from ...graph.traits import (
    Anything,
    Arrange,
    Choice,
    Combination,
    Compared,
    Conjunction,
    Gather,
    IndexMap,
    Meaning,
    Normalise,
    OpTraits,
    Pointwise,
    Product,
    Quotient,
    Reduce,
)
from ...graph.values import IndexInto, Role, Scalar, Type, Value
from ...ops import op_meaning, op_named, op_reading
from ...sizes.axes import Axis, Literal, known
from ..simplify.dead import alive
from ..tools.walk import Fresh, Walk, with_results


def dispatch(graph: Graph) -> Graph:
    """The graph with what is picked computed alone."""
    exposing = _Exposing()
    return Walk(lambda _, new: _DispatchingGraph(new, exposing).rewritten())(graph)


def picked_alone(graph: Graph) -> dict[int, tuple[Axis, Axis | None]]:
    """Values of this graph (by id) that are computed for picks alone: of which axis, and the axis of their ranks."""
    body, found = _DispatchingGraph(graph, _Exposing()), dict[int, tuple[Axis, Axis | None]]()
    for node in graph.nodes:
        region = body.region(node) if isinstance(node, Apply) else None
        if region is not None:
            ids = *region.inside, region.reader.out.id
            found |= dict.fromkeys(ids, (region.axis, region.rank))
    return found


@dataclass(frozen=True, slots=True)
class _Picked:
    """A value that is 0 along an axis but at picks.

    best:   the picks. rank: the axis along which it was summed, each of which adds what it picked; None: one pick.
    kept:   truths, where a pick counts at all. weight: the value at the picks.
    """

    best: Value
    rank: Axis | None
    kept: Value | None
    weight: Value


@dataclass(frozen=True, slots=True)
class _Mask:
    """A truth value that holds along an axis at picks alone; `one`: at one for each index of its other axes."""

    best: Value
    rank: Axis | None
    kept: Value | None


@dataclass(frozen=True, slots=True)
class Region:
    """What is to be done for rows.

    reader: what reads picks alone. axis: along which. best, rank, kept: as in `_Picked`.
    items:  the axes of `best` but rank.
    inside: ids of the values that rows are made for. ends: those of them that the reader reads.
    weights: what the reader multiplies with them, at the picks.
    """

    reader: Apply
    axis: Axis
    best: Value
    rank: Axis | None
    kept: Value | None
    items: tuple[Axis, ...]
    inside: frozenset[int]
    ends: tuple[Value, ...]
    weights: tuple[Value, ...]


@dataclass(frozen=True, slots=True)
class _Grouped:
    """x times a matrix for each index: the node's own, or `weight`, with these axes beside those that are summed."""

    x: Value
    weight: Value | None
    made: tuple[Axis, ...]


def varies(value: Value) -> tuple[Axis, ...]:
    """The axes along which a value varies."""
    return tuple(axis for axis in value.type.axes if axis not in value.type.broadcast_axes)


class _Exposing:
    """Blocks with further results: each once for what is asked of it, so that equal calls share one graph."""

    def __init__(self) -> None:
        self.known: dict[tuple[int, int, Axis], tuple[Graph, _Picked] | None] = {}
        self.cut: dict[tuple[int, tuple[int, ...]], Graph] = {}

    def picked(self, graph: Graph, place: int, axis: Axis) -> tuple[Graph, _Picked] | None:
        """The block, which also gives of a result what it is at its picks, if it is 0 elsewhere along the axis."""
        key = id(graph), place, axis
        if key not in self.known:
            self.known[key] = self._picked(graph, graph.outputs[place].value, axis)
        return self.known[key]

    def _picked(self, graph: Graph, value: Value, axis: Axis) -> tuple[Graph, _Picked] | None:
        if graph.kind != "block" or graph.target:
            return None
        body = _DispatchingGraph(graph, self)
        found = body.weighed(value, axis)
        if found is None:
            return None
        more = [each for each in (found.weight, found.best, found.kept) if each is not None]
        outputs = [Output(None, each, tuple(a for a in each.type.axes if a not in graph.lifted)) for each in more]
        return body.finished((*graph.outputs, *outputs)), found

    def only(self, graph: Graph, places: tuple[int, ...]) -> Graph:
        """The block without results that nothing reads."""
        key = id(graph), places
        if key not in self.cut:
            outputs = tuple(graph.outputs[place] for place in places)
            named = tuple(replace(one, name=one.name or one.value.name or f"out{n}") for n, one in enumerate(outputs))
            self.cut[key] = alive(replace(graph, outputs=named if len(named) > 1 else outputs))
        return self.cut[key]


@dataclass
class _DispatchingGraph:
    """One graph. made: nodes made for the reader at hand, which come before it."""

    graph: Graph
    exposing: _Exposing
    made: list[Node] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.fresh = Fresh(self.graph)
        self.calls: dict[int, Call] = {}  # by the ids of their first results: calls that give more now
        self._look([*self.graph.nodes], self.graph.outputs)

    def _look(self, nodes: Sequence[Node], outputs: Iterable[Output]) -> None:
        self.makers: dict[int, Node] = {out.id: node for node in nodes for out in makes(node)}
        self.readers: dict[int, list[Node | None]] = {output.value.id: [None] for output in outputs}
        for node in nodes:
            for value in reads(node):
                self.readers.setdefault(value.id, []).append(node)

    # -- the whole -----------------------------------------------------------------------------------------------

    def rewritten(self) -> Graph:
        """The graph, or the very graph where nothing changes."""
        changed = False
        nodes: list[Node] = []
        gone: set[int] = set()
        for node in self.graph.nodes:
            region = self.region(node) if isinstance(node, Apply) else None
            if region is None:
                self.made.clear()
                nodes.append(node)
                continue
            changed = True
            self._rows(region)
            nodes += self.made
            self.made.clear()
            gone |= region.inside
        if not changed:
            return self.graph
        nodes = [
            _owning(node) if any(value.id in gone for value in makes(node)[:1]) else node
            for node in nodes
            if not self._goes(node, gone)
        ]
        nodes = [
            self.calls.get(node.outs[0].id, node) if isinstance(node, Call) and node.outs else node for node in nodes
        ]
        graph = alive(replace(self.graph, nodes=tuple(nodes)))
        read = {value.id for node in graph.nodes for value in reads(node)} | {out.value.id for out in graph.outputs}
        return replace(graph, nodes=tuple(self._cut(node, read) for node in graph.nodes))

    def _goes(self, node: Node, gone: set[int]) -> bool:
        return isinstance(node, Apply) and node.out.id in gone and not (node.weights and _contracts(node))

    def finished(self, outputs: tuple[Output, ...]) -> Graph:
        """The graph with the nodes that were made at its end, and these results."""
        nodes = [
            self.calls.get(node.outs[0].id, node) if isinstance(node, Call) and node.outs else node
            for node in self.graph.nodes
        ]
        graph = replace(self.graph, nodes=(*nodes, *self.made), outputs=outputs)
        read = {value.id for node in graph.nodes for value in reads(node)} | {out.value.id for out in outputs}
        return replace(graph, nodes=tuple(self._cut(node, read) for node in graph.nodes))

    def _cut(self, node: Node, read: set[int]) -> Node:
        """A call that gives more now, without what nobody reads."""
        if not isinstance(node, Call) or makes(node)[0].id not in self.calls:
            return node
        places = tuple(place for place, out in enumerate(node.outs) if out.id in read)
        return replace(node, graph=self.exposing.only(node.graph, places), outs=tuple(node.outs[p] for p in places))

    # -- nodes ---------------------------------------------------------------------------------------------------

    def apply(self, traits: OpTraits, operands: Sequence[Value], type: Type, like: Value, **more: object) -> Value:
        role = max(value.role for value in operands)
        out = self.fresh(Value(0, type, role, like.name, like.span))
        self.made.append(Apply(traits, tuple(operands), out, span=like.span, **more))  # type: ignore[arg-type]
        return out

    def point(self, meaning: Meaning, operands: Sequence[Value], like: Value) -> Value:
        """A pointwise op, of the kind of elements of another value."""
        axes = dict.fromkeys(axis for value in operands for axis in varies(value))
        return self.apply(op_meaning(meaning), operands, Type(like.type.element, tuple(axes)), replace(like, name=None))

    def _chosen(self, truth: Value, x: Value, like: Value) -> Value:
        """x where the truth holds, else 0."""
        zero = self.fresh(Value(0, Type(Scalar.INT, ()), Role.CONSTANT, None, like.span))
        self.made.append(Constant(Literal(0), zero))
        return self.point(Choice(), (truth, x, zero), like)

    def both(self, a: Value | None, b: Value | None) -> Value | None:
        return b if a is None else a if b is None else self.point(Conjunction(), (a, b), a)

    def at(self, value: Value, mask: _Mask, axis: Axis) -> Value:
        """What a value is at the picks; 0 where these do not count."""
        if axis not in value.type.axes:
            return value
        axes = [other for other in value.type.axes if other != axis]
        own = tuple(other for other in varies(mask.best) if other not in axes)
        type = Type(value.type.element, (*axes, *own))
        return self.apply(op_reading(Gather()), (value, mask.best), type, value, axes=(axis,), made=own, mask=mask.kept)

    # -- what is 0 but at picks ----------------------------------------------------------------------------------

    def mask(self, value: Value, axis: Axis) -> _Mask | None:
        """`axis == best`, and such that holds nowhere else."""
        node = self.makers.get(value.id)
        match node:
            case Apply(OpTraits(reads=Pointwise(Compared("==")))):
                for one, other in (node.operands, node.operands[::-1]):
                    place, element = self.makers.get(one.id), other.type.element
                    if not isinstance(place, Positions) or place.axis != axis or axis in other.type.axes:
                        continue
                    if isinstance(element, IndexInto) and element.axis.family == axis.family:
                        return _Mask(other, None, None) if other.role is Role.DATA else None
            case Apply(OpTraits(reads=Pointwise(Conjunction()))):
                for one, other in (node.operands, node.operands[::-1]):
                    found = self.mask(one, axis)
                    if found is not None:
                        return replace(found, kept=self.both(found.kept, self.at(other, found, axis)))
            case Apply(OpTraits(reads=Reduce(Combination(truths=True, largest=True))), axes=(rank,), mask=None):
                found = self.mask(node.operands[0], axis)
                if found is not None and found.rank is None and self._distinct(found.best, axis, rank):
                    return replace(found, rank=rank)
            case _:
                pass
        return None

    def _distinct(self, best: Value, axis: Axis, rank: Axis) -> bool:
        """Whether picks are of one order of the axis, so that no two are the same."""
        node = self.makers.get(best.id)
        match node:
            case Apply(OpTraits(reads=Reduce(indices=True))):
                return node.axes == (axis,) and node.made == (rank,)
            case _:
                return False

    def _is_zero(self, value: Value) -> bool:
        node = self.makers.get(value.id)
        return isinstance(node, Constant) and known(node.value) == 0

    def weighed(self, value: Value, axis: Axis) -> _Picked | None:
        """What the value is at picks, if it is 0 elsewhere along the axis."""
        if axis not in varies(value):
            return None
        node = self.makers.get(value.id)
        match node:
            case Call():
                return self._called(node, value, axis)
            case Apply(OpTraits(reads=Pointwise(Choice())), operands=(truth, x, zero)) if self._is_zero(zero):
                mask = self.mask(truth, axis)
                if mask is None:
                    return None
                weight = self.at(x, mask, axis)
                if mask.kept is not None and weight is x:  # else it has been read where it counts
                    weight = self._chosen(mask.kept, weight, value)
                return _Picked(mask.best, mask.rank, mask.kept, weight)
            case Apply(OpTraits(reads=Pointwise(Product() | Quotient(whole=False) as how)), operands=(x, y)):
                first = self.weighed(x, axis)
                if first is not None:
                    return self._times(how, first, y, axis, value)
                other = self.weighed(y, axis) if isinstance(how, Product) else None
                return None if other is None else self._times(how, other, x, axis, value)
            case Apply(OpTraits(reads=Reduce(Combination(adds=True, averages=False))), axes=(rank,)):
                return None if node.weights or rank == axis else self._summed(node, rank, axis)
            case Apply(OpTraits(reads=Normalise(weights=True, logarithm=False)), axes=(one,)) if one == axis:
                mask = self.mask(node.mask, axis) if node.mask is not None else None
                return None if mask is None else _Picked(mask.best, mask.rank, mask.kept, self.at(value, mask, axis))
            case _:
                return None

    def _times(self, how: Meaning, found: _Picked, other: Value, axis: Axis, like: Value) -> _Picked:
        factor = self.at(other, _Mask(found.best, found.rank, found.kept), axis)
        return replace(found, weight=self.point(how, (found.weight, factor), like))

    def _summed(self, node: Apply, rank: Axis, axis: Axis) -> _Picked | None:
        """A sum over what each of several picks adds: each is a pick of its own, and whoever reads them sums."""
        for place, value in enumerate(node.operands):
            found = self.weighed(value, axis)
            if found is None or found.rank is not None or rank not in varies(found.best):
                continue
            for other in (*node.operands[:place], *node.operands[place + 1 :]):
                found = self._times(Product(), found, other, axis, node.out)
            if node.mask is not None:
                kept = self.both(found.kept, self.at(node.mask, _Mask(found.best, None, found.kept), axis))
                assert kept is not None
                found = replace(found, kept=kept, weight=self._chosen(kept, found.weight, node.out))
            return replace(found, rank=rank)
        return None

    def _called(self, node: Call, value: Value, axis: Axis) -> _Picked | None:
        """The same of what a block gives, which is to give more."""
        own = next((formal for formal, actual in node.axes if actual == axis), None)
        call = self.calls.get(node.outs[0].id, node)
        alone = sum(isinstance(one, Call) and one.name == node.name for one in self.graph.nodes) == 1
        if own is None or call is not node or not alone:
            return None
        given = self.exposing.picked(node.graph, [out.id for out in node.outs].index(value.id), own)
        if given is None:
            return None
        graph, found = given
        here = dict(node.axes)

        def told(inner: Value | None) -> Value | None:
            if inner is None:
                return None
            element = inner.type.element
            if isinstance(element, IndexInto):
                element = IndexInto(here.get(element.axis, element.axis))
            axes = tuple(here.get(one, one) for one in varies(inner))
            return self.fresh(Value(0, Type(element, axes), Role.DATA, inner.name, value.span))

        weight, best, kept = told(found.weight), told(found.best), told(found.kept)
        assert weight is not None and best is not None
        more = [each for each in (weight, best, kept) if each is not None]
        self.calls[node.outs[0].id] = replace(node, graph=graph, outs=(*node.outs, *more))
        return _Picked(best, None if found.rank is None else here.get(found.rank, found.rank), kept, weight)

    # -- what is read at picks alone -----------------------------------------------------------------------------

    def region(self, node: Apply) -> Region | None:
        """What this node reads at picks alone, if products are saved."""
        match node.traits.reads:
            case Reduce(Combination(adds=True, averages=False)) if len(node.axes) == 1 and not node.weights:
                return None if node.mask is not None else self._of_sum(node)
            case Gather() if node.operands[1].role is Role.DATA and len(node.axes) == 1:
                return self._of_gather(node)
            case _:
                return None

    def _of_sum(self, node: Apply) -> Region | None:
        axis, absorbed = node.axes[0], [node]
        factors = [factor for value in node.operands for factor in self._factors(value, absorbed)]
        for place, weights in enumerate(factors):
            others = [*factors[:place], *factors[place + 1 :]]
            if not any(self._saves(other, axis) for other in others):
                continue
            found = self.weighed(weights, axis)
            if found is None:
                continue
            region = self._region(node, axis, found, others, absorbed)
            if region is not None:
                return region
        return None

    def _factors(self, value: Value, absorbed: list[Apply]) -> list[Value]:
        """What is multiplied to make it, where nothing else reads it."""
        node = self.makers.get(value.id)
        if isinstance(node, Apply) and node.traits.reads == Pointwise(Product()) and len(self.readers[value.id]) == 1:
            absorbed.append(node)
            return [factor for operand in node.operands for factor in self._factors(operand, absorbed)]
        return [value]

    def _saves(self, value: Value, axis: Axis) -> bool:
        """Whether products for each index of the axis may lie behind a value."""
        seen, todo = set[int](), [value]
        while todo:
            value = todo.pop()
            node = self.makers.get(value.id)
            if value.id in seen or axis not in varies(value) or not isinstance(node, Apply):
                continue
            seen.add(value.id)
            if _contracts(node):
                return True
            todo += reads(node)
        return False

    def _of_gather(self, node: Apply) -> Region | None:
        x, best = node.operands
        axis = node.axes[0]
        own = [one for one in varies(best) if one not in varies(x)]
        if len(own) > 1 or axis in varies(best) or not self._saves(x, axis):
            return None
        mask = _Picked(best, own[0] if own else None, node.mask, x)
        return self._region(node, axis, mask, [x], [node])

    def _region(
        self, reader: Apply, axis: Axis, found: _Picked, others: Sequence[Value], absorbed: Sequence[Apply]
    ) -> Region | None:
        rank = found.rank
        if rank is not None and rank.extent is not None and axis.extent is not None and rank.extent >= axis.extent:
            return None
        items = tuple(one for one in varies(found.best) if one != rank)
        inside = self._inside([other for other in others if axis in varies(other)], axis, rank, items, absorbed)
        nodes = [node for node in self.graph.nodes if isinstance(node, Apply) and node.out.id in inside]
        if not any(map(_contracts, nodes)):
            return None
        lifted = {one for node in nodes for value in (*reads(node), *makes(node)) for one in varies(value)}
        if not lifted & {*self.graph.lifted} <= {*items}:
            return None
        ends = tuple(other for other in others if other.id in inside)
        mask = _Mask(found.best, rank, found.kept)
        beside = tuple(self.at(other, mask, axis) for other in others if other.id not in inside)
        weights = () if isinstance(reader.traits.reads, Gather) else (found.weight, *beside)
        return Region(reader, axis, found.best, rank, found.kept, items, frozenset(inside), ends, weights)

    def _inside(
        self, ends: Sequence[Value], axis: Axis, rank: Axis | None, items: Sequence[Axis], absorbed: Sequence[Apply]
    ) -> set[int]:
        """The values behind these that can be made for rows alone, and that nothing else reads."""
        found, todo = set[int](), [*ends]
        while todo:
            value = todo.pop()
            node = self.makers.get(value.id)
            if value.id in found or axis not in varies(value) or not isinstance(node, Apply):
                continue
            if _for_rows(node, axis, rank, items):
                found.add(value.id)
                todo += reads(node)
        while True:
            readers = [*absorbed, *(self.makers[id] for id in found)]
            kept = {id for id in found if all(any(one is each for each in readers) for one in self.readers[id])}
            if kept == found:
                return found
            found = kept

    # -- rows ----------------------------------------------------------------------------------------------------

    def _rows(self, region: Region) -> None:
        """Makes the nodes of a region, and what takes the place of its reader."""
        axis, items, reader = region.axis, region.items, region.reader
        given = (region.best, *([region.kept] if region.kept is not None else []))
        ranks = () if region.rank is None else (region.rank,)
        type = Type(IndexInto(axis), ())
        like = replace(region.best, name="dispatch")
        plan = self.apply(op_named("dispatch"), given, type, like, axes=items, made=ranks, each=(axis,))
        done: dict[int, Value] = {}

        def rows(value: Value) -> Value:
            if value.id not in done:
                done[value.id] = taken(value)
            return done[value.id]

        def taken(value: Value) -> Value:
            if value.role is not Role.DATA and not {axis, *items} & {*varies(value)}:
                return value
            each = (axis,) if axis in varies(value) else ()
            operands = (value, plan)
            return self.apply(op_named("rows"), operands, row_type(value), value, axes=items, each=each)

        def row_type(value: Value) -> Type:
            return Type(value.type.element, tuple(one for one in value.type.axes if one not in (axis, *items)),
                        value.type.broadcast_axes - {axis, *items})  # fmt: skip

        for node in self.graph.nodes:
            if not isinstance(node, Apply) or node.out.id not in region.inside:
                continue
            out = self.fresh(replace(node.out, type=row_type(node.out), role=Role.DATA))
            done[node.out.id] = out
            if node.traits.reads == Arrange(IndexMap.NEW) and node.made == (axis,):
                done[node.out.id] = rows(node.operands[0])
                continue
            grouped = _grouped(node, axis)
            if grouped is None:
                mask = None if node.mask is None else rows(node.mask)
                self.made.append(replace(node, operands=tuple(map(rows, node.operands)), out=out, mask=mask))
                continue
            traits = node.traits if grouped.weight is None else op_named("grouped")
            operands = (rows(grouped.x), plan, *([] if grouped.weight is None else [grouped.weight]))
            self.made.append(replace(node, traits=traits, operands=operands, out=out, made=grouped.made, each=(axis,)))
        back = [self._back(region, done[end.id], plan) for end in region.ends]
        self._read(reader, region.rank, [*region.weights, *back], region.kept)

    def _back(self, region: Region, value: Value, plan: Value) -> Value:
        ranks = () if region.rank is None else (region.rank,)
        type = Type(value.type.element, (*region.items, *ranks, *value.type.axes), value.type.broadcast_axes)
        operands = (value, plan)
        return self.apply(op_named("back"), operands, type, value, axes=region.items, made=ranks)

    def _read(self, reader: Apply, rank: Axis | None, values: list[Value], kept: Value | None) -> None:
        """The reader, of what there is at the picks."""
        if isinstance(reader.traits.reads, Gather):
            (value,) = values
            if kept is None:  # it is what came back
                self.made.append(with_results(self.made.pop(), (reader.out,)))
                return
            self._chosen(kept, value, reader.out)
            self.made.append(with_results(self.made.pop(), (reader.out,)))
        elif rank is not None and _contracts(reader):
            self.made.append(replace(reader, operands=tuple(values), axes=(rank,)))
        else:
            product = values[0]
            for other in values[1:]:
                product = self.point(Product(), (product, other), reader.out)
            if rank is None:
                self.made.append(with_results(self.made.pop(), (reader.out,)))
            else:
                self.made.append(replace(reader, operands=(product,), axes=(rank,)))


def _owning(node: Node) -> Node:
    """What is left of a map where it stood, so that weights keep their order."""
    assert isinstance(node, Apply)
    return replace(node, traits=op_named("weights"), operands=(), mask=None, out=replace(node.out, name=None))


def _contracts(node: Apply) -> bool:
    """Whether it multiplies and sums: products, which are to be saved."""
    return isinstance(node.traits.reads, Reduce) and node.traits.reads.multiplies


def _grouped(node: Apply, axis: Axis) -> _Grouped | None:
    """What it multiplies with a matrix for each index of the axis, and that, if it does."""
    if not _contracts(node):
        return None
    if node.weights:
        return _Grouped(node.operands[0], None, node.made) if node.each == (axis,) else None
    if len(node.operands) != 2:
        return None
    for x, weight in (node.operands, node.operands[::-1]):
        made = tuple(one for one in weight.type.axes if one not in (axis, *node.axes))
        if weight.role is not Role.WEIGHT or x.role is not Role.DATA or not {axis, *node.axes} <= {*varies(weight)}:
            continue
        if {*node.axes} <= {*varies(x)} and made and not {*made} & {*x.type.axes}:
            return _Grouped(x, weight, made)
    return None


def _for_rows(node: Apply, axis: Axis, rank: Axis | None, items: Sequence[Axis]) -> bool:
    """Whether an op does the same for each index of the axis, and for each item, so that it can be done for rows."""
    values = (*reads(node), node.out)
    if any(rank in value.type.axes for value in values):
        return False
    if node.traits.reads == Arrange(IndexMap.NEW) and node.made == (axis,):
        return True
    acted = {*node.axes, *node.made}
    if isinstance(node.traits.reads, Anything) or node.traits.acts or axis in acted or acted & {*items}:
        return False
    if node.each and node.each != (axis,):
        return False
    # A matrix for each row would have to be copied, but where a product of all rows of an index takes it as it is.
    return (
        _grouped(node, axis) is not None
        or not _contracts(node)
        or not any(value.role is not Role.DATA and axis in varies(value) and len(varies(value)) > 2 for value in values)
    )
