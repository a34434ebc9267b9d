"""The result of one elaboration of a block, and the numbers in it that only the passes of a repeat determine."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from ...dsl.diagnostic import Diagnostic
from ...dsl.source import Span
from ..base.session import Reporter
from ..graph.nodes import Graph
from ..graph.typed_value import TypedValue
from ..names.written_sizes import checked_number
from ..ops.use import Validator
from ..sizes.arithmetic import substitute
from ..sizes.axes import Axis, Static, undetermined
from .environment import Environment


def validate_number(reporter: Reporter, numbers: tuple[Static, ...], place: Span) -> None:
    """Report arithmetic that has no value."""
    checked_number(reporter, numbers[0], place)


@dataclass(frozen=True)
class Formula:
    """Numbers of a body that depend on a const without a value: each pass of a repeat gives it one, and validates them.

    validator: reports what is wrong with their values, at a place: `span`, or the call of the block in the repeat.
    passes:    the indices of repeats that have a value by now.
    """

    statics: tuple[Static, ...]
    span: Span
    validator: Validator
    call: Span | None = None
    passes: tuple[tuple[str, int], ...] = ()

    @property
    def reported_at(self) -> Span:
        return self.call or self.span

    @property
    def undetermined(self) -> bool:
        return any(map(undetermined, self.statics))

    def with_values(self, axes: dict[int, Axis], consts: dict[int, Static]) -> Formula:
        """The same over other axes and consts."""
        return replace(self, statics=tuple(substitute(static, axes, consts) for static in self.statics))


@dataclass(eq=False)
class Specialisation:
    """A block elaborated for one kind of call."""

    environment: Environment
    graph: Graph | None
    results: list[TypedValue | None]  # in the axes of the specialisation
    problems: list[tuple[Diagnostic, bool]]
    decisions: list[object]
    undecided: bool
    formulas: list[Formula] = field(default_factory=list)
