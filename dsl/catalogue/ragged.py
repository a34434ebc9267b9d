"""E08xx: ragged widths."""

from __future__ import annotations

from .entry import Entry

ENTRIES = (
    Entry(
        "E0801",
        "an axis cannot be ragged",
        """
        A ragged width has a length of its own in each example of a batch, known when the example comes. A depth, and a
        width whose size is fixed, have the same in all; a copy and a derived width are ragged if what they are made of
        is.
        """,
        """
width seq
width past like seq ragged
depth model = 8

block twice(x: [seq, model], y: [past, model]) -> [seq, model] {
    return x + x * broadcast[seq](mean[past](y))
}
""",
        """
width seq ragged
width past like seq
depth model = 8

block twice(x: [seq, model], y: [past, model]) -> [seq, model] {
    return x + x * broadcast[seq](mean[past](y))
}
""",
    ),
    Entry(
        "E0802",
        "an op would mix in the padding of a ragged width",
        """
        What is padding stands behind an example's own items. Sums, means, maxima, softmax, products, norms, windows and
        sorts leave it out by construction. A few ops cannot: a concatenation or a merge that would leave padding in the
        middle, a width whose size does not follow from the ragged one, an op of the user's own. A width may derive from
        a ragged one by what grows with it alone: the array of a batch is as long as its longest example, and what
        derives from its length must have room for what derives from those of the others.
        """,
        """
width source ragged
width mark = 1
width whole = source + mark
depth model = 8

model closed(x: [source, model]) -> [whole, model] {
    param last: [mark, model]
    return concat[source, mark -> whole](x, last)
}
""",
        """
width source ragged
width mark = 1
width whole = mark + source
depth model = 8

model opened(x: [source, model]) -> [whole, model] {
    param first: [mark, model]
    return concat[mark, source -> whole](first, x)
}
""",
    ),
)
