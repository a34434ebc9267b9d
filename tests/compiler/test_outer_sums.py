"""An outer sum of data is said (D7): what the error tells to write, written, makes the program right."""

from __future__ import annotations

import re

import pytest

from attnc.compiler.check import build
from attnc.dsl.diagnostic import Diagnostic
from attnc.dsl.source import Source

HEAD = """width seq
depth a = 4, a2 = 2, b = 5
depth c like a
block plus(p: [], q: []) -> [] {
    return relu(p) + 2 * q
}
block both[m: depth, n: depth](p: [seq, m, n], q: [seq, m, n]) -> [seq, m, n] {
    twice = q + 1
    return tanh(p) - twice
}
block one[m: depth](p: [seq, m], q: [seq, m]) -> [seq, m] {
    return p + q
}
block twice(p: [], q: []) -> [] {
    return plus(p * 2, sin(q))
}
"""

SUMS = {
    "sum": ("x + y", "seq, a, b"),
    "difference of expressions": ("x * 2 - y / 3", "seq, a, b"),
    "quotient": ("x / y", "seq, a, b"),
    "remainder": ("x % y", "seq, a, b"),
    "power": ("x ^ y", "seq, a, b"),
    "largest of several": ("max(0, x, y, 1)", "seq, a, b"),
    "bounds": ("clamp(0, x, y)", "seq, a, b"),
    "choice": ("select(x > y, x, y)", "seq, a, b"),
    "piped": ("x - (y |> relu())", "seq, a, b"),
    "two depths on either side": ("u + w", "seq, a, a2, b, c"),
    "copies": ("x + z", "seq, a, c"),
    "what arguments have in addition": ("plus(x, y)", "seq, a, b"),
    "what computed arguments have in addition": ("plus(q = y / 2, p = x * 2)", "seq, a, b"),
    "what arguments have in addition, two calls deep": ("twice(x, y)", "seq, a, b"),
    "what arguments lack": ("both[a, b](x, y)", "seq, a, b"),
    "what one has and the other lacks": ("one[a](x, y)", "seq, a, b"),
}


def told(text: str) -> list[Diagnostic]:
    """What is wrong; that not every axis and input above is used is of no interest."""
    return [each for each in build(Source("main.attn", text)).diagnostics if each.code not in ("W0503", "A0529")]


@pytest.mark.parametrize("name", SUMS)
def test_the_help_followed_is_right(name: str) -> None:
    written, axes = SUMS[name]
    inputs = "x: [seq, a], y: [seq, b], z: [seq, c], u: [seq, a, a2], w: [seq, b, c]"

    def spec(expression: str) -> str:
        return HEAD + f"model net({inputs}) -> [{axes}] {{\n    return {expression}\n}}\n"

    found = told(spec(written))
    assert [each.code for each in found] in (["E0305"], ["E0405"])
    said = re.search(r"(?:write|pass) `(broadcast\[[\w, ]+\]\((.+)\))`", found[0].help)
    assert said is not None, found[0].help
    first = "x" if said[2] == "..." else said[2]  # behind two calls it is not known which argument it is
    spread = said[1].replace("...", first)
    before, _, after = re.sub(rf"\b{re.escape(first)}\b(?!.*\b{re.escape(first)}\b)", "@", written).partition("@")
    assert told(spec(f"{before}{spread}{after}")) == []


def test_a_copy_is_renamed_to_its_original() -> None:
    text = HEAD + "model net(x: [seq, a], z: [seq, c]) -> [seq, a] {\n    return x + z\n}\n"
    (found,) = told(text)
    assert "`z[c as a]`" in found.help
    assert told(text.replace("x + z\n", "x + z[c as a]\n")) == []
