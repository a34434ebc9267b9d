"""What is followed of the items that are read: places of inputs, and how many items there are."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from ....dsl.base.records import record
from ...sizes.axes import Axis, Static, axes_in, known
from ...sizes.forms import LinearForm, upper_bounds
from ...sizes.predicates import Facts
from ..nodes import Graph, Input, Node
from .index import OUTERMOST, Site
from .places import made_of, place
from .ways import ANY, UNBOUNDED, By, Items, ItemSource, PlaceBounds, Way, Ways, Why, anywhere, sharpest


@record(eq=False)
class Followed:
    """lowers:  whether lower bounds are followed, too: they cost as much again.
    counted: families of the outermost graph's widths whose number of items is followed; None for all.
    """

    lowers: bool = True
    counted: frozenset[int] | None = None

    def sizes(self, axes: Iterable[Axis], site: Site, at: Mapping[Axis, LinearForm] | None = None) -> list[Way]:
        """That there is an item of each of these axes, where that says how many there are; at: which item it is.

        `chunk = seq / 4` says how many `seq` there are: here, or where the caller's axis is made so.
        """
        found: list[Way] = []
        for axis in axes:
            found += self._sizes_of_consts(axis, site)
            for base in bases(axis):
                outer = site.axis(base)
                for whole in bases(outer):
                    if self.counted is not None and whole.family not in self.counted:
                        continue
                    here, there = place(axis, {base.family}), place(outer, {whole.family})
                    forms = ANY
                    if at is not None and here is not None and there is not None:
                        forms = frozenset({there.put({outer: here}).put(at)})
                    bounds = PlaceBounds(forms if self.lowers else ANY, forms)
                    found.append(Way(ItemSource(f"|{whole.name}|", None, (LinearForm.index(whole),)), (bounds,)))
        return found

    def _sizes_of_consts(self, axis: Axis, site: Site) -> Iterator[Way]:
        """How many items there are of widths that a caller's const says, `width w = 2 * c` with `c = |seq|`."""
        if not axis.is_width or axis.extent is not None:
            return
        for size in (part.size for part in made_of(axis)):
            for way in self.sizes(site.behind_consts(size), OUTERMOST) if size is not None else ():
                yield Way(way.source, (UNBOUNDED,))

    def counted_of(self, site: Site) -> Site:
        """What an answer depends on of a site: places that agree on it share their answers."""
        counted = self.counted
        if counted is None or not site.axes:
            return site
        axes = (
            (formal, actual) for formal, actual in site.axes if any(one.family in counted for one in made_of(actual))
        )
        return Site(frozenset(axes), site.consts)

    def is_bound(self, axis: Axis, site: Site) -> bool:
        """Whether it may be used that an index is at most the size of its axis: not where that is a source itself."""
        return axis.extent is not None or (self.counted is not None and not self.sizes((axis,), site))

    def number(self, value: Static, node: Node | Input, graph: Graph, site: Site) -> Iterable[Way]:
        """What a number reads: each run-time size in it. node: where it stands."""
        if known(value) is not None:
            return ()
        ways = self.sizes(axes_in(value), site) + self.sizes(site.behind_consts(value), OUTERMOST)
        why = Why(By.NUMBER, node, graph, None, site, at=graph)
        return (Way(way.source, (UNBOUNDED,) * len(way.at), why) for way in ways)

    def anything(
        self,
        by: By,
        node: Node | None,
        home: Graph,
        given: Sequence[Items],
        axes: Iterable[Axis],
        site: Site = OUTERMOST,
    ) -> Ways:
        """Any item of all that these read, and how many items there are of these axes."""
        found: dict[ItemSource, Way | None] = {}
        for way in sorted((way for one in given for way in one.ways), key=lambda way: not way.bounded):
            found.setdefault(way.source, way)
        for way in self.sizes(axes, site):
            found.setdefault(way.source, None)
        return Ways(anywhere(each, Why(by, node, home, before, site, at=home)) for each, before in found.items())

    def moved(
        self,
        way: Way,
        at: Mapping[Axis, LinearForm],
        free: frozenset[Axis],
        facts: Facts,
        site: Site,
        why: Why | None,
    ) -> Way:
        """The way with forms put in the place of indices, and without those that run: as far as the facts let it."""

        def is_bound(axis: Axis) -> bool:
            return self.is_bound(axis, site)

        def highest(form: LinearForm) -> Sequence[LinearForm]:
            there = form.put(at)
            return upper_bounds(there, free, facts, is_bound) if there.indices & free else (there,)

        bounds = []
        for each in way.at:
            uppers = sharpest(new for form in each.uppers for new in highest(form))
            lowers = sharpest(new for form in each.lowers for new in highest(-form)) if self.lowers else ANY
            bounds.append(PlaceBounds(frozenset(-form for form in lowers), uppers))
        return Way(way.source, tuple(bounds), why)


def bases(axis: Axis) -> list[Axis]:
    """The widths of a size known only at run time that the size of an axis is made of; itself, if it is one."""
    found = made_of(axis) if axis.is_width and axis.extent is None else ()
    return sorted((one for one in found if one.size is None and one.extent is None), key=lambda one: one.id)
