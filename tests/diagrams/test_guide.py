"""Pictures of pages of docs/: each is what the code above it draws. `pytest --update -k NAME.svg` draws it again."""

from __future__ import annotations

import re
import runpy
import shutil
import tomllib
from pathlib import Path

import pytest

import attnc
from attnc.diagrams import Diagram

from .geometry import faults

DOCS = Path(__file__).parent.parent.parent / "docs"
PAIRS = [
    found
    for page in ("diagrams", "figure", "first", "tour", "streams", "cookbook")
    for found in re.findall(
        r"^```attn\n((?:(?!^```).)*)^```\n\n(?:(?:(?!^```).)*```toml\n((?:(?!^```).)*)^```\n\n)?"
        r"!\[[^\]]*\]\((pictures/(?:guide|first|streams|cookbook)/\w+\.svg)\)",
        (DOCS / f"{page}.md").read_text(encoding="utf-8") if (DOCS / f"{page}.md").exists() else "",
        re.MULTILINE | re.DOTALL,
    )
]


def figure(text: str, hints: str = "", levels: bool = False) -> Diagram:
    """The last model or block, without a title: the page has headings. levels: of memory."""
    spec = attnc.loads(text)
    name = re.findall(r"^(?:block|model) (\w+)", text, re.MULTILINE)[-1]
    model = spec.model(name) if name in spec.models else spec.block(name)
    return model.draw(title="", hints=tomllib.loads(hints).get(name, {}), levels=levels)


GENERATE = runpy.run_path(str(DOCS / "generate.py"))
stamp = GENERATE["stamp"]


def test_there_are_pictures() -> None:
    assert len(PAIRS) >= 9


@pytest.mark.parametrize(
    ("text", "hints", "path"),
    [pytest.param(*pair, marks=[pytest.mark.slow] * ("cookbook" in pair[2]), id=pair[2]) for pair in PAIRS],
)
def test_picture_is_current(text: str, hints: str, path: str, request: pytest.FixtureRequest) -> None:
    diagram = figure(text, hints, levels="streams" in path and "plain" not in path)
    assert faults(diagram._sheet) == []
    if request.config.getoption("--update"):
        if shutil.which("dot") is None:
            pytest.skip("Graphviz is not installed")
        (DOCS / path).parent.mkdir(parents=True, exist_ok=True)
        svg = diagram.svg(outline="cookbook" not in path)  # forty of them: letters as letters are a third
        (DOCS / path).write_text(svg.rstrip("\n") + "\n" + stamp(diagram), encoding="utf-8")
    assert (DOCS / path).exists(), f"no {path}; `pytest --update` draws it"
    assert stamp(diagram) in (DOCS / path).read_text(encoding="utf-8"), f"{path} is old; `pytest --update` draws it"


@pytest.mark.slow
def test_large_pictures_are_current() -> None:
    """Those of the first page and of the tools: `python docs/generate.py` draws them."""
    for name, diagram in GENERATE["pictures"]():
        assert stamp(diagram) in (DOCS / "pictures" / name).read_text(encoding="utf-8"), f"{name} is old"
