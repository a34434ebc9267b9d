"""Every code has its page, every page its code, and what a page shows is true."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from attnc.compiler.program import Program, build
from attnc.dsl.catalogue import CATALOGUE, Entry, explain, normal
from attnc.dsl.diagnostic import Severity
from attnc.dsl.render import render_all
from attnc.dsl.source import Source

ROOT = Path(__file__).parents[2]


def check(text: str, folder: Path) -> Program:
    """A program as the catalogue writes it: several files in one text, and how they are checked on the first line."""
    parts = re.split(r"^# -- (\w+\.attn)\n", text.lstrip("\n"), flags=re.MULTILINE)
    for name, content in zip(["main.attn", *parts[1::2]], parts[::2], strict=True):
        (folder / name).write_text(content, encoding="utf-8")
    config = re.match(r"# attnc check main\.attn --config (\w+)\n", text.lstrip("\n"))
    path = folder / "main.attn"
    return build(Source(str(path), parts[0]), config=config[1] if config else None)


def codes(program: Program) -> list[str]:
    return [found.code for found in program.diagnostics]


@pytest.mark.parametrize("entry", CATALOGUE.values(), ids=lambda entry: entry.code)
def test_the_wrong_program_is_wrong_in_this_way(entry: Entry, tmp_path: Path) -> None:
    program = check(entry.wrong, tmp_path)
    errors = [found.code for found in program.errors]
    shown = render_all(program.diagnostics)
    if entry.code.startswith("W"):
        assert errors == [], shown
        assert codes(program)[0] == entry.code, shown
    else:
        assert errors == [entry.code], shown


@pytest.mark.parametrize("entry", CATALOGUE.values(), ids=lambda entry: entry.code)
def test_the_right_program_is_right(entry: Entry, tmp_path: Path) -> None:
    program = check(entry.right, tmp_path)
    assert not program.errors, render_all(program.diagnostics)
    assert entry.code not in codes(program), render_all(program.diagnostics)
    assert all(found.severity is Severity.WARNING for found in program.diagnostics)


def test_each_code_of_the_source_has_a_page_and_the_other_way_round() -> None:
    written = set()
    for folder in ("compiler", "dsl"):
        for path in (ROOT / folder).rglob("*.py"):
            if "catalogue" not in path.parts:
                written |= set(re.findall(r'"([EW]\d{4})"', path.read_text(encoding="utf-8")))
    assert written - set(CATALOGUE) == set(), "no page for these"
    assert set(CATALOGUE) - written == set(), "no code raises these"


def test_a_code_may_be_written_loosely() -> None:
    assert normal("e307") == normal("307") == normal(" E0307 ") == "E0307"
    assert normal("w502") == normal("W0502") == normal("502") == "W0502"
    assert normal("rubbish") == "rubbish"
    assert explain("W502").startswith("W0502: ")  # type: ignore[union-attr]
    assert explain("E9999") is None
    assert explain("") is None
