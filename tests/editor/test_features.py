"""The features as functions: on every place of real specs, and on texts in any state of typing."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

import pytest

import attnc
from attnc.compiler.check import build
from attnc.dsl.files import read
from attnc.dsl.mistakes.fixes import apply
from attnc.editor.analysis import Analysis, analyse, is_current
from attnc.editor.features import fixes, folds, hints, navigate, picture, rename, tokens
from attnc.editor.features.complete import complete
from attnc.editor.features.hover import hover
from attnc.editor.features.signature import signature
from attnc.editor.lines import Lines
from attnc.editor.project import Project
from attnc.editor.shift import Shift
from tests.clock import at_most

from .edits import ROOT, SPECS, edited

# A sample of them in the quick suite, which the others look like.
each_spec = pytest.mark.parametrize(
    "path",
    [
        pytest.param(path, marks=() if n % 7 == 0 and path.parents[1].name != "zoo" else pytest.mark.slow)
        for n, path in enumerate(SPECS)
    ],
    ids=[path.relative_to(ROOT).as_posix() for path in SPECS],
)


def checked(path: Path, text: str | None = None, last: Analysis | None = None) -> Analysis:
    project = Project() if last is None else last.project
    project.folders = [str(path.parent)]
    if text is not None:
        project.open(str(path), text)
    return analyse(project, str(path), last)


@each_spec
def test_every_name_and_expression_of_a_right_spec_is_known(path: Path) -> None:
    analysis = checked(path)
    assert list(analysis.program.diagnostics) == list(build(read(path)).diagnostics) and is_current(analysis)
    for found in tokens.tokens(analysis):
        offset = found[0].start
        assert hover(analysis, offset) is not None, (found[0].text, analysis.source.position(offset))
    for mention in analysis.names.mentions:
        assert navigate.definition(analysis, mention.span.start), mention
        parts = set(mention.symbol.name.split("."))  # of the path of a file
        own = [m.span for m in navigate.highlight(analysis, mention.span.start)]
        assert mention.span in own and {span.text for span in own} <= {mention.symbol.name, mention.span.text} | parts
    for expression in analysis.expressions(0) + [node for _, _, node in analysis._nodes]:
        assert hover(analysis, expression.span.start) is not None, expression.span.text
    assert navigate.outline(analysis.file) and fixes.fix_all(analysis) is None


@each_spec
def test_a_renamed_spec_means_the_same(path: Path, tmp_path: Path) -> None:
    """Every fifth name of a spec by itself: what is checked afterwards has as many values, and no mistake."""
    analysis = checked(path)
    seen = set()
    for mention in analysis.names.mentions:
        symbol = mention.symbol
        if symbol in seen or len(seen) % 5:
            seen.add(symbol)
            continue
        seen.add(symbol)
        try:
            edits = rename.rename(analysis, mention.span.start, "another_name")
        except rename.RenameRefused as refused:
            assert "lives in the standard library" in str(refused) or symbol.kind == "file", refused
            continue
        text = analysis.text
        for span, new in reversed([edit for edit in edits if edit[0].source is analysis.source]):
            text = text[: span.start] + new + text[span.end :]
        if any(span.source is not analysis.source for span, _ in edits):
            continue  # of another file too: test_server.py renames across files
        again = checked(path, text)
        assert [d.message for d in again.diagnostics] == [], (symbol, text)
        assert len(again.facts.values) == len(analysis.facts.values)


NAMED_ALIKE = """\
depth key = 4

