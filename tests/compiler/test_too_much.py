"""Limits made small: of terms, steps, files and expressions; and the room for what nests deeply."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from attnc.compiler.check import build
from attnc.compiler.hints.tell import tell
from attnc.compiler.names import uses as files
from attnc.compiler.problems.sizes import Beyond
from attnc.compiler.sizes import limits
from attnc.compiler.sizes.limits import Limit, TooMuch, deep
from attnc.dsl.source import Source, Span


def body(*lines: str) -> str:
    return "depth d = 4\nblock b(x: [d]) -> [d] {\n" + "\n".join(lines) + "\nreturn x\n}\n"


def sizes(count: int) -> str:
    """A block called for so many sizes."""
    calls = "".join(f"x{n} = f[{'d' * n}](sum[d](x))\n" for n in range(1, count + 1))
    depths = "".join(f"depth {'d' * n} = {n}\n" for n in range(1, count + 1))
    block = "block f[e: depth](x: []) -> [] {\nreturn sum[e](broadcast[e](x))\n}\n"
    total = " + ".join(f"x{n}" for n in range(1, count + 1))
    return f"{depths}{block}block b(x: [d]) -> [] {{\n{calls}return {total}\n}}\n"


# The limit, as small as this; a program of so many parts; how many there may be; what is said, and of what.
SMALL: dict[str, tuple[str, int, Callable[[int], str], int, str, str]] = {
    "terms of a size": (
        "sizes.axes.TERMS", 5, lambda n: "depth d = 1" + " + 1" * n + "\n", 2,
        "the formula of this number has more than 5 terms", "1 + 1 + 1 + 1"),
    "terms of a const": (
        "sizes.axes.TERMS", 3, lambda n: "const c = " + "-" * n + "1\n", 2,
        "the formula of this number has more than 3 terms", "---1"),
    "mistakes of a block": (
        "base.problems.MISTAKES", 2, lambda n: body(*(f"_ = relu(y{k})" for k in range(n))), 2,
        "`b` has more than 2 mistakes", "y2"),
    "steps": (
        "check.STEPS", 5, lambda n: body(f"repeat.r {n} {{\nx = relu(x)\n}}"), 4,
        "written out, `b` has 6 steps, more than 5", "b"),
}  # fmt: skip


def told(text: str) -> list[tuple[str, str, str]]:
    found = build(Source("main.attn", text)).errors
    return [(each.code, each.message, each.span.text if each.span else "") for each in found]


@pytest.mark.parametrize("name", SMALL)
def test_what_there_may_be_and_no_more(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    limit, small, text, most, message, place = SMALL[name]
    monkeypatch.setattr(f"attnc.compiler.{limit}", small)
    assert "E0220" not in {code for code, _, _ in told(text(most))}
    assert [each for each in told(text(most + 1)) if each[0] == "E0220"] == [("E0220", message, place)]
    monkeypatch.undo()
    assert "E0220" not in {code for code, _, _ in told(text(most + 1))}


@pytest.mark.parametrize(
    ("limit", "small", "uses"),
    [
        ("FILES", 2, {"main": ["a", "b"], "a": [], "b": [], "c": []}),
        ("FILES_DEEP", 2, {"main": ["a"], "a": ["b"], "b": [], "c": []}),
    ],
)
def test_how_many_files_and_how_deep(
    limit: str, small: int, uses: dict[str, list[str]], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def errors() -> list[tuple[str, str, str, str]]:
        for name, used in uses.items():
            lines = [f"use {other}: block_{other}\n" for other in used]
            text = (
                f"block block_{name}(x: []) -> [] {{\nreturn {' + '.join(f'block_{o}(x)' for o in used) or 'x'}\n}}\n"
            )
            (tmp_path / f"{name}.attn").write_text("".join(lines) + text, encoding="utf-8")
        found = build(Source("main.attn", (tmp_path / "main.attn").read_text("utf-8")), base=tmp_path).errors
        return [(each.code, each.span.text, each.span.source.name, each.message) for each in found if each.span]

    monkeypatch.setattr(f"attnc.compiler.names.uses.{limit}", small)
    assert errors() == []
    last = "main" if limit == "FILES" else "b"
    uses[last] = [*uses[last], "c"]
    where = "main.attn" if last == "main" else str(tmp_path / "b.attn")
    said = f"the files of a spec are more than {files.FILES}, or use each other more than {files.FILES_DEEP} deep"
    assert errors() == [("E0220", "use c: block_c", where, said)]


def test_a_long_text_may_have_more_checked_than_a_short_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """Calls for ever more sizes are refused; the expressions that stand in the text never are."""
    long = body(*["x = x + 1 - x * 2"] * 300)
    many = sizes(40).replace("return sum[e](broadcast[e](x))", "return " + "exp(" * 60 + "sum[e](x)" + ")" * 60)
    monkeypatch.setattr("attnc.compiler.check.WORK", 0)
    assert told(long) == []
    assert told(sizes(1)) == []
    found = build(Source("main.attn", many)).errors
    assert [each.code for each in found if each.code == "E0220"] == ["E0220"]
    monkeypatch.undo()
    assert "E0220" not in {code for code, _, _ in told(many)}


def test_python_gives_up(monkeypatch: pytest.MonkeyPatch) -> None:
    def raises(_: object) -> None:
        raise RecursionError

    monkeypatch.setattr("attnc.compiler.check.called_blocks", raises)
    assert told("depth d = 4\n") == [("E0220", "something in this file nests too deeply", "")]


def test_room_for_what_nests() -> None:
    """As long as anyone needs it, and no less than there was."""
    before = sys.getrecursionlimit()
    with deep():
        assert sys.getrecursionlimit() == max(before, limits.FRAMES)
        with deep():
            pass
        assert sys.getrecursionlimit() == max(before, limits.FRAMES)
    assert sys.getrecursionlimit() == before
    sys.setrecursionlimit(limits.FRAMES + 5)
    try:
        with deep():
            assert sys.getrecursionlimit() == limits.FRAMES + 5
        with pytest.raises(ZeroDivisionError), deep():
            raise ZeroDivisionError
        assert sys.getrecursionlimit() == limits.FRAMES + 5
    finally:
        sys.setrecursionlimit(before)


def test_where_it_is_too_much() -> None:
    source = Source("main.attn", "one two")
    one, two = Span(source, 0, 3), Span(source, 4, 7)
    assert Beyond.of(TooMuch(Limit.RANK, 65, 64, span=one), two).span == one
    found = tell(Beyond.of(TooMuch(Limit.RANK, 65, 64), two))
    said = "a value of 65 axes has more than 64"
    assert (found.code, found.message, found.help, found.span) == ("E0220", said, "merge axes", two)
