"""Display names of blocks: what is refused, what is warned of, and that they change nothing but figures."""

from __future__ import annotations

import pytest

import attnc
from attnc.compiler.names.modules import ranks

SPEC = """depth model = 8

block act as "{}"(x: [model]) -> [model] {{
    return linear.up[model -> model](relu(x))
}}

block rectify(x: [model]) -> [model] {{
    return act(tanh(x))
}}

model whole(x: [model]) -> [model] {{
    return rectify(x) + act.again(x)
}}
"""


@pytest.mark.parametrize(
    "name", ["Activation", "Scaled Dot-Product Attention", "φ-map", "Äquivariant", "f(x) # [1", "a × b"]
)
def test_what_may_be_a_name(name: str) -> None:
    text = SPEC.format(name)
    assert attnc.check(text) == ()
    assert attnc.format(text) == text
    assert attnc.loads(text).block("act").graph.display == name


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("", "a display name is empty"),
        ("  ", "a display name is empty"),
        (" a", "a display name has spaces that no figure shows"),
        ("a  b", "a display name has spaces that no figure shows"),
        ("a\tb", "a display name has spaces that no figure shows"),
        ("x" * 61, "a display name of 61 letters has more than 60"),
        ("snake_case", "`_` in a display name is no sign that every format can set"),
        ("注意", "`注` in a display name is no sign that every format can set"),
        ("a\x7fb", "the character 127 in a display name is no sign that every format can set"),
    ],
)
def test_what_may_not(name: str, message: str) -> None:
    problem, *others = attnc.check(SPEC.format(name))
    assert (problem.code, problem.message) == ("E0221", message)
    assert problem.help and not others
    assert problem.span is not None and problem.span.text == f'"{name}"'


@pytest.mark.parametrize("wrong", ["'Act'", "“Act”", "Act"])
def test_the_help_for_missing_quotes_is_right(wrong: str) -> None:
    text = SPEC.format("?").replace('"?"', wrong)
    problem = attnc.check(text)[0]
    assert "in double quotes" in problem.message
    assert problem.fix is not None
    (edit,) = problem.fix.edits
    mended = text[: edit.span.start] + edit.text + text[edit.span.end :]
    assert mended == SPEC.format("Act") and attnc.check(mended) == ()


@pytest.mark.parametrize("name", ["rectify", "Rectify", "Whole"])
def test_two_blocks_of_one_name_are_told(name: str) -> None:
    (warning,) = attnc.check(SPEC.format(name))
    assert warning.code == "W0516"
    assert "are both called" in warning.message


OTHERS = """use std.attention: grouped_query, model

width q, k

block mine as "Grouped-Query Attention"(x: [q, model]) -> [q, model] {
    return relu(x)
}

block both(x: [q, model], y: [k, model]) -> [q, model] {
    return grouped_query[q, k](mine(x), y)
}
"""


def test_blocks_of_other_files_are_told_too() -> None:
    (warning,) = attnc.check(OTHERS)
    assert warning.code == "W0516" and "`mine` and `grouped_query`" in warning.message


def test_names_change_nothing_else() -> None:
    plain = attnc.loads(SPEC.format("?").replace(' as "?"', ""))
    shown = attnc.loads(SPEC.format("Activation"))
    assert list(plain.model("whole").weights) == list(shown.model("whole").weights)
    code = [spec.model("whole").source("numpy").split("sha256")[1][18:] for spec in (plain, shown)]
    assert code[0] == code[1]


def test_ranks_do_not_hang_on_the_figure() -> None:
    """A block has one number in the graphs of its file, whichever of them is drawn."""
    spec = attnc.loads(SPEC.format("Activation"))
    found = {spec.block(name).graph.rank for name in ("act", "rectify")} | {spec.model("whole").graph.rank}
    assert found == {0, 1, 2}
    (call,) = [node for node in spec.block("rectify").graph.nodes if getattr(node, "graph", None) is not None]
    assert call.graph.rank == spec.block("act").graph.rank
    assert ranks([]) == {}


def test_the_library_has_names_and_figures_number_what_is_alike() -> None:
    texts = [text for text, _ in attnc.loads(OTHERS).block("both").draw(depth=0)._sheet.texts]
    assert {"Grouped-\nQuery\nAttention", "Grouped-\nQuery\nAttention 2"} <= set(texts)
