r"""The picture as TikZ: the same positions, with text in the fonts of the paper around it.

The file compiles as it stands, and can be `\input` where TikZ is loaded.
"""

from __future__ import annotations

from ..base.metrics import GREEK
from ..base.picture import Cluster, Edge, Node, Picture, Point
from ..base.pieces import expanded
from ..base.text import MACRON, Rich, Run, rows, width

_GREEK = {letter: rf"\{name}" for name, letter in GREEK.items()}
_MATH = {
    "×": r"\times", "−": "-", "≤": r"\le", "≥": r"\ge", "≠": r"\ne", "÷": r"\div", "σ": r"\sigma", "ℓ": r"\ell",
    "²": "^2", "·": r"\cdot", "<": "<", ">": ">", "=": "=", "…": r"\ldots", "′": "'",
    **_GREEK,
}  # fmt: skip
_ESCAPED = {
    "\\": r"\textbackslash{}", "{": r"\{", "}": r"\}", "$": r"\$", "&": r"\&", "#": r"\#", "%": r"\%", "_": r"\_",
    "^": r"\textasciicircum{}", "~": r"\textasciitilde{}", "'": "'", '"': "''", "|": r"\textbar{}",
    "–": "--",
}  # fmt: skip


def write(picture: Picture, scale: float, ink: str, name: str) -> str:
    """The whole file. All lengths times `scale`; y downwards becomes upwards."""
    colors = _Colors(scale)
    body: list[str] = []
    for cluster in picture.clusters:
        body += colors.cluster(cluster, ink)
    for edge in picture.edges:
        body.append(colors.edge(edge))
    for node in (piece for whole in picture.nodes for piece in expanded(whole, scale)):
        body += colors.node(node, ink)
    (x0, y0), (x1, y1) = _extent(picture)
    x0, y0, x1, y1 = ((v + d) * scale for v, d in ((x0, -3), (y0, -3), (x1, 3), (y1, 3)))
    box = f"\\useasboundingbox ({_n(x0)},{_n(-y1)}) rectangle ({_n(x1)},{_n(-y0)});"
    plain = "".join(c for c in name if c.isalnum() or c in " _-")
    # A little more paper than picture: a rounded length that came out short would push the picture to a second page.
    size = f"paperwidth={_n(x1 - x0 + 0.05)}bp,paperheight={_n(y1 - y0 + 0.05)}bp,margin=0pt"
    return "\n".join(
        [
            f"% {plain}: drawn by attnc. Compile it as it is, or \\input it where tikz is loaded.",
            "\\ifdefined\\tikzpicture\\else",
            "\\documentclass{article}",
            f"\\usepackage[{size}]{{geometry}}",
            "\\IfFileExists{lmodern.sty}{\\usepackage{lmodern}}{\\usepackage{fix-cm}}",
            "\\usepackage{tikz}",
            "\\pagestyle{empty}\\parindent0pt\\topskip0pt",
            "\\def\\attncalone{}",
            "\\begin{document}",
            "\\fi",
            *(f"\\definecolor{{attnc{c[1:]}}}{{HTML}}{{{c[1:].upper()}}}" for c in colors.used),
            "\\begin{tikzpicture}[x=1bp, y=1bp, line join=round]",
            box,
            *body,
            "\\end{tikzpicture}%",
            "\\ifdefined\\attncalone\\end{document}\\fi",
            "",
        ]
    )


def _n(value: float) -> str:
    text = f"{value:.2f}".rstrip("0").rstrip(".")
    return "0" if text in ("-0", "") else text


def _n4(value: float) -> str:
    return f"{value:.4f}".rstrip("0").rstrip(".")


