"""A mistake of a body, found where something else uses the body."""

from __future__ import annotations

from ...dsl import syntax as s
from ...dsl.source import Span
from ..base.problems import Problem
from ..sizes.axes import Axis


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
