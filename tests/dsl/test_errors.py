"""Syntax errors: what they say (golden files), and that one does not hide another."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from attnc.dsl.diagnostic import Diagnostic
from attnc.dsl.formatting import format_source
from attnc.dsl.mistakes.table import table
from attnc.dsl.parse import MAX_ERRORS, parse
from attnc.dsl.render import render_all
from attnc.dsl.source import Source
from attnc.dsl.tokens import ITEM_ALIASES, ITEM_WORDS, STATEMENT_WORDS, TOKEN


def problems(text: str) -> list[Diagnostic]:
    return parse(Source("t.attn", text))[1]


def codes(text: str) -> list[str]:
    return [problem.code for problem in problems(text)]


def inside(*lines: str) -> str:
    return "block f(x: [a]) -> [a] {\n" + "".join(f"    {line}\n" for line in lines) + "    return x\n}\n"


THEMES: dict[str, list[str]] = {
    "items": [
        "blcok f(x: [a]) -> [a] {\n    return x\n}",
        "def attention(q, k, v):\n    return softmax(q @ k) @ v\n",
        "import torch\n",
        "widht a, b",
        "x = 3",
        "model = 512",
        "width a b",
        "depth a: 512",
        "depth a == 512",
        "depth a =\nblock f() {\n}",
        "const where = 3",
        "use std.attention import multihead",
        "config big { a: 3 }",
        "width",
        "width a = [3]",
    ],
    "signatures": [
        "block f(x) -> [a] {\n    return x\n}",
        "block f[q](x: [q]) -> [q] {\n    return x\n}",
        "block f(x: Tensor) {\n    return x\n}",
        "block f(x: [a]) [a] {\n    return x\n}",
        "block f(x: [a]) -> [a]:\n    return x\n",
        "block f(x: [a]) -> [a]\n",
        "block f(x: [a] y: [b]) {\n    return x\n}",
        'op f(x: [a]) -> [a] = "my_ops:f\n',
        "op f(x: [a]) -> [a] = my_ops.f\n",
    ],
    "statements": [
        inside("relu(x)"),
        inside("x[a = 0] = 3"),
        inside("x + 1"),
        inside("retrun x"),
        inside("for i in layers {", "}"),
        inside("repeat layers:", "    x = x"),
        inside("if x = 3 {", "}"),
        inside("if x { y = 1 } elif y { y = 2 }"),
        inside("width = 3"),
        inside("y == 3"),
        inside("let y = 3"),
        inside("block g(x: [a]) {", "    return x", "}"),
        inside("y: x = 3"),
        inside("y = 1 +"),
        inside("y = = 3"),
        inside("return"),
    ],
    "expressions": [
        inside("y = 1 < x < 3"),
        inside("y = x if a else b"),
        inside("y = x[-1]"),
        inside("y = x[:, 0]"),
        inside("y = softmax[](x)"),
        inside("y = linear[512 -> 64](x)"),
        inside("y = f(x)(x)"),
        inside("y = x.shape"),
        inside("y = linear.O[a -> b]"),
        inside("y = x |> f + 1"),
        inside("y = x where a where b"),
        inside("y = (x, x)"),
        inside("y = f(x x)"),
        inside("y = f(x", "      x)"),
        inside('y = "text"'),
        inside("y = a == not b"),
        inside("y = linear[a = 1: b -> c](x)"),
        inside("y = x -> z"),
    ],
    "signs": [
        inside("y = x ** 2"),
        inside("y = a && b || !c"),
        inside("y = a @ b"),
        inside("y = x;"),
        inside("y = a // b"),
        inside("// a comment"),
        inside("y += 1"),
        inside("y = 'text'"),
        inside("y = “text”"),
        inside("y = größe + 1"),
        inside("y = a ≤ b − c"),
        inside("y = a \\", "  + b"),
        inside("y = x\u00a0+ 1"),
        inside("y = x\u202e+ 1"),
        inside("y = 3x + .5"),
        inside("y = 1.", "z = 1_000", "w = 0x10", "v = 1.2.3"),
        inside("y = 1234567890123456789", "z = 1e999"),
    ],
    "brackets": [
        "block f(x: [a] -> [a] {\n    return x\n}\n",
        inside("y = g(x"),
        inside("y = softmax[k](dot[d](x, x)", "z = 3"),
        inside("y = ((((x)"),
        inside("y = f(x]"),
        inside("y = f[(x]"),
        inside("y = f(x))"),
        inside("repeat 3 {", "    x = x"),
        "block f(x: [a]) -> [a] {\n    return x\n\nblock g(x: [a]) -> [a] {\n    return x\n}\n",
        inside("}"),
        "width a = (3\nblock f() {\n}\n",
        "block f(x: [a]) {\n    y = (x",
        inside("y = " + "(" * 101 + "x" + ")" * 101),
        inside("y = " + "-" * 101 + "x"),
    ],
}


@pytest.mark.parametrize("theme", THEMES)
def test_messages(theme: str, golden: Callable[[Path, str], None]) -> None:
    """Read golden/errors/*.txt: each wrong text with all that is said about it."""
    shown = []
    for text in THEMES[theme]:
        found = problems(text)
        assert found, text
        shown.append(render_all(found) + "\n")
    golden(Path("golden/errors") / f"{theme}.txt", f"\n{'=' * 80}\n\n".join(shown))


@pytest.mark.parametrize("theme", THEMES)
def test_one_mistake_gives_one_code(theme: str) -> None:
    for text in THEMES[theme]:
        assert len(set(codes(text))) == 1, text


def place(problem: Diagnostic) -> tuple[str, int]:
    assert problem.span is not None
    return problem.code, problem.span.start


def apply(text: str, problem: Diagnostic) -> str:
    assert problem.fix is not None
    for edit in sorted(problem.fix.edits, key=lambda edit: -edit.span.start):
        text = text[: edit.span.start] + edit.text + text[edit.span.end :]
    return text


@pytest.mark.parametrize("theme", THEMES)
def test_fixes_mend(theme: str) -> None:
    """A machine may apply a fix: what it is about is gone, and nothing new is wrong before it."""
    for text in THEMES[theme]:
        for problem in problems(text):
            if problem.fix is not None:
                after = problems(apply(text, problem))
                assert place(problem) not in map(place, after), text


# -- many small slips

SLIPS = Path(__file__).with_name("slips.txt")
AROUND = {
    "file": "{}\n",
    "body": "block f() {{\n{}\n    return x\n}}\n",
    "expression": "block f() {{\n    y = {}\n}}\n",
}


def said(text: str) -> Iterator[str]:
    """All that is known of the mistakes of a text, in few words, and what each fix makes of its lines."""
    for found in problems(text):
        assert found.span is not None
        line, column = found.span.source.position(found.span.start)
        yield f"{line}:{column} `{found.span.text}` {found.code} {found.message}"
        if found.label and not found.message.startswith(found.label):
            yield f"  {found.label}"
        for label in found.related:
            yield f"  {label.text}: {label.span.source.position(label.span.start)[0]}:{label.span.text}"
        yield from (f"  {word}" for word in (*found.notes, found.help) if word)
        if found.fix is not None:
            yield f"  => {_changed(text, apply(text, found))}"


def _changed(text: str, fixed: str) -> str:
    before = text.splitlines()
    return " ⏎ ".join(line.strip() for line in fixed.splitlines() if line not in before)


def test_what_is_said_of_slips(golden: Callable[[Path, str], None]) -> None:
    """slips.txt: what may be mistyped, each with what is said of it behind `!`; it stands alone as a file, as the body
    of a block, or as an expression in one."""
    shown = []
    around = ""
    for part in re.split(r"\n{2,}", SLIPS.read_text("utf-8").strip()):
        if part.startswith("== "):
            around = AROUND[part.removeprefix("== ")]
            shown.append(part)
            continue
        lines = [line for line in part.split("\n") if not line.startswith("! ")]
        found = [f"! {line}" for line in said(around.format("\n".join(lines)))]
        assert found, part
        shown.append("\n".join((*lines, *found)))
    golden(SLIPS, "\n\n".join(shown) + "\n")


FOREIGN = """** // /* && || & ! !== === <> =< => := @ ; ' \\ ? $ ` ... \u00a0 \ufeff ≤ ≥ ≠ → − – — × · ÷ √ \r \
+= -= *= /= %= ^= “ ” „ ‟ ‘ ’ ‚ ‛ « » ‹ › ′ ″ ＂"""
SIGNS = FOREIGN.split(" ")


def test_what_is_said_of_signs_of_other_languages(golden: Callable[[Path, str], None]) -> None:
    assert {f"✗{sign}" for sign in SIGNS} == {text for row in table()[1] for text in row.texts if text[0] == "✗"} - {
        *("✗NAME", "✗0", '✗""', "✗#", "✗…")
    }
    shown = []
    for sign in SIGNS:
        found, *_ = problems(f"const c = a {sign} b\n")
        mended = "" if found.fix is None else f" => {found.fix.edits[0].text!r}"
        shown.append(f"{sign!a}: {found.code} {found.message}; {found.help}{mended}\n")
    golden(SLIPS.with_name("signs.txt"), "".join(shown))


def test_no_sign_of_other_languages_hides_a_longer_one() -> None:
    for sign in SIGNS:
        found = TOKEN.match(sign + "=" + sign)
        assert len(sign) == 1 or (found is not None and found.lastgroup == "slip" and found.end() == len(sign))


def test_what_is_said_of_words_of_other_languages(golden: Callable[[Path, str], None]) -> None:
    """And of near misses of our own words, which are mended."""
    near = {words: [word[:1] + word[2:] + "x" for word in words] for words in (ITEM_WORDS, STATEMENT_WORDS)}
    shown = []
    for words, around in (
        ((*ITEM_ALIASES, *near[ITEM_WORDS]), "WORD f(x: [a]) {\n}\n"),
        (("for", "while", "loop", "yield", *near[STATEMENT_WORDS]), inside("WORD x")),
    ):
        for word in words:
            found, *_ = problems(around.replace("WORD", word))
            mended = "" if found.fix is None else f" => {found.fix.edits[0].text}"
            shown.append(f"{word}: {found.code} {found.message}; {found.help}{mended}\n")
    golden(SLIPS.with_name("words.txt"), "".join(shown))


# -- recovery


def test_every_line_of_a_body_is_looked_at() -> None:
    text = inside("y = f(x", "z = x **  2", "ok = 1", "if x y {", "    w = x x", "}", "relu(x)")
    assert codes(text) == ["E0102", "E0103", "E0101", "E0101", "E0110"]


def test_two_wrong_signs_on_a_line_do_not_hide_the_next() -> None:
    assert codes(inside("y = a && b || c", "z = = 1")) == ["E0103", "E0103", "E0101"]


def test_a_wrong_head_does_not_hide_its_body() -> None:
    assert codes("block f(x [a]) -> [a] {\n    y = x y\n    return x\n}") == ["E0101", "E0101"]
    assert codes("blokc f(x: [a]) -> [a] {\n    y = x y\n    return x\n}") == ["E0106", "E0101"]
    assert codes(inside("if x {", "} elif y {", "    z = = 1", "}")) == ["E0101", "E0101"]


def test_a_broken_item_is_left_out_and_the_others_stay() -> None:
    file, found = parse(Source("t", "width a\n" + inside("y = = 2") + "width b\n"))
    assert [problem.code for problem in found] == ["E0101"]
    assert [item.name.text for item in file.items] == ["a", "b"]  # type: ignore[union-attr]


def test_what_is_left_of_a_broken_item_is_not_reported_again() -> None:
    assert codes("def f(x):\n    y = x\n\n    return y\n\nwidth a b\n") == ["E0106", "E0101"]
    assert codes("def f(x):\n    y = x\n\n    return y & 1\n\nwidth a b\n") == ["E0106", "E0101"]
    assert codes(inside("y = 1", "}") + "width a b\n") == ["E0102", "E0101"]


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ('op f(x: [a]) -> [a] = "m:f', '"m:f'),
        ('op f(x: [a]) -> [a] = "m:f  ', '"m:f'),
        ('op f(x: [a]) -> [a] = "m:f\r\nwidth b', '"m:f'),
        ("width a\n// what", "// what"),
        ("width a\r\n/* what */ \r\nwidth b", "/* what */"),
    ],
)
def test_a_slip_ends_where_its_line_does(text: str, place: str) -> None:
    assert [problem.span.text for problem in problems(text) if problem.span] == [place]


