"""Which states of a scan stay finite of themselves, however long the padding that its steps run over (`widths.py`).

A state is left alone if it stays within fixed bounds, whatever stands in the padding: its next value does (`tanh` of
anything), or lies between the state before and what does (`z * h + (1 - z) * n` of a GRU). It is too if it grows by no
more than a fixed amount a step (`f * c + i * g` of an LSTM), as long as no one can tell: what the step gives away is
bounded, and within it what grows is never multiplied by what grows, nor an exponent. All others are held where an
example has ended, at the price of a choice for each state and step.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from enum import IntEnum
from typing import TypeGuard

from ....dsl.base.records import replace
from ...graph.core.index import index_of
from ...graph.nodes import Apply, Constant, Graph, Node, makes, reads
from ...graph.traits import (
    Arrange,
    Choice,
    Combination,
    Compared,
    Extreme,
    Function,
    Gather,
    IndexMap,
    Limited,
    Magnitude,
    Normalise,
    Pointwise,
    Product,
    Reads,
    Reduce,
    Sum,
)
from ...graph.values import Role, Scalar, Value
from ...sizes.axes import known


class Bound(IntEnum):
    """How large a number gets. A number in one class is in all the classes after it too."""

    SHARE = 0  # from 0 to 1
    UNIT = 1  # from -1 to 1
    SOME = 2  # no larger than some number, whatever the data


def _is_known(node: Node) -> TypeGuard[Apply]:
    """Whether its traits say how large its result is; an op that draws at random also scales it."""
    return isinstance(node, Apply) and not node.traits.random


def _of_anything(node: Apply) -> Bound | None:
    """The bound of a result, whatever the operands are."""
    match node.traits.reads:
        case Normalise(weights=True, logarithm=False):
            return Bound.SHARE
        case Pointwise(Function(least=least, greatest=greatest) as function) if function.everywhere:
            if greatest <= 1 and least >= -1:
                return Bound.SHARE if least >= 0 else Bound.UNIT
            return Bound.SOME if math.isfinite(least) and math.isfinite(greatest) else None
        case _:
            return None


def _within(node: Apply) -> tuple[Value, ...] | None:
    """The operands of which the largest is as large as the result, at least; None where there need not be one."""
    match node.traits.reads:
        case Pointwise(Extreme()) | Gather():
            return node.operands
        case Arrange(map) if map not in (IndexMap.PARTS, IndexMap.SHIFTED):
            return node.operands
        case Pointwise(Choice() | Limited()):  # of values, of limits
            return node.operands[1:]
        case _:
            return None


def _is_safe(node: Apply) -> bool:
    """Whether its result is bounded if its operands are, and grows slowly if they do, but for a product of two that
    grow.
    """
    if _of_anything(node) is not None or _within(node) is not None:
        return True
    match node.traits.reads:
        case Pointwise(Sum((1,))):
            return node.out.type.element is Scalar.REAL  # as a number, an index grows with its axis
        case Pointwise(Sum() | Product() | Magnitude() | Compared() | Function(straight=True)):
            return True
        case Reduce(combination):
            return combination is not None and combination.adds
        case reads:
            return reads == Arrange(IndexMap.PARTS)


def _keeps_size(reads: Reads) -> bool:
    """Whether the result is no larger than the largest operand, whatever these are."""
    match reads:
        case Pointwise(Sum((1 | -1,)) | Extreme() | Magnitude() | Function(zero=True, straight=True)):
            return True
        case Arrange(IndexMap.SAME | IndexMap.NEW | IndexMap.MIRRORED) | Reduce(Combination(averages=True)):
            return True
        case _:
            return False


def _multiplies(node: Apply) -> bool:
    match node.traits.reads:
        case Pointwise(Product()) | Reduce(multiplies=True):
            return True
        case _:
            return False


def finite(graph: Graph, states: Sequence[tuple[int, int]], seen: Collection[int]) -> set[int]:
    """The places of those states of a step that need not be held, of these (place of the input, of the result).

    seen: the places of the results that someone reads.
    """
    bounded: set[int] = set()
    while True:
        growth = _Growth(graph, states, bounded)
        found = bounded | growth.bounded()
        if found == bounded:
            return bounded | (growth.slow() if growth.hidden(seen) else set())
        bounded = found


class _Growth:
    """The bounds of a step's values, if the states whose next values are at these places stay bounded."""

    def __init__(self, graph: Graph, states: Sequence[tuple[int, int]], bounded: Collection[int]) -> None:
        self.graph = graph
        self.states = [(graph.inputs[into].value, graph.outputs[made].value, made) for into, made in states]
        self.index = index_of(graph)
        growing = {state.id for state, _, made in self.states if made not in bounded}
        self.hang = set(growing)  # what is made of a state that may grow
        self.bounds = {state.id: Bound.SOME for state, _, made in self.states if made in bounded}
        self.within = {number: number for number in growing}  # no larger than that state, or than what is bounded
        self.follows = dict(self.within)  # no larger than that state and something bounded together
        for node in graph.nodes:
            self._node(node)

    def bounded(self) -> set[int]:
        return {
            made for state, after, made in self._reals() if self._bounded(after) or self._in(self.within, after, state)
        }

    def slow(self) -> set[int]:
        return {made for state, after, made in self._reals() if self._in(self.follows, after, state)}

    def hidden(self, seen: Collection[int]) -> bool:
        """Whether nothing that grows leaves the step, or meets an op in which it may overflow."""
        if any(self._grows(self.graph.outputs[place].value) for place in seen):
            return False
        for node in self.graph.nodes:
            growing = sum(map(self._grows, reads(node)))
            safe = _is_known(node) and _is_safe(node) and not (growing > 1 and _multiplies(node))
            if growing and not safe:
                return False
        return True

    def _reals(self) -> list[tuple[Value, Value, int]]:
        real = Scalar.REAL
        return [each for each in self.states if each[0].type.element is real is each[1].type.element]

    @staticmethod
    def _in(found: Mapping[int, int], value: Value, state: Value) -> bool:
        return found.get(value.id) == state.id

    def _of(self, value: Value) -> Bound | None:
        """The bound of a value; None if it may be of any size, or grow with every step."""
        if value.id in self.bounds:
            return self.bounds[value.id]
        number = value.type.element in (Scalar.REAL, Scalar.INT)
        weights = value.role in (Role.CONSTANT, Role.WEIGHT) and value.id not in self.hang
        return Bound.SOME if weights or not number else None

    def _grows(self, value: Value) -> bool:
        return value.id in self.hang and self._of(value) is None

    def _bounded(self, value: Value) -> bool:
        return self._of(value) is not None

    def _node(self, node: Node) -> None:
        if any(value.id in self.hang for value in reads(node)):
            self.hang |= {value.id for value in makes(node)}
        if isinstance(node, Constant):
            number = known(node.value)
            if number is not None and abs(number) <= 1:
                self.bounds[node.out.id] = Bound.SHARE if number >= 0 else Bound.UNIT
        elif _is_known(node):
            bound = self._bound(node)
            if bound is not None:
                self.bounds[node.out.id] = bound
                return
            if (state := self._lies_within(node)) is not None:
                self.within[node.out.id] = state
            if (state := self._followed(node)) is not None:
                self.follows[node.out.id] = state

    def _bound(self, node: Apply) -> Bound | None:
        always, within = _of_anything(node), _within(node)
        if always is not None:
            return always
        operands = node.operands if within is None else within
        bounds = [bound for bound in map(self._of, operands) if bound is not None]
        if len(bounds) < len(operands):
            return None
        largest = max(bounds, default=Bound.SOME)
        match node.traits.reads:
            case _ if within is not None:
                return largest
            case Pointwise(Product()):
                return largest
            case Pointwise(Sum((1, -1))) if largest is Bound.SHARE:
                return Bound.SHARE if self._is_one(node.operands[0]) else Bound.UNIT
            case _:
                return Bound.SOME if _is_safe(node) else None

    def _lies_within(self, node: Apply) -> int | None:
        parts = self._between(node)
        between = None if parts is None else self._one_of(parts, self.within)
        return self._carried(node, self.within) if between is None else between

    def _followed(self, node: Apply) -> int | None:
        match node.traits.reads, node.operands:
            case Pointwise(Sum((1, 1 | -1))), (a, b) if self._bounded(a) or self._bounded(b):
                return self.follows.get(b.id if self._bounded(a) else a.id)
            case _ if node.out.id in self.within:
                return self.within[node.out.id]
            case _:
                return self._carried(node, self.follows)

    def _carried(self, node: Apply, found: Mapping[int, int]) -> int | None:
        """The state that the largest operand is bound to, if the result is no larger than that operand."""
        match node.traits.reads, node.operands:
            case Pointwise(Product()), (a, b):
                pairs = [(a, self._of(b)), (b, self._of(a))]
                return next((found.get(of.id) for of, by in pairs if by in (Bound.SHARE, Bound.UNIT)), None)
            case Pointwise(Choice()), (_, *choices):
                return self._one_of(choices, found)
            case reads, operands if _keeps_size(reads):
                return self._one_of(operands, found)
            case _:
                return None

    def _one_of(self, values: Sequence[Value], found: Mapping[int, int]) -> int | None:
        """The state to which all of these are bound that are not bounded themselves."""
        states = {found.get(value.id) for value in values if not self._bounded(value)}
        return states.pop() if len(states) == 1 else None

    def _between(self, node: Apply) -> tuple[Value, Value] | None:
        """Two values between which a sum lies: `z * a + (1 - z) * b`, or `a + z * (b - a)`."""
        if node.traits.reads != Pointwise(Sum((1, 1))):
            return None
        for one, other in (node.operands, node.operands[::-1]):
            for z, a in self._factors(other):
                if self._of(z) is not Bound.SHARE:
                    continue
                for rest, b in self._factors(one):
                    whole = self._whole(rest, z)
                    if whole is not None and self._is_one(whole):
                        return a, b
                end = self._whole(a, one)
                if end is not None:
                    return one, end
        return None

    def _made(self, value: Value) -> Apply | None:
        made = self.index.op(value)
        return made if made is not None and _is_known(made) else None

    def _is_one(self, value: Value) -> bool:
        made = self.index.maker(value)
        return isinstance(made, Constant) and known(made.value) == 1

    def _factors(self, value: Value) -> list[tuple[Value, Value]]:
        made = self._made(value)
        if made is None or made.traits.reads != Pointwise(Product()):
            return []
        a, b = made.operands
        return [(a, b), (b, a)]

    def _whole(self, value: Value, part: Value) -> Value | None:
        """What is `value` and that part together, if it is made as `whole - part`."""
        made = self._made(value)
        if made is None or made.traits.reads != Pointwise(Sum((1, -1))) or not self._same(made.operands[1], part):
            return None
        return made.operands[0]

    def _same(self, one: Value, other: Value) -> bool:
        """Whether two values are the same, or are made alike of the same ones."""
        if one.id == other.id:
            return True
        a, b = self._made(one), self._made(other)
        if a is None or b is None or a.weights or _of_anything(a) is None:
            return False
        return replace(a, out=b.out, span=b.span) == b
