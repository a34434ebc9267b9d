"""Wires of axes that a mesh splits: strokes of another slant for each axis of the mesh."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ....compiler.sharding.mesh import Mesh
from ....compiler.sharding.placement import BATCH_AXIS, Placement, claimed, placed
from ....compiler.sharding.sends import SendKind
from ....compiler.sizes.axes import Axis
from ...canvas.drawing import Canvas
from ...layout.wires import Wire
from ...scene.steps import DrawStep, StepKind
from ...scene.tensors import Tensor
from .strokes import Marked, Strokes

SLANTS = tuple(Strokes(angle, beside, "in parts") for angle, beside in (
    (60.0, (0.0,)), (120.0, (0.0,)), (60.0, (-1.5, 1.5)), (120.0, (-1.5, 1.5)),
))  # fmt: skip
"""Of each mesh axis."""
_ALIKE = (StepKind.COPY, StepKind.ENTER, StepKind.EXIT)


@dataclass(frozen=True)
class DrawnMesh:
    """A mesh, and the axes of the model that is drawn."""

    mesh: Mesh
    axes: tuple[Axis, ...]

    @property
    def looks(self) -> Sequence[Strokes]:
        return SLANTS

    def marked(self, sheet: Canvas) -> Marked:
        """The mesh axes that split a wire."""
        steps = [step for column in sheet.columns for step in column.steps]
        axes = {axis: None for step in steps for tensor in (*step.ins, *step.outs) for axis in tensor.axes}
        claims = claimed([*self.axes, *axes, BATCH_AXIS], self.mesh)
        weights = {id(out) for step in steps if step.kind is StepKind.SOURCE and step.learned for out in step.outs}

        def usual(tensor: Tensor) -> Placement:
            batch = () if id(tensor) in weights else (BATCH_AXIS,)
            return placed((*tensor.axes, *batch), claims, self.mesh)

        places = _places(steps, usual)
        return lambda tensor, wire: _by(wire, places[id(tensor)])


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