@pytest.mark.parametrize("text", ["# one\rwidth a\rwidth b\r", "width a\rwidth b # c\rwidth d\n", "width a # b\r"])
def test_line_ends_that_are_none_are_told_once(text: str) -> None:
    """A comment does not go on behind one: the rest of the text would be lost without a word."""
    (found,) = problems(text)
    assert found.code == "E0103" and found.message == "a carriage return stands here without a newline"
    assert found.span is not None and found.span.start == text.index("\r")


def test_a_byte_order_mark_may_stand_before_all_else() -> None:
    """As in files, which are read without it. Offsets stay those of the text."""
    for text in ("# a\nwidth s\n", "width s\n\nblock f(x: [s]) -> [s] {\n    return x\n}\n"):
        assert not problems("\ufeff" + text)
        assert format_source(Source("t.attn", "\ufeff" + text)) == text
    (within,) = problems("width s\n\ufeffwidth t\n")
    assert within.code == "E0103" and "byte order mark" in within.message
    (wrong,) = problems("\ufeffwidth a b\n")
    assert wrong.span is not None and wrong.span.start == 9


def test_errors_are_limited() -> None:
    found = problems("width a b\n" * 50)
    assert len(found) == MAX_ERRORS
    assert found[-1].notes == ("there may be more: the rest of the file was not looked at",)
    assert len(problems(inside(*["y = = 1"] * 50))) == MAX_ERRORS
    assert len(problems("é " * 50)) == MAX_ERRORS


