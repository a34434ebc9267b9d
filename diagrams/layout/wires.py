"""Wires, and what they meet: one axis of one tensor each, from the glyph that makes it to the glyph that ends it."""

from __future__ import annotations

from dataclasses import dataclass, field

from ...compiler.sizes.axes import Axis
from ..scene.steps import DrawStep, Section


@dataclass(eq=False, slots=True)
class Wire:
    """One axis of one tensor, from the glyph that makes it to the glyph that ends it.

    `axis` is None for a tensor without axes (a thin line says where it goes). `y` by column: points, downwards.
    """

    number: int
    axis: Axis | None
    size: str = ""  # "= 512", on the first wire of each axis where sizes are asked for
    y: dict[int, float] = field(default_factory=dict)

    @property
    def kind(self) -> str:
        return "scalar" if self.axis is None else "width" if self.axis.is_width else "depth"


@dataclass(eq=False, slots=True)
class Dash:
    """The dashed line above a tensor. A strand is a tensor and what becomes of it as steps act on it."""

    strand: int
    y: dict[int, float] = field(default_factory=dict)


@dataclass(eq=False, slots=True)
class Lane:
    """A lane beneath a tensor for an elementwise op."""

    step: DrawStep
    y: dict[int, float] = field(default_factory=dict)


Track = Wire | Dash | Lane


@dataclass(eq=False, slots=True)
class Meeting:
    """A step's wires: `ins[i]` of operand i, `outs[i]` of result i, top to bottom.

    main:  the operand of a JOIN whose wires go straight on.
    inner: whether the wires of the other operands have heights in the step's own column, and bend within it.
    """

    ins: list[list[Wire]]
    outs: list[list[Wire]] = field(default_factory=list)
    main: int = 0
    inner: bool = True


@dataclass(slots=True)
class Column:
    """One column: its steps, and its tracks from top to bottom on its left and its right side."""

    steps: list[DrawStep]
    left: list[Track] = field(default_factory=list)
    right: list[Track] = field(default_factory=list)
    all: list[Track] = field(default_factory=list)  # the right side, and wires whose heights begin in the next column
    scopes: dict[int, Section | None] = field(default_factory=dict)  # the section of each wire
    after: dict[int, Section | None] = field(default_factory=dict)  # the same, right of this column
    strands: dict[int, int] = field(default_factory=dict)  # the strand of each wire, on the left if it is there


@dataclass(slots=True)
class Weave:
    columns: list[Column]
    meetings: dict[int, Meeting]  # by step
