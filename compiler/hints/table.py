"""Which function tells which kind of mistake."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from ...dsl.diagnostic import Diagnostic
from ..base.problems import Problem
from .words import Wording

P = TypeVar("P", bound=Problem)
Tell = Callable[[P, Wording], Diagnostic]

TELLS: dict[type[Problem], Callable[[Any, Wording], Diagnostic]] = {}


def tells(kind: type[P]) -> Callable[[Tell[P]], Tell[P]]:
    """Makes a function the one that tells this kind of mistake."""

    def keep(tell: Tell[P]) -> Tell[P]:
        TELLS[kind] = tell
        return tell

    return keep


def diagnostic(problem: Problem, words: Wording) -> Diagnostic:
    """A mistake, told to whoever knows these words."""
    return TELLS[type(problem)](problem, words)