def test_errors_come_in_the_order_of_the_text() -> None:
    found = problems("width a b\n" + inside("y = = 1", "z = é") + "width c d\n")
    starts = [problem.span.start for problem in found if problem.span]
    assert starts == sorted(starts)
    assert len(starts) == 4


@pytest.mark.parametrize(
    "text", ["const a = 1" + " ^ 1" * 200, "const a = " + "not " * 200 + "x", "const a = " + "[" * 200]
)
def test_depth_is_limited(text: str) -> None:
    assert "E0107" in codes(text)


# What is limited, by which constant; a text of so many; how many there may be if that constant is 3.
DEEP: dict[str, tuple[str, Callable[[int], str], int, str, str]] = {
    "powers": ("tree.MAX_DEPTH", lambda n: "const a = 1" + " ^ 1" * n, 3, "this nests more than 3 deep", "^"),
    "signs": ("tree.MAX_DEPTH", lambda n: "const a = " + "-" * n + "1", 3, "this nests more than 3 deep", "-"),
    "not": ("tree.MAX_DEPTH", lambda n: inside("y = " + "not " * n + "x"), 3, "this nests more than 3 deep", "not"),
    "signs and powers": (
        "tree.MAX_DEPTH", lambda n: "const a = " + "-1 ^ " * n + "1", 1, "this nests more than 3 deep", "-"),
    "else if": (
        "tree.MAX_DEPTH", lambda n: inside("if a {", "}" + " else if a {\n}" * n), 3, "this nests more than 3 deep",
        "if"),
    "brackets": (
        "layout.MAX_DEPTH", lambda n: "const a = " + "(" * n + "1" + ")" * n, 3, "brackets are nested more than 3 deep",
        "("),
    **{
        name: ("tree.MAX_CALLS", text, most, "calls stand in one another more than 3 deep", place)
        for name, text, most, place in (
            ("calls", lambda n: inside("y = " + "f(" * n + "x" + ")" * n), 3, "f"),
            ("pipes", lambda n: inside("y = x" + " |> f" * n), 2, "f"),
            ("indices", lambda n: inside("y = x" + "[a as b]" * n), 3, "[a as b]"),
            ("scans", lambda n: inside("y = " + "scan[a] f(" * n + "x" + ")" * n), 3, "f"),
            ("calls in sums", lambda n: inside("y = " + "f(1 + " * n + "x" + ")" * n), 3, "f"),
            ("named arguments", lambda n: inside("y = " + "f(x, k = " * n + "x" + ")" * n), 3, "f"),
            ("indices in indices", lambda n: inside("y = " + "x[a = " * n + "x" + "]" * n), 3,
             "[a = x[a = x[a = x[a = x]]]]"),
        )
    },
    **{
        name: ("tree.MAX_LINKS", text, most, "more than 3 operators stand in a row", place)
        for name, text, most, place in (
            ("a sum", lambda n: inside("y = x" + " + x" * n), 3, "+"),
            ("masks", lambda n: inside("y = x" + " and x" * n), 3, "and"),
            ("a product in a sum", lambda n: inside("y = x" + " + x * x" * n), 2, "+"),
            ("sums in brackets", lambda n: inside("y = " + "(x + " * n + "x" + ")" * n), 3, "+"),
            ("a sum and its mask", lambda n: inside("y = f(x" + " + x" * n + " where y)"), 3, "+"),
        )
    },
    "digits": ("tree.MAX_DIGITS", lambda n: "const a = " + "1" * n, 3, "this number is too large", "1111"),
    "digits behind noughts": ("tree.MAX_DIGITS", lambda n: "const a = 00" + "1" * n, 3, "this number is too large",
                              "001111"),
    "letters": ("tree.MAX_NAME", lambda n: "width " + "a" * n, 3, "a name of 4 letters has more than 3", "aaaa"),
}  # fmt: skip


