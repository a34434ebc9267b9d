"""Warnings that a comment lets stand: `# attnc: allow W0503`."""

from __future__ import annotations

import re

import pytest

from attnc.compiler.check import build
from attnc.dsl.formatting import format_source
from attnc.dsl.source import Source

TEXT = """
width seq
depth d = 8
{above}
depth more = 9{behind}

# What it does.
{head}
model net(x: [seq, d]) -> [seq, d] {{
    {statement}
    a, b = pair(
        x,  {within}
    )
    return a + b
}}

block pair(x: [seq, d]) -> (first: [seq, d], last: [seq, d]) {{
    return x, x
}}

block crossed(x: [seq, d]) -> [seq, d] {{
    last, _ = pair(x){crossed}
    return last
}}
"""
FREE = dict.fromkeys(("above", "behind", "head", "statement", "within", "crossed"), "")


def told(**comments: str) -> list[tuple[str, str]]:
    program = build(Source("net.attn", TEXT.format(**{**FREE, **comments})))
    assert not program.errors
    return [(found.code, found.span.text) for found in program.diagnostics if found.span is not None]


BOTH = [("W0503", "more"), ("W0507", "last")]
ONE = "# attnc: allow W0503"
OTHER = "  # attnc: allow W0507: the last is the first here"


def test_all_is_told() -> None:
    assert told() == BOTH


@pytest.mark.parametrize("comments", [{"above": ONE}, {"behind": f"  {ONE}"}, {"above": f"{ONE}\n# And more."}])
def test_of_a_declaration(comments: dict[str, str]) -> None:
    assert told(**comments) == BOTH[1:]


def test_of_a_statement() -> None:
    assert told(crossed=OTHER) == BOTH[:1]
    assert told(behind=f"  {ONE}", crossed=OTHER) == []


@pytest.mark.parametrize("where", ["head", "statement", "within"])
def test_elsewhere_nothing_is_allowed(where: str) -> None:
    assert sorted(told(**{where: ONE})) == sorted([*BOTH, ("W0519", "W0503")])


def test_what_is_no_warning() -> None:
    assert told(behind="  # attnc: allow W0503, E0301 W9999") == [("W0519", "E0301"), ("W0519", "W9999"), BOTH[1]]


def test_it_is_no_documentation() -> None:
    text = TEXT.format(**{**FREE, "head": "# attnc: allow W0503"})
    net = next(item for item in build(Source("net.attn", text))._graphs.values() if item.name == "net")
    assert net.doc == "What it does."


def test_it_survives_the_formatter() -> None:
    long = "x + " * 40 + "x"
    text = TEXT.format(**{**FREE, "behind": f" {ONE}", "crossed": OTHER}).replace("pair(x)", f"pair({long})")
    new = format_source(Source("net.attn", text))
    assert "\n" in new.partition("last, _ = pair(")[2].partition("# attnc")[0]
    assert build(Source("net.attn", new)).diagnostics == ()


def test_with_an_error_nothing_is_unused() -> None:
    text = TEXT.format(**{**FREE, "statement": ONE}).replace("a + b", "a + c")
    codes = [found.code for found in build(Source("net.attn", text)).diagnostics]
    assert any(code[0] == "E" for code in codes) and "W0519" not in codes


SWITCHED = """
const cut = 0
config cutting { cut = 2 }
config more { cut = 1 }

width seq
width past like seq
depth d = 8

model net(x: [seq, d]) -> [seq, d] {
    scores = dot[d](x, x[seq as past])
    weights = softmax[past](scores / sqrt(|d|) where past <= seq - cut)  # attnc: allow W0523: the first are kept out
    return linear.O[d -> d](dot[past](weights, x[seq as past]))
}
"""


@pytest.mark.parametrize(
    ("config", "sizes"), [(None, {}), ("cutting", {}), ("more", {}), (None, {"cut": 3}), (None, {"cut": 0})]
)
def test_what_one_config_needs_is_used(config: str | None, sizes: dict[str, int]) -> None:
    assert build(Source("net.attn", SWITCHED), config=config, sizes=sizes).diagnostics == ()


def test_what_no_config_needs_is_unused() -> None:
    program = build(Source("net.attn", re.sub(r"cut = \d", "cut = 0", SWITCHED)))
    assert [found.code for found in program.diagnostics] == ["W0519"]
