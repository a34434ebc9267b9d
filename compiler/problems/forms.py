"""How ops and brackets are written: what stands in them, and what an op is given."""

from __future__ import annotations

from enum import Enum, auto

from ...dsl import syntax as s
from ...dsl.source import Span
from ..base.problems import Problem, Record
from ..graph.typed_value import TypedValue
from ..graph.values import Type
from ..sizes.axes import Axis, Number
from .axes import Surroundings


class OpUse(Record):
    """One use of an op, whose brackets are wrong.

    op: its name; shown: as it is written. apart: the arguments that name axes, as in other libraries. label: the name
    that its weights would lack. variables: those that are bound. open: ids of axes that may be of any size.
    """

    op: str
    shown: str
    call: s.CallExpr
    operands: tuple[TypedValue, ...]
    spans: tuple[Span, ...]
    apart: tuple[s.Argument, ...]
    label: str
    variables: frozenset[str]
    open: frozenset[int]
    around: Surroundings


class NoBrackets(Problem, code="E0318"):
    """No op has implicit axes (D3)."""

    use: OpUse


class NoArrow(Problem, code="E0318"):
    """Brackets of a map name axes, and do not say which of them it eats."""

    use: OpUse
    axes: tuple[Axis, ...]


class AxisByNumber(Problem, code="E0318"):
    """A number in brackets: other libraries count axes."""

    use: OpUse


class AxesDoubled(Problem, code="E0319"):
    """Axes are named in brackets and again among the arguments."""

    use: OpUse


class NumberForAxis(Problem, code="E0318"):
    """A number where the name of an axis belongs."""


class OneAxis(Problem, code="E0318"):
    """An op acts on one axis, and is given several."""

    taker: str
    axes: tuple[Axis, ...]


class Stray(Enum):
    """What brackets of an op hold that they should not."""

    ALL = auto()  # this op takes none
    ARROW = auto()
    COLON = auto()


class StrayBrackets(Problem, code="E0318"):
    """call: with the brackets that it may have. droppable: whether they hold axes alone, so that no more is meant."""

    stray: Stray
    taker: str
    call: s.CallExpr
    droppable: bool = False


class BracketsHold(Problem, code="E0318"):
    """Brackets of an op, or of a call of a block, that rename or give something. argument: whether it has one of this
    name; taker: none for a block.
    """

    item: s.BracketItem
    taker: str = ""
    argument: bool = False


class ValueBrackets(Problem, code="E0318"):
    """Brackets on a value hold an arrow or a colon."""

    written: s.IndexExpr


class BareItem(Problem, code="E0318"):
    """`x[i]`: an axis alone, or an index without its axis.

    axes: those along which it may be; variable: whether it is an index rather than an axis.
    """

    of: str
    item: s.BracketItem
    axes: tuple[Axis, ...]
    variable: bool


class BareItems(Problem, code="E0318"):
    """`x[i, j]`: indices in the order of the axes. along: each, with its axis if that is known, and if it is one."""

    of: str
    axes: tuple[Axis, ...]
    along: tuple[tuple[str, Axis | None, bool], ...]


class StrayWhere(Problem, code="E0308"):
    """`where` stands where there is nothing to leave out. taker: an op that takes none; none where no op is."""

    taker: str = ""


class OnlyOneValue(Problem, code="E0319"):
    """`raw` takes one."""

    call: s.CallExpr


class NoLabel(Problem, code="E0319"):
    """A label of an op that owns no weights."""

    call: s.CallExpr


class ArgumentMissing(Problem, code="E0319"):
    """doc: of an option."""

    taker: str
    names: tuple[str, ...]
    call: s.CallExpr
    doc: str = ""


class NoSuchArgument(Problem, code="E0319"):
    """An argument that an op does not have, or one too many.

    op: its name. have: the type of what it is given, if that was asked for. known: whether its name is that of a
    variable or axis.
    """

    op: str
    taker: str
    call: s.CallExpr
    argument: s.Argument
    have: Type | None
    known: bool


class NoNumber(Problem, code="E0320"):
    """An option, or a parameter of an initialisation, that is no number known at build time. names: of axes in it."""

    have: Type
    option: str
    doc: str
    names: tuple[s.Name, ...]


class OptionValue(Problem, code="E0320"):
    """A value that an option may not have, with what its row says of it. rounded: the value, written as a whole number,
    which it might have.
    """

    option: str
    doc: str
    value: Number
    complaint: str
    rounded: Span | None = None


class InitName(Problem, code="E0320"):
    name: str
