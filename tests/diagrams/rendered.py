"""The same questions asked of the SVG that Graphviz wrote, with the true shapes of the letters: nothing here knows how
the figure was made.
"""

from __future__ import annotations

import functools
import itertools
import re
import subprocess
import xml.etree.ElementTree as ElementTree
from dataclasses import dataclass

from attnc.diagrams.base.curves import sampled
from attnc.diagrams.base.picture import Box

SVG = "{http://www.w3.org/2000/svg}"


@dataclass(frozen=True)
class Shape:
    group: str  # the op that it belongs to
    cls: str
    box: Box


@dataclass(frozen=True)
class Text:
    text: str
    box: Box


@dataclass(frozen=True)
class Curve:
    cls: str
    ends: str
    points: tuple[tuple[float, float], ...]


@functools.cache
def _font(bold: bool, italic: bool) -> object:
    """The metrics of CMU Serif; None where it, or what reads it, is not installed."""
    try:
        from fontTools.ttLib import TTFont

        style = ("bold" if bold else "") + ("italic" if italic else "") or "roman"
        question = f"CMU Serif:{style.replace('bolditalic', 'bold:italic')}"
        found = subprocess.run(["fc-match", "-f", "%{file}", question], capture_output=True, text=True, check=True)
    except (ImportError, OSError, subprocess.CalledProcessError):
        return None
    return TTFont(found.stdout) if "cmun" in found.stdout else None


def measurable() -> bool:
    return _font(False, False) is not None


def _letters(text: str, size: float, bold: bool, italic: bool) -> tuple[float, float, float]:
    """(advance, how far down, how far up) in points."""
    font = _font(bold, italic)
    unit = size / font["head"].unitsPerEm
    names, advances, glyphs = font.getBestCmap(), font["hmtx"], font["glyf"]
    wide, low, high = 0.0, 0.0, 0.0
    for character in text:
        name = names.get(ord(character))
        if name is None or character == "\u0304":
            high = max(high, 0.62 * size) if character == "\u0304" else max(high, 0.7 * size)
            wide += 0.0 if character == "\u0304" else 0.7 * size
            continue
        wide += advances[name][0] * unit
        glyph = glyphs[name]
        if glyph.numberOfContours:
            low, high = min(low, glyph.yMin * unit), max(high, glyph.yMax * unit)
    return wide, -low, high


def _points(text: str) -> list[tuple[float, float]]:
    numbers = [float(n) for n in re.findall(r"-?[0-9.]+", text)]
    return list(zip(numbers[::2], numbers[1::2], strict=True))


def _box(points: list[tuple[float, float]]) -> Box:
    xs, ys = [p[0] for p in points], [p[1] for p in points]
    return min(xs), min(ys), max(xs), max(ys)


def read(svg: str) -> tuple[list[Shape], list[Text], list[Curve], Box]:
    root = ElementTree.fromstring(svg)
    shapes, texts, curves = [], [], []
    page: Box = (0, 0, 0, 0)
    for g in root.iter(f"{SVG}g"):
        cls, id = g.get("class", ""), g.get("id", "")
        if cls == "graph":
            box = root.get("viewBox", "0 0 0 0").split()
            shift = re.search(r"translate\(([-0-9.]+) ([-0-9.]+)\)", g.get("transform", ""))
            dx, dy = (float(v) for v in shift.groups()) if shift else (0.0, 0.0)
            page = -dx, -dy, float(box[2]) - dx, float(box[3]) - dy
            continue
        if id.startswith("a_"):  # the link around what has a tooltip: the group around that has been read
            continue
        own = [e for e in g.iter() if e.tag != f"{SVG}g"]
        if cls.startswith("edge"):
            title = g.findtext(f"{SVG}title") or ""
            chains = [_points(e.get("d", "")) for e in own if e.tag == f"{SVG}path"]
            curves += [Curve(cls, title, tuple(sampled(chain, 1.0))) for chain in chains]
            continue
        group = re.match(r"op\d+_\d+|legend_[a-z]+", id)
        name = group.group() if group else id
        for e in own:
            if e.tag == f"{SVG}polygon" and "region" not in cls and e.get("stroke") != "transparent":
                shapes.append(Shape(name, cls, _box(_points(e.get("points", "")))))
            elif e.tag == f"{SVG}path":
                shapes.append(Shape(name, cls, _box(_points(e.get("d", "")))))
            elif e.tag == f"{SVG}ellipse":
                x, y, rx, ry = (float(e.get(k, "0")) for k in ("cx", "cy", "rx", "ry"))
                if rx > 0.5:
                    shapes.append(Shape(name, cls, (x - rx, y - ry, x + rx, y + ry)))
            elif e.tag == f"{SVG}text" and (e.text or "").strip():
                bold, italic = e.get("font-weight") == "bold", e.get("font-style") == "italic"
                wide, low, high = _letters(e.text or "", float(e.get("font-size", "0")), bold, italic)
                x, y = float(e.get("x", "0")), float(e.get("y", "0"))
                left = {"start": x, "middle": x - wide / 2, "end": x - wide}[e.get("text-anchor", "start")]
                texts.append(Text(e.text or "", (left, y - high, left + wide, y + low)))
    cut: dict[str, list[Box]] = {}  # what is learned is a box with a cut corner, in pieces
    for shape in shapes:
        if "learned" in shape.cls and "norm" not in shape.cls:
            cut.setdefault(shape.group, []).append(shape.box)
    for group, boxes in cut.items():
        whole = _box([corner for x0, y0, x1, y1 in boxes for corner in ((x0, y0), (x1, y1))])
        shapes.append(Shape(group, "learned", whole))
    return shapes, texts, curves, page


def _meet(a: Box, b: Box, slack: float) -> bool:
    return a[0] + slack < b[2] and b[0] + slack < a[2] and a[1] + slack < b[3] and b[1] + slack < a[3]


def _inside(a: Box, b: Box, slack: float = 0.6) -> bool:
    return a[0] >= b[0] - slack and a[1] >= b[1] - slack and a[2] <= b[2] + slack and a[3] <= b[3] + slack


def faults(svg: str) -> list[str]:
    shapes, texts, curves, page = read(svg)
    out = []
    for a, b in itertools.combinations(texts, 2):
        script = 0.5 < abs(a.box[3] - b.box[3]) < 5  # beside its base, where hinting moves letters by half a point
        if _meet(a.box, b.box, 0.8 if script else 0.35):
            out.append(f"text {a.text!r} on text {b.text!r}")
    bars = [s for s in shapes if s.cls.startswith("node label")]
    for text in texts:
        if not _inside(text.box, page):
            out.append(f"text {text.text!r} off the page")
        holders = {s.group for s in shapes if _inside(text.box, s.box)}
        foreign = (s for s in shapes if s.group not in holders and s not in bars and _meet(text.box, s.box, 0.35))
        out += [f"text {text.text!r} on {s.cls} {s.group}" for s in foreign]
        if holders:
            continue
        x0, y0, x1, y1 = text.box
        run_through = (
            c for c in curves if any(x0 + 0.2 < x < x1 - 0.2 and y0 + 0.2 < y < y1 - 0.2 for x, y in c.points)
        )
        out += [f"text {text.text!r} on {c.cls} {c.ends}" for c in run_through]
    out += [f"{s.cls} {s.group} off the page" for s in shapes if not _inside(s.box, page)]
    off = (c for c in curves if not all(page[0] <= x <= page[2] and page[1] <= y <= page[3] for x, y in c.points))
    return out + [f"{c.cls} {c.ends} off the page" for c in off]
