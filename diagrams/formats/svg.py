"""Pieces of a picture as short SVG: colours are classes of a palette that a style sheet may change, and all lengths are
those of the unscaled drawing. Written without Graphviz."""

from __future__ import annotations

import colorsys
from html import escape

from ..base.picture import Cluster, Edge, Node, Point
from ..base.text import Rich, rows

PEN, SIZE = 1.4, 12.5  # of most lines and letters, which `.level` of the style sheet has for all in it
_DEEP = 4.3  # how far the back of a `box3d` lies behind its front
_DASHES = {"dashed": "6 5", "dotted": "1.2 2.5"}


class Palette:
    """The colours in use: class `fK` fills with colour K, `sK` strokes with it."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}

    def number(self, color: str) -> int:
        color = {"white": "#FFFFFF", "black": "#000000"}.get(color, color)
        return self._numbers.setdefault(color, len(self._numbers))

    @property
    def colors(self) -> list[str]:
        return list(self._numbers)

    def css(self, *, dark: bool = False) -> str:
        """`--cK` for each colour. dark: for a dark ground, where light becomes dark and hues stay."""
        colors = ((k, _dark(color) if dark else color) for color, k in self._numbers.items())
        return "".join(f"--c{k}:{color};" for k, color in colors)

    def rules(self) -> str:
        """The rules of the classes."""
        numbers = self._numbers.values()
        return "".join(f".f{k}{{fill:var(--c{k})}}.s{k}{{stroke:var(--c{k})}}" for k in numbers)


def _dark(color: str) -> str:
    """The colour for a dark ground: grounds become dark, ink light, and what is coloured stays told apart."""
    red, green, blue = (int(color[k : k + 2], 16) / 255 for k in (1, 3, 5))
    hue, light, full = colorsys.rgb_to_hls(red, green, blue)
    light = 0.11 + 0.83 * (1 - light) if light > 0.8 else max(0.93 - 0.7 * light, 0.62)
    full = full * 0.35 if light < 0.4 else full * 0.85
    return "#" + "".join(f"{round(255 * c):02X}" for c in colorsys.hls_to_rgb(hue, light, full))


class SvgWriter:
    """Writes pieces of pictures."""

    def __init__(self, palette: Palette, ink: str) -> None:
        self.palette, self.ink = palette, ink

    def cluster(self, c: Cluster) -> str:
        fill = f"<rect class='f{self.palette.number(c.fill)}' {_rect(*c.box)}/>"
        return fill + (self.text(c.label, c.label_at, c.size, self.ink) if c.label else "")

    def edge(self, e: Edge) -> str:
        a = e.attributes
        color = self.palette.number(a.get("color", self.ink))
        if a.get("style") == "tapered":
            return f"<path class='f{color}' d='{_wedge(e)}'/>"
        dash = _DASHES.get(a.get("style", ""))
        more = f" stroke-dasharray='{dash}'" if dash else ""
        return f"<path class='s{color} l'{_pen(float(a.get('penwidth', '1')))}{more} d='{_curve(e)}'/>"

    def text(self, rich: Rich, at: Point, size: float, color: str) -> str:
        lines = rows(rich)
        out = []
        for k, line in enumerate(lines):
            y = at[1] + size * 1.12 * (k - (len(lines) - 1) / 2) + 0.28 * size
            style = line[0].style if line and len({run.style for run in line}) == 1 else ""
            spans = "".join(
                escape(run.text, quote=False)
                if run.style == style
                else f"<tspan class='{run.style or 'r'}'>{escape(run.text, quote=False)}</tspan>"
                for run in line
            )
            look = " ".join(filter(None, (f"f{self.palette.number(color)}", style)))
            large = "" if size == SIZE else f" font-size='{_n(size)}'"
            out.append(f"<text class='{look}'{large} x='{_n(at[0])}' y='{_n(y)}'>{spans}</text>")
        return "".join(out)

    def node(self, n: Node) -> str:
        """One of Graphviz's shapes; what is invisible is nothing."""
        a = n.attributes
        shape = a.get("shape", "box")
        if shape == "plaintext":
            return self.text(n.label, n.at, float(a["fontsize"]), a.get("fontcolor", self.ink))
        if "invis" in a.get("style", ""):
            return ""
        look = self._look(a, shape)
        (x, y), wide, high = n.at, float(a["width"]) / 2, float(a["height"]) / 2
        match shape:
            case "point" | "circle":
                return f"<circle {look} cx='{_n(x)}' cy='{_n(y)}' r='{_n(wide)}'/>"
            case "ellipse":
                return f"<ellipse {look} cx='{_n(x)}' cy='{_n(y)}' rx='{_n(wide)}' ry='{_n(high)}'/>"
            case "triangle":
                turn = -wide if a.get("orientation") == "90" else wide
                corners = [(x + turn, y), (x - turn, y - high), (x - turn, y + high)]
            case "diamond":
                corners = [(x - wide, y), (x, y - high), (x + wide, y), (x, y + high)]
            case "box3d":
                left, top, right, low = x - wide, y - high, x + wide, y + high
                front, back = top + _DEEP, right - _DEEP
                corners = [
                    (left, front),
                    (left + _DEEP, top),
                    (right, top),
                    (right, low - _DEEP),
                    (back, low),
                    (left, low),
                ]
                inner = f"M{_at((left, front))}H{_n(back)}V{_n(low)}M{_at((back, front))}L{_at((right, top))}"
                return f"<path {look} d='{_polygon(corners)}{inner}'/>"
            case _:
                box = x - wide, y - high, x + wide, y + high
                if "rounded" in a.get("style", ""):
                    return f"<rect {look} {_rect(*box)} rx='5'/>"
                return f"<path {look} d='M{_at(box[:2])}h{_n(2 * wide)}v{_n(2 * high)}h{_n(-2 * wide)}z'/>"
        return f"<path {look} d='{_polygon(corners)}'/>"

    def _look(self, a: dict[str, str], shape: str) -> str:
        style, point = a.get("style", ""), shape == "point"
        fill = a.get("fillcolor", a.get("color", self.ink) if point else "")
        filled = fill not in ("", "none") and ("filled" in style or point)
        pen = float(a.get("penwidth", "0" if point else "1"))
        classes = [f"f{self.palette.number(fill)}" if filled else "n"]
        more = ""
        if pen > 0:
            classes.append(f"s{self.palette.number(a.get('color', self.ink))}")
            more = _pen(pen) + (" stroke-dasharray='4 3'" if "dashed" in style else "")
        return f"class='{' '.join(classes)}'{more}"


