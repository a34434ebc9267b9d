"""The formatter: nothing but layout changes, comments stay, and there is one form."""

from __future__ import annotations

import hashlib
import random
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import attnc
from attnc.dsl.formatting import WIDTH, format_source
from attnc.dsl.parse import parse
from attnc.dsl.source import Source
from attnc.dsl.syntax import File, same
from attnc.dsl.tokens import TOKEN
from tests.mistakes.cases import CASES

ROOT = Path(__file__).parents[2]
PLACES = ("compiler", "diagrams", "docs", "editors", "examples", "bench", "tests")
TOUR = Path(__file__).with_name("tour.attn")  # every way of writing things: not formatted, on purpose
FORMATTED_TEXTS = Path(__file__).with_name("formatted.txt")
SPECS = sorted(path for place in PLACES for path in (ROOT / place).rglob("*.attn"))
TEXTS = {path.relative_to(ROOT).as_posix(): path.read_text("utf-8") for path in SPECS}


def comments(file: File) -> list[str]:
    return ["".join(comment.text[1:].split()) for comment in file.comments]


def check(text: str, width: int = WIDTH) -> str:
    """Format a text that parses; what must hold of every text holds."""
    file, problems = parse(Source("text", text))
    assert not problems
    formatted = format_source(Source("text", text), width)
    again, problems = parse(Source("text", formatted))
    assert not problems
    assert same(again.items, file.items)
    assert comments(again) == comments(file)
    assert format_source(Source("text", formatted), width) == formatted
    assert formatted == "" or (formatted.endswith("\n") and not formatted.endswith("\n\n"))
    assert not any(line != line.rstrip() for line in formatted.split("\n") if "#" not in line)
    assert "\n\n\n" not in formatted
    return formatted


@pytest.mark.parametrize("name", TEXTS)
def test_the_repository_is_formatted(name: str) -> None:
    if ROOT / name != TOUR:
        assert check(TEXTS[name]) == TEXTS[name], f"attnc fmt {name}"


@pytest.mark.parametrize("width", [0, pytest.param(40, marks=pytest.mark.slow)])
def test_narrow_lines_break_and_mean_the_same(width: int) -> None:
    for text in TEXTS.values():
        check(text, width)


def test_wrong_programs_that_parse() -> None:
    count = 0
    for case in CASES:
        if not parse(Source("text", case.text))[1]:
            check(case.text)
            count += 1
    assert count > 60


INSERTS = (" ", "\n", "\n\n\n", " # one\n", "\n# two\n", "\n    # three\n\n    # four\n", "  #five\n\n")


def sprinkle(text: str, seed: int, inserts: tuple[str, ...]) -> str:
    """The text with white space or comments put between its tokens, where it still parses."""
    rng = random.Random(seed)
    for _ in range(rng.randint(1, 6)):
        at = rng.choice(
            [match.end() for match in TOKEN.finditer(text) if match.lastgroup not in ("comment", "newline")]
        )
        changed = text[:at] + rng.choice(inserts) + text[at:]
        if not parse(Source("text", changed))[1]:
            text = changed
    return text


@pytest.mark.slow
@settings(max_examples=80, deadline=None)
@given(st.sampled_from(sorted(TEXTS)), st.integers(0, 10**9), st.sampled_from([WIDTH, WIDTH, 60, 20]))
def test_comments_anywhere(name: str, seed: int, width: int) -> None:
    check(sprinkle(TEXTS[name], seed, INSERTS), width)


@settings(max_examples=40, deadline=None)
@given(st.sampled_from(sorted(TEXTS)), st.integers(0, 10**9))
def test_there_is_one_form_whatever_the_white_space(name: str, seed: int) -> None:
    text = TEXTS[name]
    plain = "".join(match.group() for match in TOKEN.finditer(text) if match.lastgroup != "comment")
    formatted = check(plain).replace("\n\n", "\n")
    assert check(sprinkle(plain, seed, (" ", "  \t", "\n", "\n\n"))).replace("\n\n", "\n") == formatted


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 10**6))
def test_generated_programs(seed: int) -> None:
    from tests.soundness.generate import generate

    check(generate(seed).text)


