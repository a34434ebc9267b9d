"""The site builds from a clone without network: every page is reached, every op and error has its own."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from attnc.compiler.ops import OPS
from attnc.dsl.catalogue import CATALOGUE

ROOT = Path(__file__).parents[1]
pytest.importorskip("mkdocs")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(out)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return out


@pytest.mark.slow  # building it takes half a minute
def test_every_op_and_error_has_a_page(site: Path) -> None:
    for code in CATALOGUE:
        page = (site / "errors" / f"{code}.html").read_text(encoding="utf-8")
        assert "Right" in page
        assert "Wrong" in page
    pages = [page for page in (site / "ops").glob("*.html") if page.name != "index.html"]
    assert len(pages) == len(OPS)
    for page in pages:
        assert "attnc says" in page.read_text(encoding="utf-8"), page.name
        assert page.with_suffix(".svg").exists()


@pytest.mark.slow
def test_the_gallery_draws_the_library_and_the_examples(site: Path) -> None:
    for file in [*(ROOT / "compiler" / "std").glob("*.attn"), *(ROOT / "examples").rglob("*.attn")]:
        dotted = ".".join(file.relative_to(ROOT).with_suffix("").parts).removeprefix("compiler.")
        page = (site / "gallery" / f"{dotted}.html").read_text(encoding="utf-8")
        assert ".svg" in page


@pytest.mark.slow
def test_the_notebook_is_a_page(site: Path) -> None:
    page = (site / "notebook.html").read_text(encoding="utf-8")
    assert "E0701" in page
    for frame in re.findall(r'<iframe src="([^"]*)"', page):
        assert "attention" in (site / frame).read_text(encoding="utf-8")
    assert "<iframe" in page


def test_every_page_is_in_the_navigation() -> None:
    nav = (ROOT / "mkdocs.yml").read_text(encoding="utf-8").partition("\nnav:")[2]
    for page in [*(ROOT / "docs").glob("*.md"), Path("notebook.md")]:
        if page.name not in ("ops.md", "errors.md"):
            assert page.name in nav, f"{page.name} is not in the navigation of mkdocs.yml"


@pytest.mark.slow
def test_nothing_is_loaded_from_elsewhere(site: Path) -> None:
    for page in site.rglob("*.html"):
        text = page.read_text(encoding="utf-8")
        for tag in re.findall(r"<(?:script|img|iframe|source)\b[^>]*>|<link\b[^>]*stylesheet[^>]*>", text):
            assert "://" not in tag, f"{page.name}: {tag}"


@pytest.mark.slow
def test_links_within_the_site_lead_somewhere(site: Path) -> None:
    for page in site.rglob("*.html"):
        if page.name == "404.html":
            continue
        for target in re.findall(r'(?:href|src)="([^"#?:]+)[#"]', page.read_text(encoding="utf-8")):
            path = (page.parent / target).resolve()
            assert path.exists(), f"{page.relative_to(site)} links to {target}"
