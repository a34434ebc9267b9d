"""An axis that nothing declares is told of once, with how to declare it: of every example, without one of its axes."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import attnc

ROOT = Path(__file__).parents[2]
FILES = sorted(path for path in (ROOT / "examples").rglob("*.attn") if path.stat().st_size < 3000)


def without_one(text: str) -> Iterator[tuple[str, str]]:
    """The axes that stand alone in their line, or are copies, each with the text without its declaration."""
    for found in re.finditer(r"^(?:width|depth) (\w+)(?: like \w+)?[ \t]*(?:#.*)?\n", text, re.MULTILINE):
        left = text[: found.start()] + text[found.end() :]
        code = re.sub(r"#.*", "", left)
        if re.search(rf"\b{found[1]}\b", code) and not re.search(rf"^use .*\b{found[1]}\b", code, re.MULTILINE):
            yield found[1], left


@pytest.mark.parametrize("path", FILES, ids=[str(path.relative_to(ROOT / "examples")) for path in FILES])
def test_it_is_told_once(path: Path) -> None:
    for name, text in without_one(path.read_text("utf-8")):
        try:
            attnc.loads(text, base=path.parent)
        except attnc.AttnError as error:
            told = [each.message for each in error.diagnostics if each.code.startswith("E")]
            assert sum(f"named `{name}`" in message for message in told) == 1, (name, told)


def test_two_are_told_of_each() -> None:
    with pytest.raises(attnc.AttnError) as caught:
        attnc.loads(
            "width seq\ndepth d = 4\nmodel f(x: [seq, d]) -> [seq, d] {\n"
            "    w = softmax[past](dot[d](x, x[seq as past]) where past <= seq)\n"
            "    y = dot[past](w, x[seq as past])\n"
            "    return y + linear.b[inner -> d](linear.a[d -> inner](y))\n}\n"
        )
    assert [each.message for each in caught.value.diagnostics] == [
        "no axis is named `past`",
        "no axis is named `inner`",
    ]


def test_what_is_misspelt_is_told_at_each_place() -> None:
    with pytest.raises(attnc.AttnError) as caught:
        attnc.loads("width seq\ndepth model = 4\nmodel f(x: [seq, modle]) -> [seq, modle] {\n    return x\n}\n")
    assert len(caught.value.diagnostics) == 2
