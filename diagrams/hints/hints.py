"""The hints for one figure, as data."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, replace
from itertools import cycle

from ...compiler.graph.nodes import Graph, makes, nested, values_of
from ...compiler.graph.values import Role, Scalar, Value
from ...dsl.source import Span

TINTS = {
    "yellow": "#FFF4A3",
    "orange": "#FDDDB5",
    "pink": "#F7CFE3",
    "violet": "#DCD2EE",
    "blue": "#CFE5F5",
    "green": "#CDE8D2",
    "gray": "#E6E6E6",
}
SIDES = ("above", "below")


@dataclass(frozen=True, slots=True)
class Said:
    """What hints name, as they write it: `Q`, `cross.Q` (within a block that is open), `Q[h]` (a wire of it).

    `span` is None where hints are no text.
    """

    text: str
    span: Span | None = None


@dataclass(frozen=True, slots=True)
class Note:
    """A callout: text in a tinted box, tied to what it speaks of. `side` is empty where the layout chooses it."""

    text: str
    at: tuple[Said, ...]
    tint: str = "yellow"
    side: str = ""


@dataclass(frozen=True, slots=True)
class Hints:
    """inputs: from top to bottom; others follow. breaks: a row begins at each. hide: drawn as a name alone.
    tints: behind the glyph of each value, and behind its equation. open, close: blocks, as with `draw`."""

    inputs: tuple[Said, ...] = ()
    breaks: tuple[Said, ...] = ()
    hide: tuple[Said, ...] = ()
    notes: tuple[Note, ...] = ()
    tints: tuple[tuple[Said, str], ...] = ()
    every: bool = False  # the tints are for whatever of their names is drawn
    open: tuple[Said, ...] = ()
    close: tuple[Said, ...] = ()


NONE = Hints()


def tinted(hints: Hints, graph: Graph) -> Hints:
    """With a tint for each value that has a name of its own, in repeats and blocks, too, unless the author has chosen
    tints."""
    if hints.tints:
        return hints
    within = [value for inner in nested(graph) if inner is not graph for node in inner.nodes for value in makes(node)]
    outer = {value.name for value in values_of(graph)}
    own = [*_own(values_of(graph)), *(name for name in _own(within) if name not in outer)]
    names = [name for name in own if all(name != entry.name for entry in graph.inputs)]
    return replace(hints, tints=tuple(zip(map(Said, names), cycle(TINTS), strict=False)), every=True)


def _own(values: Iterable[Value]) -> list[str]:
    """The names that one of these has alone, of those that are no tables."""
    values = list(values)
    taken = Counter(value.name for value in values)
    return [v.name for v in values
            if v.name and taken[v.name] == 1 and v.role > Role.TABLE and v.type.element is not Scalar.BOOL]  # fmt: skip
