"""What is made and said of random programs is, to the letter, what it was: `as_before/`, a line for each program.

The golden files of code, steps, graphs and messages are there to be read; these lines see what nobody thought of
writing down, where a change was to change nothing. If one differs, print all of that program here and at the commit
before, and compare:

    python -m tests.soundness.test_as_before 17

After a change that is meant to show, `pytest --update`; then read the other golden files.
"""

from __future__ import annotations

import hashlib
import json
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import attnc
from attnc.compiler.cost.report import Cost
from attnc.compiler.cost.table import data
from attnc.compiler.pipeline import NAMES
from tests.backends.written import written

from .generate import generate
from .judge import load
from .mutants import some
from .program import Program

COUNT, FEW = 400, 10  # programs in all, and of one test
MISTAKES = 3  # mutants of one program


@pytest.mark.parametrize(
    "start",
    [pytest.param(start, marks=pytest.mark.slow if start else ()) for start in range(0, COUNT, FEW)],
)
def test_it_is_as_before(start: int, golden: Callable[[Path, str], None]) -> None:
    lines = []
    for seed in range(start, start + FEW):
        parts = (f"{name} {hashlib.sha256(text.encode()).hexdigest()[:6]}" for name, text in made(seed))
        lines.append(f"{seed}: {', '.join(parts)}\n")
    golden(Path("as_before") / f"{start}.txt", "".join(lines))


def made(seed: int) -> Iterator[tuple[str, str]]:
    program = generate(seed)
    spec = load(program.text, program)
    model = spec.model(spec.models[-1])
    yield "program", program.all_text
    yield "warnings", "\n".join(str(warning) for warning in spec.warnings)
    yield "format", attnc.format(program.text)
    yield "weights", "\n".join(str(spec) for spec in model.weights.values())
    yield "torch", written(model, "torch")
    yield "numpy", written(model, "numpy")
    yield "rewrites", written(model, "torch", [NAMES[seed % len(NAMES)]])
    yield "report", without_folders(str(model.explain()))
    yield "decoding", str(model.decoding)
    yield "cost", bill(model.cost(batch=2))
    if seed % 4 == 0:  # a third of the time of them all
        yield "drawing", model.draw(sizes=True, legend=True).dot
    yield "equations", model.latex()
    yield "mistakes", "\n".join(told(mutant.text, program) for mutant in some(program, MISTAKES))


def without_folders(text: str) -> str:
    """The files beside a program lie in a new folder each time."""
    return re.sub(r"\S*/(?=\w+\.attn)", "", text)


def bill(cost: Cost) -> str:
    return f"{cost}\n{json.dumps(data(cost), indent=1)}"


def told(wrong: str, program: Program) -> str:
    try:
        spec = load(wrong, program)
    except attnc.AttnError as error:
        return without_folders(str(error))
    return "\n".join(str(warning) for warning in spec.warnings)


if __name__ == "__main__":
    for name, text in made(int(sys.argv[1])):
        print(f"==== {name}\n{text}")
