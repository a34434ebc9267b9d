"""Whose weights a glyph has: the same letter stands for the same weights, and other weights have another one."""

from __future__ import annotations

from ..base.text import Rich, italic, plain, roman
from .op_glyphs import LOOKUP
from .steps import DrawStep, Scene


def tell_apart(scene: Scene) -> None:
    """Within a region, or between brackets, one letter may come from several blocks that are drawn in line. Then what
    was called is written behind it: `W (seen)`, `W (read)`."""
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
