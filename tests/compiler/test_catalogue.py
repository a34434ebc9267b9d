"""Every code has its page, every page its code, and what a page shows is true."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from attnc.dsl.catalogue import CATALOGUE, Entry, explain, normal
from attnc.dsl.mistakes.table import table
from tests.mistakes.cases import check

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("entry", CATALOGUE.values(), ids=lambda entry: entry.code)
def test_the_right_program_is_right(entry: Entry) -> None:
    """The wrong ones are cases of tests/mistakes."""
    found, shown = check(entry.right.lstrip("\n"))
    assert not found, shown


def test_each_code_of_the_source_has_a_page_and_the_other_way_round() -> None:
    written = set()
    for folder in ("compiler", "dsl", "diagrams"):
        for path in (ROOT / folder).rglob("*.py"):
            if "catalogue" not in path.parts:
                written |= set(re.findall(r'"([EWA]\d{4})"', path.read_text(encoding="utf-8")))
    written |= {row.code for row in table()[1] if row.code}  # slips of syntax
    assert written - set(CATALOGUE) == set(), "no page for these"
    assert set(CATALOGUE) - written == set(), "no code raises these"


def test_each_mistake_is_told_with_how_to_mend_it() -> None:
    """Those that are made in words: a name of too many letters alone, which the parser refuses. `test_problems.py` has
    those that are data. Of the grammar, they say what was expected.
    """
    silent, seen = [], []
    for path in [file for folder in ("compiler", "dsl", "diagrams") for file in (ROOT / folder).rglob("*.py")]:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and re.search(r"(report|fail|error)$", ast.unparse(node.func)) and node.args:
                told = re.match(r".?[EWA]0(?!1)\d{3}", ast.unparse(node.args[0]))
                if told:
                    seen.append(path.name)
                if told and not any(keyword.arg == "help" for keyword in node.keywords):
                    silent.append(f"{path.name}:{node.lineno}")
    assert not silent
    assert seen == ["tree.py"]


def test_a_code_may_be_written_loosely() -> None:
    assert normal("e307") == normal("307") == normal(" E0307 ") == "E0307"
    assert normal("w502") == normal("W0502") == normal("502") == "W0502"
    assert normal("rubbish") == "rubbish"
    assert explain("W502").startswith("W0502: ")  # type: ignore[union-attr]
    assert explain("E9999") is None
    assert explain("") is None
