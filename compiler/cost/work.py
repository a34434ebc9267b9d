"""What one op takes: multiply-adds forward and backward, other operations, items moved; and sums of these.

A contraction is counted from the mathematics: one multiply-add for each index of all axes that take part. Its gradient
takes as many again for each operand that has one. A product of several operands goes from left to right, and an axis
is summed as soon as nothing further needs it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields

from ..graph.nodes import Apply, Weight, stops_gradient
from ..graph.traits import Gather, Lookup, Pointwise
from ..graph.values import Role, Scalar, Value, is_real
from ..sizes.axes import Axis
from .bands import Facts, limits, pairs, uneven_pairs
from .polynomials.polynomial import ONE, ZERO, Poly, SizeSymbol, Values, product
from .scope import SizeScope

CACHE = 2**21  # bytes
BATCH = SizeSymbol(("batch",), "batch", 0)


@dataclass(frozen=True, slots=True)
class Work:
    """macs:   multiply-adds of contractions, every masked item counted.
    kept:   those of them that masks made of indices keep: half of a causal attention, a band of a local one.
    back, kept_back: the same of the gradients.
    ops:    other operations: one for each number that a pointwise op makes, a few for a softmax or a norm.
    moved:  bytes of operands, results and weights, each once for each op.
    unread: of `kept`, those for indices that are not picked, which are not computed (rewrites/dispatch).
    calls:  of the library, each of which takes a while however small its arrays are.
    far:    bytes of results that are too large for a cache (of a walk that is `timed`).
    """

    macs: Poly = ZERO
    kept: Poly = ZERO
    back: Poly = ZERO
    kept_back: Poly = ZERO
    ops: Poly = ZERO
    moved: Poly = ZERO
    unread: Poly = ZERO
    calls: Poly = ZERO
    far: Poly = ZERO

    def __add__(self, other: Work) -> Work:
        return Work(**{name: self[name] + other[name] for name in NAMES})

    def times(self, count: Poly) -> Work:
        return Work(**{name: self[name] * count for name in NAMES})

    def __getitem__(self, name: str) -> Poly:
        figure: Poly = getattr(self, name)
        return figure


NAMES = tuple(entry.name for entry in fields(Work))


@dataclass(frozen=True, slots=True)
class Meter:
    """How big things are: sizes in a scope, and the bytes of a real."""

    scope: SizeScope
    real: int
    values: Values
    timed: bool = False

    def far(self, bytes: Poly) -> Poly:
        """These bytes of one array, if no cache holds them; asked of a model whose sizes are known to be whole."""
        return bytes if self.timed and bytes.at(self.values) > CACHE else ZERO

    def items(self, value: Value) -> Poly:
        """The items that it has, copies along axes that it does not vary along left out."""
        count = self.scope.product(axis for axis in value.type.axes if axis not in value.type.broadcast_axes)
        return count * BATCH_SIZE if value.role is Role.DATA else count

    def bytes(self, value: Value) -> Poly:
        return self.items(value) * self.width(value)

    def width(self, value: Value) -> int:
        """Bytes of one item. Indices and ints have 8; tables, which are made in float64, too."""
        if value.type.element is Scalar.BOOL:
            return 1
        if value.type.element is not Scalar.REAL:
            return 8
        return 8 if value.is_table else self.real

    def storage(self, axes: Iterable[Axis]) -> Poly:
        """The items of a weight: a bounded width counts at its bound."""
        return product(self.scope.bound(axis) for axis in axes)

    def weights(self, weights: Iterable[Weight]) -> dict[str, tuple[Poly, bool]]:
        """Of each its items, and whether it is frozen."""
        return {w.name: (self.storage(axis for dim in w.dims for axis in dim), w.frozen) for w in weights}


BATCH_SIZE = Poly.of(BATCH)


@dataclass(frozen=True, slots=True)
class Contraction:
    """One multiplication of two operands, summed over what they share and nothing further needs."""

    axes: tuple[Axis, ...]
    data: bool
    gradients: int  # how many of the two have one

    def work(self, meter: Meter, support: Facts) -> Work:
        lead = BATCH_SIZE if self.data else ONE
        macs = meter.scope.product(self.axes) * lead
        kept = self._kept(meter, support, lead)
        return Work(macs, kept, macs * self.gradients, kept * self.gradients)

    def _kept(self, meter: Meter, support: Facts, lead: Poly) -> Poly:
        for q, k in support:
            if q in self.axes and k in self.axes:
                n, m = meter.scope.size(q), meter.scope.size(k)
                bounds = *limits(support, q, k), meter.values
                rest = meter.scope.product(axis for axis in self.axes if axis not in (q, k))
                return (pairs(n, *bounds) if n == m else uneven_pairs(n, m, *bounds)) * rest * lead
        return meter.scope.product(self.axes) * lead


def core(value: Value) -> tuple[Axis, ...]:
    """The axes that it varies along."""
    return tuple(axis for axis in value.type.axes if axis not in value.type.broadcast_axes)


def has_gradient(node: Apply, graded: Sequence[bool]) -> bool:
    """Whether its result has a gradient. graded: which operands have one."""
    if not is_real(node.out) or stops_gradient(node):
        return False
    return any(graded) or bool(node.weights)


def contractions(node: Apply, graded: Sequence[bool], data: Sequence[bool]) -> list[Contraction]:
    """The multiplications of an op that sums products, of its operands or of them and its weight.

    graded: which operands have a gradient; data: which have the batch axes.
    """
    if node.weights:
        given = [axis for value in node.operands for axis in core(value)]
        axes = (*dict.fromkeys((*given, *node.axes, *node.each)), *node.made)  # `linear[a -> a]` has a twice
        return [Contraction(axes, any(data), sum(graded) + 1)]
    arrays = [entry for entry in zip(node.operands, graded, data, strict=True) if core(entry[0])]
    if len(arrays) < 2:
        return []
    first, gradient, batched = arrays[0]
    sofar = core(first)
    found = []
    for place, (value, has, lead) in enumerate(arrays[1:], 2):
        later = {axis for other, _, _ in arrays[place:] for axis in core(other)}
        mine = core(value)
        gone = {axis for axis in (*sofar, *mine) if axis in node.axes and axis not in later}
        shared = {axis for axis in sofar if axis in mine and axis in gone}
        axes = tuple(axis for axis in dict.fromkeys((*sofar, *mine)) if axis in shared or axis not in gone)
        batched = batched or lead
        if shared:
            found.append(Contraction(axes, batched, gradient + has))
        gradient = gradient or has
        sofar = tuple(axis for axis in axes if axis not in gone)
    return found


def plain_work(node: Apply, meter: Meter) -> Work:
    """All but the multiply-adds: other operations, and what is read and written."""
    cost = node.traits.cost
    ops = ZERO
    if node.out.role > Role.CONSTANT and cost.work:
        ops = meter.items(node.operands[0] if cost.reads else node.out) * cost.work
    if not cost.moves or node.out.role is Role.CONSTANT:
        return Work()
    operands, weights, moved = node.operands, node.weights, meter.bytes(node.out)
    match node.traits.reads:  # of a table only what is looked up
        case Gather():
            operands, moved = operands[1:], moved * 2
        case Pointwise(Lookup()):
            weights, moved = (), moved * 2
    read = [value for value in operands if value.role > Role.CONSTANT]
    for value in (*read, *([node.mask] if node.mask is not None else [])):
        moved = moved + meter.bytes(value)
    for weight in weights:
        moved = moved + meter.storage(axis for dim in weight.dims for axis in dim) * meter.real
    return Work(ops=ops, moved=moved, calls=ONE, far=meter.far(meter.bytes(node.out)))