COMMENTED = """\
#!attnc
#about
width seq   # a
width past like seq     # bb
depth model   =   8 # c


depth inner=16
# not its documentation

# its documentation
block f[ q:width,  # the queries
   k: width like q  # the keys
   # none after this
](x:[q,model] , # first
  # above y
  y : [ k,model ]) ->[q,model]  # the result
{  # inside
    # above z
    z=x+1  # z

    return (  # why
        z  # here
        # there
    )
    # at its end
}  # closed
model net(x:[seq,model])->[seq,model]{
    if 1==1{
        y=x
    } # then
    # otherwise
    else{
        y=-x
    }
    return y
}
config small{model=4 # four
inner=2,}
# the end"""

FORMATTED = """\
#!attnc
# about
width seq            # a
width past like seq  # bb
depth model = 8      # c

depth inner = 16
# not its documentation

# its documentation
block f[
    q: width,         # the queries
    k: width like q,  # the keys
    # none after this
](
    x: [q, model],  # first
    # above y
    y: [k, model],
) -> [q, model] {  # the result
    # inside
    # above z
    z = x + 1  # z

    return (  # why
        z  # here
        # there
    )
    # at its end
}  # closed

model net(x: [seq, model]) -> [seq, model] {
    if 1 == 1 {
        y = x
    }  # then
    # otherwise
    else {
        y = -x
    }
    return y
}

config small {
    model = 4  # four
    inner = 2
}
# the end
"""


def test_every_place_of_a_comment() -> None:
    assert check(COMMENTED) == FORMATTED


LONG = """\
use std.attention: multihead, model, heads, rotary_attention as rotated_attention_of_llama, grouped_query as gq, attend, std
block f[some_quite_long_name: width, another_quite_long_name: width](some_input: [some_quite_long_name], another_input: [another_quite_long_name], third: int[]) -> (left: [some_quite_long_name], right: [another_quite_long_name]) {
    x = some_input * 2 + some_input * 3 + some_input * 4 + some_input * 5 + some_input * 6 + some_input * 7 + some_input / 8 - 1
    y = g(some_input, another_input, some_input, another_input, some_input, another_input, some_input, another_input, 12)
    z = some_input |> g.one[some_quite_long_name -> another_quite_long_name](bias = false) |> relu |> g.two(drop, some = 0.1)
    w = softmax[k](g(some_input, another_input, some_input, another_input, some_input, another_input) where some_quite_long_name and another_quite_long_name)
    return x, y
}
"""  # noqa: E501

BROKEN = """\
use std.attention: multihead,
    model,
    heads,
    rotary_attention as rotated_attention_of_llama,
    grouped_query as gq,
    attend,
    std

block f[some_quite_long_name: width, another_quite_long_name: width](
    some_input: [some_quite_long_name], another_input: [another_quite_long_name], third: int[]
) -> (left: [some_quite_long_name], right: [another_quite_long_name]) {
    x = some_input * 2
        + some_input * 3
        + some_input * 4
        + some_input * 5
        + some_input * 6
        + some_input * 7
        + some_input / 8
        - 1
    y = g(
        some_input, another_input, some_input, another_input, some_input, another_input, some_input, another_input, 12
    )
    z = some_input
        |> g.one[some_quite_long_name -> another_quite_long_name](bias = false)
        |> relu
        |> g.two(drop, some = 0.1)
    w = softmax[k](
        g(some_input, another_input, some_input, another_input, some_input, another_input)
            where some_quite_long_name and another_quite_long_name,
    )
    return x, y
}
"""


def test_long_lines_break_at_the_loosest_place() -> None:
    formatted = check(LONG)
    assert formatted == BROKEN


def test_the_form_of_many_texts(golden: Callable[[Path, str], None]) -> None:
    """formatted.txt: `=== title | width`, a text, `---`, and its form."""
    shown = []
    for case in re.split(r"^=== ", FORMATTED_TEXTS.read_text("utf-8"), flags=re.MULTILINE)[1:]:
        header, _, rest = case.partition("\n")
        text = rest.partition("\n---\n")[0].rstrip("\n") + "\n"
        shown.append(f"=== {header}\n{text}---\n{check(text, int(header.partition(' | ')[2] or WIDTH))}")
    golden(FORMATTED_TEXTS, "\n".join(shown))


