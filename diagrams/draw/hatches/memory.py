"""Wires of what streams: one stroke where items lie in shared memory, two where they lie in registers, none in device
memory. A stroke is a point to the right where tile after tile goes through.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ....compiler.sizes.axes import Axis
from ...canvas.drawing import Canvas
from ...layout.wires import Wire
from ...scene.steps import Section, StepKind
from ...scene.tensors import Tensor
from .strokes import Marked, Strokes

SHARED, REGISTERS = "in shared memory", "in registers alone"
_TWO = (-1.9, 1.9)
LOOKS = (
    Strokes(60.0, (0.0,), SHARED),
    Strokes(60.0, _TWO, REGISTERS),
    Strokes(None, (1.0,), f"{SHARED}, tile after tile", "1"),
    Strokes(None, (-1.0, 3.2), f"{REGISTERS}, tile after tile", "1"),
)
STREAMED = 2  # added to the number of a look where the axis is the one that streams


@dataclass(frozen=True)
class DrawnMemory:
    """Levels of memory of a device."""

    device: str

    @property
    def flags(self) -> str:
        """With which `attnc draw` draws them."""
        return " --levels" + (f" --device {self.device}" if self.device != "h100" else "")

    @property
    def looks(self) -> Sequence[Strokes]:
        return LOOKS

    def marked(self, sheet: Canvas) -> Marked:
        """Where tensors lie: what enters a loop in shared memory, what is made in it in registers."""
        level: dict[int, int] = {}
        along: dict[int, Axis | None] = {}
        for step in sheet.scene.steps:
            entered = step.border if step.kind is StepKind.ENTER else None
            loop = _loop(entered or step.section)
            for out in step.outs:
                along[id(out)] = None if loop is None else loop.streams
                table = step.kind is StepKind.SOURCE and step.learned  # items are looked up in it
                if loop is None or table or id(out) in loop.looked:
                    level[id(out)] = 0
                elif entered is loop:
                    level[id(out)] = 1
                else:
                    level[id(out)] = level[id(step.ins[0])] if step.kind is StepKind.COPY else 2

        def marks(tensor: Tensor, wire: Wire) -> tuple[int, ...]:
            own = level.get(id(tensor), 0)
            return (own - 1 + STREAMED * (wire.axis == along[id(tensor)]),) if own else ()

        return marks


def _loop(section: Section | None) -> Section | None:
    while section is not None and section.streams is None:
        section = section.parent
    return section
