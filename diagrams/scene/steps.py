"""A scene: a flat list of steps over tensors, as they will be drawn. Nothing here has a position yet."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum

from ...compiler.sizes.axes import Axis
from ...dsl.source import Span
from ..base.text import Rich
from .patterns import Case
from .tensors import Tensor


class StepKind(Enum):
    """How a step meets its wires."""

    SOURCE = "an input, a parameter, a table: wires begin"
    THROUGH = "eats some wires of one tensor, makes some"
    ON = "sits on some wires of one tensor"
    LANE = "beside one tensor"
    JOIN = "several tensors become one"
    BOX = "all wires end, all new wires begin"
    COPY = "one tensor becomes several"
    ENTER = "the border of a region or repeat, going in"
    EXIT = "the border of a region or repeat, going out"
    SINK = "the outputs"


@dataclass(eq=False, slots=True)
class Section:
    """A tinted region or the inside of the brackets of a repeat or scan (`along` its axis)."""

    repeat: bool
    title: str
    parent: Section | None
    tint: int = 0
    along: Axis | None = None  # of a scan: the axis that it runs along
    name: str = ""  # of the block that is open
    loops: tuple[str, ...] = ()  # of a scan: the names of its state
    outside: int = 0  # of a repeat: how many values come in from outside, the same in every pass
    enter: DrawStep | None = None
    exit: DrawStep | None = None

    def inside(self, other: Section | None) -> bool:
        """Whether it is `other` or lies in it."""
        at: Section | None = self
        while at is not None:
            if at is other:
                return True
            at = at.parent
        return False


@dataclass(eq=False, slots=True)
class DrawStep:
    """One glyph: tensors `ins` become tensors `outs`.

    eaten, made, on: axes whose wires end at the glyph, begin at it, or pass under it.
    contracted: axes that a JOIN contracts (mark `loop`) or concatenates (`bar`). Axes that its operands share, and that
        are not among these, meet in dots.
    """

    kind: StepKind
    mark: str
    ins: list[Tensor]
    outs: list[Tensor]
    section: Section | None
    eaten: tuple[Axis, ...] = ()
    made: tuple[Axis, ...] = ()
    on: tuple[Axis, ...] = ()
    contracted: tuple[Axis, ...] = ()
    text: Rich = ()
    raised: Rich = ()  # a weight's label, as superscript
    note: Rich = ()  # the scale on the arrow of a contraction; the names of the masks of a box
    bias: bool = False
    learned: bool = False
    cases: tuple[Case, ...] = ()  # of a mask: what it keeps, in which passes
    border: Section | None = None  # of an ENTER or EXIT
    tint: int = 0
    tip: str = ""
    late: bool = False  # a SOURCE that stands just before the step that reads it
    first: int = 0  # rank of a SINK's or SOURCE's tensor in declared order
    block: str = ""  # of a closed block: its name
    kept: frozenset[int] = frozenset()  # an EXIT's operands (by id) that end there if nothing outside reads them
    weights: int = 0  # glyphs with the same number (not 0) share their weights
    span: Span | None = None  # where the spec says it


@dataclass(slots=True)
class Scene:
    title: str
    steps: list[DrawStep] = field(default_factory=list)
    sections: list[Section] = field(default_factory=list)
