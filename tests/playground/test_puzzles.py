"""Each puzzle: it begins unsolved, its solution solves it, and what is locked holds."""

from __future__ import annotations

from pathlib import Path

import pytest

import attnc
from attnc.playground.judging import judged
from attnc.playground.puzzles import Puzzle, read

FILES = sorted((Path(__file__).parents[2] / "examples" / "puzzles").glob("*.toml"))


def load(name: str) -> Puzzle:
    return read(next(file for file in FILES if file.stem.startswith(name)).read_text(encoding="utf-8"))


@pytest.mark.slow
@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_each_begins_unsolved_and_has_a_solution(file: Path) -> None:
    puzzle = read(file.read_text(encoding="utf-8"))
    assert puzzle.start != puzzle.solution and not attnc.check(puzzle.solution)
    lines = zip(puzzle.start.splitlines(), puzzle.solution.splitlines(), strict=True)
    assert sum(one != other for one, other in lines) == 1, "one fault, in one line"
    begun, ended = judged(puzzle, puzzle.start), judged(puzzle, puzzle.solution)
    assert not begun["solved"] and begun["why"]
    assert ended["solved"] and not ended["why"]
    assert ended["views"] is not None and ended["views"]["sees"] == ended["views"]["should"]


def test_there_are_twelve() -> None:
    assert [int(file.stem[:2]) for file in FILES] == [*range(1, 13)]


def test_a_leak_is_drawn() -> None:
    """The mask is turned round: each item sees those after it."""
    views = judged(load("01"), load("01").start)["views"]
    count = range(len(views["sees"]))
    assert views["sees"] == [[other >= item for other in count] for item in count]
    assert views["should"] == [[other <= item for other in count] for item in count]


@pytest.mark.parametrize(
    ("old", "new", "why"),
    [
        ("causal target", "", "it must be proved, not dropped"),
        ("causal target", 'causal target trusted "so"', "it must be proved, not dropped or trusted"),
        ("x: [target, model]", "x: [target, model], more: [] = 0", "signature is locked"),
        ("linear[model -> heads", "linear.other[model -> heads", "`Q.weight` is gone"),
        ("bias = false)\n}", ")\n}", "`O.bias` is new"),
        ("model decoder", "model another", "is gone"),
        ("past <= target", "past < target", "numbers are not those"),
        ("past <= target", "past <= oops", "does not check yet"),
    ],
)
def test_what_is_locked(old: str, new: str, why: str) -> None:
    puzzle = load("01")
    assert old in puzzle.solution
    told = judged(puzzle, puzzle.solution.replace(old, new, 1))
    assert not told["solved"] and why in told["why"], told["why"]
