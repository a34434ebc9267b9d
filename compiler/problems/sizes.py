"""Sizes and numbers that are none, are not known in time, or do not fit."""

from __future__ import annotations

from enum import Enum, auto

from ...dsl.source import Span
from ..base.problems import Problem
from ..graph.typed_value import TypedValue
from ..graph.values import Type
from ..sizes.axes import Axis, Const, Number, Value
from ..sizes.limits import Limit, TooMuch


class Invalid(Enum):
    """Why arithmetic has no value."""

    ZERO = auto()  # it divides by zero
    LARGE = auto()
    NOTHING = auto()


class Beyond(Problem, code="E0220"):
    """More than there may be. facts: of the limit, as `Limit` lists them."""

    limit: Limit
    facts: tuple[str | int, ...] = ()

    @classmethod
    def of(cls, much: TooMuch, span: Span | None) -> Beyond:
        """It stands at its own place, or else at this one."""
        return cls(much.span or span, much.limit, much.facts)


class NoValue(Problem, code="E0207"):
    why: Invalid


class NoItem(Problem, code="E0222"):
    """A list is read where it has no number."""

    length: int
    at: Number


class NotWhole(Problem, code="E0206"):
    """A size is divided with a remainder. declared: where its formula stands, if that is elsewhere. library: it is not
    the reader's to change.
    """

    name: str
    dividend: Number
    divisor: Number
    declared: Span | None
    library: bool


class NoSize(Problem, code="E0207"):
    """A number that is no size. declared: as above; literal: whether it is written as a number."""

    name: str
    value: Number
    declared: Span | None
    literal: bool


class NoSizeSet(Problem, code="E0207"):
    """What is set from outside for a size, and is none."""

    name: str
    value: Value


class NotStatic(Problem, code="E0207"):
    """What is no number known at build time. wrapped: a number in a function of other languages, as `range(n)`."""

    wrapped: str = ""


class NotStaticName(Problem, code="E0207"):
    """A variable among sizes."""

    name: str
    have: Type


class FunctionForm(Problem, code="E0207"):
    """A function of numbers with other arguments. takes: what it takes, and how that is written."""

    name: str
    takes: tuple[str, str]


class SizeOfCopy(Problem, code="E0207"):
    """A copy of an axis is given a size of its own."""

    name: str
    original: str


class DepthAtRunTime(Problem, code="E0207"):
    """A depth whose size only a run knows (D1): it depends on this width, or on a const that a run gives."""

    name: str
    width: Axis | None


class NoSizeInBlock(Problem, code="E0207"):
    """An axis that a block declares without a size. kind: width or depth."""

    name: str
    kind: str


class PassesAtRunTime(Problem, code="E0207"):
    """The number of passes depends on a width."""


class PassesInvalid(Problem, code="E0207"):
    value: Number


class TooManyPasses(Problem, code="E0207"):
    value: int
    most: int


class MixedList(Problem, code="E0222"):
    """Truth values and numbers in one list."""


class ReadForm(Problem, code="E0222"):
    """Brackets behind a list do not say which number is read."""

    name: str


class ReadNumber(Problem, code="E0222"):
    """One number is read as if it were a list. const: whether it is one, and no size of an axis."""

    name: str
    const: bool


class ListForNumber(Problem, code="E0222"):
    """A list where one number is wanted."""


class ReadAtRunTime(Problem, code="E0222"):
    """A list is read at a number that is not known at build time, or not whole."""

    name: str
    at: TypedValue


class BranchAtRunTime(Problem, code="E0323"):
    """A static `if` that a run decides. have: the type of what decides it; None where a width does."""

    have: Type | None


class ParamUnbounded(Problem, code="E0321"):
    """A param along a width without a largest size."""

    name: str
    axis: Axis


class SizeOfConst(Problem, code="E0201"):
    """`|n|` of a const."""

    name: str


class OpenSize(Problem, code="E0409"):
    """A depth or const of a graph has no value, and compiling needs one."""

    graph: str
    item: Axis | Const


class OpenWeight(Problem, code="E0409"):
    """A weight runs along a width without a largest size."""

    weight: str
    axis: Axis


class OpenWidth(Problem, code="E0409"):
    """A width whose size no input of a graph tells. bracketed: whether it is a parameter of the block."""

    graph: str
    axis: Axis
    bracketed: bool


class OpenBranch(Problem, code="E0409"):
    """Which branch a block takes depends on a const without a value."""

    block: str
    const: str


class SetForCopy(Problem, code="E0601"):
    """A size is set for a copy: from outside, or by a config."""

    name: str
    original: str