def test_the_form_of_texts_with_remarks_anywhere(golden: Callable[[Path, str], None]) -> None:
    """Fingerprints: where one differs, print what is formatted, here and at the commit before."""
    from tests.soundness.generate import generate

    told = []
    for seed in range(60):
        text = generate(seed).text if seed % 10 else TOUR.read_text("utf-8")
        form = format_source(Source("text", sprinkle(text, seed, INSERTS)), (WIDTH, 60, 20)[seed % 3])
        told.append(f"{seed}: {hashlib.sha256(form.encode()).hexdigest()[:8]}\n")
    golden(Path("golden/sprinkled.txt"), "".join(told))


@pytest.mark.parametrize("width", [60, 24])
def test_the_form_of_every_construct(width: int, golden: Callable[[Path, str], None]) -> None:
    golden(Path(f"golden/tour_{width}.txt"), check(TOUR.read_text("utf-8"), width))


LINES = [
    "    y = f(LONG, b)", "    y = LONG + b", "    return LONG, b", "    y = (LONG)", "    y = f(b)[LONG as c]",
    "    y = f[a -> LONG](b)", "    LONG, b = f(x)", "    param w: [LONG, b] ~ normal(0.1)", "    y = b |> f(LONG)",
    "    y = not LONG and b", "    y = f(b) where LONG <= c", "    y = a * LONG + c",
    "width LONG, b", "const LONG = 1, b = 2", "use a: LONG, b", "config c { LONG = 1, b = 2 }",
    "block f(LONG: [a], b: [a]) -> [a] {}", "block f[LONG: width, b: width](x: [a]) -> [a] {}",
    "block f(x: [a]) -> (LONG: [a], b: [a]) {}", 'op f(LONG: [a], b: [a]) -> [a] = "m:f"',
]  # fmt: skip


@pytest.mark.parametrize("line", LINES)
def test_a_line_is_filled_to_its_last_character(line: str) -> None:
    for length, fits in ((60, True), (61, False)):
        full = line.replace("LONG", "n" * (length - len(line) + 4))
        inside = full.startswith(" ")
        text = f"block g() {{\n{full}\n}}\n" if inside else full + "\n"
        assert (check(text, 60) == text) is fits, check(text, 60)


@pytest.mark.parametrize(("length", "column"), [(12, True), (36, True), (37, False), (60, False)])
def test_comments_stand_in_a_column_where_that_fits(length: int, column: bool) -> None:
    comment = "# " + "c" * 20
    lines = [f"depth {'n' * (length - 10)} = 1  {comment}", f"width a  {comment}", "width bc  # c"]
    found = check("\n".join(lines) + "\n", 60).splitlines()
    at = [line.index("#") for line in found]
    assert at == ([length + 2] * 3 if column else [length + 2, 9, 10])


def test_long_sums_and_deep_brackets() -> None:
    names = [f"a{n}" for n in range(5000)]
    assert check(f"block f() -> [] {{ return {' + '.join(names)} }}\n").count("\n") == 5002
    check("block f() -> [] {\n return " + "(" * 90 + "x" + ")" * 90 + "\n}\n")
    check("block f() -> [] {\n return " + "-" * 90 + "x\n}\n")


def test_words_that_begin_items_never_begin_a_line() -> None:
    check("use other: " + ", ".join(f"model as the_model_number_{n}" for n in range(9)) + "\n")
    check("depth " + ", ".join(f"model as the_model_number_{n}" for n in range(9)) + "\n")


@pytest.mark.parametrize("text", ["", "\n\n", "   \n", "# only this", "\n\n# only this\n\n\n"])
def test_files_without_items(text: str) -> None:
    assert check(text) == (f"{text.strip()}\n" if text.strip() else "")


def test_line_ends() -> None:
    assert attnc.format("width a\r\nwidth b # x\r\n# y") == "width a\r\nwidth b  # x\r\n# y\r\n"
    assert attnc.format("width a\nwidth b\r\n") == "width a\nwidth b\n"
    for text in ("", "a", "\n", "\na\r", "a\rb", "a\nb\r\n", "\n\r\n"):
        assert Source("text", text).newline == "\n"
    assert Source("text", "\r\n").newline == Source("text", "a\r\nb\n").newline == "\r\n"


def test_what_does_not_parse_has_no_form() -> None:
    with pytest.raises(attnc.AttnError) as wrong:
        attnc.format("width a\nwidth =\n", name="mine.attn")
    assert "mine.attn:2" in str(wrong.value)
