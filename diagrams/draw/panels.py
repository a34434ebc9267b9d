"""A figure too large for its page: a main panel, and lettered panels of the blocks that it would have opened.

Blocks are closed, the innermost first and of those the largest, until the figure fits; each then has a panel of its own
(a, b, ..), in which its blocks are open, or are panels in their turn. The letter stands in the block's box. What is
still too high goes on, row by row, on further pages.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from ...compiler.graph.nodes import Graph
from ..base.text import plain
from ..scene.opening import Opening
from ..scene.steps import Scene
from ..scene.unfold import scene_of
from .sheet import Sheet

_TITLE = 40.0  # points of the drawing: a title

Rows = tuple[int, int]
Make = Callable[[Graph, Opening, str, Rows | None], Sheet]
"""The sheet of a graph with its letter; of some of its rows alone, or of all."""


@dataclass(frozen=True, slots=True)
class Panel:
    """letter: "" for the main panel.   part: 1, 2, .. where one goes on over pages."""

    letter: str
    part: int
    graph: Graph
    sheet: Sheet

    @property
    def suffix(self) -> str:
        """What its file's name has more than that of the main panel."""
        return (f"-{self.letter}" if self.letter else "") + (f"-{self.part}" if self.part > 1 else "")


def panels(graph: Graph, opening: Opening, make: Make) -> list[Panel]:
    """The main panel first, then the others in the order in which they are named."""
    out: list[Panel] = []
    letters: dict[object, str] = {}
    todo = [(graph, opening, "")]
    while todo:
        graph, opening, letter = todo.pop(0)
        sheet = _fitting(graph, opening, letter, make)
        if opening.apart:
            for call, inside in opening.closed(graph):
                key = _signature(call.graph.name, scene_of(call.graph, Opening(call.graph, depth=99), ""))
                if key not in letters:
                    letters[key] = _letter(len(letters))
                    todo.append((call.graph, inside, letters[key]))
                opening.letters[id(call)] = letters[key]
            sheet = make(graph, opening, letter, None)
        spans = _pages(sheet)
        sheets = [sheet] if len(spans) == 1 else [make(graph, opening, letter, span) for span in spans]
        out += [Panel(letter, k, graph, each) for k, each in enumerate(sheets, 1)]
    return out


def _fitting(graph: Graph, opening: Opening, letter: str, make: Make) -> Sheet:
    """The sheet, with blocks closed (`opening.apart`) until it fits or none is open."""
    sheet = make(graph, opening, letter, None)
    while not sheet.fits and (opened := opening.opened(graph)):
        opening.apart.add(opened[0])
        sheet = make(graph, opening, letter, None)
    return sheet


def _pages(sheet: Sheet) -> list[Rows]:
    """Which rows stand on one page."""
    n = len(sheet.rows)
    if sheet.fits:
        return [(0, n)]
    edges = [0.0, *(low for _, low in sheet.heights)]  # where each row ends

    def split(room: float) -> list[Rows]:
        out, start = [], 0
        for row in range(1, n):
            if edges[row + 1] - edges[start] > room:
                out.append((start, row))
                start = row
        return [*out, (start, n)]

    room = sheet.room - _TITLE
    fewest = len(split(room))
    while fewest < n and len(split(room * 0.97)) == fewest:  # pages about equally high
        room *= 0.97
    return split(room)


def _letter(n: int) -> str:
    """a, b, .. z, aa, ab, .."""
    return (_letter(n // 26 - 1) if n >= 26 else "") + "abcdefghijklmnopqrstuvwxyz"[n % 26]


def _signature(name: str, scene: Scene) -> object:
    """What a panel shows, up to the names of axes: calls of one block share it, unless they are called differently."""
    number: dict[object, int] = {}

    def axes(own: tuple[object, ...]) -> tuple[int, ...]:
        return tuple(number.setdefault(axis, len(number)) for axis in own)

    steps = []
    for step in scene.steps:
        wires = tuple(axes(t.axes) for t in (*step.ins, *step.outs))
        named = (plain(step.text), plain(step.raised), plain(step.note), repr(step.cases))
        covered = (axes(step.eaten), axes(step.made), axes(step.on), axes(step.contracted))
        steps.append((step.kind, step.mark, named, step.bias, covered, wires))
    return name, tuple(steps)
