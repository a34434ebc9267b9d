"""Who reads what: for each result of a model the items of its inputs that one of its items reads.

It is the relation of items (`graph/core/relation.py`), asked along every width, in the words of the text:
`transformer[target, vocab] reads target_ids[target'] where target' <= target`. All bounds hold; one that is not known
is left out. Along depths everything is read, which is not said.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from ..dsl.base.records import record, replace
from .graph.core.relation import relation
from .graph.core.ways import PlaceBounds, Way
from .graph.nodes import Graph, Output
from .rewrites.picks.follow import follow_picks
from .sizes.axes import Axis
from .sizes.forms import LinearForm, holds, show


@record
class ReadPlace:
    """Where the items stand that are read, along one width of an input, or of a width how many items there are.

    axis:   the width. index: what an index of it is called: `seq'` where the result has an axis of that name itself.
    exact:  the one item that it is; else None. Formulas are of the result's indices, and of sizes, `|seq|`.
    lowers: what the index is at least, uppers: and at most; empty where that is not known, or no news.
    """

    axis: str
    index: str
    exact: str | None
    lowers: tuple[str, ...]
    uppers: tuple[str, ...]

    @property
    def where(self) -> str:
        """`seq - 3 <= seq' <= seq`, or nothing."""
        if len(self.lowers) == len(self.uppers) == 1:
            return f"{self.lowers[0]} <= {self.index} <= {self.uppers[0]}"
        sides = [f"{self.index} >= {each}" for each in self.lowers] + [
            f"{self.index} <= {each}" for each in self.uppers
        ]
        return " and ".join(sides)


@record
class ItemsRead:
    """One way in which an item of a result reads items.

    input:  whose items; None: it reads how many items of a width there are, and `at` has that width.
    at:     where they stand, along each width of the input.
    picked: the indices by which all of them are looked up: which these are hangs on data.
    """

    input: str | None
    at: tuple[ReadPlace, ...]
    picked: tuple[str, ...] = ()

    def __str__(self) -> str:
        if self.input is None:
            (place,) = self.at
            few = "".join(f", up to {each}" for each in place.uppers)
            return f"|{place.axis}| (how many there are{few})"
        inside = ", ".join(place.index if place.exact is None else place.exact for place in self.at)
        where = " and ".join(place.where for place in self.at if place.where)
        by = " and ".join(f"`{each}`" for each in self.picked)
        return (
            self.input
            + (f"[{inside}]" if inside else "")
            + (f" where {where}" if where else "")
            + (f", picked by {by}" if by else "")
        )


@record
class ResultReads:
    """A result, its axes, and each way in which an item of it reads: inputs in their order, then sizes."""

    name: str
    axes: tuple[str, ...]
    ways: tuple[ItemsRead, ...]

    def __str__(self) -> str:
        inside = f"[{', '.join(self.axes)}]" if self.axes else ""
        return "\n".join(f"{self.name}{inside} reads {way}" for way in self.ways or ("no input",))

    def data(self) -> dict[str, Any]:
        """As JSON has it."""
        ways = [{"input": way.input, "at": list(map(_fields, way.at)), "picked": [*way.picked]} for way in self.ways]
        return {"name": self.name, "axes": [*self.axes], "reads": ways}


def _fields(place: ReadPlace) -> dict[str, Any]:
    lowers, uppers = [*place.lowers], [*place.uppers]
    return {"axis": place.axis, "called": place.index, "exact": place.exact, "lowers": lowers, "uppers": uppers}


def reads(graph: Graph) -> tuple[ResultReads, ...]:
    """Of each result of a model, or of a block that stands alone."""
    followed, _ = follow_picks(graph)
    names = _Names(followed)
    return tuple(
        ResultReads(
            output.name or graph.name, tuple(axis.name for axis in output.axes), tuple(names.told(items, output))
        )
        for output, items in zip(followed.outputs, (one.ways for one in relation(followed)), strict=True)
    )


class _Names:
    """What is read, in the words of the text."""

    def __init__(self, graph: Graph) -> None:
        widths = [axis for entry in graph.inputs for axis in entry.value.type.axes if axis.is_width]
        self.of: Mapping[int, Axis] = {axis.family: axis for axis in reversed(widths)}

    def told(self, ways: Iterable[Way], output: Output) -> Iterator[ItemsRead]:
        """Each once, without those that say nothing beside another: inputs first, of each what is known best."""
        plain = list(dict.fromkeys(map(self._plain, ways)))
        kept = [way for way in plain if not any(way is not other and _says_less(way, other, output) for other in plain)]
        own = {axis.name for axis in output.axes}
        order = sorted(kept, key=lambda way: (way.source.number is None, way.source.number or 0))
        yield from dict.fromkeys(self._way(way, own) for way in order)

    def _plain(self, way: Way) -> Way:
        """Without bounds that say nothing; copies of a width have as many items as it."""
        if way.source.number is None:
            (whole,) = (axis for form in way.source.places for axis in form.indices)
            named = self.of.get(whole.family, whole)
            places: tuple[LinearForm, ...] = (LinearForm.index(named),)
            way = replace(way, source=replace(way.source, name=f"|{named.name}|", places=places))
        return replace(way, at=tuple(map(_news, way.source.places, way.at)), why=None)

    def _way(self, way: Way, own: set[str]) -> ItemsRead:
        at = tuple(_place(form, bounds, own) for form, bounds in zip(way.source.places, way.at, strict=True))
        return ItemsRead(None if way.source.number is None else way.source.name, at, tuple(sorted(way.picked)))


def _says_less(way: Way, other: Way, output: Output) -> bool:
    """Whether it lies within another; that items are there is told by what reads those behind the result's own."""
    if way.source.number is not None or other.source.number is None or other.picked:
        return way.within(other)
    (whole,) = (axis for form in way.source.places for axis in form.indices)
    own = [LinearForm.index(axis) + LinearForm.number(1) for axis in output.axes if axis.family == whole.family]
    there = PlaceBounds(way.at[0].lowers | set(own), way.at[0].uppers)
    read = zip(other.source.places, other.at, strict=True)
    return any(axis.family == whole.family and there.within(at) for form, at in read for axis in form.indices)


