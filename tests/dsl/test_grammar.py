"""The grammar itself: no conflicts, and the words that it reserves are those that the code says it does."""

from __future__ import annotations

import re

import pytest
from lark.lexer import PatternStr

from attnc.dsl import tables, tokens
from attnc.dsl.mistakes import words as spelt
from attnc.dsl.parse import parse
from attnc.dsl.source import Source

GRAMMAR = tables.GRAMMAR.read_text("utf-8")


def test_no_conflict_of_rules_or_terminals() -> None:
    tables.build_parser(GRAMMAR, strict=True)


def test_reserved_words() -> None:
    name = next(line for line in GRAMMAR.splitlines() if line.startswith("NAME: "))
    words = re.search(r"\(\?!\(\?:([a-z|]+)\)", name)
    assert words is not None
    assert set(words[1].split("|")) == tokens.RESERVED


def test_every_word_of_the_grammar_ends_where_it_ends() -> None:
    """A terminal `/as/` would read `asx` as `as x` wherever no name can stand."""
    for terminal, word in re.findall(r"^(_?[A-Z]+): /([a-z]+)", GRAMMAR, re.MULTILINE):
        assert f"{terminal}: /{word}(?![A-Za-z0-9_])/\n" in GRAMMAR


@pytest.mark.parametrize(
    "word", ["model", "block", "op", "use", "config", "as", "like", "causal", "in", "frozen", "shared"]
)
def test_other_words_are_names(word: str) -> None:
    text = f"depth {word} = 8\nblock f(x: [{word}]) -> [{word}] {{\n    return linear.{word}[{word} -> {word}](x)\n}}\n"
    assert parse(Source("t", text))[1] == []


def test_items_begin_with_the_words_that_the_layout_looks_for() -> None:
    for word in tokens.ITEM_WORDS:
        _, problems = parse(Source("t", f"{word} }}"))
        assert not any(problem.code == "E0106" for problem in problems)


def test_signs_are_spelt_as_the_grammar_writes_them() -> None:
    """Those that a message may list; operators are told together."""
    signs = {
        t.name: t.pattern.value for t in tables.build_parser(GRAMMAR).terminals if isinstance(t.pattern, PatternStr)
    }
    for name, sign in signs.items():
        if name not in spelt.OPERATORS or name in ("LESSEQUAL", "PIPE"):
            assert spelt.spelling(name) == sign