model f(x: [key]) -> (key: [key], twice: [key]) {
    return x, x + broadcast[key](2)
}
"""


@pytest.mark.parametrize(
    ("piece", "within", "new", "changed"),
    [
        ("(key:", 1, "other", NAMED_ALIKE.replace("(key:", "(other:")),
        ("twice", 0, "key2", NAMED_ALIKE.replace("twice", "key2")),
        ("depth key", 6, "twice", NAMED_ALIKE.replace("key", "twice").replace("(twice:", "(key:")),
    ],
)
def test_a_result_may_be_called_like_a_depth(piece: str, within: int, new: str, changed: str, tmp_path: Path) -> None:
    """It is no name that the block may write: either is renamed without the other."""
    path = tmp_path / "alike.attn"
    path.write_text(NAMED_ALIKE)
    analysis = checked(path)
    text = NAMED_ALIKE
    for span, name in reversed(rename.rename(analysis, text.index(piece) + within, new)):
        text = text[: span.start] + name + text[span.end :]
    assert text == changed
    with pytest.raises(rename.RenameRefused, match="is the name of a result already"):
        rename.rename(analysis, NAMED_ALIKE.index("(key:") + 1, "twice")


FEATURES: dict[str, Callable[[Analysis, int], object]] = {
    "hover": hover,
    "definition": navigate.definition,
    "references": navigate.references,
    "highlight": navigate.highlight,
    "complete": complete,
    "signature": signature,
    "subject": picture.subject,
    "outline": lambda analysis, offset: navigate.outline(analysis.file),
    "fixes": lambda analysis, offset: fixes.quick_fixes(analysis, offset, offset),
    "fix all": lambda analysis, offset: fixes.fix_all(analysis),
    "tokens": lambda analysis, offset: tokens.tokens(analysis),
    "hints": lambda analysis, offset: hints.hints(analysis, 0, offset),
    "folds": lambda analysis, offset: folds.folds(analysis.text),
    "diagnostics": lambda analysis, offset: analysis.diagnostics,
}


def ask_everything(analysis: Analysis, offset: int) -> None:
    for feature in FEATURES.values():
        feature(analysis, offset)
    try:
        rename.rename(analysis, offset, "another_name")
    except rename.RenameRefused as refused:
        assert str(refused)


@pytest.mark.parametrize("seed", range(8))
def test_any_sequence_of_edits_gets_answers(seed: int) -> None:
    typing(seed, 10)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(100, 120))
def test_many_sequences_of_edits_get_answers(seed: int) -> None:
    typing(seed, 40)


def typing(seed: int, edits: int) -> None:
    chance = random.Random(seed)
    path = chance.choice(SPECS)
    text = path.read_text("utf-8")
    analysis = checked(path, text)
    for _ in range(edits):
        text, offset = edited(text, chance)
        analysis = checked(path, text, analysis)
        ask_everything(analysis, offset)
        ask_everything(analysis, chance.randrange(len(text) + 1))
        lines = Lines(text)
        assert all(
            lines.offset(*lines.line_and_column(at)) == at
            for at in (offset, len(text))
            if text[at - 1 : at + 1] != "\r\n"
        )


@pytest.mark.parametrize("text", ["(" * 60_000, "{" * 60_000, "[(" * 30_000, "a." * 30_000, "\U0001d4a6" * 15_000])
def test_what_nests_beyond_all_measure_is_answered_at_once(text: str) -> None:
    analysis = checked(Path("/nowhere/x.attn"), text)
    with at_most(50):
        for offset in (0, 30_000, len(text)):
            ask_everything(analysis, offset)


def test_hover_knows_the_axes_of_a_dot() -> None:
    path = ROOT / "compiler" / "std" / "attention.attn"
    analysis = checked(path)
    found = hover(analysis, analysis.text.index("weights, V)"))
    assert found is not None and found.span is not None and found.span.text == "weights"
    assert "weights: [q, k]" in found.text and "sums to one over `k`" in found.text
    assert "a parameter of `attend`" in found.text


def test_hover_tells_of_the_other_name_of_an_axis() -> None:
    text = "depth model as m = 8\nblock f(x: [model]) -> [model] {\n    return x\n}\n"
    found = hover(checked(Path("/nowhere/x.attn"), text), text.index("m = 8"))
    assert found is not None and "diagrams, equations and tables of sizes call `model`" in found.text


def test_hover_tells_what_stands_behind_a_declaration() -> None:
    text = (
        "width seq  # the words\ndepth model = 8, other = 4  # both\nconst k = 2  # a number\n"
        "block f(x: [seq, model]) -> [seq, model] {\n    param E: [model]  # learned\n    return x * E * k\n}\n"
    )
    analysis = checked(Path("/nowhere/x.attn"), text)
    for name, words in (("seq, m", "the words"), ("model])", "both"), ("k\n", "a number"), ("E * k", "learned")):
        found = hover(analysis, text.index(name))
        assert found is not None
        assert words in found.text.split("\n\n"), found.text


def test_hover_tells_how_long_a_width_is() -> None:
    text = "width a ragged, b <= 9, c = 4, d = b / 3\nblock f(x: [a, b, c, d]) -> [a, b, c, d] {\n    return x\n}\n"
    analysis = checked(Path("/nowhere/x.attn"), text)
    found = hover(analysis, text.index("x\n}"))
    assert found is not None
    for words in ("of its own length in each example", "at most 9, known at run time", "size 4", "size `b / 3`"):
        assert words in found.text


@pytest.mark.parametrize("seed", range(6))
def test_a_stretch_has_its_canonical_form_and_the_rest_stays(seed: int) -> None:
    chance = random.Random(seed)
    path = chance.choice(SPECS)
    text = path.read_text("utf-8")
    loose = "".join(c + " " * (c == " " and chance.random() < 0.05) for c in text).replace("\n\n", "\n\n\n")
    right = attnc.format(loose)
    analysis = checked(path, loose)
    whole = fixes.canonical(analysis, 0, len(loose))
    assert whole is not None and apply(loose, whole) == right
    if loose != right:
        assert sum(edit.span.end - edit.span.start for edit in whole) < len(loose)
    for _ in range(5):
        start = chance.randrange(len(loose))
        end = min(len(loose), start + chance.randrange(300))
        edits = fixes.canonical(analysis, start, end)
        if edits is not None:
            assert all(edit.span.start <= end and start <= edit.span.end for edit in edits)
            assert attnc.format(apply(loose, edits)) == right
    broken = checked(path, loose + "block\n")
    assert fixes.canonical(broken, 0, len(loose)) is None


def test_a_stretch_of_one_block_leaves_the_block_above_as_it_is() -> None:
    above, loose = "block f( x:[seq] )->[seq]{\n  return x }\n", "block g( x:[seq] )->[seq]{\n  return x }\n"
    text = f"width seq\n{above}{loose}"
    edits = fixes.canonical(checked(Path("/nowhere/x.attn"), text), text.index(loose), len(text))
    assert edits
    assert apply(text, edits) == f"width seq\n{above}block g(x: [seq]) -> [seq] {{\n    return x\n}}\n"


def test_shift_finds_its_way_back() -> None:
    old, new = "one\ntwo\nthree\nfour\n", "zero\none\ntwo too\nthree\nfour\nfive\n"
    shift = Shift.between(old, new)
    for word in ("one", "three", "four"):
        assert shift.back(new.index(word)) == old.index(word) and shift.forth(old.index(word)) == new.index(word)
    assert shift.back(new.index("too") + 1) is None and Shift.between(old, old).back(7) == 7


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "utf-32"])
def test_lines_count_as_the_protocol_does(encoding: str) -> None:
    text = "a\r\nb\U0001d4a6c\rd\n\u2028e\n"  # a line separator ends no line
    lines = Lines(text, encoding)
    width = {"utf-8": 4, "utf-16": 2, "utf-32": 1}[encoding]
    assert lines.line_and_column(text.index("c")) == (1, 1 + width) and lines.offset(1, 1 + width) == text.index("c")
    assert lines.line_and_column(text.index("d")) == (2, 0) and lines.line_and_column(text.index("e")) == (
        3,
        3 if encoding == "utf-8" else 1,
    )
    assert lines.offset(1, 99) == text.index("\rd") and lines.offset(99, 0) == len(text) and lines.offset(0, 1) == 1
    if width > 1:
        assert lines.offset(1, 2) == text.index("\U0001d4a6")  # in the middle of a character


def test_what_folds() -> None:
    text = """\
# One comment
# of two lines.
width seq  # one alone
depth d = 4

# Another.
block f(
    x: [d]
) -> [d] {
    repeat 3 {
        # a
        # b

        # c
        x = x + 1
    }
    if d == 4 {
        y = x
    } else if d == 5 {
        y = x
    } else { y = x }
    if d == 4 {
    }
    return y
}
} }
block g(x: [d]) -> [d] {
    return x
"""
    for whole in (text, text.replace("\n", "\r\n")):
        lines = Lines(whole)
        found = [
            (lines.line_and_column(start)[0] + 1, lines.line_and_column(end)[0] + 1, what)
            for start, end, what in folds.folds(whole)
        ]
        assert found == [
            (1, 2, True),
            (9, 24, False),
            (10, 15, False),
            (11, 12, True),
            (17, 18, False),
            (19, 20, False),
        ]
