"""A figure too large for its page: a main panel, and lettered panels of the blocks that it would have opened.

Blocks are closed, the innermost first and of those the largest, until the figure fits; each then has a panel of its own
(a, b, ..), in which its blocks are open, or are panels in their turn. The letter stands in the block's box. What is
still too high goes on, row by row, on further pages.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from ...compiler.graph.nodes import Graph
from ..base.text import plain
from ..hints.hints import Hints, tinted
from ..scene.opening import Opening
from ..scene.steps import Path, Scene
from ..scene.unfold import scene_of
from .sheet import Sheet

_TITLE = 40.0  # points of the drawing: a title

Rows = tuple[int, int]


@dataclass(frozen=True, slots=True)
class PanelPart:
    """What one panel is to show. letter, path: "" and () of the main panel; path: the blocks around it, and its own.
    hints: what the author says of it, and of panels that come after it."""

    graph: Graph
    opening: Opening
    hints: Hints
    letter: str = ""
    path: Path = ()


Make = Callable[[PanelPart, Rows | None], Sheet]
"""The sheet of a part; of some of its rows alone, or of all."""
Rest = Callable[[PanelPart], Hints]
"""What the author says that is not of this part."""


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


def panels(main: PanelPart, make: Make, rest: Rest) -> list[Panel]:
    """The main panel first, then the others in the order in which they are named. What the author says of a thing goes
    to the first panel that has it."""
    out: list[Panel] = []
    letters: dict[object, str] = {}
    todo, hints = [main], main.hints
    while todo:
        part = todo.pop(0)
        own = tinted(replace(hints, tints=()), part.graph) if hints.every else hints
        part = replace(part, hints=own)
        sheet = _fitting(part, make)
        if part.opening.apart:
            for call, inside, path in part.opening.closed(part.graph):
                key = _signature(
                    call.graph.name, scene_of(call.graph, Opening(call.graph, depth=99), "", None, (frozenset(),))
                )
                if key not in letters:
                    letters[key] = _letter(len(letters))
                    todo.append(PanelPart(call.graph, inside, hints, letters[key], (*part.path, *path)))
                part.opening.letters[id(call)] = letters[key]
            sheet = make(part, None)
        hints = rest(part)
        spans = _pages(sheet)
        sheets = [sheet] if len(spans) == 1 else [make(part, span) for span in spans]
        out += [Panel(part.letter, k, part.graph, each) for k, each in enumerate(sheets, 1)]
    return out


def _fitting(part: PanelPart, make: Make) -> Sheet:
    """The sheet, with blocks closed (`opening.apart`) until it fits or none is open."""
    sheet = make(part, None)
    while not sheet.fits and (opened := part.opening.opened(part.graph)):
        part.opening.apart.add(opened[0])
        sheet = make(part, None)
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
