"""The sheet: draws every glyph and wire of a layout, then labels where there is room. Points, y downwards."""

from __future__ import annotations

from dataclasses import replace

from ..base import theme
from ..base.paper import Paper
from ..base.picture import Box, Node
from ..base.text import bold, roman
from ..base.theme import Theme
from ..canvas.drawing import Canvas
from ..canvas.lettering import write_labels, write_signs, write_titles
from ..canvas.roles import write_roles
from ..glyphs.marks import DRAW
from ..layout.figure import PAD
from ..scene.steps import Scene
from .hatches.memory import DrawnMemory
from .hatches.meshes import DrawnMesh
from .hatches.strokes import hatch
from .legend import draw_legend
from .notes import draw_notes, draw_plates, plan_notes
from .sections import draw_rounds, draw_sections
from .where import write_where
from .wiring import draw_dashes, draw_links, draw_row


class Sheet(Canvas):
    """Everything drawn of one scene, or of some of its rows (from, to).

    letter: of a panel, before its title.
    tinted: the colours and signs that stand behind glyphs and open blocks.
    untitled: the picture without its title.
    scale:  of points of the drawing to points on paper.
    fits:   whether it is no higher than its page, with letters that are large enough.
    """

    def __init__(
        self, scene: Scene, colors: Theme, paper: Paper, *, sizes: bool = False, legend: bool = False,
        letter: str = "", rows: tuple[int, int] | None = None, hatching: DrawnMesh | DrawnMemory | None = None,
    ) -> None:  # fmt: skip
        super().__init__(scene, colors, paper, sizes=sizes)
        if rows is not None:
            self.keep(*rows)
        notes = plan_notes(self)
        draw_sections(self)
        for j, column in enumerate(self.columns):
            self.here = j
            for step in column.steps:
                self.step = step
                DRAW[step.mark](self, step, self.meetings[id(step)], self.slots[id(step)])
        for row in self.rows:
            draw_row(self, row)
        draw_dashes(self)
        draw_rounds(self)
        draw_links(self)
        write_roles(self)
        write_titles(self)
        write_signs(self)
        write_labels(self)
        hatched = frozenset[int]() if hatching is None else hatch(self, hatching)
        self.tinted = draw_plates(self)
        draw_notes(self, notes)
        write_where(self)
        draw_legend(self, hatching, hatched, whole=legend)
        self.untitled = replace(self.picture, nodes=[*self.picture.nodes, *corners(self.extent)])
        title = (*bold(letter), *roman(f" {scene.title}" if letter and scene.title else scene.title))
        if rows is not None and rows[0] and scene.title:
            title = (*title, *roman(", continued"))
        if title:
            x0, y0, x1, _ = self.extent
            self.write((x0 + x1) / 2, y0 - 14, title, theme.TITLE, cls="title")
        self.picture.nodes += corners(self.extent)
        self.fit(paper)

    def fit(self, paper: Paper) -> None:
        """Scale it to a page."""
        self.paper = paper
        x0, y0, x1, y1 = self.extent
        self.page = paper.width - 2 * PAD
        least = paper.least / theme.CAPTION
        self.scale = min(paper.most / theme.CAPTION, self.page / max(1.0, x1 - x0))
        self.fits, self.room = True, float("inf")
        if paper.height is not None:
            high = paper.height - 2 * PAD - 1  # Graphviz makes its page a whole number of points high
            self.room = high / min(least, self.scale)
            self.fits = y1 - y0 <= self.room
            self.scale = min(self.scale, high / max(1.0, y1 - y0))

    @property
    def needs(self) -> float:
        """How wide a page must be for the smallest letters that its paper allows, in points."""
        return (self.extent[2] - self.extent[0]) * self.paper.least / theme.CAPTION + 2 * PAD


def corners(extent: Box) -> list[Node]:
    """Two invisible points, so that Graphviz makes its page as large."""
    look = {"shape": "point", "style": "invis", "width": "0.5", "height": "0.5"}
    return [Node("page_1", extent[:2], look), Node("page_2", extent[2:], look)]
