"""Which values may be kept (`unsettled` names the others): those whose items depend on no item after them.

The result of a causal model does; a value on the way to it need not. Inside a chunk of items each may see all of the
chunk, as long as what leaves the chunk does so later. The reach of each value says so, as in the proof of causality.
"""

from __future__ import annotations

from collections.abc import Iterator

from ..causality.caller_sizes import CallerSizes, made_of
from ..causality.leak import Trace
from ..causality.proof import reach_of_input
from ..causality.reach import TOP, Info
from ..graph.nodes import Repeat
from ..graph.values import Value
from ..sizes.axes import Axis
from ..sizes.forms import LinearForm, holds
from .facts import SiteFacts
from .sites import TIME, Cell, Site

Carried = tuple[Site, int]  # the site around a repeat and its bodies' place there; the number of the value


def unsettled(root: Site, time: Axis) -> set[Cell]:
    """The values made of items along time of which an item may still change with those after it."""
    claimed = frozenset({time.family})
    sizes = CallerSizes(frozenset(part.family for part in made_of(time)), claimed=claimed)
    direct = any(axis.family == time.family for entry in root.graph.inputs for axis in entry.value.type.axes)
    inputs = [reach_of_input(entry, time, sizes, direct) for entry in root.graph.inputs]
    changing: set[tuple[int, int]] = set()  # of repeats, by id, and the numbers of what they carry

    def carried(site: Site, number: int, sizes: CallerSizes) -> Info:
        """What goes round is taken to be settled until it is found not to be."""
        assert site.repeat is not None
        here = _place(site, site.graph.inputs[number].value)
        trace = Trace("", None, None)
        if here is None or (id(site.repeat), number) in changing:
            return Info({TOP: trace})
        return Info({frozenset({here}): trace})

    while True:
        facts = SiteFacts(root, inputs, sizes, carried)
        before = len(changing)
        for body, repeat in _bodies(root):
            for number in range(repeat.carried):
                if not _settled(facts, body, body.graph.outputs[number].value):
                    changing.add((id(repeat), number))
        if len(changing) == before:
            break
    cells = (cell for site in root.walk() for cell in site.cells.values())
    return {cell for cell in cells if cell.kind == TIME and not _settled(facts, cell.site, cell.value)}


def _bodies(root: Site) -> Iterator[tuple[Site, Repeat]]:
    for site in root.walk():
        if site.repeat is not None:
            yield site, site.repeat


def _settled(facts: SiteFacts, site: Site, value: Value) -> bool:
    here = _place(site, value)
    reaches = [infos[value.id].reach for infos in facts.infos[site]]
    if here is None:
        return not any(reaches)
    none = -LinearForm.number(1)  # a place before the first item: of a prefix
    return all(any(holds(here - form) or holds(none - form) for form in bound) for reach in reaches for bound in reach)


def _place(site: Site, value: Value) -> LinearForm | None:
    """The last item of time that an item of the value may depend on: what is in a chunk is kept once that is over."""
    axes = [axis for axis in site.time(value.type.axes) if axis.family in site.paces]
    return site.paces[axes[0].family].place(axes[0]) if axes else None
