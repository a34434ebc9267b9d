"""Random well-typed programs (those of tests/soundness): each is drawn, and the geometry holds."""

from __future__ import annotations

import re
from importlib import util
from pathlib import Path

import pytest

from attnc.compiler.check import Program, build
from attnc.diagrams import draw
from attnc.dsl.diagnostic import Severity
from attnc.dsl.source import Source

from .geometry import faults

ROOT = Path(__file__).parent.parent.parent
PART, PROGRAMS = 20, 200

needs_programs = pytest.mark.skipif(util.find_spec("tests.soundness.generate") is None, reason="no generator here")


def programs_of(path: Path) -> list[str]:
    return path.read_text(encoding="utf-8").split("\n---\n")


def drawn(program: Program) -> list[str]:
    found = []
    for name in (*program.models, *program.blocks):
        found += [f"{name}: {fault}" for fault in faults(draw(program.graph(name))._sheet)]
    return found


@needs_programs
@pytest.mark.parametrize(
    "start", [pytest.param(start, marks=pytest.mark.slow if start else ()) for start in range(0, PROGRAMS, PART)]
)
def test_generated(start: int) -> None:
    from tests.soundness.generate import generate

    found: list[str] = []
    for seed in range(start, start + PART):
        text = generate(seed).text
        program = build(Source(f"<seed {seed}>", text))
        if any(d.severity is Severity.ERROR for d in program.diagnostics):
            continue  # it uses a file beside it
        found += [f"seed {seed}: {fault}" for fault in drawn(program)]
    assert found == []


@pytest.mark.slow
@pytest.mark.parametrize("part", range(8))
def test_programs_of_the_backends(part: int) -> None:
    for at, text in enumerate(programs_of(ROOT / "tests" / "backends" / "specs.txt")):
        if at % 8 == part:
            program = build(Source(f"specs.txt {at}", text), base=ROOT / "tests" / "backends")
            if not any(d.severity is Severity.ERROR for d in program.diagnostics):
                assert drawn(program) == [], at


def test_right_programs_among_the_mistakes() -> None:
    count = 0
    for path in sorted((ROOT / "tests" / "mistakes").glob("*.txt")):
        for case in re.split(r"(?m)^=== ", path.read_text(encoding="utf-8"))[1:]:
            text = case.partition("\n")[2].split("\n---\n")[0]
            program = build(Source(path.name, text))
            if any(d.severity is Severity.ERROR for d in program.diagnostics):
                continue
            count += 1
            assert drawn(program) == [], (path.name, text)
    assert count > 0
