"""The sheet: draws every glyph and wire of a layout, then labels where there is room. Points, y downwards."""

from __future__ import annotations

from dataclasses import replace

from ..base import theme
from ..base.picture import Box, Node
from ..base.text import roman
from ..base.theme import Theme
from ..canvas.drawing import Canvas
from ..canvas.lettering import write_labels, write_signs, write_titles
from ..canvas.roles import write_roles
from ..glyphs.marks import DRAW
from ..layout.figure import PAD
from ..scene.steps import Scene
from .legend import draw_legend
from .notes import draw_notes, draw_plates, plan_notes
from .sections import draw_sections, write_outside
from .where import write_where
from .wiring import draw_dashes, draw_links, draw_row


class Sheet(Canvas):
    """Everything drawn of one scene, on a page of `page` points.

    scale: of points of the drawing to points on paper.
    untitled: the picture without its title.
    """

    def __init__(self, scene: Scene, colors: Theme, page: float, *, sizes: bool = False, legend: bool = False) -> None:
        super().__init__(scene, colors, page, sizes=sizes)
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
        draw_links(self)
        write_roles(self)
        write_titles(self)
        write_signs(self)
        write_labels(self)
        write_outside(self)
        draw_plates(self)
        draw_notes(self, notes)
        write_where(self)
        if legend:
            draw_legend(self)
        self.untitled = replace(self.picture, nodes=[*self.picture.nodes, *corners(self.extent)])
        if scene.title:
            x0, y0, x1, _ = self.extent
            self.write((x0 + x1) / 2, y0 - 14, roman(scene.title), theme.TITLE, cls="title")
        self.picture.nodes += corners(self.extent)
        self.fit(page)

    def fit(self, page: float, most: float = 1.0) -> None:
        """Scale it to `most`, or less if it has to fit a page of so many points."""
        self.page = page - 2 * PAD
        self.scale = min(most, self.page / max(1.0, self.extent[2] - self.extent[0]))

    @property
    def width(self) -> float:
        """Points that the drawing is wide, on paper at full size."""
        return self.extent[2] - self.extent[0] + 2 * PAD


def corners(extent: Box) -> list[Node]:
    """Two invisible points, so that Graphviz makes its page as large."""
    look = {"shape": "point", "style": "invis", "width": "0.5", "height": "0.5"}
    return [Node("page_1", extent[:2], look), Node("page_2", extent[2:], look)]
