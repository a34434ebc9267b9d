"""What a body knows of the lengths of its examples, and how it says where padding is (`widths.py`).

A length is a value of the graph: an input (`source_lengths`), or worked out from others, as the size of its width is.
From lengths come masks (`valid`), values that are settled where there is padding (`cleared`), and what each example is
held to (`demand`, `within`).
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Sequence
from functools import cached_property

from ....dsl.base.records import field, mutable, record, replace
from ....dsl.source import Span
from ...base.problems import Problem
from ...graph.extents import (
    at_least_0,
    claim_of,
    demand_of,
    fraction,
    holds,
    inexact,
    negative,
    no_number,
    quotients,
    undefined,
)
from ...graph.nodes import Apply, Constant, Graph, Node, Positions, values_of
from ...graph.traits import (
    Choice,
    Compared,
    Complement,
    Conjunction,
    Disjunction,
    Extreme,
    Function,
    Meaning,
    OpTraits,
    Power,
    Product,
    Quotient,
    Remainder,
    Rounded,
    Sum,
)
from ...graph.typed_value import static_element
from ...graph.values import IndexInto, Role, Scalar, Type, Value
from ...ops import op_meaning, op_named, op_of_numbers
from ...problems.plain import Plain
from ...sizes.arithmetic import difference, replaced
from ...sizes.axes import Arith, Axis, Literal, SizeOf, Static, axes_in, known
from ...sizes.polynomials import never_negative_of_none


@record
class CallerAxis:
    """A ragged axis of a caller's: the body is lifted over it, or is called at each index of it (`step`).

    zeros, ones: the places of the inputs that are 0, or 1, where it is padding.
    """

    axis: Axis
    step: bool
    zeros: tuple[int, ...] = ()
    ones: tuple[int, ...] = ()


@record
class InputFacts:
    """What a caller knows of the inputs of a body, by their places.

    numbers: numbers of which each example has its own, where the spec has one for all.
    zero_without_items, infinite_in_items, infinite_in_padding: see `Infinite`.
    """

    numbers: frozenset[int] = frozenset()
    zero_without_items: frozenset[int] = frozenset()
    infinite_in_items: frozenset[int] = frozenset()
    infinite_in_padding: frozenset[int] = frozenset()

    def __or__(self, other: InputFacts) -> InputFacts:
        return InputFacts(
            self.numbers | other.numbers,
            self.zero_without_items | other.zero_without_items,
            self.infinite_in_items | other.infinite_in_items,
            self.infinite_in_padding | other.infinite_in_padding,
        )


NOTHING = InputFacts()
# what a further input of a body is: the lengths of a family, or where an axis around the body has no padding
ExtraInput = int | Axis


@mutable
class Lengths:
    """One graph while it is rewritten. Its axes of `families` are ragged, and so are those `around` it; what it needs
    to know of these becomes inputs.
    """

    old: Graph
    families: tuple[int, ...]
    around: tuple[CallerAxis, ...]
    input_facts: InputFacts
    problems: dict[Problem, None]
    nodes: list[Node] = field(default_factory=list)
    lengths: dict[int, Value] = field(default_factory=dict)  # by family: inputs, and what derives from them
    outside: dict[Axis, Value] = field(default_factory=dict)  # of an axis around: whether this is none of its padding
    used: dict[ExtraInput, None] = field(default_factory=dict)
    same: dict[int, Value] = field(default_factory=dict)  # old value -> the new one that stands for it
    zero: dict[int, set[Axis]] = field(default_factory=dict)  # axes along which a value is 0 where there is padding
    one: dict[int, set[Axis]] = field(default_factory=dict)  # axes along which it is 1 there
    sizes: dict[int, Static] = field(default_factory=dict)  # numbers of each example, that depend on its extents
    idle: bool = False  # nothing reads what is made now: it refuses no batch
    _valid: dict[Axis, Value] = field(default_factory=dict)
    _positions: dict[Axis, Value] = field(default_factory=dict)
    _is_ragged: dict[Axis, bool] = field(default_factory=dict)
    _next: int = 0

    def begin(self) -> None:
        """The values that a caller may have to pass."""
        self._next = max((value.id for value in values_of(self.old)), default=0)
        for family in self.families:
            axis = self._named(family)
            name, span = ("lengths", None) if axis is None else (f"{axis.name}_lengths", axis.span)
            self.lengths[family] = self._value(Type(Scalar.INT, ()), Role.DATA, span, name)
        for one in self.around:
            type = Type(Scalar.BOOL, () if one.step else (one.axis,))
            self.outside[one.axis] = self._value(type, Role.DATA, one.axis.span, f"{one.axis.name}_valid")
            for filled, places in ((self.zero, one.zeros), (self.one, one.ones)):
                for place in places:
                    filled.setdefault(self.old.inputs[place].value.id, set()).add(one.axis)
        for place in self.input_facts.numbers:
            value = self.old.inputs[place].value
            self.same[value.id] = replace(value, role=Role.DATA)

    def refuse(self, problem: Problem) -> None:
        """Report an op that would mix padding in."""
        self.problems[problem] = None

    def _named(self, family: int) -> Axis | None:
        """The axis of this graph that a length is named after: of several copies the one declared first."""
        return self._first.get(family)

    @cached_property
    def _first(self) -> dict[int, Axis]:
        found: dict[int, Axis] = {}
        mentioned = (axis for value in values_of(self.old) for axis in value.type.axes)
        for axis in sorted((*self.old.axes, *mentioned), key=_start):
            found.setdefault(axis.family, axis)
        return found

    def length(self, axis: Axis) -> Value | None:
        """Each example's own extent along an axis; None where all have the array's."""
        if axis.family in self.families:
            self.used[axis.family] = None
            return self.lengths[axis.family]
        if axis.family in self.lengths:
            return self.lengths[axis.family]
        if axis.size is not None and self._ragged(axis.size):
            self.lengths[axis.family] = self._derived(axis, axis.size)
            return self.lengths[axis.family]
        return None

    def _derived(self, axis: Axis, size: Static) -> Value:
        """The length of each example along an axis whose size derives from others; it is one (D1), or is refused."""
        if not self._grows(size):
            shrinks = next(other for other in axes_in(size) if self.is_ragged(other))
            self.refuse(Plain.SHRINKS.at(axis.span, axis.name, shrinks.name))
        for above, below in quotients(size):
            if self._ragged(above) or self._ragged(below):
                self._divides(axis, above, below)
        for restricted in undefined(size):
            if self._ragged(restricted.part):
                number = self._number(restricted.part)
                ok = self._compared(">=" if restricted.zero else ">", number, 0)
                self.demand(ok, no_number(axis, size, restricted), number)
        found = self._number(size)
        if found.type.element is Scalar.REAL:  # it is made of a const that may be 2.5
            whole = self.apply(Rounded(up=False), (found,), Type(Scalar.INT, ()))
            self.demand(self.apply(Compared("=="), (whole, found), Type(Scalar.BOOL, ())), fraction(axis, size), found)
            found = whole
        if not at_least_0(size, {}):
            self.demand(self._compared(">=", found, 0), negative(axis, size), found)
        return found

    def _grows(self, size: Static) -> bool:
        """Whether a size is surely no less where an example is longer."""
        if not self._ragged(size) or self._never_shrinks(size):
            return True
        match size:
            case SizeOf():
                return True
            case Arith(meaning=Sum((1, 1)) | Extreme() | Rounded() | Function(rising=True), args=args):
                return all(map(self._grows, args))
            case Arith(meaning=Product(), args=args):
                return all(self._grows(arg) and at_least_0(arg, {}) for arg in args)
            case Arith(meaning=Quotient(), args=(a, b)):
                return not self._ragged(b) and self._grows(a) and at_least_0(b, {})
            case Arith(meaning=Sum((1, -1)), args=(a, b)):
                return not self._ragged(b) and self._grows(a)
            case Arith(meaning=Power(), args=(a, b)):
                return not self._ragged(b) and self._grows(a) and at_least_0(a, {}) and at_least_0(b, {})
            case _:
                return False

    def _never_shrinks(self, size: Static) -> bool:
        """Whether one item more makes it no less, as far as polynomials tell."""
        more = (difference(_longer(size, axis), size) for axis in axes_in(size) if self.is_ragged(axis))
        return all(map(never_negative_of_none, more))

    def _divides(self, axis: Axis, above: Static, below: Static) -> None:
        a, b = self._number(above), self._number(below)
        divisor = self.or_one(b) if self._ragged(below) else b
        rest = self.apply(Remainder(), (a, divisor), Type(Scalar.INT, ()))
        ok = self._compared("==", rest, 0)
        if divisor is not b:
            ok = self.both(ok, self._compared(">=", b, 1))
        self.demand(ok, inexact(axis, (above, below)), a, b)

    def is_ragged(self, axis: Axis) -> bool:
        """`length(axis) is not None`, without making anything."""
        if axis not in self._is_ragged:
            derived = axis.size is not None and self._ragged(axis.size)
            self._is_ragged[axis] = axis in self.outside or axis.family in self.lengths or derived
        return self._is_ragged[axis]

    def _ragged(self, static: Static) -> bool:
        return any(self.is_ragged(axis) for axis in axes_in(static))

    def _number(self, static: Static, some: Container[int] = ()) -> Value:
        """A size for each example: static arithmetic over lengths, which count as 1 at least of families in `some`.

        Reals are float64, as those of Python are.
        """
        if not self._ragged(static):
            return self.constant(static)
        match static:
            case SizeOf(axis):
                found = self.length(axis)
                assert found is not None
                return self.or_one(found) if axis.family in some else found
            case (
                Arith(meaning=Quotient(whole=True), args=(a, b))
                | Arith(meaning=Rounded(up=False), args=(Arith("/", (a, b)),))
            ) if _whole(a, b):
                return self._quotient(self._number(a, some), b, some)
            case Arith(meaning=Rounded(up=True), args=(Arith("/", (a, b)),)) if _whole(a, b):
                below = self.apply(Sum((-1,)), (self._number(a, some),), Type(Scalar.INT, ()))
                return self.apply(Sum((-1,)), (self._quotient(below, b, some),), Type(Scalar.INT, ()))
            case Arith(meaning=Quotient(whole=True), args=(a, b)):
                numbers = self._number(a, some), self._number(b, some)
                quotient = self.apply(Quotient(), numbers, Type(Scalar.REAL, ()), role=Role.TABLE)
                return self.apply(Rounded(up=False), (quotient,), Type(Scalar.INT, ()))
            case Arith(op, args):
                element = static_element(static)
                role = Role.TABLE if element is Scalar.REAL else None
                return self.apply(
                    op_of_numbers(op), [self._number(arg, some) for arg in args], Type(element, ()), role=role
                )
        raise AssertionError(static)

    def _quotient(self, above: Value, below: Static, some: Container[int]) -> Value:
        """Ints divided and rounded down, exactly. By a length of 0 the result is never read, and is no error."""
        divisor = self._number(below, some)
        if self._ragged(below):
            divisor = self.or_one(divisor)
        return self.apply(Quotient(whole=True), (above, divisor), Type(Scalar.INT, ()))

    def valid(self, axes: Iterable[Axis]) -> Value | None:
        """True where none of these axes is in its padding; None if none of them is ragged."""
        found: Value | None = None
        for axis in axes:
            if not self.is_ragged(axis):
                continue
            if axis in self.outside:
                self.used[axis] = None
                self._valid[axis] = self.outside[axis]
            elif axis not in self._valid:
                length = self.length(axis)
                assert length is not None
                positions = self._position(axis)
                self._valid[axis] = self.apply(Compared("<"), (positions, length), Type(Scalar.BOOL, (axis,)), "valid")
            found = self._valid[axis] if found is None else self.both(found, self._valid[axis])
        return found

    @property
    def steps(self) -> tuple[Axis, ...]:
        """The axes along which this body is called index by index."""
        return tuple(one.axis for one in self.around if one.step)

    # -- what would be refused of an example alone ------------------------------------------------------------------

    def demand(self, ok: Value, says: str, *shown: Value) -> None:
        """Refuse a batch in which `ok` is false of an example; the message shows its values of `shown`."""
        if self.idle:
            return
        ok = self._unless_padding(ok, self.steps)
        self.nodes.append(Apply(op_named("demand"), (ok, *shown), self._value(ok.type, ok.role), says=says))

    def within(self, index: Value, axis: Axis, mask: Value | None = None) -> Value:
        """The index, which must lie within each example's own items of the axis, if it is none of padding.

        mask: of a gather, which reads nothing where it is false.
        """
        if index.role is not Role.CONSTANT:
            index = self.settled(index)
        length = self.length(axis) if self.is_ragged(axis) else None
        if length is None:
            return index
        valid = self.valid((*(axis for axis in index.type.axes if varies(index, axis)), *self.steps))
        valid = self.both(mask, valid) if mask is not None and valid is not None else mask or valid
        type = Type(IndexInto(axis), index.type.axes, index.type.broadcast_axes)
        out = self.apply(op_named("within"), (index, length), type, axes=(axis,), mask=valid)
        self.zero[out.id] = self.zero.get(index.id, set())
        return out

    def _unless_padding(self, ok: Value, axes: Iterable[Axis]) -> Value:
        valid = self.valid(axes)
        if valid is None:
            return ok
        padding = self.apply(Complement(), (valid,), valid.type)
        type = Type(Scalar.BOOL, (*valid.type.axes, *(axis for axis in ok.type.axes if axis not in valid.type.axes)))
        return self.apply(Disjunction(), (ok, padding), type)

    def demand_extents(self, node: Apply) -> None:
        """Demand of each example's own extents what an op takes for granted of extents (extents.py)."""
        claim = claim_of(node)
        if claim is None:
            return
        for axis in (*node.axes, *node.made):
            self.length(axis)  # this demands what the size of a derived axis needs
        if holds(claim, {}):
            return
        left, relation, right = claim
        if not self._ragged(right) and (relation == "<=" or not self._ragged(left)):
            return  # at most what is the same for all: the arrays' own extents are held to it
        a, b = self._number(left), self._number(right)
        self.demand(self.apply(Compared(relation), (a, b), Type(Scalar.BOOL, ())), demand_of(node, claim), a, b)

    # -- making nodes --------------------------------------------------------------------------------------------

    def _value(self, type: Type, role: Role, span: Span | None = None, name: str | None = None) -> Value:
        self._next += 1
        return Value(self._next, type, role, name, span)

    def apply(
        self,
        op: OpTraits | Meaning,
        operands: Sequence[Value],
        type: Type,
        name: str | None = None,
        *,
        axes: tuple[Axis, ...] = (),
        mask: Value | None = None,
        role: Role | None = None,
    ) -> Value:
        out = self._value(type, max(value.role for value in operands) if role is None else role, None, name)
        traits = op if isinstance(op, OpTraits) else op_meaning(op)
        self.nodes.append(Apply(traits, tuple(operands), out, axes=axes, mask=mask))
        return out

    def or_one(self, number: Value) -> Value:
        """A number that is 1 at least, for what is divided by it."""
        return self.apply(Extreme(largest=True), (number, self.constant(Literal(1))), number.type)

    def some_items(self, axis: Axis) -> Value:
        """Whether an example has items along a ragged axis."""
        length = self.length(axis)
        assert length is not None
        return self._compared(">=", length, 1)

    def last_first(self, axis: Axis) -> Value:
        """The indices of each example's own items along a ragged axis, the last first; 0 in its padding."""
        length = self.length(axis)
        assert length is not None
        last = self.apply(Sum((1, -1)), (length, self.constant(Literal(1))), Type(Scalar.INT, ()))
        index = self.apply(Sum((1, -1)), (last, self._position(axis)), Type(IndexInto(axis), (axis,)))
        return self.cleared(index, (axis,))

    def _compared(self, relation: str, number: Value, other: int) -> Value:
        return self.apply(Compared(relation), (number, self.constant(Literal(other))), Type(Scalar.BOOL, ()))

    def constant(self, static: Static) -> Value:
        out = self._value(Type(static_element(static), ()), Role.CONSTANT)
        self.nodes.append(Constant(static, out))
        return out

    def _position(self, axis: Axis) -> Value:
        if axis not in self._positions:
            self._positions[axis] = self._value(Type(IndexInto(axis), (axis,)), Role.TABLE)
            self.nodes.append(Positions(axis, self._positions[axis]))
        return self._positions[axis]

    def both(self, a: Value, b: Value) -> Value:
        axes = (*b.type.axes, *(axis for axis in a.type.axes if axis not in b.type.axes))
        broadcast_axes = {axis for axis in axes if not any(varies(value, axis) for value in (a, b))}
        return self.apply(Conjunction(), (a, b), Type(Scalar.BOOL, axes, frozenset(broadcast_axes)))

    def cleared(self, value: Value, axes: Iterable[Axis], fill: Static | float | int = 0) -> Value:
        """The value, with `fill` where one of these axes, of those that it varies along, is in its padding."""
        return self.cleared_over(value, [axis for axis in axes if varies(value, axis) or axis in self.steps], fill)

    def cleared_over(self, value: Value, axes: Iterable[Axis], fill: Static | float | int = 0) -> Value:
        """The value, with `fill` where one of these axes is in its padding, be it the same along that axis."""
        static = Literal(fill) if isinstance(fill, float | int) else fill
        number = known(static)
        filled = self.zero if number == 0 else self.one if number == 1 else {}
        axes = [axis for axis in dict.fromkeys(axes) if axis not in filled.get(value.id, ())]
        valid = self.valid(axes)
        if valid is None:
            return value
        if value.type.element is Scalar.BOOL:
            return self.both(value, valid)
        every = (*value.type.axes, *(axis for axis in valid.type.axes if axis not in value.type.axes))
        varying = {axis for axis in valid.type.axes if varies(valid, axis)}
        fraction = isinstance(number, float) and number % 1
        type = Type(Scalar.REAL if fraction else value.type.element, every, value.type.broadcast_axes - varying)
        out = self.apply(Choice(), (valid, value, self.constant(static)), type)
        filled[out.id] = filled.get(value.id, set()) | set(axes)
        return out

    def settled(self, value: Value, fill: float | int = 0) -> Value:
        """The value, with `fill` wherever it is padding: its own, or a caller's."""
        return self.cleared(value, (*value.type.axes, *self.steps), fill)


def _longer(size: Static, axis: Axis) -> Static:
    """The size if there were one item more along an axis."""
    return replaced(
        size, lambda part: Arith("+", (part, Literal(1))) if isinstance(part, SizeOf) and part.axis == axis else part
    )


def _whole(*sizes: Static) -> bool:
    return all(static_element(size) is Scalar.INT for size in sizes)


def varies(value: Value, axis: Axis) -> bool:
    return axis in value.type.axes and axis not in value.type.broadcast_axes


def _start(axis: Axis) -> int:
    return axis.span.start if axis.span is not None else 0
