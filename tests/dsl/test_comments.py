"""Which comments say something, and of what."""

from __future__ import annotations

import pytest

from attnc.dsl import syntax as s
from attnc.dsl.comments.docs import behind, opening
from attnc.dsl.parse import parse
from attnc.dsl.source import Source, Span


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("# One.\n#  Two.  \n#\n#Three.\n\nwidth a", "One.\n Two.\n\nThree."),
        ("# One.\r\n# Two.\r\n\r\nwidth a", "One.\nTwo."),
        ("# One.\rwidth a", "One."),
        ("# One.", "One."),
        ("## One", "# One"),
        ("\n# One.", ""),
        ("width a  # one", ""),
        ("", ""),
    ],
)
def test_what_a_file_begins_with(text: str, words: str) -> None:
    assert opening(text) == words


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("width a  # of words ", "of words"),
        ("width a as x, b#both", "both"),
        ("width a\n# beneath", ""),
        ("width a\r\n# beneath", ""),
        ("width a # one # two", "one # two"),
        ("width a } # of the brace", ""),
        ("width a { # of the brace", ""),
        ("width a", ""),
    ],
)
def test_what_stands_behind_a_declaration(line: str, words: str) -> None:
    assert behind(Span(Source("x", line), 0, len("width a"))) == words


def test_a_comment_above_one_item_is_of_that_item_alone() -> None:
    text = "# a\nblock f(x: [d]) -> [d] { return x }  # behind\n# b\n\n# c\nblock g(x: [d]) -> [d] { return x }\n"
    file, problems = parse(Source("x", text))
    assert not problems
    assert [item.doc for item in file.items if isinstance(item, s.BlockDecl)] == ["a", "c"]
