"""Masks of places that do not mask (W0525): a comparison that holds at all places, or at none, whatever the sizes; and
an offset to scores that is 0 wherever the mask lets through.

Places are bounded by the sizes of their axes, and nothing else is known: numbers that a config may set, and sizes that
are other numbers elsewhere, decide nothing here. A place that is compared with the ends of its own axis is left alone:
that is written as a reminder, `0 <= past`.
"""

from __future__ import annotations

from collections.abc import Iterator

from ...base.problems import Problem
from ...graph.core.kept import kept
from ...graph.nodes import Apply, Constant, Graph, Positions, nested
from ...graph.traits import (
    Arrange,
    Compared,
    Conjunction,
    Extreme,
    Function,
    IndexMap,
    Limited,
    Magnitude,
    Normalise,
    Pointwise,
    Product,
    Quotient,
    Sum,
)
from ...graph.values import Role, Value
from ...problems.plain import Plain
from ...sizes.axes import Arith, Axis, Literal, SizeOf, Static

Linear = dict[int, int]  # of the sizes of families of axes, and of 1
Maker = Constant | Positions | Apply
_NUMBER = -1  # no family's


def masks_of_places(graph: Graph) -> Iterator[Problem]:
    """What compares places in vain, in a graph and all that it calls."""
    for each in nested(graph):
        yield from _compared(each)


@kept
def _compared(graph: Graph) -> tuple[Problem, ...]:
    return tuple(_Places(graph).problems())


