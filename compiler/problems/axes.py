"""Axes that a value lacks, has twice, or cannot have."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from enum import Enum, auto

from ...dsl import syntax as s
from ...dsl.source import Span
from ..base.problems import Problem, Record
from ..graph.typed_value import TypedValue
from ..graph.values import Type
from ..sizes.axes import Axis


class Surroundings(Record):
    """What is known of axes where a mistake stands, copied when it is found: more may be declared further down.

    names:   the axes that the block knows there, by name.
    file:     those of its file; of_file: what stands in the block for one of these, by its id.
    declared: all names that the file declares or uses.
    lifted:   axes that calls bring, which the block cannot name.
    block:    as it is declared; beside: the other blocks of its file.
    """

    names: Mapping[str, Axis]
    file: Mapping[str, Axis]
    of_file: Mapping[int, Axis]
    declared: Collection[str]
    lifted: tuple[Axis, ...]
    block: s.BlockDecl
    beside: tuple[s.BlockDecl, ...]

    @property
    def parameters(self) -> set[str]:
        """The names in the brackets of the block."""
        return {generic.name.text for generic in self.block.generics}


class AxisUse(Enum):
    """What an op does with the axes of its operand. Its operand lacks one of them."""

    ACTS = auto()
    MAPS = auto()
    NORMALISES = auto()
    CONTRACTS = auto()  # of one operand
    CONTRACTS_BOTH = auto()
    SPLITS = auto()
    MERGES = auto()
    JOINS = auto()
    FLIPS = auto()
    SLIDES = auto()
    PADS = auto()
    ORDERS = auto()
    LOGITS = auto()
    RENAMES = auto()
    PICKS = auto()


class NoAxis(Problem, code="E0301"):
    """An op acts on an axis that its operand lacks: it stands at the axis.

    value, operand: what lacks it, and where that is written. taker: the op as it is written; renamed: to what.
    operands, axes: all that the op is given, and acts on.
    """

    value: TypedValue
    axis: Axis
    operand: Span
    use: AxisUse
    taker: str
    operands: tuple[TypedValue, ...]
    axes: tuple[Axis, ...]
    around: Surroundings
    renamed: str = ""


class NoCopies(Problem, code="E0303"):
    """`x[a as b]`, where the two are no copies of one axis."""

    old: Axis
    new: Axis
    around: Surroundings


class RenamedToAnother(Problem, code="E0302"):
    """`x[a as b]`, where x has b too. later: the renaming behind it in the brackets that takes b away: where it stands,
    and whether it makes a of it.
    """

    old: Axis
    new: Axis
    have: Type
    later: tuple[Span, bool] | None
    around: Surroundings


class AxisTwice(Problem, code="E0302"):
    """The result would have an axis twice: the operand keeps its own. mapped: the call of a learned map, and its first
    axis.
    """

    axis: Axis
    around: Surroundings
    mapped: tuple[Span, Span] | None = None


class WidthSpread(Problem, code="E0305"):
    """An operand would be spread over a width of another (D7). other: that operand, at `at`. lacking: all widths of it
    that the first lacks. reduced: whether an op took the width away. operand: where the first stands.
    """

    taker: str
    value: TypedValue
    operand: Span
    other: TypedValue
    at: Span
    axis: Axis
    lacking: tuple[Axis, ...]
    around: Surroundings

    @property
    def deep(self) -> bool:
        return True


class OuterPair(Problem, code="E0305"):
    """Each of two operands lacks a depth of the other: an outer product or sum, which must be written as one.

    lacks: what the first lacks, and the second. second_is_meant: which is to be spread. here: whether it is so in the
    block on its own; else only a call gives the axis, and argument is what of the block may be passed.
    """

    taker: str
    values: tuple[TypedValue, TypedValue]
    places: tuple[Span, Span]
    lacks: tuple[tuple[Axis, ...], tuple[Axis, ...]]
    spread: int
    here: bool
    argument: str

    @property
    def deep(self) -> bool:
        return self.here


class UnmaskedAxis(Problem, code="E0309"):
    """A mask that has none of the axes that the op acts on."""

    taker: str
    mask: TypedValue
    axes: tuple[Axis, ...]
    acts: Span


class Namesakes(Problem, code="E0212"):
    """Two axes of one name, of two files, meet (D13). places: what has them."""

    a: Axis
    b: Axis
    places: tuple[tuple[Span, TypedValue | Type | None], ...] = ()


class TypedTwice(Problem, code="E0322"):
    """An axis stands twice in one type."""

    axis: Axis
    first: Span
    around: Surroundings


class WidthOfWeights(Problem, code="E0310"):
    """Weights along a width without a fixed size."""

    taker: str
    axis: Axis


class WidthOfWindow(Problem, code="E0310"):
    axis: Axis
