"""The look of diagnostics."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from attnc.dsl.diagnostic import AttnError, Diagnostic, Severity, error
from attnc.dsl.render import render, render_all, to_json
from attnc.dsl.source import Source, Span

TEXT = """\
block attend(Q: [target, key], V: [source, value]) -> [target, value] {
    weights = softmax[target](scores)
    return dot[source](weights, V)
}
"""
SOURCE = Source("decoder.attn", "# a comment\n" * 9 + TEXT)


def at(source: Source, text: str, nth: int = 0) -> Span:
    start = -1
    for _ in range(nth + 1):
        start = source.text.index(text, start + 1)
    return Span(source, start, start + len(text))


def one_line(text: str, *marks: tuple[str, str]) -> str:
    source = Source("t.attn", text)
    (first, label), *rest = marks
    return render(error("E0999", "wrong", at(source, first), label, related=[(at(source, s), t) for s, t in rest]))


def cases() -> dict[str, Diagnostic]:
    library = Source("std/attention.attn", "# the library\n\nblock softly(x: [a]) {\n    return x\n}\n")
    source, target = at(SOURCE, "source", 1), at(SOURCE, "target", 2)
    weights = at(SOURCE, "weights", 1)
    whole = Span(SOURCE, SOURCE.text.index("block"), len(SOURCE.text) - 1)
    end = Span(SOURCE, len(SOURCE.text), len(SOURCE.text))
    return {
        "page": error(
            "E0307",
            "`weights` sum to one over `target`, but this `dot` averages over `source`",
            source,
            "averaged over `source` here",
            related=[(target, "normalised over `target` here")],
            help="normalise over the axis you average over",
            fix=[(target, "source")],
        ),
        "one line": error(
            "E0301",
            "two labels on one line",
            weights,
            "these",
            related=[(source, "this axis"), (at(SOURCE, "V", 1), "")],
            notes=["the first note", "the second note"],
            help="without a fix",
        ),
        "same place": error("E0301", "twice", source, "primary", related=[(source, "secondary")]),
        "far apart": error("E0301", "far", end, "at the end", related=[(Span(SOURCE, 0, 1), "at the start")]),
        "two files": error(
            "E0401", "other file", source, "called here", related=[(at(library, "softly"), "defined here")]
        ),
        "many lines": error("E0201", "all of it", whole, "from here on", severity=Severity.WARNING),
        "no place": error("E0601", "of the command line", None, notes=["a note"], help="a help"),
        "insertion": error(
            "E0301",
            "insert",
            weights,
            help="say so",
            fix=[(Span(SOURCE, weights.start, weights.start), "raw("), (Span(SOURCE, weights.end, weights.end), ")")],
        ),
        "deletion": error("E0301", "delete", weights, help="delete it", fix=[(weights, "")]),
        "new line": error(
            "E0301", "add a line", target, help="fix it", fix=[(Span(SOURCE, 0, 0), "width seq = 4096\n")]
        ),
        "fix elsewhere": error(
            "E0301", "elsewhere", source, "here", help="there", fix=[(at(library, "softly"), "softmax")]
        ),
    }


def test_layout(golden: Callable[[Path, str], None]) -> None:
    golden(
        Path("golden/render.txt"), "\n\n".join(f"== {name}\n{render(case)}" for name, case in cases().items()) + "\n"
    )


def test_colour(golden: Callable[[Path, str], None]) -> None:
    shown = render_all(list(cases().values())[:2], colour=True)
    golden(Path("golden/colour.txt"), shown.replace("\x1b", "␛") + "\n")


def test_colour_adds_nothing_but_colour() -> None:
    for case in cases().values():
        assert re.sub(r"\x1b\[[0-9;]*m", "", render(case, colour=True)) == render(case)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("\tx = y", "    x = y\n        ^ here"),
        ("的 = y", "的 = y\n     ^ here"),
        ("e\u0301 = y", "e\u0301 = y\n    ^ here"),
        ("\x1b = y", "\ufffd = y\n    ^ here"),
        ("\u202e = y", "\ufffd = y\n    ^ here"),
    ],
)
def test_carets_stand_under_what_they_mark(text: str, expected: str) -> None:
    shown = one_line(text, ("y", "here")).splitlines()[3:]
    assert [line[4:] for line in shown] == expected.splitlines()


def test_long_lines_are_cut() -> None:
    for text in ("x + " * 500 + "y", "y" + " + x" * 500, "x + " * 250 + "y" + " + x" * 250):
        line, marks = one_line(text, ("y", "here")).splitlines()[3:]
        assert len(line) < 180
        assert line[marks.index("^")] == "y"


def test_the_user_cannot_steer_the_terminal() -> None:
    source = Source("a\x1b[2J.attn", "x\x1b[2J")
    assert "\x1b" not in render(error("E0999", "`\x1b[2J`", Span(source, 0, 2), "\x1b", notes=["\x1b"], help="\x1b\n"))


@pytest.mark.parametrize(
    ("severities", "last"),
    [
        ("e", "1 error"),
        ("eew", "2 errors, 1 warning"),
        ("ww", "2 warnings"),
    ],
)
def test_the_last_line_counts(severities: str, last: str) -> None:
    kinds = {"e": Severity.ERROR, "w": Severity.WARNING}
    found = [error("E0999", "m", None, severity=kinds[each]) for each in severities]
    assert render_all(found).splitlines()[-1] == last


def test_nothing_to_render() -> None:
    assert render_all([]) == ""


def test_an_exception_shows_its_diagnostics() -> None:
    assert "averages over `source`" in str(AttnError([cases()["page"]]))


def test_json() -> None:
    found = to_json(cases().values())
    assert json.loads(json.dumps(found)) == found
    page = found[0]
    assert (page["file"], page["line"], page["column"], page["end_line"], page["end_column"]) == (
        "decoder.attn",
        12,
        16,
        12,
        22,
    )
    assert page["related"][0]["label"] == "normalised over `target` here"
    start, end = page["fix"][0]["start"], page["fix"][0]["end"]
    assert SOURCE.text[start:end] == "target"
    assert page["fix"][0]["text"] == "source"
    assert page["severity"] == "error"
    nowhere = next(each for each in found if each["code"] == "E0601")
    assert nowhere["file"] is nowhere["line"] is nowhere["fix"] is None
