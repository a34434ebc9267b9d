"""Whatever the text: no exception, and every span lies in it."""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from attnc.dsl.layout import lay_out
from attnc.dsl.parse import MAX_ERRORS, parse
from attnc.dsl.render import render_all, to_json
from attnc.dsl.source import Source, Span
from attnc.dsl.tokens import RESERVED

TOUR = Path(__file__).with_name("tour.attn").read_text("utf-8")
SIGNS = [*"()[]{}=,:.~|^*/+-<'\"#é“\\;@\t\r\x00\u202e", "==", "|>", "->", "**", "<=", "!="]
SOFT = ["as", "block", "causal", "config", "frozen", "in", "like", "model", "op", "shared", "use"]
WORDS = [*sorted(RESERVED), *SOFT, "x", "y", "f", "3", "0.5", ".5", "1e999"]
PIECES = st.sampled_from([*SIGNS, *WORDS, " ", "\n", "\n", "\n    "])


def check(text: str) -> None:
    source = Source("fuzz", text)
    file, problems = parse(source)
    assert len(problems) <= MAX_ERRORS
    layout = lay_out(source)
    assert all(new in (old, " ") for new, old in zip(layout.text, text, strict=True))  # every offset stays
    starts = [comment.span.start for comment in layout.comments]
    assert starts == sorted(set(starts))
    render_all(problems)
    render_all(problems, colour=True)
    to_json(problems)
    todo: list[object] = [file, tuple(problems)]
    while todo:
        node = todo.pop()
        if isinstance(node, Span):
            assert node.source is source
            assert 0 <= node.start <= node.end <= len(text)
        elif isinstance(node, tuple):
            todo += node
        elif is_dataclass(node):
            todo += (getattr(node, field.name) for field in fields(node))


@settings(max_examples=100, deadline=None)
@given(st.text())
def test_any_text(text: str) -> None:
    check(text)


@settings(max_examples=150, deadline=None)
@given(st.lists(st.tuples(PIECES, st.sampled_from(["", " "]))))
def test_any_tokens(tokens: list[tuple[str, str]]) -> None:
    check("".join(token + gap for token, gap in tokens))


@settings(max_examples=150, deadline=None)
@given(st.lists(st.tuples(st.integers(0, len(TOUR)), st.integers(0, 20), PIECES), min_size=1, max_size=5))
def test_a_program_with_stretches_replaced(edits: list[tuple[int, int, str]]) -> None:
    text = TOUR
    for at, length, piece in edits:
        text = text[:at] + piece + text[at + length :]
    check(text)


@settings(max_examples=50, deadline=None)
@given(st.integers(0, len(TOUR)))
def test_a_program_cut_short(at: int) -> None:
    check(TOUR[:at])
