"""What the page tells of a figure: of each step its op, its shapes and its words of the spec; of each wire its axis."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import PurePath

from ...compiler.sizes.axes import Axis
from ...dsl.source import Source, Span
from ..base.text import plain
from ..canvas.drawing import Canvas
from ..scene.steps import DrawStep, Path, StepKind
from .parts import PartFinder

_CALLED = {StepKind.COPY: "copy", StepKind.SINK: "the result", StepKind.ENTER: "begins", StepKind.EXIT: "ends"}
_WHOLE = re.compile(r'(block|model)\s+\w+\s*(as\s*"|[\[(])')  # not `model / 2`, of an axis of this name


@dataclass
class PageFacts:
    """Numbers of what several figures of a page speak of: axes, and places in the spec (source, from, to)."""

    axes: dict[tuple[object, ...], int] = field(default_factory=dict)
    sources: dict[Source, int] = field(default_factory=dict)
    places: dict[tuple[int, int, int], int] = field(default_factory=dict)

    def axis(self, axis: Axis) -> int:
        key = (axis.name, axis.label, axis.kind.value, axis.extent, axis.family)
        return self.axes.setdefault(key, len(self.axes))

    def place(self, span: Span | None) -> int | None:
        """None for what no spec says, or what is a whole block of it."""
        if span is None or _WHOLE.match(span.text):
            return None
        source = self.sources.setdefault(span.source, len(self.sources))
        return self.places.setdefault((source, span.start, span.end), len(self.places))

    def data(self) -> dict[str, object]:
        keys = ("name", "label", "kind", "size", "family")
        return {
            "axes": [dict(zip(keys, axis, strict=True)) for axis in self.axes],
            "sources": [[source_name(source.name), source.text] for source in self.sources],
            "places": [list(place) for place in self.places],
        }

    def steps(self, sheet: Canvas, depth: int = 0) -> list[dict[str, object]]:
        """In the order of the scene. depth: how many open blocks the figure itself is in."""
        found = [self._step(step, depth) for step in sheet.scene.steps]
        alike: dict[tuple[Path, str], list[dict[str, object]]] = {}
        for step, facts in zip(sheet.scene.steps, found, strict=True):
            if step.ins and step.kind not in _CALLED and len(step.outs) == 1:
                name = step.outs[0].name or step.tip.partition("[")[0]
                alike.setdefault((step.path, name), []).append(facts)
        for (_, name), own in alike.items():
            for k, facts in enumerate(own, 1):  # as paths of values have it
                facts["l"] = name if k == len(own) else f"{name}:{k}"
        return found

    def _step(self, step: DrawStep, depth: int) -> dict[str, object]:
        said = step.tip or (f"repeat ×{step.border.title} " if step.border is not None and step.border.repeat else "")
        if step.kind in _CALLED and not step.tip:
            said = f"{said}{_CALLED[step.kind]}"
        shapes = [[[self.axis(axis) for axis in t.axes] for t in side] for side in (step.ins, step.outs)]
        names = [t.name for t in step.outs if t.name]
        found: dict[str, object] = {"t": said or step.mark, "i": shapes[0], "o": shapes[1]}
        if (place := self.place(step.span)) is not None:
            found["p"] = place
        if names:
            found["n"] = ", ".join(names)
        if inside := [
            sorted(n for n in names if ":" in n) for names in step.path[depth:]
        ]:  # what paths of values may have for it
            found["r"] = inside
        if note := plain(step.note):
            found["f"] = note
        if step.kind is StepKind.COPY:
            found["q"] = 1  # nothing is computed there
        return found

    def wires(self, sheet: Canvas) -> dict[str, list[object]]:
        """Of each wire its axis, the steps that make it and those that read it; it goes past what leaves it alone."""
        finder = PartFinder(sheet)
        return {
            str(number): [
                None if wire.axis is None else self.axis(wire.axis),
                sorted(finder.made.get(number, ())),
                sorted(finder.read.get(number, ())),
            ]
            for number, wire in finder.wires.items()
            if number in finder.made
        }


def source_name(name: str) -> str:
    """What a page calls a file: never by where it lies on the machine that made the page."""
    path = PurePath(name)
    return path.name if path.is_absolute() or ".." in path.parts else name
