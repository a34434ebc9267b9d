"""The look of diagnostics."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from attnc.dsl.diagnostic import Diagnostic, Severity, error
from attnc.dsl.errors import AttnError
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


def span(line: int, first: int, last: int | None = None, source: Source = SOURCE) -> Span:
    """Columns of a line, from 1; up to `last`, not with it."""
    start = sum(map(len, source.text.splitlines(keepends=True)[: line - 1])) + first - 1
    return Span(source, start, start if last is None else start + last - first)


def marks() -> dict[str, Diagnostic]:
    """Where marks, labels and lines stand to one another."""

    def shown(primary: Span | None, label: str, *related: tuple[Span, str]) -> Diagnostic:
        return error("E0999", "wrong", primary, label, related=related)

    library = Source("std/positions.attn", "block place(x: [a]) {\n    return x\n}\n")
    long = Source("long.attn", "a" * 159 + "Z\n" + "b" * 160 + "Z\n" + "c" * 119 + "Z" + "c" * 200 + "Z\n" + "d" * 400)
    wide = Source("wide.attn", "x = 的的 + \ty\r\nz = 1\r\n")
    return {
        "neighbouring lines": shown(span(11, 5, 12), "here", (span(12, 5, 11), "there")),
        "a line between": shown(span(12, 5, 11), "here", (span(10, 1, 6), "there")),
        "two lines between": shown(span(13, 1, 2), "here", (span(10, 1, 6), "there")),
        "side by side": shown(span(11, 5, 8), "left", (span(11, 8, 12), "right")),
        "side by side, the other way": shown(span(11, 8, 12), "right", (span(11, 5, 8), "left")),
        "one in the other": shown(span(11, 7, 9), "inner", (span(11, 5, 12), "outer")),
        "the other in the one": shown(span(11, 5, 12), "outer", (span(11, 7, 9), "inner")),
        "ends alike": shown(span(11, 5, 12), "outer", (span(11, 9, 12), "inner")),
        "three labels": shown(
            span(11, 15, 22), "two", (span(11, 5, 12), "one"), (span(11, 23, 29), "three"), (span(11, 31, 37), "four")
        ),
        "three at one place": shown(
            span(11, 5, 12), "one", (span(11, 5, 12), "two"), (span(11, 5, 8), "three"), (span(11, 15, 22), "")
        ),
        "only the other has a label": shown(span(11, 15, 22), "", (span(11, 5, 12), "one")),
        "nothing between the marks": shown(span(11, 5), "", (span(11, 15), "there")),
        "at the end of a line": shown(span(11, 38), "here"),
        "past the end of a line": shown(span(11, 36, 45), "here", (span(10, 1, 300), "all of it")),
        "no place but a related one": shown(None, "nowhere", (span(11, 5, 12), "there"), (span(1, 1, 3), "and there")),
        "three files": shown(
            span(11, 5, 12),
            "here",
            (span(1, 7, 12, library), "one"),
            (span(1, 1, 2, wide), "two"),
            (span(2, 5, 11, library), ""),
        ),
        "long: fits": shown(span(1, 160, 161, long), "here"),
        "long: one too many": shown(span(2, 161, 162, long), "here"),
        "long: in the first three quarters": shown(span(3, 120, 121, long), "here", (span(3, 321, 322, long), "there")),
        "long: at the end": shown(span(3, 321, 322, long), "here"),
        "long: in the middle": shown(span(4, 200, 203, long), "here"),
        "wide signs and tabs": shown(span(1, 5, 7, wide), "wide", (span(1, 11, 12, wide), "behind a tab")),
        "line ends": shown(span(1, 11, 13, wide), "with its end", (span(2, 1, 2, wide), "next")),
    }


def mends() -> dict[str, Diagnostic]:
    """How fixes are shown."""
    library = Source("std/positions.attn", "block place(x: [a]) {\n    return x\n}\n")

    tall = Source("tall.attn", "\n" * 120)

    def fixed(*fix: tuple[Span, str], help: str = "write this", place: Span | None = None) -> Diagnostic:
        return error("W0999", "wrong", place or span(11, 5, 12), help=help, fix=fix, severity=Severity.WARNING)

    return {
        "two on one line, not in order": fixed((span(11, 15, 22), "max"), (span(11, 5, 12), "w")),
        "on neighbouring lines": fixed((span(12, 5, 11), "yield"), (span(11, 5, 12), "w")),
        "an insertion and a deletion": fixed((span(11, 5), "very_"), (span(11, 22, 30), "")),
        "deletions": fixed((span(11, 22, 30), ""), (span(12, 5, 12), "")),
        "two deletions on a line": fixed((span(11, 22, 30), ""), (span(11, 5, 8), "")),
        "lines in the place of a name": fixed((span(11, 15, 22), "f(\n        x\n    )")),
        "a line inserted below": fixed((span(11, 38), "\n    more = 3")),
        "over the end of a line": fixed((Span(SOURCE, span(11, 31).start, span(12, 12).start), "both ")),
        "a deletion over the end of a line": fixed((Span(SOURCE, span(11, 31).start, span(12, 12).start), "")),
        "in another file": fixed((span(1, 7, 12, library), "put")),
        "in both files": fixed((span(11, 5, 12), "w"), (span(2, 12, 13, library), "y")),
        "in lines of one number of both files": fixed((span(1, 1, 2), "%"), (span(1, 7, 12, library), "put")),
        "over fifty lines": fixed((Span(tall, 0, 50), "x"), place=Span(tall, 8, 8)),
        "without words": fixed((span(11, 5, 12), "w"), help=""),
        "in the hundreds": fixed((Span(tall, 100, 100), "x"), place=Span(tall, 8, 8)),
    }


def test_layout(golden: Callable[[Path, str], None]) -> None:
    every = cases() | marks() | mends()
    golden(Path("golden/render.txt"), "\n\n".join(f"== {name}\n{render(case)}" for name, case in every.items()) + "\n")


def test_colour(golden: Callable[[Path, str], None]) -> None:
    some = [*cases().values(), *list(marks().values())[:12], *mends().values()]
    shown = render_all(some, colour=True)
    golden(Path("golden/colour.txt"), re.sub(r"\x1b\[([0-9;]*)m", r"<\1>", shown).replace("<0>", "</>") + "\n")


def test_colour_adds_nothing_but_colour() -> None:
    for case in (cases() | marks() | mends()).values():
        assert re.sub(r"\x1b\[[0-9;]*m", "", render(case, colour=True)) == render(case)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("\tx = y", "    x = y\n        ^ here"),
        ("的 = y", "的 = y\n     ^ here"),
        ("e\u0301 = y", "e\u0301 = y\n    ^ here"),
        ("e\u20dd = y", "e\u20dd = y\n    ^ here"),
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
