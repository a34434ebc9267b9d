"""Colours and sizes. Lengths and font sizes are in points of the unscaled drawing.

A figure is scaled down to fit the page, but not further than where its smallest text is `LEAST` points on paper.
"""

from __future__ import annotations

from dataclasses import dataclass

FONT = "CMU Serif,Latin Modern Roman,Times"

PITCH = 23.0  # between the wires of one tensor
ABOVE_DASH = 9.0  # a tensor's last wire to the dashed line beneath it
BELOW_DASH = 20.0  # the dashed line to the next tensor's first wire: room for its label
BOX_SIDE = 6.9  # how far a `box3d` lies behind its front: 4 points on paper, whatever the scale; this is the most
LANE = 18.0  # a wire to an elementwise op's lane of its own

AXIS = 12.5  # font sizes
NAME = 18.0
WORD = 13.0  # a tensor's name where it is a word
GLYPH = 14.5
RAISED = 12.0  # a weight's name at the letter of its glyph
BLOCK = 12.0
CAPTION = 12.0
TITLE = 15.0
COUNT = 15.0

PENS = {"width": 1.5, "depth": 0.95, "scalar": 1.0}  # how thick wires are, by what they stand for

LEAST = 7.0  # points on paper, of CAPTION, the smallest font
PAGE = 5.5 * 72


@dataclass(frozen=True, slots=True)
class Theme:
    """The colours of wires and glyphs. Whatever a colour says, a shape or a label says too. In black and white the wire
    of a width is a dark thick line, that of a depth a light thin one (L* 35 and 52).

    label:         of the labels of depths, which are letters and so darker than their wires.

    block, region: the tints of blocks, closed and open, in one order: a block has the same hue in both.
    part:          of the passes that a part of a repeat's body is for.
    """

    ink: str
    width: str
    depth: str
    label: str
    learned: str
    norm: str
    reduce: str
    masked: str
    kept: str
    block: tuple[str, ...]
    region: tuple[str, ...]
    part: str


COLOR = Theme(
    ink="#1A1A1A",
    width="#00548F",
    depth="#C2600A",
    label="#9C4700",
    learned="#DDE6E1",
    norm="#F2FBFB",
    reduce="#FFF3C9",
    masked="#8C8C8C",
    kept="#F8DCE9",
    block=("#FBE3C8", "#D3E8F6", "#E0D3F1", "#DDECC9", "#F8D8D8", "#D0EDE6", "#E9E1D2", "#D8DEEC"),
    region=("#FDEEDD", "#E4F1F9", "#ECE4F6", "#EAF3DE", "#FBE7E7", "#E2F4F0", "#F1ECE3", "#E7EBF3"),
    part="#F3F3F1",
)
MONO = Theme(
    ink="#1A1A1A",
    width="#1A1A1A",
    depth="#1A1A1A",
    label="#1A1A1A",
    learned="#EDEDED",
    norm="#FFFFFF",
    reduce="#FFFFFF",
    masked="#8C8C8C",
    kept="#FFFFFF",
    block=("#F4F4F4",),
    region=("#F3F3F3", "#E9E9E9"),
    part="#F3F3F3",
)
THEMES = {"color": COLOR, "mono": MONO}