def _extent(picture: Picture) -> tuple[Point, Point]:
    xs, ys = [0.0], [0.0]
    first = True
    for node in picture.nodes:
        a = node.attributes
        point = a.get("shape") == "plaintext"
        half_x = width(node.label, float(a.get("fontsize", "0"))) / 2 if point else 0.0
        half_y = float(a.get("fontsize", "0")) * 0.6 if point else 0.0
        if not point:
            half_x, half_y = float(a.get("width", "0")) / 2, float(a.get("height", "0")) / 2
        if first:
            xs, ys, first = [], [], False
        xs += [node.at[0] - half_x, node.at[0] + half_x]
        ys += [node.at[1] - half_y, node.at[1] + half_y]
    for edge in picture.edges:
        xs += [p[0] for p in edge.points]
        ys += [p[1] for p in edge.points]
    for cluster in picture.clusters:
        xs += [cluster.box[0], cluster.box[2]]
        ys += [cluster.box[1], cluster.box[3]]
    return (min(xs), min(ys)), (max(xs), max(ys))


class _Colors:
    """Writes pieces, and remembers the colours they use."""

    def __init__(self, scale: float) -> None:
        self.scale = scale
        self.used: dict[str, None] = {}

    def color(self, name: str) -> str:
        if not name.startswith("#"):
            return name
        self.used.setdefault(name)
        return f"attnc{name[1:]}"

    def point(self, p: Point) -> str:
        return f"({_n(p[0] * self.scale)},{_n(-p[1] * self.scale)})"

    def cluster(self, c: Cluster, ink: str) -> list[str]:
        x0, y0, x1, y1 = c.box
        out = [f"\\fill[{self.color(c.fill)}] {self.point((x0, y0))} rectangle {self.point((x1, y1))};"]
        return out + (self.text(c.label, c.label_at, c.size, ink) if c.label else [])

    def edge(self, e: Edge) -> str:
        a = e.attributes
        if a.get("style") == "tapered":
            return self.wedge(e)
        style = [self.color(a["color"]), f"line width={_n(float(a.get('penwidth', '1')) * self.scale)}bp"]
        if a.get("style") == "dashed":
            style.append(f"dash pattern=on {_n(6 * self.scale)}bp off {_n(5 * self.scale)}bp")
        if a.get("style") == "dotted":
            style.append(f"dash pattern=on {_n(1.2 * self.scale)}bp off {_n(2.5 * self.scale)}bp")
        parts = [self.point(e.points[0])]
        for i in range(1, len(e.points) - 2, 3):
            p, q, r = e.points[i : i + 3]
            parts.append(f".. controls {self.point(p)} and {self.point(q)} .. {self.point(r)}")
        return f"\\draw[{', '.join(style)}] {' '.join(parts)};"

    def wedge(self, e: Edge) -> str:
        """A straight edge that begins as broad as its pen, and ends in a point."""
        (x0, y0), (x1, y1) = e.points[0], e.points[-1]
        half = float(e.attributes["penwidth"]) / 2
        long = max(0.01, ((x1 - x0) ** 2 + (y1 - y0) ** 2) ** 0.5)
        dx, dy = -(y1 - y0) / long * half, (x1 - x0) / long * half
        corners = ((x0 + dx, y0 + dy), (x1, y1), (x0 - dx, y0 - dy))
        return f"\\fill[{self.color(e.attributes['color'])}] {' -- '.join(map(self.point, corners))} -- cycle;"

    def text(self, rich: Rich, at: Point, size: float, color: str) -> list[str]:
        lines = rows(rich)
        out = []
        # The node is scaled, and not the font: so letters keep their shapes.
        font = f"\\fontsize{{{_n(size)}}}{{{_n(size * 1.2)}}}\\selectfont{{}}"
        for k, line in enumerate(lines):
            y = at[1] + size * 1.12 * (k - (len(lines) - 1) / 2) + 0.28 * size
            style = f"anchor=base, inner sep=0pt, scale={_n4(self.scale)}, text={self.color(color)}"
            out.append(f"\\node[{style}] at {self.point((at[0], y))} {{{font}{_tex(line)}}};")
        return out

    def node(self, n: Node, ink: str) -> list[str]:
        a = n.attributes
        shape = a.get("shape", "box")
        if shape == "plaintext":
            return self.text(n.label, n.at, float(a["fontsize"]), a.get("fontcolor", ink))
        if "invis" in a.get("style", ""):
            return []
        wide, high = float(a["width"]) / 2, float(a["height"]) / 2
        x, y = n.at
        style = []
        fill = a.get("fillcolor", a.get("color", ink) if shape == "point" else "")
        if fill and fill != "none" and ("filled" in a.get("style", "") or shape == "point"):
            style.append(f"fill={self.color(fill)}")
        pen = float(a.get("penwidth", "0" if shape == "point" else "1")) * self.scale
        if pen > 0:
            style += [f"draw={self.color(a.get('color', ink))}", f"line width={_n(pen)}bp"]
        if "dashed" in a.get("style", ""):
            style.append(f"dash pattern=on {_n(4 * self.scale)}bp off {_n(3 * self.scale)}bp")
        if "rounded" in a.get("style", ""):
            style.append(f"rounded corners={_n(5 * self.scale)}bp")
        style_tex = ", ".join(style)
        corners: list[Point]
        match shape:
            case "point" | "circle" | "ellipse":
                radii = f"x radius={_n(wide * self.scale)}, y radius={_n(high * self.scale)}"
                return [f"\\path[{style_tex}] {self.point((x, y))} circle[{radii}];"]
            case "triangle":
                turn = -1 if a.get("orientation") == "90" else 1
                corners = [(x + turn * wide, y), (x - turn * wide, y - high), (x - turn * wide, y + high)]
            case "diamond":
                corners = [(x - wide, y), (x, y - high), (x + wide, y), (x, y + high)]
            case "box3d":
                deep = 4.0 / self.scale  # as Graphviz draws it
                top, right = y - high, x + wide
                back = [(x - wide, top + deep), (x - wide + deep, top), (right, top), (right, y + high - deep),
                        (right - deep, y + high), (x - wide, y + high)]  # fmt: skip
                front = [(x - wide, top + deep), (right - deep, top + deep), (right - deep, y + high)]
                inner = f"{self.point(front[0])} -- {self.point(front[1])} -- {self.point(front[2])}"
                edge = f"{self.point(front[1])} -- {self.point((right, top))}"
                lines = f"\\draw[{', '.join(style[1:]).replace('draw=', '')}] {inner} {edge};"
                return [f"\\path[{style_tex}] {' -- '.join(map(self.point, back))} -- cycle;", lines]
            case _:
                box = f"{self.point((x - wide, y - high))} rectangle {self.point((x + wide, y + high))}"
                return [f"\\path[{style_tex}] {box};"]
        return [f"\\path[{style_tex}] {' -- '.join(map(self.point, corners))} -- cycle;"]


