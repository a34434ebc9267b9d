"""E09xx: ops of the user's own, in Python."""

from __future__ import annotations

from .entry import Entry

ENTRIES = (
    Entry(
        "E0902",
        "the target of an op names no function",
        """
        `op f(...) -> ... = "module:function"` makes a Python function an op of the language. The text names the module
        as `import` does, a colon, and the function in it, in letters of ASCII, as all names. Checking never imports it.
        """,
        """
width seq
op shuffle(x: [seq]) -> [seq] = "my_ops.shuffle"

block mix(x: [seq]) -> [seq] {
    return shuffle(x)
}
""",
        """
width seq
op shuffle(x: [seq]) -> [seq] = "my_ops:shuffle"

block mix(x: [seq]) -> [seq] {
    return shuffle(x)
}
""",
    ),
)
