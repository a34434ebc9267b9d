"""Texts of this repository with something small exchanged (`alter.py`): what is said of each, and made of those that
pass, is to the letter what it was. `altered/`: a line for each text, by its fingerprint; behind it those of what is
said and made.

If one differs, print all of that text here and at the commit before, and compare:

    python -m tests.soundness.test_altered 3f62a1

After a change that is meant to show, `pytest --update`; then read the other golden files.
"""

from __future__ import annotations

import hashlib
import random
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import attnc
from attnc.compiler.cost.bill import CostError
from attnc.compiler.ops import OPS
from tests.backends.written import written
from tests.mistakes.cases import CASES

from .alter import altered
from .run import run
from .test_as_before import bill, without_folders

ROOT = Path(__file__).parents[2]
RIGHT, WRONG = 3, 1  # what is tried of a text
PARTS = 40


def texts() -> Iterator[tuple[str, int]]:
    """With how many are tried of each."""
    for text in (ROOT / "tests/backends/specs.txt").read_text("utf-8").split("\n---\n"):
        yield text, RIGHT
    for place in ("compiler", "examples", "tests"):
        for path in sorted((ROOT / place).rglob("*.attn")):
            yield path.read_text("utf-8"), RIGHT
    for page in sorted((ROOT / "docs").glob("*.md")):
        for text in re.findall(r"```attn\n(.*?)```", page.read_text("utf-8"), re.DOTALL):
            yield text, RIGHT
    for op in OPS.values():
        yield op.example, RIGHT
    for case in CASES:
        yield case.text, WRONG


def name_of(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:6]


TEXTS = {name_of(text): (text, count) for text, count in texts() if len(text) < 4000}


@pytest.mark.parametrize(
    "part", [pytest.param(part, marks=pytest.mark.slow if part % 6 else ()) for part in range(PARTS)]
)
def test_it_is_as_before(part: int, golden: Callable[[Path, str], None]) -> None:
    """A text belongs to a part by its name: new ones change nothing of the others."""
    lines = []
    for name in sorted(TEXTS):
        if int(name, 16) % PARTS == part:
            signs = [f"{kind} {name_of(said)}" for kind, said in made(name)]
            lines.append(f"{name}: {', '.join(signs)}\n")
    golden(Path("altered") / f"{part}.txt", "".join(lines))


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(20))
def test_every_text_gets_an_answer(seed: int) -> None:
    for name, (text, _) in TEXTS.items():
        for _ in outcome(altered(text, random.Random(f"{seed} {name}"))):
            pass


@pytest.mark.parametrize("seed", [pytest.param(seed, marks=pytest.mark.slow if seed else ()) for seed in range(12)])
def test_what_is_right_runs(seed: int) -> None:
    """Some texts, and more until a tenth of so many has run, compiled and run in both backends, with their steps."""
    some, ran = 300 if seed else 25, 0
    for looked, name in enumerate(random.Random(seed).sample(sorted(TEXTS), len(TEXTS))):
        if looked >= some and ran >= some // 10:
            break
        text = altered(TEXTS[name][0], random.Random(f"{seed} runs {name}"))
        try:
            spec = attnc.loads(text, base=ROOT / "tests/backends")
            models = [spec.model(model) for model in spec.models]
        except attnc.AttnError:
            continue
        for model in models:
            try:
                ran += run(model)
            except Exception as error:
                error.add_note(f"{name}: {model.name}\n{text}")
                raise
    assert ran >= some // 10


def made(name: str) -> Iterator[tuple[str, str]]:
    text, count = TEXTS[name]
    rng = random.Random(name)
    for _ in range(count):
        yield from outcome(altered(text, rng))


def without_counts(text: str) -> str:
    """There are as many trials of a claim as there is time for."""
    return re.sub(r"\d+ trials at", "some trials at", text)


def outcome(text: str) -> Iterator[tuple[str, str]]:
    try:
        spec = attnc.loads(text, base=ROOT / "tests/backends")
    except attnc.AttnError as error:
        yield "wrong", f"{text}\n{without_counts(without_folders(str(error)))}"
        return
    yield "right", without_counts("\n".join((text, *(str(warning) for warning in spec.warnings))))
    for model in spec.models:
        try:
            one = spec.model(model)
            yield "torch", written(one, "torch")
            yield "numpy", written(one, "numpy")
            yield "report", without_folders(str(one.explain()))
            yield "weights", "\n".join(str(weight) for weight in one.weights.values())
            yield "decoding", str(one.decoding)
            yield "cost", bill(one.cost())
        except (attnc.AttnError, CostError) as error:
            yield "refused", without_folders(str(error))


if __name__ == "__main__":
    for kind, said in made(sys.argv[1]):
        print(f"==== {kind}\n{said}")