def _pen(pen: float) -> str:
    return "" if _n(pen) == _n(PEN) else f" stroke-width='{_n(pen)}'"


def _n(value: float) -> str:
    text = f"{value:.1f}".removesuffix(".0")
    return "0" if text == "-0" else text


def _at(p: Point) -> str:
    return f"{_n(p[0])} {_n(p[1])}"


def _rect(x0: float, y0: float, x1: float, y1: float) -> str:
    return f"x='{_n(x0)}' y='{_n(y0)}' width='{_n(x1 - x0)}' height='{_n(y1 - y0)}'"


def _polygon(corners: list[Point]) -> str:
    return f"M{'L'.join(map(_at, corners))}Z"


def _curve(e: Edge) -> str:
    """The chain of Bezier curves; level pieces as what they are."""
    out, last = [f"M{_at(e.points[0])}"], e.points[0]
    for i in range(1, len(e.points) - 2, 3):
        p, q, r = e.points[i : i + 3]
        level = max(abs(point[1] - last[1]) for point in (p, q, r)) < 0.05
        out.append(f"H{_n(r[0])}" if level else f"C{_at(p)} {_at(q)} {_at(r)}")
        last = r
    return "".join(out)


def _wedge(e: Edge) -> str:
    """A straight edge that begins as broad as its pen, and ends in a point."""
    (x0, y0), (x1, y1) = e.points[0], e.points[-1]
    half = float(e.attributes["penwidth"]) / 2
    long = max(0.01, ((x1 - x0) ** 2 + (y1 - y0) ** 2) ** 0.5)
    dx, dy = -(y1 - y0) / long * half, (x1 - x0) / long * half
    return _polygon([(x0 + dx, y0 + dy), (x1, y1), (x0 - dx, y0 - dy)])
