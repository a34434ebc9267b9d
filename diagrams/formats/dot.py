"""A picture as DOT with every position in it. Writing it needs no Graphviz, and `dot -Tsvg` moves nothing.

All text of the user passes through `quoted` or `html`, so that it cannot break out of its attribute.
"""

from __future__ import annotations

from collections.abc import Mapping

from ..base.picture import Picture, Point
from ..base.pieces import expanded
from ..base.text import Rich
from ..base.theme import FONT

_LENGTHS = {"width": 72.0, "height": 72.0, "fontsize": 1.0, "penwidth": 1.0}  # attribute: points per unit


def write(picture: Picture, scale: float, ink: str, name: str) -> str:
    """The picture as DOT, all lengths times `scale`."""

    def number(value: float) -> str:
        text = f"{value:.2f}".rstrip("0").rstrip(".")
        return "0" if text in ("-0", "") else text

    def point(p: Point) -> str:
        return f"{number(p[0] * scale)},{number(-p[1] * scale)}"

    def attributes(values: Mapping[str, str], **more: str) -> str:
        parts = [f"{k}={v}" for k, v in more.items()]
        for key, value in values.items():
            if key in _LENGTHS:
                value = f"{float(value) * scale / _LENGTHS[key]:.4f}".rstrip("0").rstrip(".")
            parts.append(f"{key}={quoted(value)}")
        return "[" + ", ".join(parts) + "]"

    lines = [
        f"digraph {quoted(name.replace(chr(92), '/'))} {{",
        f"  graph [layout=nop2, outputorder=edgesfirst, splines=true, bgcolor=white, pad=0.05, margin=0, "
        f"fontname={quoted(FONT)}, fontcolor={quoted(ink)}, tooltip={quoted(name)}];",
        f'  node [fontname={quoted(FONT)}, fontcolor={quoted(ink)}, color={quoted(ink)}, fixedsize=true, label=""];',
        f"  edge [arrowhead=none, fontname={quoted(FONT)}];",
    ]
    for c in picture.clusters:
        x0, y0, x1, y1 = c.box
        box = quoted(f"{point((x0, y1))},{point((x1, y0))}")
        label = f"<{html(c.label)}>" if c.label else '""'
        lines.append(
            f"  subgraph {quoted('cluster_' + c.id)} {{ graph [bb={box}, lp={quoted(point(c.label_at))}, style=filled, "
            f"fillcolor={quoted(c.fill)}, color={quoted(c.fill)}, fontsize={number(c.size * scale)}, label={label}, "
            f"id={quoted(c.id)}, class={quoted(('region ' + c.cls).strip())}, tooltip={quoted(c.tip)}]; }}"
        )
    for n in (piece for node in picture.nodes for piece in expanded(node, scale)):
        more = {"label": f"<{html(n.label)}>"} if n.label else {}
        lines.append(f"  {quoted(n.id)} {attributes(n.attributes, pos=quoted(point(n.at)), **more)};")
    for e in picture.edges:
        chain = " ".join(map(point, e.points))
        lines.append(f"  {quoted(e.tail)} -> {quoted(e.head)} {attributes(e.attributes, pos=quoted(chain))};")
    return "\n".join(lines) + "\n}\n"


def quoted(text: str) -> str:
    """A DOT string that means exactly this text: no escapes of DOT's own, no control characters."""
    clean = "".join(c if c >= " " else " " for c in text)
    return '"' + clean.replace("\\", "\\\\").replace('"', '\\"').replace("&", "&amp;") + '"'


def html(rich: Rich) -> str:
    """Runs as a Graphviz HTML label; line ends become breaks.

    Sub- and superscripts are not handled here: the canvas writes each as a node of its own.
    """
    out = []
    for run in rich:
        text = "".join(c for c in run.text if c >= " " or c == "\n")
        text = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").replace('"', "&quot;")
        text = text.replace("[", "&#91;").replace("]", "&#93;")  # Graphviz cannot read a label that is one of these
        text = text.replace("\\", "\\\\")  # else Graphviz would read `\\N` as the node's name
        text = text.replace("\n", "<BR/>")
        if run.style and text:
            text = f"<{run.style.upper()}>{text}</{run.style.upper()}>"
        out.append(text)
    return "".join(out)
