"""What may be infinite, or no number, in padding alone, and so would spoil gradients (`widths.py`).

Where there is padding the gradient of a result is 0. Times a finite number it stays 0; times an infinite one it is no
number, and a sum over items, such as the gradient of a weight, spreads that. Inputs read 1 there; quotients, powers
and functions that are undefined of some numbers are settled where they are made; the state of a scan stays as it was,
or stays finite of itself (`growth.py`). What is left comes mostly of an example without items, or of a mask that keeps
none: the maximum of nothing is infinite, the sum of nothing is 0, and what divides by it is infinite. What grows beyond
all numbers in padding of data alone (`exp` of `exp`) is not seen.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from ....dsl.base.records import record, replace
from ...graph.extents import undefined
from ...graph.nodes import Apply
from ...graph.traits import (
    Choice,
    Combination,
    Extreme,
    Function,
    Limited,
    Lookup,
    Magnitude,
    Normalise,
    Pointwise,
    Power,
    Quotient,
    Reads,
    Reduce,
    Remainder,
    Running,
    Sum,
)
from ...graph.values import Role, Scalar, Value
from ...sizes.axes import Axis, Static
from .lengths import InputFacts, Lengths, varies


@record
class Domain:
    """An operand for which an op may be infinite or no number although the others are finite.

    operand:  which of its operands.
    harmless: a value of it for which the result and its derivative are finite; 1 if possible, since inputs read 1 in
              padding.
    has_0:    whether they are finite for 0.
    """

    operand: int
    harmless: float
    has_0: bool = False


def domain(node: Apply) -> Domain | None:
    """The operand that padding must keep in the op's domain; ops that only overflow have none."""
    match node.traits.reads:
        case Pointwise(Quotient() | Remainder()):
            return Domain(1, 1)
        case Pointwise(Power()):
            return Domain(0, 1)
        case Pointwise(Function(harmless=float() | int() as harmless, overflows=False) as function):
            return Domain(0, 1 if function.takes(1) else harmless, function.takes(0))
        case _:
            return None


def _is_infinite_of_nothing(reads: Reads) -> bool:
    match reads:
        case Reduce(Combination(neutral=float() as neutral)):
            return math.isinf(neutral)
        case _:
            return False


def _is_0_of_nothing(reads: Reads) -> bool:
    match reads:
        case Reduce(Combination(adds=True)) | Normalise(skips_zeros=True):
            return True
        case _:
            return False


def _has_values_in_gradient(reads: Reads) -> bool:
    """Whether its gradient multiplies by a value that may be infinite; if not, that value does no harm here."""
    match reads:
        case Pointwise(Sum() | Choice() | Extreme() | Limited() | Magnitude() | Lookup() | Function(straight=True)):
            return False
        case Pointwise() | Reduce(multiplies=True) | Running(Combination(logs=True)):
            return True
        case _:
            return False


class Infinite:
    """The values of one body that may be infinite or no number, by ids.

    zero_without_items:  0 in an example without items.
    infinite_in_items:   perhaps infinite, but not where the axes along which it varies are in their padding.
    infinite_in_padding: perhaps infinite there, too.
    """

    def __init__(self, body: Lengths) -> None:
        self._body = body
        inputs, facts = body.old.inputs, body.input_facts
        self.zero_without_items = {inputs[place].value.id for place in facts.zero_without_items}
        self.infinite_in_items = {inputs[place].value.id for place in facts.infinite_in_items}
        self.infinite_in_padding = {inputs[place].value.id for place in facts.infinite_in_padding}

    def may_be_infinite(self, value: Value) -> bool:
        """Whether it may be infinite, in padding or elsewhere."""
        return value.id in self.infinite_in_items or value.id in self.infinite_in_padding

    def made_finite(self, node: Apply) -> Apply:
        """The op, with operands made finite where its result is padding."""
        if node.out.type.element is not Scalar.REAL or not _has_values_in_gradient(node.traits.reads):
            return node
        return replace(node, operands=tuple(self._made_finite(node, place) for place in range(len(node.operands))))

    def _made_finite(self, node: Apply, place: int) -> Value:
        value = node.operands[place]
        ragged = self._ragged(node.out)
        within = domain(node)
        within = within if within is not None and within.operand == place else None
        around = self._body.steps or any(not varies(value, axis) for axis in ragged)
        zero = value.id in self.zero_without_items and within is not None and not within.has_0
        if value.id in self.infinite_in_padding or (around and (zero or value.id in self.infinite_in_items)):
            fill = 1 if within is None else within.harmless
            return self._body.cleared_over(value, (*ragged, *self._body.steps), fill)
        return value

    def note(self, node: Apply, acts: Sequence[Axis]) -> None:
        """Note which of these the result of an op is, as the op stands in the spec."""
        out = node.out
        if out.type.element is not Scalar.REAL:
            return
        reads, ragged = node.traits.reads, self._ragged(out)
        given = {value.id for value in node.operands}
        spread = [v for v in node.operands if any(not varies(v, axis) for axis in ragged)]
        if _is_infinite_of_nothing(reads) and (acts or node.mask is not None):
            (self.infinite_in_padding if ragged else self.infinite_in_items).add(out.id)
        elif not _has_values_in_gradient(reads):
            if given & self.infinite_in_padding or any(value.id in self.infinite_in_items for value in spread):
                self.infinite_in_padding.add(out.id)
            elif given & self.infinite_in_items:
                self.infinite_in_items.add(out.id)
        elif given & (self.infinite_in_padding | self.infinite_in_items):
            self.infinite_in_items.add(out.id)
        within = domain(node)
        if within is not None:
            operand = node.operands[within.operand]
            if operand.role is not Role.CONSTANT or operand.id in self._body.sizes:
                self.infinite_in_items.add(out.id)
        joins = isinstance(reads, Pointwise) and isinstance(reads.meaning, Sum) and len(reads.meaning.times) > 1
        if (_is_0_of_nothing(reads) and acts) or (given & self.zero_without_items and not joins):
            self.zero_without_items.add(out.id)

    def size(self, value: Value, static: Static) -> None:
        """Note what a number made of the lengths of an example is."""
        if undefined(static):
            self.infinite_in_items.add(value.id)

    def of(self, values: Iterable[tuple[int, Value]]) -> InputFacts:
        """What is known of these values as inputs of a nested graph at these places."""
        pairs = [(place, value.id) for place, value in values if value.type.element is Scalar.REAL]
        kinds = (self.zero_without_items, self.infinite_in_items, self.infinite_in_padding)
        return InputFacts(frozenset(), *(frozenset(place for place, value in pairs if value in kind) for kind in kinds))

    def called(self, outs: Sequence[Value], given: InputFacts) -> None:
        """Note what is known of the results, by their places, of a call, a scan or a repeat."""
        for kind, places in (
            (self.zero_without_items, given.zero_without_items),
            (self.infinite_in_items, given.infinite_in_items),
            (self.infinite_in_padding, given.infinite_in_padding),
        ):
            kind |= {outs[place].id for place in places}

    def _ragged(self, value: Value) -> list[Axis]:
        return [axis for axis in value.type.axes if varies(value, axis) and self._body.is_ragged(axis)]
