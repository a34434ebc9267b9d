"""What may be infinite, or no number, in padding alone, and so would spoil gradients (`widths.py`).

Where there is padding the gradient of a result is 0. Times a finite number it stays 0; times an infinite one it is no
number, and a sum over items, such as the gradient of a weight, spreads that. Inputs read 1 in padding and quotients
and logarithms are settled where they are made; the state of a scan stays as it was, or stays finite of itself
(`growth.py`). What is left comes mostly of an example without items, or of a mask that keeps none: the maximum
of nothing is infinite, the sum of nothing is 0, and what divides by it is infinite. What grows beyond all numbers in
padding of data alone (`exp` of `exp`) is not seen.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from ...graph.extents import undefined
from ...graph.nodes import Apply
from ...graph.values import Role, Scalar, Value
from ...ops import OPS
from ...sizes.axes import Axis, Static
from .lengths import InputFacts, Lengths, varies

EXTREMES = ("max", "min", "logsumexp")  # infinite of nothing
SUMS = ("sum", "mean", "dot", "linear", "l2norm")  # 0 of nothing
DIVIDES = {"/": 1, "%": 1, "log": 0, "sqrt": 0, "rsqrt": 0, "^": 0}  # infinite of 0 in that operand
# Pointwise ops whose gradient holds no value: what is infinite goes through, and harms nothing yet.
STRAIGHT = ("+", "-", "neg", "select", "maximum", "minimum", "clamp", "abs", "relu", "broadcast")


class Infinite:
    """Of one body, the values that may be infinite or no number, by ids.

    hollow: 0 in an example without items.
    odd:    infinite perhaps, but not where the axes along which it varies are in their padding.
    wild:   infinite perhaps, there too.
    """

    def __init__(self, body: Lengths) -> None:
        self._body = body
        inputs, given = body.old.inputs, body.given
        self.hollow = {inputs[place].value.id for place in given.hollow}
        self.odd = {inputs[place].value.id for place in given.odd}
        self.wild = {inputs[place].value.id for place in given.wild}

    def perhaps(self, value: Value) -> bool:
        """Whether it may be infinite, in padding or elsewhere."""
        return value.id in self.odd or value.id in self.wild

    def tamed(self, node: Apply) -> Apply:
        """The op, of operands that are finite where its result is padding."""
        if node.out.type.element is not Scalar.REAL or node.op in STRAIGHT or not self._multiplies(node):
            return node
        return replace(node, operands=tuple(self._tame(node, place) for place in range(len(node.operands))))

    def _multiplies(self, node: Apply) -> bool:
        return node.op in ("dot", "linear") or OPS[node.op].group == "pointwise"

    def _tame(self, node: Apply, place: int) -> Value:
        value = node.operands[place]
        ragged = self._ragged(node.out)
        divides = DIVIDES.get(node.op) == place
        if value.id in self.wild:
            return self._body.cleared_over(value, (*ragged, *self._body.steps), 1)
        if value.id in self.odd or (divides and value.id in self.hollow):
            around = self._body.steps or any(not varies(value, axis) for axis in ragged)
            return self._body.cleared_over(value, (*ragged, *self._body.steps), 1) if around else value
        return value

    def note(self, node: Apply, acts: Sequence[Axis]) -> None:
        """What the result of an op is, as it stands in the spec."""
        out = node.out
        if out.type.element is not Scalar.REAL:
            return
        ragged = self._ragged(out)
        given = {value.id for value in node.operands}
        spread = [v for v in node.operands if any(not varies(v, axis) for axis in ragged)]
        if node.op in EXTREMES and (acts or node.mask is not None):
            (self.wild if ragged else self.odd).add(out.id)
        elif node.op in STRAIGHT or not self._multiplies(node):
            if given & self.wild or any(value.id in self.odd for value in spread):
                self.wild.add(out.id)
            elif given & self.odd:
                self.odd.add(out.id)
        elif given & (self.wild | self.odd):
            self.odd.add(out.id)
        place = DIVIDES.get(node.op)
        if place is not None and (
            node.operands[place].role is not Role.CONSTANT or node.operands[place].id in self._body.sizes
        ):
            self.odd.add(out.id)
        if (node.op in SUMS and acts) or (given & self.hollow and node.op not in ("+", "-")):
            self.hollow.add(out.id)

    def size(self, value: Value, static: Static) -> None:
        """A number that is made of the lengths of an example."""
        if undefined(static):
            self.odd.add(value.id)

    def of(self, values: Iterable[tuple[int, Value]]) -> InputFacts:
        """What is known of these values as inputs of a nested graph at these places."""
        pairs = [(place, value.id) for place, value in values if value.type.element is Scalar.REAL]
        hollow, odd, wild = (
            frozenset(place for place, value in pairs if value in kind) for kind in (self.hollow, self.odd, self.wild)
        )
        return InputFacts(hollow=hollow, odd=odd, wild=wild)

    def called(self, outs: Sequence[Value], given: InputFacts) -> None:
        """The results at these places of a call, a scan or a repeat."""
        for kind, places in ((self.hollow, given.hollow), (self.odd, given.odd), (self.wild, given.wild)):
            kind |= {outs[place].id for place in places}

    def _ragged(self, value: Value) -> list[Axis]:
        return [axis for axis in value.type.axes if varies(value, axis) and self._body.is_ragged(axis)]
