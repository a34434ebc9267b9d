"""Causality, proved (LANGUAGE D12): item i of a result reads no item after i of any input along that family.

It is a question of the relation of items (`graph/core/relation.py`): of each input the places along the claimed family
are followed, and how many items there are of the widths that the claimed one is made of. What is proved is sound, not
complete: a failed proof shows the path of the leak as far as the relation sees it.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

from ...dsl.source import Span
from ...dsl.syntax import Ident
from ..graph.core.index import OUTERMOST, Site
from ..graph.core.places import group_of, made_of, place, place_of
from ..graph.core.relation import Relation
from ..graph.core.ways import ANY, By, Forms, Items, ItemSource, PlaceBounds, Way, Ways, Why, anywhere, united
from ..graph.nodes import Graph, Input
from ..problems.causality import Trials, Unproved
from ..sizes.axes import Axis
from ..sizes.forms import LinearForm, holds
from ..sizes.limits import ProofLimit, noting_limits
from .leak import leak_span
from .telling import Telling


def check_causal(
    graph: Graph, output: int, axis: Axis, span: Span, trials: Trials | None = None, trusted: Ident | None = None
) -> Unproved | None:
    """A claim that is not proved, None if it is. `axis` is one of the graph's own.

    trials: look for a witness that it leaks. trusted: why it is to be believed: then it is a warning.
    """
    claim = CausalClaim(graph, axis)
    with noting_limits() as met:
        read = claim.flow.of(graph, claim.inputs).values
    here = place_of(graph.outputs[output].axes, axis, {axis.family})
    assert here is not None  # the claim names an axis of the result
    for way, number, bound in claim.places(read[output]):
        if not any(holds(here - form) for form in bound):
            trace = Telling(claim.flow.following).trace(way, number)
            numbers = trace.turns.union(*((form - here).turns for form in bound))
            tried = None if trials is None else trials(graph, output, axis, numbers)
            limits = tuple(limit for limit in ProofLimit if limit in met)
            return Unproved(leak_span(trace, span), trace, bound, here, graph, axis, span, tried, trusted, limits)
    return None


class CausalClaim:
    """What is followed of a graph for a claim along one of its axes."""

    def __init__(self, graph: Graph, axis: Axis) -> None:
        self.graph, self.axis = graph, axis
        self.claimed = frozenset({axis.family})
        self.counted = frozenset(part.family for part in made_of(axis))
        self.flow = Relation(whole=False, counted=self.counted, along=axis, trusted=self._trusted)

    @cached_property
    def inputs(self) -> list[Items]:
        """Of each input its places along the claimed family; parts and groups have none if an input has the axis."""
        graph, claimed = self.graph, self.axis.family
        direct = any(each.family == claimed for entry in graph.inputs for each in entry.value.type.axes)
        return [
            Items(united(self._followed(entry, direct)), self.flow.input(entry, graph, number, ()).term)
            for number, entry in enumerate(graph.inputs)
        ]

    def _followed(self, entry: Input, direct: bool) -> Iterator[Way]:
        axes = entry.value.type.axes
        for each in axes:
            if not direct or each.family == self.axis.family:
                found = place(each, self.claimed, axes) or group_of(each, self.axis)
                if found is not None:
                    yield self._way(found, Why(By.INPUT, entry, self.graph, None, OUTERMOST, along=each, at=self.graph))
        yield from self.flow.default(entry, self.graph)

    @property
    def any_item(self) -> Items:
        """Of what may read any item."""
        return Items(Ways((anywhere(self._source),)))

    def up_to(self, here: LinearForm) -> Items:
        """Of what reads items up to a place along the claimed family."""
        return Items(Ways((self._way(here),)))

    def _way(self, there: LinearForm, why: Why | None = None) -> Way:
        return Way(self._source, (PlaceBounds(ANY, frozenset({there})),), why)

    @cached_property
    def _source(self) -> ItemSource:
        """All inputs are one: whose items are read is not asked."""
        return ItemSource("", 0, (LinearForm.index(self.axis),))

    def places(self, items: Items) -> Iterator[tuple[Way, int, Forms]]:
        """Of what an item of a value reads: each place that is followed, and what that is at most."""
        for way in items.ways:
            if way.source.number is not None:
                yield from ((way, number, bounds.uppers) for number, bounds in enumerate(way.at))
            elif self.counted & {whole.family for whole in way.source.places[0].indices}:
                yield way, 0, self._counted_to(way)

    def _counted_to(self, way: Way) -> Forms:
        """Up to which place along the claimed family it shows that there are items."""
        (whole,) = way.source.places[0].indices
        there = place(whole, self.claimed) or group_of(whole, self.axis)
        return ANY if there is None else frozenset(there.put({whole: form}) for form in way.at[0].uppers)

    def _trusted(self, graph: Graph, output: int, site: Site, ways: Ways) -> Ways:
        result = graph.outputs[output]
        axis = next((axis for axis in result.trusted if site.axis(axis).family in self.claimed), None)
        here = None if axis is None else place_of(result.axes, axis, {axis.family})
        if here is None:
            return ways
        own = PlaceBounds(ANY, frozenset({here}))
        return Ways(Way(way.source, (own,) * len(way.source.places), way.why) for way in ways)