class _Places:
    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.makers: dict[int, Maker] = {}

    def problems(self) -> Iterator[Problem]:
        clipped, masked = False, []
        for node in self.graph.nodes:
            if not isinstance(node, Constant | Positions | Apply):
                continue
            self.makers[node.out.id] = node
            match node:
                case Apply(traits=traits) if isinstance(traits.reads, Normalise) and node.mask is not None:
                    masked.append(node)
                case Apply(traits=traits) if node.out.role is Role.TABLE and isinstance(traits.reads, Pointwise):
                    if isinstance(traits.reads.meaning, Compared) and len(node.out.type.axes) > 1:
                        holds = self._always(traits.reads.meaning.sign, *node.operands)
                        if holds is not None:
                            yield Plain.COMPARED_IN_VAIN.at(node.span, "all places" if holds else "no place")
                    elif isinstance(traits.reads.meaning, Extreme | Limited | Function):
                        clipped = True
        for node in masked if clipped else ():
            yield from self._offsets(node)

    def _always(self, sign: str, left: Value, right: Value) -> bool | None:
        """Whether a comparison holds everywhere, or nowhere; None if neither is known."""
        one, other = self._bounds(left), self._bounds(right)
        if one is None or other is None:
            return None
        least, most = _less(one[0], other[1]), _less(one[1], other[0])  # of the difference
        below, above = _never_above(most, 0), _never_above(_less({}, least), 0)  # never above 0, never below
        under, over = _never_above(most, -1), _never_above(_less({}, least), -1)
        yes, no = {
            "<=": (below, over),
            "<": (under, above),
            ">=": (above, under),
            ">": (over, below),
            "==": (False, under or over),
            "!=": (under or over, False),
        }[sign]
        return True if yes else False if no else None

    def _bounds(self, value: Value) -> tuple[Linear, Linear] | None:
        match self.makers.get(value.id):
            case Positions(axis):
                return {}, {axis.family: 1, _NUMBER: -1}
            case Constant(static):
                number = _linear(static)
                return None if number is None else (number, number)
            case Apply() as node:
                return self._made(node)
            case _:
                return None

    def _made(self, node: Apply) -> tuple[Linear, Linear] | None:
        given = [self._bounds(operand) for operand in node.operands]
        if any(one is None for one in given):
            return None
        bounds = [one for one in given if one is not None]
        match node.traits.reads:
            case Arrange(IndexMap.SAME | IndexMap.NEW) | Pointwise(Sum((1,))):
                return bounds[0]
            case Pointwise(Sum((1, 1))):
                return _plus(bounds[0][0], bounds[1][0]), _plus(bounds[0][1], bounds[1][1])
            case Pointwise(Sum((1, -1))):
                return _less(bounds[0][0], bounds[1][1]), _less(bounds[0][1], bounds[1][0])
            case Pointwise(Sum((-1,))):
                return _less({}, bounds[0][1]), _less({}, bounds[0][0])
            case Pointwise(Magnitude()) if not _plus(*bounds[0]):
                return {}, bounds[0][1]
            case _:
                return None

    def _offsets(self, softmax: Apply) -> Iterator[Problem]:
        """Distances that are clipped to 0 on the side that the mask lets through."""
        assert softmax.mask is not None
        ordered = set(self._ordered(softmax.mask))
        todo = [softmax.operands[0]]
        while todo:
            node = self.makers.get(todo.pop().id)
            if not isinstance(node, Apply):
                continue
            pair = self._zero_where(node)
            if pair is not None and pair in ordered:
                yield Plain.OFFSET_ZERO.at(node.span, pair[0], pair[1], there=softmax.span)
            elif node.traits.reads in _LINEAR or isinstance(node.traits.reads, Arrange):
                todo += node.operands

    def _zero_where(self, node: Apply) -> tuple[Axis, Axis] | None:
        """Two axes: it is 0 where the place along the first is at most that along the second."""
        largest = True
        other: Value | None = None
        match node.traits.reads, node.operands:
            case Pointwise(Extreme(largest)), (one, other):
                pass
            case Pointwise(Function(zero=True, least=0, straight=True)), (one,):
                pass
            case Pointwise(Limited()), (one, other, _):
                pass
            case _:
                return None
        if other is not None and not self._zero(other):
            one, other = other, one
            if not self._zero(other):
                return None
        match self.makers.get(one.id):
            case Apply(operands=(left, right)) as difference if difference.traits.reads == Pointwise(Sum((1, -1))):
                axes = self._axis(left), self._axis(right)
                if axes[0] is not None and axes[1] is not None:
                    return (axes[0], axes[1]) if largest else (axes[1], axes[0])
        return None

    def _zero(self, value: Value) -> bool:
        match self.makers.get(value.id):
            case Constant(Literal(0)):
                return True
            case _:
                return False

    def _ordered(self, mask: Value) -> Iterator[tuple[Axis, Axis]]:
        """Of what a mask lets through, the place along the first axis is at most that along the second."""
        node = self.makers.get(mask.id)
        if not isinstance(node, Apply):
            return
        match node.traits.reads, node.operands:
            case Pointwise(Conjunction()), operands:
                for each in operands:
                    yield from self._ordered(each)
            case Pointwise(Compared("<=" | "<" | ">=" | ">" as sign)), (left, right):
                axes = self._axis(left), self._axis(right)
                if axes[0] is not None and axes[1] is not None:
                    yield (axes[0], axes[1]) if sign[0] == "<" else (axes[1], axes[0])

    def _axis(self, value: Value) -> Axis | None:
        """The axis whose places these are."""
        match self.makers.get(value.id):
            case Positions(axis):
                return axis
            case Apply(operands=(inner,)) as node if node.traits.reads in (Pointwise(Sum((1,))), Arrange(IndexMap.NEW)):
                return self._axis(inner)
            case _:
                return None


_LINEAR = [*(Pointwise(Sum(times)) for times in ((1,), (-1,), (1, 1), (1, -1))), Pointwise(Product())]
_LINEAR += [Pointwise(Quotient())]


def _linear(static: Static) -> Linear | None:
    """A number made of sizes, and of 0 and 1: any other may be a setting."""
    match static:
        case Literal(value=0 | 1 | -1 as number):
            return {_NUMBER: int(number)}
        case SizeOf(axis):
            return {axis.family: 1}
        case Arith(meaning=Sum(times), args=args):
            found: Linear = {}
            for arg, sign in zip(args, times, strict=True):
                part = _linear(arg)
                if part is None:
                    return None
                found = _plus(found, part, sign)
            return found
        case _:
            return None


def _plus(one: Linear, other: Linear, sign: int = 1) -> Linear:
    found = dict(one)
    for family, times in other.items():
        found[family] = found.get(family, 0) + sign * times
    return {family: times for family, times in found.items() if times}


def _less(one: Linear, other: Linear) -> Linear:
    return _plus(one, other, -1)


def _never_above(linear: Linear, most: int) -> bool:
    """Whether it is at most that, whatever the sizes: it falls with them, and they are 1 or more."""
    return sum(linear.values()) <= most and all(times <= 0 for family, times in linear.items() if family != _NUMBER)
