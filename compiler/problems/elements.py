"""Values of the wrong kind: truth values for numbers, numbers for indices, indices into another axis."""

from __future__ import annotations

from enum import Enum, auto

from ...dsl import syntax as s
from ...dsl.source import Span
from ..base.problems import Problem
from ..graph.traits import Reads
from ..graph.values import Type
from ..sizes.axes import Axis
from .axes import Surroundings


class Wanted(Enum):
    """The elements that are needed, and what for."""

    NUMBERS = auto()  # of an op that acts on axes
    ITEMS = auto()  # numbers, one by one
    FACTORS = auto()
    COMPARED = auto()  # numbers beside a truth value
    ORDERED = auto()  # numbers that are compared by `<` and its like
    TRUTH = auto()
    CONDITION = auto()  # of a choice
    BRANCH = auto()  # the condition of a static `if`
    MASK = auto()
    INT = auto()  # of which an index is made
    INDEX = auto()  # of which an int is made
    PICK = auto()  # an index, of which it is asked whether there was one
    GATHERED = auto()  # indices into the axis, by which items are picked
    EMBEDDED = auto()  # indices into the axis, which are looked up
    TARGETS = auto()  # indices into the axis, of a loss
    PARAM = auto()


class WrongElement(Problem, code="E0304"):
    """taker: what needs them, as it is written. written: the expression, of a mask."""

    have: Type
    wanted: Wanted
    taker: str = ""
    axis: Axis | None = None
    written: s.Expr | None = None


class SwappedTargets(Problem, code="E0304"):
    """The operands of a loss in the wrong order: it stands at the first, which are the targets."""

    targets: Type
    logits: Type
    other: Span
    call: Span


class DefaultElement(Problem, code="E0304"):
    """The default of an argument, which has this type."""

    name: str
    type: Type
    default: Type


class DefaultIndex(DefaultElement, code="E0311"):
    """A whole number that is no index into the axis."""


class ArgumentElement(Problem, code="E0304"):
    """What a call passes for an argument. wanted: in the axes of the caller."""

    called: str
    formal: s.Formal
    have: Type
    wanted: Type


class NotCompared(Problem, code="E0306"):
    """Indices into axes that are no copies of one (D5)."""

    a: Axis
    b: Axis
    around: Surroundings


class IndexTaker(Enum):
    """Who wants indices into an axis."""

    OP = auto()
    PICKS = auto()  # an op that picks by them, what is computed
    ARGUMENT = auto()


class WrongTable(Problem, code="E0312"):
    """Indices into one axis where those into another are wanted (D2). name: of the argument that takes them."""

    ids: Type
    have: Axis
    want: Axis
    table: IndexTaker
    name: str = ""


class IndexOutside(Problem, code="E0311"):
    """An index that is surely none into the axis.

    value:  one that it gets to, if that is known. below: whether it is negative.
    written: the index, where that is the place. clamped: whether it is computed, and could be kept within the axis.
    """

    axis: Axis
    below: bool
    value: int | float | None
    written: str
    clamped: bool


BLOCKS = frozenset(("block", "model", "op", "fn", "func", "function", "callable", "Callable", "module", "Module"))
"""What a type begins with where a block is to be an argument."""


class KindOfElement(Problem, code="E0215"):
    """What stands in front of the brackets of a type. known: the axes that are."""

    name: str
    known: tuple[str, ...]


class DividedByIndex(Problem, code="E0324"):
    """bound: where the variable is bound that stands for the index. others: axes of indices that are divided. running:
    whether it may be meant, as in a running mean.
    """

    axis: Axis
    bound: Span
    others: tuple[Axis, ...]
    running: bool


class RootOfIndex(Problem, code="W0510"):
    axis: Axis
    bound: Span


class ComparedWithItself(Problem, code="W0506"):
    """Of an index. sign: as it is written."""

    axis: Axis
    sign: str
    reads: Reads
    around: Surroundings
