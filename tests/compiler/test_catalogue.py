"""Every code has its page, every page its code, and what a page shows is true."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

import attnc
from attnc.compiler.check import build
from attnc.compiler.graph.sized import require_sizes
from attnc.dsl.catalogue import CATALOGUE, Entry, explain, normal
from attnc.dsl.diagnostic import Diagnostic
from attnc.dsl.errors import AttnError
from attnc.dsl.render import render_all
from attnc.dsl.source import Source

ROOT = Path(__file__).parents[2]


def check(text: str, folder: Path) -> tuple[Diagnostic, ...]:
    """A program as the catalogue writes it: several files in one text, and what is done with them on the first line."""
    parts = re.split(r"^# -- (\w+\.(?:attn|figure))\n", text.lstrip("\n"), flags=re.MULTILINE)
    for name, content in zip(["main.attn", *parts[1::2]], parts[::2], strict=True):
        (folder / name).write_text(content, encoding="utf-8")
    command = text.lstrip("\n").partition("\n")[0]
    config = re.match(r"# attnc check main\.attn --config (\w+)", command)
    program = build(Source(str(folder / "main.attn"), parts[0]), config=config[1] if config else None)
    drawn = re.match(r"# attnc draw main\.attn:(\w+)", command)
    if drawn:
        try:
            attnc.load(folder / "main.attn").model(drawn[1]).draw()
        except AttnError as wrong:
            return wrong.diagnostics
    compiled = re.match(r"# attnc compile main\.attn:(\w+)", command)
    if compiled:
        try:
            require_sizes(program.graph(compiled[1]))
        except AttnError as wrong:
            return wrong.diagnostics
    return program.diagnostics


@pytest.mark.parametrize("entry", CATALOGUE.values(), ids=lambda entry: entry.code)
def test_the_wrong_program_is_wrong_in_this_way(entry: Entry, tmp_path: Path) -> None:
    found = check(entry.wrong, tmp_path)
    assert [each.code for each in found] == [entry.code], render_all(found)


@pytest.mark.parametrize("entry", CATALOGUE.values(), ids=lambda entry: entry.code)
def test_the_right_program_is_right(entry: Entry, tmp_path: Path) -> None:
    found = check(entry.right, tmp_path)
    assert not found, render_all(found)


def test_each_code_of_the_source_has_a_page_and_the_other_way_round() -> None:
    written = set()
    for folder in ("compiler", "dsl", "diagrams"):
        for path in (ROOT / folder).rglob("*.py"):
            if "catalogue" not in path.parts:
                written |= set(re.findall(r'"([EW]\d{4})"', path.read_text(encoding="utf-8")))
    assert written - set(CATALOGUE) == set(), "no page for these"
    assert set(CATALOGUE) - written == set(), "no code raises these"


def test_each_mistake_is_told_with_how_to_mend_it() -> None:
    """Wherever one is made; those of the grammar say what was expected."""
    silent = []
    for path in [file for folder in ("compiler", "dsl", "diagrams") for file in (ROOT / folder).rglob("*.py")]:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and re.search(r"(report|fail|error)$", ast.unparse(node.func)) and node.args:
                told = re.match(r".?[EW]0(?!1)\d{3}", ast.unparse(node.args[0]))
                if told and not any(keyword.arg == "help" for keyword in node.keywords):
                    silent.append(f"{path.name}:{node.lineno}")
    assert not silent


def test_a_code_may_be_written_loosely() -> None:
    assert normal("e307") == normal("307") == normal(" E0307 ") == "E0307"
    assert normal("w502") == normal("W0502") == normal("502") == "W0502"
    assert normal("rubbish") == "rubbish"
    assert explain("W502").startswith("W0502: ")  # type: ignore[union-attr]
    assert explain("E9999") is None
    assert explain("") is None
