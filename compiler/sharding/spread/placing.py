"""Where the values of a graph lie, and the parts of axes that devices have."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from itertools import count

from ...graph.values import Role, Value
from ...sizes.axes import Arith, Axis, Literal, SizeOf
from ...sizes.ids import PARTS
from ..mesh import Indivisible, Mesh
from ..placement import BATCH_AXIS, Claims, Placement, loops, placed

_IDS = count(PARTS)  # never the same twice, for sizes are kept by axis


@dataclass(eq=False)
class PartsOfAxes:
    """For each axis and the mesh axes that split it, one that has the items of one device."""

    mesh: Mesh
    made: dict[tuple[Axis, tuple[int, ...]], Axis] = field(default_factory=dict)
    families: dict[tuple[int, tuple[int, ...]], int] = field(default_factory=dict)

    def of(self, axis: Axis, by: tuple[int, ...]) -> Axis:
        """The items of an axis that one device has, where these axes of the mesh split it. Raises Indivisible."""
        if axis == BATCH_AXIS:
            return axis
        if (axis, by) not in self.made:
            devices = self.devices(by)
            if axis.extent is not None and axis.extent % devices:
                raise Indivisible(axis, [self.mesh.axes[number] for number in by], devices)
            id = next(_IDS)
            family = self.families.setdefault((axis.family, by), id)
            size = Arith("//", (SizeOf(axis), Literal(devices)))
            extent = None if axis.extent is None else axis.extent // devices
            bound = None if axis.bound is None else axis.bound // devices
            self.made[axis, by] = Axis(
                id, f"{axis.name}_part", axis.kind, f"{axis.label}/{devices}", extent, size, bound, family, axis.span
            )
        return self.made[axis, by]

    def devices(self, by: tuple[int, ...]) -> int:
        """Over how many devices these axes of the mesh split."""
        return math.prod(self.mesh.axes[number].size for number in by)

    def all_of(self, axis: Axis) -> list[tuple[Axis, tuple[int, ...]]]:
        """The parts of an axis that there are, and which mesh axes split it so."""
        return [(part, by) for (whole, by), part in self.made.items() if whole == axis]


@dataclass(frozen=True, eq=False)
class ValuePlaces:
    """Where the values of one graph lie, whose axes are split as `claims` says."""

    parts: PartsOfAxes
    claims: Claims

    @property
    def mesh(self) -> Mesh:
        return self.parts.mesh

    @property
    def nowhere(self) -> Placement:
        """Whole on every device."""
        return (None,) * len(self.mesh.axes)

    @property
    def of_batch(self) -> frozenset[int]:
        """The mesh axes that split the batch, of which all that is asked of a model has a part."""
        return frozenset(claim.mesh for claim in self.claims.get(BATCH_AXIS, ()))

    def at_last(self, value: Value) -> frozenset[int]:
        """The mesh axes along which the gradient of a value is summed at last, where that of all weights is: until then
        what is made of weights alone, and is whole, has that of the device's part of the batch.
        """
        return self.of_batch if value.role is Role.WEIGHT else frozenset()

    def of(self, value: Value) -> Placement:
        """Where it belongs, by its type."""
        return self.along(loops(value))

    def along(self, axes: Iterable[Axis]) -> Placement:
        """Where something with these axes lies."""
        return placed(axes, self.claims, self.mesh)

    def batched(self, value: Value) -> Placement:
        """Where a value is as the model is given it: its part of the batch."""
        return self.along([axis for axis in loops(value) if axis == BATCH_AXIS])

    def local(self, axes: Iterable[Axis], place: Placement) -> tuple[Axis, ...]:
        """The axes, parts for those that are split."""
        found = []
        for axis in axes:
            by = tuple(number for number, one in enumerate(place) if one == axis)
            found.append(self.parts.of(axis, by) if by else axis)
        return tuple(found)

    def at(self, value: Value, place: Placement) -> Value:
        """The value, of the type that it has where it is placed so."""
        axes = self.local(value.type.axes, place)
        names = dict(zip(value.type.axes, axes, strict=True))
        broadcast = frozenset(names[axis] for axis in value.type.broadcast_axes)
        return replace(value, type=replace(value.type, axes=axes, broadcast_axes=broadcast))