def _news(place: LinearForm, bounds: PlaceBounds) -> PlaceBounds:
    """What is not so anyway: an index is 0 or more, and less than its size."""
    (axis,) = place.indices
    if bounds.exact is not None:
        only = frozenset({bounds.exact})
        return PlaceBounds(only, only)
    last = LinearForm.extent(axis) - LinearForm.number(1)
    lowers = [-form for form in _sharpest([-form for form in bounds.lowers if not holds(-form)])]
    return PlaceBounds(frozenset(lowers), frozenset(_sharpest([f for f in bounds.uppers if not holds(f - last)])))


def _sharpest(uppers: list[LinearForm]) -> list[LinearForm]:
    """Without those below which another surely is, whatever the indices are."""
    kept: list[LinearForm] = []
    for form in sorted(uppers, key=show):
        if not any(holds(form - other) for other in kept):
            kept = [other for other in kept if not holds(other - form)] + [form]
    return kept


def _written(form: LinearForm) -> str:
    """`floor(seq / 64)`, not of `1/64 * seq`."""
    return re.sub(r"\b1(/\d+) \* (\|?\w+\|?)", lambda part: f"{part[2]} {part[1][0]} {part[1][1:]}", show(form))


def _place(place: LinearForm, bounds: PlaceBounds, own: set[str]) -> ReadPlace:
    (axis,) = place.indices
    index = f"{axis.name}'" if axis.name in own else axis.name
    exact = bounds.exact
    if exact is not None:
        return ReadPlace(axis.name, index, _written(exact), (), ())
    lowers, uppers = (tuple(sorted(map(_written, side))) for side in (bounds.lowers, bounds.uppers))
    return ReadPlace(axis.name, index, None, lowers, uppers)
