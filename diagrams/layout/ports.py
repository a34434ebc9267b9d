"""The names of a closed block's arguments and results, inside its edges: beside its title, or above and below it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ..base import theme
from ..base.text import Rich, width
from ..scene.steps import DrawStep

TICK = 4.0  # how far a wire that passes a block runs on into its box
BETWEEN = 6.0  # between a name and what stands beside it
LINE = 9.0  # half of one, and some room
ABOVE, BELOW = 15.0, 13.0  # how far a box reaches beyond each of its wires
_NEXT = max(theme.ABOVE_DASH, BELOW + 4) + max(theme.BELOW_DASH, ABOVE + 4)  # from one of its tensors to the next


@dataclass(frozen=True, slots=True)
class Ports:
    """left, right: how wide the names at each edge are. beside: whether the title stands between them, not over or
    under them."""

    left: float
    right: float
    beside: bool

    def wide(self, inner: float) -> float:
        """How wide a box is, the title and the masks of which take `inner`."""
        if not self.left and not self.right:
            return inner + 12
        apart = BETWEEN if self.left and self.right else 0.0
        names = self.left + apart + self.right
        if not self.beside:
            return max(inner + 12, names + 2 * TICK + 4)
        return 2 * TICK + 4 + names + inner + (BETWEEN if self.left else 0.0) + (0.0 if apart else BETWEEN)


def named(step: DrawStep) -> tuple[list[Rich], list[Rich]]:
    """The names of operands and of results, each empty where there is no other to tell it from."""
    ins = list(step.ports) if len(step.ins) > 1 else []
    return ins, [step.results.get(id(tensor), ()) for tensor in step.outs]


def ports_of(step: DrawStep, inside: float) -> Ports:
    """inside: how high the title and the masks are."""
    ins, outs = named(step)
    sides = [(ins, [len(t.axes) for t in step.ins]), (outs, [len(t.axes) for t in step.outs])]
    beside = any(
        text and abs(y) - LINE < inside / 2
        for texts, counts in sides
        for text, y in zip(texts, _heights(counts), strict=False)
    )
    left, right = (max((width(text, theme.CAPTION) for text in texts), default=0.0) for texts in (ins, outs))
    return Ports(left, right, beside)


def _heights(counts: Sequence[int]) -> list[float]:
    """How far from the middle of the box tensors of so many wires reach, about: they stand closer nowhere."""
    at, ends = 0.0, []
    for count in counts:
        high = theme.PITCH * (max(1, count) - 1)
        ends.append((at, at + high))
        at += high + _NEXT
    half = (at - _NEXT) / 2
    return [max(abs(low - half), abs(high - half)) for low, high in ends]
