"""Values as the checker sees them: a type, and what else is known while checking."""

from __future__ import annotations

from ...dsl.base.records import record
from ...dsl.source import Span
from ..sizes.axes import Arith, Axis, ConstOf, Literal, SizeOf, Static, as_static, known, once
from ..sizes.functions import (
    Choice,
    Compared,
    Complement,
    Conjunction,
    Disjunction,
    Extreme,
    Item,
    Length,
    Listing,
    Magnitude,
    Power,
    Product,
    Quotient,
    Remainder,
    Rounded,
    Sum,
)
from ..sizes.polynomials import never_negative, poly
from .values import Element, IndexInto, Role, Scalar, Type, Value

BOUND_TERMS = 64


@record
class Range:
    """Bounds of an integer value: `low <= value <= high`. `tight`: both are reached, whatever else happens."""

    low: Static
    high: Static
    tight: bool

    @staticmethod
    def of(low: Static, high: Static, tight: bool) -> Range | None:
        """None for bounds too long to reason with, as of an index that a long chain of `max(i - 1, 0)` has made."""
        long = any(isinstance(end, Arith) and end.terms > BOUND_TERMS for end in (low, high))
        return None if long else Range(low, high, tight)


@record
class TypedValue:
    """A value while a body is being checked.

    mark:   axes over which it sums to one (D6); empty if it carries no mark.
    static: its expression, if it is a number known at build time (or a size); `value` is then made on demand.
    mark_unknown: the mark is not known here (an argument of a block checked on its own), so D6 waits for the call.
    spread: axes that it has not, but would have if a number that stands for an argument had those of its formal; it is
            the same everywhere along them.
    """

    type: Type
    role: Role
    span: Span
    value: Value | None = None
    mark: frozenset[Axis] = frozenset()
    static: Static | None = None
    range: Range | None = None
    mark_unknown: bool = False
    spread: frozenset[Axis] = frozenset()
    scaled: frozenset[Axis] = frozenset()  # it is weights, which sum to one over these axes, times a number
    product_of: tuple[Axis, ...] = ()  # the axes that the `dot` it comes from contracted
    index_of: Axis | None = None  # it is the bare index of this axis
    power_of: tuple[Axis, float] | None = None  # it is the index to this positive power: 0 at the first place
    home: object = None  # the builder of the graph that `value` belongs to

    @property
    def axes(self) -> tuple[Axis, ...]:
        """The axes that it varies along: its broadcast axes are absent."""
        return self.type.varying

    @property
    def element(self) -> Element:
        return self.type.element

    def has(self, axis: Axis) -> bool:
        return axis in self.type.axes and axis not in self.type.broadcast_axes

    @property
    def is_number(self) -> bool:
        return self.element in (Scalar.REAL, Scalar.INT)

    @property
    def is_bool(self) -> bool:
        return self.element is Scalar.BOOL


@once
def static_element(static: Static) -> Scalar:
    """The element kind of a static expression; of a list, that of its numbers."""
    match static:
        case Literal(number):
            return Scalar.BOOL if isinstance(number, bool) else Scalar.INT if isinstance(number, int) else Scalar.REAL
        case SizeOf():
            return Scalar.INT
        case ConstOf(const):
            known_kind = const.like if const.value is None else const.value
            return Scalar.INT if known_kind is None else static_element(as_static(known_kind))
        case Arith(meaning=Item(), args=(_, numbers)):
            return static_element(numbers)
        case Arith(meaning=Choice(), args=(_, *parts)) | Arith(meaning=Listing(), args=parts):
            kinds = {static_element(part) for part in parts}
            return kinds.pop() if len(kinds) == 1 else Scalar.REAL
        case Arith(meaning=Length()):
            return Scalar.INT
        case Arith(meaning=Compared() | Conjunction() | Disjunction() | Complement()):
            return Scalar.BOOL
        case Arith(meaning=Rounded() | Quotient(whole=True)):
            return Scalar.INT
        case Arith(meaning=Sum() | Product() | Remainder() | Magnitude() | Extreme(), args=args):
            kinds = {static_element(arg) for arg in args}
            return Scalar.INT if kinds == {Scalar.INT} else Scalar.REAL
        case Arith(meaning=Power(), args=(base, exponent)):
            counted = known(static) is None and static_element(base) is static_element(exponent) is Scalar.INT
            whole = counted and never_negative(poly(exponent))
            return Scalar.INT if whole or isinstance(known(static), int) else Scalar.REAL
        case Arith():
            return Scalar.REAL


def show_axes(axes: tuple[Axis, ...]) -> str:
    return f"[{', '.join(axis.name for axis in axes)}]"


def show_type(type: Type) -> str:
    """As the language writes it: `[q, model]`, `bool[q, k]`, `vocab[seq]`."""
    axes = type.varying
    match type.element:
        case IndexInto(axis):
            return axis.name + show_axes(axes)
        case Scalar.REAL:
            return show_axes(axes)
        case Scalar() as kind:
            return str(kind.value) + show_axes(axes)


def show(wire: TypedValue) -> str:
    return show_type(wire.type)


def union(wires: tuple[TypedValue, ...] | list[TypedValue]) -> tuple[tuple[Axis, ...], frozenset[Axis]]:
    """Axes of a pointwise result, the longest operand's first, and which of them no operand varies along."""
    first = wires[0].type
    if not first.broadcast_axes and all(
        wire.type.axes == first.axes and not wire.type.broadcast_axes for wire in wires[1:]
    ):
        return first.axes, frozenset()
    ordered = sorted(wires, key=lambda wire: -len(wire.type.axes))
    axes: dict[Axis, None] = {}
    for wire in ordered:
        axes.update(dict.fromkeys(wire.type.axes))
    broadcast_axes = frozenset(axis for axis in axes if not any(wire.has(axis) for wire in wires))
    return tuple(axes), broadcast_axes


def fits(have: Element, want: Element) -> bool:
    """Whether elements of one kind may stand for another: an int for a real, an index for one into a copy."""
    if isinstance(have, IndexInto) and isinstance(want, IndexInto):
        return have.axis.family == want.axis.family
    return have == want or (have is Scalar.INT and want is Scalar.REAL)
