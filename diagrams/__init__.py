"""Neural-circuit diagrams: geometry of our own, DOT with every position in it, drawn by Graphviz.

graph -> scene (what is drawn) -> columns (when) -> order (above what) -> rows (on which line) -> lanes (y) ->
sheet (x, curves, labels) -> DOT -> SVG, PDF, PNG.
"""

from .draw.diagram import Diagram, TooLarge, UnknownBlock, draw
from .formats.export import ExportError

__all__ = ["Diagram", "ExportError", "TooLarge", "UnknownBlock", "draw"]
