"""What is written at a glyph beside the name of its op: options that change its numbers; whose its weights are."""

from __future__ import annotations

from ...compiler.graph.nodes import Apply
from ...compiler.ops import Op
from ..base.text import Rich, italic, joined, plain, roman
from .formulas.symbolic import Symbolic, of_static, written
from .op_glyphs import LOOKUP, name_of
from .steps import DrawStep, Frame, Scene

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


# -- whose weights --------------------------------------------------------------------------------------------------


def tell_apart(scene: Scene) -> None:
    """The same letter stands for the same weights, and other weights have another one.

    Within a region, or between brackets, one letter may come from several blocks that are drawn in line. Then what was
    called is written behind it: `W (seen)`, `W (read)`.
    """
    groups: dict[object, dict[str, list[DrawStep]]] = {}
    for step in scene.steps:
        if step.weights and step.whose and step.mark in ("learned", LOOKUP.mark, "block"):
            text = plain(step.text) + plain(step.raised)
            groups.setdefault((id(step.section), step.mark, text), {}).setdefault(step.whose, []).append(step)
    for paths in groups.values():
        if len(paths) > 1:
            for path, label in _labels(list(paths)).items():
                for step in paths[path]:
                    _write(step, label)


def _labels(paths: list[str]) -> dict[str, str]:
    """What each path has and no other, with as few of its parts as do: what was called, before the weights' name."""
    parts = {path: [part for part in path.split(".")[:-1] if not part.isdigit()] for path in paths}
    for count in range(1, max(map(len, parts.values())) + 1):
        labels = {path: " ".join(own[-count:]) for path, own in parts.items()}
        if len(set(labels.values())) == len(labels):
            return labels
    return {}


def _write(step: DrawStep, label: str) -> None:
    if not label:
        return
    called: Rich = italic(f" ({label})".replace("_", " "))
    if step.mark == "block":
        step.text = (*step.text, *roman(plain(called)))
    else:
        step.raised = (*step.raised, *called)
