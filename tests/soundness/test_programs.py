"""Random well-typed programs: accepted, run, and mean what they say; with a histogram of what they show."""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Callable

import pytest

from .generate import PATTERNS, count_ops, generate, shown
from .judge import Fault, Report, judge
from .program import Program
from .shrink import shrink

Show = Callable[[str, object], None]
QUICK, MANY = 500, 20_000  # seeds from 0, and those after them
FEW, SHARD = 25, 200  # programs of one test; a run that broke off is taken up with `-k` or `--seeds START:STOP`
RARE = 0.01  # every op and construct stands in at least this share of the programs
TAGS = {
    "call", "lift", "argument that lacks an axis", "several results", "several results used", "discarded result",
    "default of a parameter", "default of an argument", "default of an input", "number as an argument",
    "one axis for two parameters", "file axis rebound at a call", "axis of a block's own", "repeat",
    "repeat shared", "repeat with an index", "static if", "static if on the index", "share", "scan", "where",
    "mask of other axes", "softmax of several axes", "raw for D6", "linear with a colon", "init",
    "norm without weights", "weights named by binding", "rebinding", "typed assignment", "fixed width",
    "bounded width", "derived width", "empty width", "config", "sizes from outside", "several files", "library",
    "op of the user's own", "causal", "pipe", "ragged width", "repeat of no pass", "repeat in a repeat",
    "decided by the number of a pass", "decided by a const of the block", "depth of a pass", "carried crosswise",
    "nothing carried", "a model called", "a number for a parameter", "file const rebound at a call",
    "mask of an attention", "mask that says something twice",
}  # fmt: skip


def fault(program: Program) -> Fault | None:
    try:
        judge(program)
    except Fault as found:
        return found
    return None


def check(seed: int, report: Report, picks: bool = False) -> None:
    program = generate(seed, picks)
    try:
        judge(program, report)
    except Fault as found:
        first = found

        def same(smaller: Program) -> bool:
            other = fault(smaller)
            return other is not None and (other.kind, other.sign) == (first.kind, first.sign)

        small = shrink(program, same)
        last = fault(small) or first
        which = f"seed {seed}{' with picks' * picks}"
        pytest.fail(
            f"{which}\n\n{small.text}\n{small.files or ''}{small.extents}, batch {small.batch}\n\n{last}", False
        )


def judged(seeds: range, picks: bool = False) -> None:
    report = Report()
    for seed in seeds:
        check(seed, report, picks)
    assert report.hidden >= picks * (len(seeds) // 3)
    assert report.ill <= 1 + len(seeds) // 20
    assert report.gradients >= len(seeds) // 6
    assert report.proved >= len(seeds) // 2


@pytest.mark.parametrize(
    "start", [pytest.param(start, marks=pytest.mark.slow if start else ()) for start in range(0, QUICK, FEW)]
)
def test_programs_run(start: int) -> None:
    judged(range(start, start + FEW))


@pytest.mark.parametrize(
    "start", [pytest.param(start, marks=pytest.mark.slow if start else ()) for start in range(0, QUICK, FEW // 2)]
)
def test_programs_with_picks_run(start: int) -> None:
    """What a mask forbids a pick is of no matter: neither in values nor in gradients, which `judge` looks at, too."""
    judged(range(start, start + FEW // 2), picks=True)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "shard" in metafunc.fixturenames:
        first, last = (int(end) for end in metafunc.config.getoption("--seeds").split(":"))
        metafunc.parametrize("shard", range(first, last, SHARD))


@pytest.mark.slow
def test_many_programs_run(shard: int) -> None:
    judged(range(shard, shard + SHARD))


def shows(seeds: range, record_property: Show) -> None:
    """The programs of a run: how large they are, and how many show each op and construct."""
    found: Counter[str] = Counter()
    ops: list[int] = []
    for seed in seeds:
        program = generate(seed)
        found.update(set(shown(program)))
        ops.append(count_ops(program))
    wanted = sorted([*PATTERNS, *(f"({tag})" for tag in TAGS)], key=lambda name: found[name])
    head = f"{len(ops)} programs of {min(ops)} to {max(ops)} ops, the median {statistics.median(ops)}: "
    record_property("shown", head + ", ".join(f"{name} {found[name] / len(ops):.1%}" for name in wanted))
    assert statistics.median(ops) >= 12
    assert [name for name in wanted if found[name] < RARE * len(ops)] == []


def test_what_the_programs_show(record_property: Show) -> None:
    shows(range(QUICK), record_property)


@pytest.mark.slow
def test_what_many_programs_show(record_property: Show) -> None:
    shows(range(QUICK, QUICK + MANY), record_property)


def test_what_the_programs_with_picks_show() -> None:
    programs = [generate(seed, picks=True) for seed in range(100)]
    found = Counter(tag for program in programs for tag in shown(program))
    found["valid"] = sum(" valid(" in program.text for program in programs)
    wanted = {
        "(picks under a mask)", "(read at picks)", "(where)", "(empty width)", "(ragged width)", "topk", "argsort",
        "argmax", "valid", "gather", "concat", "merge", "split", "layernorm", "(call)", "(scan)", "(repeat)",
    }  # fmt: skip
    assert {name for name in wanted if found[name] < 4} == set()


def test_a_seed_gives_one_program() -> None:
    for picks in (False, True):
        texts = [[generate(seed, picks).all_text for seed in range(20)] for _ in range(2)]
        assert texts[0] == texts[1]
