"""The names of a closed block's arguments and results, written inside its edges."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

from ..base import theme
from ..base.text import width
from ..layout.glyph_sizes import Slot
from ..layout.ports import LINE, TICK, Ports, named
from ..layout.wires import Meeting
from ..scene.steps import DrawStep

if TYPE_CHECKING:
    from ..canvas.drawing import Canvas


def write_ports(
    sheet: Canvas, step: DrawStep, meeting: Meeting, slot: Slot, side: float, middle: float, half: float
) -> list[float]:
    """Each in the middle of its wires, or at the outermost of these where it would stand at the title's height; returns
    their heights. side: how far the front of the box is from its back. middle, half: of the title, with its masks."""
    ins, outs = named(step)
    heights = []
    for at, texts, group in ((1, ins, meeting.ins), (-1, outs, meeting.outs)):
        edge = slot.x0 if at > 0 else slot.x1 - side
        for text, own in zip(texts, group, strict=False):
            if text:
                ys = [sheet.y(wire, slot.column) for wire in own]
                y, wide = (min(ys) + max(ys)) / 2, width(text, theme.CAPTION)
                y += side / 2
                if abs(y - middle) < half + LINE:
                    outer = max(ys[0], ys[-1], key=lambda at: abs(at - middle))
                    y = outer + (side if outer < middle else -1.0)
                sheet.write(
                    edge + at * (TICK + 1.5 + wide / 2), y, text, theme.CAPTION, cls="port in" if at > 0 else "port out"
                )
                heights.append(y)
    return heights


def title_at(ports: Ports, slot: Slot, side: float, y: float, half: float, taken: list[float]) -> tuple[float, float]:
    """Where the title and the masks, `half` of them so high, stand: beside the names, or in a gap between these."""
    x0, x1 = slot.x0, slot.x1 - side
    if not taken:
        return (x0 + x1) / 2, y
    if ports.beside:
        x0 += TICK + ports.left if ports.left else 0.0
        x1 -= TICK + ports.right if ports.right else 0.0
        return (x0 + x1) / 2, y
    edges = sorted(taken)
    middles = [(a + b) / 2 for a, b in pairwise(edges)]
    places = [y, *sorted(middles, key=lambda m: abs(m - y))]
    free = (p for p in places if all(abs(p - t) >= half + LINE - 1 for t in taken))
    return (x0 + x1) / 2, next(free, y)
