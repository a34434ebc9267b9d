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

import tempfile
from collections.abc import Callable
from itertools import islice
from pathlib import Path

import pytest

from attnc.dsl.catalogue import CATALOGUE
from attnc.dsl.diagnostic import Diagnostic, Severity
from attnc.dsl.mistakes.fixes import repair
from attnc.dsl.source import Source

from .cases import CASES, FILES, OF_CATALOGUE, SHOWN, Case, cases, check, written

NOTHING_TO_MEND = {"W0517"}  # a claim that its writer vouches for


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.file}: {case.title}")
def test_the_mistake_is_found_and_nothing_else(case: Case) -> None:
    diagnostics, shown = check(case.text)
    assert [found.code for found in diagnostics] == case.codes, shown
    if case.places is not None:
        assert [found.span.text if found.span else "" for found in diagnostics] == case.places, shown
    assert all((found.severity is Severity.WARNING) == found.code.startswith("W") for found in diagnostics)
    silent = [found.code for found in diagnostics if not found.help and found.code[:3] != "E01"]
    assert not set(silent) - NOTHING_TO_MEND, f"no help\n{shown}"


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_what_is_printed(path: Path, golden: Callable[[Path, str], None]) -> None:
    golden(path, "\n".join(f"=== {case.header}\n{case.text}---\n{check(case.text)[1]}\n" for case in cases(path)))


def test_what_is_printed_of_the_programs_of_the_catalogue(golden: Callable[[Path, str], None]) -> None:
    golden(SHOWN, "\n".join(f"=== {case.header}\n{check(case.text)[1]}\n" for case in OF_CATALOGUE))


def test_each_code_has_its_program_once_and_no_program_stands_twice() -> None:
    shown = [line.removeprefix("=== ") for line in SHOWN.read_text("utf-8").split("\n") if line.startswith("=== ")]
    assert shown == [case.title for case in CASES if case.file == "catalogue"] == list(CATALOGUE)
    first: dict[str, str] = {}
    for name, text in (
        *((f"the right one of {code}", entry.right) for code, entry in CATALOGUE.items()),
        *((f"{case.file}: {case.title}", case.text) for case in CASES),
    ):
        assert text.strip() not in first, f"{name} and {first[text.strip()]}"
        first[text.strip()] = name


# A fix is not made that brings out a mistake of another kind in its line.
BRINGS_OUT = {
    "the block has the axis itself",
    "maps without names in a default and in a condition",
    "all mistakes in one run, and nothing that only follows from them",
    "a copy in the place of its original",
    "a misspelt block of the library, called by its name",
}


def is_fixed(case: Case) -> bool:
    return any(found.fix for found in check(case.text)[0])


@pytest.mark.parametrize("file", list(dict.fromkeys(case.file for case in CASES)))
def test_a_fix_removes_its_mistake(file: str) -> None:
    for case in CASES:
        if case.file == file and is_fixed(case):
            for newline in ("\n", "\r\n"):
                _check_that_it_is_removed(case, newline)


def _check_that_it_is_removed(case: Case, newline: str) -> None:
    with tempfile.TemporaryDirectory() as name:
        files = written(case.text, Path(name))

        def judge(source: Source) -> tuple[Diagnostic, ...]:
            return files.check(source).diagnostics

        source = Source(files.main.name, files.main.text.replace("\n", newline))
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
    assert len([*islice(filter(is_fixed, CASES), 30)]) == 30


def test_there_are_many() -> None:
    assert len(CASES) >= 60
    assert len({code for case in CASES for code in case.codes}) >= 30
