"""What is followed of the items that are read: places of inputs, and how many items there are."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from ....dsl.base.records import record
from ...sizes.axes import Axis, Static, axes_in, known
from ...sizes.forms import LinearForm, upper_bounds
from ...sizes.predicates import Facts
from ..nodes import Graph, Input, Node
from .index import OUTERMOST, Site
from .places import counterpart, made_of, place
from .ways import ANY, UNBOUNDED, By, Forms, Items, ItemSource, PlaceBounds, Way, Ways, Why, anywhere, sharpest


@record(eq=False)
class Followed:
    """whole:   whether all that is known is followed, at twice the cost: lower bounds, what looks items up, and what
             stands behind all items of another axis, too; else no more than how far ahead is read.
    counted: families of the outermost graph's widths whose number of items is followed; None for all.
    along:   the outermost graph's width of which it is asked which items are read: how many there are is said along it.
    """

    whole: bool = True
    counted: frozenset[int] | None = None
    along: Axis | None = None

    def sizes(self, axes: Iterable[Axis], site: Site, up_to: Forms | None = None, why: Why | None = None) -> list[Way]:
        """That there is an item of each of these axes, where that says how many there are; up_to: which ones.

        `chunk = seq / 4` says how many `seq` there are: here, or where the caller's axis is made so.
        """
        found: list[Way] = []
        for axis in axes:
            found += self._sizes_of_consts(axis, site, why)
            for whole, there in self._measures(axis, site):
                forms = ANY
                if up_to is not None and there is not None:
                    forms = frozenset(there.put({axis: form}) for form in up_to)
                source = ItemSource(f"|{whole.name}|", None, (LinearForm.index(whole),))
                found.append(Way(source, (PlaceBounds(ANY, forms),), why))
        return found

    def _measures(self, axis: Axis, site: Site) -> Iterator[tuple[Axis, LinearForm | None]]:
        """Widths of the outermost graph whose number an axis tells, and which item of them is there if one of it is."""
        for base in bases(axis):
            here, outer = place(axis, {base.family}), site.axis(base)
            wholes = [whole for whole in bases(outer) if self.counted is None or whole.family in self.counted]
            along = self.told_along(axis, site) if wholes else None
            if self.along is not None and along is not None:
                yield self.along, along
                continue
            for whole in wholes:
                there = place(outer, {whole.family})
                yield whole, None if here is None or there is None else there.put({outer: here})

    def told_along(self, axis: Axis, site: Site) -> LinearForm | None:
        """Which item of the width that is asked about is there just if an item of an axis is, if one can be told."""
        if self.along is None:
            return None
        index = LinearForm.index(axis)
        for part in dict.fromkeys((axis, *bases(axis))):
            own = index if part == axis else place(axis, {part.family})
            there = None if own is None else counterpart(site.axis(part), self.along)
            if own is not None and there is not None:
                return there.put({site.axis(part): own})
        return None

    def _sizes_of_consts(self, axis: Axis, site: Site, why: Why | None) -> Iterator[Way]:
        """How many items there are of widths that a caller's const says, `width w = 2 * c` with `c = |seq|`."""
        if not axis.is_width or axis.extent is not None:
            return
        for size in (part.size for part in made_of(axis)):
            for way in self.sizes(site.behind_consts(size), OUTERMOST) if size is not None else ():
                yield Way(way.source, (UNBOUNDED,), why)

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
        picked: frozenset[str] = frozenset(),
    ) -> Way:
        """The way with forms put in the place of indices, and without those that run: as far as the facts let it."""
        bounds = []
        for each in way.at:
            uppers = self.highest(each.uppers, at, free, facts, site)
            lowers = self.highest((-form for form in each.lowers), at, free, facts, site) if self.whole else ANY
            bounds.append(PlaceBounds(frozenset(-form for form in lowers), uppers))
        return Way(way.source, tuple(bounds), why, way.picked | picked)

    def highest(
        self,
        forms: Iterable[LinearForm],
        at: Mapping[Axis, LinearForm],
        free: frozenset[Axis],
        facts: Facts,
        site: Site,
    ) -> Forms:
        """What is at most each of these, with forms put in the place of indices, and without those that run."""

        def is_bound(axis: Axis) -> bool:
            return self.is_bound(axis, site)

        moved = (form.put(at) for form in forms)
        return sharpest(
            upper
            for there in moved
            for upper in (upper_bounds(there, free, facts, is_bound) if there.indices & free else (there,))
        )


def bases(axis: Axis) -> list[Axis]:
    """The widths of a size known only at run time that the size of an axis is made of; itself, if it is one."""
    found = made_of(axis) if axis.is_width and axis.extent is None else ()
    return sorted((one for one in found if one.size is None and one.extent is None), key=lambda one: one.id)
