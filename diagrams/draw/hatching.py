"""Wires of axes that a mesh splits are hatched: short strokes across them, of another slant for each axis of the mesh.

Graphviz has no pattern along an edge that keeps the wire whole (dashes are what stands between tensors). So each stroke
is an edge of its own. They need no colour.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, pairwise
from math import atan2, cos, hypot, pi, sin

from ...compiler.sharding.mesh import Mesh
from ...compiler.sharding.placement import BATCH_AXIS, Placement, claimed, placed
from ...compiler.sharding.sends import SendKind
from ...compiler.sizes.axes import Axis
from ..base.curves import sampled, straight
from ..base.picture import Edge, Point
from ..canvas.drawing import Canvas
from ..layout.wires import Wire
from ..scene.steps import DrawStep, StepKind
from ..scene.tensors import Tensor

SLANTS = ((60.0, (0.0,)), (120.0, (0.0,)), (60.0, (-1.5, 1.5)), (120.0, (-1.5, 1.5)))
"""Of each mesh axis: the angle of its strokes with the wire, in degrees, and where they stand beside one another."""
EVERY = 15.0  # points from one group of strokes to the next
REACHES = (4.0, 2.5)  # half of a stroke's length; where there is no room for any, as between a dot and a row's end
_END = 6.0  # of a wire that stays bare
_ALIKE = (StepKind.COPY, StepKind.ENTER, StepKind.EXIT)


@dataclass(frozen=True)
class DrawnMesh:
    """A mesh, and the axes of the model that is drawn."""

    mesh: Mesh
    axes: tuple[Axis, ...]


def hatch(sheet: Canvas, drawn: DrawnMesh) -> frozenset[int]:
    """Hatch all wires where they are split. The mesh axes that split any."""
    split, found = _split(sheet, drawn), set[int]()
    for (wire, curve), row in zip(tuple(sheet.curves), tuple(sheet.rows_of), strict=True):
        if wire.axis is None:
            continue
        points = _dense(curve)
        middles = [(sheet.left[j] + sheet.right[j]) / 2 for j in row]
        runs: list[tuple[tuple[int, ...], list[Point]]] = []
        for p in points:
            j = max((j for j, middle in zip(row, middles, strict=True) if middle <= p[0]), default=row[0] - 1)
            near = chain(range(j, row[0] - 2, -1), range(j + 1, row[-1] + 1))  # a copy bends away before it is known
            by = next((split[wire.number, k] for k in near if (wire.number, k) in split), ())
            if not runs or runs[-1][0] != by:
                runs.append((by, []))
            runs[-1][1].append(p)
        for by, run in runs:
            if by:
                found |= {*by}
                strokes(sheet, run, by, sheet.color(wire), own=points)
    return frozenset(found)


def strokes(
    sheet: Canvas, run: Sequence[Point], by: Sequence[int], color: str, own: Sequence[Point] | None = None
) -> None:
    """Strokes along points that lie close, where nothing else is drawn. by: of which mesh axes, in turn."""
    for reach in REACHES:
        if _strokes(sheet, run, by, color, own, reach):
            return


def _strokes(
    sheet: Canvas, run: Sequence[Point], by: Sequence[int], color: str, own: Sequence[Point] | None, reach: float
) -> int:
    """How many there was room for."""
    done, number, own_points = -EVERY + _END, 0, set(own or ())
    far = 0.0
    for a, b in pairwise(run):
        far += hypot(b[0] - a[0], b[1] - a[1])
        if far - done < EVERY or (run[-1][0] - a[0] < _END and own is not None):
            continue
        angle, beside = SLANTS[by[number % len(by)] % len(SLANTS)]
        box = (a[0] - 3.5, a[1] - reach + 0.5, a[0] + 3.5, a[1] + reach - 0.5)
        if own is not None and not sheet.occupied.free(box, own_points):
            continue
        done, number = far, number + 1
        along = atan2(b[1] - a[1], b[0] - a[0])
        for shift in beside:
            x, y = a[0] + shift * cos(along), a[1] + shift * sin(along)
            dx, dy = reach * cos(along + angle * pi / 180), reach * sin(along + angle * pi / 180)
            start, end = (x - dx, y - dy), (x + dx, y + dy)
            id = f"h{len(sheet.picture.edges)}"
            sheet.point(f"{id}_1", start)
            look = {"color": color, "penwidth": "0.9", "class": "hatch", "tooltip": "in parts"}
            sheet.picture.edges.append(Edge(f"{id}_1", f"{id}_1", [start, *straight(start, end)], look))
    return number


def _dense(curve: list[Point]) -> list[Point]:
    """Points of a curve, one in about each point of its length; those that are traced as drawn among them."""
    found: list[Point] = []
    for a, b in pairwise(sampled(curve)):
        count = max(1, int(hypot(b[0] - a[0], b[1] - a[1])))
        found += [(a[0] + (b[0] - a[0]) * k / count, a[1] + (b[1] - a[1]) * k / count) for k in range(count)]
    return [*found, curve[-1]]


def _split(sheet: Canvas, drawn: DrawnMesh) -> Mapping[tuple[int, int], tuple[int, ...]]:
    """The mesh axes that split a wire behind each column, by its number and that of the column."""
    steps = [step for column in sheet.columns for step in column.steps]
    axes = {axis: None for step in steps for tensor in (*step.ins, *step.outs) for axis in tensor.axes}
    claims = claimed([*drawn.axes, *axes, BATCH_AXIS], drawn.mesh)
    weights = {id(out) for step in steps if step.kind is StepKind.SOURCE and step.learned for out in step.outs}

    def usual(tensor: Tensor) -> Placement:
        batch = () if id(tensor) in weights else (BATCH_AXIS,)
        return placed((*tensor.axes, *batch), claims, drawn.mesh)

    places = _places(steps, usual)
    found: dict[tuple[int, int], tuple[int, ...]] = {}
    now: dict[int, tuple[int, ...]] = {}
    for j, column in enumerate(sheet.columns):
        for step in column.steps:
            meeting = sheet.meetings[id(step)]
            for tensors, wires, at in ((step.ins, meeting.ins, j - 1), (step.outs, meeting.outs, j)):
                for tensor, own in zip(tensors, wires, strict=False):
                    for wire in own:
                        by = _by(wire, places[id(tensor)])
                        if at == j:
                            now[wire.number] = by
                        else:  # where it has come from as it is
                            found[wire.number, at] = by
        for track in column.right:
            if isinstance(track, Wire):
                found.setdefault((track.number, j), now.get(track.number, ()))
    return found


def _by(wire: Wire, place: Placement) -> tuple[int, ...]:
    return tuple(number for number, axis in enumerate(place) if axis is not None and axis == wire.axis)


def _places(steps: Sequence[DrawStep], usual: Callable[[Tensor], Placement]) -> dict[int, Placement]:
    """Where each tensor lies (by id): by its axes, but for what collectives bring elsewhere, and scatter."""
    found: dict[int, Placement] = {}
    free: set[int] = set()  # inputs and tables: every device has them, and takes the part that it needs
    for step in steps:
        if step.sent is not None and step.sent.kind in (SendKind.SCATTER, SendKind.OWN):
            found[id(step.ins[0])] = _changed(usual(step.ins[0]), step.sent.mesh, None)
    for step in steps:
        of_weights = step.learned or step.weights or step.kind is StepKind.BOX
        if not of_weights and all(id(each) in free for each in step.ins):
            free |= {id(out) for out in step.outs}
            found |= {id(out): (None,) * len(usual(out)) for out in step.outs}
            continue
        before = [found.setdefault(id(tensor), usual(tensor)) for tensor in step.ins]
        for number, out in enumerate(step.outs):
            if step.sent is not None:
                found[id(out)] = _sent(step, before[0], usual(out))
            elif step.kind in _ALIKE and before:
                same = step.ins[0] if step.kind is StepKind.COPY else step.ins[number % len(step.ins)]
                names = dict(zip(same.axes, out.axes, strict=False))
                place = found[id(same)]
                found[id(out)] = tuple(axis and names.get(axis, axis) for axis in place)
            else:
                found.setdefault(id(out), usual(out))
    return found


def _sent(step: DrawStep, before: Placement, usual: Placement) -> Placement:
    assert step.sent is not None
    mesh, axes = step.sent.mesh, step.sent_along
    match step.sent.kind:
        case SendKind.GATHER:
            return _changed(before, mesh, None)
        case SendKind.OWN | SendKind.SCATTER:
            return _changed(before, mesh, axes[-1] if axes else usual[mesh])
        case SendKind.EXCHANGE:
            return _changed(before, mesh, axes[-1] if axes else None)
        case _:
            return before


def _changed(place: Placement, mesh: int, axis: Axis | None) -> Placement:
    return (*place[:mesh], axis, *place[mesh + 1 :])
