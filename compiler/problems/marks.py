"""Weights that are averaged along the wrong axes (D6), and axes of sizes that do not agree."""

from __future__ import annotations

from ...dsl.source import Span
from ..base.problems import Problem
from ..graph.traits import Reads
from ..graph.typed_value import TypedValue
from ..sizes.axes import Axis, Number, Static


class _Average(Problem):
    """A `dot` that averages: weights are the operand, at `operand`; axes are those that it averages over."""

    weights: TypedValue
    operand: Span
    axes: tuple[Axis, ...]

    @property
    def deep(self) -> bool:
        return True


class AveragedElsewhere(_Average, code="E0307"):
    """The weights sum to one over other axes."""


class AveragedScaled(_Average, code="W0508"):
    """Weights times a number carry no mark, but to average over another axis is as likely a slip."""


class AveragedWider(_Average, code="W0508"):
    """A sum over a width of averages over another is no average. wider: the widths."""

    wider: tuple[Axis, ...]


class NormalisedTwice(Problem, code="W0511"):
    """The op, `taker`, normalises what is weights already."""

    weights: TypedValue
    taker: str

    @property
    def deep(self) -> bool:
        return True


class EmptyQueries(Problem, code="W0523"):
    """Items along `item` that see nothing of `key`: `count` of them from `first` on, None for all that follow. None for
    `item`: nobody sees anything.

    op: what reads them. mask: where that is made.
    """

    op: str
    item: Axis | None
    key: Axis
    first: int
    count: int | None
    mask: Span | None


class ScaledByAnother(Problem, code="W0504"):
    """Scores are scaled by the root of a size that is not what they are summed over. by: the root, as it is written."""

    scores: TypedValue
    axis: Axis
    root: str


class MergedInOtherOrder(Problem, code="E0317"):
    """Axes split from one axis, at `split`, go back to it in another order."""

    made: Axis
    parts: tuple[Axis, ...]
    merged: tuple[Axis, ...]
    split: Span


class SizesDiffer(Problem, code="E0316"):
    """The size of an axis is not what follows from those of others: their sum or product, as the op reads them. sizes:
    both, where they are known.
    """

    taker: str
    whole: Axis
    parts: tuple[Axis, ...]
    reads: Reads
    sizes: tuple[Number, Number] | None


class NoRoom(Problem, code="E0316"):
    """What padding makes is shorter than what is needed. sizes: of the axis, of what is made, and of what is put in
    front, where they are known.
    """

    axis: Axis
    made: Axis
    needed: Static
    sizes: tuple[Number, Number, Number] | None


class TooManyRanks(Problem, code="E0316"):
    """More of the largest items than there are. sizes: of the ranks and of the items, where they are known."""

    axis: Axis
    made: Axis
    sizes: tuple[Number, Number] | None
