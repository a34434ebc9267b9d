"""docs/attentions.md: each picture is what its spec draws, without faults. `pytest --update` draws them again."""

from __future__ import annotations

import runpy
from pathlib import Path
from typing import Any

import pytest

import attnc
from attnc.diagrams import Diagram

from .geometry import faults

ROOT = Path(__file__).parents[2]
PAGE: dict[str, Any] = runpy.run_path(str(ROOT / "docs" / "attention_page.py"))
ENTRIES = {entry.name: entry for entry in PAGE["entries"]()}


@pytest.mark.parametrize("name", ENTRIES)
def test_pictures_are_current(request: pytest.FixtureRequest, name: str) -> None:
    for path, diagram in PAGE["pictures"]([ENTRIES[name]]):
        _check(path, diagram, request.config.getoption("--update"))


def _check(path: Path, diagram: Diagram, update: bool) -> None:
    assert faults(diagram._sheet) == []
    if update:
        PAGE["write"](path, diagram)
    picture = ROOT / "docs" / path
    assert picture.exists() and picture.read_text(encoding="utf-8").endswith(PAGE["stamp"](diagram)), (
        f"{path} is old; `pytest --update` draws it"
    )


def test_every_spec_is_in_the_index_and_right() -> None:
    files = sorted((ROOT / "examples" / "attentions").glob("*.attn"))
    assert [file.stem for file in files] == sorted(ENTRIES)
    assert all(not attnc.load(file).warnings for file in files)


def test_every_spec_says_what_it_is() -> None:
    """A name, a source with its year, and three to six sentences."""
    for entry in ENTRIES.values():
        assert any(year in entry.source for year in map(str, range(1990, 2030))), entry.name
        text = entry.text.split("\n\n")[0]
        assert 3 <= len([end for end in text.replace("\n", " ").split(". ") if end]) <= 7, entry.name
