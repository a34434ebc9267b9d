"""Programs that are wrong by construction are refused, and the message stands where they are wrong."""

from __future__ import annotations

from collections import Counter

import pytest

import attnc

from .generate import generate
from .judge import load
from .mutants import Mutant, some
from .program import Program

KINDS = 20  # of mutation, at least


def refusal(mutant: Mutant, program: Program) -> list[int]:
    """The lines that the errors point at."""
    try:
        load(mutant.text, program)
    except attnc.AttnError as error:
        errors = [found for found in error.diagnostics if found.code.startswith("E")]
        places = [found.span for found in errors]
        if mutant.promise:
            places += [label.span for found in errors for label in found.related]
        return [place.source.position(place.start)[0] for place in places if place is not None]
    pytest.fail(
        f"seed {program.seed}: accepted, though {mutant.name}: {mutant.why} (line {mutant.line})\n\n{mutant.text}",
        False,
    )


def look(seeds: range, each: int) -> tuple[Counter[str], list[str]]:
    """How many mutants of each kind were refused, and those whose message stands elsewhere."""
    kinds: Counter[str] = Counter()
    elsewhere: list[str] = []
    for seed in seeds:
        program = generate(seed)
        for mutant in some(program, each):
            kinds[mutant.name] += 1
            if mutant.line not in refusal(mutant, program):
                elsewhere.append(f"seed {seed}, {mutant.name}, line {mutant.line}")
    return kinds, elsewhere


def test_wrong_programs_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    kinds, elsewhere = look(range(60), 12)
    with capsys.disabled():
        print("\nmutants refused: " + ", ".join(f"{name} {count}" for name, count in kinds.most_common()))
    assert len(kinds) >= KINDS
    assert len(elsewhere) <= 0.05 * kinds.total(), elsewhere


@pytest.mark.slow
@pytest.mark.parametrize("start", range(100, 1100, 100))
def test_many_wrong_programs_are_refused(start: int) -> None:
    kinds, elsewhere = look(range(start, start + 100), 30)
    assert len(elsewhere) <= 0.05 * kinds.total(), elsewhere
