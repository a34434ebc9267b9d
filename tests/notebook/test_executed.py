"""docs/notebook.ipynb is what its cells print and show today."""

from __future__ import annotations

import runpy
from pathlib import Path
from typing import Any

import pytest

PAGE = Path(__file__).parents[2] / "docs" / "notebook.ipynb"
pytestmark = pytest.mark.slow


def test_the_notebook_is_current() -> None:
    nbformat = pytest.importorskip("nbformat", reason="needs jupyter: the extra `interop`")
    pytest.importorskip("nbclient", reason="needs jupyter: the extra `interop`")
    pytest.importorskip("ipykernel", reason="needs jupyter: the extra `interop`")
    fresh = runpy.run_path(str(PAGE.with_name("notebook.py")))["executed"]()
    kept = nbformat.read(PAGE, as_version=4)
    assert [_told(cell) for cell in fresh.cells] == [_told(cell) for cell in kept.cells]


def _told(cell: Any) -> object:
    """What a cell is and prints. Of a figure its kind alone: the page that it is has tests of its own."""
    outputs = []
    for output in cell.get("outputs", ()):
        data = output.get("data", {})
        outputs.append(("html" if "text/html" in data else "", output.get("text") or data.get("text/plain", "")))
    return cell.cell_type, cell.source, outputs
