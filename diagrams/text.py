"""Rich text: runs of roman, italic or bold characters on, above or below the line.

Widths are estimates: boxes and superscripts are placed by them, and nothing else hangs on a font.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

MACRON = "\u0304"
LOW = "acegmnopqrsuvwxyz"  # letters that a macron sits right above
# Advances in ems, of Computer Modern; Times is a little narrower, so nothing outgrows its room.
_EMS = {
    **dict.fromkeys("ijl.,;:|!' ", 0.28),
    **dict.fromkeys("ft()[]rsI", 0.4),
    **dict.fromkeys("acegoqvxyz0123456789/?", 0.5),
    **dict.fromkeys("bdhknpu", 0.555),
    **dict.fromkeys("w", 0.72),
    **dict.fromkeys("m", 0.83),
    **dict.fromkeys("+−×=≤≥≠÷<>", 0.78),
    **dict.fromkeys("MW", 0.95),
    **dict.fromkeys("\u0304\u0305", 0.0),
}
_SMALL = 0.72  # size of a sub- or superscript


@dataclass(frozen=True, slots=True)
class Run:
    """Characters of one style. `shift`: 1 superscript, 0 on the line, -1 subscript."""

    text: str
    style: str = ""  # "", "i" or "b"
    shift: int = 0


Rich = tuple[Run, ...]


def roman(text: str) -> Rich:
    return (Run(text),) if text else ()


def italic(text: str) -> Rich:
    return (Run(text, "i"),) if text else ()


def bold(text: str) -> Rich:
    return (Run(text, "b"),) if text else ()


def raised(rich: Rich) -> Rich:
    """The same runs as a superscript; what was raised stays so."""
    return tuple(Run(run.text, run.style, 1) for run in rich)


def plain(rich: Rich) -> str:
    return "".join(run.text for run in rich)


def joined(rich: Iterable[Run]) -> Rich:
    """Neighbours of one style as one run."""
    out: list[Run] = []
    for run in rich:
        if out and (out[-1].style, out[-1].shift) == (run.style, run.shift):
            out[-1] = Run(out[-1].text + run.text, run.style, run.shift)
        elif run.text:
            out.append(run)
    return tuple(out)


def _advance(character: str) -> float:
    return _EMS.get(character, 0.72 if character.isupper() else 0.6)


def width(rich: Rich, size: float) -> float:
    """About how wide the text is, in points."""
    total = 0.0
    for run in rich:
        scale = size * (_SMALL if run.shift else 1.0) * (1.1 if run.style == "b" else 1.0)
        total += scale * sum(map(_advance, run.text))
    return total


def shifted(run: Run, size: float) -> tuple[float, float]:
    """(font size, how far its middle is raised) of a run in text of this size."""
    if run.shift == 0:
        return size, 0.0
    return size * _SMALL, size * (0.36 if run.shift > 0 else -0.24)


def axis_label(label: str, *, is_width: bool) -> Rich:
    """An axis' name as its wire bears it: italic, what follows an underscore below the line.

    A width of one low letter has a macron; over any other name the sheet draws a line (`barred`), since fonts set
    accents on tall letters badly.
    """
    base, _, sub = label.partition("_")
    if is_width and not barred(label):
        base += MACRON
    return (Run(base, "i"), Run(sub.replace("_", " "), "i", -1)) if sub and base else (Run(base or sub, "i"),)


def barred(label: str) -> bool:
    """Whether a width's name needs a line of its own over it."""
    base = label.partition("_")[0]
    return len(base) != 1 or base not in LOW
