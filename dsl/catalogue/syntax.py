"""E01xx: the text is not what the grammar says."""

from __future__ import annotations

from .entry import Entry

ENTRIES = (
    Entry(
        "E0101",
        "something else was expected here",
        """
        The text fits the grammar up to this place, and nothing in the grammar goes on like this. The message names
        what was found, and all that would have been right.

        A newline ends a statement, except inside `( )` and `[ ]`, after a comma or an operator, and before an operator,
        `->`, `|>`, `=`, `where`, `and`, `or`, `else` or `{`.
        """,
        """
depth model = 8

block twice(x: [model]) [model] {
    return 2 * x
}
""",
        """
depth model = 8

block twice(x: [model]) -> [model] {
    return 2 * x
}
""",
    ),
    Entry(
        "E0102",
        "brackets do not match",
        """
        A bracket is never closed, closes nothing, or is closed by one of another kind. For a `(` or `[` the message
        points at the end of the line where it was most likely to be closed; for a `{` the indentation decides which one
        is pointed at, so that a missing `}` is found although the braces after it close something else.
        """,
        """
depth model = 8

block twice(x: [model]) -> [model] {
    y = relu(2 * x
    return y
}
""",
        """
depth model = 8

block twice(x: [model]) -> [model] {
    y = relu(2 * x)
    return y
}
""",
    ),
    Entry(
        "E0103",
        "a sign that is not of the language",
        """
        Names, numbers and operators are written in ASCII. Inside comments any text is welcome. Signs of other languages
        have their own spelling here: `a ^ b` is a power, `and`, `or` and `not` join truth values, `dot[axis](x, y)` is
        a product of arrays, and a newline, not `;`, ends a statement.
        """,
        """
depth model = 8

block square(x: [model]) -> [model] {
    return x ** 2
}
""",
        """
depth model = 8

block square(x: [model]) -> [model] {
    return x ^ 2
}
""",
    ),
    Entry(
        "E0104",
        "a text is never closed",
        """
        The target of an `op` is a text between `"` and `"`, on one line.
        """,
        """
width seq

op shuffle(x: [seq]) -> [seq] = "my_ops:shuffle
""",
        """
width seq

op shuffle(x: [seq]) -> [seq] = "my_ops:shuffle"
""",
    ),
    Entry(
        "E0105",
        "not a number, or one that is too large",
        """
        Numbers look like `3`, `0.1` or `1e-5`: decimal, with a digit before and after the point. A whole number has at
        most 18 digits, so that it fits an index of any backend; a fraction fits a 64-bit float.
        """,
        """
depth model = 8

block halve(x: [model]) -> [model] {
    return .5 * x
}
""",
        """
depth model = 8

block halve(x: [model]) -> [model] {
    return 0.5 * x
}
""",
    ),
    Entry(
        "E0106",
        "a line begins with a word that begins nothing",
        """
        At the top of a file a line begins with `use`, `width`, `depth`, `const`, `config`, `op`, `block` or `model`.
        Statements stand inside the braces of a block or a model; they begin with the name that they bind, or
        with `return`, `repeat`, `if`, `expect`, `share`, `param`, `width`, `depth` or `const`.
        """,
        """
depth model = 8

blok half(x: [model]) -> [model] {
    return x / 2
}
""",
        """
depth model = 8

block half(x: [model]) -> [model] {
    return x / 2
}
""",
    ),
    Entry(
        "E0107",
        "nested too deep",
        """
        Brackets, signs, powers and `else if` nest at most 100 deep. A sum may be as long as you like. Give an inner
        value a name, or move it into a block of its own.
        """,
        "const deep = " + "(" * 101 + "1" + ")" * 101 + "\n",
        """
const deep = ((1))
""",
    ),
    Entry(
        "E0108",
        "a word of the language taken as a name",
        """
        `and`, `const`, `depth`, `else`, `expect`, `false`, `if`, `not`, `or`, `param`, `repeat`, `return`, `scan`,
        `share`, `true`, `where` and `width` name nothing: neither an axis nor a value. All other words are free; an
        axis may well be called `model`.
        """,
        """
width where
""",
        """
width place
""",
    ),
    Entry(
        "E0109",
        "comparisons do not chain",
        """
        `a < b < c` would compare a truth value with `c`. Compare twice, and join the two with `and`.
        """,
        """
width seq
width past like seq

block band(x: [past, seq]) -> [past, seq] {
    return select(0 <= seq - past < 8, x, 0)
}
""",
        """
width seq
width past like seq

block band(x: [past, seq]) -> [past, seq] {
    return select(0 <= seq - past and seq - past < 8, x, 0)
}
""",
    ),
    Entry(
        "E0110",
        "a statement that binds nothing",
        """
        Nothing has side effects here, so a value that gets no name is lost. Bind it, `y = f(x)`, or return it. Nor is a
        value changed in place: bind a new name to `select(condition, new, old)`.
        """,
        """
depth model = 8

block act(x: [model]) -> [model] {
    relu(x)
    return x
}
""",
        """
depth model = 8

block act(x: [model]) -> [model] {
    y = relu(x)
    return y
}
""",
    ),
)
