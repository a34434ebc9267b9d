"""E10xx: what an author says of a figure (`NAME.figure`, `--hints FILE`, `draw(hints=..)`)."""

from __future__ import annotations

from .entry import Entry

_SPEC = """
# attnc draw main.attn:net
use std.feed_forward: feed_forward, model, inner
width seq
depth model = 512, inner = 2048

model net(x: [seq, model]) -> [seq, model] {
    normed = layernorm[model](x)
    return x + feed_forward(normed)
}
# -- main.figure
"""

ENTRIES = (
    Entry(
        "E1001",
        "hints for a figure are no TOML",
        """
        A file of hints is TOML: a table `[NAME]` for each model or block, `key = value` beneath, texts in quotation
        marks, lists in brackets.
        """,
        _SPEC + "[net]\nclose = [feed_forward]\n",
        _SPEC + '[net]\nclose = ["feed_forward"]\n',
    ),
    Entry(
        "E1002",
        "hints have no such key",
        """
        A table of hints has the keys `inputs`, `break`, `hide`, `tint`, `note`, `open` and `close`; a note has `at`,
        `text`, `tint` and `side`. A misspelt key would do nothing.
        """,
        _SPEC + '[net]\nhidden = ["normed"]\n',
        _SPEC + '[net]\nhide = ["normed"]\n',
    ),
    Entry(
        "E1003",
        "the value of a hint is of another kind",
        """
        `inputs`, `break`, `hide`, `open` and `close` are lists of names, none twice. `tint` is a table of names and
        tints: yellow, orange, pink, violet, blue, green or gray. A note needs `at`, one name or several, and `text`;
        its `side` is "above" or "below".
        """,
        _SPEC + '[net]\ntint = { normed = "voilet" }\n',
        _SPEC + '[net]\ntint = { normed = "violet" }\n',
    ),
    Entry(
        "E1004",
        "hints name what is not in the figure",
        """
        Hints name what the figure shows: a value, the weights of a learned op, a block, an input, or the wire `Q[h]`
        of what makes `Q`. What is inside a block that is closed is not in the figure: `open` opens the block.
        `block.Q` is the `Q` within an open block. A table of the file names a model or a block.
        """,
        _SPEC + '[[net.note]]\nat = "norm"\ntext = "Each item has mean 0."\n',
        _SPEC + '[[net.note]]\nat = "normed"\ntext = "Each item has mean 0."\n',
    ),
)
