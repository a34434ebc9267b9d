"""E09xx: of the language, but not of this version."""

from __future__ import annotations

from .entry import Entry

ENTRIES = (
    Entry(
        "E0901",
        "`scan` is not built yet",
        """
        `scan` runs a block along an axis, each item with the state that the last one left. This version parses it but
        cannot check or compile it.
        """,
        """
width seq
depth model = 8

block cell(x: [model], h: [model]) -> (h: [model]) {
    return tanh(x + h)
}

block run(x: [seq, model]) -> [seq, model] {
    h = scan[seq] cell(x, h = 0)
    return h
}
""",
        """
width seq
depth model = 8

block run(x: [seq, model]) -> [seq, model] {
    return cumsum[seq](x)
}
""",
    ),
    Entry(
        "E0902",
        "ops of your own are not built yet",
        """
        `op f(...) -> ... = "module:function"` makes a Python function an op of the language. This version parses the
        declaration but cannot check a call of it.
        """,
        """
width seq
op shuffle(x: [seq]) -> [seq] = "my_ops:shuffle"

block f(x: [seq]) -> [seq] {
    return shuffle(x)
}
""",
        """
width seq

block f(x: [seq]) -> [seq] {
    return x[seq = |seq| - 1 - seq]
}
""",
    ),
)
