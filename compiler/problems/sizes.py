"""Sizes and numbers that are none, are not known in time, or do not fit."""

from __future__ import annotations

from ...dsl import syntax as s
from ...dsl.source import Span
from ..base.problems import Problem
from ..graph.traits import Reads
from ..graph.typed_value import TypedValue
from ..sizes.axes import Axis, Number, Value
from ..sizes.limits import Limit, TooMuch


class Beyond(Problem, code="E0220"):
    """More than there may be. facts: of the limit, as `Limit` lists them."""

    limit: Limit
    facts: tuple[str | int, ...] = ()

    @classmethod
    def of(cls, much: TooMuch, span: Span | None) -> Beyond:
        """It stands at its own place, or else at this one."""
        return cls(much.span or span, much.limit, much.facts)


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


class DepthAtRunTime(Problem, code="E0207"):
    """A depth whose size only a run knows (D1): it depends on this width, or on a const that a run gives."""

    name: str
    width: Axis | None


class ListForNumber(Problem, code="E0222"):
    """A list where one number is wanted."""


class ReadAtRunTime(Problem, code="E0222"):
    """A list is read at a number that is not known at build time, or not whole."""

    name: str
    at: TypedValue


class ParamUnbounded(Problem, code="E0321"):
    """A param along a width without a largest size."""

    name: str
    axis: Axis


class SizeOfConst(Problem, code="E0201"):
    """`|n|` of a const."""

    name: str


class OpenWidth(Problem, code="E0409"):
    """A width whose size no input of a graph tells. bracketed: whether it is a parameter of the block."""

    graph: str
    axis: Axis
    bracketed: bool


class RaggedAxis(Problem, code="E0801"):
    """`ragged` on an axis that cannot be: a depth, a copy, or one whose size follows from others, or is fixed."""

    decl: s.AxisDecl


class PaddingInside(Problem, code="E0802"):
    """The padding of a width, `inside`, does not come last in what is made. ragged: the names of all that are."""

    op: str
    reads: Reads
    inside: str
    made: str
    ragged: tuple[str, ...]
