"""The graph of one device as it grows, and what is known of each value on the way."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from ...graph.nodes import Apply, Constant, Graph, Node, Positions, Weight
from ...graph.values import Value
from ...rewrites.tools.walk import Fresh
from ..placement import Claims, Placement
from .placing import ValuePlaces


@dataclass(frozen=True, slots=True)
class GivenInput:
    """How an input is given.

    graded:  it has a gradient.
    free:    it does not depend on weights: it can be made anew, whole or a part, where it is needed; nothing is sent.
    place:   where it lies, of a free one; None: by its type.
    entered: axes of the mesh along which its gradient is summed where it comes from, not here.
    """

    graded: bool
    free: bool
    place: Placement | None = None
    entered: frozenset[int] = frozenset()


@dataclass(eq=False)
class GrowingGraph:
    """The graph of one device. Values are those of the old graph, of the whole model, and known by their ids.

    later:      parameters whose gradients are summed at last, and along which mesh axes.
    parameters: their values.
    now:        of each old value the new one and where it lies; of those that are free wherever it was needed: `free`.
    makers:     of free values, and of those that only arrange another.
    graded:     values that have a gradient.
    entered:    axes of the mesh along which the gradient of a value is summed where it comes from, not here.
    uses:       where a value was needed, and along which mesh axes by ops that are split where it is whole.
    brought:    values brought elsewhere, once each.
    weights:    of each its place, and along which mesh axes devices have the gradient of their part of the work.
    """

    old: Graph
    places: ValuePlaces
    fresh: Fresh
    later: Mapping[int, frozenset[int]] = field(default_factory=dict)
    parameters: list[int] = field(default_factory=list)
    nodes: list[Node] = field(default_factory=list)
    now: dict[int, tuple[Value, Placement]] = field(default_factory=dict)
    free: dict[int, dict[Placement, Value]] = field(default_factory=dict)
    makers: dict[int, Apply | Positions | Constant] = field(default_factory=dict)
    graded: set[int] = field(default_factory=set)
    entered: dict[int, frozenset[int]] = field(default_factory=dict)
    uses: dict[int, set[tuple[Placement, frozenset[int]]]] = field(default_factory=dict)
    brought: dict[object, Value] = field(default_factory=dict)
    weights: dict[str, tuple[Weight, Placement, frozenset[int]]] = field(default_factory=dict)

    def split_otherwise(self, claims: Claims) -> GrowingGraph:
        """The same graph, of which what is looked up, and made, is split so. What it learns of values it has alone."""
        return replace(self, places=replace(self.places, claims=claims), now=dict(self.now))

    def enter(self, value: Value, given: GivenInput) -> None:
        """An input."""
        if given.free:
            place = self.places.batched(value) if given.place is None else given.place
            self.free[value.id] = {place: self.places.at(value, place)}
        else:
            place = self.places.of(value)
            self.now[value.id] = self.places.at(value, place), place
        if given.graded:
            self.graded.add(value.id)
        self.entered[value.id] = given.entered

    def input_place(self, value: Value) -> Placement:
        return next(iter(self.free[value.id])) if value.id in self.free else self.now[value.id][1]

    def new(self, value: Value, place: Placement) -> Value:
        """A new value that is otherwise like this one, where it is placed so."""
        return self.places.at(self.fresh(value), place)

    def cut(self, weight: Weight, place: Placement) -> Weight:
        """What a device has of a weight."""
        return replace(weight, dims=tuple(self.places.local(dim, place) for dim in weight.dims))

    def keep(self, weight: Weight, place: Placement, work: Placement) -> None:
        """A weight that lies there, of an op that is split as `work`."""
        summed = self.places.of_batch.union(m for m, axis in enumerate(work) if axis is not None)
        partial = frozenset(m for m, axis in enumerate(place) if axis is None and m in summed)
        self.weights[weight.name] = weight, place, partial
