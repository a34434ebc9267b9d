"""Where a value lies on a mesh: a function of its type."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from ..graph.values import Role, Value
from ..sizes.axes import Axis, Kind
from .mesh import BATCH, Mesh

BATCH_AXIS = Axis(-1, BATCH, Kind.WIDTH, BATCH, None, None, None, -1, None)
"""Stands for the leading batch axes, which no type has."""


@dataclass(frozen=True, slots=True, order=True)
class Claim:
    """That a mesh axis splits an axis, unless what is split has another one that comes before it.

    order: its place among the axes that the mesh axis splits; a copy of an axis comes behind the axis itself.
    """

    order: tuple[int, int]
    mesh: int


Claims = Mapping[Axis, tuple[Claim, ...]]
"""Of the axes of one graph, by which mesh axes each may be split."""

Placement = tuple[Axis | None, ...]
"""For each axis of the mesh, the axis along which a value is split; None: whole on each of its devices."""


def claimed(axes: Iterable[Axis], mesh: Mesh) -> dict[Axis, tuple[Claim, ...]]:
    """The claims of a mesh on axes, by their names; copies of an axis are split as it is."""
    axes = list(axes)
    found: dict[Axis, tuple[Claim, ...]] = {}
    for number, one in enumerate(mesh.axes):
        families = {axis.family: one.splits.index(axis.name) for axis in axes if axis.name in one.splits}
        for axis in axes:
            if axis.family in families:
                claim = Claim((families[axis.family], int(axis.name not in one.splits)), number)
                found[axis] = (*found.get(axis, ()), claim)
    return found


def placed(axes: Iterable[Axis], claims: Claims, mesh: Mesh) -> Placement:
    """Where something with these axes lies."""
    best: list[tuple[Claim, Axis] | None] = [None] * len(mesh.axes)
    for axis in axes:
        for claim in claims.get(axis, ()):
            held = best[claim.mesh]
            if held is None or claim < held[0]:
                best[claim.mesh] = claim, axis
    return tuple(None if held is None else held[1] for held in best)


def loops(value: Value) -> tuple[Axis, ...]:
    """The axes that a value has, the batch first where it has one; also those along which it is broadcast."""
    return (BATCH_AXIS, *value.type.axes) if value.role is Role.DATA else value.type.axes