@pytest.mark.parametrize("name", DEEP)
def test_how_deep_and_how_long(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    constant, text, most, message, place = DEEP[name]
    assert problems(text(most + 1) + "\n") == []
    monkeypatch.setattr(f"attnc.dsl.{constant}", 3)
    assert problems(text(most) + "\n") == []
    (found,) = problems(text(most + 1) + "\n")
    assert (found.message, found.span and found.span.text) == (message, place)


def test_else_if_is_limited() -> None:
    assert codes(inside("if a {", "}" + " else if a {\n}" * 200))[0] == "E0107"


def test_a_file_of_open_brackets() -> None:
    assert len(problems("f(a\n" * 1000)) <= MAX_ERRORS
    assert "E0107" in codes("(" * 5000)


@pytest.mark.parametrize("between", ["# a comment\n", "\n\n", "b +\n    c\n    z = (d,\n    e)\n"])
def test_what_is_read_again_keeps_its_place(between: str) -> None:
    """Comments and newlines behind a bracket that was not closed are read twice, and blanked once."""
    text = f"block f(x: [a]) -> [a] {{\n    y = relu((x\n    {between}    w = tanh(\n    x)\n    return x q\n}}\n"
    found = [(problem.code, problem.span.start) for problem in problems(text) if problem.span is not None]
    assert ("E0102", text.index("(x\n")) in found
    assert ("E0101", text.index("q\n}")) in found
