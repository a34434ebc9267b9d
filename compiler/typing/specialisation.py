"""The result of one elaboration of a block, and the numbers in it that only the passes of a repeat determine."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from ...dsl.source import Span
from ..base.problems import Problem, Problems
from ..graph.nodes import Graph
from ..graph.typed_value import TypedValue
from ..names.written_sizes import checked_number
from ..ops.use import Validator
from ..sizes.arithmetic import substitute
from ..sizes.axes import Axis, Static, known, undetermined
from .environment import Environment


def validate_number(problems: Problems, numbers: tuple[Static, ...], place: Span) -> None:
    """Report arithmetic that has no value."""
    checked_number(problems, numbers[0], place)


@dataclass(frozen=True)
class Formula:
    """Numbers of a body that depend on a const without a value: each pass of a repeat gives it one, and validates them.

    validator: reports what is wrong with their values, at a place: `span`, or the call of the block in the repeat.
    passes:    the indices of repeats that have a value by now, and the values in words.
    given:     what must hold for them to matter: what stands before an `or` may settle it.
    """

    statics: tuple[Static, ...]
    span: Span
    validator: Validator
    call: Span | None = None
    passes: tuple[tuple[str, str], ...] = ()
    given: tuple[Static, ...] = ()

    @property
    def reported_at(self) -> Span:
        return self.call or self.span

    @property
    def undetermined(self) -> bool:
        return any(map(undetermined, self.statics)) or any(known(condition) is None for condition in self.given)

    @property
    def matters(self) -> bool:
        """Whether nothing that is known by now rules it out."""
        return all(known(condition) is not False for condition in self.given)

    def with_values(self, axes: dict[int, Axis], consts: dict[int, Static]) -> Formula:
        """The same over other axes and consts."""
        statics, given = (tuple(substitute(each, axes, consts) for each in all_) for all_ in (self.statics, self.given))
        return replace(self, statics=statics, given=given)

    def only_if(self, condition: Static) -> Formula:
        """The same, where something holds besides."""
        return replace(self, given=(condition, *self.given))


@dataclass(eq=False)
class Specialisation:
    """A block elaborated for one kind of call."""

    environment: Environment
    graph: Graph | None
    results: list[TypedValue | None]  # in the axes of the specialisation
    problems: list[Problem]
    decisions: list[object]
    undecided: bool
    formulas: list[Formula] = field(default_factory=list)
