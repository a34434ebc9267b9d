"""Declarations of a file, what it uses of others, what is set from outside, and claims of causality."""

from __future__ import annotations

from pathlib import Path

from ...dsl.source import Span
from ..base.problems import Problem
from ..sizes.axes import Axis


class UnknownSet(Problem, code="E0601"):
    """`--set` of a name that the file has not."""

    file: str
    name: str
    known: tuple[str, ...]


class NoFunction(Problem, code="E0902"):
    """What an op of the user's own names."""

    target: str


class DeclaredByItself(Problem, code="E0208"):
    """chain: from the name to itself. copies: whether by `like`."""

    name: str
    chain: tuple[str, ...]
    copies: bool


class ConstAtRunTime(Problem, code="E0207"):
    """A const depends on a width."""

    name: str
    width: Axis


class NoLibraryFile(Problem, code="E0209"):
    name: str
    known: tuple[str, ...]


class OutsideProject(Problem, code="E0209"):
    name: str
    file: Path
    project: Path | None


class Unreadable(Problem, code="E0209"):
    """why: in words of the system. last: where the name of the file stands; near: a file that may be meant."""

    name: str
    why: str
    last: Span
    near: str | None
    file: str


class TurnedComment(Problem, code="W0512"):
    """Characters that change the order in which a comment is shown: where, and the name of the first."""

    places: tuple[Span, ...]
    name: str
