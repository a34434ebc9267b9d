"""How each op is drawn: `GLYPHS`, by the name in the field `glyph` of the op's row in `compiler/ops`.

A shape says how wires meet the glyph; the mark is the name of the function in `glyphs/` that draws it (`DRAW` in
glyphs/marks.py). A residual add is the row `add`: it joins its operands, and `sign` in glyphs/joins.py draws it. An op
whose glyph has no row here is drawn as a plain function.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from ...compiler.ops import OPS


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
    mark: str  # what draws it: a key of DRAW in glyphs/marks.py
    text: str = ""  # "": the op's name


GLYPHS: dict[str, Glyph] = {
    "linear": Glyph(Shape.THROUGH, "learned", "L"),
    "embed": Glyph(Shape.LOOKUP, "embed", "E"),
    "gather": Glyph(Shape.LOOKUP, "embed"),
    "norm": Glyph(Shape.ON, "ring"),
    "softmax": Glyph(Shape.ON, "triangle"),
    "reduce": Glyph(Shape.THROUGH, "pill"),
    "contract": Glyph(Shape.CONTRACT, "loop"),
    "add": Glyph(Shape.JOIN, "sign", "+"),
    "subtract": Glyph(Shape.JOIN, "sign", "−"),
    "multiply": Glyph(Shape.JOIN, "gate"),
    "divide": Glyph(Shape.JOIN, "sign", "÷"),
    "predicate": Glyph(Shape.JOIN, "sign"),
    "select": Glyph(Shape.JOIN, "sign"),
    "function": Glyph(Shape.LANE, "arrow"),
    "rename": Glyph(Shape.RENAME, ""),
    "bar": Glyph(Shape.THROUGH, "bar"),
    "window": Glyph(Shape.THROUGH, "pill"),
    "order": Glyph(Shape.THROUGH, "pill"),
    "broadcast": Glyph(Shape.THROUGH, "birth"),
    "concat": Glyph(Shape.CONCAT, "bar"),
    "dropout": Glyph(Shape.SILENT, ""),
    "loss": Glyph(Shape.BOX, "plain"),
}

# What is written at the glyph of an op, where a paper would not print the op's own name.
NAMES: dict[str, str] = {
    "relu": "ReLU",
    "gelu": "GELU",
    "gelu_tanh": "GELU",
    "silu": "SiLU",
    "sigmoid": "σ",
    "neg": "−",
    "layernorm": "LN",
    "rmsnorm": "RMS",
    "l2norm": "ℓ²",
    "softmax": "softmax",
    "log_softmax": "log softmax",
    "logsumexp": "lse",
    "maximum": "max",
    "minimum": "min",
    "cross_entropy": "cross-\nentropy",
    "<=": "≤",
    ">=": "≥",
    "==": "=",
    "!=": "≠",
}
_BESIDES = {"cumsum": Glyph(Shape.ON, "pill")}  # its row's glyph is that of the reductions, but its axis does not end


def glyph_of(op: str) -> Glyph:
    """The op's glyph; that of a function of each element if there is no other."""
    if op in _BESIDES:
        return _BESIDES[op]
    row = OPS.get(op)
    return GLYPHS.get(row.glyph if row is not None else "", GLYPHS["function"])


def name_of(op: str) -> str:
    return glyph_of(op).text or NAMES.get(op, op.replace("_", " "))


def is_silent(op: str) -> bool:
    return glyph_of(op).shape in (Shape.SILENT, Shape.RENAME)
