"""A contraction of several softmaxes is one of each, so that each can be computed as it streams.

    dot[k](w1 - c w2, V)   is   dot[k](w1, V) - c dot[k](w2, V)      for w1, w2 that are shares over k, c without k
    softmax[k](s)[two = 0] is   softmax[k](s[two = 0])               and so on up to what s is a product of

The first is linearity; of c, what also needs all of k (a sum of the same shares) is then no longer needed in the loop.
The second picks before instead of behind. Where shares are contracted as they are, nothing changes.
"""

from __future__ import annotations

from collections.abc import Callable

from ....dsl.base.records import replace
from ...graph.core.index import index_of
from ...graph.nodes import Apply, Graph, Node, makes, reads
from ...graph.traits import Arrange, Combination, Gather, IndexMap, Normalise, Pointwise, Product, Quotient, Reduce, Sum
from ...graph.values import Role, Value
from ...sizes.axes import Axis
from ..simplify.dead import alive
from ..tools.walk import Fresh, Walk, with_operands

MOST = 200  # new nodes of one contraction: a sum of sums may have more terms than ops


def spread(graph: Graph) -> Graph:
    """The graph with such contractions spread out."""
    return Walk(lambda _, new: _Spread(new).graph())(graph)


class _Spread:
    def __init__(self, graph: Graph) -> None:
        self._graph = graph
        self._fresh = Fresh(graph)
        self._makers = dict(index_of(graph).made_by)
        self._new: list[Apply] = []
        self._picked: dict[tuple[int, int], Value] = {}
        self._known: dict[tuple[int, Axis], frozenset[int]] = {}  # a value may be read by many ways
        self._plain: dict[tuple[int, Axis], bool] = {}
        self._settle: dict[tuple[int, Axis], Value] = {}

    def graph(self) -> Graph:
        nodes: list[Node] = []
        same: dict[int, Value] = {}
        for old in self._graph.nodes:
            node = with_operands(old, same)
            self._makers.update((out.id, node) for out in makes(node))
            self._new = []
            if not isinstance(node, Apply) or not _adds(node) or self._contraction(node) is None:
                if self._new:  # what was begun is not used
                    self._picked, self._settle = {}, {}
                nodes.append(node)
                continue
            *before, last = self._new
            named = replace(last, out=replace(last.out, name=node.out.name))
            nodes += [*before, named]
            self._makers[last.out.id] = named
            same[node.out.id] = named.out
        if not same:
            return self._graph
        outputs = tuple(replace(one, value=same.get(one.value.id, one.value)) for one in self._graph.outputs)
        return alive(replace(self._graph, nodes=tuple(nodes), outputs=outputs))

    # -- contractions ---------------------------------------------------------------------------------------------

    def _contraction(self, node: Apply) -> Value | None:
        for axis in node.axes:
            for place, value in enumerate(node.operands):
                if axis.is_width and self._origins(value, axis) and not self._simple(value, axis):
                    return self._spread(self._over(node, place, self._settled(value, axis)), place, axis)
        return None

    def _settled(self, value: Value, axis: Axis) -> Value:
        """The same value, what is picked of shares being picked before they are made."""
        if (value.id, axis) not in self._settle:
            self._settle[value.id, axis] = self._settled_once(value, axis)
        return self._settle[value.id, axis]

    def _settled_once(self, value: Value, axis: Axis) -> Value:
        node = self._makers.get(value.id)
        if not isinstance(node, Apply) or not self._origins(value, axis) or self._simple(value, axis):
            return value
        match node.traits.reads:
            case Gather() if node.operands[1].role is Role.CONSTANT and not node.made:
                return self._pick(node.operands[0], node)
            case Gather():
                return value
            case _:
                operands = tuple(self._settled(operand, axis) for operand in node.operands)
                return self._make(node, operands, value) if operands != node.operands else value

    def _origins(self, value: Value, axis: Axis) -> frozenset[int]:
        """The ops whose shares over the axis a value is made of, by the ids of their results."""
        if (value.id, axis) not in self._known:
            self._known[value.id, axis] = self._origins_of(value, axis)
        return self._known[value.id, axis]

    def _origins_of(self, value: Value, axis: Axis) -> frozenset[int]:
        node = self._makers.get(value.id)
        if not isinstance(node, Apply) or axis not in _varies(value):
            return frozenset()
        match node.traits.reads:
            case Normalise(logarithm=False, centred=False) if axis in node.axes:
                return frozenset({value.id})
            case Pointwise() | Gather() | Arrange(IndexMap.NEW):
                return frozenset[int]().union(*(self._origins(operand, axis) for operand in node.operands))
            case _:
                return frozenset()

    def _simple(self, value: Value, axis: Axis) -> bool:
        """Whether it is shares of one op times what varies along the axis and knows nothing of them."""
        if (value.id, axis) not in self._plain:
            self._plain[value.id, axis] = self._simply(value, axis)
        return self._plain[value.id, axis]

    def _simply(self, value: Value, axis: Axis) -> bool:
        node = self._makers[value.id]
        assert isinstance(node, Apply)
        held = [operand for operand in node.operands if self._origins(operand, axis)]
        match node.traits.reads:
            case Normalise():
                return True
            case Gather():
                return False
            case Pointwise():
                others = [operand for operand in node.operands if not self._origins(operand, axis)]
                origins = {one for operand in held for one in self._origins(operand, axis)}
                apart = isinstance(node.traits.meaning, Product | Quotient) and any(
                    self._apart(x, axis) for x in others
                )
                late = apart or any(self._late(operand, axis, 64) for operand in others)
                return len(origins) == 1 and not late and all(self._simple(operand, axis) for operand in held)
            case _:
                return all(self._simple(operand, axis) for operand in held)

    def _late(self, value: Value, axis: Axis, steps: int) -> bool:
        """Whether a value needs all of the axis: a reduction over it is near behind it."""
        node = self._makers.get(value.id)
        if not isinstance(node, Apply) or not steps:
            return False
        if axis in node.axes and isinstance(node.traits.reads, Reduce | Normalise):
            return True
        local = isinstance(node.traits.reads, Pointwise | Arrange)
        return local and any(self._late(operand, axis, steps // 2) for operand in node.operands)

    def _spread(self, node: Apply, place: int, axis: Axis) -> Value | None:
        """The result, made by new nodes; None where it cannot be spread, or would take too many."""
        if len(self._new) > MOST:
            return None
        value = node.operands[place]
        maker = self._makers[value.id]
        if not isinstance(maker, Apply) or not self._origins(value, axis) or self._simple(value, axis):
            return self._again(node, place, value)
        operands = maker.operands
        held = [bool(self._origins(operand, axis)) for operand in operands]
        match maker.traits.reads:
            case Pointwise(Sum()) if all(axis in _varies(operand) for operand in operands):
                sums = [self._spread(self._over(node, place, one), place, axis) for one in operands]
                known = [one for one in sums if one is not None]
                return self._make(maker, tuple(known), node.out) if len(known) == len(sums) else None
            case Pointwise(Product() | Quotient(whole=False)) if held in ([True, False], [False, True]):
                inside = held.index(True)
                factor = self._without(operands[1 - inside], axis)
                division = isinstance(maker.traits.meaning, Quotient)
                if factor is None or {*_varies(factor)} & {*node.axes} or (division and inside == 1):
                    return None
                inner = self._spread(self._over(node, place, operands[inside]), place, axis)
                if inner is None:
                    return None
                return self._make(maker, (inner, factor) if inside == 0 else (factor, inner), node.out)
            case _:
                return None

    def _apart(self, value: Value, axis: Axis) -> bool:
        """Whether a value is the same all along the axis."""
        node = self._makers.get(value.id)
        copied = isinstance(node, Apply) and node.traits.reads == Arrange(IndexMap.NEW) and axis in node.made
        return copied or axis not in _varies(value)

    def _without(self, value: Value, axis: Axis) -> Value | None:
        """The same value without the axis, which it is the same along; None if it is not."""
        node = self._makers.get(value.id)
        if not self._apart(value, axis) or not isinstance(node, Apply) or axis not in _varies(value):
            return value if axis not in _varies(value) else None
        made = tuple(one for one in node.made if one != axis)
        out = self._fresh(_typed(value, lambda one: one != axis))
        return self._add(replace(node, made=made, out=out)) if made else node.operands[0]

    def _over(self, node: Apply, place: int, value: Value) -> Apply:
        operands = tuple(value if at == place else one for at, one in enumerate(node.operands))
        kept = {axis for one in operands for axis in one.type.axes}
        return replace(node, operands=operands, out=_typed(node.out, lambda axis: axis in kept))

    def _again(self, node: Apply, place: int, value: Value) -> Value:
        return self._add(replace(node, out=self._fresh(replace(node.out, name=None))))

    def _make(self, like: Apply, operands: tuple[Value, ...], out: Value) -> Value:
        return self._add(replace(like, operands=operands, out=self._fresh(replace(out, name=None))))

    def _add(self, node: Apply) -> Value:
        self._new.append(node)
        self._makers[node.out.id] = node
        return node.out

    # -- picks ----------------------------------------------------------------------------------------------------

    def _pick(self, value: Value, pick: Apply) -> Value:
        """What a pick along an axis gives of a value: made of what it gives of its operands."""
        (axis,) = pick.axes
        if axis not in value.type.axes:
            return value
        key = (value.id, pick.operands[1].id)
        if key not in self._picked:
            self._picked[key] = self._add(self._picking(value, pick, axis))
        return self._picked[key]

    def _picking(self, value: Value, pick: Apply, axis: Axis) -> Apply:
        node = self._makers.get(value.id)
        out = self._fresh(_typed(value, lambda one: one != axis))
        if (
            isinstance(node, Apply)
            and not node.weights
            and not node.traits.random
            and axis not in (*node.axes, *node.made)
        ):
            match node.traits.reads:
                case Normalise() | Pointwise() | Reduce(combination=Combination()) | Arrange(IndexMap.NEW):
                    picked = [self._pick(one, pick) for one in reads(node)]
                    count = len(node.operands)
                    return replace(
                        node,
                        operands=tuple(picked[:count]),
                        mask=picked[count] if node.mask is not None else None,
                        out=out,
                    )
        return replace(pick, operands=(value, pick.operands[1]), out=out)


def _adds(node: Apply) -> bool:
    """Whether it is a sum, of products maybe, without weights."""
    match node.traits.reads:
        case Reduce(Combination(adds=True, averages=False), indices=False):
            return not node.weights and node.mask is None
        case _:
            return False


def _varies(value: Value) -> tuple[Axis, ...]:
    return tuple(axis for axis in value.type.axes if axis not in value.type.broadcast_axes)


def _typed(value: Value, keeps: Callable[[Axis], bool]) -> Value:
    """A value with those of its axes that are kept."""
    type = value.type
    axes = tuple(axis for axis in type.axes if keeps(axis))
    return replace(value, type=replace(type, axes=axes, broadcast_axes=type.broadcast_axes & {*axes}))
