"""What holds of any text at all: checking ends with diagnostics, never with an exception, and always with the same."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from attnc.compiler.check import Program, build
from attnc.dsl.render import render_all
from attnc.dsl.source import Source
from tests.clock import ratio
from tests.dump import dump

HERE = Path(__file__).parent
RIGHT = [path.read_text(encoding="utf-8") for path in sorted((HERE / "right").glob("*.attn"))]
WRONG = [
    part.partition("\n---\n")[0]
    for path in sorted((HERE.parent / "mistakes").glob("*.txt"))
    for part in re.split(r"^=== .*\n", path.read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]
]
TOKEN = re.compile(r"[A-Za-z_]\w*|\d+(?:\.\d+)?|->|\|>|<=|>=|==|!=|\s+|.")
WORDS = sorted({word for text in RIGHT for word in TOKEN.findall(text) if word[0].isalpha()})
SIGNS = [
    "+",
    "-",
    "*",
    "/",
    "^",
    "%",
    "<=",
    "==",
    "where",
    "|>",
    "=",
    "as",
    ",",
    "->",
    ":",
    "0",
    "-1",
    "1000000",
    "[",
    ")",
]


@st.composite
def changed(draw: st.DrawFn) -> str:
    """A program of the tests with a few tokens changed: most of them parse."""
    tokens = TOKEN.findall(draw(st.sampled_from([*RIGHT, *WRONG])))
    for _ in range(draw(st.integers(1, 3))):
        names = [place for place, token in enumerate(tokens) if token[0].isalnum()]
        at = draw(st.sampled_from(names)) if names else 0
        match draw(st.sampled_from(["name", "name", "name", "word", "sign", "double", "drop", "swap"])):
            case "name" if names:
                tokens[at] = tokens[draw(st.sampled_from(names))]
            case "word" if names:
                tokens[at] = draw(st.sampled_from(WORDS))
            case "sign":
                tokens[draw(st.integers(0, len(tokens) - 1))] = draw(st.sampled_from(SIGNS))
            case "double":
                tokens.insert(at, tokens[at])
            case "drop" if len(tokens) > 1:
                del tokens[at]
            case "swap" if names:
                other = draw(st.sampled_from(names))
                tokens[at], tokens[other] = tokens[other], tokens[at]
            case _:
                pass
    return "".join(tokens)


def check(text: str) -> Program:
    """Checked, printed, and if it is right, every graph made."""
    program = build(Source("text.attn", text))
    render_all(program.diagnostics)
    if not program.errors:
        for name in (*program.models, *program.blocks):
            dump(program.graph(name))
    return program


@settings(deadline=None, max_examples=150, suppress_health_check=[HealthCheck.too_slow])
@given(changed())
def test_a_changed_program_gives_diagnostics(text: str) -> None:
    check(text)


@settings(deadline=None, max_examples=60)
@given(st.text(alphabet=st.sampled_from(' \n\t[](){}=:,.|~^abcxyz019_-+*/%<>!"#é\0\r'), max_size=80))
def test_any_text_gives_diagnostics(text: str) -> None:
    check(text)


@settings(deadline=None, max_examples=30)
@given(changed())
def test_checking_twice_says_the_same(text: str) -> None:
    assert render_all(check(text).diagnostics) == render_all(check(text).diagnostics)


STACK = """
width seq
width past like seq
depth model = 8
const layers = {count}

block look(x: [seq, model]) -> [seq, model] {{
    y = linear.y[model -> model](x[seq as past])
    return dot[past](softmax[past](dot[model](x, y) where past <= seq), y)
}}

model net(x: [seq, model]) -> [seq, model] causal seq {{
    repeat i in layers {{
        x = x + {factor} * look(layernorm.n[model](x))
    }}
    return x
}}
"""


@pytest.mark.parametrize("factor", ["2", "(i + 1)"])
def test_the_count_of_a_repeat_costs_nothing(factor: str) -> None:
    """The graph of a thousand layers is that of two."""

    def checked(count: int) -> str:
        program = build(Source("text.attn", STACK.format(count=count, factor=factor)))
        assert not program.diagnostics, render_all(program.diagnostics)
        return dump(program.graph("net")).replace(f"layers = {count}", "layers")

    assert checked(2) == checked(1000)
    assert ratio(lambda: checked(1000), lambda: checked(2)) < 5


def test_long_files_are_checked_in_time() -> None:
    """A thousand blocks that call one another: the time grows with the text."""
    blocks = ["depth d = 4\nblock b0(x: [d]) -> [d] {\n    return relu(x)\n}"]
    blocks += [f"block b{i}(x: [d]) -> [d] {{\n    return x + b{i - 1}(x)\n}}" for i in range(1, 100)]
    assert not check("\n".join(blocks)).diagnostics


def test_a_deep_chain_of_calls_ends() -> None:
    """Blocks that each call the one before it twice share their bodies; written out they must stay within the limit."""
    blocks = ["depth d = 4\nblock b0(x: [d]) -> [d] {\n    return relu(x)\n}"]
    blocks += [f"block b{i}(x: [d]) -> [d] {{\n    return b{i - 1}(b{i - 1}(x))\n}}" for i in range(1, 21)]
    assert not check("\n".join(blocks[:16])).diagnostics
    assert {found.code for found in check("\n".join(blocks)).diagnostics} == {"E0220"}
