"""From what is asked of a figure to its sheets: how much is open, and how it comes onto the page."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from ...compiler.graph.nodes import Graph
from ..base.paper import Paper
from ..base.theme import CAPTION, Theme
from ..hints.apply import Applied
from ..hints.hints import Hints
from ..scene.opening import Opening
from ..scene.steps import Marks, Path, Scene
from ..scene.unfold import scene_of
from .hatches.memory import DrawnMemory
from .hatches.meshes import DrawnMesh
from .panels import Panel, PanelPart, Rows, panels
from .sheet import Sheet

if TYPE_CHECKING:
    from ...compiler.streams.drawn import DrawnStreams

MOST = 2000
"""Steps, inputs and results of a figure, at most: more are not readable, and would take minutes to lay out."""


class TooLarge(ValueError):
    """The figure would be too large; the message says what to draw instead."""

    def __init__(self, message: str) -> None:
        super().__init__(f"{message}: draw one of its blocks, or open fewer")


@dataclass
class FigureMaker:
    """What `draw` is asked for, checked.

    sized:   whether the size of letters was asked for.
    opening: which blocks are open; `panels` lets it grow as far as the page has room.
    """

    graph: Graph
    hints: Hints
    opened: tuple[str, ...]
    closed: tuple[str, ...]
    depth: int | None
    paper: Paper
    sized: bool
    colors: Theme
    title: str | None
    sizes: bool
    legend: bool
    mesh: DrawnMesh | None = None
    marks: Marks | None = None
    streams: DrawnStreams | None = None
    opening: Opening = field(init=False)

    def __post_init__(self) -> None:
        self.opening = self._opened()

    @property
    def hatching(self) -> DrawnMesh | DrawnMemory | None:
        """What wires are hatched by."""
        return self.mesh if self.streams is None else DrawnMemory(self.streams.device)

    def alone(self) -> Sheet:
        """The whole figure on one sheet, whatever its page has room for."""
        return self._sheet(PanelPart(self.graph, self.opening, self.hints))

    def panels(self) -> list[Panel]:
        """The figure first, then what the page had no room for."""
        main = PanelPart(self.graph, self.opening, self.hints)
        sheet = self._grown(main, self._sheet(main))
        self._scene(main, strict=True)  # what hints name must be in the figure that was chosen, not in those tried
        if sheet.fits:
            return [Panel("", 1, self.graph, sheet)]
        drawn = panels(main, self._sheet, self._rest)
        if len(drawn) > 1:  # letters of one size
            one = max(min(panel.sheet.scale for panel in drawn), self.paper.least / CAPTION)
            for panel in drawn:  # but for one with a row that is too high for its page
                panel.sheet.scale = min(panel.sheet.scale, one)
        return drawn

    def level(self, graph: Graph, path: Path, width: float, folded: bool) -> Sheet:
        """For a page: the inside of a block, with no title, at a width of the drawing. What hints name and what was
        asked to be closed may not be in it. folded: with all of its blocks as boxes."""
        own = Opening(graph)
        own.close = tuple(own.names(graph)) if folded else self.closed
        maker = replace(self, title="", paper=Paper(width, None, CAPTION, CAPTION), legend=self.legend and not path)
        return maker._sheet(PanelPart(graph, own, self.hints, "", path), exact=False)

    def _opened(self) -> Opening:
        return Opening(self.graph, self.opened, self.depth, self.closed, to_loops=self.streams is not None)

    def _grown(self, main: PanelPart, sheet: Sheet) -> Sheet:
        """As many more blocks open as need no further row."""
        growth = self.opening.growth
        for count in range(len(growth), 0, -1):
            self.opening.grown = set(growth[:count])
            larger = self._sheet(main)
            fits = larger.fits >= sheet.fits and (not self.sized or larger.scale >= sheet.scale)
            if len(larger.rows) <= len(sheet.rows) and fits:
                return larger
        self.opening.grown = set()
        return sheet

    def _scene(self, part: PanelPart, *, strict: bool = False) -> Scene:
        own = Applied(part.hints, part.graph, strict=strict)
        made = scene_of(
            part.graph,
            part.opening,
            None if part.letter else self.title,
            own.arrange,
            part.path,
            self.marks,
            self.streams.loops if self.streams is not None else None,
        )
        own.annotate(made)
        return made

    def _rest(self, part: PanelPart) -> Hints:
        """What the author says of things that are not in this part."""
        return Applied(part.hints, part.graph).rest(self._scene(part))

    def _sheet(self, part: PanelPart, rows: Rows | None = None, *, exact: bool = True) -> Sheet:
        graph = part.graph
        scenes = [self._scene(part)]  # a sheet that is drawn again needs another one
        count = len(scenes[0].steps) + len(graph.inputs) + len(graph.outputs)
        if count > MOST:
            raise TooLarge(f"a figure of `{graph.name}` would have {count} steps and ends, more than {MOST}")

        def made(paper: Paper) -> Sheet:
            return Sheet(
                scenes.pop() if scenes else self._scene(part), self.colors, paper,
                sizes=self.sizes, legend=self.legend, letter=part.letter, rows=rows, hatching=self.hatching,
            )  # fmt: skip

        return _fitted(self.paper, made) if exact else made(self.paper)


def _fitted(paper: Paper, make: Callable[[Paper], Sheet]) -> Sheet:
    """Rows are folded by the widths of columns. If text beside them makes a figure wider than its page, it is drawn
    again with shorter rows."""
    sheet, narrow = make(paper), paper
    for _ in range(4):
        over = sheet.needs - paper.width
        if over <= 0.05 or narrow.width < paper.width / 2:
            break
        narrow = replace(narrow, width=narrow.width - max(over + 1, 0.03 * paper.width))
        shorter = make(narrow)
        if shorter.needs < sheet.needs:
            sheet = shorter
    sheet.fit(paper)
    return sheet
