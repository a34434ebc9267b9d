"""Rich text: runs of roman, italic or bold characters on, above or below the line.

Widths are estimates. Boxes and superscripts are placed by them; nothing else depends on the font.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from .metrics import ADVANCES, MORE, OTHERS

MACRON = "\u0304"
_EMS: dict[str, dict[str, float]] = {
    style: dict(zip([*map(chr, range(32, 127)), *MORE], (n / 1000 for n in advances), strict=True))
    for style, advances in ADVANCES.items()
}
LEADING = 1.1  # from one line to the next, in font sizes
_SMALL = 0.72  # size of a sub- or superscript
_LEAST = 10.3  # but no smaller: 6 points on paper where captions have 7


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
    """The same runs as a superscript."""
    return tuple(Run(run.text, run.style, 1) for run in rich)


def lowered(rich: Rich, index: Rich) -> Rich:
    """With this as its subscript, or at the end of that which it has. What is empty stays so."""
    if not rich:
        return ()
    more = (Run(",", "i", -1),) if rich[-1].shift < 0 else ()
    return (*rich, *more, *(Run(run.text, run.style, -1) for run in index))


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


_SIGNS = "+−<>≤≥=≠"  # a line of a formula may begin so, or with a word such as "if"


def lines(rich: Rich, most: float, size: float) -> list[Rich]:
    """A formula in lines of at most about so many points, where it can be broken: before signs, and after commas."""
    words: list[list[Run]] = [[]]
    for run in rich:
        for k, part in enumerate(run.text.split(" ") if not run.shift else [run.text]):
            before = plain(tuple(words[-1]))
            word = len(part) > 1 and part.isalpha() and part != "mod" and not run.style
            if k and (word or part in (*_SIGNS,) or before.endswith(",")):
                words.append([])
            elif k:
                words[-1].append(Run(" ", run.style))
            if part:
                words[-1].append(Run(part, run.style, run.shift))
    out: list[Rich] = []
    for piece in words:
        longer = joined((*out[-1], Run(" "), *piece)) if out else ()
        if out and width(longer, size) <= most:
            out[-1] = longer
        else:
            out.append(joined(piece))
    return out


def _advance(character: str, style: str) -> float:
    """In ems."""
    return _EMS[style].get(character) or OTHERS.get(character, 780) / 1000


def rows(rich: Rich) -> list[Rich]:
    """The lines of a text whose runs hold line ends."""
    out: list[list[Run]] = [[]]
    for run in rich:
        first, *others = run.text.split("\n")
        out[-1].append(Run(first, run.style, run.shift))
        out.extend([Run(text, run.style, run.shift)] for text in others)
    return [joined(line) for line in out]


def height(rich: Rich, size: float) -> float:
    """About how high the text is, in points."""
    return size + (len(rows(rich)) - 1) * LEADING * size


def folded(rich: Rich, size: float, most: float) -> Rich:
    """The text in lines of about `most` points, broken behind `and` and `or`. A part that is longer than that makes all
    lines as long; one that is much longer is broken before a relation, or at other spaces."""
    if width(rich, size) <= 1.2 * most:
        return rich
    if len(own := rows(rich)) > 1:
        return joined(run for k, row in enumerate(own) for run in (*roman("\n" if k else ""), *folded(row, size, most)))
    out: list[Rich] = []
    parts = _split(rich, _JOINTS)
    most = max([most, *(wide for part in parts if (wide := width(_trimmed(part), size)) <= _MORE * most)])
    for part in parts:
        pieces = [part]
        for finer in (_RELATIONS, _SPACE):
            torn = [_split(p, finer) if width(_trimmed(p), size) > 1.2 * most else [p] for p in pieces]
            pieces = [piece for parts in torn for piece in parts]
        for k, piece in enumerate(pieces):
            if out and (k or len(pieces) == 1) and width(_trimmed((*out[-1], *piece)), size) <= most:
                out[-1] = joined((*out[-1], *piece))
            else:
                out.append(piece)
    return joined(run for k, line in enumerate(out) for run in (*roman("\n" if k else ""), *_trimmed(line)))


_MORE = 1.25  # a part that is so much longer than a line is not broken
_JOINTS, _RELATIONS, _SPACE = " and | or | if | else |: ", " (?=[≤<=≠])|, ", " "  # a line ends behind these


def _split(rich: Rich, joints: str) -> list[Rich]:
    """The text in parts, each of which ends with a joint of roman letters."""
    out: list[list[Run]] = [[]]
    for run in rich:
        pieces = re.split(f"({joints})", run.text) if not run.style and not run.shift else [run.text]
        for piece in pieces:
            out[-1].append(Run(piece, run.style, run.shift))
            if not run.style and not run.shift and re.fullmatch(joints, piece):
                out.append([])
    return [joined(part) for part in out if part]


def _trimmed(rich: Rich) -> Rich:
    if not rich:
        return rich
    *front, last = rich
    return joined((*front, Run(last.text.rstrip(" "), last.style, last.shift)))


def width(rich: Rich, size: float) -> float:
    """About how wide the text is, in points."""
    if any("\n" in run.text for run in rich):
        return max(width(line, size) for line in rows(rich))
    total = 0.0
    for run, following in zip(rich, (*rich[1:], None), strict=False):
        scale = shifted(run, size)[0]
        total += scale * sum(_advance(c, run.style) for c in run.text)
        if following is not None and (following.shift, following.style) != (run.shift, run.style):
            total += kern(run, size)
    return total


def kern(run: Run, size: float) -> float:
    """The gap between a run and a following one of another height or style; wider after slanted text."""
    return (0.1 if run.style == "i" else 0.08) * size


def shifted(run: Run, size: float) -> tuple[float, float]:
    """(font size, how far its middle is raised) of a run in text of this size."""
    if run.shift == 0:
        return size, 0.0
    return max(size * _SMALL, _LEAST), size * (0.32 if run.shift > 0 else -0.24)
