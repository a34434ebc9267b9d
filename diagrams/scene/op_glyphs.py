"""How each op is drawn: its glyph follows from how it reads its operands, and its row in `compiler/ops` says what is
written there (`drawn`).

A shape says how wires meet the glyph; the mark is the name of the function in `glyphs/` that draws it (`DRAW` in
glyphs/marks.py).
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from ...compiler.graph.traits import (
    Arrange,
    Choice,
    Compared,
    Complement,
    Conjunction,
    Disjunction,
    Extreme,
    Gather,
    IndexMap,
    LogSum,
    Lookup,
    Meaning,
    Normalise,
    OpTraits,
    Pointwise,
    Product,
    Quotient,
    Reads,
    Reduce,
    Running,
    Sum,
    Window,
)
from ...compiler.ops import Op
from ...compiler.sharding.sends import Collective


class Shape(Enum):
    SILENT = "nothing: the value goes on"
    LANE = "beside the wires, touching none"
    ON = "on the wires of the axes it names, which go on"
    THROUGH = "wires it eats end there, wires it makes begin there"
    JOIN = "tensors meet: shared axes run into one dot"
    CONTRACT = "tensors meet, and wires join in half-loops"
    CONCAT = "tensors meet in a bar"
    LOOKUP = "an index into a table"
    BOX = "all wires of all operands end, all wires of the results begin"
    RENAME = "the wire gets another label"


@dataclass(frozen=True, slots=True)
class Glyph:
    shape: Shape
    mark: str = ""  # what draws it: a key of DRAW in glyphs/marks.py


SILENT, FUNCTION = Glyph(Shape.SILENT), Glyph(Shape.LANE, "arrow")
MAP, CONTRACTION = Glyph(Shape.THROUGH, "learned"), Glyph(Shape.CONTRACT, "loop")
LOOKUP = Glyph(Shape.LOOKUP, "embed")
PILL, PILL_ON = Glyph(Shape.THROUGH, "pill"), Glyph(Shape.ON, "pill")
SHARES, NORM = Glyph(Shape.ON, "triangle"), Glyph(Shape.ON, "ring")
SIGN, GATE = Glyph(Shape.JOIN, "sign"), Glyph(Shape.JOIN, "gate")
RENAME, BAR, BIRTH = Glyph(Shape.RENAME), Glyph(Shape.THROUGH, "bar"), Glyph(Shape.THROUGH, "birth")
SENT = Glyph(Shape.ON, "sent")  # a collective, which no spec has
CONCAT, BOX = Glyph(Shape.CONCAT, "bar"), Glyph(Shape.BOX, "plain")


def glyph_of(op: OpTraits) -> Glyph:
    """The glyph of an op. Ops that draw at random (dropout) have none: the figure shows their operand."""
    if isinstance(op, Collective):
        return SENT
    return SILENT if op.random else _glyph(op.reads, learned=isinstance(op, Op) and op.learned)


def _glyph(reads: Reads, *, learned: bool) -> Glyph:
    match reads:
        case Pointwise(meaning):
            return _of_items(meaning)
        case Gather():
            return LOOKUP
        case Reduce(multiplies=True):
            return MAP if learned else CONTRACTION
        case Reduce(logits=True):
            return BOX
        case Reduce() | Window():
            return PILL
        case Running() | Arrange(IndexMap.MIRRORED):
            return PILL_ON
        case Normalise(weights=weights):
            return SHARES if weights else NORM
        case Arrange(IndexMap.SAME):
            return RENAME
        case Arrange(IndexMap.NEW):
            return BIRTH
        case Arrange(IndexMap.DIGITS | IndexMap.NUMBER | IndexMap.SHIFTED):
            return BAR
        case Arrange(IndexMap.PARTS):
            return CONCAT
        case _:
            return FUNCTION


def _of_items(meaning: Meaning) -> Glyph:
    match meaning:
        case Lookup():
            return LOOKUP
        case Product():
            return GATE
        case Sum((_, _)) | Quotient() | Compared() | Conjunction() | Disjunction() | Complement() | Choice():
            return SIGN
        case _:
            return FUNCTION


def name_of(op: OpTraits) -> str:
    """What is written at its glyph."""
    return (isinstance(op, Op) and op.drawn) or op.name.replace("_", " ")


def interchangeable(op: OpTraits) -> bool:
    """Whether operands of the op may be exchanged: it computes the same."""
    match op.reads:
        case Pointwise(Sum(times)):
            return len(set(times)) == 1
        case Pointwise(Compared(sign)):
            return sign in ("==", "!=")
        case Pointwise(meaning):
            return isinstance(meaning, Product | Extreme | LogSum | Conjunction | Disjunction)
        case Reduce(multiplies=multiplies):
            return multiplies
        case _:
            return False


def is_silent(op: OpTraits) -> bool:
    return glyph_of(op).shape in (Shape.SILENT, Shape.RENAME)
