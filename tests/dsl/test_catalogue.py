"""Every row of E01xx shows what it explains."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from attnc.dsl import catalogue
from attnc.dsl import parse as parser
from attnc.dsl.catalogue import CATALOGUE, Entry
from attnc.dsl.mistakes.table import table
from attnc.dsl.source import Source

SYNTAX = [entry for code, entry in CATALOGUE.items() if code.startswith("E01")]


@pytest.mark.parametrize("entry", SYNTAX, ids=lambda entry: entry.code)
def test_wrong_and_right(entry: Entry) -> None:
    assert {problem.code for problem in parser.parse(Source("wrong", entry.wrong))[1]} == {entry.code}
    assert parser.parse(Source("right", entry.right))[1] == []


def test_every_code_has_a_row() -> None:
    folder = Path(parser.__file__).parent
    files = [*folder.glob("*.py"), *(folder / "mistakes").glob("*.py")]
    used = {code for file in files for code in re.findall(r'"(E01[0-9]{2})"', file.read_text("utf-8"))}
    used |= {row.code for row in table()[1] if row.code}
    assert used == {entry.code for entry in SYNTAX}


@pytest.mark.parametrize("entry", CATALOGUE.values(), ids=lambda entry: entry.code)
def test_pages(entry: Entry) -> None:
    page = catalogue.explain(entry.code)
    assert page is not None
    assert page.startswith(f"{entry.code}: {entry.title}\n\n")
    assert not entry.title.endswith(".")
    assert re.fullmatch("[EWA][0-9]{4}", entry.code)
    assert "Wrong:" in page
    assert "Right:" in page


def test_no_code_twice() -> None:
    assert len(CATALOGUE) == sum(len(room.ENTRIES) for room in catalogue._ROOMS)


def test_codes_as_people_type_them() -> None:
    assert catalogue.explain("e101") == catalogue.explain(" 0101") == catalogue.explain("E0101")
    assert catalogue.explain("E9999") is None
    assert catalogue.explain("nonsense") is None
    assert set(catalogue.near("E0199")) <= CATALOGUE.keys()
    assert catalogue.near("E0199")
