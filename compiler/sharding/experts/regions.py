"""What is done for rows, and what axes of the mesh do with these."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from ...graph.nodes import Apply, Graph
from ...graph.values import Value
from ...ops.internal import BACK, DISPATCH, TAKEN, WEIGHED
from ...sizes.axes import Axis
from ..mesh import Mesh
from ..placement import BATCH_AXIS, Claim, Claims, Placement, loops, placed


@dataclass(frozen=True, eq=False)
class RowRegion:
    """What is done for the rows of one dispatch.

    axis:   of experts.
    home:   where the items are that rows are of.
    over:   mesh axes along which rows are sent to the devices of their experts, in turn.
    own:    a mesh axis each of whose devices does those of all rows that picked its experts; None: there is none.
    claims: of what is done for rows, which stand where the batch stands.
    """

    mesh: Mesh
    axis: Axis
    home: Placement
    over: tuple[int, ...]
    own: int | None
    claims: Claims

    @property
    def mine(self) -> tuple[int, ...]:
        """`own` as one of none or one."""
        return () if self.own is None else (self.own,)

    @property
    def divided(self) -> frozenset[int]:
        """Mesh axes along which each device has rows of its own."""
        return frozenset((*(m for m, axis in enumerate(self.home) if axis is not None), *self.mine))

    def experts(self, along: Iterable[int]) -> Placement:
        """Where what experts have lies, if these axes of the mesh split it."""
        along = {*along}
        return tuple(self.axis if m in along else None for m in range(len(self.home)))

    def of_rows(self, value: Value) -> Placement:
        """Where a value of rows lies."""
        return placed(loops(value), self.claims, self.mesh)


@dataclass
class RowRegions:
    """Of one graph.

    found:   of the values that are of rows, or say which there are, by their ids.
    weights: the names of those of maps that are done for rows.
    """

    found: dict[int, RowRegion] = field(default_factory=dict)
    weights: set[str] = field(default_factory=set)

    def of(self, node: Apply) -> RowRegion | None:
        """The region that a node belongs to, if it does."""
        if node.traits is DISPATCH:
            return self.found.get(node.out.id)
        given = node.operands if node.mask is None else (*node.operands, node.mask)
        return next((self.found[value.id] for value in given if value.id in self.found), None)


def regions_of(graph: Graph, claims: Claims, mesh: Mesh) -> RowRegions:
    """The regions of a graph whose axes are split as `claims` says."""
    regions = RowRegions()
    for dispatch in graph.nodes:
        if not isinstance(dispatch, Apply) or dispatch.traits is not DISPATCH:
            continue
        rows, axes = {dispatch.out.id}, dict[Axis, None]()
        for node in graph.nodes:
            if not isinstance(node, Apply) or not any(value.id in rows for value in node.operands):
                continue
            if node.traits is not BACK and node.traits is not WEIGHED:
                rows.add(node.out.id)
                own = () if node.traits is TAKEN else node.axes
                axes.update(dict.fromkeys((*node.out.type.axes, *node.made, *own)))
                regions.weights |= {weight.name for weight in node.weights}
        region = _region(dispatch, [axis for axis in axes if axis not in dispatch.each], claims, mesh)
        regions.found |= dict.fromkeys(rows, region)
    return regions


def _region(dispatch: Apply, own: list[Axis], claims: Claims, mesh: Mesh) -> RowRegion:
    (expert,), items = dispatch.each, (BATCH_AXIS, *dispatch.axes)
    home: list[Axis | None] = []
    over: list[int] = []
    alone: list[int] = []
    for m in range(len(mesh.axes)):

        def first(axes: Iterable[Axis], m: int = m) -> tuple[Claim, Axis] | None:
            able = [(claim, axis) for axis in axes for claim in claims.get(axis, ()) if claim.mesh == m]
            return min(able, key=lambda each: each[0], default=None)

        best, of_items = first((*items, expert, *own)), first(items)
        home.append(of_items[1] if of_items is not None and best == of_items else None)
        if home[m] is not None and first([expert]) is not None:
            over.append(m)
        elif best is not None and best[1] == expert:
            alone.append(m)
    # a device has a run of the experts, of which axes of the mesh that come first take the larger parts
    mine = alone[0] if alone and not any(m < alone[0] for m in over) else None
    return RowRegion(mesh, expert, tuple(home), tuple(over), mine, _claims(own, home, mine, claims))


def _claims(own: list[Axis], home: list[Axis | None], alone: int | None, claims: Claims) -> Claims:
    split = [m for m, axis in enumerate(home) if axis is not None or m == alone]
    found = {axis: tuple(claim for claim in claims.get(axis, ()) if claim.mesh not in split) for axis in own}
    found[BATCH_AXIS] = tuple(Claim((-1, 0), m) for m in split)
    return found
