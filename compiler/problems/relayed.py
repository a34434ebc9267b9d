"""Mistakes found elsewhere: in a body by what uses the body, in the form of a text by the parser."""

from __future__ import annotations

from ...dsl import syntax as s
from ...dsl.diagnostic import Diagnostic
from ...dsl.source import Span
from ..base.problems import Problem
from ..sizes.axes import Axis


class Misparsed(Problem):
    """What the parser did not read, which it says itself: `dsl` knows no facts of axes."""

    said: Diagnostic

    @property
    def code(self) -> str:
        return self.said.code


class Relayed(Problem):
    """A mistake, and more of how it comes about."""

    problem: Problem

    @property
    def code(self) -> str:
        return self.problem.code

    @property
    def deep(self) -> bool:
        return self.problem.deep


class InPass(Relayed):
    """A number is wrong in some passes of a repeat.

    passes: the indices of repeats, and their values in words. stands: where it stands in a block that is called there.
    """

    passes: tuple[tuple[str, str], ...]
    stands: Span | None


class CalledFrom(Relayed):
    """A deep mistake, told where the body has it: `call` brings it about."""

    call: Span


class AtCall(Relayed):
    """A mistake that a block makes for this call alone: it stands where the call does.

    axes: what of the caller each axis of the block stands for.
    """

    block: s.BlockDecl
    call: s.CallExpr
    axes: tuple[tuple[Axis, Axis], ...]

    @property
    def deep(self) -> bool:
        return False
