"""Neural-circuit diagrams. attnc computes every position and writes it into the DOT; Graphviz only draws it.

The folders, each of which imports only what stands to its right or below:

    draw > glyphs > canvas > layout | formats | hints > scene > base

    draw      `draw` and `Diagram`, the API; the sheet, which draws all of a figure; the legend; the HTML page
    glyphs    a function for each mark: the `+` of a residual add is `sign` in joins.py
    canvas    what glyphs draw with: shapes, text, ends of wires; and where a label finds a free place
    layout    where every step and every wire lies, and how large each glyph is
    formats   a finished picture as DOT, TikZ, SVG, PDF or PNG; a graph as equations
    hints     what an author says of a figure: a checked file, and what its names stand for
    scene     what will be drawn: steps that take and give tensors; op_glyphs.py says which glyph an op gets, wording.py
              what is written there
    base      sizes, colours, text, curves, and the shapes that a finished picture consists of

How a graph becomes a figure, and the object after each stage:

    graph     scene/unfold.py       Scene: the steps, blocks open or closed, each value copied for each of its readers
    scene     layout/columns.py     the column of each step, from left to right
    columns   layout/order.py       Stack: in each column, which tensor lies above which
    order     layout/weave.py       Wire: one for each axis of each tensor, in the order of axis_order.py
    wires     layout/rows.py        where a figure too wide for the page goes on in a row beneath
    rows      layout/heights.py     what keeps wires apart in each column; lanes.py finds their heights (y)
    lanes     layout/figure.py      FigureLayout: all of this, with the x of each glyph
    layout    draw/sheet.py         Picture: shapes, curves and text, with labels where there is room for them
    picture   formats/dot.py        DOT; formats/export.py has Graphviz make SVG, PDF or PNG of it
"""

from .draw.diagram import Diagram, TooLarge, UnknownBlock, draw, draw_diff
from .formats.export import ExportError

__all__ = ["Diagram", "ExportError", "TooLarge", "UnknownBlock", "draw", "draw_diff"]
