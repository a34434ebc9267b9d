"""Values that are 0 along an axis but at picks, and what they are at these: the weights of experts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from ...graph.core.index import index_of
from ...graph.nodes import Apply, Call, Constant, Graph, Node, Output, Positions, makes
from ...graph.traits import (
    Choice,
    Combination,
    Compared,
    Conjunction,
    Gather,
    Meaning,
    Normalise,
    OpTraits,
    Pointwise,
    Product,
    Quotient,
    Reduce,
)
from ...graph.values import IndexInto, Role, Scalar, Type, Value
from ...ops import op_meaning, op_reading
from ...sizes.axes import Axis, Literal, known
from ..simplify.dead import alive
from ..tools.walk import Fresh


@dataclass(frozen=True, slots=True)
class Picked:
    """A value that is 0 along an axis but at picks.

    best:   the picks. rank: the axis along which it was summed, each of which adds what it picked; None: one pick.
    kept:   truths, where a pick counts at all. weight: the value at the picks.
    """

    best: Value
    rank: Axis | None
    kept: Value | None
    weight: Value


@dataclass(frozen=True, slots=True)
class PickMask:
    """A truth value that holds along an axis at picks alone; `one`: at one for each index of its other axes."""

    best: Value
    rank: Axis | None
    kept: Value | None


class Exposing:
    """Blocks with further results: each once for what is asked of it, so that equal calls share one graph."""

    def __init__(self) -> None:
        self.known: dict[tuple[int, int, Axis], tuple[Graph, Picked] | None] = {}
        self.cut: dict[tuple[int, tuple[int, ...]], Graph] = {}

    def picked(self, graph: Graph, place: int, axis: Axis) -> tuple[Graph, Picked] | None:
        """The block, which also gives of a result what it is at its picks, if it is 0 elsewhere along the axis."""
        key = id(graph), place, axis
        if key not in self.known:
            self.known[key] = self._picked(graph, graph.outputs[place].value, axis)
        return self.known[key]

    def _picked(self, graph: Graph, value: Value, axis: Axis) -> tuple[Graph, Picked] | None:
        if graph.kind != "block" or graph.target:
            return None
        body = PickedValues(graph, self)
        found = body.weighed(value, axis)
        if found is None:
            return None
        more = [each for each in (found.weight, found.best, found.kept) if each is not None]
        outputs = [Output(None, each, tuple(a for a in each.type.axes if a not in graph.lifted)) for each in more]
        return body.finished((*graph.nodes, *body.made), (*graph.outputs, *outputs)), found

    def only(self, graph: Graph, places: tuple[int, ...]) -> Graph:
        """The block without results that nothing reads."""
        key = id(graph), places
        if key not in self.cut:
            outputs = tuple(graph.outputs[place] for place in places)
            named = tuple(replace(one, name=one.name or one.value.name or f"out{n}") for n, one in enumerate(outputs))
            self.cut[key] = alive(replace(graph, outputs=named if len(named) > 1 else outputs))
        return self.cut[key]


@dataclass
class PickedValues:
    """Of one graph. made: nodes made for the reader at hand, which come before it."""

    graph: Graph
    exposing: Exposing
    made: list[Node] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.fresh = Fresh(self.graph)
        self.calls: dict[int, Call] = {}  # by the ids of their first results: calls that give more now
        self.index = index_of(self.graph)

    def finished(self, nodes: Sequence[Node], outputs: tuple[Output, ...]) -> Graph:
        """The graph with these nodes and results; calls that give more now do, but for what nobody reads."""
        nodes = [
            self.calls.get(node.outs[0].id, node) if isinstance(node, Call) and node.outs else node for node in nodes
        ]
        graph = alive(replace(self.graph, nodes=tuple(nodes), outputs=outputs))
        used = index_of(graph).used
        return replace(graph, nodes=tuple(self._cut(node, used) for node in graph.nodes))

    def _cut(self, node: Node, used: frozenset[int]) -> Node:
        """A call that gives more now, without what nobody reads."""
        if not isinstance(node, Call) or makes(node)[0].id not in self.calls:
            return node
        places = tuple(place for place, out in enumerate(node.outs) if out.id in used)
        return replace(node, graph=self.exposing.only(node.graph, places), outs=tuple(node.outs[p] for p in places))

    # -- nodes ---------------------------------------------------------------------------------------------------

    def apply(self, traits: OpTraits, operands: Sequence[Value], type: Type, like: Value, **more: object) -> Value:
        role = max(value.role for value in operands)
        out = self.fresh(Value(0, type, role, like.name, like.span))
        self.made.append(Apply(traits, tuple(operands), out, span=like.span, **more))  # type: ignore[arg-type]
        return out

    def point(self, meaning: Meaning, operands: Sequence[Value], like: Value) -> Value:
        """A pointwise op, of the kind of elements of another value."""
        axes = dict.fromkeys(axis for value in operands for axis in value.type.varying)
        return self.apply(op_meaning(meaning), operands, Type(like.type.element, tuple(axes)), replace(like, name=None))

    def chosen(self, truth: Value, x: Value, like: Value) -> Value:
        """x where the truth holds, else 0."""
        zero = self.fresh(Value(0, Type(Scalar.INT, ()), Role.CONSTANT, None, like.span))
        self.made.append(Constant(Literal(0), zero))
        return self.point(Choice(), (truth, x, zero), like)

    def both(self, a: Value | None, b: Value | None) -> Value | None:
        return b if a is None else a if b is None else self.point(Conjunction(), (a, b), a)

    def at(self, value: Value, mask: PickMask, axis: Axis) -> Value:
        """What a value is at the picks; 0 where these do not count."""
        if axis not in value.type.axes:
            return value
        axes = [other for other in value.type.axes if other != axis]
        own = tuple(other for other in mask.best.type.varying if other not in axes)
        type = Type(value.type.element, (*axes, *own))
        return self.apply(op_reading(Gather()), (value, mask.best), type, value, axes=(axis,), made=own, mask=mask.kept)

    # -- what is 0 but at picks ----------------------------------------------------------------------------------

    def mask(self, value: Value, axis: Axis) -> PickMask | None:
        """`axis == best`, and such that holds nowhere else."""
        node = self.index.maker(value)
        match node:
            case Apply(OpTraits(reads=Pointwise(Compared("==")))):
                for one, other in (node.operands, node.operands[::-1]):
                    place, element = self.index.maker(one), other.type.element
                    if not isinstance(place, Positions) or place.axis != axis or axis in other.type.axes:
                        continue
                    if isinstance(element, IndexInto) and element.axis.family == axis.family:
                        return PickMask(other, None, None) if other.role is Role.DATA else None
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
        node = self.index.maker(best)
        match node:
            case Apply(OpTraits(reads=Reduce(indices=True))):
                return node.axes == (axis,) and node.made == (rank,)
            case _:
                return False

    def _is_zero(self, value: Value) -> bool:
        node = self.index.maker(value)
        return isinstance(node, Constant) and known(node.value) == 0

    def weighed(self, value: Value, axis: Axis) -> Picked | None:
        """What the value is at picks, if it is 0 elsewhere along the axis."""
        if axis not in value.type.varying:
            return None
        node = self.index.maker(value)
        match node:
            case Call():
                return self._called(node, value, axis)
            case Apply(OpTraits(reads=Pointwise(Choice())), operands=(truth, x, zero)) if self._is_zero(zero):
                mask = self.mask(truth, axis)
                if mask is None:
                    return None
                weight = self.at(x, mask, axis)
                if mask.kept is not None and weight is x:  # else it has been read where it counts
                    weight = self.chosen(mask.kept, weight, value)
                return Picked(mask.best, mask.rank, mask.kept, weight)
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
                return None if mask is None else Picked(mask.best, mask.rank, mask.kept, self.at(value, mask, axis))
            case _:
                return None

    def _times(self, how: Meaning, found: Picked, other: Value, axis: Axis, like: Value) -> Picked:
        factor = self.at(other, PickMask(found.best, found.rank, found.kept), axis)
        return replace(found, weight=self.point(how, (found.weight, factor), like))

    def _summed(self, node: Apply, rank: Axis, axis: Axis) -> Picked | None:
        """A sum over what each of several picks adds: each is a pick of its own, and whoever reads them sums."""
        for place, value in enumerate(node.operands):
            found = self.weighed(value, axis)
            if found is None or found.rank is not None or rank not in found.best.type.varying:
                continue
            for other in (*node.operands[:place], *node.operands[place + 1 :]):
                found = self._times(Product(), found, other, axis, node.out)
            if node.mask is not None:
                kept = self.both(found.kept, self.at(node.mask, PickMask(found.best, None, found.kept), axis))
                assert kept is not None
                found = replace(found, kept=kept, weight=self.chosen(kept, found.weight, node.out))
            return replace(found, rank=rank)
        return None

    def _called(self, node: Call, value: Value, axis: Axis) -> Picked | None:
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
            axes = tuple(here.get(one, one) for one in inner.type.varying)
            return self.fresh(Value(0, Type(element, axes), Role.DATA, inner.name, value.span))

        weight, best, kept = told(found.weight), told(found.best), told(found.kept)
        assert weight is not None and best is not None
        more = [each for each in (weight, best, kept) if each is not None]
        self.calls[node.outs[0].id] = replace(node, graph=graph, outs=(*node.outs, *more))
        return Picked(best, None if found.rank is None else here.get(found.rank, found.rank), kept, weight)
