"""Declarations of a file, what it uses of others, what is set from outside, and claims of causality."""

from __future__ import annotations

from pathlib import Path

from ...dsl import syntax as s
from ...dsl.source import Span
from ..base.problems import Problem
from ..sizes.axes import Axis


class UnknownSetting(Problem, code="E0601"):
    """A config sets what its file does not declare."""

    config: str
    name: str
    known: tuple[str, ...]


class UnknownSet(Problem, code="E0601"):
    """`--set` of a name that the file has not."""

    file: str
    name: str
    known: tuple[str, ...]


class UnknownConfig(Problem, code="E0602"):
    file: str
    name: str
    known: tuple[str, ...]


class SetListForNumber(Problem, code="E0601"):
    """A list for a const that is one number, or the reverse. declared: where, if a file sets it."""

    name: str
    listed: bool
    declared: Span | None


class NoFunction(Problem, code="E0902"):
    """What an op of the user's own names."""

    target: str


class NewerOp(Problem, code="W0515"):
    """A block has the name of an op that is newer than the spec may be."""

    name: str


class DeclaredAgain(Problem, code="E0204"):
    name: str
    first: Span


class DeclaredByItself(Problem, code="E0208"):
    """chain: from the name to itself. copies: whether by `like`."""

    name: str
    chain: tuple[str, ...]
    copies: bool


class KindInUsedFile(Problem, code="E0213"):
    """The axis of a file stands for another kind of thing in a file that it uses. there: what that is, and where."""

    name: str
    item: Axis
    there: tuple[str, Span]
    file: str


class KindOfFileCopy(Problem, code="E0213"):
    decl: s.AxisDecl
    original: Axis


class ConstAtRunTime(Problem, code="E0207"):
    """A const depends on a width."""

    name: str
    width: Axis


class NotDeclared(Problem, code="E0201"):
    """Neither an axis nor a const of the file."""

    name: str
    known: tuple[str, ...]


class UsedInCircle(Problem, code="E0210"):
    chain: tuple[str, ...]


class TwoSources(Problem, code="E0212"):
    """A name comes from two files. name: what it is in the second; differs: whether by way of two others."""

    local: str
    name: str
    first: Span | None
    differs: bool


class NotInFile(Problem, code="E0211"):
    file: str
    name: str
    known: tuple[str, ...]


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


class DisplayName(Problem, code="E0221"):
    """What is to be shown of a block, and cannot be set."""

    shown: str
    most: int
    odd: str | None
