"""What is written at a glyph beside the name of its op: options that change its numbers."""

from __future__ import annotations

from ...compiler.graph.nodes import Apply
from ...compiler.ops import Op
from ..base.text import Rich, joined, plain, roman
from .formulas.symbolic import Symbolic, of_static, written
from .op_glyphs import name_of
from .steps import Frame

_ELSEWHERE = ("eps", "p", "scale", "bias", "left", "value")
"""Options that the glyph tells in another way, and those that figures leave out (docs/diagrams.md)."""


def op_text(frame: Frame, node: Apply) -> Rich:
    """The name of an op, and those options that are not as they are if left out."""
    text = name_of(node.traits)
    for option in node.traits.options if isinstance(node.traits, Op) else ():
        if option.name in node.options and option.name not in _ELSEWHERE:
            value = _option(frame, node, option.name)
            if value.op != "number" or value.number != option.default:
                text += f", {option.name}" + ("" if value.truth is True else f" {plain(written(value))}")
    return roman(text)


def norm_text(node: Apply) -> Rich:
    """What a norm lacks of what it has if nothing is said: its scale γ, its bias β."""
    has = {weight.name.rpartition(".")[2] for weight in node.weights}
    options = {option.name for option in node.traits.options} if isinstance(node.traits, Op) else set()
    parts = (("scale", "weight", "γ"), ("bias", "bias", "β"))
    lacks = [letter for option, weight, letter in parts if option in options and weight not in has]
    return roman(f"no {', '.join(lacks)}") if lacks else ()


def bar_text(frame: Frame, node: Apply) -> Rich:
    """`pad, 1 before, of −1`: how many items stand before those there were, and what these are if not 0."""
    if "left" not in node.options:
        return ()
    left, value = _option(frame, node, "left"), _option(frame, node, "value")
    before = () if _is_0(left) else (*roman(", "), *written(left), *roman(" before"))
    of = () if _is_0(value) else (*roman(", of "), *written(value))
    return joined((*roman(name_of(node.traits)), *before, *of))


def _option(frame: Frame, node: Apply, name: str) -> Symbolic:
    return of_static(node.options[name], frame.axis, frame.consts)


def _is_0(formula: Symbolic) -> bool:
    return formula.op == "number" and formula.number == 0
