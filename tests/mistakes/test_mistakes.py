"""Wrong programs, each beside what it must be told: the `.txt` files here, one for each kind of mistake.

    === what is wrong | E0307 | text under the primary carets
    the program
    ---
    what `attnc check` prints

Several mistakes of one program: `E0307, E0305 | first; second`. A line `# -- other.attn` begins another file beside
`main.attn`; a first line `# attnc check main.attn --set model=10` says how it is checked. `pytest --update` writes what
stands behind `---`, and only that.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from attnc.compiler.program import Program, build
from attnc.dsl.diagnostic import Severity
from attnc.dsl.render import render_all
from attnc.dsl.source import Source

HERE = Path(__file__).parent
FILES = sorted(HERE.glob("*.txt"))


@dataclass(frozen=True)
class Case:
    file: str
    header: str
    title: str
    codes: list[str]
    places: list[str]
    text: str


def cases(path: Path) -> list[Case]:
    found = []
    for part in re.split(r"^=== ", path.read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]:
        header, _, rest = part.partition("\n")
        title, codes, places = (field.strip() for field in header.split(" | "))
        text = rest.partition("\n---\n")[0].rstrip("\n") + "\n"
        found.append(Case(path.stem, header, title, codes.split(", "), places.split("; "), text))
    return found


CASES = [case for path in FILES for case in cases(path)]


def check(text: str) -> tuple[Program, str]:
    """The program checked, and what is printed."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        parts = re.split(r"^# -- (\w+\.attn)\n", text, flags=re.MULTILINE)
        for file, content in zip(["main.attn", *parts[1::2]], parts[::2], strict=True):
            (folder / file).write_text(content, encoding="utf-8")
        sizes = {key: int(value) for key, value in re.findall(r"--set (\w+)=(\d+)", text.partition("\n")[0])}
        program = build(Source(str(folder / "main.attn"), parts[0]), sizes=sizes)
        return program, render_all(program.diagnostics).replace(f"{folder}/", "")


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.file}: {case.title}")
def test_the_mistake_is_found_and_nothing_else(case: Case) -> None:
    program, shown = check(case.text)
    assert [found.code for found in program.diagnostics] == case.codes, shown
    assert [found.span.text if found.span else "" for found in program.diagnostics] == case.places, shown
    assert all((found.severity is Severity.WARNING) == found.code.startswith("W") for found in program.diagnostics)
    assert all(found.help for found in program.diagnostics if found.code[:3] != "E01"), f"no help\n{shown}"


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_what_is_printed(path: Path, golden: Callable[[Path, str], None]) -> None:
    golden(path, "\n".join(f"=== {case.header}\n{case.text}---\n{check(case.text)[1]}\n" for case in cases(path)))


def test_there_are_many() -> None:
    assert len(CASES) >= 60
    assert len({code for case in CASES for code in case.codes}) >= 30
