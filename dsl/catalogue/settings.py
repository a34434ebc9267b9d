"""E06xx: sizes and configs chosen from outside the text."""

from __future__ import annotations

from .entry import Entry

ENTRIES = (
    Entry(
        "E0601",
        "there is no such axis or const to set",
        """
        A `config` of the file, `--set NAME=VALUE` and `sizes={...}` replace sizes and consts that the file declares or
        names in a `use`. A misspelt name would set nothing, and the model would be built with the old size. A copy
        has no size of its own: its original is set.
        """,
        """
width seq
depth model = 512
config small { modle = 64 }

model act(x: [seq, model]) -> [seq, model] {
    return relu(x)
}
""",
        """
width seq
depth model = 512
config small { model = 64 }

model act(x: [seq, model]) -> [seq, model] {
    return relu(x)
}
""",
    ),
    Entry(
        "E0602",
        "there is no such config",
        """
        `--config NAME` and `config="NAME"` pick one of the configs that the file declares. Configs of files
        that it uses do not count.
        """,
        """
# attnc check main.attn --config smal
width seq
depth model = 512
config small { model = 64 }

model act(x: [seq, model]) -> [seq, model] {
    return relu(x)
}
""",
        """
# attnc check main.attn --config small
width seq
depth model = 512
config small { model = 64 }

model act(x: [seq, model]) -> [seq, model] {
    return relu(x)
}
""",
    ),
)
