"""The Pygments lexer colours every spec of the repository, and knows words from names."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest
from pygments.lexers import get_lexer_by_name
from pygments.token import Comment, Error, Keyword, Name, Number, Operator, String, Token, _TokenType
from pygments.util import ClassNotFound

from attnc.dsl.tokens import RESERVED
from attnc.editor.lexical import WORDS
from attnc.editor.pygments import AttnLexer

from .edits import ROOT, SPECS

TOUR = (ROOT / "tests" / "dsl" / "tour.attn").read_text()


def lexed(text: str) -> list[tuple[_TokenType, str]]:
    return list(AttnLexer().get_tokens(text))


def kinds(text: str, word: str) -> set[_TokenType]:
    return {kind for kind, value in lexed(text) if value == word}


@pytest.mark.parametrize("path", SPECS, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_every_spec_is_lexed_whole(path: Path) -> None:
    text = path.read_text("utf-8")
    found = lexed(text)
    assert [value for kind, value in found if kind is Error] == []
    assert "".join(value for _, value in found).strip() == text.strip()


def test_kinds_of_tokens() -> None:
    assert [value for kind, value in lexed(TOUR) if kind is Error] == []
    assert kinds(TOUR, "transformer") == {Name.Function} and kinds(TOUR, "attend") == {Name.Function, Name}
    assert kinds(TOUR, "softmax") == {Name.Builtin} and kinds(TOUR, "relu") == {Name.Builtin}
    assert kinds(TOUR, "std.attention") == {Name.Namespace}
    assert kinds(TOUR, "bool") == {Keyword.Type} and kinds(TOUR, "true") == {Keyword.Constant}
    assert kinds(TOUR, "and") == {Operator.Word} and kinds(TOUR, "1e-5") == {Number.Float}
    assert (
        kinds(TOUR, "frozen") == {Keyword} and kinds(TOUR, "causal") == {Keyword} and kinds(TOUR, "like") == {Keyword}
    )
    assert kinds(TOUR, "up") == {Name.Attribute} and kinds(TOUR, "# The tour: everything once.") == {Comment.Single}


def test_an_axis_may_bear_the_name_of_a_word() -> None:
    text = "depth model = 8, block = 4\nblock f(x: [model, block]) -> [model, block] {\n    return x + model\n}\n"
    assert [kind for kind, value in lexed(text) if value == "model"] == [Name] * 4
    assert [kind for kind, value in lexed(text) if value == "block"][1] is Keyword.Declaration


def test_a_display_name_is_a_string() -> None:
    found = lexed('block f as "A Name"[q: width](x: [q]) -> [q] {\n    return x\n}\n')
    assert [kind for kind, value in found if value == "as"] == [Keyword]
    assert [kind for kind, value in found if value == '"A Name"'] == [String.Double]


def test_every_word_of_the_language_is_known() -> None:
    assert set(WORDS) >= RESERVED
    grammar = (ROOT / "dsl" / "grammar.lark").read_text()
    assert set(WORDS) >= set(re.findall(r"^[A-Z_]+: /([a-z]+)\(\?!", grammar, re.MULTILINE))
    for word in RESERVED:
        assert kinds(f"{word} ", word) != {Name}, word


def test_the_entry_point_leads_to_the_lexer() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    (entry,) = project["entry-points"]["pygments.lexers"].values()
    assert entry == f"{AttnLexer.__module__}:{AttnLexer.__name__}"
    try:  # as `pygmentize -l attn` and minted find it, where attnc is installed
        assert isinstance(get_lexer_by_name("attn"), AttnLexer)
    except ClassNotFound:
        pytest.skip("attnc is not installed here with its entry points")


def test_nothing_is_left_over_from_any_text() -> None:
    for text in ('"', "\0", "@!", "\U0001d4a6", "1.2.3", "é = 1\n"):
        assert "".join(value for _, value in lexed(text)).strip() == text.strip()
        assert Token is not None
