"""Pages: how wide and high a figure may be, and how large its letters. Presets have the numbers of style files."""

from __future__ import annotations

import re
from dataclasses import dataclass

from .theme import CAPTION, LEAST, PAGE

_UNITS = {"in": 72.0, "cm": 72 / 2.54, "mm": 72 / 25.4, "pt": 72 / 72.27, "": 72.0}


@dataclass(frozen=True, slots=True)
class Paper:
    """Lengths in points of 1/72 in. `height` None: as high as need be. `least`, `most`: of the smallest letters."""

    width: float = PAGE
    height: float | None = None
    least: float = LEAST
    most: float = CAPTION

    @property
    def row(self) -> float:
        """Points of the unscaled drawing that fit on it, side by side, with the smallest letters."""
        return self.width * CAPTION / self.least


def _inches(width: float, height: float, least: float = LEAST, most: float = CAPTION) -> Paper:
    return Paper(width * 72, height * 72, least, most)


PRESETS = {
    "neurips": _inches(5.5, 9),  # neurips_2024.sty: textwidth=5.5in, textheight=9in
    "acl-column": _inches(7.7 / 2.54, 24.7 / 2.54),  # acl.sty: a4paper, margin=2.5cm, \columnsep 0.6cm
    "ieee": _inches(21 * 12 / 72.27, 58 * 12 / 72.27),  # IEEEtran.cls: 43pc in two columns 1pc apart, 58 lines of 12pt
    "slide-16x9": _inches(
        14 / 2.54, 7 / 2.54, 8
    ),  # beamer, aspectratio=169: 16cm x 9cm, 1cm margins, 2cm for the title
    "poster": _inches(36 / 2.54, 60 / 2.54, 17.28, 24.88),  # gemini's poster.tex: a third of 120cm x 72cm, beamerposter
}


def inches(text: str) -> float:
    """A width of a page, in inches: `5.5in`, `14cm`, `140mm`, `397pt`, or a number of inches. Raises ValueError."""
    found = re.fullmatch(r"([0-9]+\.?[0-9]*|\.[0-9]+)\s*(in|cm|mm|pt|)", text)
    wide = float(found[1]) * _UNITS[found[2]] / 72 if found else 0.0
    if not 0.5 <= wide <= 200:
        raise ValueError(f"`{text}` is not a width such as 5.5in, 14cm, 140mm or 397pt")
    return wide


def paper(text: str) -> Paper:
    """`neurips`, or `5.5x9in`, `14x20cm`. Raises ValueError where it is neither, or no page has such a size."""
    if text in PRESETS:
        return PRESETS[text]
    number = r"([0-9]+\.?[0-9]*|\.[0-9]+)\s*"
    found = re.fullmatch(rf"{number}(in|cm|mm|pt|)\s*[x×]\s*{number}(in|cm|mm|pt|)", text)
    if found:
        unit = _UNITS[found[4]]
        wide, high = float(found[1]) * (_UNITS[found[2]] if found[2] else unit), float(found[3]) * unit
        if 36 <= wide <= 200 * 72 and 36 <= high <= 200 * 72:
            return Paper(wide, high)
    raise ValueError(f"`{text}` is not a page such as 5.5x9in or 14x20cm, and not one of {', '.join(PRESETS)}")
