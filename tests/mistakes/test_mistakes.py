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

from attnc.compiler.check import Program, build
from attnc.dsl.diagnostic import Diagnostic, Severity
from attnc.dsl.mistakes.fixes import repair
from attnc.dsl.render import render_all
from attnc.dsl.source import Source
from attnc.trials import tried

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
        files, sizes = written(text, Path(name))
        program = build(Source(str(Path(name) / "main.attn"), files["main.attn"]), sizes=sizes, trials=tried)
        said = render_all(program.diagnostics).replace(f"{name}/", "")
        return program, re.sub(r"\d+ trials at", "some trials at", said)  # as many as there is time for


def written(text: str, folder: Path) -> tuple[dict[str, str], dict[str, int]]:
    """The files of a case, put into a folder, and the sizes that it is checked with."""
    parts = re.split(r"^# -- (\w+\.attn)\n", text, flags=re.MULTILINE)
    files = dict(zip(["main.attn", *parts[1::2]], parts[::2], strict=True))
    for file, content in files.items():
        (folder / file).write_text(content, encoding="utf-8")
    return files, {key: int(value) for key, value in re.findall(r"--set (\w+)=(\d+)", text.partition("\n")[0])}


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


FIXED = [case for case in CASES if any(found.fix for found in check(case.text)[0].diagnostics)]


# A fix is not made that brings out a mistake of another kind in its line.
BRINGS_OUT = {
    "the block has the axis itself",
    "maps without names in a default and in a condition",
    "all mistakes in one run, and nothing that only follows from them",
    "a copy in the place of its original",
    "a misspelt block of the library, called by its name",
}


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
@pytest.mark.parametrize("case", FIXED, ids=lambda case: f"{case.file}: {case.title}")
def test_a_fix_removes_its_mistake(case: Case, newline: str) -> None:
    with tempfile.TemporaryDirectory() as name:
        files, sizes = written(case.text, Path(name))

        def judge(source: Source) -> tuple[Diagnostic, ...]:
            return build(source, sizes=sizes, trials=tried).diagnostics

        source = Source(str(Path(name) / "main.attn"), files["main.attn"].replace("\n", newline))
        before = judge(source)
        done = repair(source, judge)
        fixable = [each for each in before if each.fix and all(edit.span.source is source for edit in each.fix.edits)]
        if case.title in BRINGS_OUT:
            assert len(done.fixed) < len(fixable)
            return
        assert len(done.fixed) >= len(fixable)
        left = {(found.code, found.message) for found in done.left}
        assert not left & {(found.code, found.message) for found in fixable}
        assert repair(done.source, judge).source.text == done.source.text
        assert done.source.text.count("\n") == done.source.text.count(newline)


def test_many_mistakes_have_fixes() -> None:
    assert len(FIXED) >= 30


def test_there_are_many() -> None:
    assert len(CASES) >= 60
    assert len({code for case in CASES for code in case.codes}) >= 30
