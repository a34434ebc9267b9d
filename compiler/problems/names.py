"""Names that mean nothing, or something else, where they stand."""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum, auto

from ...dsl import syntax as s
from ...dsl.source import Span
from ..base.names import misspelt, nearest
from ..base.problems import Problem
from ..sizes.axes import Axis, Value
from .plain import Plain, PlainProblem


class Other(Enum):
    """What a name is that is no axis."""

    NOTHING = auto()
    VARIABLE = auto()
    CONST = auto()
    DECLARED_BELOW = auto()


class NoAxisNamed(Problem, code="E0201"):
    """declared: how it would be declared, with `{}` for the name. numbered: the axis of that name without its number.
    known: the names of axes.
    """

    name: str
    other: Other
    known: tuple[str, ...]
    in_file: bool
    numbered: Axis | None
    declared: str

    @property
    def undeclared(self) -> bool:
        """Whether it is missing, rather than misspelt."""
        near = nearest(self.name, self.known)
        return self.other is Other.NOTHING and (near is None or not misspelt(self.name, near))


class NoValueNamed(Problem, code="E0202"):
    """callable: whether it is an op or a block."""

    name: str
    known: tuple[str, ...]
    callable: bool


_NAMES = (Plain.NOT_DECLARED, Plain.NO_SIZE_NAMED, Plain.NO_CLAIMED_AXIS)


def told_once(problems: Iterable[Problem]) -> list[Problem]:
    """What is missing is missing once, however often and in whatever way it is used: without all uses but the first of
    an axis that nothing declares.
    """
    found = list(problems)
    first: dict[tuple[int, str], Problem] = {}
    for problem in found:
        if isinstance(problem, NoAxisNamed) and problem.undeclared and problem.span is not None:
            before = first.setdefault((id(problem.span.source), problem.name), problem).span
            if before is not None and problem.span.start < before.start:
                first[id(problem.span.source), problem.name] = problem

    def again(problem: Problem) -> bool:
        match problem:
            case NoAxisNamed(name=name) | NoValueNamed(name=name):
                pass
            case PlainProblem(plain=plain, facts=(str(name), *_)) if plain in _NAMES:
                pass
            case _:
                return False
        return problem.span is not None and first.get((id(problem.span.source), name), problem) is not problem

    return [problem for problem in found if not again(problem)]


class NothingCalled(Problem, code="E0203"):
    """No op or block of this name is called here.

    variable: whether it is one. known: the blocks and shares. library: the file of the standard library that has it;
    used: where its `use` would stand, and whether another stands there.
    """

    call: s.CallExpr
    variable: bool
    known: tuple[str, ...]
    library: str | None
    used: tuple[Span, bool]


class Bearer(Enum):
    """What would have a name that an axis or const has."""

    VARIABLE = auto()
    ARGUMENT = auto()
    INDEX = auto()


class NameTaken(Problem, code="E0205"):
    """kind: of what has the name: axis, const or variable; declared: where, if that is to be shown."""

    name: str
    bearer: Bearer
    kind: str
    declared: Span | None = None


class ReservedName(Problem, code="E0216"):
    """Weights cannot bear it."""

    name: str


class OwnedTwice(Problem, code="E0217"):
    """Two things own weights under one name. first: where the first stands; model: that the second is a part of."""

    name: str
    first: Span
    model: str = ""


class NamelessOp(Problem, code="E0218"):
    """A learned op whose weights have no name."""

    op: str
    label: str


class NamelessRepeat(Problem, code="E0218"):
    statement: s.RepeatStatement
    label: str


class Remedy(Enum):
    """How one of two axes, or consts, of one name is to be put in place of the other."""

    DECLARE = auto()  # in this file, and name it in each `use`
    SIZE = auto()  # it is called along this one: give it a size in the call
    USE = auto()  # name it in the `use`
    CALL = auto()  # give it in the call


class SameName(Problem):
    """Blocks that this file uses have another axis or const of the name that one of this file has.

    wrong: whether sizes differ, and a `use` would mend it. block: one of them, whose own is declared at `there`. kinds:
    of ours, and of theirs; numbers: their values. alike: the blocks whose own is like that; users: all, and where they
    are used. given: what a call would give.
    """

    wrong: bool
    name: str
    block: str
    there: Span | None
    kinds: tuple[str, str]
    numbers: tuple[Value | None, Value | None]
    alike: tuple[str, ...]
    users: tuple[tuple[str, Span | None], ...]
    remedy: Remedy
    given: str
    fix: tuple[tuple[Span, str], ...]

    @property
    def code(self) -> str:
        return "E0212" if self.wrong else "W0513"
