"""Is a puzzle solved? The text checks, what was locked is as it was, and its numbers are those of the solution."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ..compiler.graph.nodes import nested
from ..dsl.source import Source
from ..spec import Model, built
from ..watch.parts import named
from .found import wrong
from .puzzles import Puzzle
from .views import Array, drawn_inputs, drawn_weights, runner, seen

SEEDS = (1, 2)
CLOSE = 1e-6  # as a share of what is largest in a result


def judged(puzzle: Puzzle, text: str) -> dict[str, Any]:
    """{"solved", "why", "views"}: why it is not solved, in words; which item sees which, as it is and as it should be,
    where a result has items of an input (views.py).
    """
    solution = _model(puzzle.solution, puzzle.model)
    assert solution is not None, puzzle.title
    should = seen(solution)
    program = built(Source("puzzle.attn", text), None, None, None, ())
    if wrong(program.diagnostics):
        mistakes = "It does not check yet: the mistakes say why."
        return {"solved": False, "why": mistakes, "views": _views(_without_claims(text, puzzle.model), should)}
    if puzzle.model not in (*program.models, *program.blocks):
        return {"solved": False, "why": f"`{puzzle.model}` is gone: it is what is judged.", "views": None}
    model = named(program, puzzle.model)
    if why := _unlocked(model, solution):
        return {"solved": False, "why": why, "views": None}
    why = _differs(model, solution)
    return {"solved": not why, "why": why, "views": _views(model, should)}


def _model(text: str, name: str) -> Model | None:
    """Of a right text."""
    program = built(Source("puzzle.attn", text), None, None, None, ())
    return None if wrong(program.diagnostics) or name not in program.models else named(program, name)


def _without_claims(text: str, name: str) -> Model | None:
    """What leaks can be run once it does not claim to be causal."""
    import re

    return _model(re.sub(r"(?<=\])\s+causal\s+\w+(?:\s*,\s*\w+(?=\s*\{))*", "", text), name)


def _unlocked(model: Model, solution: Model) -> str:
    """What of a signature, its claims or its weights is not as it must be; and what would run code of the text."""
    if _foreign(model):
        return "An op of your own is not run here."
    if repr(model) != repr(solution):
        return f"The signature is locked: it must stay {repr(solution)[len('<attnc.Model ') : -1]}."
    for mine, its in zip(model.graph.outputs, solution.graph.outputs, strict=True):
        if [axis.name for axis in mine.causal] != [axis.name for axis in its.causal] or mine.trusted:
            return "What the signature claims is locked: it must be proved, not dropped or trusted."
    given, wanted = _weights(model), _weights(solution)
    for path in sorted({*given, *wanted}):
        if given.get(path) != wanted.get(path):
            said = "is new" if path not in wanted else "is gone" if path not in given else "has another shape"
            return f"The weights are locked: `{path}` {said}."
    return ""


def _foreign(model: Model) -> bool:
    """Whether it has an op of a user's own: running it would import what the text names."""
    return any(part.target for part in nested(model.graph))


def _weights(model: Model) -> Mapping[str, tuple[int, ...]]:
    return {path: spec.shape for path, spec in model.weights.items()}


def _differs(model: Model, solution: Model) -> str:
    """Whether the two compute different numbers from the same weights and inputs."""
    for seed in SEEDS:
        numbers = np.random.default_rng(seed)
        weights, inputs = drawn_weights(solution, numbers), drawn_inputs(solution, numbers)
        for mine, its in zip(runner(model, weights)(inputs), runner(solution, weights)(inputs), strict=True):
            apart = _apart(mine, its)
            if not apart <= CLOSE:
                return f"It checks, but its numbers are not those that are meant: {apart:.1%} of the largest apart."
    return ""


def _apart(mine: Array, its: Array) -> float:
    """The largest difference, as a share of the largest number; infinite where one is no number."""
    if not np.isfinite(mine).all():
        return float("inf")
    return float(abs(mine - its).max() / max(abs(its).max(), 1e-300))


def _views(model: Model | None, should: list[list[bool]] | None) -> dict[str, Any] | None:
    """What is seen is None where the text cannot be run."""
    if should is None:
        return None
    return {"sees": None if model is None or _foreign(model) else seen(model), "should": should}
