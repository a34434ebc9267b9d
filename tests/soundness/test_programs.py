"""Random well-typed programs: accepted, run, and mean what they say; with a histogram of what they show."""

from __future__ import annotations

import statistics
from collections import Counter

import pytest

from .generate import PATTERNS, count_ops, generate, shown
from .judge import Fault, Report, judge
from .program import Program
from .shrink import shrink

QUICK, MANY, CHUNK = 100, 3000, 10
RARE = 0.01  # every op and construct stands in at least this share of the programs
TAGS = {
    "call", "lift", "thin argument", "several results", "several results used", "discarded result",
    "default of a parameter", "default of an argument", "default of an input", "number as an argument",
    "one axis for two parameters", "file axis rebound at a call", "axis of a block's own", "repeat",
    "repeat shared", "repeat with an index", "static if", "static if on the index", "share", "scan", "where",
    "mask of other axes", "softmax of several axes", "raw for D6", "linear with a colon", "init",
    "norm without weights", "weights named by binding", "rebinding", "typed assignment", "fixed width",
    "bounded width", "derived width", "empty width", "config", "sizes from outside", "several files", "library",
    "op of the user's own", "causal", "pipe",
}  # fmt: skip


def fault(program: Program) -> Fault | None:
    try:
        judge(program)
    except Fault as found:
        return found
    return None


def check(seed: int, report: Report) -> None:
    program = generate(seed)
    try:
        judge(program, report)
    except Fault as found:
        first = found

        def same(smaller: Program) -> bool:
            other = fault(smaller)
            return other is not None and (other.kind, other.sign) == (first.kind, first.sign)

        small = shrink(program, same)
        last = fault(small) or first
        pytest.fail(
            f"seed {seed}\n\n{small.text}\n{small.files or ''}{small.extents}, batch {small.batch}\n\n{last}", False
        )


@pytest.mark.parametrize("start", range(0, QUICK, CHUNK))
def test_programs_run(start: int) -> None:
    report = Report()
    for seed in range(start, start + CHUNK):
        check(seed, report)
    assert report.ill <= 1 + CHUNK // 20
    assert report.gradients >= CHUNK // 2
    assert report.proved > 0


@pytest.mark.slow
@pytest.mark.parametrize("start", range(QUICK, QUICK + MANY, 100))
def test_many_programs_run(start: int) -> None:
    report = Report()
    for seed in range(start, start + 100):
        check(seed, report)
    assert report.ill <= 2


def test_what_the_programs_show(capsys: pytest.CaptureFixture[str]) -> None:
    programs = [generate(seed) for seed in range(600)]
    found = Counter(name for program in programs for name in set(shown(program)))
    ops = [count_ops(program) for program in programs]
    wanted = [*PATTERNS, *(f"({tag})" for tag in TAGS)]
    with capsys.disabled():
        print(f"\n{len(programs)} programs of {min(ops)} to {max(ops)} ops, the median {statistics.median(ops)}:")
        print(
            ", ".join(
                f"{name} {found[name] / len(programs):.1%}" for name in sorted(wanted, key=lambda name: found[name])
            )
        )
    assert statistics.median(ops) >= 12
    assert [name for name in wanted if found[name] < RARE * len(programs)] == []


def test_a_seed_gives_one_program() -> None:
    assert [generate(seed).all_text for seed in range(20)] == [generate(seed).all_text for seed in range(20)]
