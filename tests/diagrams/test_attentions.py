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
PICTURES: dict[Path, Diagram] = dict(PAGE["pictures"]())


@pytest.mark.parametrize("path", PICTURES, ids=lambda path: path.stem)
def test_picture_is_current(request: pytest.FixtureRequest, path: Path) -> None:
    diagram = PICTURES[path]
    assert faults(diagram._sheet) == []
    if request.config.getoption("--update"):
        PAGE["write"](path, diagram)
    picture = ROOT / "docs" / path
    assert picture.exists() and picture.read_text(encoding="utf-8").endswith(PAGE["stamp"](diagram)), (
        f"{path} is old; `pytest --update` draws it"
    )


def test_every_spec_is_in_the_index_and_right() -> None:
    files = sorted((ROOT / "examples" / "attentions").glob("*.attn"))
    assert [file.stem for file in files] == sorted(entry.name for entry in PAGE["entries"]())
    assert all(not attnc.load(file).warnings for file in files)


def test_every_spec_says_what_it_is() -> None:
    """A name, a source with its year, and three to six sentences."""
    for entry in PAGE["entries"]():
        assert any(year in entry.source for year in map(str, range(1990, 2030))), entry.name
        text = entry.text.split("\n\n")[0]
        assert 3 <= len([end for end in text.replace("\n", " ").split(". ") if end]) <= 7, entry.name
