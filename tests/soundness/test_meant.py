"""The referee of meaning tells a true alarm from a false one."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from attnc.dsl.diagnostic import Diagnostic
from attnc.dsl.source import Span

from .generate import generate
from .judge import data, lengths, load
from .meant import misjudged, weights_misjudged
from .program import Program


def told(seed: int, code: str) -> tuple[Program, Diagnostic]:
    program = generate(seed)
    return program, next(each for each in load(program.text, program).warnings if each.code == code)


def reworded(said: Diagnostic, old: str, new: str) -> Diagnostic:
    assert old in said.message
    return Diagnostic(said.code, said.severity, said.message.replace(old, new), said.span, related=said.related)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("seed", "code", "old", "new"),
    [
        (10, "W0523", "the first item", "each item"),
        (10, "W0523", "the first item", "item 1"),
        (142, "W0523", "`softmax`", "`mean`"),
        (151, "W0524", "lie between 0 and 1", "lie between 0 and 2"),
        (151, "W0524", "`softmax`", "`argmax`"),
    ],
)
def test_what_is_told_holds_and_what_is_near_it_does_not(seed: int, code: str, old: str, new: str) -> None:
    program, said = told(seed, code)
    assert misjudged([said], program) is None
    assert misjudged([reworded(said, old, new)], program) is not None


@pytest.mark.slow
def test_dropout_elsewhere_is_not_told_of() -> None:
    program, said = told(119, "W0528")
    assert misjudged([said], program) is None
    assert said.span is not None
    moved = Diagnostic(said.code, said.severity, said.message, Span(said.span.source, 0, 1))
    assert misjudged([moved], program) is not None


@pytest.mark.slow
def test_of_weights_both_a_false_alarm_and_silence_are_found() -> None:
    program, said = told(12, "W0521")
    model = load(program.text, program).model("net")
    shapes = {path: tuple(weight.shape) for path, weight in model.weights.items()}
    module = model.torch(dtype=torch.float64).eval()

    def wrong(*found: Diagnostic) -> str | None:
        return weights_misjudged(
            found,
            module,
            shapes,
            lambda seed: data(program.inputs(seed) | lengths(model, program), program, np.float64),
        )

    assert wrong(said) is None
    assert "nothing is told" in (wrong() or "")
    learning = [path for path in shapes if path != "P61"]
    assert any("learns" in (wrong(said, reworded(said, "P61", path)) or "") for path in learning)
