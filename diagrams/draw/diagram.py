"""The API: `draw` makes a `Diagram` of a graph."""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Mapping
from dataclasses import replace
from functools import cached_property
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING

from graphviz import Source

from ...compiler.diff import Difference
from ...compiler.graph.nodes import Graph
from ...compiler.sharding.mesh import Mesh
from ..base import theme
from ..base.paper import Paper, inches, paper
from ..formats import dot, export, tikz
from ..hints.hints import NONE, Hints
from ..page import write as html_page
from ..page.heat import Heads, heat
from ..page.levels import Levels
from ..scene.opening import UnknownBlock
from .beside import beside
from .hatches.memory import DrawnMemory
from .hatches.meshes import DrawnMesh
from .making import FigureMaker, TooLarge
from .panels import Panel

if TYPE_CHECKING:
    from ...compiler.streams.drawn import DrawnStreams

__all__ = ["Diagram", "TooLarge", "UnknownBlock", "draw", "draw_diff"]


class Diagram:
    """A figure, laid out. `dot` is the whole figure as text; Graphviz draws it without changing any position.

    letter: of a panel; "" for the figure itself.
    suffix: what the name of its file has more than that of the figure.
    panels: what a page had no room for: the blocks that have panels of their own (a, b, ..), and further pages.
    """

    def __init__(
        self,
        panel: Panel,
        maker: FigureMaker | None,
        panels: tuple[Diagram, ...] = (),
        *,
        code: html_page.Code = list,
        type: float | None = None,
        titled: bool = True,
    ) -> None:
        self._sheet = sheet = panel.sheet
        self._type = type
        self._paper = sheet.picture if titled or panel.suffix else sheet.untitled
        self._graph = panel.graph
        self._maker, self._code = maker, code
        self.letter = panel.letter
        self.suffix = panel.suffix
        self.panels = panels
        self.dot: str = dot.write(sheet.picture, sheet.scale, sheet.theme.ink, panel.graph.name)

    @property
    def warnings(self) -> tuple[str, ...]:
        """What keeps the figure from being fit for its page, and what to do about it."""
        sheet, paper = self._sheet, self._sheet.paper
        out = []
        points = sheet.scale * theme.CAPTION
        if points < paper.least - 0.05:
            needed = sheet.needs / 72
            named = (s for s in sheet.scene.sections if not s.repeat and s.streams is None)
            titles = dict.fromkeys(s.name or s.title for s in named)
            closing = f"close {' or '.join(f'`{t}`' for t in titles)}, or " if titles else ""
            size = f"a width of {needed:.1f}in" if sheet.fits else "a higher page"
            least = f"and {paper.least:g} pt is the least that prints well"
            why = least if self._type is None else f"not at {paper.least:g} pt"
            out.append(f"the text comes out at {points:.1f} pt, {why}: {closing}give it {size}")
        elif paper.least < theme.LEAST - 0.05:
            out.append(f"letters of {paper.least:g} pt print badly: {theme.LEAST:g} pt is the least")
        maker = self._maker
        if maker is not None and not self.suffix and not self.panels:
            closed = dict.fromkeys(maker.opening.loops_out_of_sight(self._graph))
            out += [f"what streams is not seen, for it is in `{name}`, which is closed" for name in closed]
        return (*out, *(warning for panel in self.panels for warning in panel.warnings))

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

    def html(self, maps: Mapping[str, Heads] | None = None, item: int = 0) -> str:
        """One page by itself, the living figure: blocks open and close, beside equations, spec and PyTorch. Raises
        ExportError for a figure of two models.

        maps: what `attnc.inspect.look` saw of a run: steps that make these values show the numbers of this item of the
              batch, and shapes have the sizes of the run. ValueError for more than 400,000 numbers.
        """
        maker = self._maker
        if maker is None:
            raise export.ExportError("a figure of two models is no page: write .svg, .pdf, .png, .dot or .tex")
        levels = Levels(maker.level, maker.colors)
        title = self._graph.name if maker.title is None else maker.title
        return html_page.write(
            self._graph, levels, maker.opening.shown(self._graph), self._code(), heat(maps or {}, item), title=title,
            flags=maker.hatching.flags if isinstance(maker.hatching, DrawnMemory) else "",
        )  # fmt: skip

    def graphviz(self) -> Source:
        """The figure as an object of the package `graphviz`: `.view()`, `.render()`, `.pipe()`, a notebook's display.

        Those run `dot` as that package does: as long as it takes, and a PNG at the dots per inch of Graphviz.
        """
        made: Source = Source(self.dot, filename=f"{self._graph.name}.gv")
        return made

    def save(self, path: str | os.PathLike[str], *, outline: bool = False) -> Path:
        """Write .svg, .pdf, .png, .dot, .tex or .html; panels beside it: `figure-a.pdf`, and `figure-2.pdf` where the
        figure goes on. A page of HTML has no panels: there, blocks open and close.

        Raises ExportError, and then leaves nothing behind of the file that it could not write.

        What goes into a paper, .pdf and .tex, has no title unless one was asked for: a caption says it. Panels keep the
        letter and the name that boxes refer to.
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
        path = export.write_whole(Path(path), content)
        for panel in self.panels if ending != "html" else ():
            panel.save(path.with_name(f"{path.stem}{panel.suffix}{path.suffix}"), outline=outline)
        return path

    def _repr_svg_(self) -> str:
        return self.svg()

    def _repr_html_(self) -> str | None:
        """The living figure in a notebook, in a frame of its own."""
        if self._maker is None:
            return None
        page, title = escape(self.html()), escape(self._graph.name)
        look = "width: 100%; height: 40em; border: 0; resize: vertical; overflow: auto"
        return f'<iframe srcdoc="{page}" title="{title}" style="{look}"></iframe>'


def draw(
    graph: Graph,
    *,
    open: str | Collection[str] = (),
    close: str | Collection[str] = (),
    depth: int | None = None,
    width: str | float | None = None,
    page: str | tuple[float, float] | None = None,
    type: str | float | None = None,
    theme: str = "color",
    title: str | None = None,
    sizes: bool = False,
    legend: bool = False,
    hints: Hints = NONE,
    mesh: Mesh | None = None,
    streams: DrawnStreams | None = None,
    code: html_page.Code = list,
) -> Diagram:
    """The diagram of a block, model or body.

    open:   names of blocks, or labels of calls, to draw with their contents.
    close:  names of blocks, or labels of calls, to draw as boxes whatever else is said.
    depth:  how many levels of calls to open; without it, what makes a readable figure.
    width:  of the page, in inches (5.5) or as text ("14cm"); a figure too wide for it goes on in rows beneath.
    page:   instead of `width`, the width and height of the page: in inches, or as text ("14x20cm"), or one of the
            presets "neurips", "acl-column", "ieee", "slide-16x9", "poster". What a figure too large for it would open
            is in `panels`, each on its page.
    type:   the size of words in boxes, in points ("8pt" or 8), so that all figures of a paper have the same; letters
            of axes are a little larger, names larger, scripts smaller. Without it a figure has 12 pt, or as many, down
            to 7, as let it fit the page.
    theme:  "color" or "mono".
    title:  above the figure; if None, the graph's name, but nothing in .pdf and .tex; nothing if "".
    sizes:  whether the first label of an axis gives its size.
    legend: whether a strip beneath says what the axes and glyphs are.
    hints:  what the author says of the figure (`attnc.diagrams.hints`). Its blocks to open and close hold where `open`,
            `close` and `depth` say nothing.
    mesh:   of devices: wires of axes that it splits are hatched, a legend says so; `graph` has its collectives in it.
    streams: the graph with what streams as loops (`compiler.streams.drawn`), drawn in place of `graph`: wires in them
            are hatched by the level of memory, and a legend says so. What holds one is open where nothing else is said.
    code:   what gives the lines of code that `html` shows, each with the words of the spec that it comes from.

    Raises AttnError for a name in `hints` that the figure does not have; UnknownBlock for a name in `open` or `close`
    that no call in the figure has; ValueError for an unknown theme, a width or page that there is not, a size that no
    letters have, a title that is not text, or a depth below 0; TooLarge for more than 2000 steps.
    """
    _see_that_it_can_be(theme, depth, title)
    if not open and depth is None:
        open = [said.text for said in hints.open]
    opened, closed = _names(open), _names(close or [said.text for said in hints.close])
    points = None if type is None else letters(type)
    paper, colors = _paper(width, page, points), _themes()[theme]
    graph = graph if streams is None else streams.graph
    devices = None if mesh is None else DrawnMesh(mesh, graph.axes)
    maker = FigureMaker(
        graph, hints, opened, closed, depth, paper, points is not None, colors, title, sizes,
        legend or mesh is not None, devices, None, streams,
    )  # fmt: skip
    drawn = maker.panels()
    others = tuple(Diagram(panel, maker, type=points) for panel in drawn[1:])
    return Diagram(drawn[0], maker, others, type=points, titled=title is not None, code=code)


def draw_diff(found: Difference, *, width: str | float | None = None, theme: str = "color") -> Diagram:
    """The diagram of two models, one above the other, in which what came, went and changed is tinted.

    width, theme: as of `draw`.

    Raises ValueError for an unknown theme and a width that no page has, TooLarge for more than 2000 steps.
    """
    _see_that_it_can_be(theme, None, None)
    sheet = beside(found, _paper(width, None, None), _themes()[theme])
    return Diagram(Panel("", 1, found.new, sheet), None)


def _see_that_it_can_be(theme: str, depth: int | None, title: str | None) -> None:
    if theme not in _themes():
        raise ValueError(f"no theme `{theme}`: there is {', '.join(sorted(_themes()))}")
    if depth is not None and (not isinstance(depth, int) or depth < 0):
        raise ValueError(f"`depth` is a whole number of levels, 0 or more, not {depth!r}")
    if title is not None and re.search("[\ud800-\udfff\ufffe\uffff]", title):
        raise ValueError(f"`title` is no text that could be written: {title!r} holds what is no character")


def _names(names: str | Collection[str]) -> tuple[str, ...]:
    return (names,) if isinstance(names, str) else tuple(names)


def _paper(width: str | float | None, page: str | tuple[float, float] | None, points: float | None) -> Paper:
    found = _page(width, page)
    return found if points is None else replace(found, least=points, most=points)


def _page(width: str | float | None, page: str | tuple[float, float] | None) -> Paper:
    if page is None:
        width = inches(width) if isinstance(width, str) else width
        if width is not None and not 0.3 <= width < 1000:
            raise ValueError(f"no page is {width!r} inches wide: `width` is a number of inches, such as 5.5, or a text")
        return Paper() if width is None else Paper(width * 72)
    if width is not None:
        raise ValueError("`page` says how wide the page is, so `width` cannot be given too")
    if isinstance(page, str):
        return paper(page)
    wide, high = page
    if not (0.5 <= wide <= 200 and 0.5 <= high <= 200):
        raise ValueError(f"no page is {wide!r} by {high!r} in: `page` is a width and a height, such as (5.5, 9)")
    return Paper(wide * 72, high * 72)


def letters(size: str | float) -> float:
    """A size of letters in points: `8pt`, or a number. Raises ValueError for any other."""
    found = re.fullmatch(r"([0-9]+\.?[0-9]*|\.[0-9]+)\s*(?:pt)?", str(size))
    points = float(found[1]) if found else 0.0
    if not 4 <= points <= 72:
        raise ValueError(f'no letters are of {size!r}: `type` is a number of points, such as 8 or "8pt"')
    return points


def _themes() -> dict[str, theme.Theme]:
    return theme.THEMES
