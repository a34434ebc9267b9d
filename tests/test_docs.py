"""What README.md, PACKAGE.md and docs/ show is true: specs check, Python runs, commands print what is printed there.

Fences of a page are taken in order and share a folder, which holds a copy of `examples/`, and a Python namespace:

    ```attn           checks, and nothing is told of it: no error, warning or advice
    ```attn example   is not checked here (tests of the catalogue do that for errors.md)
    ```attn E0307     must give exactly this error (or these, with spaces between)
    ```attn W0503     checks, and gives this warning or advice (or these), once or more often
    ```python         runs
    ```python a.py F  is what the file a.py, which was written above, has of the class or function F (or `F.forward`),
                      or of its docstring if F is not said: `pytest --update` writes it anew
    ```console        lines `$ attnc ...` run, and what is shown under them is what they print; a line `...` stands for
                      any lines; `> FILE` is heeded; `sed` is run too, `pdflatex` where it is; others are not

A first line `# name.attn`, `# name.figure` or `% name.tex` saves the fence for what follows.
"""

from __future__ import annotations

import ast
import contextlib
import io
import re
import runpy
import shlex
import shutil
import subprocess
import sys
import textwrap
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import attnc
from attnc.cli import main
from attnc.dsl.render import render_all
from tests.diagrams.test_paper import has_tex

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", ROOT / "PACKAGE.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]


@dataclass(frozen=True)
class Fence:
    language: str
    info: tuple[str, ...]
    text: str
    line: int


def fences(page: str) -> Iterator[Fence]:
    for found in re.finditer(r"^```(\w+)([^\n]*)\n(.*?)^```$", page, re.MULTILINE | re.DOTALL):
        yield Fence(found[1], tuple(found[2].split()), found[3], page.count("\n", 0, found.start()) + 1)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
@pytest.mark.filterwarnings("ignore:The .grad attribute")  # what torch.compile says of its own code
def test_page_is_true(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, golden: Callable[[Path, str], None]
) -> None:
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)  # as where one works
    kept = dict(sys.modules)
    namespace: dict[str, Any] = {"__name__": "__docs__"}
    text = page.read_text(encoding="utf-8")
    now: list[str | None] = [*text.split("\n")]  # each excerpt behind the line that opens its fence
    for fence in fences(text):
        where = f"{page.name}:{fence.line}"
        if name := re.match(r"[#%] (\w+\.(?:attn|figure|tex))\b", fence.text):
            Path(name[1]).write_text(fence.text, encoding="utf-8")
        match fence.language:
            case "attn" if fence.info != ("example",):
                check_spec(fence, where)
            case "python" if fence.info:
                now[fence.line - 1 : fence.line] = [f"{now[fence.line - 1]}\n{excerpt(*fence.info)}"]
                now[fence.line : fence.line + fence.text.count("\n")] = [None] * fence.text.count("\n")
            case "python":
                exec(compile("\n" * fence.line + fence.text, str(page), "exec"), namespace)
            case "console":
                check_console(fence, where)
    for name in [name for name, module in sys.modules.items() if name not in kept and _lies_in(module, tmp_path)]:
        del sys.modules[name]
    golden(page, "\n".join(line for line in now if line is not None))


def _lies_in(module: object, folder: Path) -> bool:
    return str(getattr(module, "__file__", None) or "").startswith(str(folder))


def excerpt(file: str, name: str = "") -> str:
    """What a file of Python has of a class or function, else of its docstring, without the last newline."""
    source = Path(file).read_text(encoding="utf-8")
    node: Any = ast.parse(source)
    if not name:
        return ast.get_source_segment(source, node.body[0].value) or ""
    for part in name.split("."):
        node = next(each for each in node.body if getattr(each, "name", "") == part)
    first = min((each.lineno for each in node.decorator_list), default=node.lineno)
    return textwrap.dedent("\n".join(source.split("\n")[first - 1 : node.end_lineno]))


def check_spec(fence: Fence, where: str) -> None:
    """What is told of it is what the fence says: errors, or else warnings and advice."""
    found = attnc.check(fence.text, name=where, base=Path.cwd())
    errors = [each for each in found if each.severity is attnc.Severity.ERROR]
    codes = [each.code for each in errors] or [*dict.fromkeys(each.code for each in found)]
    assert codes == list(fence.info), f"{where}: {render_all(found)}"


def check_console(fence: Fence, where: str) -> None:
    for line, shown in re.findall(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", fence.text, re.MULTILINE):
        command, _, into = line.partition(" > ")
        words = shlex.split(command, comments=True)
        if words[0] == "pdflatex" and has_tex("tikz.sty", "lmodern.sty"):
            subprocess.run(["pdflatex", "-interaction=batchmode", "-halt-on-error", *words[1:]], check=True)
        if words[0] == "sed":
            subprocess.run(line, shell=True, check=True)
        if words[0] != "attnc":
            continue
        stream = io.StringIO()
        with contextlib.redirect_stdout(stream), contextlib.redirect_stderr(stream):
            status = main(words[1:])
        printed = stream.getvalue()
        if into:
            Path(into).write_text(printed, encoding="utf-8")
        if shown:
            pattern = "".join(
                r"(.*\n)*" if line == "..." else rf"{re.escape(line)} *\n" for line in shown.rstrip().split("\n")
            )
            assert re.fullmatch(pattern, printed), f"{where}: {command} prints\n{printed}"
        else:
            assert status == 0, f"{where}: {command} fails:\n{printed}"


def test_the_list_of_the_library_is_whole() -> None:
    """In the order of the files, which are pages of their own."""
    section = (ROOT / "docs" / "cookbook.md").read_text(encoding="utf-8").partition("## What is in `std`\n")[2]
    rows = re.findall(r"^\| \[`std\.(\w+)`\]\S* \| (.*) \|$", section.partition("\n## ")[0], re.MULTILINE)
    files = sorted((ROOT / "compiler" / "std").glob("*.attn"))
    assert [(name, re.findall(r"`(\w+)`", blocks)) for name, blocks in rows] == [
        (file.stem, list(attnc.load(file).blocks)) for file in files
    ]


def test_links_lead_somewhere() -> None:
    for page in PAGES:
        for target, heading in re.findall(r"\]\(([^)#\s]*)(?:#([^)\s]*))?\)", re.sub(r"`[^`\n]*`", "", prose(page))):
            if "://" in target:
                continue
            other = page.parent / target if target else page
            assert other.exists(), f"{page.name} links to {target}"
            assert not heading or heading in headings(other), f"{page.name} links to {target}#{heading}"


def prose(page: Path) -> str:
    return re.sub(r"^```.*?^```$", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)


def headings(page: Path) -> set[str]:
    """The headings of a page as links name them."""
    found = re.findall(r"^#+ (.*)$", prose(page), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in found}


GENERATED = runpy.run_path(str(ROOT / "docs" / "generate.py"))["PAGES"]


SLOW = {"meshes.md"}  # plans of a dozen large models


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.slow) if name in SLOW else name for name in GENERATED]
)
def test_generated_pages_are_current(name: str, golden: Callable[[Path, str], None]) -> None:
    golden(ROOT / "docs" / name, GENERATED[name]())
