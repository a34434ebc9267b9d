"""Which function tells which kind of mistake."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from importlib import import_module
from typing import Any, TypeVar

from ...dsl.diagnostic import Diagnostic, error
from ...dsl.source import Span
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
    kind = type(problem)
    if kind not in TELLS:  # the file of messages is called as that of the kind; most are never needed
        import_module(f"{__package__}.messages.{kind.__module__.rpartition('.')[2]}")
    return TELLS[kind](problem, words)


def say(
    problem: Problem,
    message: str,
    label: str = "",
    *,
    related: Iterable[tuple[Span | None, str]] = (),
    notes: Iterable[str] = (),
    help: str = "",
    fix: Iterable[tuple[Span, str]] = (),
) -> Diagnostic:
    """The diagnostic of a mistake."""
    code, severity = problem.code, problem.severity
    return error(
        code, message, problem.span, label, related=related, notes=notes, help=help, fix=tuple(fix), severity=severity
    )
