"""Every block of a figure, drawn once from the inside for each of a few widths: the page composes them."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field

from ...compiler.graph.nodes import Graph
from ..base.names import name_text
from ..base.text import plain
from ..base.theme import Theme
from ..canvas.drawing import Canvas
from ..formats.svg import Palette, SvgWriter
from ..scene.opening import called
from ..scene.steps import DrawStep, Path
from .facts import PageFacts
from .parts import drawing

WIDTHS = (960.0, 720.0, 395.0)
"""Of the drawing, in points where words have 12: a projector, a laptop, a phone."""
INSET = 22.0  # less for a block that stands in another figure
MOST = 80  # blocks with an inside, at most

MakeLevel = Callable[[Graph, Path, float, bool], Canvas]
"""The sheet of a graph at a width, its blocks closed; (.., True): even those that are drawn in line otherwise."""


@dataclass
class Levels:
    """The figures of a page."""

    make: MakeLevel
    theme: Theme
    palette: Palette = field(default_factory=Palette)
    facts: PageFacts = field(default_factory=PageFacts)
    drawings: list[str] = field(default_factory=list)  # JSON
    levels: list[dict[str, object]] = field(default_factory=list)
    _known: dict[int, int] = field(default_factory=dict)  # levels by their graphs (by id)
    _alike: dict[str, int] = field(default_factory=dict)  # levels by what is drawn and said of them

    def add(self, graph: Graph, path: Path = (), *, folded: bool = False) -> int:
        """The number of a level; blocks that it calls have levels too. folded: with all blocks as boxes."""
        if not folded and id(graph) in self._known:
            return self._known[id(graph)]
        sheet = self.make(graph, path, WIDTHS[0] - (INSET if path else 0.0), folded)
        steps = self.facts.steps(sheet, len(path))
        for step, found in zip(sheet.scene.steps, steps, strict=True):
            self._inside(step, found, path)
        drawn, wires = self._drawn(sheet), [self.facts.wires(sheet)]
        key = json.dumps([graph.name, drawn, steps, wires])
        if key not in self._alike:
            numbers = [drawn]
            for wide in WIDTHS[1:]:
                if sheet.extent[2] - sheet.extent[0] > wide - INSET:
                    sheet = self.make(graph, path, wide - (INSET if path else 0.0), folded)
                    numbers.append(self._drawn(sheet))
                    wires.append(self.facts.wires(sheet))
                else:
                    numbers.append(numbers[-1])
                    wires.append(wires[-1])
            self._alike[key] = len(self.levels)
            self.levels.append({"name": graph.name, "steps": steps, "drawn": numbers, "wires": wires})
        if not folded:
            self._known[id(graph)] = self._alike[key]
        return self._alike[key]

    def _inside(self, step: DrawStep, found: dict[str, object], path: Path) -> None:
        """Of a closed block: its level, its name, its tint, and which axes of it are which here."""
        node = step.call
        if node is None or not step.block or (len(self.levels) >= MOST and id(node.graph) not in self._known):
            return
        found["b"] = self.add(node.graph, (*path, called(node)))
        found["h"], found["k"] = step.title, sorted(step.segments)
        inputs = {plain(name_text(entry.name)): entry.name for entry in node.graph.inputs}
        found["u"] = [[inputs[name] for name in plain(port).split(", ") if name in inputs] for port in step.ports]
        found["c"] = self.palette.number(self.theme.region[step.tint % len(self.theme.region)])
        pairs = ((theirs.name, ours.name) for theirs, ours in node.axes)
        if same := ", ".join(f"{theirs} = {ours}" for theirs, ours in pairs if theirs != ours):
            found["a"] = same

    def _drawn(self, sheet: Canvas) -> int:
        text = json.dumps(drawing(sheet, SvgWriter(self.palette, self.theme.ink)).data(), ensure_ascii=False)
        if text not in self.drawings:
            self.drawings.append(text)
        return self.drawings.index(text)
