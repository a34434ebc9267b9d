"""Where each weight lies on a mesh."""

from __future__ import annotations

from dataclasses import dataclass

from ..graph.nodes import Call, Scan, Weight
from ..sizes.axes import Axis, evaluate
from .placement import Placement
from .spread import GraphSpread


@dataclass(frozen=True, slots=True)
class PlacedWeight:
    """A weight of the model.

    weight:  as the model has it.
    place:   the axis along which each mesh axis splits it; None: each of its devices has all of it.
    partial: mesh axes along which devices have the gradient of their part of the work alone: they are summed.
    learned: a gradient reaches it; else there is none to be summed or kept, nor a state of an optimiser.
    """

    weight: Weight
    place: Placement
    partial: frozenset[int]
    learned: bool = True

    def split(self, mesh: int) -> tuple[int, int, Axis] | None:
        """Where the axis is that a mesh axis splits: the dimension, its place among the axes there, and the axis."""
        axis = self.place[mesh]
        if axis is None:
            return None
        return next((number, dim.index(axis), axis) for number, dim in enumerate(self.weight.dims) if axis in dim)


def placed_weights(spread: GraphSpread) -> dict[str, PlacedWeight]:
    """Every weight by its path, as `state_dict` has it."""
    found: dict[str, PlacedWeight] = {name: PlacedWeight(*entry) for name, entry in spread.weights.items()}
    for node, inner in spread.inner:
        if isinstance(node, Call | Scan):
            _nest(found, f"{node.name}." if node.name else "", inner[0])
        elif node.shared:
            for one in inner:
                _nest(found, node.prefix, one)
        else:
            count = evaluate(node.count)
            assert isinstance(count, int)
            for number in range(count):
                _nest(found, f"{node.name}.{number}.", inner[node.runs(number)])
    return found


def _nest(found: dict[str, PlacedWeight], prefix: str, spread: GraphSpread) -> None:
    for path, weight in placed_weights(spread).items():
        found.setdefault(prefix + path, weight)
