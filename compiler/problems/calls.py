"""Calls of blocks: their parameters in brackets, their arguments in parentheses, what is scanned."""

from __future__ import annotations

from ...dsl import syntax as s
from ...dsl.source import Span
from ..base.problems import Problem
from ..graph.typed_value import TypedValue
from ..sizes.axes import Axis
from .surroundings import Surroundings


class NoCopyGiven(Problem, code="E0403"):
    """Two parameters that must be copies of one axis are given `original` and `actual`, which are not.

    generic: the parameter that wants it. call: as it is written.
    """

    called: str
    parameter: str
    like: str
    actual: Axis
    original: Axis
    generic: s.Generic
    call: s.CallExpr
    around: Surroundings


class OneAxisForTwo(Problem, code="E0404"):
    """Two parameters are bound to one axis, and a value carries both: a variable of this name, at `carrier`.

    in_body: whether it is a value of the body, which may have no name; else an argument.
    """

    called: str
    parameters: tuple[str, str]
    actual: Axis
    name: str | None
    carrier: Span | None
    in_body: bool
    around: Surroundings


class ArgumentLacks(Problem, code="E0405"):
    """An argument without axes that its formal has.

    wanted: those of its formal, in the caller's; extra: what it has instead. turned: whether another argument has what
    it lacks, and not what it has. named: whether the call names what it has.
    """

    called: str
    formal: s.Formal
    value: TypedValue
    wanted: tuple[Axis, ...]
    missing: tuple[Axis, ...]
    extra: tuple[Axis, ...]
    turned: bool
    named: bool

    @property
    def deep(self) -> bool:
        return True


class ArgumentNamesake(Problem, code="E0212"):
    """An argument has an axis of the right name, but of another file than the block, at `argument`.

    block: by its own name; file: its. use: the edit that makes them one, where there is one.
    """

    called: str
    block: str
    file: str
    theirs: Axis
    mine: Axis
    value: TypedValue
    argument: Span
    use: tuple[tuple[Span, str], ...]


class LiftsMentioned(Problem, code="E0406"):
    """An argument carries an axis that the block uses itself, as `parameter`."""

    called: str
    formal: s.Formal
    value: TypedValue
    axis: Axis
    parameter: Axis
