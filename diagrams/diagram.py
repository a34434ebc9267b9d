"""The public face: a graph drawn as a neural-circuit diagram."""

from __future__ import annotations

import os
from collections.abc import Collection
from functools import cached_property
from pathlib import Path

from ..compiler.graph import Graph
from . import dot, export, theme
from .opening import Opening, UnknownBlock
from .sheet import Sheet
from .unfold import scene_of

__all__ = ["Diagram", "UnknownBlock", "draw"]


class Diagram:
    """A figure, laid out. `dot` is all of it as text; Graphviz draws that as it stands."""

    def __init__(self, sheet: Sheet, name: str) -> None:
        self._sheet = sheet
        self.dot: str = dot.write(sheet.picture, sheet.scale, sheet.theme.ink, name)

    @cached_property
    def _svg(self) -> str:
        return export.render(self.dot, "svg").decode()

    def svg(self) -> str:
        """SVG text. Raises ExportError where Graphviz is missing."""
        return self._svg

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write .svg, .pdf, .png or .dot. Raises ExportError, and then leaves nothing behind."""
        return export.save(self.dot, path)

    def _repr_svg_(self) -> str:
        return self.svg()


def draw(
    graph: Graph,
    *,
    open: Collection[str] = (),
    depth: int | None = None,
    width: float | None = None,
    theme: str = "color",
    title: str | None = None,
) -> Diagram:
    """The diagram of a block, model or body.

    open:  names of blocks, or labels of calls, to draw with their contents.
    depth: how many levels of calls to open; without it, what makes a readable figure.
    width: of the page, in inches (5.5); a figure too wide for it goes on in rows beneath.
    theme: "color" or "mono".
    title: above the figure; the graph's name if None, nothing if "".

    Raises UnknownBlock for a name in `open` that nothing in the figure has, and ValueError for an unknown theme.
    """
    colors = _themes().get(theme)
    if colors is None:
        raise ValueError(f"no theme `{theme}`: there is {', '.join(sorted(_themes()))}")
    if width is not None and not width > 0:
        raise ValueError(f"a page is wider than {width} in")
    names = (open,) if isinstance(open, str) else tuple(open)
    page = _page() if width is None else width * 72
    opening = Opening(graph, names, depth)
    sheet = Sheet(scene_of(graph, opening, title), colors, page)
    if opening.growth:  # open what needs no row more
        for count in range(len(opening.growth), 0, -1):
            opening.grown = set(opening.growth[:count])
            larger = Sheet(scene_of(graph, opening, title), colors, page)
            if len(larger.rows) <= len(sheet.rows):
                sheet = larger
                break
    return Diagram(sheet, graph.name)


def _themes() -> dict[str, theme.Theme]:
    return theme.THEMES


def _page() -> float:
    return theme.PAGE
