"""Items that are none: the padding of ragged widths, and picks of nothing."""

from __future__ import annotations

from enum import Enum, auto

from ...dsl import syntax as s
from ...dsl.source import Span
from ..base.problems import Problem
from ..graph.traits import Reads
from ..sizes.axes import Axis


class RaggedAxis(Problem, code="E0801"):
    """`ragged` on an axis that cannot be: a depth, a copy, or one whose size follows from others, or is fixed."""

    decl: s.AxisDecl


class Spoils(Enum):
    """Why padding would be read."""

    UNKNOWN = auto()  # it is not known how the op reads
    UNDERIVED = auto()  # the size of what the op makes does not follow from that of the width
    SMOOTHS = auto()
    OPTION = auto()  # the op is given the size of a ragged width
    OWN_OP = auto()  # an op of the user's own
    CONST = auto()  # a const of the block is the size of a ragged width
    SHRINKS = auto()  # the size of the axis may be less where the width is more


class PaddingRead(Problem, code="E0802"):
    """taker: the op, block or axis. ragged: the width; made: what the op makes of it."""

    why: Spoils
    taker: str
    ragged: str = ""
    made: str = ""


class PaddingInside(Problem, code="E0802"):
    """The padding of a width, `inside`, does not come last in what is made. ragged: the names of all that are."""

    op: str
    reads: Reads
    inside: str
    made: str
    ragged: tuple[str, ...]


class MaskedByHand(Problem, code="W0505"):
    """An input of a model is a mask of what is padding, at `mask`. lengths: the inputs that say what is."""

    name: str
    width: Axis
    mask: Span
    lengths: tuple[str, ...]


class PicksRead(Problem, code="E0325"):
    """An op reads picks of nothing, along this axis. smooths: as classes of targets that are smoothed."""

    op: str
    axis: str
    smooths: bool = False