def _tex(rich: Rich) -> str:
    return "".join(_run(run) for run in rich)


def _run(run: Run) -> str:
    base = run.text.rstrip("′").removesuffix(MACRON)
    if run.style == "i" and (base in _GREEK or (base.isascii() and base.replace("'", "").isalpha())):
        word = _GREEK.get(base) or (base if len(base.rstrip("'")) == 1 else f"\\mathit{{{base}}}")
        primes = "'" * run.text.count("′")
        return f"$\\bar{{{word}}}{primes}$" if MACRON in run.text else f"${word}{primes}$"
    text = "".join(f"$\\mathstrut{_MATH[c]}$".replace("\\mathstrut", "") if c in _MATH else escaped(c)
                   for c in run.text)  # fmt: skip
    command = {"i": "\\textit", "b": "\\textbf"}.get(run.style)
    return f"{command}{{{text}}}" if command else text


def words(text: str) -> str:
    """Upright text, with the signs and Greek letters that TeX has in mathematics alone."""
    return _run(Run(text))


def escaped(text: str) -> str:
    """Text of the user as TeX that prints exactly it; a character that TeX's fonts lack becomes a question mark."""
    return "".join(_ESCAPED.get(c, c if " " <= c < "\x7f" or ("À" <= c <= "ſ" and c.isalpha()) else "?") for c in text)
