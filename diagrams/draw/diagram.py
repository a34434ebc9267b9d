"""The API: `draw` makes a `Diagram` of a graph."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Collection
from functools import cached_property
from pathlib import Path

from graphviz import Source

from ...compiler.graph.nodes import Graph
from ..base import theme
from ..base.theme import CAPTION, LEAST
from ..formats import dot, export, tikz
from ..hints.apply import Applied
from ..hints.hints import NONE, Hints
from ..scene.opening import Opening, UnknownBlock
from ..scene.steps import Scene
from ..scene.unfold import scene_of
from . import page
from .sheet import Sheet

__all__ = ["Diagram", "TooLarge", "UnknownBlock", "draw"]

MOST = 2000
"""Steps, inputs and results of a figure, at most: more are not readable, and would take minutes to lay out."""


class TooLarge(ValueError):
    """The figure would be too large; the message says what to draw instead."""

    def __init__(self, message: str) -> None:
        super().__init__(f"{message}: draw one of its blocks, or open fewer")


class Diagram:
    """A figure, laid out. `dot` is the whole figure as text; Graphviz draws it without changing any position."""

    def __init__(
        self,
        sheet: Sheet,
        graph: Graph,
        redraw: page.Redraw,
        openable: tuple[str, ...],
        *,
        type: float | None = None,
        titled: bool = True,
    ) -> None:
        self._sheet = sheet
        self._type = type
        self._paper = sheet.picture if titled else sheet.untitled
        self._graph = graph
        self._redraw = redraw
        self._openable = openable
        self.dot: str = dot.write(sheet.picture, sheet.scale, sheet.theme.ink, graph.name)

    @property
    def warnings(self) -> tuple[str, ...]:
        """What keeps the figure from being fit for its page, and what to do about it."""
        sheet = self._sheet
        points = sheet.scale * theme.CAPTION
        wanted = theme.LEAST if self._type is None else self._type
        if points >= wanted - 0.05:
            small = wanted < theme.LEAST - 0.05
            return (f"letters of {wanted:g} pt print badly: {theme.LEAST:g} pt is the least",) if small else ()
        needed = sheet.width * wanted / theme.CAPTION / 72
        titles = dict.fromkeys(s.name or s.title for s in sheet.scene.sections if not s.repeat)
        closing = f"close {' or '.join(f'`{t}`' for t in titles)}, or " if titles else ""
        why = f"and {theme.LEAST:g} pt is the least that prints well" if self._type is None else f"not at {wanted:g} pt"
        return (f"the text comes out at {points:.1f} pt, {why}: {closing}give it a width of {needed:.1f}in",)

    @cached_property
    def _svg(self) -> str:
        return export.render(self.dot, "svg").decode()

    def svg(self, *, outline: bool = False) -> str:
        """SVG text; `outline`: letters as curves, so that no font is needed. ExportError where Graphviz is missing."""
        return export.outlined(self.dot).decode() if outline else self._svg

    @cached_property
    def tex(self) -> str:
        """A TikZ picture, compiled as it stands or `\\input` into a paper, whose fonts it then has."""
        return tikz.write(self._paper, self._sheet.scale, self._sheet.theme.ink, self._graph.name)

    def html(self) -> str:
        """One page by itself: hover, click, keyboard. ExportError where Graphviz is missing."""
        return page.write(self._graph, self._sheet, self._openable, self._redraw)

    def graphviz(self) -> Source:
        """The figure as an object of the package `graphviz`: `.view()`, `.render()`, `.pipe()`, a notebook's display.

        Those run `dot` as that package does: as long as it takes, and a PNG at the dots per inch of Graphviz.
        """
        made: Source = Source(self.dot, filename=f"{self._graph.name}.gv")
        return made

    def save(self, path: str | os.PathLike[str], *, outline: bool = False) -> Path:
        """Write .svg, .pdf, .png, .dot, .tex or .html. Raises ExportError, and then leaves nothing behind.

        What goes into a paper, .pdf and .tex, has no title unless one was asked for: a caption says it.
        """
        ending = Path(path).suffix.removeprefix(".").lower()
        if outline and ending != "svg":
            raise export.ExportError("letters are outlined in .svg files alone: PDF and PNG bring them along anyway")
        match ending:
            case "svg":
                content = self.svg(outline=outline).encode()
            case "tex":
                content = self.tex.encode()
            case "html":
                content = self.html().encode()
            case "pdf":
                sheet = self._sheet
                content = export.render(dot.write(self._paper, sheet.scale, sheet.theme.ink, self._graph.name), "pdf")
            case _:
                content = export.render(self.dot, ending or "(no ending)")
        return export.write_whole(Path(path), content)

    def _repr_svg_(self) -> str:
        return self.svg()


def draw(
    graph: Graph,
    *,
    open: str | Collection[str] = (),
    close: str | Collection[str] = (),
    depth: int | None = None,
    width: float | None = None,
    type: str | float | None = None,
    theme: str = "color",
    title: str | None = None,
    sizes: bool = False,
    legend: bool = False,
    hints: Hints = NONE,
) -> Diagram:
    """The diagram of a block, model or body.

    open:   names of blocks, or labels of calls, to draw with their contents.
    close:  names of blocks, or labels of calls, to draw as boxes whatever else is said.
    depth:  how many levels of calls to open; without it, what makes a readable figure.
    width:  of the page, in inches (5.5); a figure too wide for it goes on in rows beneath.
    type:   the size of words in boxes, in points ("8pt" or 8), so that all figures of a paper have the same; letters
            of axes are a little larger, names larger, scripts smaller. Without it a figure has 12 pt, or as many, down
            to 7, as let it fit the page.
    theme:  "color" or "mono".
    title:  above the figure; if None, the graph's name, but nothing in .pdf and .tex; nothing if "".
    sizes:  whether the first label of an axis gives its size.
    legend: whether a strip beneath says what the axes and glyphs are.
    hints:  what the author says of the figure (`attnc.diagrams.hints`). Its blocks to open and close hold where `open`,
            `close` and `depth` say nothing.

    Raises AttnError for a name in `hints` that the figure does not have; UnknownBlock for a name in `open` or `close`
    that no call in the figure has; ValueError for an unknown theme, a width that no page has, a size that no
    letters have, a title that is not text, or a depth below 0; TooLarge for more than 2000 steps.
    """
    colors = _themes().get(theme)
    if colors is None:
        raise ValueError(f"no theme `{theme}`: there is {', '.join(sorted(_themes()))}")
    if width is not None and (isinstance(width, str) or not 0.3 <= width < 1000):
        raise ValueError(f"no page is {width!r} in wide: `width` is a number of inches, such as 5.5")
    if depth is not None and (not isinstance(depth, int) or depth < 0):
        raise ValueError(f"`depth` is a whole number of levels, 0 or more, not {depth!r}")
    if title is not None and re.search("[\ud800-\udfff\ufffe\uffff]", title):
        raise ValueError(f"`title` is no text that could be written: {title!r} holds what is no character")
    if not open and depth is None:
        open = [said.text for said in hints.open]
    close = close or [said.text for said in hints.close]
    opened, closed = ((names,) if isinstance(names, str) else tuple(names) for names in (open, close))
    page_width = _page() if width is None else width * 72
    points = None if type is None else letters(type)
    laid_out = page_width if points is None else page_width * LEAST / points  # where letters of 7 pt would be as wide

    ends = len(graph.inputs) + len(graph.outputs)

    def scene(opening: Opening, *, strict: bool = False) -> Scene:
        own = Applied(hints, graph, strict=strict)
        made = scene_of(graph, opening, title, own.arrange)
        own.annotate(made)
        return made

    def sheet_of(opening: Opening) -> Sheet:
        if (count := len(scene(opening).steps) + ends) > MOST:
            raise TooLarge(f"a figure of `{graph.name}` would have {count} steps and ends, more than {MOST}")
        return fitted(lambda page: Sheet(scene(opening), colors, page, sizes=sizes, legend=legend))

    def fitted(make: Callable[[float], Sheet]) -> Sheet:
        """Rows are folded by the widths of columns. If text beside them makes a figure wider than its page, it is drawn
        again with shorter rows."""
        sheet, page = make(laid_out), laid_out
        for _ in range(4):
            over = sheet.width * LEAST / CAPTION - laid_out
            if over <= 0.05 or page < laid_out / 2:
                break
            page -= max(over + 1, 0.03 * laid_out)
            shorter = make(page)
            if shorter.width < sheet.width:
                sheet = shorter
        sheet.fit(page_width, 1.0 if points is None else points / CAPTION)
        return sheet

    opening = Opening(graph, opened, depth, closed)
    sheet = sheet_of(opening)
    if opening.growth:  # open as many of these blocks as need no further row
        for count in range(len(opening.growth), 0, -1):
            opening.grown = set(opening.growth[:count])
            larger = sheet_of(opening)
            if len(larger.rows) <= len(sheet.rows) and (points is None or larger.scale >= sheet.scale):
                sheet = larger
                break
        else:
            opening.grown = set()
    scene(opening, strict=True)  # what hints name must be in the figure that was chosen, not in those that were tried

    def redraw(toggled: frozenset[str]) -> Sheet:
        """The figure with these blocks closed if they were open, and open if they were closed."""
        other = Opening(graph, opened, depth, closed)
        other.grown = opening.grown
        other.toggled = toggled
        return sheet_of(other)  # what hints name may be closed now

    return Diagram(sheet, graph, redraw, opening.openable(graph), type=points, titled=title is not None)


def letters(size: str | float) -> float:
    """A size of letters in points: `8pt`, or a number. Raises ValueError for any other."""
    found = re.fullmatch(r"([0-9]+\.?[0-9]*|\.[0-9]+)\s*(?:pt)?", str(size))
    points = float(found[1]) if found else 0.0
    if not 4 <= points <= 72:
        raise ValueError(f'no letters are of {size!r}: `type` is a number of points, such as 8 or "8pt"')
    return points


def _themes() -> dict[str, theme.Theme]:
    return theme.THEMES


def _page() -> float:
    return theme.PAGE
